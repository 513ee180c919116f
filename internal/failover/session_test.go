package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a hand-made Guards: for each target its credentials' blocks, and failure counts.
type world struct {
	now      time.Time
	blocks   [][]resilience.Block // target, credential
	failures []int
	unable   map[int]*fault.Fault // R46: targets that cannot be asked
}

func (w *world) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	best := -1
	var soonest resilience.Block
	for c, b := range w.blocks[t] {
		if skip(c) {
			continue
		}
		if !b.Blocked() || !b.Forbids() && !b.Until.After(w.now) {
			return c, resilience.Block{}, true
		}
		if best < 0 || b.Until.Before(soonest.Until) {
			best, soonest = c, b
		}
	}
	return best, soonest, false
}

// result is what a scripted attempt comes to; the zero value answers.
type result struct {
	f     *fault.Fault
	takes time.Duration
	block *resilience.Block // set on the credential by it
}

func status(code int, opts ...func(*fault.Fault)) result {
	f := &fault.Fault{Status: code, Class: fault.Upstream}
	switch {
	case code == 429:
		f.Class = fault.RateLimited
	case code == 401:
		f.Class = fault.Auth
	case code == 404:
		f.Class = fault.ModelMissing
	case code == 400:
		f.Class = fault.Rejected
	}
	for _, o := range opts {
		o(f)
	}
	return result{f: f}
}

func after(d time.Duration) func(*fault.Fault) {
	return func(f *fault.Fault) { f.Wait = fault.Wait{For: d, Named: true} }
}

func class(c fault.Class) result { return result{f: &fault.Fault{Class: c}} }

func noRetry(f *fault.Fault) { f.ShouldRetry = fault.No }

func block(reason resilience.Reason, until time.Duration, named bool) resilience.Block {
	g := resilience.CredentialCooldownGuard
	if reason == resilience.CircuitOpen {
		g = resilience.CircuitBreaker
	}
	return resilience.Block{Guard: g, Reason: reason, Until: t0.Add(until), Named: named}
}

// play runs a session against a script: for each target its results in order (the last repeats), and writes what was
// done as words: `0` an attempt on target 0, `0.1` with credential 1, `!` forced, `(1s)` a wait, `$` drawn on the budget.
func play(p Params, w *world, script map[int][]result, budget int) (string, Final) {
	w.now = t0
	if w.blocks == nil {
		w.blocks = make([][]resilience.Block, len(p.Targets))
		for i := range w.blocks {
			w.blocks[i] = make([]resilience.Block, 1)
		}
	}
	w.failures = append(w.failures, make([]int, len(p.Targets)-len(w.failures))...)
	s := New(p, w)
	var out []string
	made := map[int]int{}
	for range 200 {
		m := s.Next(w.now, w, 0.5)
		if m.Draw {
			if budget == 0 {
				out = append(out, "refused")
				s.Refused()
				continue
			}
			budget--
		}
		switch m.Kind {
		case Stop:
			return strings.Join(out, " "), s.Final(w.now, w)
		case Wait:
			w.now = w.now.Add(m.For)
			out = append(out, fmt.Sprintf("(%s)", m.For))
		case Try:
			word := fmt.Sprint(m.Target)
			if len(w.blocks[m.Target]) > 1 {
				word += fmt.Sprintf(".%d", m.Credential)
			}
			if m.Force {
				word += "!"
			}
			out = append(out, word)
			if f := w.unable[m.Target]; f != nil {
				out = out[:len(out)-1]
				s.Unable(m, f)
				continue
			}
			rs := script[m.Target]
			r := rs[min(made[m.Target], len(rs)-1)]
			made[m.Target]++
			w.now = w.now.Add(r.takes)
			if r.f == nil {
				return strings.Join(out, " ") + " ok", Final{}
			}
			before := w.failures[m.Target]
			if r.f.Class.BreakerFailure() {
				w.failures[m.Target]++
			}
			if r.block != nil {
				w.blocks[m.Target][m.Credential] = *r.block
			}
			s.Failed(w.now, w, m, r.f, before, 0.5)
		}
	}
	return "endless", Final{}
}

