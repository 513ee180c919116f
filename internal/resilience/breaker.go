package resilience

import (
	"math"
	"slices"
	"time"
)

// The words for what opened a breaker.
const (
	tripFailures = "failures" // R20
	tripCooldown = "cooldown" // R29
)

// openEnded is how long the lease of an attempt lasts that has no deadline.
const openEnded = 10 * time.Minute

// lease is a claim that ends by itself: a probe slot (R33) or a credential's early try (R51). The zero lease is nobody's.
type lease struct {
	id   uint64
	ends time.Time
}

func newLease(id uint64, now, deadline time.Time) lease {
	if deadline.IsZero() {
		deadline = now.Add(openEnded)
	}
	return lease{id: id, ends: deadline}
}

func (l lease) held(now time.Time) bool { return l.id != 0 && now.Before(l.ends) }

// verdict is what an outcome means to a breaker (the table's breaker column).
type verdict uint8

const (
	nothing  verdict = iota // R13, or unknown: decides nothing anywhere
	passed                  // R16
	failed                  // R1-R3, R14, R15
	answered                // the provider answered: untouched when closed, a success on a probe (R24)
	limited                 // R4: untouched when closed, R25 on a probe
)

// breaker is one circuit breaker (R20-R30, R33). look must be called before anything else at a new time.
type breaker struct {
	state      State
	trip       string // empty while closed
	named      bool   // retryAt is the upstream's own word (R25)
	generation uint64 // number of transitions so far (R27)
	closedIn   uint64 // generation in which it last closed
	failures   int    // in a row
	total      uint64 // failures ever
	proven     int    // probe successes in a row
	offences   int    // R29
	openedAt   time.Time
	retryAt    time.Time
	closedAt   time.Time
	slots      []lease // probes under way, of whatever generation; bounded by half_open_max_probes
	issued     uint64  // probe slots so far
	recent     window
}

// breakerOn says whether any trip is on (R28).
func (s *Settings) breakerOn() bool { return s.Breaker.FailureThreshold > 0 || s.cooldownOn() }

// cooldownOn says whether R29's trip is on (R28).
func (s *Settings) cooldownOn() bool {
	return s.Cooldown.Failures > 0 && (s.Breaker.FailureThreshold > 0 || s.Cooldown.Explicit)
}

// look moves the breaker on to now: an open period that is over ends (R22), leases that ran out are taken back (R33),
// offences are forgotten (R29), and one that was turned off closes (R28).
func (b *breaker) look(now time.Time, s *Settings, eff []Effect) []Effect {
	switch {
	case b.state == Closed:
		if b.offences > 0 && s.Cooldown.Max > 0 && now.Sub(b.closedAt) >= s.Cooldown.Max {
			b.offences = 0
		}
	case !s.breakerOn():
		return b.shut(now, eff)
	case b.state == Open && !now.Before(b.retryAt):
		b.reclaim(now)
		return b.enter(HalfOpen, eff)
	case b.state == HalfOpen:
		b.reclaim(now)
	}
	return eff
}

// reclaim takes back the slots whose lease is over (R33).
func (b *breaker) reclaim(now time.Time) {
	b.slots = slices.DeleteFunc(b.slots, func(l lease) bool { return !l.held(now) })
}

// block says whether it blocks an attempt now (R23).
func (b *breaker) block(s *Settings) Block {
	switch b.state {
	case Open:
		return Block{Guard: CircuitBreaker, Reason: CircuitOpen, Until: b.retryAt, Named: b.named}
	case HalfOpen:
		if limit := s.Breaker.HalfOpenMaxProbes; limit > 0 && len(b.slots) >= limit {
			first := slices.MinFunc(b.slots, func(x, y lease) int { return x.ends.Compare(y.ends) })
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: first.ends}
		}
	case Closed:
	}
	return Block{}
}

// admit stamps a permit. Half-open it takes a probe slot unless forced; the caller has asked block before.
func (b *breaker) admit(now, deadline time.Time, force bool, s *Settings, p *Permit) {
	p.breaker = b.generation
	switch {
	case b.state == Closed:
		p.closed = true
	case force:
		p.forced = true // R27
	default:
		b.issued++
		p.slot, p.probe = b.issued, true
		if s.Breaker.HalfOpenMaxProbes > 0 {
			b.slots = append(b.slots, newLease(b.issued, now, deadline))
		}
	}
}

// release gives a probe slot back; one already taken back is no matter.
func (b *breaker) release(p *Permit) {
	if p.slot != 0 {
		b.slots = slices.DeleteFunc(b.slots, func(l lease) bool { return l.id == p.slot })
		p.slot = 0
	}
}

