package attempt

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// A hedge (R71) is an exchange that was started beside another which brought no content for too long. It runs on the
// goroutine of that one's timer until it has content, and waits then to be taken over: the sink is used by the request's
// goroutine alone. Whoever has content first claims the answer; all others are cancelled.

const (
	// collectTime is how long the end of a request waits for hedges that were cancelled, to say what they came to.
	collectTime = 100 * time.Millisecond
	// outrunWord is what the trail says of an attempt that another one outran.
	outrunWord = "cancelled"
)

var (
	errOutrun = errors.New("another attempt answered first")
	// parked is no fault: it is the outcome of a hedge that has the first content and waits to be taken over.
	parked = &fault.Fault{} //nolint:gochecknoglobals // a mark, never changed
)

// The gate says whether a first hedge may still be started beside the attempt under way. It spares those that are never
// hedged the lock.
const (
	gateShut uint32 = iota
	gateOpen
	gateTaken // a hedge was started, or is being: what follows is under run.mu
)

// race is the state of a request that was hedged, guarded by run.mu.
type race struct {
	hedges  []*exchange    // all that were started, in order
	runners []*exchange    // who may still be the first to have content
	out     int            // hedges that the request's goroutine has not heard of yet
	ended   chan *exchange // tells it of them
	winner  *exchange      // who has content first
	closed  bool           // the attempt that they were started beside is over: no more are
	off     bool           // nobody is to answer any more
	// deserted: the request's goroutine is gone, and hears of no hedge any more.
	deserted bool
	prompt   int64 // tokens of the request, estimated
}

// hedge is what an exchange has beside the usual if it is one.
type hedge struct {
	body  *Buffer // the client's body, held while the hedge is on its own
	fault *fault.Fault
	done  bool // guarded by run.mu; fault is set
	bug   string
	relay relay // of a stream that is parked
	whole whole // of a plain answer that is
}

// arm has a hedge started beside e, if it may be, once it has been without content for so long.
func (x *run) arm(e *exchange) {
	h := &x.c.Hedge
	if h.Max == 0 || x.res.Committed || x.race != nil && len(x.race.hedges) >= h.Max || !x.others(e, h.Auto()) {
		return
	}
	after := e.hedgeFirst(h)
	if after == 0 {
		return
	}
	if x.race != nil && e.hedge == nil {
		x.race.closed = false
	}
	e.armed = true
	e.watch.hedgeAt.Store(int64(after))
	if e.hedge == nil {
		x.gate.Store(gateOpen)
	}
}

// others says whether there is another target to be started.
func (x *run) others(e *exchange, same bool) bool {
	for i := range x.c.Legs {
		if leg := &x.c.Legs[i]; leg != e.leg && (!same || leg.Target.Serves(&e.leg.Target)) {
			return true
		}
	}
	return false
}

// hedgeFirst is when it is first looked at whether a hedge is due; 0: never.
func (e *exchange) hedgeFirst(h *route.Hedge) time.Duration {
	return failover.HedgeFirst(h, e.x.c.Request.Stream, e.measured)
}

// hedgeAfter is when a hedge is due, as it is known now; 0: not at all.
func (e *exchange) hedgeAfter() time.Duration {
	return failover.HedgeAfter(&e.x.c.Hedge, e.x.c.Request.Stream, e.measured)
}

// measured is a percentile of the target's times to content.
func (e *exchange) measured(percent int) (time.Duration, bool) {
	return e.leg.Guards.Content(e.leg.Target.Model, percent, e.x.c.Request.Stream)
}

// hedge starts the next candidate beside one that has no content, and runs it until it has or fails. It is called on a
// timer's goroutine.
func (x *run) hedge(beside *exchange) {
	for h := x.launch(beside); h != nil; {
		h = h.compete()
	}
}

// launch opens the race, if that was not done, and starts a hedge; nil: there is to be none.
func (x *run) launch(beside *exchange) *exchange {
	x.mu.Lock()
	defer x.mu.Unlock()
	if beside.watch.over.Load() || !x.gate.CompareAndSwap(gateOpen, gateTaken) && x.gate.Load() != gateTaken {
		return nil // the attempt is over, or has content
	}
	if x.race == nil {
		x.race = &race{ended: make(chan *exchange, x.c.Hedge.Max)}
	}
	if r := x.race; !slices.Contains(r.runners, beside) {
		r.runners = append(r.runners, beside)
	}
	return x.another(beside)
}

