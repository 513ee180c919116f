package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

// LedgerState is how many rows the ledger's store has taken, and how many it will never have, so far.
type LedgerState struct{ Written, Dropped uint64 }

// ledgerCollector makes metrics of the ledger at a scrape.
type ledgerCollector struct {
	read          func() LedgerState
	rows, dropped *prometheus.Desc
}

func newLedgerCollector(read func() LedgerState) *ledgerCollector {
	return &ledgerCollector{
		read:    read,
		rows:    prometheus.NewDesc(namespace+"_ledger_rows_total", "Rows of the ledger that were written to its store: requests, and entries of the timeline.", nil, nil),
		dropped: prometheus.NewDesc(namespace+"_ledger_dropped_total", "Rows of the ledger that were given up, because too many waited or the store did not take them.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *ledgerCollector) Describe(to chan<- *prometheus.Desc) { to <- c.rows; to <- c.dropped }

// Collect implements prometheus.Collector.
func (c *ledgerCollector) Collect(to chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	s := c.read()
	to <- prometheus.MustNewConstMetric(c.rows, prometheus.CounterValue, float64(s.Written))
	to <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(s.Dropped))
}

type costKey struct{ provider, model string }

// newCosts counts money.
func newCosts(registry *prometheus.Registry) *handles[costKey, prometheus.Counter] {
	costs := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "cost_usd_total",
		Help: "US dollars that attempts, mirrors and probes came to by the catalogue's prices; those whose price is not known are not in it.",
	}, []string{"provider", "model"})
	registry.MustRegister(costs)
	return newHandles(func(k costKey) prometheus.Counter {
		return costs.WithLabelValues(valid(k.provider), valid(k.model))
	}, func(k costKey) costKey { k.model = other; return k })
}

// spend counts what an exchange cost.
func (m *Metrics) spend(provider, model string, c journal.Cost) {
	if c.Known && c.Nano > 0 {
		m.costs.get(costKey{provider, model}).Add(float64(c.Nano) / 1e9)
	}
}
