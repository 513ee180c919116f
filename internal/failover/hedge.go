package failover

import "slices"

// Hedge gives the untried, unblocked candidate that may be started beside the attempt of a move (R71), and has it under way
// from here on: until Failed, Denied or Unable, or until Abandoned says that its outcome does not matter. The same holds of
// the attempt beside it. same: only a target that serves the same model will do. False: there is none.
func (s *Session) Hedge(g Guards, beside Move, same bool) (Move, bool) {
	if s.done {
		return Move{}, false
	}
	if !s.flies(beside.Target) {
		s.flying = append(s.flying, beside.Target)
	}
	n := len(s.p.Targets)
	for i := range n {
		t := (s.at + i) % n
		if same && !s.p.Targets[t].Serves(s.p.Targets[beside.Target].Target) || !s.fresh(t, g) {
			continue
		}
		c, _, ok := g.Pick(t, func(c int) bool { return !s.mayStart(t, c) })
		if !ok {
			continue
		}
		s.flying = append(s.flying, t)
		return Move{Kind: Try, Target: t, Credential: c, Why: Hedged, Untried: s.untried(t, g)}, true
	}
	return Move{}, false
}

// Abandoned says that what an attempt under way comes to tells nothing, for another one answered first; or, if it was not
// made, that it will not be.
func (s *Session) Abandoned(m Move, made bool) {
	s.landed(m)
	if made {
		s.attempts++
	}
}

// Ended says whether nothing may follow any more.
func (s *Session) Ended() bool { return s.done }

// flies says whether target t has an attempt under way.
func (s *Session) flies(t int) bool { return slices.Contains(s.flying, t) }

// landed takes the attempt of a move from those under way.
func (s *Session) landed(m Move) {
	if i := slices.Index(s.flying, m.Target); i >= 0 {
		s.flying = slices.Delete(s.flying, i, i+1)
	}
}
