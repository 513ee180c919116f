package resilience

import (
	"math"
	"slices"
	"time"

	"evergate/internal/fault"
)

// The twin is one breaker's rules told the slow way: it remembers everything that ever happened and works out each
// number by walking through that. It shares no code with the breaker.

type twinFact struct {
	at   time.Time
	what string // ok, fail (of attempts that count while closed), proof, disproof; closed, open, half_open; extend, beside, doubt, vouched, yields, heard, hold, reset
	// of ok and fail: it counts for the window; of open: it is an offence
	window bool
	// of closed: probes closed it
	proved bool
	// of open, extend, yields and beside (an open period of others that has a later beginning and a sooner end); of vouched: opened is when
	// a probe of another was good (R66)
	trip          string
	opened, until time.Time
	named         bool
	foreign       bool // others have seen it (R62)
	// of open and hold: an operator ordered it (R31)
	order Order
	// of heard: the failures that others count
	n int
}

// twinTicket is an attempt at one breaker.
type twinTicket struct {
	at       int // facts before it was admitted
	probe    bool
	forced   bool
	ordinary bool // admitted while closed
	lone     bool // R34: the one that is beyond the share
	deadline time.Time
	slotBack bool
	settled  bool
	sounded  bool
	judged   int // facts before it was judged sound, -1 if it was not
}

type breakerTwin struct {
	s     Settings
	model string
	// counts says whether a failure of a closed breaker is its business; a spectator never opens by itself (R35).
	counts    func(fault.Class) bool
	spectator bool
	facts     []twinFact
	tickets   []*twinTicket
	failures  uint64
}

var never = twinFact{what: "closed"}

func (w *breakerTwin) last(what ...string) (int, *twinFact) {
	for i := len(w.facts) - 1; i >= 0; i-- {
		if slices.Contains(what, w.facts[i].what) {
			return i, &w.facts[i]
		}
	}
	return -1, &never
}

func (w *breakerTwin) add(f twinFact) { w.facts = append(w.facts, f) }

// state moves on lazily (R22, R31).
func (w *breakerTwin) state(now time.Time) string {
	_, f := w.last("closed", "open", "half_open")
	if f.what != "open" {
		return f.what
	}
	_, end := w.last("open", "extend")
	switch {
	case f.order.Action == ForceOpen && (f.order.Until.IsZero() || now.Before(end.until)):
		return "open"
	case now.Before(end.until) && !w.excused():
		return "open"
	case w.spectator:
		w.add(twinFact{at: now, what: "closed"})
		return "closed"
	}
	w.add(twinFact{at: now, what: "half_open"})
	return "half_open"
}

// order is the operator's word in force (R31).
func (w *breakerTwin) order(now time.Time) Order {
	w.state(now)
	_, f := w.last("hold", "open", "reset", "closed")
	if f.order.Action == NoAction || !f.order.Until.IsZero() && !now.Before(f.order.Until) {
		return Order{}
	}
	return f.order
}

// count is R20's and R24's: failures and disproofs since the last success, or as many as others count (R62).
func (w *breakerTwin) count(own bool) int {
	n := 0
	for _, f := range w.facts {
		switch f.what {
		case "ok", "reset":
			n = 0
		case "closed":
			if f.proved {
				n = 0
			}
		case "fail", "disproof":
			n++
		case "heard":
			if !own {
				n = max(n, f.n)
			}
		}
	}
	return n
}

// success is when it last succeeded (R62).
func (w *breakerTwin) success() time.Time {
	for _, f := range slices.Backward(w.facts) {
		if f.what == "ok" || f.what == "reset" || f.what == "closed" && f.proved {
			return f.at
		}
	}
	return time.Time{}
}

// proofs are those since it opened (R24).
func (w *breakerTwin) proofs() int {
	n := 0
	for _, f := range slices.Backward(w.facts) {
		switch f.what {
		case "open", "closed", "doubt":
			return n
		case "proof":
			n++
		}
	}
	return n
}

// offences are the cooldowns since it was last closed for max at a stretch (R29).
func (w *breakerTwin) offences(now time.Time) int {
	n := 0
	var closed time.Time
	forgotten := func(at time.Time) {
		if !closed.IsZero() && !at.Before(closed.Add(w.s.Cooldown.Max)) {
			n = 0
		}
	}
	for i := range w.facts {
		f := &w.facts[i]
		switch f.what {
		case "closed", "open", "half_open":
			forgotten(f.at)
			closed = time.Time{}
			if f.what == "closed" {
				closed = f.at
			}
			if f.what == "open" && f.window {
				n++
			}
		case "reset":
			n = 0
		}
	}
	forgotten(now)
	return n
}

