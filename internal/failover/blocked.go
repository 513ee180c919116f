package failover

import (
	"slices"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
)

// allBlocked begins what R51 says: the forced walk in declared order, with quota- and auth-blocked targets last, or an
// immediate end.
func (s *Session) allBlocked() {
	if len(s.p.Targets) == 0 || s.p.Targets[0].Settings.WhenAllBlocked == resilience.FailFast {
		s.done = true
		return
	}
	s.walk = make([]int, 0, len(s.p.Targets))
	for i := range s.p.Targets {
		s.walk = append(s.walk, i)
	}
	slices.SortStableFunc(s.walk, func(a, b int) int { return s.hopeless(a) - s.hopeless(b) })
	s.at = 0
	s.plan = nil
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
// is free, those after it draw on the budget (R53).
func (s *Session) nextForced(now time.Time, g Guards, rnd float64) Move {
	for s.at < len(s.walk) {
		t := s.walk[s.at]
		c, b, ok := g.Pick(t, func(c int) bool { return s.find(t, c) != nil })
		if c < 0 || s.tooSmall(s.p.Targets[t].Model) || s.otherCredentialUsed(t, c) {
			s.at++
			continue
		}
		try := Move{Kind: Try, Target: t, Credential: c, Why: AllBlocked, Draw: s.attempts > 0}
		if ok {
			s.at++
			return try
		}
		set := s.p.Targets[t].Settings
		left := b.Until.Sub(now)
		if left > 0 && left <= set.Retry.MaxWait && s.mayRetry(set) && s.waitedFor != t && !s.late(now, left) {
			s.waitedFor = t
			return Move{Kind: Wait, Target: t, Credential: c, Why: AllBlocked, For: left + time.Duration(rnd*0.1*float64(left))}
		}
		s.at++
		try.Force = true
		return try
	}
	s.done = true
	return Move{}
}

// otherCredentialUsed: at most one credential a provider in a forced walk.
func (s *Session) otherCredentialUsed(t, c int) bool {
	for i := range s.candidates {
		k := &s.candidates[i]
		if k.tries > 0 && k.credential != c && s.p.Targets[k.target].Provider == s.p.Targets[t].Provider {
			return true
		}
	}
	return false
}

// Ending says how a request ends that got no answer (R55).
type Ending uint8

// The endings; the codes of CONTRACT §3 stand beside them.
const (
	PassBack    Ending = iota // R8, R10-R12: the upstream's own answer
	ClientLeft                // R13
	CutShort                  // R15
	Deadline                  // deadline_exceeded
	AllLimited                // all_providers_rate_limited
	CircuitOpen               // circuit_open
	OneFailed                 // provider_error
	AllFailed                 // all_providers_failed
)

// Final is the end of a session without an answer.
type Final struct {
	Ending Ending
	// Fault is the one whose words are shown; nil if no attempt was made.
	Fault *fault.Fault
	// RetryAfter is when the soonest candidate clears; 0: unknown.
	RetryAfter time.Duration
	// Retried is true when retries were spent (x-should-retry: false).
	Retried bool
	// PassStatus: a single target's own 5xx status goes back (resilience.pass_status).
	PassStatus bool
}

// Final says how the request ends. Call it once Next said Stop.
func (s *Session) Final(now time.Time, g Guards) Final {
	f := Final{Fault: s.last, Retried: s.retried}
	switch {
	case s.last != nil && (s.last.Class == fault.ClientGone || s.last.Class == fault.ClientDeadline):
		f.Ending = ClientLeft
	case s.last != nil && s.last.Class == fault.Cut:
		f.Ending = CutShort
	case !s.p.Deadline.IsZero() && !now.Before(s.p.Deadline):
		f.Ending = Deadline
	case s.last != nil && s.last.Class != fault.ContextLength && !s.last.Class.Retryable():
		f.Ending = PassBack
	case s.attempts == 0:
		f.Ending, f.RetryAfter = CircuitOpen, s.soonest(now, g)
		if s.onlyLimits(g) {
			f.Ending = AllLimited
		}
	case s.everyLast(func(c fault.Class) bool { return c == fault.ContextLength }):
		f.Ending, f.Fault = PassBack, s.refusal
	case s.everyLast(fault.Class.RateLimit):
		f.Ending, f.RetryAfter = AllLimited, s.soonest(now, g)
	case len(s.p.Targets) == 1:
		f.Ending = OneFailed
		f.PassStatus = s.p.Targets[0].Settings.PassStatus
	default:
		f.Ending = AllFailed
	}
	return f
}

// everyLast says whether the last failure of every tried candidate is of a kind.
func (s *Session) everyLast(is func(fault.Class) bool) bool {
	for i := range s.candidates {
		if k := &s.candidates[i]; k.last != nil && !is(k.last.Class) {
			return false
		}
	}
	return true
}

// onlyLimits says whether every target's block is a rate limit (R51 fail_fast, and named waits nobody may cut short).
func (s *Session) onlyLimits(g Guards) bool {
	for i := range s.p.Targets {
		_, b, ok := g.Pick(i, skipNone)
		if ok {
			b = s.Blocked(i)
		}
		switch b.Reason {
		case resilience.RateLimited, resilience.QuotaExhausted, resilience.ModelLimited:
		default:
			return false
		}
	}
	return true
}

// soonest is how long until the first candidate clears, at least a second: clients take it as whole seconds.
func (s *Session) soonest(now time.Time, g Guards) time.Duration {
	var best time.Time
	for i := range s.p.Targets {
		clears := now
		if _, b, ok := g.Pick(i, skipNone); !ok {
			clears = b.Until
		} else if named := s.soonestNamed(i); named.After(clears) {
			clears = named
		}
		if best.IsZero() || clears.Before(best) {
			best = clears
		}
	}
	return max(best.Sub(now), time.Second)
}

// soonestNamed is the earliest time that the upstream named for a tried candidate of target t, where guards keep none
// (cooldowns turned off); zero: none.
func (s *Session) soonestNamed(t int) time.Time {
	var best time.Time
	for i := range s.candidates {
		k := &s.candidates[i]
		if k.target == t && !k.notBefore.IsZero() && (best.IsZero() || k.notBefore.Before(best)) {
			best = k.notBefore
		}
	}
	return best
}
