package app

import (
	"errors"
	"net/http"
	"time"

	"evergate/internal/admin"
	"evergate/internal/config"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// adminHandler is what operators ask.
func (a *App) adminHandler() http.Handler {
	cfg := a.config.Load()
	sources := admin.Sources{Health: a.healthView, Ready: a.ready, Metrics: a.metrics.Handler(), Operate: a.operate, Explain: a.ingress.Explain, Request: a.book.Find, Past: a.past, Drills: a.drills}
	sources.AlertSources = admin.AlertSources{Alerts: a.alertsView, TestAlert: a.testAlert}
	sources.CacheSources, sources.UsageSources = a.cacheSources(), a.usageSources()
	sources.KeySources = a.keySources()
	sources.LimitSources, sources.Spent = admin.LimitSources{Limits: a.limitsView}, a.spentBy
	a.showViews(&sources)
	if a.opts.Load != nil {
		sources.Reload = a.reloadProblems
	}
	return admin.New(sources, admin.Options{
		Token: cfg.Admin.Token, Hosts: []string{cfg.Server.Listen, cfg.Admin.Listen}, Pprof: cfg.Admin.Pprof, NoDrills: cfg.Admin.NoDrills,
		Guesses: a.guesses,
		MaxBody: cfg.Server.MaxRequestBody,
	})
}

func (a *App) ready() (bool, string) {
	if a.draining.Load() {
		return false, "draining: the gateway is shutting down"
	}
	return true, ""
}

// reloadProblems is Reload for the admin API.
func (a *App) reloadProblems(why, by string) []admin.Problem {
	err := a.reloadFor(why, by)
	var problems config.Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems):
		return shownProblems(problems)
	default:
		return []admin.Problem{{Message: err.Error()}}
	}
}

// operate is Operate for the admin API.
func (a *App) operate(provider string, o resilience.Order, by string) error {
	p := a.health.Provider(provider)
	if p == nil {
		return errors.New("the provider has just gone: the config was reloaded")
	}
	now := time.Now()
	if err := p.Operate(now, o, by); err != nil {
		return err
	}
	o.At, o.By = now, by
	a.ordered(provider, o)
	return nil
}

// healthView is the reply of GET /admin/v1/health.
func (a *App) healthView() admin.Health {
	now := time.Now()
	cfg := a.config.Load()
	inventory := a.catalog.Snapshot()
	view := admin.Health{
		Instance: a.instance, Providers: map[string]admin.Provider{},
	}
	if a.drills.Running() {
		view.Drills = admin.NewFaults(a.drills.List())
	}
	a.showFleet(&view, now)
	for i := range cfg.Providers {
		name := cfg.Providers[i].Options.Name
		guards := a.health.Provider(name)
		if guards == nil {
			continue // a reload is under way
		}
		s := guards.Snapshot(now)
		models := inventory.Provider(name)
		if models == nil {
			models = &route.ProviderModels{Name: name, Disabled: cfg.Providers[i].Disabled}
		}
		shown := admin.NewProvider(s.Guards, *models, int(s.InFlight), admin.Latency{
			FirstContent: s.FirstContent.Milliseconds(), Total: s.Total.Milliseconds(),
		})
		a.showTokens(&shown, name, now)
		view.Providers[name] = shown
	}
	return view
}
