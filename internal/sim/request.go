package sim

import (
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// request is one client's request: what attempt does for a live one, event by event.
type request struct {
	s       *Simulation
	life    uint64 // events of an earlier life are void
	crowd   *crowd
	index   int // of the crowd
	stream  bool
	tokens  float64
	start   time.Duration
	session failover.Session
	targets []failover.Target
	places  []*place
	fair    uint64  // targets that were healthy when it came, by bit
	rnd     float64 // its own number: what guards decide by chance stays decided (R34)
	asleep  bool    // between two attempts
	flights []flight
	hedge   route.Hedge
	hedges  int  // that were started
	claimed bool // an attempt has brought content: no more hedges

	attempts, retries, waits int
	waited                   time.Duration
	firstContent             time.Duration // of a stream's answer, since the start
}

// flight is one attempt of a request.
type flight struct {
	life     uint64 // 0: it is over
	move     failover.Move
	place    *place
	provider *provider
	permit   resilience.Permit
	script   script
	limits   route.Timeouts
	began    time.Duration
}

// end is how a request ended: answered whole, cut after content, left by its client, or else failed.
type end struct {
	answered, cut, left bool
	hedged              bool            // a hedge answered
	ending              failover.Ending // unless it was answered
	missed              bool            // it failed although a candidate was healthy when it came and when it ended
}

// arrive begins a request of a crowd.
func (s *Simulation) arrive(index int) {
	c := &s.crowds[index]
	if s.now >= c.end {
		return
	}
	if c.Clients == 0 {
		s.arriveNext(index, s.now)
	}
	resolved, outcome := s.scenario.Gateway.Table.Resolve(s.scenario.Gateway.Inventory, c.Model)
	r := s.request(index)
	s.open++
	s.police(c.Model, &resolved)
	if outcome != route.Found || len(resolved.Targets) == 0 { // 404 or 403: nobody is to blame, and nobody is asked
		s.end(r, end{ending: failover.PassBack})
		return
	}
	s.arrange(&resolved)
	resolved.Hold(s.time(), s.closedAt)
	r.hedge = resolved.Hedge
	r.prepare(resolved.Targets)
	var deadline time.Time
	if total := resolved.Targets[0].Timeouts.Total; total > 0 {
		deadline = s.time().Add(total)
	}
	r.session.Begin(failover.Params{Targets: r.targets, Stream: r.stream, Deadline: deadline}, r)
	s.recent.add(s.now)
	s.lately.add(s.now)
	if c.Patience > 0 {
		s.schedule(event{at: s.now + c.Patience, kind: leaves, request: r, flight: -1, life: r.life})
	}
	s.proceed(r)
}

// request takes one from the free list.
func (s *Simulation) request(index int) *request {
	var r *request
	if n := len(s.free); n > 0 {
		r, s.free = s.free[n-1], s.free[:n-1]
	} else {
		r = new(request)
	}
	c := &s.crowds[index]
	s.lives++
	*r = request{s: s, life: s.lives, crowd: c, index: index, start: s.now, targets: r.targets[:0], places: r.places[:0], flights: r.flights[:0]}
	r.stream = c.random() < c.Streams
	r.tokens = c.Tokens.draw(c.random)
	r.rnd = s.engine()
	return r
}

// closedAt is when a breaker last closed (R34).
func (s *Simulation) closedAt(provider, model string) time.Time {
	return s.byName[provider].machine.ClosedAt(model)
}

// prepare makes legs of targets, and notes which of them are healthy.
func (r *request) prepare(targets []route.Target) {
	for i := range targets {
		p := r.s.place(&targets[i])
		r.targets = append(r.targets, failover.Target{Target: &targets[i], Settings: &p.provider.guarded.Settings})
		r.places = append(r.places, p)
		if i < 64 && r.healthy(i) {
			r.fair |= 1 << i
		}
	}
}

// healthy says whether target i would be answered now.
func (r *request) healthy(i int) bool {
	p := r.places[i]
	return p.provider.sky.fair(r.s.now, p.provider.Provider, r.targets[i].Model, p.allowed)
}

// Pick implements failover.Guards.
func (r *request) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	s, p := r.s, r.places[t].provider
	i, b, ok, eff := p.machine.Pick(s.time(), r.targets[t].Model, skip, r.rnd, s.effects[:0])
	if s.effects = eff; len(eff) > 0 {
		s.note(p)
	}
	return i, b, ok
}

// proceed makes the session's moves until one takes time, or the request ends.
func (s *Simulation) proceed(r *request) {
	for {
		m := r.session.Next(s.time(), r, s.engine())
		if m.Draw {
			if !s.budget.Draw(s.time(), r.targets[m.Target].Settings.Retry.Budget, s.recent.count(s.now)) {
				r.session.Refused()
				continue
			}
			r.retries++
			s.book.point(s.now).Retries++
		}
		switch m.Kind {
		case failover.Stop:
			s.fail(r)
			return
		case failover.Wait:
			if s.wait(r, m) {
				return
			}
		case failover.Try:
			if s.try(r, m) {
				return
			}
		}
	}
}

// wait has the request sleep; false: too many do (R52).
func (s *Simulation) wait(r *request, m failover.Move) bool {
	if s.waiting >= failover.MaxWaiting {
		r.session.Refused()
		return false
	}
	s.waiting++
	r.asleep = true
	r.waits++
	r.waited += m.For
	s.schedule(event{at: s.now + m.For, kind: wakes, request: r, flight: -1, life: r.life})
	return true
}