// slots are the probes that hold one (R23, R26, R33).
func (w *breakerTwin) slots(now time.Time) []*twinTicket {
	var live []*twinTicket
	for _, a := range w.tickets {
		if a.probe && !a.slotBack && !a.settled && now.Before(a.deadline) {
			live = append(live, a)
		}
	}
	return live
}

func (w *breakerTwin) block(now time.Time) Block {
	switch w.state(now) {
	case "open":
		if o := w.order(now); o.Action == ForceOpen {
			return Block{Guard: CircuitBreaker, Reason: OperatorOpen, Until: o.Until}
		}
		_, f := w.last("open", "extend")
		return Block{Guard: CircuitBreaker, Reason: CircuitOpen, Until: f.until, Named: f.named}
	case "half_open":
		if f := w.yielding(now); f != nil {
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: f.until}
		}
		live := w.slots(now)
		if limit := w.s.Breaker.HalfOpenMaxProbes; limit > 0 && len(live) >= limit {
			ends := live[0].deadline
			for _, a := range live {
				if a.deadline.Before(ends) {
					ends = a.deadline
				}
			}
			return Block{Guard: CircuitBreaker, Reason: ProbeInFlight, Until: ends}
		}
	}
	return Block{}
}

// rampEnds is when all of the traffic is back; zero: now (R34).
func (w *breakerTwin) rampEnds(now time.Time) time.Time {
	_, f := w.last("closed", "open", "half_open")
	if w.state(now) != "closed" || !f.proved || w.order(now).Action != NoAction {
		return time.Time{}
	}
	if end := f.at.Add(w.s.Breaker.Ramp); now.Before(end) {
		return end
	}
	return time.Time{}
}

// lone is the attempt on a ramp that keeps others beyond the share away (R34).
func (w *breakerTwin) lone(now time.Time) bool {
	closing, _ := w.last("closed")
	return slices.ContainsFunc(w.tickets, func(a *twinTicket) bool {
		return a.lone && a.at > closing && !a.slotBack && !a.settled && now.Before(a.deadline)
	})
}

// away is R34's word to a request with a number of its own.
func (w *breakerTwin) away(now time.Time, rnd float64) Block {
	end := w.rampEnds(now)
	if end.IsZero() || !w.lone(now) {
		return Block{}
	}
	left := float64(end.Sub(now)) / float64(w.s.Breaker.Ramp)
	if math.Mod(rnd*65536, 1) < 1-left {
		return Block{}
	}
	return Block{Guard: CircuitBreaker, Reason: Ramping, Until: end}
}

func (w *breakerTwin) admit(now, deadline time.Time, force bool) *twinTicket {
	a := &twinTicket{deadline: deadline, judged: -1}
	switch {
	case w.state(now) == "closed":
		a.ordinary = true
		a.lone = !w.rampEnds(now).IsZero() && !w.lone(now)
	case force:
		a.forced = true
	default:
		a.probe = true
	}
	a.at = len(w.facts)
	w.tickets = append(w.tickets, a)
	return a
}

// awaits says whether a result of it counts as a probe's (R24, R27, R31).
func (w *breakerTwin) awaits(now time.Time, a *twinTicket) bool {
	if w.order(now).Action == ForceOpen || a.sounded {
		return false
	}
	change, _ := w.last("closed", "open", "half_open")
	closing, _ := w.last("closed")
	return a.probe && a.at > change || a.forced && a.at > closing
}

func (w *breakerTwin) prove(now time.Time) {
	w.add(twinFact{at: now, what: "proof"})
	if w.proofs() >= max(1, w.s.Breaker.SuccessThreshold) {
		w.add(twinFact{at: now, what: "closed", proved: true})
	}
}

func (w *breakerTwin) sound(now time.Time, a *twinTicket) {
	if !a.probe && !a.forced || a.sounded {
		return
	}
	if w.awaits(now, a) {
		w.prove(now)
		a.sounded, a.judged = true, len(w.facts)
	}
	a.slotBack = true
}

func (w *breakerTwin) open(now time.Time, trip string, d time.Duration, named, offence bool) {
	w.add(twinFact{at: now, what: "open", trip: trip, opened: now, until: now.Add(d), named: named, window: offence})
}

func (w *breakerTwin) openCooldown(now time.Time) {
	d := w.s.Cooldown.Base
	for range w.offences(now) {
		d = min(d*time.Duration(w.s.Cooldown.Factor), w.s.Cooldown.Max)
	}
	w.open(now, "cooldown", d, false, true)
}

