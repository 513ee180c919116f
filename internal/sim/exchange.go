package sim

import (
	"time"

	"evergate/internal/fault"
	"evergate/internal/route"
)

// How long an upstream takes to say no.
const (
	refuseTime = 2 * time.Millisecond  // a connection
	errorTime  = 30 * time.Millisecond // a status
)

// script is what an attempt will come to: weather is known beforehand, so all of it is decided when it begins.
type script struct {
	content time.Duration // when its first content comes; 0: none does
	end     time.Duration
	fault   *fault.Fault // nil: an answer
}

// asked is one attempt, as an upstream sees it.
type asked struct {
	now       time.Duration
	key       int
	model     string
	stream    bool
	tokens    float64
	limits    route.Timeouts
	streamEnd time.Duration // of timeouts.stream_total; 0: none
}

// limit is the time to the first content of a stream, or for the whole plain answer (R56); 0: none.
func (a *asked) limit() time.Duration {
	if a.stream {
		return a.limits.FirstChunk
	}
	return a.limits.Attempt
}

// play decides an attempt.
func (p *provider) play(a asked) script {
	p.sky.look(a.now)
	s := p.reply(a)
	if limit := a.limit(); limit > 0 && s.content == 0 && s.end > a.now+limit {
		return script{end: a.now + limit, fault: &fault.Fault{Class: fault.Timeout}}
	}
	return s
}

// reply is what comes back, however late.
func (p *provider) reply(a asked) script {
	if f := p.sky.outage(a.now, a.model); f != nil {
		switch f.With {
		case Refuse:
			return script{end: a.now + refuseTime, fault: &fault.Fault{Class: fault.Connect}}
		case Hang:
			return p.silence(&a, a.now, f)
		case Status:
		}
		return script{end: a.now + errorTime, fault: f.fault(a.now)}
	}
	if f := p.sky.refusal(a.now, a.key, a.model); f != nil {
		return script{end: a.now + errorTime, fault: f.fault(a.now)}
	}
	air := p.sky.air(a.now, p.Provider, a.key, a.model)
	if air.errors > 0 && p.weather() < air.errors {
		return script{end: a.now + errorTime, fault: &fault.Fault{Class: fault.Upstream, Status: air.status}}
	}
	p.sky.take(a.now, a.key, a.model)
	return p.answer(&a, air)
}

// answer is one that nothing refused: it comes, unless it takes too long or something befalls it on its way.
func (p *provider) answer(a *asked, air air) script {
	first := a.now + max(span(p.FirstToken.draw(p.weather)*air.latency), time.Millisecond)
	last := first
	if p.Speed > 0 {
		last += span(a.tokens / p.Speed * air.latency * float64(time.Second))
	}
	s := script{content: first, end: last}
	if !a.stream {
		first = last
		s.content = last
	}
	cut := time.Duration(0)
	if a.stream && air.cuts > 0 && p.weather() < air.cuts {
		cut = first + span(p.weather()*float64(last-first))
	}
	if limit := a.limit(); limit > 0 && first > a.now+limit { // before anything that comes later
		s = script{end: a.now + limit, fault: &fault.Fault{Class: fault.Timeout}}
	}
	if f, at := p.sky.strike(a.now, s.end, a.model); f != nil {
		s = p.struck(a, s, f, at)
	}
	if cut != 0 && s.content != 0 && cut < s.end {
		s.end, s.fault = cut, &fault.Fault{Class: fault.Cut, Broke: fault.Reset}
	}
	if a.stream && a.streamEnd > 0 && s.content != 0 && s.end > a.streamEnd {
		s.end, s.fault = max(a.streamEnd, s.content), &fault.Fault{Class: fault.Cut, Broke: fault.Timeout}
	}
	return s
}

// struck is an answer on whose way an outage began.
func (p *provider) struck(a *asked, s script, f *front, at time.Duration) script {
	before := s.content == 0 || s.content > at // of any content
	switch {
	case f.With == Hang && before:
		return p.silence(a, at, f)
	case f.With == Hang:
		s.end, s.fault = f.To, &fault.Fault{Class: fault.Cut, Broke: fault.Reset}
		if idle := a.limits.Idle; idle > 0 {
			s.end, s.fault = at+idle, &fault.Fault{Class: fault.Cut, Broke: fault.Timeout}
		}
		return s
	case before:
		return script{end: at, fault: &fault.Fault{Class: fault.Reset}}
	}
	s.end, s.fault = at, &fault.Fault{Class: fault.Cut, Broke: fault.Reset}
	return s
}

// silence lasts to the attempt's limit; without one the connection ends with the outage.
func (p *provider) silence(a *asked, from time.Duration, f *front) script {
	if limit := a.limit(); limit > 0 {
		return script{end: a.now + limit, fault: &fault.Fault{Class: fault.Timeout}}
	}
	return script{end: max(f.To, from+refuseTime), fault: &fault.Fault{Class: fault.Reset}}
}

// fault is what an upstream says to an attempt that it refuses.
func (f *front) fault(now time.Duration) *fault.Fault {
	said := &fault.Fault{Class: fault.Upstream, Status: f.Status}
	left := f.To - now
	switch f.Kind {
	case RateLimit:
		said.Class, said.Status = fault.RateLimited, 429
		if f.Model != "" {
			said.Class = fault.ModelLimited
		}
		if f.Per > 0 {
			left = f.Per - (now-f.From)%f.Per
		}
	case Quota:
		said.Class, said.Status, said.Code = fault.Quota, 429, "insufficient_quota"
	case BadKey:
		said.Class, said.Status = fault.Auth, 401
	case ModelMissing:
		said.Class, said.Status = fault.ModelMissing, 404
	case Outage, Flapping, Brownout, SlowStart, Cuts:
	}
	switch {
	case f.Told && f.RetryAfter > 0:
		said.Wait = fault.Wait{For: f.RetryAfter, Named: true}
	case f.Told: // in whole seconds, as the header has it
		said.Wait = fault.Wait{For: (left + time.Second - 1).Truncate(time.Second), Named: true}
	}
	return said
}
