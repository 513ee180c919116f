package failover

import (
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

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
	// RetryAfter is how long until the soonest candidate clears; 0: unknown.
	RetryAfter time.Duration
	// Retried is true when retries were spent (x-should-retry: false).
	Retried bool
	// Lasting: another try cannot mend it: every last failure was a refused key, a missing model or a missing route.
	Lasting bool
	// PassStatus: a single target's own 5xx status goes back (resilience.pass_status).
	PassStatus bool
}

// Final says how the request ends. Call it once Next said Stop.
func (s *Session) Final(now time.Time, g Guards) Final {
	f := Final{Fault: s.last, Retried: s.retried, Lasting: s.attempts > 0 && s.everyLast(lasting)}
	switch {
	case s.last != nil && (s.last.Class == fault.ClientGone || s.last.Class == fault.ClientDeadline):
		f.Ending = ClientLeft
	case s.last != nil && s.last.Class == fault.Cut:
		f.Ending = CutShort
	case s.last != nil && s.last.Class != fault.ContextLength && !s.last.Class.Retryable():
		f.Ending = PassBack // an answer in its way, also when it came at the last moment
		if s.last.Class == fault.ContentFilter && s.refusal != nil && s.refusal.Class == fault.ContentFilter {
			f.Fault = s.refusal // R12: as it would have been without targets for it
		}
	case s.late(now, 0):
		f.Ending = Deadline
	case s.cannot != nil && s.cannot.Code != "":
		f.Ending, f.Fault = PassBack, s.cannot // R46: told so, the client asks again in a form that this target can serve
	case s.attempts == 0 && s.cannot != nil && s.onlyUnable(g):
		f.Ending, f.Fault = PassBack, s.cannot // R46: nobody who is there can do it
	case s.attempts == 0:
		f.Ending, f.RetryAfter = CircuitOpen, s.soonest(now, g)
		if s.onlyLimits(g) {
			f.Ending = AllLimited
		}
	case s.everyLast(func(c fault.Class) bool { return c == fault.ContextLength }):
		f.Ending, f.Fault = PassBack, s.refusal
	case s.everyLast(func(c fault.Class) bool { return c == fault.RouteMissing }):
		f.Ending = PassBack // R9
	case s.everyLast(fault.Class.RateLimit):
		f.Ending, f.RetryAfter = AllLimited, s.soonest(now, g)
	case s.on == route.NoRefusal && s.own() == 1:
		f.Ending, f.RetryAfter = OneFailed, s.named(now)
		f.PassStatus = s.p.Targets[0].Settings.PassStatus
	default:
		f.Ending, f.RetryAfter = AllFailed, s.named(now)
	}
	return f
}

// own is how many targets the model has for all requests.
func (s *Session) own() int {
	n := 0
	for i := range s.p.Targets {
		if s.p.Targets[i].On == route.NoRefusal {
			n++
		}
	}
	return n
}

func lasting(c fault.Class) bool {
	return c == fault.Auth || c == fault.ModelMissing || c == fault.RouteMissing
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

// onlyUnable says whether every target that has a credential at all cannot do what the request asks (R46).
func (s *Session) onlyUnable(g Guards) bool {
	for i := range s.p.Targets {
		if c, _, _ := g.Pick(i, skipNone); c >= 0 && !s.unable[i] && s.p.Targets[i].On == s.on {
			return false
		}
	}
	return true
}

// onlyLimits says whether every target's block is a rate limit (R51 fail_fast, and named waits nobody may cut short).
func (s *Session) onlyLimits(g Guards) bool {
	for i := range s.p.Targets {
		if s.p.Targets[i].On != s.on {
			continue
		}
		_, b, ok := g.Pick(i, skipNone)
		if ok {
			b = s.Blocked(i)
		}
		switch b.Reason {
		case resilience.RateLimited, resilience.QuotaExhausted, resilience.ModelLimited, resilience.LimitReached:
		default:
			return false
		}
	}
	return true
}

// soonest is how long until the first candidate clears, at least a second: clients take it as whole seconds. 0: nobody knows.
func (s *Session) soonest(now time.Time, g Guards) time.Duration {
	var best time.Time
	for i := range s.p.Targets {
		clears := now
		if s.p.Targets[i].On != s.on {
			continue
		}
		if c, b, ok := g.Pick(i, skipNone); c < 0 {
			continue // it has no credential for the model: nothing clears
		} else if !ok && b.Until.IsZero() {
			continue // an operator holds it open until further notice (R31)
		} else if !ok {
			clears = b.Until
		} else if named := s.soonestNamed(i); named.After(clears) {
			clears = named
		}
		if best.IsZero() || clears.Before(best) {
			best = clears
		}
	}
	if best.IsZero() {
		return 0
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

// named is how long the upstreams asked to wait before they are asked again, where that is what ended the request
// (R52): the soonest, of the failures that a round would have mended. 0: one of them named nothing.
func (s *Session) named(now time.Time) time.Duration {
	var best time.Duration
	for i := range s.candidates {
		k := &s.candidates[i]
		if k.last == nil || !firesRound(k.last) {
			continue
		}
		d := k.notBefore.Sub(now)
		if d <= 0 {
			return 0
		}
		if best == 0 || d < best {
			best = d
		}
	}
	return best
}