// settle says whether it opened.
func (w *breakerTwin) settle(now time.Time, a *twinTicket, o Outcome, alone, held bool) (opened bool) {
	defer func() { a.settled = true }()
	before := len(w.facts)
	w.state(now)
	failure := !o.Success && slices.Contains(failing, o.Class)
	if failure && (w.counts(o.Class) || a.probe && !a.sounded) {
		w.failures++
	}
	if w.awaits(now, a) {
		w.settleProbe(now, a, o, failure, alone)
	} else {
		w.settleClosed(now, a, o, failure, held)
	}
	return slices.ContainsFunc(w.facts[before:], func(f twinFact) bool { return f.what == "open" })
}

func (w *breakerTwin) settleProbe(now time.Time, a *twinTicket, o Outcome, failure, alone bool) {
	_, f := w.last("open", "extend")
	trip := f.trip
	if trip == "operator" {
		trip = "failures"
	}
	switch {
	case !o.Success && slices.Contains(undecided, o.Class):
	case !o.Success && o.Class == fault.RateLimited:
		if a.probe && alone {
			d := max(w.s.Breaker.Timeout, o.Wait.For)
			w.open(now, trip, d, o.Wait.Named && o.Wait.For > w.s.Breaker.Timeout, false)
		}
	case !failure:
		w.prove(now)
	case a.probe:
		w.add(twinFact{at: now, what: "disproof"})
		if trip == "cooldown" && w.s.Cooldown.Failures > 0 {
			w.openCooldown(now)
		} else {
			w.open(now, "failures", w.s.Breaker.Timeout, false, false)
		}
	}
}

func (w *breakerTwin) settleClosed(now time.Time, a *twinTicket, o Outcome, failure, held bool) {
	change, f := w.last("closed", "open", "half_open")
	old := a.at <= change
	if a.sounded {
		old = a.judged <= change
	}
	if old || f.what != "closed" || !o.Success && !failure || failure && !w.counts(o.Class) {
		return
	}
	what := "ok"
	if failure {
		what = "fail"
	}
	w.add(twinFact{at: now, what: what, window: a.ordinary})
	var ok, bad int
	for _, f := range w.facts {
		switch {
		case f.what == "reset":
			ok, bad = 0, 0
		case !f.window || !f.at.After(now.Add(-w.s.Cooldown.Window)):
		case f.what == "ok":
			ok++
		case f.what == "fail":
			bad++
		}
	}
	switch {
	case !failure || held || w.spectator || w.order(now).Action != NoAction:
	case w.s.Breaker.FailureThreshold > 0 && w.count(false) >= w.s.Breaker.FailureThreshold:
		w.open(now, "failures", w.s.Breaker.Timeout, false, false)
	case a.ordinary && w.s.Cooldown.Failures > 0 && bad >= w.s.Cooldown.Failures &&
		float64(bad)/float64(ok+bad) >= w.s.Cooldown.MinFailureRatio:
		w.openCooldown(now)
	}
}

// operate carries out an order (R31).
func (w *breakerTwin) operate(now time.Time, o Order) {
	w.state(now)
	o.Model = w.model
	switch o.Action {
	case ForceOpen:
		w.add(twinFact{at: now, what: "open", trip: "operator", opened: now, until: o.Until, order: o, foreign: true})
	case ForceClosed:
		w.add(twinFact{at: now, what: "closed"})
		w.add(twinFact{at: now, what: "hold", order: o})
	case Reset:
		w.add(twinFact{at: now, what: "closed"})
		w.add(twinFact{at: now, what: "reset"})
	case NoAction:
	}
}

// obey is what an order to the provider, to close, means to a model's.
func (w *breakerTwin) obey(now time.Time) {
	if w.state(now) != "closed" {
		w.add(twinFact{at: now, what: "closed"})
	} else if w.order(now).Action != NoAction {
		w.add(twinFact{at: now, what: "hold"})
	}
}

func (w *breakerTwin) view(now time.Time) BreakerView {
	v := BreakerView{FailuresTotal: w.failures, Order: w.order(now), RampUntil: w.rampEnds(now)}
	switch w.state(now) {
	case "open":
		v.State = Open
	case "half_open":
		v.State = HalfOpen
	}
	v.ConsecutiveFailures = w.count(false)
	v.Offences = w.offences(now)
	if v.State != Closed {
		_, f := w.last("open", "extend")
		v.Trip, v.OpenedAt, v.RetryAt = f.trip, f.opened, f.until
		if at := w.vouched(); v.State == HalfOpen && w.excused() && at.Before(f.until) {
			v.RetryAt = at
		}
	}
	if v.Order.Action != NoAction {
		v.Trip = "operator"
	}
	return v
}
