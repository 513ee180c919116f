package resilience

import (
	"math"
	"time"
)

// penalty is an escalating timed block, the shape that a credential's cooldown and a model's lockout share. Blocks are
// numbered through the whole machine and a permit carries the number of the last one set before it was admitted: that
// is how a result is known to be older than the block it meets (R42). The zero penalty blocks nothing.
type penalty struct {
	level  int       // blocks set since the last success; outlives the block (R45)
	ending           // of the block that was set here
	setAt  time.Time // when it was set, or moved out last
	set    uint64    // number of the block set last
	lent   ending    // of the block that others have seen set (R62)
	passed time.Time // admission of the last attempt that succeeded (R42, R62)
}

// ending is the end of a block.
type ending struct {
	until  time.Time
	named  bool   // until is the upstream's own word
	reason Reason // of what set until
}

// end is the end that counts: the later one.
func (p *penalty) end() ending {
	if p.lent.until.After(p.until) {
		return p.lent
	}
	return p.ending
}

func (p *penalty) active(now time.Time) bool { return p.set != 0 && p.runs(now) }

func (p *penalty) runs(now time.Time) bool { return now.Before(p.until) || now.Before(p.lent.until) }

// fail records a failure that asks for a block of d (0: none) by an attempt admitted after block number mark; number is
// what a newly set block gets. It says whether anything changed.
func (p *penalty) fail(now time.Time, d time.Duration, named bool, reason Reason, mark, number uint64) bool {
	if d <= 0 {
		return false // R41: 0 is a value
	}
	until := now.Add(d)
	if mark >= p.set { // R45
		p.level++
		p.set = number
		p.extend(now, ending{until, named, reason})
		return true
	}
	// It was in flight when the block was set: it counts with the failure that set it, but what the upstream says
	// about the end still holds (R42).
	if !named || !until.After(p.until) {
		return false
	}
	if !p.active(now) {
		p.set = number
	}
	p.extend(now, ending{until, named, reason})
	return true
}

// extend moves the end out, never in.
func (p *penalty) extend(now time.Time, e ending) {
	if e.until.After(p.until) {
		p.ending, p.setAt = e, now
	}
}

// pass records the success of a permit. It says whether that ended a running block.
func (p *penalty) pass(now time.Time, by *Permit) bool {
	if by.mark < p.set { // R42
		return false
	}
	if by.Admitted.After(p.passed) {
		p.passed = by.Admitted
	}
	if p.set == 0 || p.level == 0 && p.until.IsZero() && p.lent.until.IsZero() {
		return false
	}
	ended := p.active(now)
	p.level, p.ending, p.lent = 0, ending{}, ending{}
	return ended
}

// authMax bounds the cooldown after refused credentials (R41).
const authMax = time.Hour

// cooldownJitter is R41's ± 10 %.
const cooldownJitter = 0.1

// block is how long the credential rests after a failure of one kind at a level, and whether the upstream said so
// (R41). Reason is one of RateLimited, QuotaExhausted and AuthFailed.
func (c CredentialCooldown) block(reason Reason, level int, wait time.Duration, named bool, rnd float64) (time.Duration, bool) {
	switch {
	case c.Base <= 0:
		return 0, false
	case named && reason == QuotaExhausted:
		return atMost(wait, max(c.Max, c.QuotaBase)), true
	case named:
		return atMost(wait, c.Max), true
	case reason == QuotaExhausted:
		return c.QuotaBase, false
	case reason == AuthFailed:
		return escalate(c.AuthBase, level, authMax), false
	}
	return atMost(Jitter(escalate(c.Base, level, c.Max), cooldownJitter, rnd), c.Max), false
}

// block is how long a model stays locked after a failure at a level, and whether the upstream said so (R43; a wait it
// named counts for a limit only, R6).
func (l ModelLockout) block(reason Reason, level int, wait time.Duration, named bool) (time.Duration, bool) {
	switch {
	case l.Base <= 0:
		return 0, false
	case named && reason == ModelLimited:
		return atMost(wait, l.Max), true
	}
	return escalate(l.Base, level, l.Max), false
}

// escalate is base × 2^level, at most limit (0 = no limit), without overflow.
func escalate(base time.Duration, level int, limit time.Duration) time.Duration {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	for ; level > 0 && base > 0 && base < limit; level-- {
		if base > limit/2 {
			return limit
		}
		base *= 2
	}
	return min(base, limit)
}

// atMost cuts d to limit; 0 = no limit.
func atMost(d, limit time.Duration) time.Duration {
	if limit > 0 && d > limit {
		return limit
	}
	return d
}
