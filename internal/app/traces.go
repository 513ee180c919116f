package app

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"evergate/internal/telemetry"
	"evergate/internal/telemetry/traces"
)

// flushTraces is how long a stop waits for the collector to take what is left.
const flushTraces = 3 * time.Second

// trace makes the tracer, if traces are asked for.
func (a *App) trace() {
	if a.opts.Traces == nil {
		return
	}
	o := traces.Options{Version: a.opts.Version, Instance: a.instance, Place: a.place, Log: a.log}
	if a.opts.Dial != nil {
		o.Transport = &http.Transport{DialContext: a.opts.Dial}
	}
	a.tracer = traces.New(a.opts.Traces, o)
}

// place is where a provider is asked, for its attempts' spans.
func (a *App) place(name string) (p traces.Place) {
	cfg := a.config.Load()
	if cfg == nil {
		return p
	}
	for i := range cfg.Providers {
		o := &cfg.Providers[i].Options
		if o.Name != name {
			continue
		}
		p.Type = o.Type
		if o.BaseURL == nil {
			return p
		}
		p.Address, p.Port = o.BaseURL.Hostname(), 443
		if o.BaseURL.Scheme == "http" {
			p.Port = 80
		}
		if port, err := strconv.Atoi(o.BaseURL.Port()); err == nil {
			p.Port = port
		}
		return p
	}
	return p
}

// tracesState is what the metrics read at a scrape.
func (a *App) tracesState() telemetry.TracesState {
	if a.tracer == nil {
		return telemetry.TracesState{}
	}
	return telemetry.TracesState{Sent: a.tracer.Sent(), Dropped: a.tracer.Dropped()}
}

// stopTraces sends what is left, for a moment even where the grace period is over.
func (a *App) stopTraces(ctx context.Context) {
	if a.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTraces)
	defer cancel()
	a.tracer.Stop(ctx)
}
