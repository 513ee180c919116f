// Package failover decides one request's next move: try which candidate, wait how long, or stop and with which answer
// (RESILIENCE.md §5). It is pure: time, randomness, results and the guards' word come in as arguments, so that the
// live gateway, explain and the simulator decide with the same code. It sends nothing, sleeps never, and knows no
// HTTP, no dialect and no config.
package failover

import (
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Guards is what a session asks about its targets' guards; t is an index into Params.Targets.
type Guards interface {
	// Pick chooses a usable credential for the target among those for which skip is false. If there is none, the
	// block is that of the credential soonest to clear, and credential is that one (-1: none is eligible at all).
	Pick(t int, skip func(credential int) bool) (credential int, b resilience.Block, ok bool)
	// ConsecutiveFailures is the provider's count, for R52(a).
	ConsecutiveFailures(t int) int
}

// Params are what a session is about.
type Params struct {
	// Targets in order, each with its provider's settings.
	Targets []Target
	Stream  bool
	// Deadline is when timeouts.total ends (R54); zero: none.
	Deadline time.Time
}

// Target is one target of a request.
type Target struct {
	*route.Target
	Settings *resilience.Settings
}

// Kind of a move.
type Kind uint8

// The moves.
const (
	Stop Kind = iota // read Final
	Try              // ask for a permit and send; then call Denied or Failed
	Wait             // sleep Move.For, then call Next again
)

// Why says why an attempt is made; the words stand in trails and metrics.
type Why string

// The reasons for an attempt.
const (
	First             Why = "first"
	NextCandidate     Why = "next_candidate"
	SiblingCredential Why = "sibling_credential"
	SameTarget        Why = "same_target" // R52(a)
	ShortWait         Why = "short_wait"  // R52(b)
	Round             Why = "round"       // R52, a further pass
	AllBlocked        Why = "all_blocked" // R51
)

// Move is what to do next.
type Move struct {
	Kind               Kind
	Target, Credential int
	Why                Why
	// Force admits in spite of the guards (R51).
	Force bool
	// Draw: this move needs a token of the retry budget (R53), drawn before it is made; if refused call Refused.
	Draw bool
	// For is how long to wait.
	For time.Duration
	// Untried says that an untried, unblocked candidate remains (R54: the attempt gets half of the time left).
	Untried bool
}

// candidate is a target with one of its credentials, once it was tried or denied.
type candidate struct {
	target, credential int
	tries              int
	pass               int // the last pass in which it was tried
	last               *fault.Fault
	notBefore          time.Time // the upstream's own word
	noMore             bool      // x-should-retry: false, or a class that another try cannot mend
	doubt              int       // R52(a) tries used
	clean              bool      // the provider's failure count was 0 before the first failure of this row
	waited             bool      // R52(b) used
}

// Session is one request's failover state. Not safe for concurrent use.
type Session struct {
	p          Params
	candidates []candidate
	space      [2]candidate       // so that most requests allocate no list
	blocks     []resilience.Block // the first look at each target; nil if all were free
	pass       int
	at         int    // next target of the pass, or next step of the forced walk
	onTarget   int    // target whose siblings come next, -1: none
	plan       []Move // what was decided ahead: a wait and the try after it
	walk       []int  // R51: the order of the forced walk; nil: not forced
	waitedFor  int    // R51: the target last waited for, -1: none
	rounds     int
	attempts   int
	done       bool // nothing may follow
	refused    bool // the retry budget said no
	paid       bool // the first retry of this round was paid for before the wait
	retried    bool // some retry was made or refused
	windows    []string
	last       *fault.Fault // of the attempt that ended it
	refusal    *fault.Fault // R11: the first context-length refusal
}

// New looks at every target's guards once (R50). The caller notes Blocked in the trail.
func New(p Params, g Guards) *Session {
	s := new(Session)
	s.Begin(p, g)
	return s
}

// Begin is New for a Session that lives in something else.
func (s *Session) Begin(p Params, g Guards) {
	*s = Session{p: p, onTarget: -1, waitedFor: -1}
	s.candidates = s.space[:0]
	usable := 0
	for i := range p.Targets {
		_, b, ok := g.Pick(i, skipNone)
		if ok {
			usable++
			continue
		}
		if s.blocks == nil {
			s.blocks = make([]resilience.Block, len(p.Targets))
		}
		s.blocks[i] = b
	}
	if usable == 0 {
		s.allBlocked()
	}
}

func skipNone(int) bool { return false }

// Blocked is the block found on target i when the request began; the zero Block if it was free.
func (s *Session) Blocked(i int) resilience.Block {
	if s.blocks == nil {
		return resilience.Block{}
	}
	return s.blocks[i]
}

// Attempts is how many attempts were made so far.
func (s *Session) Attempts() int { return s.attempts }

// Next gives the next move. rnd in [0,1) is for jitter.
func (s *Session) Next(now time.Time, g Guards, rnd float64) Move {
	for !s.done {
		if !s.p.Deadline.IsZero() && !now.Before(s.p.Deadline) {
			s.done = true // R54: the time is up, whatever is untried
			break
		}
		if len(s.plan) > 0 {
			m := s.plan[0]
			s.plan = s.plan[1:]
			if m.Kind == Try {
				m.Untried = s.untried(m.Target, g)
			}
			return m
		}
		if s.walk != nil {
			return s.nextForced(now, g, rnd)
		}
		if m, ok := s.nextInPass(now, g); ok {
			return m
		}
		if s.attempts == 0 {
			s.allBlocked() // every candidate was denied on the way: the same as all blocked (R51)
			continue
		}
		if m, ok := s.nextRound(now, g, rnd); ok {
			return m
		}
		s.done = true
	}
	return Move{}
}

// nextInPass walks on: first the siblings of the target at hand (R4-R7), then the next target.
func (s *Session) nextInPass(now time.Time, g Guards) (Move, bool) {
	if t := s.onTarget; t >= 0 {
		s.onTarget = -1
		if m, ok := s.tryTarget(t, now, g, SiblingCredential); ok {
			return m, true
		}
	}
	for s.at < len(s.p.Targets) {
		t := s.at
		s.at++
		why := NextCandidate
		switch {
		case s.pass > 0:
			why = Round
		case s.attempts == 0:
			why = First
		}
		if m, ok := s.tryTarget(t, now, g, why); ok {
			return m, true
		}
	}
	return Move{}, false
}

// tryTarget gives the move for a usable credential of target t in this pass.
func (s *Session) tryTarget(t int, now time.Time, g Guards, why Why) (Move, bool) {
	if s.tooSmall(s.p.Targets[t].Model) {
		return Move{}, false
	}
	c, _, ok := g.Pick(t, func(c int) bool { return !s.mayTry(t, c, now) })
	if !ok {
		return Move{}, false
	}
	m := Move{Kind: Try, Target: t, Credential: c, Why: why, Untried: s.untried(t, g)}
	if k := s.find(t, c); k != nil && k.tries > 0 { // a retry: its token comes from the budget
		m.Draw, s.paid = !s.paid, false
	}
	return m, true
}

// mayTry says whether credential c of target t may be tried in this pass.
func (s *Session) mayTry(t, c int, now time.Time) bool {
	k := s.find(t, c)
	if k == nil {
		return true
	}
	if s.pass == 0 || k.pass == s.pass {
		return false
	}
	if k.tries == 0 { // denied a permit in an earlier pass
		return true
	}
	return s.again(k) && !k.notBefore.After(now)
}

// again says whether a tried candidate may be walked over again in a further round (R52).
func (s *Session) again(k *candidate) bool {
	set := s.p.Targets[k.target].Settings
	return s.mayRetry(set) && !k.noMore && k.tries <= set.Retry.MaxRetries && k.last != nil && firesRound(k.last)
}

func (s *Session) mayRetry(set *resilience.Settings) bool {
	return !s.refused && set.Retry.MaxRetries > 0 && (set.Retry.Streams || !s.p.Stream)
}

// firesRound: rounds fire on R1, 408, 429, 502, 503, 504, 520-526, 529; not on 500, nor after R2.
func firesRound(f *fault.Fault) bool {
	switch f.Class {
	case fault.Connect, fault.Reset, fault.RateLimited:
		return true
	case fault.ModelLimited:
		return f.Status == 429
	case fault.Upstream:
		return f.Status == 408 || f.Status == 502 || f.Status == 503 || f.Status == 504 || f.Status == 529 ||
			f.Status >= 520 && f.Status <= 526
	default:
		return false
	}
}

// givesDoubt: R52(a)'s transient failures; never a timeout, and not with a Retry-After.
func givesDoubt(f *fault.Fault) bool {
	if f.Wait.Named {
		return false
	}
	switch f.Class {
	case fault.Reset:
		return true
	case fault.Upstream:
		return f.Status == 408 || f.Status == 500 || f.Status == 502 || f.Status == 503 || f.Status == 529 ||
			f.Status >= 520 && f.Status <= 526
	default:
		return false
	}
}

// nextRound plans the wait before a further pass, if one is due.
func (s *Session) nextRound(now time.Time, g Guards, rnd float64) (Move, bool) {
	var (
		first   *candidate
		soonest time.Time
	)
	consider := func(k *candidate, clears time.Time) {
		if first == nil || clears.Before(soonest) {
			first, soonest = k, clears
		}
	}
	for i := range s.candidates {
		k := &s.candidates[i]
		if !s.again(k) || s.tooSmall(s.p.Targets[k.target].Model) {
			continue
		}
		clears := now
		if k.notBefore.After(clears) {
			clears = k.notBefore
		}
		_, b, ok := g.Pick(k.target, func(c int) bool { return c != k.credential })
		if !ok {
			if !b.Blocked() {
				continue // the credential is gone
			}
			if b.Until.After(clears) {
				clears = b.Until
			}
		}
		if clears.Sub(now) > s.p.Targets[k.target].Settings.Retry.MaxWait {
			continue
		}
		consider(k, clears)
	}
	if first == nil {
		return Move{}, false
	}
	r := s.p.Targets[first.target].Settings.Retry
	wait := resilience.Backoff(r, s.rounds, rnd)
	if d := soonest.Sub(now); d > wait {
		wait = d
	}
	if s.late(now, wait) {
		return Move{}, false
	}
	s.rounds++
	s.pass++
	s.at = 0
	s.retried, s.paid = true, true
	return Move{Kind: Wait, For: wait, Why: Round, Draw: true, Target: first.target, Credential: first.credential}, true
}

// late says whether a wait would end after the request's deadline (R54).
func (s *Session) late(now time.Time, wait time.Duration) bool {
	return !s.p.Deadline.IsZero() && now.Add(wait).After(s.p.Deadline)
}

// untried says whether a candidate that was never tried and is not blocked remains beside target t.
func (s *Session) untried(t int, g Guards) bool {
	if s.pass > 0 {
		return false
	}
	for i := s.at; i < len(s.p.Targets); i++ {
		if i == t || s.tooSmall(s.p.Targets[i].Model) {
			continue
		}
		if _, _, ok := g.Pick(i, func(c int) bool { return s.find(i, c) != nil }); ok {
			return true
		}
	}
	return false
}

// Denied says that the guards refused a permit for the move (they changed since it was planned): no attempt was made.
func (s *Session) Denied(m Move) {
	if s.walk != nil {
		return
	}
	s.touch(m.Target, m.Credential).pass = s.pass
	s.onTarget = m.Target
}

// Refused says that the retry budget, or the limit of waiting requests, refused the move: no retry follows in this
// request; untried candidates still do.
func (s *Session) Refused() {
	s.refused, s.retried = true, true
	s.plan = nil
	if s.walk != nil {
		s.done = true
	}
}

// Failed takes the result of an attempt that did not answer and plans what follows.
// failuresBefore is the provider's consecutive-failure count before the attempt was settled.
func (s *Session) Failed(now time.Time, g Guards, m Move, f *fault.Fault, failuresBefore int, rnd float64) {
	s.attempts++
	s.last = f
	k := s.touch(m.Target, m.Credential)
	k.tries++
	k.pass = s.pass
	k.last = f
	k.notBefore = time.Time{}
	if f.Wait.Named && f.Wait.For > 0 {
		k.notBefore = now.Add(f.Wait.For)
	}
	if f.ShouldRetry == fault.No {
		k.noMore = true
	}
	if k.tries == 1 {
		k.clean = failuresBefore == 0
	}
	switch {
	case f.Class == fault.ContextLength:
		if s.refusal == nil {
			s.refusal = f
		}
		s.windows = append(s.windows, s.p.Targets[m.Target].Model)
		return
	case !f.Class.Retryable():
		s.done = true
		return
	case s.walk != nil:
		return
	case f.Class.SiblingCredential() && s.hasSibling(m.Target, now, g):
		s.onTarget = m.Target
	case s.planDoubt(now, m, k, f, rnd):
	case s.planShortWait(now, g, m, k, f, rnd):
	}
}

func (s *Session) hasSibling(t int, now time.Time, g Guards) bool {
	_, _, ok := g.Pick(t, func(c int) bool { return !s.mayTry(t, c, now) })
	return ok
}

// planDoubt is R52(a).
func (s *Session) planDoubt(now time.Time, m Move, k *candidate, f *fault.Fault, rnd float64) bool {
	r := s.p.Targets[m.Target].Settings.Retry
	if !s.mayRetry(s.p.Targets[m.Target].Settings) || !givesDoubt(f) || !k.clean || k.noMore ||
		k.doubt >= r.SameTarget || k.tries > r.MaxRetries {
		return false
	}
	wait := 50*time.Millisecond + time.Duration(rnd*float64(200*time.Millisecond))
	if s.late(now, wait) {
		return false
	}
	k.doubt++
	s.planRepeat(m, SameTarget, wait)
	return true
}

// planShortWait is R52(b).
func (s *Session) planShortWait(now time.Time, g Guards, m Move, k *candidate, f *fault.Fault, rnd float64) bool {
	r := s.p.Targets[m.Target].Settings.Retry
	if !s.mayRetry(s.p.Targets[m.Target].Settings) || f.Status != 429 && f.Status != 503 || !f.Wait.Named || f.Wait.For > r.MaxWait ||
		k.waited || k.noMore || k.tries > r.MaxRetries || !firesRound(f) || s.sameModelElsewhere(m.Target, g) {
		return false
	}
	wait := f.Wait.For + time.Duration(rnd*0.1*float64(f.Wait.For))
	if s.late(now, wait) {
		return false
	}
	k.waited = true
	s.planRepeat(m, ShortWait, wait)
	return true
}

// planRepeat makes the same candidate the next one after a wait.
func (s *Session) planRepeat(m Move, why Why, wait time.Duration) {
	s.retried = true
	m.Kind, m.Why, m.Force, m.Draw, m.For = Try, why, false, false, 0
	s.plan = []Move{{Kind: Wait, For: wait, Why: why, Draw: true, Target: m.Target, Credential: m.Credential}, m}
}

// sameModelElsewhere says whether an untried, unblocked candidate serves the same model.
func (s *Session) sameModelElsewhere(t int, g Guards) bool {
	for i := range s.p.Targets {
		if i == t || s.p.Targets[i].Model != s.p.Targets[t].Model {
			continue
		}
		if _, _, ok := g.Pick(i, func(c int) bool { return s.find(i, c) != nil }); ok {
			return true
		}
	}
	return false
}

// tooSmall says whether a candidate of this model already refused for its window (R11): one model id has one window.
func (s *Session) tooSmall(model string) bool {
	for _, w := range s.windows {
		if w == model {
			return true
		}
	}
	return false
}

func (s *Session) find(t, c int) *candidate {
	for i := range s.candidates {
		if k := &s.candidates[i]; k.target == t && k.credential == c {
			return k
		}
	}
	return nil
}

func (s *Session) touch(t, c int) *candidate {
	if k := s.find(t, c); k != nil {
		return k
	}
	s.candidates = append(s.candidates, candidate{target: t, credential: c, pass: s.pass})
	return &s.candidates[len(s.candidates)-1]
}
