package failover

import (
	"slices"
	"time"

	"evergate/internal/resilience"
)

// allBlocked begins what R51 says: the forced walk in declared order, with quota- and auth-blocked targets last and
// without those that are to fail fast; with none left the request ends.
func (s *Session) allBlocked() {
	s.walk = make([]int, 0, len(s.p.Targets))
	for i := range s.p.Targets {
		if s.p.Targets[i].Settings.WhenAllBlocked == resilience.TryAll {
			s.walk = append(s.walk, i)
		}
	}
	slices.SortStableFunc(s.walk, func(a, b int) int { return s.hopeless(a) - s.hopeless(b) })
	s.at = len(s.p.Targets) // it takes the place of the first pass
}

// hopeless is 1 for a target whose only word is quota or a refused key: it is tried last.
func (s *Session) hopeless(t int) int {
	switch s.Blocked(t).Reason {
	case resilience.QuotaExhausted, resilience.AuthFailed:
		return 1
	default:
		return 0
	}
}

// nextForced walks over blocked targets (R51). One that clears within max_wait is waited for, once. The first attempt
// is free, those after it draw on the budget, before the wait if there is one (R53).
func (s *Session) nextForced(now time.Time, g Guards, rnd float64) (Move, bool) {
	for s.step < len(s.walk) {
		if s.refused && s.attempts > 0 {
			s.step = len(s.walk)
			break
		}
		t := s.walk[s.step]
		c, b, ok := s.pickForced(t, g)
		if c < 0 {
			s.step++
			continue
		}
		waited := s.waitedFor == t
		m := Move{Kind: Try, Target: t, Credential: c, Why: AllBlocked, Draw: s.attempts > s.onSince && !waited, Force: !ok}
		if !ok && !waited && s.mayRetry(s.p.Targets[t].Settings) {
			left := b.Until.Sub(now)
			wait := left + time.Duration(rnd*0.1*float64(left))
			if b.Reason != resilience.Ramping && left > 0 && left <= s.p.Targets[t].Settings.Retry.MaxWait && !s.late(now, wait) {
				s.waitedFor = t
				m.Kind, m.Force, m.For = Wait, false, wait
				return m, true
			}
		}
		if b.Reason == resilience.LimitReached { // the operator's own limit: nobody is forced past it
			s.step++
			continue
		}
		s.step++
		m.Untried = s.untried(t, g)
		return m, true
	}
	return Move{}, false
}

// pickForced chooses a credential of target t for the walk: at most one a provider, the soonest to clear.
func (s *Session) pickForced(t int, g Guards) (credential int, b resilience.Block, ok bool) {
	if s.unfit(t) {
		return -1, b, false
	}
	credential, b, ok = g.Pick(t, func(c int) bool {
		for i := range s.candidates {
			k := &s.candidates[i]
			if k.tries > 0 && s.p.Targets[k.target].Provider == s.p.Targets[t].Provider && (k.credential != c || k.target == t) {
				return true
			}
		}
		return false
	})
	if b.Forbids() { // R31
		return -1, b, false
	}
	return credential, b, ok
}
