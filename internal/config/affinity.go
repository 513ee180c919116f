package config

import (
	"time"

	"evergate/internal/route"
)

type affinityFile struct {
	off given[bool]
	by  given[[]given[route.Trait]]
	ttl given[time.Duration]
}

// affinityShape is off, or by what conversations are known and for how long (R47).
func affinityShape() shape[affinityFile] {
	const what = "Keeping a conversation at the target that served it last, where the strategy holds targets equal."
	long := object("affinity", what, []key[affinityFile]{
		field("by", "What a conversation is known by; the first that a request has counts.", list("header, cache_key, user or opening", choice(
			say("header", route.ByHeader), say("cache_key", route.ByCacheKey), say("user", route.ByUser), say("opening", route.ByOpening),
		)), func(f *affinityFile) *given[[]given[route.Trait]] { return &f.by }),
		field("ttl", "How long after its last answer a conversation is remembered.", duration(time.Second), func(f *affinityFile) *given[time.Duration] { return &f.ttl }),
	})
	const want = "off, or an object such as { by: [header, cache_key], ttl: 1h }"
	off := single(want, map[string]any{"enum": []any{"off", false}}, func(s string) (bool, string, string) {
		if s == "off" || s == "false" { // YAML 1.1 tools write false for off
			return true, "", ""
		}
		return false, "must be " + want, ""
	})
	return shorthand(off, func(o given[bool]) affinityFile { return affinityFile{off: o} }, long)
}

// affinity is what a model's settings come to.
func (b *builder) affinity(f given[affinityFile]) route.Affinity {
	if f.v.off.v {
		return route.Affinity{}
	}
	a := route.DefaultAffinity()
	if f.v.by.set {
		a.By = nil
		seen := map[route.Trait]place{}
		for _, trait := range f.v.by.v {
			if _, twice := seen[trait.v]; twice {
				b.problem(trait.at, "", "is listed twice; remove one")
				continue
			}
			seen[trait.v] = trait.at
			a.By = append(a.By, trait.v)
		}
		if len(f.v.by.v) == 0 {
			b.problem(f.v.by.at, "", "is empty; name at least one, or say affinity: off")
		}
	}
	a.TTL = f.v.ttl.or(a.TTL)
	return a
}
