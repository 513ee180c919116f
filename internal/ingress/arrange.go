package ingress

import (
	"sync/atomic"

	"evergate/internal/route"
)

// turns count the requests for each virtual model, for those whose targets take turns. They outlive a reload.
type turns map[string]*atomic.Uint64

// newTurns makes those of a table, with the counts that there are. Counts begin anywhere, so that instances that start
// together do not begin with the same target.
func newTurns(t *route.Table, known turns, random func() float64) turns {
	if t == nil {
		return nil
	}
	next := make(turns, len(t.Virtual))
	for name := range t.Virtual {
		n := known[name]
		if n == nil {
			n = new(atomic.Uint64)
			n.Store(uint64(random() * (1 << 32)))
		}
		next[name] = n
	}
	return next
}

// arrange puts the targets in the order in which they are to be tried.
func (x *exchange) arrange(r *route.Resolution) {
	if !r.Fixed() {
		c := x.circumstances(r)
		r.Arrange(&c)
	}
}

// circumstances are what the targets are arranged by.
func (x *exchange) circumstances(r *route.Resolution) route.Circumstances {
	c := route.Circumstances{Signals: x, Turn: x.turn(r.Label), Random: x.h.random, Judged: x.judged}
	if r.Priced() || x.judged != nil {
		c.Load = load(x.call.Body.B)
	}
	return c
}

// turn takes the next turn of a model by its label; who only asks does not take it. Models that are not virtual have no
// turns: chance does.
func (x *exchange) turn(label string) uint64 {
	n := x.cfg.turns[label]
	switch {
	case n == nil:
		return uint64(x.h.random() * (1 << 32))
	case x.imagined:
		return n.Load()
	}
	return n.Add(1) - 1
}

// bytesPerToken is how many bytes of a request a token of its input is taken for.
const bytesPerToken = 4

// maxLimitScan is how long a body may be, in bytes, that is looked through for its limit of the answer: beside a longer
// prompt that makes little difference.
const maxLimitScan = 64 << 10

// load is what a request is expected to need, by its body.
func load(body []byte) route.Load {
	l := route.Load{Input: float64(len(body)) / bytesPerToken}
	if len(body) <= maxLimitScan {
		l.Output = float64(askedTokens(body))
	}
	return l
}

// Signal implements route.Signals.
func (x *exchange) Signal(t *route.Target) route.Signal {
	s := x.cfg.Providers[t.Provider].Guards.Signal(x.start, t.Model)
	s.Tariff = t.Tariff()
	return s
}

var _ route.Signals = (*exchange)(nil)
