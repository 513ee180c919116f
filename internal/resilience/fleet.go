package resilience

import "time"

// yield is that a half-open breaker leaves the probe to another instance (R66): of the open period that began at of, until then.
type yield struct{ of, until time.Time }

// excused says whether the present open period, and all that ran together with it, began before a good probe of another instance, and
// so is not waited for (R66). A probe at the very moment of the beginning says nothing.
func (b *breaker) excused() bool { return b.youngest.Before(b.heard) }

// ended is when the open period ends, or ended.
func (b *breaker) ended() time.Time {
	if b.state == HalfOpen && b.excused() && b.heard.Before(b.retryAt) {
		return b.heard
	}
	return b.retryAt
}

// hearProof takes a good probe of another instance. One from the future, by clocks that differ, is of now.
func (b *breaker) hearProof(now, at time.Time, s *Settings, eff []Effect) []Effect {
	if at.After(now) {
		at = now
	}
	if !at.After(b.heard) {
		return eff
	}
	b.heard = at
	return b.look(now, s, eff)
}

// Proofs is the number of good probes so far.
func (m *Machine) Proofs() uint64 { return m.proofs }

// stand says whether the half-open breaker leaves the probe to another, until that is known to be good or the open period is
// another one.
func (b *breaker) stand(now time.Time) {
	b.yields = now.Before(b.yield.until) && b.began(b.yield.of) && b.proven == 0 && !b.excused()
}

// sameTime is how far apart two times may be that say when one and the same thing began or ends: what another instance says of it
// is translated from a clock that is known to some milliseconds only, each time it is heard (R63).
const sameTime = 500 * time.Millisecond

// began says whether the present open period is the one that began then.
func (b *breaker) began(at time.Time) bool {
	return b.openedAt.Sub(at).Abs() <= max(min(sameTime, b.retryAt.Sub(b.openedAt)/4), 0)
}

// Yield leaves the probes of a breaker to another instance (R66): half-open after the open period that began at openedAt, it
// blocks as one whose probe is under way does, at most until then. An empty model is the provider's. A good probe of another, a new open
// period, an operator's order or its own closing end that; forced tries pass (R51). False: the breaker has no such open period.
func (m *Machine) Yield(now time.Time, model string, openedAt, until time.Time) bool {
	b := &m.breaker
	if model != "" {
		if b = m.narrow(model); b == nil {
			return false
		}
	}
	if b.state == Closed || b.order.Action != NoAction || !b.began(openedAt) || !now.Before(until) {
		return false
	}
	b.yield = yield{openedAt, until}
	return true
}

// Due is an open breaker whose first probe comes soon.
type Due struct {
	Model             string // empty: the provider's
	OpenedAt, RetryAt time.Time
	// Heard is true for an open period that others saw begin.
	Heard bool
}

// Due appends the breakers that are open with an end in (now, now+within] (R66). One that an operator holds is none.
func (m *Machine) Due(now time.Time, within time.Duration, due []Due) []Due {
	due = m.breaker.due(now, within, due)
	for _, name := range m.known() {
		due = m.models[name].due(now, within, due)
	}
	return due
}

func (b *breaker) due(now time.Time, within time.Duration, due []Due) []Due {
	if b.state != Open || b.order.Action != NoAction || !b.retryAt.After(now) || b.retryAt.Sub(now) > within || b.excused() {
		return due
	}
	return append(due, Due{Model: b.model, OpenedAt: b.openedAt, RetryAt: b.retryAt, Heard: !b.own.openedAt.Equal(b.openedAt)})
}

// longestOpen is how long an open period can last.
func (s *Settings) longestOpen() time.Duration {
	return max(s.Breaker.Timeout, s.Cooldown.Base, s.Cooldown.Max, s.CredentialCooldown.Max)
}
