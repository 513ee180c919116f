package meters

import (
	"sync"
	"time"

	"evergate/internal/quota"
)

// scope is what is counted of one who is limited.
type scope struct {
	kind  Kind
	name  string
	shard *shard

	mu      sync.Mutex
	bound   Bound // as it last asked
	flight  count
	windows [2]count // requests and tokens of a minute
	periods []*period
	past    []*period // that are over, and whose end the others have not heard
	touched time.Time
	latest  time.Time // at which something was counted, or looked at
	moved   bool      // it is in its shard's list
	known   bool      // the others' part of windows was heard
	gone    bool      // the table has forgotten it
	alone   bool      // there is nobody to tell
	telling int       // how many of past are on their way
	said    time.Time // when the others were last told and heard
}

// The windows.
const (
	ofRequests = 0
	ofTokens   = 1
)

// present is the moment at which something is counted: who asks may have looked at the clock a while ago, and what is of then must not be taken for a clock that was set
// back. Times tell the two apart where they have a stopwatch's reading, which nobody sets. It requires the lock.
func (s *scope) present(now time.Time) time.Time {
	if stopped(now) && stopped(s.latest) && now.Before(s.latest) {
		return s.latest
	}
	s.latest = now
	return now
}

// stopped says whether a time has a stopwatch's reading.
func stopped(t time.Time) bool { return t != t.Round(0) }

// idle requires the lock.
func (s *scope) idle(now time.Time) bool {
	if now.Sub(s.touched) < 2*quota.WindowLength || s.flight.held != 0 || s.moved {
		return false
	}
	for _, p := range s.past {
		if p.ofUse(now) {
			return false
		}
	}
	for _, p := range s.periods {
		if p.counts(now) || p.nano.held != 0 || p.tokens.held != 0 || !s.alone && p.unsaid() && p.ofUse(now) {
			return false
		}
	}
	return true
}

// counts says whether anything was used in a period that runs.
func (p *period) counts(now time.Time) bool {
	return now.Before(p.to) && (p.nano.total != 0 || p.tokens.total != 0)
}

// unsaid says whether the others do not know all that was used.
func (p *period) unsaid() bool { return p.nano.said != p.nano.total || p.tokens.said != p.tokens.total }

// same says whether two are counted on one meter.
func (p *period) same(o *period) bool {
	return p.per == o.per && p.zone == o.zone && p.from.Unix() == o.from.Unix()
}

// ofUse says whether somebody may want to hear of a period: the store keeps it so long.
func (p *period) ofUse(now time.Time) bool { return now.Before(p.to.Add(keepPeriod)) }

// prepare makes the counters that a bound needs, and gives the mask of the periods it counts in. It requires the lock.
func (s *scope) prepare(now time.Time, b *Bound) (mask uint32) {
	if now.Sub(s.touched) > warm {
		s.known = false // the others may have used all of it
	}
	s.touched, s.bound = now, *b
	if b.Limits.RequestsPerMinute > 0 && s.windows[ofRequests].window == nil {
		s.windows[ofRequests].window = new(quota.Window)
	}
	if b.Limits.TokensPerMinute > 0 && s.windows[ofTokens].window == nil {
		s.windows[ofTokens].window = new(quota.Window)
	}
	for i := range b.Budgets {
		if at := s.period(now, &b.Budgets[i]); at >= 0 {
			mask |= 1 << at
		}
	}
	return mask
}

// maxPeriods bounds the budgets of one bound: a mask has a bit for each.
const maxPeriods = 32

// period is where the counters of a budget are, made and brought to the present. It requires the lock. Two budgets of one period and zone share them.
func (s *scope) period(now time.Time, b *quota.Budget) int {
	zone := "UTC"
	if b.Zone != nil {
		zone = b.Zone.String()
	}
	for i, p := range s.periods {
		if p.per == b.Per && p.zone == zone {
			if past := p.roll(now, b.Zone); past != nil && !s.alone {
				s.past = append(s.past, past)
			}
			return i
		}
	}
	if len(s.periods) == maxPeriods {
		return -1
	}
	p := &period{per: b.Per, zone: zone}
	p.from, p.to = b.Per.Span(now, b.Zone)
	s.periods = append(s.periods, p)
	return len(s.periods) - 1
}

// judge says which limit lets one more not in, the worst of them. It requires the lock, and that it was prepared.
func (s *scope) judge(now time.Time, instances int64, worst *Refusal) {
	l := &s.bound.Limits
	s.limit(now, &s.windows[ofRequests], Requests, l.RequestsPerMinute, instances, worst)
	s.limit(now, &s.windows[ofTokens], Tokens, l.TokensPerMinute, instances, worst)
	s.limit(now, &s.flight, Concurrent, l.Concurrent, instances, worst)
	for i := range s.bound.Budgets {
		b := &s.bound.Budgets[i]
		at := s.period(now, b)
		if at < 0 || b.WarnOnly {
			continue
		}
		p := s.periods[at]
		s.budget(now, p, &p.nano, BudgetUSD, b.Nano, instances, worst)
		s.budget(now, p, &p.tokens, BudgetOfTokens, b.Tokens, instances, worst)
	}
}

