package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

// guardrailKey has names of the configuration alone, so that there is a bound to them.
type guardrailKey struct{ guardrail, phase, action string }

func newGuardrails(registry *prometheus.Registry) *handles[guardrailKey, prometheus.Counter] {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "guardrail_total",
		Help: "What guardrails did with requests and answers: allowed, redacted, blocked, failed_open or failed_closed (a guardrail that could not judge).",
	}, []string{"guardrail", "phase", "action"})
	registry.MustRegister(c)
	return newHandles(func(k guardrailKey) prometheus.Counter {
		return c.WithLabelValues(valid(k.guardrail), valid(k.phase), valid(k.action))
	}, func(k guardrailKey) guardrailKey { k.guardrail = other; return k })
}

// guarded counts what guardrails did with a request.
func (m *Metrics) guarded(r *journal.Request) {
	for _, g := range r.Guardrails {
		m.guardrails.get(guardrailKey{g.Name, g.Phase, g.Action}).Inc()
	}
}

// guardrailWords are what guardrails did, in one word for a log.
func guardrailWords(all []journal.Guardrail) string {
	var b strings.Builder
	for i, g := range all {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(g.Name + ":" + g.Phase + ":" + g.Action)
	}
	return b.String()
}