// another chooses a hedge and makes it ready; nil: there is to be none. It requires the lock, and that the request's goroutine
// is in the attempt that the race began with.
func (x *run) another(beside *exchange) (started *exchange) {
	r := x.race
	h := &exchange{settled: true}
	defer func() {
		if p := recover(); p != nil { // it would end the process, too
			started = nil
			x.broken(h, p)
		}
	}()
	if r.winner != nil || r.closed || r.off || len(r.hedges) >= x.c.Hedge.Max || !x.mayHedge(beside) {
		return nil
	}
	x.now = time.Now()
	for paid := false; ; paid = true {
		m, ok := x.session.Hedge(x, beside.move, x.c.Hedge.Auto())
		x.noteSkips()
		if !ok {
			return nil
		}
		h = &exchange{hedge: &hedge{}, settled: true} // there is no permit yet
		if x.stored(&x.c.Legs[m.Target]) || !paid && !x.r.Health.DrawHedge(x.now, x.c.Hedge.Budget) {
			x.session.Abandoned(m, false)
			return nil
		}
		if !x.ready(h, m) || !x.admit(h) {
			continue
		}
		h.parent = beside.parent
		h.hedge.body = x.c.Body
		h.hedge.body.Retain()
		r.hedges, r.runners = append(r.hedges, h), append(r.runners, h)
		r.out++
		x.arm(h)
		h.begin()
		return h
	}
}

// broken tells the request's goroutine of a panic while a hedge was made ready. It requires the lock.
func (x *run) broken(h *exchange, panicked any) {
	r := x.race
	if !slices.Contains(r.hedges, h) {
		r.out++
	}
	if h.hedge == nil {
		h.hedge = &hedge{}
	}
	if h.hedge.body != nil {
		h.hedge.body.Release()
	}
	h.hedge.bug, h.hedge.done = bug(panicked), true
	r.leave(h)
	r.closed = true
	h.release()
	r.ended <- h
}

// bug says what panicked on another goroutine than the request's.
func bug(panicked any) string {
	return fmt.Sprintf("%v, on a hedge's goroutine:\n%s", panicked, debug.Stack())
}

// mayHedge says whether the request may be asked twice at a time: not if its answer is kept by who gives it, nor if
// tools act on what is outside.
func (x *run) mayHedge(beside *exchange) bool {
	c := x.c
	if c.Request.Background || x.stored(beside.leg) {
		return false
	}
	if c.Canonical == nil {
		q, err := wire.Decode(c.Dialect, &c.Request)
		if err != nil {
			return false // nobody can tell
		}
		c.Canonical = q
	}
	if x.race.prompt == 0 {
		x.race.prompt = c.Canonical.Estimate()
	}
	return !c.Canonical.Acts()
}

// stored says whether the provider keeps the answer under an id that the client may name later.
func (x *run) stored(leg *Leg) bool { return x.c.Keep && leg.Dialect.Name() == x.c.Dialect.Name() }

// compete runs the hedge until it has content or fails; next is the one that is to take its place, if it failed.
func (e *exchange) compete() (next *exchange) {
	defer func() { next = e.report(recover()) }()
	e.hedge.fault = e.own(e.answer())
	if e.hedge.fault != parked {
		e.close()
		e.settle(time.Now(), e.hedge.fault, false)
	}
	return nil
}

// report tells the request's goroutine that the hedge waits or has failed.
func (e *exchange) report(panicked any) (next *exchange) {
	if p := panicked; p != nil { // it would end the process; the request's goroutine is to have it
		e.hedge.bug = bug(p)
		e.close()
	}
	if e.hedge.fault != parked {
		e.release()
	}
	e.hedge.body.Release()
	x := e.x
	x.mu.Lock()
	e.hedge.done = true
	x.race.leave(e)
	defer x.mu.Unlock()
	if e.hedge.fault != parked && e.hedge.bug == "" {
		next = x.another(e)
	}
	if x.race.deserted {
		e.abandon()
	}
	x.race.ended <- e // there is room for all
	return next
}