func (s *scope) limit(now time.Time, c *count, what What, limit, instances int64, worst *Refusal) {
	if limit <= 0 {
		return
	}
	why := c.share(now, limit, instances).Admit()
	if why == quota.Admitted {
		return
	}
	r := Refusal{Kind: s.kind, Name: s.name, What: what, Limit: limit, Wait: guess, Guess: true}
	if why == quota.Full {
		r.Wait, r.Guess = c.frees(now, limit)
	}
	if r.worse(worst) {
		*worst = r
	}
}

func (s *scope) budget(now time.Time, p *period, c *count, what What, limit, instances int64, worst *Refusal) {
	if limit <= 0 || c.share(now, limit, instances).Admit() == quota.Admitted {
		return
	}
	r := Refusal{Kind: s.kind, Name: s.name, What: what, Limit: limit, Wait: guess, Guess: true, Per: p.per, Until: p.to}
	if c.total+c.heard.total >= limit {
		r.Spent, r.Wait, r.Guess = true, p.to.Sub(now), false
	}
	if r.worse(worst) {
		*worst = r
	}
}

// standings are how the windows stand. It requires the lock.
func (s *scope) standings(now time.Time, out *Standings) {
	if l := s.bound.Limits.RequestsPerMinute; l > 0 {
		out.Requests = out.Requests.tighter(s.windows[ofRequests].standing(now, l))
	}
	if l := s.bound.Limits.TokensPerMinute; l > 0 {
		out.Tokens = out.Tokens.tighter(s.windows[ofTokens].standing(now, l))
	}
}

// move notes that the others are to hear of it, and says whether at once. It requires the lock.
func (s *scope) move(now time.Time, t *Table) (urgent bool) {
	instances := t.instances.Load()
	if !s.moved {
		s.moved = true
		s.shard.mu.Lock()
		s.shard.moved = append(s.shard.moved, s)
		s.shard.mu.Unlock()
		t.stir()
	}
	if instances <= 1 {
		return !s.heardAll()
	}
	l := &s.bound.Limits
	for _, c := range [...]struct {
		count *count
		limit int64
	}{{&s.windows[ofRequests], l.RequestsPerMinute}, {&s.windows[ofTokens], l.TokensPerMinute}, {&s.flight, l.Concurrent}} {
		if c.limit > 0 && c.count.share(now, c.limit, instances).Urgent() {
			return true
		}
	}
	for i := range s.bound.Budgets {
		b := &s.bound.Budgets[i]
		if at := s.period(now, b); at >= 0 {
			p := s.periods[at]
			if p.nano.share(now, b.Nano, instances).Urgent() || p.tokens.share(now, b.Tokens, instances).Urgent() {
				return true
			}
		}
	}
	return !s.heardAll()
}

// heardAll says whether what the others have was heard once. It requires the lock.
func (s *scope) heardAll() bool {
	for _, p := range s.periods {
		if !p.known {
			return false
		}
	}
	return s.known
}

// far says whether all limits are so far away that the others may hear of it later. It requires the lock.
func (s *scope) far(now time.Time) bool {
	l := &s.bound.Limits
	if !s.heardAll() || l.Concurrent > 0 && !s.flight.share(now, l.Concurrent, 1).Far() ||
		!s.windows[ofRequests].share(now, l.RequestsPerMinute, 1).Far() || !s.windows[ofTokens].share(now, l.TokensPerMinute, 1).Far() {
		return false
	}
	for i := range s.bound.Budgets {
		b := &s.bound.Budgets[i]
		if at := s.period(now, b); at >= 0 {
			if p := s.periods[at]; !p.nano.share(now, b.Nano, 1).Far() || !p.tokens.share(now, b.Tokens, 1).Far() {
				return false
			}
		}
	}
	return true
}

// passed gives what is to be told of budgets. It requires the lock.
func (s *scope) passed(now time.Time, out []Event) []Event {
	for i := range s.bound.Budgets {
		b := &s.bound.Budgets[i]
		at := s.period(now, b)
		if at < 0 {
			continue
		}
		p := s.periods[at]
		for _, c := range [...]struct {
			count *count
			what  What
			limit int64
		}{{&p.nano, BudgetUSD, b.Nano}, {&p.tokens, BudgetOfTokens, b.Tokens}} {
			if c.limit <= 0 {
				continue
			}
			used := c.count.total + c.count.heard.total
			e := Event{At: now, Kind: s.kind, Name: s.name, Budget: *b, What: c.what, Used: used, Limit: c.limit, From: p.from, To: p.to}
			switch {
			case used >= c.limit && c.limit > c.count.spent:
				c.count.spent, e.Spent = c.limit, true
				c.count.near = max(c.count.near, c.limit)
				out = append(out, e)
			case b.Warn > 0 && float64(used) >= b.Warn*float64(c.limit) && c.limit > c.count.near:
				c.count.near = c.limit
				out = append(out, e)
			}
		}
	}
	return out
}
