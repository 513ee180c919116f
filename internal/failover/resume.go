package failover

import (
	"time"

	"evergate/internal/fault"
)

// Resume takes the result of an attempt whose stream broke after its commit point and is to be gone on with (R70). What
// follows is as after any failure: untried candidates first; then, once, the same again, if R52 has no objection. deadline is
// that of the whole stream; zero: none. timeouts.total ended with the commit (R54).
func (s *Session) Resume(m Move, f *fault.Fault, deadline time.Time) {
	s.landed(m)
	s.attempts++
	s.last = f
	k := s.touch(m.Target, m.Credential)
	k.tries++
	k.pass, k.at = s.pass, s.attempts
	k.last = f
	s.resuming = true
	s.p.Deadline = deadline
	s.plan, s.onTarget = nil, -1
	s.walk, s.step = nil, 0
}

// sameAgain gives a candidate whose stream broke, once: never after a silence, for a silent route is not asked twice (R52).
func (s *Session) sameAgain(g Guards) (Move, bool) {
	if !s.resuming {
		return Move{}, false
	}
	for i := range s.candidates {
		k := &s.candidates[i]
		if k.tries == 0 || k.last.Class != fault.Cut || k.last.Broke == fault.Timeout || k.resumed || !s.mayRepeat(k) || s.unfit(k.target) {
			continue
		}
		k.resumed = true
		if _, _, ok := g.Pick(k.target, func(c int) bool { return c != k.credential }); ok {
			s.retried = true
			return Move{Kind: Try, Target: k.target, Credential: k.credential, Why: Resumed, Draw: true}, true
		}
	}
	return Move{}, false
}
