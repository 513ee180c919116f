package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Live is what the metrics read at the time of a scrape, rather than hear of. Nil functions give nothing.
type Live struct {
	// Providers gives the state of each enabled provider, moved on to now (R22).
	Providers func() []ProviderState
	// InFlight is the number of client requests being served.
	InFlight func() int
	// LogDropped is the number of log lines lost so far.
	LogDropped func() uint64
	// Sync gives how it stands with the store of the state.
	Sync func() SyncState
	// Traces gives what became of the traces of requests; all zero where none are made.
	Traces func() TracesState
	// Ledger gives how it stands with the ledger.
	Ledger func() LedgerState
	// Cache gives how much of the answers is kept.
	Cache func() CacheState
	// Budgets gives the budgets that are counted, the fullest first.
	Budgets func() []BudgetState
	// Alerts gives the receivers of alerts.
	Alerts func() []AlertState
	// Front gives the front door.
	Front func() FrontState
}

// TracesState is how many traces the collector has, and how many it never got or refused, so far.
type TracesState struct{ Sent, Dropped uint64 }

// SyncState is the store of the state at the time of a scrape.
type SyncState struct {
	Reached   bool
	Errors    uint64        // calls that failed so far
	Lag       time.Duration // since the last whole exchange
	Instances int           // that are alive, this one among them
	// Answers and Conversations are how many did not get there, because they were too many or it did not take them.
	Answers, Conversations uint64
}

// ProviderState is one provider at the time of a scrape.
type ProviderState struct {
	Name string
	// Breaker is closed, half_open or open.
	Breaker string
	// CredentialsCooling and ModelsLocked are how many are blocked now.
	CredentialsCooling, ModelsLocked int
	// Health is the discovery status: healthy, degraded or unhealthy; empty for none.
	Health string
}

// liveCollector makes metrics of Live. It has no state, so a provider that a reload took away is gone at once.
type liveCollector struct {
	live                                      Live
	breaker, blocked, health, inFlight, lines *prometheus.Desc
	reached, syncErrors, syncLag, instances   *prometheus.Desc
	unshared, tracesSent, tracesDropped       *prometheus.Desc
}

func newLiveCollector(live Live) *liveCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &liveCollector{
		live:     live,
		breaker:  desc("circuit_breaker_state", "A provider's circuit breaker: 0 closed, 1 half-open, 2 open.", "provider"),
		blocked:  desc("guard_blocked", "What a guard blocks now: providers, credentials or models.", "guard", "provider"),
		health:   desc("provider_health", "1 for the status that model discovery gives a provider, 0 for the others.", "provider", "status"),
		inFlight: desc("in_flight", "Client requests being served."),
		lines:    desc("log_lines_dropped_total", "Log lines lost because the output was slow or failed."),

		reached:    desc("state_store_reached", "1 while the store of the state does what it is asked, or there is none to ask; else 0."),
		syncErrors: desc("state_sync_errors_total", "Calls to the store of the state that failed."),
		syncLag:    desc("state_sync_lag_seconds", "Time since everything was last exchanged with the store of the state."),
		instances:  desc("state_instances", "Instances of the fleet that are alive, as far as this one knows, itself among them."),
		unshared:   desc("state_unshared_total", "Answers that are kept, and conversations, that did not get to the store of the state.", "kind"),

		tracesSent:    desc("traces_sent_total", "Traces of requests that an OpenTelemetry collector took."),
		tracesDropped: desc("traces_dropped_total", "Traces of requests that the collector refused, in whole or in part, or that never got there."),
	}
}

// Describe implements prometheus.Collector.
func (c *liveCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.breaker, c.blocked, c.health, c.inFlight, c.lines, c.reached, c.syncErrors, c.syncLag, c.instances, c.unshared, c.tracesSent, c.tracesDropped} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *liveCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if c.live.InFlight != nil {
		gauge(c.inFlight, float64(c.live.InFlight()))
	}
	if c.live.LogDropped != nil {
		to <- prometheus.MustNewConstMetric(c.lines, prometheus.CounterValue, float64(c.live.LogDropped()))
	}
	if c.live.Sync != nil {
		s, is := c.live.Sync(), 0.0
		if s.Reached {
			is = 1
		}
		gauge(c.reached, is)
		gauge(c.syncLag, s.Lag.Seconds())
		gauge(c.instances, float64(s.Instances))
		to <- prometheus.MustNewConstMetric(c.syncErrors, prometheus.CounterValue, float64(s.Errors))
		to <- prometheus.MustNewConstMetric(c.unshared, prometheus.CounterValue, float64(s.Answers), "answer")
		to <- prometheus.MustNewConstMetric(c.unshared, prometheus.CounterValue, float64(s.Conversations), "conversation")
	}
	if c.live.Traces != nil {
		s := c.live.Traces()
		to <- prometheus.MustNewConstMetric(c.tracesSent, prometheus.CounterValue, float64(s.Sent))
		to <- prometheus.MustNewConstMetric(c.tracesDropped, prometheus.CounterValue, float64(s.Dropped))
	}
	if c.live.Providers == nil {
		return
	}
	for _, p := range c.live.Providers() {
		state, open := 0.0, 0.0
		switch p.Breaker {
		case "half_open":
			state = 1
		case "open":
			state, open = 2, 1
		}
		gauge(c.breaker, state, p.Name)
		gauge(c.blocked, open, "circuit_breaker", p.Name)
		gauge(c.blocked, float64(p.CredentialsCooling), "credential_cooldown", p.Name)
		gauge(c.blocked, float64(p.ModelsLocked), "model_lockout", p.Name)
		if p.Health == "" {
			continue
		}
		for _, status := range []string{"healthy", "degraded", "unhealthy"} {
			is := 0.0
			if p.Health == status {
				is = 1
			}
			gauge(c.health, is, p.Name, status)
		}
	}
}
