package attempt

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

const second = time.Second

// answers is a stream that is whole: headers after one wait, content after another.
func answers(header, content time.Duration, words string) *upstream {
	return &upstream{scripts: []scripted{{header: header, body: []piece{
		event(`{"id":"x","choices":[{"index":0,"delta":{"role":"assistant"}}]}`),
		after(content, "data: "+text(words)+"\n\n"), event(finish("0")), say("data: [DONE]\n\n"),
	}}}}
}

// says is a plain answer after a wait.
func says(header time.Duration, words string) *upstream {
	return &upstream{scripts: []scripted{{header: header, body: []piece{say(`{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + words + `"},"finish_reason":"stop"}]}`)}}}}
}

func fails(header time.Duration, status int) *upstream {
	return &upstream{scripts: []scripted{{header: header, status: status, body: []piece{say(`{}`)}}}}
}

// silent gives headers and nothing else.
func silent() *upstream { return &upstream{scripts: []scripted{{body: []piece{silence()}}}} }

// mute does not even give headers.
func mute() *upstream { return &upstream{scripts: []scripted{{header: 24 * time.Hour}}} }

// trailOf is the trail with the time at which each attempt began and how long it took.
func trailOf(r *Result) string {
	var out []string
	for _, s := range r.Steps {
		out = append(out, fmt.Sprintf("%s=%s/%d", s.Provider, s.Reason, s.Duration/time.Second))
	}
	return strings.Join(out, " ")
}

// facts is a journal that keeps the attempts.
type facts struct {
	silentJournal
	attempts chan journal.Attempt
}

func (f facts) AttemptEnded(a *journal.Attempt) { f.attempts <- *a }

// said is who spoke, by the words of the answer.
func said(c *client) string {
	var out []string
	for _, w := range []string{"from-a", "from-b", "from-c"} {
		if strings.Contains(c.got.String(), w) {
			out = append(out, w)
		}
	}
	return strings.Join(out, "+")
}

// R71: each order of outcomes of an attempt and its hedge.
func TestHedge(t *testing.T) {
	cases := []struct {
		name                string
		a, b                *upstream
		plain               bool
		leave               time.Duration // when the client goes; 0: it stays
		story, trail, words string
		took                time.Duration
		failures            [2]int
	}{
		{name: "the first answers before the time", a: answers(0, 9*second, "from-a"), b: answers(0, 0, "from-b"), story: "ok", trail: "a=ok/9", words: "from-a", took: 9 * second},
		{name: "the hedge answers first", a: answers(0, 50*second, "from-a"), b: answers(0, second, "from-b"), story: "ok", trail: "a=cancelled/11 b=ok/1", words: "from-b", took: 11 * second},
		{name: "the first answers first all the same", a: answers(0, 12*second, "from-a"), b: answers(0, 5*second, "from-b"), story: "ok", trail: "a=ok/12 b=cancelled/2", words: "from-a", took: 12 * second},
		{name: "the hedge fails, then the first answers", a: answers(0, 20*second, "from-a"), b: fails(second, 503), story: "ok", trail: "a=ok/20 b=upstream_error/1", words: "from-a", took: 20 * second, failures: [2]int{0, 1}},
		{name: "the first fails, then the hedge answers", a: fails(12*second, 503), b: answers(0, 5*second, "from-b"), story: "ok", trail: "a=upstream_error/12 b=ok/5", words: "from-b", took: 15 * second, failures: [2]int{1, 0}},
		{name: "both fail, the first first", a: fails(12*second, 503), b: fails(5*second, 500), story: "all failed: upstream_error", trail: "a=upstream_error/12 b=upstream_error/5", took: 15 * second, failures: [2]int{1, 1}},
		{name: "both fail, the hedge first", a: fails(20*second, 503), b: fails(5*second, 500), story: "all failed: upstream_error", trail: "a=upstream_error/20 b=upstream_error/5", took: 20 * second, failures: [2]int{1, 1}},
		{name: "the first is refused: the hedge is called off", a: fails(12*second, 400), b: answers(0, 5*second, "from-b"), story: "passed back: rejected", trail: "a=rejected/12 b=cancelled/2", took: 12 * second},
		{name: "the hedge is refused: the first answers", a: answers(0, 20*second, "from-a"), b: fails(second, 400), story: "ok", trail: "a=ok/20 b=rejected/1", words: "from-a", took: 20 * second},
		{name: "the hedge is refused, and the first fails", a: fails(20*second, 503), b: fails(second, 400), story: "passed back: rejected", trail: "a=upstream_error/20 b=rejected/1", took: 20 * second, failures: [2]int{1, 0}},
		{name: "the client leaves", a: silent(), b: silent(), leave: 15 * second, story: "client left: client_gone", trail: "a=client_gone/15 b=client_gone/5", took: 15 * second},
		{name: "the client leaves what is mute", a: mute(), b: silent(), leave: 15 * second, story: "client left: client_gone", trail: "a=client_gone/15 b=client_gone/5", took: 15 * second, failures: [2]int{0, 0}},
		{name: "what is mute and outrun for long is found out", a: mute(), b: answers(0, 21*second, "from-b"), story: "ok", trail: "a=cancelled/31 b=ok/21", words: "from-b", took: 31 * second, failures: [2]int{1, 0}},
		{name: "plain: the hedge answers first", plain: true, a: says(50*second, "from-a"), b: says(second, "from-b"), story: "ok", trail: "a=cancelled/11 b=ok/1", words: "from-b", took: 11 * second},
		{name: "plain: the first answers first", plain: true, a: says(12*second, "from-a"), b: says(5*second, "from-b"), story: "ok", trail: "a=ok/12 b=cancelled/2", words: "from-a", took: 12 * second},
		{name: "plain: both fail", plain: true, a: fails(12*second, 503), b: fails(5*second, 500), story: "all failed: upstream_error", trail: "a=upstream_error/12 b=upstream_error/5", took: 15 * second, failures: [2]int{1, 1}},
		{name: "a stream with JSON in its place", a: silent(), b: says(second, "from-b"), story: "ok", trail: "a=cancelled/11 b=ok/1", words: "from-b", took: 11 * second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, c.a, c.b)
				if c.plain {
					b.body = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
				}
				b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
				heard := facts{attempts: make(chan journal.Attempt, 9)}
				b.runner.Journal = heard
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.leave > 0 {
					defer time.AfterFunc(c.leave, cancel).Stop()
				}
				start, out := time.Now(), &client{}
				r := b.ask(ctx, out)
				if took := time.Since(start).Round(time.Millisecond); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				if got := story(r); got != c.story {
					t.Errorf("story %q, want %q", got, c.story)
				}
				if got := trailOf(r); got != c.trail {
					t.Errorf("trail %q, want %q", got, c.trail)
				}
				if got := said(out); got != c.words {
					t.Errorf("said %q, want %q", got, c.words)
				}
				if out.head != nil {
					if got := trailOf(&Result{Steps: out.head.Steps}); strings.Count(got, " ") != strings.Count(c.trail, " ") {
						t.Errorf("the head's trail %q", got)
					}
				}
				synctest.Wait()
				attempts := strings.Count(c.trail, "=")
				if len(heard.attempts) != attempts || r.Attempts != attempts {
					t.Errorf("%d attempts stated, %d counted, want %d", len(heard.attempts), r.Attempts, attempts)
				}
				for i, leg := range b.legs {
					if n := leg.Guards.Snapshot(time.Now()).InFlight; n != 0 {
						t.Errorf("%d in flight at %s", n, leg.Target.Provider)
					}
					if n := leg.Guards.ConsecutiveFailures(); n != c.failures[i] {
						t.Errorf("%d failures at %s, want %d", n, leg.Target.Provider, c.failures[i])
					}
				}
				if r.Upstream > c.took {
					t.Errorf("%s in upstreams of %s", r.Upstream, c.took)
				}
			})
		})
	}
}

// R71: auto starts only what serves the same model, at 10 s; it has to know a plain answer's times.
func TestHedgeWhen(t *testing.T) {
	type change = func(*bench)
	auto := route.DefaultHedge()
	measured := func(d time.Duration, stream bool) change {
		return func(b *bench) {
			for range 20 {
				p, _ := b.legs[0].Guards.Admit(time.Now(), 0, "m", time.Now().Add(time.Minute), false)
				p.Settle(time.Now(), resilience.Outcome{Success: true}, measure(d, stream))
			}
		}
	}
	cases := []struct {
		name  string
		hedge route.Hedge
		plain bool
		prep  change
		at    time.Duration // when the hedge begins; 0: never
	}{
		{"auto", auto, false, nil, 10 * second},
		{"auto, measured below", auto, false, measured(time.Second, true), 10 * second},
		{"auto, measured slow", auto, false, measured(8*time.Second, true), 16 * second},
		{"auto, another model", auto, false, func(b *bench) { b.legs[1].Target.Model = "m2" }, 0},
		{"auto, another name of the model", auto, false, func(b *bench) { b.legs[1].Target.Model, b.legs[1].Target.BaseModel = "m2", "m" }, 10 * second},
		{"auto, plain and unmeasured", auto, true, nil, 0},
		{"auto, plain and measured", auto, true, measured(3*time.Second, false), 10 * second},
		{"a duration", route.Hedge{Max: 1, After: second}, false, nil, second},
		{"a duration, plain", route.Hedge{Max: 1, After: second}, true, nil, second},
		{"a duration, another model", route.Hedge{Max: 1, After: second}, false, func(b *bench) { b.legs[1].Target.Model = "m2" }, second},
		{"p95, unmeasured", route.Hedge{Max: 1, Percentile: 95}, false, nil, 10 * second},
		{"p95, plain and unmeasured", route.Hedge{Max: 1, Percentile: 95}, true, nil, 0},
		{"p95", route.Hedge{Max: 1, Percentile: 95}, false, measured(3*time.Second, true), 3 * second},
		{"off", route.Hedge{After: second}, false, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, mute(), answers(0, second, "from-b"))
				if c.plain {
					b = newBench(t, nil, mute(), says(second, "from-b"))
					b.body = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
				}
				if c.prep != nil {
					c.prep(b)
				}
				b.change = func(call *Call) { call.Hedge = c.hedge }
				r := b.ask(t.Context(), &client{})
				at := time.Duration(0)
				for _, s := range r.Steps {
					if s.Why == "hedge" {
						at = s.Start.Sub(b.last.Start)
					}
				}
				if at < c.at || at > c.at+c.at/8 {
					t.Errorf("the hedge began at %s, want %s; %s", at, c.at, trailOf(r))
				}
			})
		})
	}
}

