package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

// newRefused counts requests that a limit or budget let not in.
func newRefused(registry *prometheus.Registry) *handles[journal.LimitRefusal, prometheus.Counter] {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "limit_refusals_total", Help: "Requests that a limit or a budget let not in: whose it is (key, team, model), and of what.",
	}, []string{"scope", "limit"})
	registry.MustRegister(c)
	return newHandles(func(k journal.LimitRefusal) prometheus.Counter {
		return c.WithLabelValues(valid(k.Scope), valid(k.Limit))
	},
		func(journal.LimitRefusal) journal.LimitRefusal {
			return journal.LimitRefusal{Scope: other, Limit: other}
		})
}

// BudgetState is a budget at the time of a scrape.
type BudgetState struct {
	Scope, Name, Per string
	// Used is the share of it that is used, 0 to 1 and more.
	Used float64
}

// budgetCollector makes metrics of budgets at a scrape.
type budgetCollector struct {
	read func() []BudgetState
	used *prometheus.Desc
}

func newBudgetCollector(read func() []BudgetState) *budgetCollector {
	return &budgetCollector{read: read, used: prometheus.NewDesc(namespace+"_budget_used_ratio",
		"The share of a budget that is used in the period that runs, 1 for all of it; of at most 500 budgets.", []string{"scope", "name", "per"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *budgetCollector) Describe(to chan<- *prometheus.Desc) { to <- c.used }

// Collect implements prometheus.Collector.
func (c *budgetCollector) Collect(to chan<- prometheus.Metric) {
	if c.read == nil {
		return
	}
	seen := map[BudgetState]bool{}
	for _, b := range c.read() {
		labels := BudgetState{Scope: valid(b.Scope), Name: valid(b.Name), Per: b.Per}
		if seen[labels] { // two budgets of one period: the first is the fuller one
			continue
		}
		seen[labels] = true
		to <- prometheus.MustNewConstMetric(c.used, prometheus.GaugeValue, b.Used, labels.Scope, labels.Name, labels.Per)
	}
}
