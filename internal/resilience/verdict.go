package resilience

import (
	"math"
	"time"

	"evergate/internal/fault"
)

// verdict is what an outcome means to a breaker (the table's breaker column).
type verdict uint8

const (
	nothing  verdict = iota // R13, or unknown: decides nothing anywhere
	passed                  // R16
	failed                  // R1-R3, R14, R15
	answered                // the provider answered: untouched when closed, a success on a probe (R24)
	limited                 // R4: untouched when closed, R25 on a probe
)

// judge is the table's breaker column (R1-R16, R24).
func judge(o Outcome) verdict {
	if o.Success {
		return passed
	}
	if o.Unasked {
		return nothing
	}
	switch o.Class {
	case fault.Connect, fault.Reset, fault.Timeout, fault.Upstream, fault.Invalid, fault.Cut:
		return failed
	case fault.RateLimited:
		return limited
	case fault.Quota, fault.ModelLimited, fault.Auth, fault.CallerAuth, fault.ModelMissing, fault.Rejected,
		fault.ContextLength, fault.ContentFilter, fault.Next, fault.RouteMissing, fault.Unable:
		return answered
	case fault.Unknown, fault.ClientGone, fault.ClientDeadline, fault.NoToken:
	}
	return nothing
}

// result is an outcome as breakers see it.
type result struct {
	verdict    verdict
	connection bool          // R35: a failure before any head came, which is of no model
	wait       time.Duration // R25: the upstream's own word; 0: none
	alone      bool          // R25: a probe, and no other credential is usable
	held       bool          // R31: an operator holds all of them closed
}

// awaits says whether a result of the ticket counts as a probe's: it is a probe of this half-open period, or was forced
// past a breaker that has not closed since (R27). Nothing closes what an operator holds open.
func (b *breaker) awaits(t *ticket) bool {
	if b.order.Action == ForceOpen {
		return false
	}
	return t.as == probe && t.mark >= b.generation || t.as == forced && b.state != Closed && t.mark >= b.closedIn
}

// sound gives a running stream's verdict: success (R26). What it comes to afterwards is an ordinary result.
func (b *breaker) sound(now time.Time, s *Settings, t *ticket, eff []Effect) []Effect {
	if !t.pending() {
		return eff
	}
	b.release(t)
	if !b.awaits(t) {
		return eff
	}
	eff = b.prove(now, s, eff)
	t.as, t.mark = judged, *b.moves
	return eff
}

// settle takes a result.
func (b *breaker) settle(now time.Time, s *Settings, t *ticket, r *result, eff []Effect) []Effect {
	if t.slot != 0 {
		b.release(t)
	}
	if r.verdict == failed && (b.reach.counts(r.connection) || t.as == probe) {
		b.total++
	}
	switch {
	case b.awaits(t):
		return b.settleProbe(now, s, t, r, eff)
	case t.mark >= b.generation && b.state == Closed:
		return b.settleClosed(now, s, t, r, eff)
	}
	return eff // R21, R27: from before the last transition
}

func (b *breaker) settleClosed(now time.Time, s *Settings, t *ticket, r *result, eff []Effect) []Effect {
	counted := t.as == ordinary && s.cooldownOn()
	switch r.verdict {
	case passed:
		b.pass(now)
		if counted {
			b.recent.add(now, false)
		}
	case failed:
		if !b.reach.counts(r.connection) {
			return eff
		}
		b.fail(now)
		if counted {
			b.recent.add(now, true)
		}
		switch {
		case b.reach == spectator || r.held || b.order.Action == ForceClosed: // R31: counted, and not acted upon
		case s.Breaker.FailureThreshold > 0 && b.failures >= s.Breaker.FailureThreshold: // R20
			return b.open(now, s.Breaker.Timeout, tripFailures, eff)
		case counted && b.brownout(now, s):
			return b.offend(now, s, eff)
		}
	case nothing, answered, limited:
	}
	return eff
}

// pass and fail keep the count of R20.
func (b *breaker) pass(now time.Time) {
	b.failures, b.own.failures = 0, 0
	b.passedAt = now
}

func (b *breaker) fail(now time.Time) {
	b.failures++
	b.own.failures++
	b.own.failedAt = now
}

func (b *breaker) settleProbe(now time.Time, s *Settings, t *ticket, r *result, eff []Effect) []Effect {
	switch r.verdict {
	case passed, answered: // R24
		return b.prove(now, s, eff)
	case failed:
		if t.as == forced { // R27
			return eff
		}
		b.fail(now)
		if b.trip == tripCooldown && s.cooldownOn() {
			return b.offend(now, s, eff)
		}
		return b.open(now, s.Breaker.Timeout, tripFailures, eff)
	case limited: // R25
		if !r.alone || t.as == forced {
			return eff
		}
		trip := b.trip
		if trip == tripOperator {
			trip = tripFailures
		}
		eff = b.open(now, max(s.Breaker.Timeout, r.wait), trip, eff)
		b.named = r.wait > s.Breaker.Timeout
		b.own.named = b.named
	case nothing:
	}
	return eff
}

// prove counts a probe success, and closes the breaker when there are enough of them (R24).
func (b *breaker) prove(now time.Time, s *Settings, eff []Effect) []Effect {
	b.proven++
	b.own.provedAt = now
	*b.proofs++
	if b.proven < s.Breaker.SuccessThreshold {
		return eff
	}
	b.pass(now)
	eff = b.shut(now, eff)
	b.proved = true
	return eff
}

// brownout says whether R29's trip is due.
func (b *breaker) brownout(now time.Time, s *Settings) bool {
	t := b.recent.at(now)
	return int64(t.failures) >= int64(s.Cooldown.Failures) &&
		float64(t.failures) >= s.Cooldown.MinFailureRatio*(float64(t.failures)+float64(t.successes))
}

// offend opens the breaker for R29's escalating time.
func (b *breaker) offend(now time.Time, s *Settings, eff []Effect) []Effect {
	c := s.Cooldown
	d := atMost(saturate(float64(c.Base)*math.Pow(max(c.Factor, 1), float64(b.offences))), c.Max)
	b.offences++
	return b.open(now, d, tripCooldown, eff)
}
