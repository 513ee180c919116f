package meters

import (
	"sync/atomic"
	"time"
)

// maxBounds is how many bounds a request has at most: its key, team and model, or a provider.
const maxBounds = 3

// Hold is what a request holds of its limits until it is settled. It is settled exactly once: what comes later is nothing.
type Hold struct {
	t       *Table
	amount  Amount
	n       int
	held    [maxBounds]holding
	settled atomic.Bool
}

// holding is the part of one scope.
type holding struct {
	scope    *scope
	at       time.Time // when it was counted
	periods  uint32    // where budgets hold it
	requests bool
	tokens   bool
}

// Reserve lets a request in, or says which limit does not: then nothing is counted. amount is an estimate, held until Settle puts what was really used in
// its place. Bounds are of different kinds, in their order, at most three; those that bound nothing are passed over. A nil Hold without a refusal: nothing is
// bounded.
func (t *Table) Reserve(now time.Time, amount Amount, bounds []Bound) (*Hold, Standings, *Refusal) {
	var standings Standings
	n := 0
	for i := range bounds {
		if !bounds[i].Free() {
			n++
		}
	}
	if n == 0 {
		return nil, standings, nil
	}
	h := &Hold{t: t, amount: Amount{Tokens: max(amount.Tokens, 0), Nano: max(amount.Nano, 0)}}
	instances := t.instances.Load()
	var worst Refusal
	for i := range bounds {
		b := &bounds[i]
		if b.Free() {
			continue
		}
		s := t.lock(b)
		at := s.present(now)
		h.held[h.n] = holding{scope: s, at: at, periods: s.prepare(at, b), requests: b.Limits.RequestsPerMinute > 0, tokens: b.Limits.TokensPerMinute > 0}
		h.n++
		s.judge(at, instances, &worst)
	}
	refused, urgent := worst.What != "", false
	for i := range h.n {
		g := &h.held[i]
		if !refused {
			g.take(h.amount)
			if t.shared() && g.scope.move(g.at, t) {
				urgent = true
			}
		}
		g.scope.standings(g.at, &standings)
	}
	for i := range h.n {
		h.held[i].scope.mu.Unlock()
	}
	if refused {
		return nil, standings, &worst
	}
	if urgent {
		t.rouse()
	}
	return h, standings, nil
}

// lock gives the scope of a bound, locked.
func (t *Table) lock(b *Bound) *scope {
	for {
		s := t.of(b.Kind, b.Name)
		s.mu.Lock()
		if !s.gone {
			return s
		}
		s.mu.Unlock()
	}
}

// take counts the request and holds the estimate. It requires the lock.
func (g *holding) take(a Amount) {
	s := g.scope
	s.flight.held++
	if g.requests {
		s.windows[ofRequests].use(g.at, 1)
	}
	if g.tokens {
		s.windows[ofTokens].held += a.Tokens
	}
	for i, p := range s.periods {
		if g.periods>>i&1 != 0 {
			p.nano.held += a.Nano
			p.tokens.held += a.Tokens
		}
	}
}

// Settle puts what was really used, by all attempts together, in the place of what was held. The first call alone counts; of a nil Hold none does.
func (h *Hold) Settle(now time.Time, used Amount) {
	if h == nil || h.settled.Swap(true) {
		return
	}
	var space [4]Event
	told := space[:0]
	urgent := false
	for i := range h.n {
		g := &h.held[i]
		s := g.scope
		s.mu.Lock()
		at := s.present(now)
		g.settle(at, h.amount, used)
		told = s.passed(at, told)
		if h.t.shared() && s.move(at, h.t) {
			urgent = true
		}
		s.mu.Unlock()
	}
	if urgent {
		h.t.rouse()
	}
	if h.t.o.Told != nil {
		for i := range told {
			h.t.o.Told(told[i])
		}
	}
}

// settle requires the lock.
func (g *holding) settle(now time.Time, held, used Amount) {
	s := g.scope
	s.touched = now
	s.flight.held--
	if g.tokens {
		s.windows[ofTokens].held -= held.Tokens
		s.windows[ofTokens].use(now, used.Tokens)
	}
	for i := range s.bound.Budgets { // brings periods to the present: what is used now is of now, as in the ledger
		s.period(now, &s.bound.Budgets[i])
	}
	for i, p := range s.periods {
		if g.periods>>i&1 != 0 {
			p.nano.held -= held.Nano
			p.tokens.held -= held.Tokens
			p.nano.use(now, used.Nano)
			p.tokens.use(now, used.Tokens)
		}
	}
}

// Return is Settle of a request that came to nothing: it does not count as one either.
func (h *Hold) Return(now time.Time) {
	if h == nil || h.settled.Load() {
		return
	}
	for i := range h.n {
		if g := &h.held[i]; g.requests {
			g.scope.mu.Lock()
			g.scope.windows[ofRequests].unuse(g.at, 1)
			g.scope.mu.Unlock()
		}
	}
	h.Settle(now, Amount{})
}

// Gate is one bound and where it is counted.
type Gate struct {
	Table *Table
	Bound Bound
}

// Reserve is Table.Reserve for the one bound.
func (g *Gate) Reserve(now time.Time, amount Amount) (*Hold, *Refusal) {
	bounds := [1]Bound{g.Bound}
	h, _, r := g.Table.Reserve(now, amount, bounds[:])
	return h, r
}

// Full says whether the bound would not let a request in now, nil if it would come in. Nothing is counted.
func (g *Gate) Full(now time.Time) *Refusal {
	s := g.Table.lock(&g.Bound)
	defer s.mu.Unlock()
	now = s.present(now)
	s.prepare(now, &g.Bound)
	var worst Refusal
	s.judge(now, g.Table.instances.Load(), &worst)
	if worst.What == "" {
		return nil
	}
	return &worst
}
