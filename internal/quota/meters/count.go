package meters

import (
	"time"

	"evergate/internal/quota"
)

// heldFor is how long what others hold counts after it was last heard: an instance that died holds nothing.
const heldFor = 30 * time.Second

// count is one counter: of a window, of a period, or of what is in flight alone. It is guarded by its scope.
type count struct {
	window *quota.Window // nil: of a period, or nothing but held
	total  int64         // all that was used: in the period, or ever
	held   int64
	said   int64 // what the others know of total and held
	saying int64 // what is on its way to them
	// Of which limit it was told that it is near and reached; 0: of none.
	near, spent int64
	heard       heard
}

// heard is what others of the fleet have.
type heard struct {
	window *quota.Window
	total  int64
	held   int64
	at     time.Time // when held was heard
}

// own is what counts of this instance.
func (c *count) own(now time.Time) int64 {
	if c.window != nil {
		return c.window.Sum(now) + c.held
	}
	return c.total + c.held
}

// others is what counts of the others.
func (c *count) others(now time.Time) int64 {
	n := c.heard.total + c.heardHeld(now)
	if c.heard.window != nil {
		n = c.heard.window.Sum(now) + c.heardHeld(now)
	}
	return n
}

func (c *count) heardHeld(now time.Time) int64 {
	if c.heard.held != 0 && now.Sub(c.heard.at) <= heldFor {
		return c.heard.held
	}
	return 0
}

// share is the counter under a limit.
func (c *count) share(now time.Time, limit, instances int64) quota.Share {
	s := quota.Share{Limit: limit, Own: c.own(now), Others: c.others(now), Instances: instances}
	if instances > 1 {
		s.Unsaid = min(c.total+c.held-c.said, s.Own)
	}
	return s
}

// use counts n.
func (c *count) use(now time.Time, n int64) {
	n = max(n, 0)
	if c.total += n; c.total > maxTotal {
		c.total = maxTotal
	}
	if c.window != nil {
		c.window.Add(now, n)
	}
}

// maxTotal bounds totals: an upstream may say any number.
const maxTotal = int64(1) << 60

// unuse takes back what was counted at a moment.
func (c *count) unuse(at time.Time, n int64) {
	c.total -= n
	if c.window != nil {
		c.window.Undo(at, n)
	}
}

// frees is how long until a window lets one more in; guess: what is held decides, and nobody knows how long.
func (c *count) frees(now time.Time, limit int64) (wait time.Duration, guessed bool) {
	target := limit - 1 - c.held - c.heardHeld(now)
	if c.window == nil || target < 0 {
		return guess, true
	}
	wait = quota.Frees(now, target, c.window, c.heard.window).Sub(now)
	return wait, wait == 0
}

// standing is the counter as a client is told.
func (c *count) standing(now time.Time, limit int64) Standing {
	s := Standing{Limit: limit, Left: max(limit-c.own(now)-c.others(now), 0)}
	s.Resets = c.window.Clears(now).Sub(now)
	if c.heard.window != nil {
		s.Resets = max(s.Resets, c.heard.window.Clears(now).Sub(now))
	}
	return s
}

// period is a budget's counters. It goes from one period of the calendar to the next in place.
type period struct {
	per      quota.Period
	zone     string
	from, to time.Time
	nano     count
	tokens   count
	known    bool     // the others' part was heard
	before   struct { // the period that was before it
		from time.Time
		used Amount // by this instance
	}
}

// astray is how far before its period a clock must be to say that the period was a mistake. Below that the period's border moved.
const astray = time.Hour

// roll goes on to the period that now is in; past is the one before, if the others are to hear its end.
func (p *period) roll(now time.Time, zone *time.Location) (past *period) {
	if now.Before(p.from.Add(-astray)) {
		p.setBack(now, zone)
		return nil
	}
	if now.Before(p.to) {
		return nil // also if the clock was set back
	}
	if !p.to.IsZero() && p.unsaid() {
		old := *p
		old.nano.held, old.tokens.held = 0, 0
		past = &old
	}
	before := *p
	p.begin(now, zone, Amount{})
	p.known = true
	p.before.from, p.before.used = before.from, Amount{Tokens: before.tokens.total, Nano: before.nano.total}
	return past
}

// begin begins the period that now is in. What is held stays so.
func (p *period) begin(now time.Time, zone *time.Location, used Amount) {
	from, to := p.per.Span(now, zone)
	*p = period{
		per: p.per, zone: p.zone, from: from, to: to, nano: count{total: used.Nano, held: p.nano.held}, tokens: count{total: used.Tokens, held: p.tokens.held},
	}
}

// setBack goes back to the period that now is in, from one that a clock which was far ahead has begun: what was used meanwhile is of now.
func (p *period) setBack(now time.Time, zone *time.Location) {
	used, before := Amount{Tokens: p.tokens.total, Nano: p.nano.total}, p.before
	p.begin(now, zone, used)
	if p.from.Equal(before.from) {
		p.nano.total, p.tokens.total = min(used.Nano+before.used.Nano, maxTotal), min(used.Tokens+before.used.Tokens, maxTotal)
	}
}
