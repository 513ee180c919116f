package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// newFailures counts requests that count against availability: what objectives and their burn rates are reckoned from, since
// evergate_requests_total has a stream that broke under the status 200 that it began with.
func newFailures(registry *prometheus.Registry) *handles[string, prometheus.Counter] {
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "requests_failed_total",
		Help: "Client requests that failed by no doing of the client: 5xx, every provider rate limited, or a stream that broke.",
	}, []string{"model"})
	registry.MustRegister(failures)
	return newHandles(func(model string) prometheus.Counter {
		return failures.WithLabelValues(valid(model))
	}, func(string) string { return other })
}

// failed says whether a request counts against availability (R77). Most have no code, and do not.
func failed(r *journal.Request) bool {
	return (r.Code != "" || r.Status >= 500) && ledger.AccountOf(r).Failed
}
