package failover

import (
	"slices"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Failed takes the result of an attempt that did not answer and plans what follows.
// failuresBefore is the provider's consecutive-failure count before the attempt was settled.
func (s *Session) Failed(now time.Time, g Guards, m Move, f *fault.Fault, failuresBefore int, rnd float64) {
	s.landed(m)
	s.attempts++
	s.last = f
	k := s.touch(m.Target, m.Credential)
	k.tries++
	k.pass, k.at = s.pass, s.attempts
	k.last = f
	k.notBefore = time.Time{}
	if f.Wait.Named && f.Wait.For > 0 {
		k.notBefore = now.Add(f.Wait.For)
	}
	if f.ShouldRetry == fault.No {
		k.noMore = true
	}
	if m.Why != SameTarget {
		k.clean = failuresBefore == 0
	}
	switch {
	case f.Class == fault.ContextLength:
		s.tooLong(m.Target, f)
	case f.Class == fault.ContentFilter && s.turnTo(route.ContentFilter):
		if s.refusal == nil {
			s.refusal = f
		}
	case !f.Class.Retryable():
		s.done = true
	case len(s.flying) > 0: // R71: the one that is under way is the next attempt
	case m.Force: // R51 asked it in spite of a guard: it is owed nothing more
	case m.Why != AllBlocked && f.Class.SiblingCredential() && s.hasSibling(m.Target, now, g):
		s.onTarget = m.Target
	case s.planDoubt(now, m, k, f, rnd):
	case s.planShortWait(now, g, m, k, f, rnd):
	}
}

// turnTo goes over to the targets that the model has for a refusal (R11, R12), whatever was planned; false: there are none, or
// it was they who refused.
func (s *Session) turnTo(on route.Refusal) bool {
	if s.on == on || !slices.ContainsFunc(s.p.Targets, func(t Target) bool { return t.On == on }) {
		return false
	}
	s.on, s.onSince = on, s.attempts
	s.at, s.onTarget, s.plan = 0, -1, nil
	s.walk, s.step = nil, 0
	return true
}

func (s *Session) hasSibling(t int, now time.Time, g Guards) bool {
	_, _, ok := g.Pick(t, func(c int) bool { return !s.mayTry(t, c, now) })
	return ok
}

// planDoubt is R52(a).
func (s *Session) planDoubt(now time.Time, m Move, k *candidate, f *fault.Fault, rnd float64) bool {
	if !s.mayRepeat(k) || !givesDoubt(f) || !k.clean || k.doubt >= s.settings(k).Retry.SameTarget {
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

// planShortWait is R52(b).
func (s *Session) planShortWait(now time.Time, g Guards, m Move, k *candidate, f *fault.Fault, rnd float64) bool {
	most := s.settings(k).Retry.MaxWait
	if !s.mayRepeat(k) || f.Status != 429 && f.Status != 503 || !firesRound(f) || k.waited || !f.Wait.Named ||
		most <= 0 || f.Wait.For > most || s.sameModelElsewhere(m.Target, g) {
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
		if i != t && s.p.Targets[i].Model == s.p.Targets[t].Model && s.fresh(i, g) {
			return true
		}
	}
	return false
}

func (s *Session) settings(k *candidate) *resilience.Settings { return s.p.Targets[k.target].Settings }

func (s *Session) mayRetry(set *resilience.Settings) bool {
	return !s.refused && set.Retry.MaxRetries > 0 && (set.Retry.Streams || !s.p.Stream)
}

// mayRepeat says whether a tried candidate has a try left (R52).
func (s *Session) mayRepeat(k *candidate) bool {
	set := s.settings(k)
	return s.mayRetry(set) && !k.noMore && k.tries <= set.Retry.MaxRetries
}

// again says whether a tried candidate may be walked over again in a further round (R52).
func (s *Session) again(k *candidate) bool { return s.mayRepeat(k) && firesRound(k.last) }

// firesRound: rounds fire on R1, 408, 429, 502, 503, 504, 520-526, 529, and where a token endpoint could not be had
// (R32); not on 500, nor after R2.
func firesRound(f *fault.Fault) bool {
	switch f.Class {
	case fault.Connect, fault.Reset, fault.RateLimited, fault.NoToken:
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

// nextRound plans the wait before a further pass, if one is due.
func (s *Session) nextRound(now time.Time, g Guards, rnd float64) (Move, bool) {
	var (
		first *candidate
		wait  time.Duration
	)
	for i := range s.candidates {
		k := &s.candidates[i]
		if k.tries == 0 || !s.again(k) || s.unfit(k.target) {
			continue
		}
		if d, ok := s.roundAfter(k, now, g, rnd); ok && (first == nil || d < wait) {
			first, wait = k, d
		}
	}
	if first == nil || s.late(now, wait) {
		return Move{}, false
	}
	s.rounds++
	s.pass++
	s.at = 0
	s.retried, s.paid = true, true
	return Move{Kind: Wait, For: wait, Why: Round, Draw: true, Target: first.target, Credential: first.credential}, true
}

// roundAfter is how long a candidate would have a round wait: for the backoff, or until it clears if that is longer but
// within max_wait. False if it cannot be walked over then: what the upstream named lies beyond max_wait, or it will
// still be blocked.
func (s *Session) roundAfter(k *candidate, now time.Time, g Guards, rnd float64) (time.Duration, bool) {
	r := s.settings(k).Retry
	wait := resilience.Backoff(r, s.rounds, rnd)
	named, clears := k.notBefore.Sub(now), time.Duration(0)
	if _, b, ok := g.Pick(k.target, func(c int) bool { return c != k.credential }); !ok {
		if !b.Blocked() || b.Forbids() {
			return 0, false // the credential is gone, or an operator forbids it (R31)
		}
		clears = b.Until.Sub(now)
		if b.Named {
			named = max(named, clears)
		}
	}
	if named > r.MaxWait || clears > max(wait, r.MaxWait) {
		return 0, false
	}
	return max(wait, named, clears), true
}
