package attempt

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

const done = "data: [DONE]\n\n"

// R15, R17, R56: how a stream that has begun ends, and when.
func TestEndOfStream(t *testing.T) {
	tool := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`
	second := `{"choices":[{"index":1,"delta":{"content":"b"}}]}`
	usage := `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`
	comments := func(n int, every time.Duration) []piece {
		var out []piece
		for range n {
			out = append(out, after(every, ": ping\n\n"))
		}
		return out
	}
	tests := []struct {
		name  string
		body  []piece
		story string
		took  time.Duration
		ends  string // what the client gets last
		fails int
	}{
		{"R16 all there", []piece{event(text("a")), event(finish("0")), say(done)}, "ok", 0, done, 0},
		{"R17 no end marker", []piece{event(text("a")), event(finish("0"))}, "ok", 0, done, 0},
		{"R17 no finish reason", []piece{event(text("a")), say(done)}, "ok", 0, done, 0},
		{"R17 neither", []piece{event(text("a"))}, "cut short: cut", 0, text("a") + "\n\n", 1},
		{"R17 silent after the finish", []piece{event(text("a")), event(finish("0")), silence()}, "ok", finishGrace, done, 0},
		{
			"R17 comments alone after the finish", append([]piece{event(text("a")), event(finish("0"))}, comments(1000, time.Second)...),
			"ok", finishGrace, done, 0,
		},
		{
			"R17 usage late after the finish",
			[]piece{event(text("a")), event(finish("0")), after(4*time.Second, "data: "+usage+"\n\n"), say(done)},
			"ok", 4 * time.Second, done, 0,
		},
		{
			"R17 one choice's finish is not the other's",
			[]piece{
				event(text("a")), event(second), event(finish("0")), after(20*time.Second, "data: "+second+"\n\n"), event(finish("1")), say(done),
			},
			"ok", 20 * time.Second, done, 0,
		},
		{
			"R17 a choice that begins when the one before it has finished",
			[]piece{
				event(text("a")), event(finish("0")), after(2*time.Second, "data: "+second+"\n\n"), after(20*time.Second, "data: "+second+"\n\n"),
				event(finish("1")), say(done),
			},
			"ok", 22 * time.Second, done, 0,
		},
		{
			"R15 one choice of two unfinished",
			[]piece{event(text("a")), event(second), event(finish("0"))},
			"cut short: cut", 0,
			finish("0") + "\n\n", 1,
		},
		{"R17 [DONE] in the middle of two choices: both get a finish", []piece{event(text("a")), event(second), event(finish("0")), say(done)}, "ok", 0, done, 0},
		{"R15 silent in the middle", []piece{event(text("a")), silence()}, "cut short: cut", 30 * time.Second, text("a") + "\n\n", 1},
		{
			"R56 comments hold it open for content_idle", append([]piece{event(text("a"))}, comments(1000, 10*time.Second)...), "cut short: cut",
			5 * time.Minute, ": ping\n\n", 1,
		},
		{"R56 comments between events are life", append(append([]piece{event(text("a"))}, comments(29, 10*time.Second)...), event(finish("0")), say(done)), "ok", 290 * time.Second, done, 0},
		{"R15 cut in a frame", []piece{event(text("a")), say(`data: {"choi`), {err: io.ErrUnexpectedEOF}}, "cut short: cut", 0, text("a") + "\n\n", 1},
		{"R17 cut in a frame after the finish", []piece{event(text("a")), event(finish("0")), say(`data: {"choi`), {err: io.ErrUnexpectedEOF}}, "ok", 0, done, 0},
		{"R17 malformed event", []piece{event(text("a")), event(`{"choices":[`), event(finish("0")), say(done)}, "ok", 0, done, 0},
		{"R17 malformed event in an open tool call", []piece{event(tool), event(`{"choices":[`), event(finish("0")), say(done)}, "cut short: cut", 0, tool + "\n\n", 1},
		{"R17 blank data in an open tool call is a ping", []piece{event(tool), say("data:  \n\n"), event(finish("0")), say(done)}, "ok", 0, done, 0},
		{"R15 an error event", []piece{event(text("a")), event(`{"error":{"message":"broken","code":"server_error"}}`), event(text("b"))}, "cut short: cut", 0, text("a") + "\n\n", 1},
		{"R17 the end marker is the end, whatever follows", []piece{event(text("a")), event(finish("0")), say(done), event(text("b"))}, "ok", 0, done, 0},
		{"R17 an upstream that stays after the end marker", []piece{event(text("a")), event(finish("0")), say(done), silence()}, "ok", drainTime, done, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, &upstream{scripts: []scripted{{body: tt.body}}})
				start := time.Now()
				c := &client{}
				r := b.ask(t.Context(), c)
				if story(r) != tt.story || time.Since(start).Round(time.Millisecond) != tt.took {
					t.Errorf("%s after %s, want %s after %s", story(r), time.Since(start), tt.story, tt.took)
				}
				if got := c.got.String(); !strings.HasSuffix(got, tt.ends) || tt.story != "ok" && strings.Contains(got, done) {
					t.Errorf("the client got %q, want %q at its end", got, tt.ends)
				}
				if b.failures() != tt.fails || b.inFlight() != 0 {
					t.Errorf("%d failures, want %d; %d in flight", b.failures(), tt.fails, b.inFlight())
				}
			})
		})
	}
}

