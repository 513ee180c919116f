package resilience

import (
	"slices"
	"time"
)

// The words for what opened a breaker; an operator's also for what closed it.
const (
	tripFailures = "failures" // R20
	tripCooldown = "cooldown" // R29
	tripOperator = "operator" // R31
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

// standing is how a permit was admitted by a breaker.
type standing uint8

const (
	unasked  standing = iota // there was no such breaker: its result moves none
	ordinary                 // while it was closed: enters R29's window
	probe                    // half-open, with a slot; verdict still due (R26)
	forced                   // without a slot while open or half-open (R51); verdict still due
	judged                   // a stream that was found sound: what follows is an ordinary result (R26)
)

// ticket is a permit's part for one breaker.
type ticket struct {
	mark uint64 // number of transitions, of all breakers, before it was admitted or judged (R27)
	slot uint32 // the lease it holds: a probe slot, or while ordinary the ramp's; 0 = none
	as   standing
}

func (t ticket) holds() bool   { return t.as == probe && t.slot != 0 }
func (t ticket) pending() bool { return t.as == probe || t.as == forced }

// reach is which failures a breaker counts while it is closed.
type reach uint8

const (
	everything  reach = iota
	connections       // of the provider as a whole (Auto)
	answers           // of one model, where the provider's counts the connections (Auto)
	spectator         // everything, and it never trips: the provider's, where each model has its own (PerModel)
)

func (r reach) counts(connection bool) bool {
	switch r {
	case connections:
		return connection
	case answers:
		return !connection
	case everything, spectator:
	}
	return true
}

// breaker is one circuit breaker (R20-R31, R33, R34). look must be called before anything else at a new time.
type breaker struct {
	moves      *uint64 // transitions of all breakers of the machine so far
	proofs     *uint64 // good probes of all of them
	model      string  // empty: the provider's
	reach      reach
	state      State
	trip       string // empty while closed
	named      bool   // retryAt is the upstream's own word (R25)
	generation uint64 // number of its last transition (R27)
	closedIn   uint64 // number of the transition that last closed it
	failures   int    // in a row
	total      uint64 // failures ever
	proven     int    // probe successes in a row
	offences   int    // R29
	openedAt   time.Time
	retryAt    time.Time
	closedAt   time.Time
	slots      []lease // probes under way, of whatever generation; bounded by half_open_max_probes
	issued     uint32  // leases so far
	recent     window
	order      Order     // R31: the one in force
	proved     bool      // it was probes that closed it last (R34)
	lone       lease     // R34: the attempt that may pass beyond the share
	probedAt   time.Time // when a probe of the gateway's own was last admitted (R75)
	kept       bool      // half-open, it is kept for those
	passedAt   time.Time // of the last success (R62)
	own        evidence  // R62
	youngest   time.Time // start of the open period that began last, of those that ran together with the present one (R66)
	heard      time.Time // of the latest good probe of others (R66)
	calmAt     time.Time // since when offences fade, where that is known from before a restart (R29, R65)
	yield      yield     // R66
	yields     bool      // half-open, it leaves the probe to another
}

// breakerOn says whether any trip is on (R28).
func (s *Settings) breakerOn() bool { return s.Breaker.FailureThreshold > 0 || s.cooldownOn() }

// cooldownOn says whether R29's trip is on (R28).
func (s *Settings) cooldownOn() bool {
	return s.Cooldown.Failures > 0 && (s.Breaker.FailureThreshold > 0 || s.Cooldown.Explicit)
}

// on says whether the breaker may open by itself.
func (b *breaker) on(s *Settings) bool { return b.reach != spectator && s.breakerOn() }

// quiet says that time changes nothing: the healthy path.
func (b *breaker) quiet() bool {
	return b.state == Closed && b.offences == 0 && b.order.Action == NoAction
}

// look moves the breaker on to now: an operator's order ends (R31), an open period that is over ends (R22), or that another's
// good probe has ended (R66), leases that ran out are taken back (R33), offences are forgotten (R29), and one that was turned off
// closes (R28).
func (b *breaker) look(now time.Time, s *Settings, eff []Effect) []Effect {
	if b.quiet() {
		return eff
	}
	if b.order.Action != NoAction && b.order.over(now) {
		b.order = Order{}
	}
	switch {
	case b.state == Closed:
		if b.offences > 0 && s.Cooldown.Max > 0 && now.Sub(later(b.closedAt, b.calmAt)) >= s.Cooldown.Max {
			b.offences = 0
		}
	case b.order.Action == ForceOpen:
	case !b.on(s):
		return b.shut(now, eff)
	case b.state == Open && now.Before(b.retryAt) && !b.excused():
	default: // half-open, or from now on
		b.reclaim(now)
		b.keep(now, s)
		b.stand(now)
		if b.state == Open {
			return b.enter(HalfOpen, eff)
		}
	}
	return eff
}

// reclaim takes back the slots whose lease is over (R33).
func (b *breaker) reclaim(now time.Time) {
	b.slots = slices.DeleteFunc(b.slots, func(l lease) bool { return !l.held(now) })
}

// block says whether it blocks an attempt now (R23, R31).
func (b *breaker) block(s *Settings) Block {
	switch b.state {
	case Open:
		if b.order.Action == ForceOpen {
			return Block{Guard: CircuitBreaker, Reason: OperatorOpen, Until: b.order.Until}
		}
		return Block{Guard: CircuitBreaker, Reason: CircuitOpen, Until: b.retryAt, Named: b.named}
	case HalfOpen:
		if b.kept {
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight}
		}
		if b.yields {
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: b.yield.until}
		}
		if limit := s.Breaker.HalfOpenMaxProbes; limit > 0 && len(b.slots) >= limit {
			first := slices.MinFunc(b.slots, func(x, y lease) int { return x.ends.Compare(y.ends) })
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: first.ends}
		}
	case Closed:
	}
	return Block{}
}