func targets(models []string, change ...func(*resilience.Settings)) []Target {
	s := resilience.Defaults()
	s.Retry.JitterFactor = 0
	for _, c := range change {
		c(&s)
	}
	out := make([]Target, len(models))
	for i, m := range models {
		out[i] = Target{&route.Target{Provider: fmt.Sprintf("p%d", i), Model: m}, &s}
	}
	return out
}

func retries(n int) func(*resilience.Settings) {
	return func(s *resilience.Settings) { s.Retry.MaxRetries = n }
}

func noDoubt(s *resilience.Settings) { s.Retry.SameTarget = 0 }

func TestSession(t *testing.T) {
	tests := []struct {
		name   string
		models []string
		set    []func(*resilience.Settings)
		world  world
		script map[int][]result
		budget int // 0: plenty, -1: none
		limit  time.Duration
		stream bool
		// provider of all targets; empty: each has its own
		provider string
		want     string
		ending   Ending
		after    time.Duration
	}{
		{name: "R50 the first answers", models: []string{"a", "b"}, script: map[int][]result{0: {{}}}, want: "0 ok"},
		{
			name: "R46-R52 000's single walk with max_retries 0", models: []string{"a", "b", "c"},
			set:    []func(*resilience.Settings){retries(0)},
			script: map[int][]result{0: {status(500)}, 1: {class(fault.Connect)}, 2: {class(fault.Timeout)}},
			want:   "0 1 2", ending: AllFailed,
		},
		{
			name: "R55 one candidate", models: []string{"a"}, set: []func(*resilience.Settings){retries(0)},
			script: map[int][]result{0: {status(503)}}, want: "0", ending: OneFailed,
		},
		{
			name: "R52a benefit of the doubt", models: []string{"a", "b"},
			script: map[int][]result{0: {status(500), {}}}, want: "0 (150ms) 0 ok",
		},
		{
			name: "R52a not for a provider that was failing already", models: []string{"a", "b"}, world: world{failures: []int{1, 0}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52a never after a timeout", models: []string{"a", "b"},
			script: map[int][]result{0: {class(fault.Timeout)}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52a not with a Retry-After; with another model at hand a long one is not waited for", models: []string{"a", "b"},
			script: map[int][]result{0: {status(503, after(10*time.Second))}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52a x-should-retry false", models: []string{"a", "b"},
			script: map[int][]result{0: {status(503, noRetry)}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52b short wait keeps the model", models: []string{"a", "b"},
			script: map[int][]result{0: {status(429, after(2*time.Second)), {}}}, want: "0 (2.1s) 0 ok",
		},
		{
			name: "R52b once only", models: []string{"a", "b"},
			script: map[int][]result{0: {status(429, after(2*time.Second))}, 1: {{}}}, want: "0 (2.1s) 0 1 ok",
		},
		{
			name: "R52b not when another candidate serves the same model", models: []string{"a", "a"},
			script: map[int][]result{0: {status(429, after(2*time.Second))}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52b Retry-After 0 is at once", models: []string{"a"},
			script: map[int][]result{0: {status(429, after(0)), {}}}, want: "0 (0s) 0 ok",
		},
		{
			name: "R52 rounds back off and stop after max_retries", models: []string{"a"}, set: []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(503)}}, want: "0 (1s) 0 (2s) 0 (4s) 0", ending: OneFailed,
		},
		{
			name: "R52 no candidate gets more than 1 + max_retries, doubt included", models: []string{"a"},
			script: map[int][]result{0: {status(503)}}, want: "0 (150ms) 0 (1s) 0 (2s) 0", ending: OneFailed,
		},
		{
			name: "R52 rounds do not fire on 500", models: []string{"a", "b"}, set: []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(500)}, 1: {status(500)}}, want: "0 1", ending: AllFailed,
		},
		{
			name: "R52 rounds do not fire after a timeout", models: []string{"a"},
			script: map[int][]result{0: {class(fault.Timeout)}}, want: "0", ending: OneFailed,
		},
		{
			name: "R52 a round walks the retryable ones alone", models: []string{"a", "b"}, set: []func(*resilience.Settings){noDoubt, retries(1)},
			script: map[int][]result{0: {status(500)}, 1: {status(502), {}}}, want: "0 1 (1s) 1 ok",
		},
		{
			name: "R52 (1 + retries) x targets is the most", models: []string{"a", "b"}, set: []func(*resilience.Settings){noDoubt, retries(2)},
			script: map[int][]result{0: {status(503)}, 1: {status(503)}}, want: "0 1 (1s) 0 1 (2s) 0 1", ending: AllFailed,
		},
		{
			name: "R52 a cooldown longer than the backoff is waited for within max_wait", models: []string{"a"},
			set: []func(*resilience.Settings){retries(1)},
			script: map[int][]result{0: {
				{f: status(429).f, block: ptr(block(resilience.RateLimited, 2*time.Second, false))}, {},
			}},
			want: "0 (2s) 0 ok",
		},
		{
			name: "R52 a named wait beyond max_wait ends it and is handed over", models: []string{"a"},
			script: map[int][]result{0: {
				{f: status(429, after(20*time.Second)).f, block: ptr(block(resilience.RateLimited, 20*time.Second, true))},
			}},
			want: "0", ending: AllLimited, after: 20 * time.Second,
		},
		{
			name: "R52 the same with cooldowns off", models: []string{"a"},
			script: map[int][]result{0: {status(429, after(20*time.Second))}}, want: "0", ending: AllLimited, after: 20 * time.Second,
		},
		{
			name: "R52 streams false", models: []string{"a", "b"}, stream: true,
			set:    []func(*resilience.Settings){func(s *resilience.Settings) { s.Retry.Streams = false }},
			script: map[int][]result{0: {status(503)}, 1: {status(503)}}, want: "0 1", ending: AllFailed,
		},
		{
			name: "R53 an empty budget stops retries, not first tries", models: []string{"a", "b"}, budget: -1,
			script: map[int][]result{0: {status(503)}, 1: {{}}}, want: "0 refused 1 ok",
		},
		{
			name: "R53 an empty budget stops rounds", models: []string{"a"}, budget: -1, set: []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(503)}}, want: "0 refused", ending: OneFailed,
		},
		{
			name: "R54 no wait that ends after the deadline", models: []string{"a"}, limit: 500 * time.Millisecond,
			set:    []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(503)}}, want: "0", ending: OneFailed,
		},
		{
			name: "R55 deadline first", models: []string{"a", "b"}, limit: time.Second,
			script: map[int][]result{0: {{f: class(fault.Timeout).f, takes: time.Second}}, 1: {class(fault.Timeout)}},
			want:   "0", ending: Deadline,
		},
		{
			name: "R55 all rate limited, one target too", models: []string{"a"}, set: []func(*resilience.Settings){retries(0)},
			script: map[int][]result{0: {status(429)}}, want: "0", ending: AllLimited, after: time.Second,
		},
		{
			name: "R55 mixed failures are 502", models: []string{"a", "b"}, set: []func(*resilience.Settings){retries(0)},
			script: map[int][]result{0: {status(429)}, 1: {status(500)}}, want: "0 1", ending: AllFailed,
		},
		{
			name: "R4 a sibling credential first", models: []string{"a", "b"},
			world:  world{blocks: [][]resilience.Block{make([]resilience.Block, 3), make([]resilience.Block, 1)}},
			script: map[int][]result{0: {status(429), status(401), {}}}, want: "0.0 0.1 0.2 ok",
		},
		{
			name: "R52 no sibling after R3", models: []string{"a", "b"}, set: []func(*resilience.Settings){noDoubt},
			world:  world{blocks: [][]resilience.Block{make([]resilience.Block, 2), make([]resilience.Block, 1)}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0.0 1 ok",
		},
		{
			name: "siblings are first tries: free, and no business of max_retries", models: []string{"a"}, budget: -1,
			set:    []func(*resilience.Settings){retries(1)},
			world:  world{blocks: [][]resilience.Block{make([]resilience.Block, 4)}},
			script: map[int][]result{0: {status(401), status(401), status(401), {}}}, want: "0.0 0.1 0.2 0.3 ok",
		},
		{
			name: "R10 ends it", models: []string{"a", "b"}, script: map[int][]result{0: {status(400)}}, want: "0", ending: PassBack,
		},
		{
			name: "R8 the caller's own key is refused: that goes back as it is", models: []string{"a", "b"},
			script: map[int][]result{0: {class(fault.CallerAuth)}}, want: "0", ending: PassBack,
		},
		{
			name: "R9 next candidate, no round", models: []string{"a", "b"},
			script: map[int][]result{0: {status(404)}, 1: {status(404)}}, want: "0 1", ending: AllFailed,
		},
		{
			name: "R11 the same model is asked once", models: []string{"a", "a", "b"},
			script: map[int][]result{0: {class(fault.ContextLength)}, 2: {{}}}, want: "0 2 ok",
		},
		{
			name: "R11 all refuse: the first refusal goes back", models: []string{"a", "b"},
			script: map[int][]result{0: {class(fault.ContextLength)}, 1: {class(fault.ContextLength)}}, want: "0 1", ending: PassBack,
		},
		{
			name: "R13 stop", models: []string{"a", "b"}, script: map[int][]result{0: {class(fault.ClientGone)}}, want: "0", ending: ClientLeft,
		},
		{
			name: "R15 stop", models: []string{"a", "b"}, script: map[int][]result{0: {class(fault.Cut)}}, want: "0", ending: CutShort,
		},
		{
			name: "R50 a blocked candidate is left out", models: []string{"a", "b"},
			world:  world{blocks: [][]resilience.Block{{block(resilience.CircuitOpen, 20*time.Second, false)}, {{}}}},
			script: map[int][]result{1: {{}}}, want: "1 ok",
		},
		{
			name: "R51 all blocked: all are tried in declared order", models: []string{"a", "b"},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {block(resilience.RateLimited, 30*time.Second, false)},
			}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0! 1! ok",
		},
		{
			name: "R51 quota and auth last", models: []string{"a", "b", "c"},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.AuthFailed, 20*time.Second, false)},
				{block(resilience.QuotaExhausted, time.Hour, false)},
				{block(resilience.CircuitOpen, 20*time.Second, false)},
			}},
			script: map[int][]result{0: {status(500)}, 1: {status(500)}, 2: {status(500)}}, want: "2! 0! 1!", ending: AllFailed,
		},
		{
			name: "R51 one that clears soon is waited for", models: []string{"a"},
			world:  world{blocks: [][]resilience.Block{{block(resilience.RateLimited, 2*time.Second, true)}}},
			script: map[int][]result{0: {{}}}, want: "(2.1s) 0 ok",
		},
		{
			name: "R51 with max_retries 0 nothing is waited for", models: []string{"a"}, set: []func(*resilience.Settings){retries(0)},
			world:  world{blocks: [][]resilience.Block{{block(resilience.RateLimited, 2*time.Second, false)}}},
			script: map[int][]result{0: {{}}}, want: "0! ok",
		},
		{
			name: "R53 the first of a forced walk is free, the second is not", models: []string{"a", "b"}, budget: -1,
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {block(resilience.CircuitOpen, 30*time.Second, false)},
			}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0! refused", ending: AllFailed,
		},
		{
			name: "R51 fail_fast: circuit_open with the soonest clearing", models: []string{"a", "b"},
			set: []func(*resilience.Settings){func(s *resilience.Settings) { s.WhenAllBlocked = resilience.FailFast }},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {block(resilience.RateLimited, 10*time.Second, false)},
			}},
			want: "", ending: CircuitOpen, after: 10 * time.Second,
		},
		{
			name: "R51 fail_fast: every block a rate limit", models: []string{"a"},
			set:   []func(*resilience.Settings){func(s *resilience.Settings) { s.WhenAllBlocked = resilience.FailFast }},
			world: world{blocks: [][]resilience.Block{{block(resilience.RateLimited, 10*time.Second, true)}}},
			want:  "", ending: AllLimited, after: 10 * time.Second,
		},
		{
			name: "R51 nobody is forced past a provider's own limits", models: []string{"a", "b"},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.LimitReached, 20*time.Second, false)}, {block(resilience.LimitReached, 10*time.Second, false)},
			}},
			script: map[int][]result{0: {{}}, 1: {{}}}, want: "", ending: AllLimited, after: 10 * time.Second,
		},
		{
			name: "R51 a limit of its own that clears soon is waited for", models: []string{"a", "b"},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.LimitReached, 20*time.Second, false)}, {block(resilience.LimitReached, time.Second, false)},
			}},
			script: map[int][]result{0: {{}}, 1: {{}}}, want: "(1.05s) 1 ok",
		},
		{
			name: "R50 a candidate that was blocked and is free by the time the pass is over is tried, without a wait", models: []string{"a", "b"},
			world:  world{blocks: [][]resilience.Block{{block(resilience.RateLimited, time.Second, true)}, {{}}}},
			script: map[int][]result{0: {{}}, 1: {{f: class(fault.Timeout).f, takes: 5 * time.Second}}}, want: "1 0 ok",
		},
		{
			name: "R52 a round asks no new credential of a target that failed by itself", models: []string{"a", "b"},
			set:    []func(*resilience.Settings){noDoubt, retries(1)},
			world:  world{blocks: [][]resilience.Block{make([]resilience.Block, 2), make([]resilience.Block, 1)}},
			script: map[int][]result{0: {class(fault.Timeout), {}}, 1: {status(503)}}, want: "0.0 1 (1s) 1", ending: AllFailed,
		},
		{
			name: "R52 keys do not multiply the retries of a target that failed by itself", models: []string{"a"},
			set:    []func(*resilience.Settings){noDoubt, retries(2)},
			world:  world{blocks: [][]resilience.Block{make([]resilience.Block, 3)}},
			script: map[int][]result{0: {status(503)}}, want: "0.0 (1s) 0.0 (2s) 0.0", ending: OneFailed,
		},
		{
			name: "R52a not for the second failure in a row either", models: []string{"a"}, set: []func(*resilience.Settings){retries(2)},
			script: map[int][]result{0: {status(504), status(503), status(503)}}, want: "0 (1s) 0 (2s) 0", ending: OneFailed,
		},
		{
			name: "R52b max_wait 0 turns it off, for a Retry-After of 0 too", models: []string{"a", "b"},
			set:    []func(*resilience.Settings){func(s *resilience.Settings) { s.Retry.MaxWait = 0 }},
			script: map[int][]result{0: {status(429, after(0))}, 1: {{}}}, want: "0 1 ok",
		},
		{
			name: "R52 a cooldown that ends within the backoff is no matter, beyond max_wait too", models: []string{"a"},
			set: []func(*resilience.Settings){retries(1), func(s *resilience.Settings) { s.Retry.InitialBackoff = 5 * time.Second }},
			script: map[int][]result{0: {
				{f: status(429).f, block: ptr(block(resilience.RateLimited, 4*time.Second, false))}, {},
			}},
			want: "0 (5s) 0 ok",
		},
		{
			name: "R52 but a time that the upstream named beyond max_wait ends it, within the backoff too", models: []string{"a"},
			set:    []func(*resilience.Settings){retries(1), func(s *resilience.Settings) { s.Retry.InitialBackoff = 5 * time.Second }},
			script: map[int][]result{0: {status(429, after(4*time.Second))}}, want: "0", ending: AllLimited, after: 4 * time.Second,
		},
		{
			name: "R52 a 503's named wait beyond max_wait is handed over, too", models: []string{"a"},
			script: map[int][]result{0: {status(503, after(20*time.Second))}}, want: "0", ending: OneFailed, after: 20 * time.Second,
		},
		{
			name: "R52 of several named waits the soonest; a failure that is not walked over again has no say", models: []string{"a", "b", "c"},
			set:    []func(*resilience.Settings){noDoubt},
			script: map[int][]result{0: {status(503, after(40*time.Second))}, 1: {status(500)}, 2: {status(503, after(20*time.Second))}},
			want:   "0 1 2", ending: AllFailed, after: 20 * time.Second,
		},
		{
			name: "R55 a definite answer goes back, also when the time is up", models: []string{"a"}, limit: time.Second,
			script: map[int][]result{0: {{f: status(400).f, takes: time.Second}}}, want: "0", ending: PassBack,
		},
		{
			name: "R51 two targets of one provider: the second with the credential of the first", models: []string{"a", "b"}, provider: "p",
			world: world{blocks: [][]resilience.Block{
				{block(resilience.RateLimited, 20*time.Second, false), block(resilience.RateLimited, 30*time.Second, false)},
				{block(resilience.RateLimited, 40*time.Second, false), block(resilience.RateLimited, 30*time.Second, false)},
			}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0.0! 1.0! ok",
		},
		{
			name: "R51 what was waited for is a candidate like any other", models: []string{"a"},
			world:  world{blocks: [][]resilience.Block{{block(resilience.RateLimited, 2*time.Second, false)}}},
			script: map[int][]result{0: {status(503), status(503), {}}}, want: "(2.1s) 0 (150ms) 0 (1s) 0 ok",
		},
		{
			name: "R51 what was forced is not asked again while it is blocked", models: []string{"a", "b"},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {block(resilience.RateLimited, 30*time.Second, false)},
			}},
			script: map[int][]result{0: {status(503)}, 1: {status(503)}}, want: "0! 1!", ending: AllFailed,
		},
		{
			name: "R53 in a forced walk too the budget is drawn before waiting", models: []string{"a", "b"}, budget: -1,
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {block(resilience.CircuitOpen, 2*time.Second, false)},
			}},
			script: map[int][]result{0: {status(500)}, 1: {{}}}, want: "0! refused", ending: AllFailed,
		},
		{
			name: "R54 no wait for a block that would end after the deadline with its jitter", models: []string{"a"}, limit: 2 * time.Second,
			world:  world{blocks: [][]resilience.Block{{block(resilience.RateLimited, 1950*time.Millisecond, false)}}},
			script: map[int][]result{0: {{}}}, want: "0! ok",
		},
		{
			name: "R51 a target without any credential for its model is no circuit that clears", models: []string{"a", "b"},
			set: []func(*resilience.Settings){func(s *resilience.Settings) { s.WhenAllBlocked = resilience.FailFast }},
			world: world{blocks: [][]resilience.Block{
				{block(resilience.CircuitOpen, 20*time.Second, false)}, {},
			}},
			want: "", ending: CircuitOpen, after: 20 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Params{Targets: targets(tt.models, tt.set...), Stream: tt.stream}
			for i := range p.Targets {
				if tt.provider != "" {
					p.Targets[i].Provider = tt.provider
				}
			}
			if tt.limit > 0 {
				p.Deadline = t0.Add(tt.limit)
			}
			budget := 1000
			if tt.budget < 0 {
				budget = 0
			}
			w := tt.world
			got, final := play(p, &w, tt.script, budget)
			if got != tt.want {
				t.Fatalf("moves %q, want %q", got, tt.want)
			}
			if strings.HasSuffix(got, "ok") {
				return
			}
			if final.Ending != tt.ending || final.RetryAfter != tt.after {
				t.Fatalf("ending %d after %s, want %d after %s", final.Ending, final.RetryAfter, tt.ending, tt.after)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }
