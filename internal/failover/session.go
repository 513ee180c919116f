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
	SiblingCredential Why = "sibling_credential" //nolint:gosec // a word, not a credential
	SameTarget        Why = "same_target"        // R52(a)
	ShortWait         Why = "short_wait"         // R52(b)
	Round             Why = "round"              // R52, a further pass
	AllBlocked        Why = "all_blocked"        // R51
	Hedged            Why = "hedge"              // R71
	Resumed           Why = "resume"             // R70
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
	// Untried says that an untried candidate remains (R54: the attempt gets half of the time left).
	Untried bool
}

// candidate is a target with one of its credentials, once it was tried or denied.
type candidate struct {
	target, credential int
	tries              int
	pass               int // the last pass in which it was tried or denied
	at                 int // how many attempts the request had made when it was
	last               *fault.Fault
	notBefore          time.Time // the upstream's own word
	noMore             bool      // x-should-retry: false
	doubt              int       // R52(a) tries used
	clean              bool      // the provider's failure count was 0 before the failure that R52(a) is about
	waited             bool      // R52(b) used
	resumed            bool      // R70: it was asked to go on with its own stream
}

// Session is one request's failover state. Not safe for concurrent use.
type Session struct {
	p          Params
	candidates []candidate
	space      [2]candidate       // so that most requests allocate no list
	blocks     []resilience.Block // the first that was met on each target; nil if all were free
	skips      []Skip             // those of blocks that the caller has not heard of
	pass       int
	at         int    // next target of the pass
	onTarget   int    // target whose siblings come next, -1: none
	plan       []Move // what was decided ahead: a wait and the try after it
	walk       []int  // R51: the order of the forced walk; nil: there was none
	step       int    // next one of the walk
	waitedFor  int    // R51: the target last waited for, -1: none
	rounds     int
	attempts   int
	done       bool // nothing may follow
	refused    bool // the retry budget said no
	paid       bool // the first retry of this round was paid for before the wait
	retried    bool // some retry was made or refused
	windows    []window
	last       *fault.Fault  // of the attempt that ended it
	refusal    *fault.Fault  // R11, R12: the first refusal that something may follow
	on         route.Refusal // R11, R12: the refusal whose own targets are tried now
	onSince    int           // attempts made before them
	resuming   bool          // R70: a stream that broke is to be gone on with
	flying     []int         // R71: targets with an attempt under way, once there was a hedge
	unable     []bool        // R46: targets that cannot do what the request asks; nil: none
	cannot     *fault.Fault  // R46: why the first of them cannot
}

// Skip is a target that was passed over because it was blocked.
type Skip struct {
	Target int
	Block  resilience.Block
}

// New looks at every target's guards once (R50). The caller notes Skips in the trail.
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
		if p.Targets[i].On != route.NoRefusal {
			continue // it may never be needed
		}
		_, b, ok := g.Pick(i, skipNone)
		if ok {
			usable++
			continue
		}
		s.skip(i, b)
	}
	if usable == 0 {
		s.allBlocked()
	}
}

func skipNone(int) bool { return false }

// Blocked is the block found on target i, when the request began or when its turn came; the zero Block if it was free.
func (s *Session) Blocked(i int) resilience.Block {
	if s.blocks == nil {
		return resilience.Block{}
	}
	return s.blocks[i]
}

// skip notes the first block that was met on target t.
func (s *Session) skip(t int, b resilience.Block) {
	if !b.Blocked() || s.Blocked(t).Blocked() {
		return
	}
	if s.blocks == nil {
		s.blocks = make([]resilience.Block, len(s.p.Targets))
	}
	s.blocks[t] = b
	s.skips = append(s.skips, Skip{t, b})
}

// Skips gives the targets that were passed over since it was last asked (R50).
func (s *Session) Skips() []Skip {
	out := s.skips
	s.skips = nil
	return out
}

// Attempts is how many attempts were made so far.
func (s *Session) Attempts() int { return s.attempts }

// Next gives the next move. rnd in [0,1) is for jitter.
func (s *Session) Next(now time.Time, g Guards, rnd float64) Move {
	m := s.next(now, g, rnd)
	if m.Kind == Wait { // until then guards may change: who was denied a permit may be asked again
		for i := range s.candidates {
			if k := &s.candidates[i]; k.tries == 0 {
				k.at = -1
			}
		}
	}
	return m
}