// admit makes a permit's ticket. Half-open it takes a probe slot unless forced; the caller has asked block before.
func (b *breaker) admit(now, deadline time.Time, force bool, s *Settings) ticket {
	t := ticket{mark: *b.moves, as: ordinary}
	switch {
	case b.state == Closed:
		if s.Breaker.Ramp > 0 && b.ramping(now, s) && !b.lone.held(now) {
			t.slot = b.issue()
			b.lone = newLease(uint64(t.slot), now, deadline)
		}
	case force:
		t.as = forced // R27
	default:
		t.as, t.slot = probe, b.issue()
		if s.Breaker.HalfOpenMaxProbes > 0 {
			b.slots = append(b.slots, newLease(uint64(t.slot), now, deadline))
		}
	}
	return t
}

// issue gives a new lease its id.
func (b *breaker) issue() uint32 {
	b.issued++
	if b.issued == 0 {
		b.issued++
	}
	return b.issued
}

// release gives the ticket's lease back; one already taken back is no matter.
func (b *breaker) release(t *ticket) {
	if t.slot == 0 {
		return
	}
	id := uint64(t.slot)
	t.slot = 0
	if t.as == probe {
		b.slots = slices.DeleteFunc(b.slots, func(l lease) bool { return l.id == id })
	} else if b.lone.id == id {
		b.lone = lease{}
	}
}

// open starts an open period of d that the breaker itself saw the need of.
func (b *breaker) open(now time.Time, d time.Duration, trip string, eff []Effect) []Effect {
	b.trip, b.named = trip, false
	b.openedAt, b.retryAt, b.youngest = now, now.Add(d), now
	b.own.openedAt, b.own.retryAt, b.own.trip, b.own.named = b.openedAt, b.retryAt, trip, false
	b.own.provedAt = time.Time{}
	b.proven = 0
	return b.enter(Open, eff)
}

// shut closes it.
func (b *breaker) shut(now time.Time, eff []Effect) []Effect {
	b.trip, b.named, b.proved = "", false, false
	b.openedAt, b.retryAt, b.closedAt = time.Time{}, time.Time{}, now
	b.youngest, b.yield, b.yields = time.Time{}, yield{}, false
	b.own.openedAt, b.own.retryAt, b.own.trip, b.own.named = time.Time{}, time.Time{}, "", false
	b.lone = lease{}
	eff = b.enter(Closed, eff)
	b.closedIn = b.generation
	return eff
}

// enter makes the transition to a new generation. Probes under way keep their slots: what they bring is void (R27), but
// they still are requests at the provider (R23). From a state to itself is a transition that nobody is told.
func (b *breaker) enter(to State, eff []Effect) []Effect {
	from := b.state
	b.state = to
	*b.moves++
	b.generation = *b.moves
	if from == to {
		return eff
	}
	e := Effect{Guard: CircuitBreaker, Credential: -1, Model: b.model, From: from.String(), To: to.String(), Trip: b.trip, Level: b.offences}
	if b.order.Action != NoAction {
		e.Trip = tripOperator
	}
	if to == Open {
		e.Reason, e.Until = CircuitOpen, b.retryAt
		if b.order.Action == ForceOpen {
			e.Reason = OperatorOpen
		}
	}
	return append(eff, e)
}

func (b *breaker) view(s *Settings, now time.Time) BreakerView {
	v := BreakerView{
		State: b.state, Trip: b.trip, ConsecutiveFailures: b.failures, FailuresTotal: b.total,
		OpenedAt: b.openedAt, RetryAt: b.ended(), Offences: b.offences, Order: b.order,
	}
	if b.order.Action != NoAction {
		v.Trip = tripOperator
	}
	if b.ramping(now, s) {
		v.RampUntil = b.closedAt.Add(s.Breaker.Ramp)
	}
	return v
}
