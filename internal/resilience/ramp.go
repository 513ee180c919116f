package resilience

import (
	"math"
	"time"
)

// R34: a breaker that probes have closed gets its traffic back as a share that grows linearly over the ramp, from one
// request at a time to all.

// ramping says whether the breaker is closed and on its ramp.
func (b *breaker) ramping(now time.Time, s *Settings) bool {
	return s.Breaker.Ramp > 0 && b.proved && b.state == Closed && b.order.Action == NoAction && now.Sub(b.closedAt) < s.Breaker.Ramp
}

// turns away says whether a request with this number is outside the share, and somebody is on the way already.
func (b *breaker) turnsAway(now time.Time, s *Settings, rnd float64) bool {
	return b.ramping(now, s) && draw(rnd) >= float64(now.Sub(b.closedAt))/float64(s.Breaker.Ramp) && b.lone.held(now)
}

// draw is a number in [0, 1) of a request's own one. It is another one, so that the share that passes is not the share
// that Weighted gives to the first credentials.
func draw(rnd float64) float64 {
	const fine = 1 << 16
	_, f := math.Modf(rnd * fine)
	return f
}

// away is the block of a request that is outside the share of either breaker, where there is a ramp; narrow may be nil.
func (m *Machine) away(now time.Time, narrow *breaker, rnd float64) Block {
	s := &m.settings
	if m.held() {
		return Block{}
	}
	for _, b := range [...]*breaker{&m.breaker, narrow} {
		if b != nil && b.turnsAway(now, s, rnd) {
			return Block{Guard: CircuitBreaker, Reason: Ramping, Until: b.closedAt.Add(s.Breaker.Ramp)}
		}
	}
	return Block{}
}

// ClosedAt is when the breaker that a model's traffic passes last closed, the later one of two; zero: never. A virtual
// model's hold_down goes by it (R34).
func (m *Machine) ClosedAt(model string) time.Time {
	at := m.breaker.closedAt
	if b := m.narrow(model); b != nil && b.closedAt.After(at) {
		at = b.closedAt
	}
	return at
}
