package failover

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// The gateway in small: real guards, several clients whose requests interleave, upstreams that do as they are drawn. What
// must hold of every request is written down in client, which watches the moves of its session and knows none of its
// insides.

// place is a gateway's providers, each with its guards.
type place struct {
	now      time.Time
	machines map[string]*resilience.Machine
	budget   int
}

// client is one request, and what is known of it from outside.
type client struct {
	t       *rapid.T
	name    string
	place   *place
	session *Session
	p       Params

	at      time.Time // of its next event
	move    Move
	permit  resilience.Permit
	outcome *fault.Fault // what the attempt under way will come to; nil: an answer
	begun   time.Time

	log      []string
	ended    bool
	answered bool
	refused  bool
	forced   bool        // a forced walk was seen
	credit   map[Why]int // draws that no retry has used yet
	tries    map[[2]int]int
	inPass   map[[2]int]bool
	noMore   map[[2]int]bool
	lastOn   map[int]*fault.Fault // by target
	lastOf   map[[2]int]*fault.Fault
	denied   map[[2]int]int // attempts at the time
	timeouts map[[2]int]bool
	noted    map[int]bool // targets passed over
	small    map[string]bool
	attempts int
}

// Pick implements Guards, with the round robin of the real thing.
func (c *client) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	target := c.p.Targets[t]
	i, b, ok, _ := c.place.machines[target.Provider].Pick(c.place.now, target.Model, skip, 0.5, nil)
	return i, b, ok
}

func (c *client) must(ok bool, format string, args ...any) {
	if !ok {
		c.t.Fatalf("%s: %s\nmoves: %s", c.name, fmt.Sprintf(format, args...), strings.Join(c.log, " "))
	}
}

func (c *client) say(format string, args ...any) { c.log = append(c.log, fmt.Sprintf(format, args...)) }

// step is the client's next event: an attempt ends, or a wait is over and the next move is made.
func (c *client) step() {
	if c.move.Kind == Try {
		c.settle()
	}
	for !c.ended {
		c.must(len(c.log) < 500, "endless")
		c.noteSkips()
		m := c.session.Next(c.place.now, c, rapid.Float64Range(0, 1).Draw(c.t, "jitter"))
		c.noteSkips()
		if m.Draw {
			c.must(m.Kind != Stop, "a stop that draws")
			c.must(!c.refused, "R53: a retry although the budget had said no")
			if c.place.budget == 0 {
				c.refused, c.move = true, Move{}
				c.say("refused")
				c.session.Refused()
				continue
			}
			c.place.budget--
			c.credit[m.Why]++
		}
		switch m.Kind {
		case Stop:
			c.stop()
		case Wait:
			if c.wait(m); rapid.IntRange(0, 19).Draw(c.t, "crowd") == 0 { // as if 1,000 others waited
				c.refused, c.move = true, Move{}
				c.session.Refused()
				continue
			}
			return
		case Try:
			if c.try(m) {
				return
			}
		}
	}
}

func (c *client) noteSkips() {
	for _, k := range c.session.Skips() {
		c.must(!c.noted[k.Target] && k.Block.Blocked(), "R50: a skip of %d that is none, or for the second time", k.Target)
		c.noted[k.Target] = true
	}
}

func (c *client) wait(m Move) {
	set := c.p.Targets[m.Target].Settings.Retry
	c.must(set.MaxRetries > 0 && (set.Streams || !c.p.Stream), "R52: a wait although retries are off")
	c.must(m.For >= 0, "a wait of %s", m.For)
	if !c.p.Deadline.IsZero() {
		c.must(c.place.now.Add(m.For).Before(c.p.Deadline), "R54: a wait of %s that ends after the deadline", m.For)
	}
	free := m.Why == AllBlocked && c.attempts == 0
	c.must(m.Draw != free, "R53: a wait for %s with draw %t after %d attempts", m.Why, m.Draw, c.attempts)
	switch m.Why {
	case ShortWait:
		c.must(m.For <= set.MaxWait+set.MaxWait/10, "R52b: a wait of %s", m.For)
	case AllBlocked:
		c.must(m.For <= set.MaxWait+set.MaxWait/10, "R51: a wait of %s", m.For)
	case SameTarget:
		c.must(m.For >= 50*time.Millisecond && m.For <= 250*time.Millisecond, "R52a: a wait of %s", m.For)
		f := c.lastOf[[2]int{m.Target, m.Credential}]
		c.must(f.Class != fault.Timeout && !f.Wait.Named, "R52a: after %v", f)
	case Round:
		most := max(set.MaxWait, resilience.Backoff(set, 100, 1))
		c.must(m.For <= most, "R52: a round after %s, at most %s", m.For, most)
		c.must(len(c.fresh()) == 0, "R52: a wait although %v are untried", c.fresh())
		c.credit[Round] = 1 // of a round before it that came to no retry nothing is left
		clear(c.inPass)
	case First, NextCandidate, SiblingCredential, Hedged, Resumed:
		c.must(false, "a wait for %s", m.Why)
	}
	c.say("(%s %s)", m.Why, m.For)
	c.move, c.at = m, c.place.now.Add(m.For)
	for k := range c.denied {
		c.denied[k] = -1 // guards may change while it waits
	}
}