// R71: what must not be asked twice at a time is not hedged.
func TestNotHedged(t *testing.T) {
	cases := []struct {
		name, more string
		change     func(*Call)
	}{
		{"kept by the provider", "", func(c *Call) { c.Keep = true }},
		{"in the background", "", func(c *Call) { c.Request.Background = true }},
		{"stored", `,"store":true`, nil},
		{"one target", "", func(c *Call) { c.Legs = c.Legs[:1] }},
		{"an unreadable request", `,"tools":7`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, answers(0, 20*second, "from-a"), answers(0, 0, "from-b"))
				b.body = `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]` + c.more + `}`
				b.change = func(call *Call) {
					call.Hedge = route.Hedge{Max: 1, After: second}
					if c.change != nil {
						c.change(call)
					}
				}
				if r := b.ask(t.Context(), &client{}); trailOf(r) != "a=ok/20" {
					t.Errorf("%s", trailOf(r))
				}
			})
		})
	}
}

// R71: the budget bounds hedges.
func TestHedgeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, answers(0, 20*second, "from-a"), answers(0, 0, "from-b"))
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * time.Millisecond} }
		hedged := 0
		for range 70 {
			if r := b.ask(t.Context(), &client{}); len(r.Steps) == 2 {
				hedged++
			}
		}
		if hedged != 67 { // 60 at once; the next three took 20 s each, in which the budget came back
			t.Errorf("%d of 70 were hedged", hedged)
		}
	})
}

