package app

import (
	"context"

	"evergate/internal/attempt"
	"evergate/internal/config"
	"evergate/internal/fault"
	"evergate/internal/modelfacts"
	"evergate/internal/probing"
	"evergate/internal/resilience"
)

// probes are the providers that are probed (R75).
func (a *App) probes(c *config.Config, p *parts) []probing.Source {
	var out []probing.Source
	for i := range c.Providers {
		pc := &c.Providers[i]
		if pc.Probe.Kind == probing.Off || pc.Disabled {
			continue
		}
		name := pc.Options.Name
		client := p.upstreams[pc.Options.Name].client
		up := &attempt.Rehearsal{Upstream: client, Provider: pc.Options.Name, Drills: a.drills, Dialects: a.dialects}
		out = append(out, probing.Source{
			Settings: pc.Probe, Name: pc.Options.Name, Guards: a.health.Provider(pc.Options.Name), Upstream: up, Timeouts: pc.Timeouts,
			Facts: func(model string) *modelfacts.Facts { return c.Table.Facts.Facts(name, model) },
			List: func(ctx context.Context, credential string) *fault.Fault {
				return up.List(ctx, func(ctx context.Context) *fault.Fault { return client.List(ctx, credential) })
			},
		})
	}
	return out
}

// guarded are the settings of a provider's guards, which know that it is probed.
func guarded(pc *config.Provider) resilience.Settings {
	s := pc.Resilience
	if !pc.Disabled {
		s.Breaker.KeptFor = pc.Probe.KeepFor(s.WhenAllBlocked)
	}
	return s
}