// try admits and begins an attempt; false: it was denied.
func (c *client) try(m Move) bool {
	key := [2]int{m.Target, m.Credential}
	target := c.p.Targets[m.Target]
	set := target.Settings.Retry
	retry := c.tries[key] > 0
	c.say("%d.%d%s", m.Target, m.Credential, map[bool]string{true: "!"}[m.Force])
	if !c.p.Deadline.IsZero() {
		c.must(c.place.now.Before(c.p.Deadline), "R54: an attempt after the deadline")
	}
	c.must(!c.small[target.Model], "R11: the model %s has too small a window", target.Model)
	c.must(c.tries[key] <= set.MaxRetries, "R52: try %d with max_retries %d", c.tries[key]+1, set.MaxRetries)
	c.must(!c.noMore[key] || !retry, "R52: a second try against x-should-retry")
	c.must(!c.timeouts[key] || !retry, "R52: a second try after a timeout")
	if m.Why != SameTarget && m.Why != ShortWait {
		c.must(!c.inPass[key], "R52: twice in one pass")
	}
	if m.Why == AllBlocked {
		c.forced = true
		c.must(target.Settings.WhenAllBlocked == resilience.TryAll, "R51: forced with fail_fast")
		for other := range c.tries {
			c.must(c.p.Targets[other[0]].Provider != target.Provider || other[1] == key[1], "R51: two credentials of %s", target.Provider)
		}
	}
	c.must(m.Why == AllBlocked || !m.Force, "forced as %s", m.Why)
	paid := retry || m.Why == AllBlocked && c.attempts > 0
	if paid {
		c.must(c.credit[m.Why] == 1, "R53: a retry with %d draws", c.credit[m.Why])
		c.credit[m.Why] = 0
	} else {
		c.must(!m.Draw, "R53: a draw for a first try")
	}
	if f := c.lastOn[m.Target]; !retry && f != nil {
		c.must(f.Class.SiblingCredential(), "R52: a sibling credential after %v", f.Class)
	}
	permit, b, _ := c.place.machines[target.Provider].Admit(c.place.now, m.Credential, target.Model, c.place.now.Add(time.Minute), m.Force, nil)
	if b.Blocked() {
		c.say("denied")
		c.denied[key] = c.attempts
		c.session.Denied(m)
		c.move = Move{}
		return false
	}
	c.inPass[key] = true
	c.tries[key]++
	c.move, c.permit, c.begun = m, permit, c.place.now
	takes := time.Duration(rapid.IntRange(0, 10_000).Draw(c.t, "takes")) * time.Millisecond
	if !c.p.Deadline.IsZero() { // R54, as attempt does it
		left := c.p.Deadline.Sub(c.place.now)
		if m.Untried {
			left /= 2
		}
		takes = min(takes, left)
	}
	c.outcome = outcomes().Draw(c.t, "outcome")
	c.at = c.place.now.Add(takes)
	return true
}

func (c *client) settle() {
	m, key := c.move, [2]int{c.move.Target, c.move.Credential}
	machine := c.place.machines[c.p.Targets[m.Target].Provider]
	before := machine.ConsecutiveFailures()
	f := c.outcome
	o := resilience.Outcome{Success: f == nil}
	if f != nil {
		o.Class, o.Wait = f.Class, f.Wait
	}
	machine.Settle(c.place.now, c.permit, o, 0.5, nil)
	c.attempts++
	c.move = Move{}
	if f == nil {
		c.say("ok")
		c.ended, c.answered = true, true
		return
	}
	c.say("=%s", f.Word())
	c.lastOn[m.Target], c.lastOf[key] = f, f
	c.noMore[key] = c.noMore[key] || f.ShouldRetry == fault.No
	c.timeouts[key] = f.Class == fault.Timeout
	if f.Class == fault.ContextLength {
		c.small[c.p.Targets[m.Target].Model] = true
	}
	c.session.Failed(c.place.now, c, m, f, before, rapid.Float64Range(0, 1).Draw(c.t, "jitter"))
}

