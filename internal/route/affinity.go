package route

import (
	"slices"
	"time"
)

// Trait is something of a request by which its conversation is known (R47).
type Trait uint8

// The traits.
const (
	ByHeader   Trait = iota // a session's id in a header
	ByCacheKey              // the client's own key of what may be cached
	ByUser                  // for whom the client asks
	ByOpening               // how the conversation begins
)

// Affinity is whether requests of one conversation go to the target that served it last (R47). The zero Affinity is off.
type Affinity struct {
	// By are the traits that are looked for; the first that a request has counts. Read only.
	By []Trait
	// TTL is for how long after an answer its target is remembered.
	TTL time.Duration
}

// DefaultAffinity is what holds where nothing is said: `{ by: [header, cache_key, user, opening], ttl: 1h }`.
func DefaultAffinity() Affinity {
	return Affinity{By: []Trait{ByHeader, ByCacheKey, ByUser, ByOpening}, TTL: time.Hour}
}

// Prefer puts the target for which is says so before those that its strategy holds equal (R47): within a group that is ordered
// it stays where it is, and goes along where the group is moved.
func (r *Resolution) Prefer(is func(*Target) bool) {
	at := 0
	for at < len(r.Targets) && !is(&r.Targets[at]) {
		at++
	}
	if at == len(r.Targets) || r.Fixed() {
		return
	}
	if !r.mine {
		r.Targets, r.mine = slices.Clone(r.Targets), true
	}
	a, strategy := arranger{r: r}, r.Strategy
	equal := false
	for front, end, within := 0, len(r.Targets), uint16(0); ; {
		g := a.child(&r.Targets[at], within)
		from, to := at, at+1
		if g != 0 { // the whole group
			for from > front && a.child(&r.Targets[from-1], within) == g {
				from--
			}
			for to < end && a.child(&r.Targets[to], within) == g {
				to++
			}
		}
		if strategy != Ordered {
			equal = true
			advance(r.Targets[front:to], to-from)
			at, from, to = at-from+front, front, front+to-from
		}
		if g == 0 {
			break
		}
		front, end, within, strategy = from, to, g, r.Groups[g-1].Strategy
	}
	if equal && at == 0 {
		r.Order = Affine
	}
}

// advance moves the last n targets before the others.
func advance(targets []Target, n int) {
	rest := len(targets) - n
	slices.Reverse(targets[:rest])
	slices.Reverse(targets[rest:])
	slices.Reverse(targets)
}
