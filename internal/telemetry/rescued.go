package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// newRescues counts requests that failover, retries or hedges answered (R77).
func newRescues(registry *prometheus.Registry) *handles[string, prometheus.Counter] {
	rescues := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "requests_rescued_total",
		Help: "Client requests that were answered after an attempt of theirs had failed, or by a hedge.",
	}, []string{"model"})
	registry.MustRegister(rescues)
	return newHandles(func(model string) prometheus.Counter {
		return rescues.WithLabelValues(valid(model))
	}, func(string) string { return other })
}

// rescued counts a request, if it was. The series of a model that has somewhere else to go exists from its first request on: a rate
// misses the step from nothing to 1.
func (m *Metrics) rescued(r *journal.Request) {
	if len(r.Trail) > 1 && ledger.AccountOf(r).Rescued {
		m.rescues.get(r.Route).Inc()
	} else if r.Candidates != nil && r.Candidates.Candidates() > 1 {
		m.rescues.get(r.Route)
	}
}