// fresh are the candidates that nobody has asked although nothing is in the way: with one of them left nothing may be
// waited for and no request may fail.
func (c *client) fresh() [][2]int {
	var out [][2]int
	for t := range c.p.Targets {
		target := c.p.Targets[t]
		if f := c.lastOn[t]; c.small[target.Model] || f != nil && !f.Class.SiblingCredential() {
			continue
		}
		machine := c.place.machines[target.Provider]
		for k := range machine.Credentials() {
			key := [2]int{t, k}
			if n, ok := c.denied[key]; c.tries[key] > 0 || ok && n == c.attempts {
				continue
			}
			if b, _ := machine.Check(c.place.now, k, target.Model, nil); !b.Blocked() {
				out = append(out, key)
			}
		}
	}
	return out
}

// stop checks the end of a request that nobody answered.
func (c *client) stop() {
	c.ended = true
	final := c.session.Final(c.place.now, c)
	c.say("stop %d after %s", final.Ending, final.RetryAfter)
	var last *fault.Fault
	for _, f := range c.lastOf {
		if !f.Class.Retryable() && f.Class != fault.ContextLength {
			last = f
		}
	}
	if last != nil {
		want := PassBack
		switch last.Class {
		case fault.ClientGone:
			want = ClientLeft
		case fault.Cut:
			want = CutShort
		default:
		}
		c.must(final.Ending == want && final.Fault == last, "R55: %v ends as %d", last, final.Ending)
		return
	}
	if !c.p.Deadline.IsZero() && !c.place.now.Before(c.p.Deadline) {
		c.must(final.Ending == Deadline, "R55: the time is up and it ends as %d", final.Ending)
		return
	}
	c.must(final.Ending != Deadline, "R55: a deadline that was not reached")
	c.must(len(c.fresh()) == 0, "liveness: %v are free and were not asked", c.fresh())
	for t := range c.p.Targets {
		_, denied := c.denied[[2]int{t, 0}]
		for k := range 3 {
			_, d := c.denied[[2]int{t, k}]
			denied = denied || d
		}
		c.must(c.lastOn[t] != nil || c.noted[t] || denied || c.small[c.p.Targets[t].Model], "R50: nobody says why %d was not asked", t)
	}
	limits, windows, routes := c.attempts > 0, c.attempts > 0, c.attempts > 0
	for _, f := range c.lastOf {
		limits = limits && f.Class.RateLimit()
		windows = windows && f.Class == fault.ContextLength
		routes = routes && f.Class == fault.RouteMissing
	}
	switch {
	case c.attempts == 0:
		c.must(final.Ending == CircuitOpen || final.Ending == AllLimited, "R51: nobody was asked and it ends as %d", final.Ending)
		c.must(final.RetryAfter >= time.Second, "R51: Retry-After %s", final.RetryAfter)
	case windows, routes:
		c.must(final.Ending == PassBack && final.Fault != nil, "R9, R11: it ends as %d", final.Ending)
	case limits:
		c.must(final.Ending == AllLimited && final.RetryAfter >= time.Second, "R55: it ends as %d after %s", final.Ending, final.RetryAfter)
	case len(c.p.Targets) == 1:
		c.must(final.Ending == OneFailed, "R55: it ends as %d", final.Ending)
	default:
		c.must(final.Ending == AllFailed, "R55: it ends as %d", final.Ending)
	}
}

