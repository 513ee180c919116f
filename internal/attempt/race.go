package attempt

import (
	"slices"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
)

// leave takes an exchange from those that may still be the first to have content.
func (r *race) leave(e *exchange) {
	r.runners = slices.DeleteFunc(r.runners, func(o *exchange) bool { return o == e })
}

// claim says that the exchange has content: nil if it may answer, parked if it may and has to wait to be taken over.
func (e *exchange) claim(now time.Time) *fault.Fault {
	if !e.armed && e.hedge == nil {
		return nil
	}
	x := e.x
	if e.hedge == nil && (x.gate.CompareAndSwap(gateOpen, gateShut) || x.gate.Load() == gateShut) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.race.winner == nil && !x.race.off {
		x.race.winner = e
		x.race.cancel(e)
	}
	switch {
	case x.race.winner != e:
		return &fault.Fault{Class: fault.ClientGone, Cause: errOutrun}
	case e.hedge != nil:
		e.content = now
		return parked
	}
	return nil
}

// cancel ends all that run but one.
func (r *race) cancel(but *exchange) {
	for _, o := range r.runners {
		if o != but {
			o.watch.cancel(errOutrun)
		}
	}
}

// raced says whether a hedge was started beside an attempt that is over; from here on none is, if not.
func (x *run) raced(e *exchange) bool {
	if !e.armed || x.gate.CompareAndSwap(gateOpen, gateShut) || x.gate.Load() == gateShut {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.race.leave(e)
	x.race.closed = true
	return x.race.out > 0
}

// concludeRace takes the outcome of an attempt beside which hedges were started, and then theirs, as they come: one that
// has content is taken over, one that failed is a failed attempt like any other.
func (x *run) concludeRace(e *exchange, f *fault.Fault) (ended bool) {
	for e != nil {
		if e.outrun {
			x.now = time.Now()
			e.finish(f)
			x.session.Abandoned(e.move, true)
		} else if x.conclude(e, f) {
			x.callOff()
			x.collect()
			return true
		} else if x.session.Ended() && x.callOff() {
			x.collect()
			return false
		}
		if e = x.nextHedge(nil); e != nil {
			if f = e.hedge.fault; f == parked {
				f = e.takeOver()
			}
		}
	}
	return false
}

// nextHedge waits for a hedge to wait or to fail, as long as that takes or until time is up; nil: none is under way.
func (x *run) nextHedge(up <-chan time.Time) *exchange {
	x.mu.Lock()
	out := x.race.out
	x.mu.Unlock()
	if out == 0 {
		return nil
	}
	select {
	case h := <-x.race.ended:
		x.mu.Lock()
		x.race.out--
		x.mu.Unlock()
		if h.hedge.bug != "" {
			panic(h.hedge.bug) //nolint:forbidigo // it is one
		}
		return h
	case <-up:
		return nil
	}
}

// takeOver goes on with a hedge that has the first content, on the request's goroutine.
func (e *exchange) takeOver() *fault.Fault {
	defer e.close()
	whole := false
	defer func() {
		if !whole { // a panic: see release
			e.release()
		}
	}()
	var f *fault.Fault
	if e.x.c.Request.Stream {
		e.x.sink.Answering()
		f = e.hedge.relay.goOn(e.resp.Body)
	} else {
		f = e.deliver(&e.hedge.whole, e.resp.Body)
	}
	whole = true
	return e.own(f)
}

// callOff cancels all hedges; false: one of them has the answer.
func (x *run) callOff() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.race.off = x.race.winner == nil
	x.race.cancel(x.race.winner)
	return x.race.off
}

// collect says in the trail what became of the hedges that were cancelled, as far as it is soon known.
func (x *run) collect() {
	if x.res.OK && !x.c.Request.Stream {
		_ = x.sink.Flush() // the client need not wait for that; its error is noted where it is met
	}
	t := time.NewTimer(collectTime)
	defer t.Stop()
	for h := x.nextHedge(t.C); h != nil; h = x.nextHedge(t.C) {
		if h.hedge.fault == parked { // and nobody is there to hear it
			h.hedge.drop()
			h.close()
			h.hedge.fault = h.own(&fault.Fault{Class: fault.ClientGone, Cause: errOutrun})
		}
		x.now = time.Now()
		h.finish(h.hedge.fault)
	}
}

// over lets go of an exchange that has ended. After a panic there may be hedges beside it that nobody waits for.
func (x *run) over(e *exchange) {
	e.release()
	if !x.gate.CompareAndSwap(gateOpen, gateShut) && x.gate.Load() == gateTaken {
		x.desert()
	}
}

// desert cancels the hedges that are still under way, and lets go of what they have and bring.
func (x *run) desert() {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.race
	if r.out == 0 {
		return
	}
	r.off, r.deserted = true, true
	r.cancel(nil)
	for {
		select {
		case h := <-r.ended:
			r.out--
			h.abandon()
		default:
			return
		}
	}
}

// abandon lets go of a hedge that nobody is there to hear of.
func (e *exchange) abandon() {
	if e.hedge.fault == parked {
		e.hedge.drop()
		e.close()
	}
	e.release()
}

// drop lets go of what is parked.
func (h *hedge) drop() {
	if h.relay.buf != nil {
		h.relay.buf.Release()
	}
	h.whole.release()
}

// noteRace puts all who ran into the trail, in the order in which they began. What has become of those that were outrun is
// said at the end.
func (x *run) noteRace(winner *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.race == nil {
		return
	}
	for _, h := range x.race.hedges {
		switch {
		case h == winner:
			h.note(nil)
		case h.noted:
		case h.hedge.done && h.hedge.fault != nil:
			h.note(h.hedge.fault)
		default:
			h.enter()
			s := &x.res.Steps[h.step]
			s.Reason, s.Duration = outrunWord, time.Since(h.start)
			s.Usage, s.Estimated = journal.Usage{Known: true, Input: x.race.prompt}, true
			s.Cost = h.leg.price(&s.Usage)
		}
	}
}