// try begins an attempt; false: no permit was given.
func (s *Simulation) try(r *request, m failover.Move) bool {
	t := &r.targets[m.Target]
	p := r.places[m.Target].provider
	var deadline time.Time
	if total := r.targets[0].Timeouts.Total; total > 0 {
		deadline = s.start.Add(r.start + total)
	}
	limits := failover.Cut(t.Timeouts, s.time(), deadline, m.Untried)
	permit, b, eff := p.machine.Admit(s.time(), m.Credential, t.Model, s.time().Add(failover.Lease(limits, r.stream)), m.Force, s.effects[:0])
	s.effects = eff
	s.note(p)
	if b.Blocked() {
		r.session.Denied(m)
		return false
	}
	p.inFlight++
	s.lives++
	r.flights = append(r.flights, flight{
		life: s.lives, move: m, place: r.places[m.Target], provider: p, permit: permit, limits: limits, began: s.now,
	})
	f := &r.flights[len(r.flights)-1]
	r.attempts++
	s.book.attempt(s.now, p)
	if s.trace != nil {
		s.trace(r, f, nil)
	}
	a := asked{now: s.now, key: m.Credential, model: t.Model, stream: r.stream, tokens: r.tokens, limits: limits}
	if total := limits.StreamTotal; total > 0 {
		a.streamEnd = r.start + total
	}
	f.script = p.play(a)
	s.follow(r, f)
	return true
}

// follow schedules what will come of an attempt.
func (s *Simulation) follow(r *request, f *flight) {
	n := len(r.flights) - 1
	on := func(at time.Duration, kind happening) {
		s.schedule(event{at: at, kind: kind, request: r, flight: n, life: f.life})
	}
	if r.stream && f.script.content != 0 && (f.permit.Pending() || r.hedge.Max > 0 && len(r.targets) > 1) {
		on(f.script.content, content)
		if at := f.script.content + failover.SoundAfter; f.permit.Pending() && at < f.script.end { // R26
			on(at, sound)
		}
	}
	if after := r.hedgeFirst(f); after > 0 && f.began+after < f.script.end && (f.script.content == 0 || f.began+after < f.script.content) {
		on(f.began+after, hedges)
	}
	on(f.script.end, ends)
}

// settle ends an attempt's permit, and gives the provider's failures before it. outrun: another attempt answered first.
func (s *Simulation) settle(r *request, f *flight, said *fault.Fault, outrun bool) (failuresBefore int) {
	p := f.provider
	failuresBefore = p.machine.FailuresBefore(f.permit.Model)
	o := resilience.Outcome{Success: said == nil}
	word := ""
	if said != nil {
		o.Class, o.Wait = said.Class, said.Wait
		word = said.Class.String()
	}
	s.effects = p.machine.Settle(s.time(), f.permit, o, s.engine(), s.effects[:0])
	p.inFlight--
	s.note(p)
	took := s.now - f.began
	switch {
	case outrun:
		word = "outrun"
		f.place.latency.AtLeast(took, r.stream)
	case said == nil:
		first := f.script.content - f.began
		f.place.latency.Add(first, first, took)
		f.place.latency.AddContent(first, r.stream)
	}
	s.book.settled(p, f, word)
	f.life = 0
	return failuresBefore
}

// conclude takes the outcome of an attempt to the guards and the session.
func (s *Simulation) conclude(r *request, n int) {
	f := &r.flights[n]
	said := f.script.fault
	before := s.settle(r, f, said, false)
	if said == nil || said.Class == fault.Cut {
		r.firstContent = f.script.content - r.start
		s.callOff(r)
	}
	if said == nil {
		s.end(r, end{answered: true, hedged: f.move.Why == failover.Hedged})
		return
	}
	r.session.Failed(s.time(), r, f.move, said, before, s.engine())
	switch {
	case said.Class == fault.Cut:
		s.end(r, end{cut: true, ending: failover.CutShort})
		return
	case r.session.Ended():
		s.callOff(r)
	case r.flying():
		return // the one that is under way is the next attempt
	}
	s.proceed(r)
}

// fail ends a request that got no answer.
func (s *Simulation) fail(r *request) {
	e := end{ending: r.session.Final(s.time(), r).Ending}
	for i := range min(len(r.targets), 64) {
		if r.fair&(1<<i) != 0 && r.healthy(i) {
			e.missed = true
		}
	}
	s.end(r, e)
}

// abandon is a client that hangs up (R13).
func (s *Simulation) abandon(r *request) {
	for i := range r.flights {
		if f := &r.flights[i]; f.life != 0 {
			gone := &fault.Fault{Class: fault.ClientGone}
			if r.silentTooLong(f) {
				gone.Class = fault.Timeout
			}
			s.settle(r, f, gone, false)
		}
	}
	if r.asleep {
		s.waiting--
	}
	s.end(r, end{left: true, ending: failover.ClientLeft})
}

// silentTooLong is R13's limit: an attempt that had brought nothing for so long tells on the provider. What a provider brings
// first is content here.
func (r *request) silentTooLong(f *flight) bool {
	if f.script.content != 0 && f.script.content <= r.s.now {
		return false
	}
	limit := f.limits.Attempt
	if r.stream {
		limit = f.limits.FirstChunk
	}
	return r.s.now-f.began > f.place.latency.SilentTooLong(limit)
}

// end closes a request.
func (s *Simulation) end(r *request, e end) {
	s.book.ended(s.now, r, e)
	if s.trace != nil {
		s.trace(r, nil, &e)
	}
	s.open--
	r.life = 0
	s.left(r.index)
	s.free = append(s.free, r)
}
