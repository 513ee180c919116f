package route

import (
	"math"
	"slices"
	"time"
)

// Signal is what is known of a target at a moment.
type Signal struct {
	// FirstContent is the moving average of its time to first content; 0: not measured.
	FirstContent time.Duration
	// InFlight is how many requests its provider is busy with, of those that this instance sent.
	InFlight int
	// Health is the share of its provider's recent requests that went well, Headroom what of its keys is free to be
	// used; both 0 to 1.
	Health, Headroom float64
	// Tariff is what it asks for.
	Tariff Tariff
	// Output is the average length of its answers, CachedShare what of its input its prompt cache had; 0: not measured.
	Output, CachedShare float64
}

// Tariff is in US dollars for a token; Known is false where nobody knows it.
type Tariff struct {
	Input, CacheRead, Output float64
	Known                    bool
}

// Tariff is what the target asks for, by the facts of its model. A prompt cache whose price is not known is no cheaper.
func (t *Target) Tariff() Tariff {
	const million = 1e6
	if t.Facts == nil || !t.Facts.Prices.Input.Known || !t.Facts.Prices.Output.Known {
		return Tariff{}
	}
	p := &t.Facts.Prices
	out := Tariff{Input: p.Input.USD / million, CacheRead: p.Input.USD / million, Output: p.Output.USD / million, Known: true}
	if p.CacheRead.Known {
		out.CacheRead = p.CacheRead.USD / million
	}
	return out
}

// Signals answers for the targets of one request. It is asked at most once for each, and must not wait.
type Signals interface {
	Signal(t *Target) Signal
}

// Load is what a request is expected to need of a target, in tokens.
type Load struct {
	Input float64
	// Output is the request's own limit of the answer; 0: it has none.
	Output float64
}

// Circumstances are what a request's targets are arranged by, beside the table.
type Circumstances struct {
	Signals Signals
	Load    Load
	// Turn counts the requests for this model, for RoundRobin.
	Turn uint64
	// Random gives numbers in [0, 1).
	Random func() float64
	// Judged, if set, hears of every target that a strategy judged, before they are ordered (R72).
	Judged func(*Target, Judgement)
}

// Use has all targets ordered by one strategy, whatever the model's own and those of its groups are.
func (r *Resolution) Use(s Strategy) { r.Strategy, r.Groups = s, nil }

// Arrange puts the targets in the order in which they are to be tried: one is chosen by the strategy, then one of the
// rest in the same way, and so on (R50). Those that only a failover rule added stay behind the others, as declared. What
// guards block keeps its place: the session passes over it, so that each share of what is left stays in proportion.
func (r *Resolution) Arrange(c *Circumstances) {
	if r.Fixed() {
		return
	}
	r.arrange(c)
}

// Fixed says that the targets stand as they are whatever the circumstances.
func (r *Resolution) Fixed() bool {
	return r.Strategy == Ordered && len(r.Groups) == 0 || len(r.Targets) < 2
}

// Priced says whether what the request is expected to cost has a say in the order.
func (r *Resolution) Priced() bool {
	return r.Strategy.priced() || slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Strategy.priced() })
}

func (r *Resolution) arrange(c *Circumstances) {
	own := len(r.Targets)
	for own > 0 && r.Targets[own-1].Rule {
		own--
	}
	var space [16]place
	places := space[:0]
	for i := range own {
		places = append(places, place{at: i})
	}
	a := arranger{Circumstances: c, r: r}
	a.order(places, 0, r.Strategy, &r.Auto, c.Turn)
	out := make([]Target, 0, len(r.Targets))
	for i := range places {
		if t := &r.Targets[places[i].at]; len(r.Groups) == 0 || !contains(out, t) {
			out = append(out, *t)
		}
	}
	r.Targets, r.mine = append(out, r.Targets[own:]...), true
	if r.Strategy != Ordered {
		r.Order = r.Strategy.order()
	} else if slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Strategy != Ordered }) {
		r.Order = Nested
	}
}

// contains says whether a target that several groups have was chosen already.
func contains(targets []Target, t *Target) bool {
	return slices.ContainsFunc(targets, func(o Target) bool {
		return o.Provider == t.Provider && o.Model == t.Model && len(o.Params) == 0 && len(t.Params) == 0
	})
}

// place is one target on its way to its place in the order. A run is what is moved as one: a target, or a group.
type place struct {
	at  int // index in Targets
	run int // of a run's first: its length
	// value is what a strategy chooses by, of a run's first.
	value float64
	Judgement
}

type arranger struct {
	*Circumstances
	r *Resolution
}

// order arranges what stands in one group; within is its number, 0 for the model itself. Inner groups come first: a group
// is judged by the target that it would have asked first.
func (a *arranger) order(places []place, within uint16, s Strategy, w *Weights, turn uint64) {
	runs := a.runs(places, within)
	for i := 0; i < len(places); i += places[i].run {
		run := places[i : i+places[i].run]
		if g := a.child(&a.r.Targets[run[0].at], within); g != 0 {
			inner := &a.r.Groups[g-1]
			// The quotient, so that with every round of this one the inner one moves on by one.
			a.order(run, g, inner.Strategy, &inner.Auto, turn/uint64(runs)) //nolint:gosec // at least 1
			run[0].run = len(run)
		}
	}
	if s == Ordered || runs < 2 {
		return
	}
	a.value(places, within, s, w)
	for left := runs; left > 1; left-- {
		n := a.choose(places, left, s, turn, left == runs)
		turn /= uint64(left)
		places = places[bring(places, n):]
	}
}

