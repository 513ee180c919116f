package app

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/feed"
	"evergate/internal/journal"
	"evergate/internal/probing"
	"evergate/internal/telemetry"
)

// sinks are who hears the facts; adding one is adding a line. The ledger is the first: it takes the bodies that are kept, which nobody else is to have.
func (a *App) sinks() journal.Sink {
	a.metrics = telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.Live{
		Providers:  a.providerStates,
		InFlight:   func() int { return int(a.ingress.InFlight()) },
		LogDropped: a.opts.LogDropped,
		Sync:       a.syncState,
		Ledger:     a.ledgerState,
		Traces:     a.tracesState,
		Alerts:     a.alertStates, Front: a.frontState,
		Cache:   a.cacheState,
		Budgets: a.budgetStates,
	})
	a.prober = probing.New(a.dialects)
	a.feed = feed.New(a.instance)
	a.alerts = a.newAlerts()
	a.book = a.keepBook(a.opts.Config)
	a.trace()
	sinks := append([]journal.Sink{a.book, a.metrics, telemetry.NewLogs(a.log), a.prober, a.alerts, &a.copies}, a.opts.Sinks...)
	if a.tracer != nil {
		sinks = append(sinks, a.tracer)
	}
	sinks = a.drill(sinks)
	a.prober.Journal = telemetry.Fan(sinks...)
	a.drills.Journal = a.prober.Journal
	return a.prober.Journal
}

// providerStates is what the metrics read at a scrape.
func (a *App) providerStates() []telemetry.ProviderState {
	now := time.Now()
	cfg := a.config.Load()
	inventory := a.catalog.Snapshot()
	var out []telemetry.ProviderState
	for i := range cfg.Providers {
		name := cfg.Providers[i].Options.Name
		p := a.health.Provider(name)
		if p == nil || cfg.Providers[i].Disabled {
			continue
		}
		s := p.Snapshot(now)
		state := telemetry.ProviderState{Name: name, Breaker: s.Guards.Worst().String(), ModelsLocked: len(s.Guards.Lockouts)}
		for _, c := range s.Guards.Credentials {
			if c.Reason != "" {
				state.CredentialsCooling++
			}
		}
		if m := inventory.Provider(name); m != nil {
			state.Health = string(m.Status)
		}
		out = append(out, state)
	}
	return out
}

func (a *App) serveAdmin(w http.ResponseWriter, r *http.Request) { (*a.back.Load()).ServeHTTP(w, r) }