// R71: a hedge that fails gives its place to the next, up to max.
func TestHedgesInTurn(t *testing.T) {
	for _, c := range []struct {
		most        int
		trail, word string
	}{
		{1, "a=ok/30 b=upstream_error/1", "from-a"},
		{2, "a=cancelled/13 b=upstream_error/1 c=ok/2", "from-c"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil, answers(0, 30*second, "from-a"), fails(second, 503), answers(0, 2*second, "from-c"))
			b.change = func(call *Call) { call.Hedge = route.Hedge{Max: c.most, After: 10 * second} }
			out := &client{}
			if r := b.ask(t.Context(), out); trailOf(r) != c.trail || said(out) != c.word {
				t.Errorf("max %d: %s, by %s", c.most, trailOf(r), said(out))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // each that is silent is hedged
		b := newBench(t, nil, silent(), silent(), answers(0, 2*second, "from-c"))
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 2, After: 10 * second} }
		out := &client{}
		if r := b.ask(t.Context(), out); trailOf(r) != "a=cancelled/22 b=cancelled/12 c=ok/2" || said(out) != "from-c" {
			t.Errorf("%s, by %s", trailOf(r), said(out))
		}
	})
}

// R71: after both have failed the session goes on, and its next attempt may be hedged, too, if max allows.
func TestHedgeThenFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, fails(12*second, 503), fails(4*second, 503), answers(0, 15*second, "from-c"))
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
		out := &client{}
		if r := b.ask(t.Context(), out); trailOf(r) != "a=upstream_error/12 b=upstream_error/4 c=ok/15" || said(out) != "from-c" {
			t.Errorf("%s, by %s", trailOf(r), said(out))
		}
	})
	synctest.Test(t, func(t *testing.T) { // a failover's attempt is hedged
		b := newBench(t, nil, fails(0, 503), silent(), answers(0, second, "from-c"))
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
		out := &client{}
		if r := b.ask(t.Context(), out); trailOf(r) != "a=upstream_error/0 b=cancelled/11 c=ok/1" || said(out) != "from-c" {
			t.Errorf("%s, by %s", trailOf(r), said(out))
		}
	})
}