// runs marks the runs of a group and counts them.
func (a *arranger) runs(places []place, within uint16) int {
	n := 0
	for i := 0; i < len(places); n++ {
		g := a.child(&a.r.Targets[places[i].at], within)
		end := i + 1
		for g != 0 && end < len(places) && a.child(&a.r.Targets[places[end].at], within) == g {
			end++
		}
		places[i].run = end - i
		i = end
	}
	return n
}

// child is the group in which a target stands directly below another group; 0: it stands there itself.
func (a *arranger) child(t *Target, within uint16) uint16 {
	if len(a.r.Groups) == 0 {
		return 0
	}
	g := t.Group
	for g != within && a.r.Groups[g-1].Within != within {
		g = a.r.Groups[g-1].Within
	}
	if g == within {
		return 0
	}
	return g
}

// bring moves the n-th run to the front, leaves the others as they stand, and gives its length. Rotated rather than
// swapped, so that those not chosen keep their declared order among equals.
func bring(places []place, n int) int {
	at := 0
	for range n {
		at += places[at].run
	}
	run := places[at].run
	slices.Reverse(places[:at])
	slices.Reverse(places[at : at+run])
	slices.Reverse(places[:at+run])
	return run
}

// value finds out what a strategy chooses by.
func (a *arranger) value(places []place, within uint16, s Strategy, w *Weights) {
	switch s {
	case Ordered, RoundRobin:
		return
	case Weighted:
		for i := 0; i < len(places); i += places[i].run {
			places[i].value = a.weight(&a.r.Targets[places[i].at], within)
		}
		return
	case LeastLatency, LeastBusy, LeastCost, Auto:
	}
	a.judge(places, s, w)
}

// weight is a target's, or that of the group that it stands in.
func (a *arranger) weight(t *Target, within uint16) float64 {
	if g := a.child(t, within); g != 0 {
		if w := a.r.Groups[g-1].Weight; w != 0 {
			return w
		}
		return 1
	}
	return weight(t)
}

// choose gives the number of the run that comes next, of those left. first: it is the first of all.
func (a *arranger) choose(places []place, left int, s Strategy, turn uint64, first bool) int {
	switch s {
	case RoundRobin:
		return int(turn % uint64(left)) //nolint:gosec // less than left
	case Weighted, Auto:
		return draw(places, a.Random())
	case LeastLatency:
		if first && a.Random() < Explore {
			return int(a.Random() * float64(left))
		}
		return a.ofTwo(places, left, likelier)
	case LeastBusy:
		return a.ofTwo(places, left, fewer)
	case LeastCost:
		return least(places)
	case Ordered:
	}
	return 0
}

// draw draws a run by value; r is in [0, 1). Where no value says anything all are alike.
func draw(places []place, r float64) int {
	total, runs := 0.0, 0
	for i := 0; i < len(places); i += places[i].run {
		total += places[i].value
		runs++
	}
	if total <= 0 {
		return int(r * float64(runs))
	}
	r *= total
	n := 0
	for i := 0; i < len(places); i += places[i].run {
		if r -= places[i].value; r < 0 {
			return n
		}
		n++
	}
	return n - 1
}

// least is the first run with the smallest value.
func least(places []place) int {
	best, at := math.Inf(1), 0
	n := 0
	for i := 0; i < len(places); i += places[i].run {
		if places[i].value < best {
			best, at = places[i].value, n
		}
		n++
	}
	return at
}

// ofTwo draws two runs and chooses one of them: so no target gets everything just because it looked best for a while, to
// this instance and to all the others (the power of two choices).
func (a *arranger) ofTwo(places []place, left int, chance func(one, other float64) float64) int {
	n := int(a.Random() * float64(left))
	m := int(a.Random() * float64(left-1))
	if m >= n {
		m++
	}
	if a.Random() < chance(nth(places, n).value, nth(places, m).value) {
		return n
	}
	return m
}

func nth(places []place, n int) *place {
	i := 0
	for range n {
		i += places[i].run
	}
	return &places[i]
}

// Explore is the share of requests whose first target LeastLatency draws at random, so that one which has become
// quicker is found out.
const Explore = 0.1

// likelier is the chance of the first of two latencies: their odds are the inverse cube of their ratio, so that a small
// difference, which may be noise, decides little and a large one nearly everything. One not measured is as good as any.
func likelier(one, other float64) float64 {
	if one <= 0 || other <= 0 {
		return 0.5
	}
	one, other = one*one*one, other*other*other
	return other / (one + other)
}

// fewer is the chance of the first of two counts.
func fewer(one, other float64) float64 {
	switch {
	case one < other:
		return 1
	case one > other:
		return 0
	}
	return 0.5
}
