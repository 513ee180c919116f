package attempt

import (
	"time"

	"evergate/internal/quota/meters"
	"evergate/internal/resilience"
)

// pickLimited is pick where the provider's own limits say, too, whether it may be asked. Who has none left is passed over like one whose guards block it.
func (x *run) pickLimited(leg *Leg, skip func(int) bool) (int, resilience.Block, bool) {
	c, b, ok := x.pick(leg, skip)
	if ok {
		if full := leg.full(x.now); full.Blocked() {
			return c, full, false
		}
	}
	return c, b, ok
}

// full is the block of a provider that has all that it may have at a time; the zero Block: there is room.
func (l *Leg) full(now time.Time) resilience.Block {
	if r := l.Limit.Full(now); r != nil {
		return limitBlock(now, r)
	}
	return resilience.Block{}
}

func limitBlock(now time.Time, r *meters.Refusal) resilience.Block {
	return resilience.Block{Guard: resilience.LimitGuard, Reason: resilience.LimitReached, Until: now.Add(r.Wait)}
}

// reserve has the attempt hold what it may use of its provider's limits; a Block: there is no room.
func (e *exchange) reserve() resilience.Block {
	if e.leg.Limit == nil {
		return resilience.Block{}
	}
	hold, r := e.leg.Limit.Reserve(e.x.now, meters.Amount{Tokens: e.x.c.Foreseen})
	if r != nil {
		return limitBlock(e.x.now, r)
	}
	e.limit = hold
	return resilience.Block{}
}

// reserved is the block of a leg's own limit, for explanations.
func (c *Call) reserved(t int) resilience.Block {
	if leg := &c.Legs[t]; leg.Limit != nil {
		return leg.full(c.Start)
	}
	return resilience.Block{}
}