// R71, R23: a probe that is outrun gives its slot back; what was mute is a failed probe.
func TestHedgedProbe(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     *upstream
		takes time.Duration
		state resilience.State
	}{
		{"silent", silent(), 23 * second, resilience.HalfOpen},
		{"mute", mute(), 23 * second, resilience.Open},
		{"mute, not for long", mute(), 3 * second, resilience.HalfOpen},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) {
					s.Breaker.FailureThreshold, s.Breaker.Timeout = 1, second
				}, c.a, answers(0, c.takes, "from-b"))
				p, _ := b.legs[0].Guards.Admit(time.Now(), 0, "m", time.Now().Add(time.Minute), false)
				p.Settle(time.Now(), resilience.Outcome{Class: fault.Reset}, measure(0, true))
				time.Sleep(2 * second)
				b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
				if r := b.ask(t.Context(), &client{}); !strings.HasPrefix(trailOf(r), "a=cancelled/") || !r.OK {
					t.Fatal(trailOf(r))
				}
				if got := b.legs[0].Guards.Snapshot(time.Now()).Guards.Breaker.State; got != c.state {
					t.Errorf("the breaker is %v, want %v", got, c.state)
				}
			})
		})
	}
}

// R71: what a hedge that lost has cost is in the trail, and the time enters the measure of its target as a lower bound.
func TestHedgeCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, silent(), answers(0, second, "from-b"))
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
		p, _ := b.legs[0].Guards.Admit(time.Now(), 0, "m", time.Now().Add(time.Minute), false)
		p.Settle(time.Now(), resilience.Outcome{Success: true}, measure(time.Second, true))
		heard := facts{attempts: make(chan journal.Attempt, 9)}
		b.runner.Journal = heard
		r := b.ask(t.Context(), &client{})
		if s := &r.Steps[0]; !s.Estimated || s.Usage.Input == 0 {
			t.Errorf("it was outrun and used %+v", s.Usage)
		}
		if s := &r.Steps[1]; s.Usage.Input == 0 || s.Usage.Output == 0 {
			t.Errorf("the winner used %+v", s.Usage)
		}
		if d := b.legs[0].Guards.Snapshot(time.Now()).FirstContent; d < 5*second {
			t.Errorf("time to content %s", d)
		}
		first, then := <-heard.attempts, <-heard.attempts
		if first.Hedge || first.Outcome != "cancelled" || !then.Hedge || !then.Won {
			t.Errorf("%+v, %+v", first, then)
		}
	})
}

// A panic on a hedge's goroutine comes out on the request's own.
func TestHedgePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, silent(), answers(0, second, "from-b"))
		b.legs[1].Upstream = panicking{b.legs[1].Upstream}
		b.change = func(call *Call) { call.Hedge = route.Hedge{Max: 1, After: 10 * second} }
		defer func() {
			if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "a bug") {
				t.Errorf("recovered %v", p)
			}
			synctest.Wait()
			if n := b.legs[1].Guards.Snapshot(time.Now()).InFlight; n != 0 {
				t.Errorf("%d in flight", n)
			}
		}()
		b.ask(t.Context(), &client{})
	})
}

func measure(content time.Duration, stream bool) health.Measured {
	return health.Measured{FirstByte: content, FirstContent: content, Total: content, Stream: stream}
}

type panicking struct{ Upstream }

func (panicking) Send(context.Context, *Outgoing) (*http.Response, *fault.Fault) { panic("a bug") }