// sound gives a running stream's verdict: success (R26). What it comes to afterwards is an ordinary result.
func (b *breaker) sound(now time.Time, s *Settings, p *Permit, eff []Effect) []Effect {
	b.release(p)
	if !b.awaits(p) {
		return eff
	}
	eff = b.prove(now, s, eff)
	p.probe, p.forced, p.breaker = false, false, b.generation
	return eff
}

// awaits says whether a result of the permit counts as a probe's: it is a probe of this half-open period, or was forced
// past a breaker that has not closed since (R27).
func (b *breaker) awaits(p *Permit) bool {
	return p.probe && p.breaker == b.generation || p.forced && b.state != Closed && p.breaker >= b.closedIn
}

// settle takes a result. For R25, wait is the upstream's own word (0: none), and alone says that the permit was given to
// a probe and no other credential is usable.
func (b *breaker) settle(now time.Time, s *Settings, p *Permit, v verdict, wait time.Duration, alone bool, eff []Effect) []Effect {
	b.release(p)
	if v == failed {
		b.total++
	}
	switch {
	case b.awaits(p):
		return b.settleProbe(now, s, p, v, wait, alone, eff)
	case p.breaker == b.generation && b.state == Closed:
		return b.settleClosed(now, s, p, v, eff)
	}
	return eff // R21, R27: from before the last transition
}

func (b *breaker) settleClosed(now time.Time, s *Settings, p *Permit, v verdict, eff []Effect) []Effect {
	counted := p.closed && s.cooldownOn()
	switch v {
	case passed:
		b.failures = 0
		if counted {
			b.recent.add(now, false)
		}
	case failed:
		b.failures++
		if counted {
			b.recent.add(now, true)
		}
		switch {
		case s.Breaker.FailureThreshold > 0 && b.failures >= s.Breaker.FailureThreshold: // R20
			return b.open(now, s.Breaker.Timeout, tripFailures, eff)
		case counted && b.brownout(now, s):
			return b.offend(now, s, eff)
		}
	case nothing, answered, limited:
	}
	return eff
}

func (b *breaker) settleProbe(now time.Time, s *Settings, p *Permit, v verdict, wait time.Duration, alone bool, eff []Effect) []Effect {
	switch v {
	case passed, answered: // R24
		return b.prove(now, s, eff)
	case failed:
		if p.forced { // R27
			return eff
		}
		b.failures++
		if b.trip == tripCooldown && s.cooldownOn() {
			return b.offend(now, s, eff)
		}
		return b.open(now, s.Breaker.Timeout, tripFailures, eff)
	case limited: // R25
		if !alone {
			return eff
		}
		eff = b.open(now, max(s.Breaker.Timeout, wait), b.trip, eff)
		b.named = wait > s.Breaker.Timeout
	case nothing:
	}
	return eff
}

// prove counts a probe success, and closes the breaker when there are enough of them (R24).
func (b *breaker) prove(now time.Time, s *Settings, eff []Effect) []Effect {
	b.proven++
	if b.proven < s.Breaker.SuccessThreshold {
		return eff
	}
	b.failures = 0
	return b.shut(now, eff)
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

// open starts an open period of d.
func (b *breaker) open(now time.Time, d time.Duration, trip string, eff []Effect) []Effect {
	b.trip, b.named = trip, false
	b.openedAt, b.retryAt = now, now.Add(d)
	b.proven = 0
	return b.enter(Open, eff)
}

// shut closes it.
func (b *breaker) shut(now time.Time, eff []Effect) []Effect {
	b.trip, b.named = "", false
	b.openedAt, b.retryAt, b.closedAt = time.Time{}, time.Time{}, now
	b.closedIn = b.generation + 1
	return b.enter(Closed, eff)
}

// enter makes the transition to a new generation. Probes under way keep their slots: what they bring is void (R27), but
// they still are requests at the provider (R23).
func (b *breaker) enter(to State, eff []Effect) []Effect {
	e := Effect{Guard: CircuitBreaker, Credential: -1, From: b.state.String(), To: to.String(), Trip: b.trip, Level: b.offences}
	if to == Open {
		e.Reason, e.Until = CircuitOpen, b.retryAt
	}
	b.state = to
	b.generation++
	return append(eff, e)
}

func (b *breaker) view() BreakerView {
	return BreakerView{
		State: b.state, Trip: b.trip, ConsecutiveFailures: b.failures, FailuresTotal: b.total,
		OpenedAt: b.openedAt, RetryAt: b.retryAt, Offences: b.offences,
	}
}