// outcomes draws what an attempt comes to.
func outcomes() *rapid.Generator[*fault.Fault] {
	return rapid.Custom(func(t *rapid.T) *fault.Fault {
		type c = fault.Class
		f := &fault.Fault{}
		kind := rapid.SampledFrom([]int{0, 408, 429, 429, 429, 401, 402, 404, 500, 502, 503, 503, 504, 529, -1, -2, -3, -4, -5, -6, -7, -8, 400}).Draw(t, "kind")
		f.Status = max(kind, 0)
		f.Class = map[int]c{
			429: fault.RateLimited, 401: fault.Auth, 402: fault.Quota, 404: fault.ModelMissing, 400: fault.Rejected,
			-1: fault.Connect, -2: fault.Reset, -3: fault.Timeout, -4: fault.Invalid, -5: fault.ContextLength, -6: fault.ModelLimited, -7: fault.Next, -8: fault.RouteMissing,
		}[kind]
		switch {
		case kind == 0:
			return nil
		case kind == 400 && rapid.Bool().Draw(t, "ending"):
			f.Class = rapid.SampledFrom([]c{fault.ClientGone, fault.Cut, fault.ContentFilter, fault.CallerAuth}).Draw(t, "class")
		case f.Class == fault.Unknown:
			f.Class = fault.Upstream
		}
		if kind == -6 {
			f.Status = 429
		}
		if f.Status == 429 || f.Status == 503 {
			f.Wait.Named = rapid.Bool().Draw(t, "named")
			if f.Wait.Named {
				f.Wait.For = rapid.SampledFrom([]time.Duration{0, time.Second, 2500 * time.Millisecond, 5 * time.Second, time.Minute}).Draw(t, "for")
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "said") == 0 {
			f.ShouldRetry = fault.No
		}
		return f
	})
}

func drawSettings(t *rapid.T) *resilience.Settings {
	s := resilience.Defaults()
	s.WhenAllBlocked = rapid.SampledFrom([]resilience.WhenAllBlocked{resilience.TryAll, resilience.TryAll, resilience.FailFast}).Draw(t, "all blocked")
	s.Retry.MaxRetries = rapid.IntRange(0, 3).Draw(t, "retries")
	s.Retry.SameTarget = rapid.IntRange(0, 2).Draw(t, "same target")
	s.Retry.MaxWait = rapid.SampledFrom([]time.Duration{0, time.Second, 3 * time.Second}).Draw(t, "max wait")
	s.Retry.Streams = rapid.Bool().Draw(t, "streams")
	s.Retry.InitialBackoff = rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second}).Draw(t, "backoff")
	s.Breaker.FailureThreshold = rapid.IntRange(0, 3).Draw(t, "threshold")
	s.Breaker.Timeout = rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second}).Draw(t, "timeout")
	if rapid.IntRange(0, 3).Draw(t, "cooldown") == 0 {
		s.CredentialCooldown.Base = 0
	}
	return &s
}

// R50-R55 over drawn scripts: each request ends, with the attempts, waits and draws that the rules allow; and while a
// candidate is free and was not asked, none fails.
func TestEveryRequestEndsByTheRules(t *testing.T) {
	for range 10 { // a hundred are soon done
		rapid.Check(t, requests)
	}
}

func requests(t *rapid.T) {
	w := &place{now: t0, machines: map[string]*resilience.Machine{}, budget: rapid.IntRange(0, 40).Draw(t, "budget")}
	settings := map[string]*resilience.Settings{}
	providers := []string{"p", "q", "r"}
	for _, p := range providers {
		settings[p] = drawSettings(t)
		keys := make([]resilience.Credential, rapid.IntRange(1, 3).Draw(t, "keys"))
		for i := range keys {
			keys[i] = resilience.Credential{Name: fmt.Sprint("k", i)}
		}
		w.machines[p] = resilience.New(*settings[p], resilience.RoundRobin, keys)
	}
	var targets []Target
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p/m", "p/n", "q/m", "q/o", "r/m", "r/n"}), 1, 4, rapid.ID).Draw(t, "targets") {
		p, model, _ := strings.Cut(id, "/")
		targets = append(targets, Target{&route.Target{Provider: p, Model: model}, settings[p]})
	}
	var clients []*client
	for i := range rapid.IntRange(1, 6).Draw(t, "clients") {
		c := &client{
			t: t, name: fmt.Sprint("client ", i), place: w, tries: map[[2]int]int{}, inPass: map[[2]int]bool{}, noMore: map[[2]int]bool{},
			lastOn: map[int]*fault.Fault{}, lastOf: map[[2]int]*fault.Fault{}, denied: map[[2]int]int{}, timeouts: map[[2]int]bool{}, noted: map[int]bool{},
			small: map[string]bool{}, credit: map[Why]int{}, at: t0.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "arrives")) * time.Millisecond),
		}
		c.p = Params{Targets: targets, Stream: rapid.Bool().Draw(t, "stream")}
		if rapid.Bool().Draw(t, "limited") {
			c.p.Deadline = c.at.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "total")) * time.Millisecond)
		}
		clients = append(clients, c)
	}
	for {
		waiting := slices.DeleteFunc(slices.Clone(clients), func(c *client) bool { return c.ended })
		if len(waiting) == 0 {
			break
		}
		c := slices.MinFunc(waiting, func(a, b *client) int { return a.at.Compare(b.at) })
		w.now = c.at
		if c.session == nil {
			c.session = New(c.p, c)
		}
		c.step()
	}
}