func (s *Session) next(now time.Time, g Guards, rnd float64) Move {
	for !s.done {
		if s.late(now, 0) { // R54: the time is up, whatever is untried
			s.done = true
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
		if m, ok := s.nextForced(now, g, rnd); ok {
			return m
		}
		if m, ok := s.nextInPass(now, g); ok {
			return m
		}
		if s.attempts == s.onSince && s.walk == nil {
			s.allBlocked() // every candidate was denied on the way: the same as all blocked (R51)
			continue
		}
		if m, ok := s.sameAgain(g); ok {
			return m
		}
		if m, ok := s.nextRound(now, g, rnd); ok {
			return m
		}
		s.done = true
	}
	return Move{}
}

// nextInPass walks on: first the siblings of the target at hand (R4-R7), then the next target, and at the end whoever was
// blocked when its turn came and is free now: no wait comes before an untried candidate (R52).
func (s *Session) nextInPass(now time.Time, g Guards) (Move, bool) {
	if t := s.onTarget; t >= 0 {
		s.onTarget = -1
		if m, ok := s.tryTarget(t, now, g, SiblingCredential); ok {
			return m, true
		}
	}
	why := NextCandidate
	switch {
	case s.attempts == 0:
		why = First
	case s.resuming:
		why = Resumed
	}
	for s.at < len(s.p.Targets) {
		t := s.at
		s.at++
		if m, ok := s.tryTarget(t, now, g, why); ok {
			return m, true
		}
	}
	for t := range s.p.Targets {
		if s.fresh(t, g) {
			return s.tryTarget(t, now, g, why)
		}
	}
	return Move{}, false
}

// tryTarget gives the move for a usable credential of target t in this pass.
func (s *Session) tryTarget(t int, now time.Time, g Guards, why Why) (Move, bool) {
	if s.unfit(t) {
		return Move{}, false
	}
	c, b, ok := g.Pick(t, func(c int) bool { return !s.mayTry(t, c, now) })
	if !ok {
		if why != SiblingCredential && s.pass == 0 {
			s.skip(t, b)
		}
		return Move{}, false
	}
	m := Move{Kind: Try, Target: t, Credential: c, Why: why, Untried: s.untried(t, g)}
	if k := s.find(t, c); k != nil && k.tries > 0 { // a retry: its token comes from the budget
		m.Why, m.Draw, s.paid = Round, !s.paid, false
	}
	return m, true
}

// mayTry says whether credential c of target t may be tried in this pass.
func (s *Session) mayTry(t, c int, now time.Time) bool {
	k := s.find(t, c)
	if k == nil || k.tries == 0 {
		return s.mayStart(t, c)
	}
	return k.pass < s.pass && s.again(k) && !k.notBefore.After(now)
}

// mayStart says whether credential c of target t is untried and may have its first try: nothing was tried on the target
// yet, or what failed there last condemned the credential alone (R52). One that was denied a permit may be asked for
// again only when something was tried, or waited for, since.
func (s *Session) mayStart(t, c int) bool {
	var last *candidate
	for i := range s.candidates {
		switch k := &s.candidates[i]; {
		case k.target != t:
		case k.credential == c && (k.tries > 0 || k.at == s.attempts):
			return false
		case k.tries > 0 && (last == nil || k.at > last.at):
			last = k
		}
	}
	return last == nil || last.last.Class.SiblingCredential()
}

// fresh says whether target t has an untried, unblocked candidate.
func (s *Session) fresh(t int, g Guards) bool {
	if s.unfit(t) || s.flies(t) {
		return false
	}
	_, _, ok := g.Pick(t, func(c int) bool { return !s.mayStart(t, c) })
	return ok
}

// untried says whether an untried candidate remains beside target t: an unblocked one, or one of the forced walk (R54).
func (s *Session) untried(t int, g Guards) bool {
	for i := range s.p.Targets {
		if i != t && s.fresh(i, g) {
			return true
		}
	}
	for i := s.step; i < len(s.walk); i++ {
		if c, _, _ := s.pickForced(s.walk[i], g); c >= 0 && s.walk[i] != t {
			return true
		}
	}
	return false
}

// late says whether something that takes so long would end after the request's deadline (R54).
func (s *Session) late(now time.Time, takes time.Duration) bool {
	return !s.p.Deadline.IsZero() && !now.Add(takes).Before(s.p.Deadline)
}

// Denied says that the guards refused a permit for the move (they changed since it was planned): no attempt was made.
func (s *Session) Denied(m Move) {
	s.landed(m)
	k := s.touch(m.Target, m.Credential)
	k.pass, k.at = s.pass, s.attempts
	if m.Why != AllBlocked && m.Why != Hedged { // beside a hedge another attempt is under way, whose end says what follows
		s.onTarget = m.Target
	}
}

// Refused says that the retry budget, or the limit of waiting requests, refused the move: no retry follows in this
// request; untried candidates still do.
func (s *Session) Refused() {
	s.refused, s.retried = true, true
	s.plan = nil
	if s.step < len(s.walk) && s.walk[s.step] == s.waitedFor {
		s.step++ // it cannot be waited for
	}
}

// Unable says that the target of the move cannot do what the request asks (R46), for the reason in f: no attempt was made, and
// none will be made on it in this request.
func (s *Session) Unable(m Move, f *fault.Fault) {
	s.landed(m)
	if s.unable == nil {
		s.unable = make([]bool, len(s.p.Targets))
	}
	s.unable[m.Target] = true
	if s.cannot == nil || s.cannot.Code == "" && f.Code != "" {
		s.cannot = f
	}
	if f.Class == fault.ContextLength { // R11, before it was asked
		s.tooLong(m.Target, f)
	}
}

// unfit says whether target t is known to be of no use to this request (R11, R46), or is for another refusal.
func (s *Session) unfit(t int) bool {
	return s.p.Targets[t].On != s.on || s.unable != nil && s.unable[t] || s.tooSmall(&s.p.Targets[t])
}

// window is that of a model for which the request is too long; size is in tokens, 0: unknown.
type window struct {
	model string
	size  int64
}

// tooLong notes that the request is longer than a target's window (R11), and goes over to the targets for that.
func (s *Session) tooLong(t int, f *fault.Fault) {
	if s.refusal == nil {
		s.refusal = f
	}
	s.windows = append(s.windows, window{s.p.Targets[t].Model, s.p.Targets[t].Window()})
	s.turnTo(route.ContextLength)
}

// tooSmall says whether a candidate's window is known to be no larger than one that was too small (R11): both sizes are in
// the catalogue, or, where they are not, it is the same model: one model id has one window.
func (s *Session) tooSmall(t *Target) bool {
	for i := range s.windows {
		switch w, size := &s.windows[i], t.Window(); {
		case w.size > 0 && size > 0:
			if size <= w.size {
				return true
			}
		case w.model == t.Model:
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
	s.candidates = append(s.candidates, candidate{target: t, credential: c})
	return &s.candidates[len(s.candidates)-1]
}
