package attempt

import (
	"crypto/sha256"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

const (
	unstreamed = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
	hello      = `{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`
)

// R14, R17, R56: plain replies in all their forms; b answers where a does not.
func TestPlainReply(t *testing.T) {
	tests := []struct {
		name   string
		script scripted
		want   string // a's own bytes, or empty: b's answer
		reason string
		took   time.Duration
	}{
		{"R16 an answer in two reads", scripted{body: []piece{say(hello[:9]), after(time.Second, hello[9:])}}, hello, "ok", time.Second},
		{"R14 a byte order mark is no reason", scripted{body: []piece{say("\ufeff" + hello)}}, hello, "ok", 0},
		{"R14 padding while it thinks", scripted{body: []piece{say("\n\n"), after(20*time.Second, hello)}}, "\n\n" + hello, "ok", 20 * time.Second},
		{"R14 empty", scripted{}, "", "invalid_answer", 0},
		{"R14 a page", scripted{body: []piece{say("<!DOCTYPE html>")}}, "", "invalid_answer", 0},
		{"R14 no choices", scripted{body: []piece{say(`{"choices":[]}`)}}, "", "invalid_answer", 0},
		{"R14 broken", scripted{body: []piece{say(hello[:40])}}, "", "invalid_answer", 0},
		{"R14 a redirect", scripted{status: 302}, "", "rejected", 0}, // by the hand-made upstream; a real one says invalid_answer
		{"R1 cut", scripted{body: []piece{say(hello[:40]), {err: io.ErrUnexpectedEOF}}}, "", "reset", 0},
		{"R2 not whole within its time", scripted{body: []piece{say(hello[:40]), after(50*time.Second, " "), silence()}}, "", "timeout", time.Minute},
		{"R3 an error whose body does not end", scripted{status: 503, body: []piece{say("{"), silence()}}, "", "upstream_error", errorBodyTimeout},
		{"R17 a stream in its place", scripted{body: []piece{event(text("hello")), event(finish("0")), say(done)}}, `"content":"hello"`, "ok", 0},
		{"R14 half a stream in its place", scripted{body: []piece{event(text("hello"))}}, "", "invalid_answer", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, &upstream{scripts: []scripted{tt.script}}, &upstream{scripts: []scripted{{body: []piece{say(hello)}}}})
				b.body = unstreamed
				start, c := time.Now(), &client{}
				r := b.ask(t.Context(), c)
				if tt.reason == "rejected" {
					if story(r) != "passed back: rejected" {
						t.Errorf("%s", story(r))
					}
					return
				}
				if !r.OK || r.Steps[0].Reason != tt.reason || time.Since(start) != tt.took {
					t.Fatalf("%s, a: %s, after %s; want %s after %s", story(r), r.Steps[0].Reason, time.Since(start), tt.reason, tt.took)
				}
				got := c.got.String()
				if want := tt.want; want == "" && got != hello || !strings.Contains(got, want) || c.head.Length != len(got) || c.head.Stream {
					t.Errorf("the client got %q under %+v", got, c.head)
				}
			})
		})
	}
}

// huge is a reply of so many MiB, in reads of one.
func huge(begin string, mib int, end ...piece) []piece {
	out := []piece{say(begin)}
	for range mib {
		out = append(out, say(strings.Repeat("x", 1<<20)))
	}
	return append(out, end...)
}

// CONTRACT §3: what is larger than 16 MiB is passed through once it looks like an answer; from there on nothing is tried elsewhere.
func TestReplyTooLargeToHold(t *testing.T) {
	ask := func(t *testing.T, body []piece, c *client) (*Result, *bench) {
		b := newBench(t, nil, &upstream{scripts: []scripted{{body: body}}}, &upstream{scripts: []scripted{{body: []piece{say(hello)}}}})
		b.body = unstreamed
		return b.ask(t.Context(), c), b
	}
	synctest.Test(t, func(t *testing.T) {
		body := huge(`{"choices":[{"message":{"content":"`, 18, say(`"}}]}`))
		all := sha256.New()
		for _, p := range body {
			_, _ = io.WriteString(all, p.data)
		}
		c := &client{}
		r, _ := ask(t, body, c)
		if !r.OK || sha256.Sum256(c.got.Bytes()) != [32]byte(all.Sum(nil)) || c.head.Length != -1 {
			t.Errorf("%s, %d bytes", story(r), c.got.Len())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, b := ask(t, huge(`{"choices":[{"message":{"content":"`, 18, piece{err: io.ErrUnexpectedEOF}), &client{})
		if story(r) != "cut short: cut" || !r.Committed || b.failures() != 1 {
			t.Errorf("R15 cut: %s, %d failures", story(r), b.failures())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, _ := ask(t, huge("<html>", 18), &client{})
		if !r.OK || r.Attempts != 2 || r.Steps[0].Reason != fault.Invalid.String() {
			t.Errorf("R14 a page of 18 MiB: %s, %+v", story(r), r.Steps)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		slow := &client{}
		slow.write = func([]byte) error {
			time.Sleep(40 * time.Second)
			return nil
		}
		r, b := ask(t, huge(`{"choices":[{"message":{"content":"`, 18, after(time.Second, `"}}]}`)), slow)
		if !r.OK || b.failures() != 0 {
			t.Errorf("R13 a client that is slow to take it: %s, %d failures", story(r), b.failures())
		}
	})
}

// R54: an attempt gets the time that is left, and half of it while an untried candidate remains.
func TestLimitsAreCutToTheTimeLeft(t *testing.T) {
	for _, stream := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			hang := func() *upstream { return &upstream{scripts: []scripted{{header: time.Hour}}} }
			b := newBench(t, func(_ *resilience.Settings, l *route.Timeouts) {
				l.Total, l.FirstChunk, l.Attempt = 16*time.Second, 0, 0
			}, hang(), hang(), hang())
			if !stream {
				b.body = unstreamed
			}
			start := time.Now()
			r := b.ask(t.Context(), &client{})
			if story(r) != "deadline: timeout" || time.Since(start) != 16*time.Second {
				t.Errorf("%s after %s", story(r), time.Since(start))
			}
			for i, want := range []time.Duration{8 * time.Second, 4 * time.Second, 4 * time.Second} {
				if d := r.Steps[i].Duration; d != want {
					t.Errorf("attempt %d had %s, want %s", i, d, want)
				}
			}
		})
	}
}
