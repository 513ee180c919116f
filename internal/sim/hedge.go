package sim

import (
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
)

// flying says whether an attempt is under way.
func (r *request) flying() bool {
	for i := range r.flights {
		if r.flights[i].life != 0 {
			return true
		}
	}
	return false
}

// hedgeFirst is how long after its beginning it is first looked at whether a hedge is due beside an attempt; 0: never.
func (r *request) hedgeFirst(f *flight) time.Duration {
	h := &r.hedge
	if h.Max <= r.hedges || r.claimed || len(r.targets) < 2 {
		return 0
	}
	return failover.HedgeFirst(h, r.stream, f.content(r.stream))
}

// content gives the measured times to content of an attempt's target.
func (f *flight) content(stream bool) func(int) (time.Duration, bool) {
	return func(percent int) (time.Duration, bool) { return f.place.latency.Content(percent, stream) }
}

// launch starts a hedge beside an attempt that has brought no content, if one is due (R71).
func (s *Simulation) launch(r *request, n int) {
	f := &r.flights[n]
	due := failover.HedgeAfter(&r.hedge, r.stream, f.content(r.stream))
	switch {
	case r.claimed || r.hedges >= r.hedge.Max || due == 0:
		return
	case f.began+due > s.now:
		s.schedule(event{at: f.began + due, kind: hedges, request: r, flight: n, life: f.life})
		return
	}
	beside := f.move
	for paid := false; ; paid = true {
		m, ok := r.session.Hedge(r, beside, r.hedge.Auto())
		if !ok {
			return
		}
		if !paid && !s.hedging.Draw(s.time(), r.hedge.Budget, s.lately.count(s.now)) {
			r.session.Abandoned(m, false)
			return
		}
		r.hedges++
		if s.try(r, m) {
			s.book.hedge(r)
			return
		}
		r.hedges--
	}
}

// claim is the first content of a stream: all other attempts are called off.
func (s *Simulation) claim(r *request, n int) {
	f := &r.flights[n]
	if f.permit.Pending() {
		s.effects = f.provider.machine.FirstContent(s.time(), &f.permit, s.effects[:0])
		s.note(f.provider)
	}
	if r.claimed {
		return
	}
	r.claimed = true
	for i := range r.flights {
		if o := &r.flights[i]; i != n && o.life != 0 {
			s.outrun(r, o)
		}
	}
}

// callOff ends every attempt that is still under way.
func (s *Simulation) callOff(r *request) {
	for i := range r.flights {
		if o := &r.flights[i]; o.life != 0 {
			s.outrun(r, o)
		}
	}
}

// outrun ends an attempt whose outcome does not matter any more.
func (s *Simulation) outrun(r *request, o *flight) {
	s.settle(r, o, &fault.Fault{Class: fault.ClientGone}, true)
	r.session.Abandoned(o.move, true)
}
