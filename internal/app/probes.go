package app

import (
	"context"

	"evergate/internal/config"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/probing"
	"evergate/internal/resilience"
)

// probes are the providers that are probed (R75).
func probes(c *config.Config, p *parts, guards *health.Health) []probing.Source {
	var out []probing.Source
	for i := range c.Providers {
		pc := &c.Providers[i]
		if pc.Probe.Kind == probing.Off || pc.Disabled {
			continue
		}
		client := p.upstreams[pc.Options.Name].client
		out = append(out, probing.Source{
			Settings: pc.Probe, Name: pc.Options.Name, Guards: guards.Provider(pc.Options.Name), Upstream: client, Timeouts: pc.Timeouts,
			List: func(ctx context.Context, credential string) *fault.Fault { return client.List(ctx, credential) },
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