// R14, R56: how a stream ends before its content; the next target is asked.
func TestEndBeforeContent(t *testing.T) {
	role := `{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`
	tests := []struct {
		name string
		body []piece
		want fault.Class
		took time.Duration
	}{
		{"R14 nothing", nil, fault.Invalid, 0},
		{"R14 the role alone", []piece{event(role)}, fault.Invalid, 0},
		{"R14 the role and the end marker", []piece{event(role), say(done)}, fault.Invalid, 0},
		{"R14 a page", []piece{say("<html>sorry</html>")}, fault.Invalid, 0},
		{"R14 garbage", []piece{say("upstream connect error")}, fault.Invalid, 0},
		{"R14 an error event", []piece{event(role), event(`{"error":{"message":"no"}}`)}, fault.Invalid, 0},
		{"R1 reset", []piece{event(role), {err: io.ErrUnexpectedEOF}}, fault.Reset, 0},
		{"R2 silence", []piece{event(role), silence()}, fault.Timeout, time.Minute},
		{"R2 spaces that promise JSON", []piece{say("    "), silence()}, fault.Timeout, time.Minute},
		{"R14 JSON of another kind", []piece{say(`{"object":"list","data":[]}`)}, fault.Invalid, 0},
		{"R14 JSON that is cut", []piece{say(`{"choices":[{"message":`)}, fault.Invalid, 0},
		{"R1 JSON that is reset", []piece{say(`{"choices":[{"message":`), {err: io.ErrUnexpectedEOF}}, fault.Reset, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, &upstream{scripts: []scripted{{body: tt.body}}},
					&upstream{scripts: []scripted{{body: []piece{event(text("from b")), event(finish("0")), say(done)}}}})
				start, c := time.Now(), &client{}
				r := b.ask(t.Context(), c)
				if !r.OK || r.Attempts != 2 || r.Steps[0].Reason != tt.want.String() || time.Since(start).Round(time.Millisecond) != tt.took {
					t.Errorf("%s after %s, trail %+v; want %s, then an answer, after %s", story(r), time.Since(start), r.Steps, tt.want, tt.took)
				}
				if got := c.got.String(); got != "data: "+text("from b")+"\n\ndata: "+finish("0")+"\n\n"+done {
					t.Errorf("the client got %q", got)
				}
				if b.failures() != 1 {
					t.Errorf("%d failures, want 1", b.failures())
				}
			})
		})
	}
}

// R17: JSON where a stream was asked for is adapted to what the client asked: without usage unless it asked for that, which is
// known all the same. Servers that pad their JSON with spaces while they think are understood.
func TestPlainInsteadOfStream(t *testing.T) {
	const reply = `{"id":"x","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`
	for _, padding := range []string{"", "\n", "\r", strings.Repeat(" ", 300), strings.Repeat("\r\n", 100), "\ufeff"} {
		for _, can := range []bool{true, false} {
			for _, asked := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					body := []piece{after(time.Second, reply[:20]), after(time.Second, reply[20:])}
					if padding != "" {
						body = append([]piece{say(padding)}, body...)
					}
					b := newBench(t, nil, &upstream{usage: can, scripts: []scripted{{body: body}}})
					if asked {
						b.body = strings.Replace(streamed, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
					}
					c := &client{}
					r := b.ask(t.Context(), c)
					got := c.got.String()
					if !r.OK || !strings.Contains(got, `"hello"`) || !strings.HasSuffix(got, done) {
						t.Fatalf("padding %q: %s %q", padding, story(r), got)
					}
					if strings.Contains(got, `"usage"`) != asked {
						t.Errorf("asked for usage: %t, can: %t, got %q", asked, can, got)
					}
					if !r.Reply.Usage.Known || r.Reply.Usage.Output != 4 || r.Reply.Finish != "stop" {
						t.Errorf("reply %+v", r.Reply)
					}
				})
			}
		}
	}
}

