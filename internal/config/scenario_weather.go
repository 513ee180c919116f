package config

import (
	"slices"

	"evergate/internal/sim"
)

// needs are the keys of a kind of weather beside those that all of them have.
type needs struct{ must, may []string }

func weatherNeeds(k sim.Kind) needs {
	switch k {
	case sim.Outage:
		return needs{may: []string{"with", "retry_after"}}
	case sim.Flapping:
		return needs{must: []string{"every", "down"}, may: []string{"with", "retry_after"}}
	case sim.Brownout:
		return needs{may: []string{"errors", "latency", "with"}}
	case sim.SlowStart:
		return needs{must: []string{"latency"}}
	case sim.RateLimit:
		return needs{must: []string{"requests"}, may: []string{"per", "retry_after"}}
	case sim.Quota:
		return needs{must: []string{"requests"}, may: []string{"retry_after"}}
	case sim.Cuts:
		return needs{must: []string{"errors"}}
	case sim.BadKey, sim.ModelMissing:
	}
	return needs{}
}

func (b *scenarioBuilder) weather(f *weatherFile, at place) {
	if !f.kind.set {
		if f.kind.absent() {
			b.problem(at, "", "has no kind; add kind: outage, or another")
		}
		return
	}
	w := sim.Weather{
		Kind: f.kind.v, Providers: texts(f.provider), Tags: texts(f.tag), Model: f.model.v, Key: f.key.v, From: f.from.v, To: f.to.v,
		With: f.with.v.with, Status: f.with.v.status, Every: f.every.v, Down: f.down.v, Errors: f.errors.v, Latency: f.latency.or(1),
		Limit: f.requests.v, Per: f.per.v, Told: f.retryAfter.v.told, RetryAfter: f.retryAfter.v.wait,
	}
	if f.with.absent() {
		w.Status = 503
		if w.Kind == sim.Brownout {
			w.Status = 500
		}
	}
	b.keysOfKind(f, at)
	b.between(f.from, f.to)
	for _, p := range f.provider.v {
		b.known("provider", p.v, p.at, b.providers)
	}
	for _, t := range f.tag.v {
		b.known("tag", t.v, t.at, b.tags)
	}
	if f.model.set {
		b.known("model", w.Model, f.model.at, b.models)
	}
	if f.key.set {
		b.known("key", w.Key, f.key.at, b.keysOf(w.Providers))
	}
	switch w.Kind {
	case sim.RateLimit:
		w.Per = f.per.or(60e9)
		w.Told = f.retryAfter.absent() || w.Told
	case sim.Flapping:
		if f.down.set && f.every.set && w.Down >= w.Every {
			b.problem(f.down.at, "", "must be shorter than every; for one that is down all the time say kind: outage")
		}
	case sim.Brownout:
		if f.errors.absent() && f.latency.absent() {
			b.problem(at, "", "needs errors or latency")
		}
		if w.With != sim.Status {
			b.problem(f.with.at, "", "must be a status: a brownout's errors are answers")
		}
	case sim.Outage, sim.SlowStart, sim.Quota, sim.BadKey, sim.ModelMissing, sim.Cuts:
	}
	b.out.Weather = append(b.out.Weather, w)
}

// keysOfKind reports what a kind lacks, and what means nothing for it.
func (b *scenarioBuilder) keysOfKind(f *weatherFile, at place) {
	n := weatherNeeds(f.kind.v)
	for _, k := range []struct {
		name        string
		set, absent bool
		at          place
	}{
		{"with", f.with.set, f.with.absent(), f.with.at},
		{"every", f.every.set, f.every.absent(), f.every.at},
		{"down", f.down.set, f.down.absent(), f.down.at},
		{"errors", f.errors.set, f.errors.absent(), f.errors.at},
		{"latency", f.latency.set, f.latency.absent(), f.latency.at},
		{"requests", f.requests.set, f.requests.absent(), f.requests.at},
		{"per", f.per.set, f.per.absent(), f.per.at},
		{"retry_after", f.retryAfter.set, f.retryAfter.absent(), f.retryAfter.at},
	} {
		must := slices.Contains(n.must, k.name)
		switch {
		case k.absent && must:
			b.problem(at, "", "%s needs %s", f.kind.v, k.name)
		case k.set && !must && !slices.Contains(n.may, k.name):
			b.problem(k.at, "", "means nothing for %s; leave it out", f.kind.v)
		}
	}
}

// keysOf are the names of the credentials of some providers, or of all.
func (b *scenarioBuilder) keysOf(providers []string) []string {
	var out []string
	for _, g := range b.out.Gateway.Providers {
		if len(providers) > 0 && !slices.Contains(providers, g.Name) {
			continue
		}
		for _, c := range g.Credentials {
			out = append(out, c.Name)
		}
	}
	return out
}