// R13, guideline 14: a client that is slow to take what it gets is no fault of the upstream, whose clock stands still.
func TestSlowClientIsNotTheUpstreamsFault(t *testing.T) {
	for _, slow := range []time.Duration{45 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil, &upstream{scripts: []scripted{{body: []piece{
				event(text("a")), event(text("b")), after(20*time.Second, "data: "+text("c")+"\n\n"), event(finish("0")), say(done),
			}}}})
			c := &client{}
			c.write = func(p []byte) error {
				if strings.Contains(string(p), text("b")) {
					time.Sleep(slow)
				}
				return nil
			}
			if r := b.ask(t.Context(), c); !r.OK || b.failures() != 0 {
				t.Errorf("slow for %s: %s, %d failures", slow, story(r), b.failures())
			}
		})
		synctest.Test(t, func(t *testing.T) { // a silent upstream is still found out, by its own time
			b := newBench(t, nil, &upstream{scripts: []scripted{{body: []piece{event(text("a")), event(text("b")), silence()}}}})
			c := &client{}
			c.write = func(p []byte) error {
				if strings.Contains(string(p), text("b")) {
					time.Sleep(slow)
				}
				return nil
			}
			start := time.Now()
			if r := b.ask(t.Context(), c); story(r) != "cut short: cut" || time.Since(start).Round(time.Millisecond) != slow+30*time.Second {
				t.Errorf("slow for %s: %s after %s", slow, story(r), time.Since(start))
			}
		})
	}
}

// R54: after the commit point a stream is bounded by stream_total, from the request's start, whoever is slow.
func TestStreamTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var body []piece
		for range 100 {
			body = append(body, after(5*time.Second, "data: "+text("a")+"\n\n"))
		}
		b := newBench(t, func(_ *resilience.Settings, l *route.Timeouts) { l.StreamTotal = 42 * time.Second }, &upstream{scripts: []scripted{{body: body}}})
		start := time.Now()
		r := b.ask(t.Context(), &client{})
		if story(r) != "cut short: cut" || time.Since(start) != 42*time.Second || !strings.Contains(r.Final.Fault.Message, "stream_total") {
			t.Errorf("%s after %s: %s", story(r), time.Since(start), r.Final.Fault.Message)
		}
	})
}

// R33, guideline 17: a permit is settled whatever happens on the way, and a panic decides nothing about the provider.
func TestPanicSettlesThePermit(t *testing.T) {
	plain := `{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}`
	for name, body := range map[string][]piece{"stream": {event(text("a")), silence()}, "plain": {say(plain)}} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{scripts: []scripted{{fault: fault.Connect}, {body: body}}}
			b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) { s.Breaker.FailureThreshold = 1 }, u)
			if name == "plain" {
				b.body = strings.Replace(streamed, "true", "false", 1)
			}
			b.ask(t.Context(), &client{})
			time.Sleep(30 * time.Second) // half-open: the next one is the probe
			func() {
				defer func() {
					if recover() == nil {
						t.Fatal("no panic")
					}
				}()
				b.ask(t.Context(), &client{write: func([]byte) error { panic("sink") }})
			}()
			synctest.Wait()
			if n := b.inFlight(); n != 0 {
				t.Errorf("%s: %d in flight", name, n)
			}
			now := time.Now()
			p, block := b.legs[0].Guards.Admit(now, 0, "m", now.Add(time.Minute), false)
			if block.Blocked() {
				t.Fatalf("%s: the probe slot is lost: %+v", name, block)
			}
			p.Settle(now, resilience.Outcome{}, health.Measured{})
		})
	}
}

// R13, R52: a client that goes away during a wait ends the request at once; nobody is asked for it.
func TestClientGoneWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{scripts: []scripted{{status: 503}}}
		b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) { s.Retry.MaxRetries, s.Retry.SameTarget = 3, 0 }, u)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		r := b.ask(ctx, &client{})
		if story(r) != "client left: client_gone" || time.Since(start) != 300*time.Millisecond || len(u.asked) != 1 {
			t.Errorf("%s after %s, asked %d times", story(r), time.Since(start), len(u.asked))
		}
		if n := b.runner.waiting.Load(); n != 0 {
			t.Errorf("%d still wait", n)
		}
	})
}

// R13: a client that hangs up tells on a provider that had brought nothing for too long; not on one that had answered.
func TestClientGoneFromASilentProvider(t *testing.T) {
	tests := []struct {
		name   string
		script scripted
		leaves time.Duration
		fails  int
	}{
		{"soon", scripted{header: time.Hour}, 29 * time.Second, 0},
		{"at half of the timeout", scripted{header: time.Hour}, 30*time.Second + 1, 1},
		{"after headers", scripted{header: time.Second, body: []piece{silence()}}, 50 * time.Second, 0},
		{"in the content", scripted{body: []piece{event(text("a")), silence()}}, 20 * time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, &upstream{scripts: []scripted{tt.script}})
				ctx, cancel := context.WithTimeout(t.Context(), tt.leaves)
				defer cancel()
				if r := b.ask(ctx, &client{}); story(r) != "client left: client_gone" || b.failures() != tt.fails {
					t.Errorf("%s, %d failures, want %d", story(r), b.failures(), tt.fails)
				}
			})
		})
	}
}

// R13: a client that takes nothing more is gone, at whatever write it shows.
func TestSinkFails(t *testing.T) {
	gone := errors.New("broken pipe")
	for name, c := range map[string]*client{"at its beginning": {begin: gone}, "at a write": {write: func([]byte) error { return gone }}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil, &upstream{scripts: []scripted{{body: []piece{event(text("a")), silence()}}}}, &upstream{scripts: []scripted{{status: 500}}})
			start := time.Now()
			r := b.ask(t.Context(), c)
			if story(r) != "client left: client_gone" || r.Attempts != 1 || b.failures() != 0 || time.Since(start) != 0 {
				t.Errorf("%s: %s, %d attempts, %d failures after %s", name, story(r), r.Attempts, b.failures(), time.Since(start))
			}
		})
	}
}

// R52: at most 1,000 requests of a process wait; one more goes without its retry.
func TestThousandWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{scripts: []scripted{{status: 503}}}
		b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) { s.Retry.MaxRetries, s.Retry.SameTarget = 3, 0 }, u)
		b.runner.waiting.Store(failover.MaxWaiting)
		if r := b.ask(t.Context(), &client{}); r.Attempts != 1 || !r.Final.Retried {
			t.Errorf("%d attempts, want 1; retried %t", r.Attempts, r.Final.Retried)
		}
		b.runner.waiting.Store(failover.MaxWaiting - 1)
		if r := b.ask(t.Context(), &client{}); r.Attempts < 2 {
			t.Errorf("%d attempts with room for one to wait", r.Attempts)
		}
		if n := b.runner.waiting.Load(); n != failover.MaxWaiting-1 {
			t.Errorf("%d wait afterwards", n)
		}
	})
}

// R26: a stream that probes gives its slot back at its first content, closes the breaker after 10 s of content, and a cut after that is
// an ordinary failure; a cut before reopens it.
func TestStreamedProbe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lasts time.Duration
		state string
		fails int
	}{{"cut within 10 s", 9 * time.Second, "open", 2}, {"cut after 10 s", 11 * time.Second, "closed", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{scripts: []scripted{{fault: fault.Connect}, {body: []piece{
					event(text("a")), after(5*time.Second, "data: "+text("b")+"\n\n"), {wait: tt.lasts - 5*time.Second, err: io.ErrUnexpectedEOF},
				}}}}
				b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) { s.Breaker.FailureThreshold = 1 }, u)
				state := func() string { return b.legs[0].Guards.Snapshot(time.Now()).Guards.Breaker.State.String() }
				b.ask(t.Context(), &client{})
				time.Sleep(30 * time.Second)
				over := make(chan *Result)
				go func() { over <- b.ask(t.Context(), &client{}) }()
				time.Sleep(time.Second)
				now := time.Now()
				p, block := b.legs[0].Guards.Admit(now, 0, "m", now.Add(time.Minute), false)
				if state() != "half_open" || block.Blocked() {
					t.Fatalf("after the first content: %s, slot %+v", state(), block)
				}
				p.Settle(now, resilience.Outcome{}, health.Measured{})
				time.Sleep(9*time.Second + time.Millisecond)
				if want := map[bool]string{true: "open", false: "closed"}[tt.lasts < 10*time.Second]; state() != want {
					t.Errorf("10 s after the first content: %s, want %s", state(), want)
				}
				if r := <-over; story(r) != "cut short: cut" {
					t.Errorf("%s", story(r))
				}
				if b.failures() != tt.fails && tt.state == "open" || tt.state == "closed" && b.failures() != 1 {
					t.Errorf("%d failures, want %d", b.failures(), tt.fails)
				}
			})
		})
	}
}
