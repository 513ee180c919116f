package attempt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// piece is what one read of an upstream's body brings, after a wait; err ends the body.
type piece struct {
	wait time.Duration
	data string
	err  error
}

func say(data string) piece                    { return piece{data: data} }
func after(wait time.Duration, s string) piece { return piece{wait: wait, data: s} }
func event(json string) piece                  { return say("data: " + json + "\n\n") }
func silence() piece                           { return piece{wait: 24 * time.Hour} }
func text(s string) string                     { return `{"choices":[{"index":0,"delta":{"content":"` + s + `"}}]}` }

func finish(choice string) string {
	return `{"choices":[{"index":` + choice + `,"delta":{},"finish_reason":"stop"}]}`
}

// scripted is what an upstream does with one request.
type scripted struct {
	fault  fault.Class // there is no response
	status int         // 200 if 0
	header time.Duration
	body   []piece
}

// upstream is a hand-made Upstream: it plays scripts in turn, the last one over and over.
type upstream struct {
	scripts []scripted
	asked   []Outgoing
	usage   bool
}

func (u *upstream) Send(ctx context.Context, r *Outgoing) (*http.Response, *fault.Fault) {
	defer r.Release()
	u.asked = append(u.asked, Outgoing{Dialect: r.Dialect, Model: r.Model, Translated: r.Translated, Body: bytes.Clone(r.Body), Credential: r.Credential})
	s := u.scripts[min(len(u.asked), len(u.scripts))-1]
	if err := sleep(ctx, s.header); err != nil {
		return nil, u.ReadFault(ctx, err)
	}
	if s.fault != fault.Unknown {
		return nil, &fault.Fault{Class: s.fault}
	}
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{}, ContentLength: -1, Body: &scriptedBody{ctx: ctx, rest: s.body}}, nil
}

func (u *upstream) Classify(status int, _ http.Header, _ []byte, code, message string) *fault.Fault {
	f := &fault.Fault{Class: fault.Upstream, Status: status, Code: code, Message: message}
	if status < 500 {
		f.Class = fault.Rejected
	}
	return f
}

func (u *upstream) Refine(f *fault.Fault) *fault.Fault { return f }

func (u *upstream) ReadFault(ctx context.Context, err error) *fault.Fault {
	if f := (*fault.Fault)(nil); errors.As(context.Cause(ctx), &f) {
		return f
	}
	return &fault.Fault{Class: fault.Reset, Cause: err}
}

func (u *upstream) CanStreamUsage() bool { return u.usage }

func (u *upstream) Speaks(string) []string { return []string{"chat"} }

func (u *upstream) Maker(string) llm.Vendor { return "" }

func (u *upstream) OmitsModel(string, string) bool { return false }

func (u *upstream) Quirks(string) wire.Quirks { return wire.Quirks{} }

// scriptedBody reads a script's pieces, one each read, or less where the reader has no room.
type scriptedBody struct {
	ctx  context.Context //nolint:containedctx // of the request
	rest []piece
	left string
}

func (b *scriptedBody) Read(p []byte) (int, error) {
	for b.left == "" {
		if len(b.rest) == 0 {
			return 0, io.EOF
		}
		next := b.rest[0]
		b.rest = b.rest[1:]
		if err := sleep(b.ctx, next.wait); err != nil {
			return 0, err
		}
		if next.err != nil {
			return 0, next.err
		}
		b.left = next.data
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

func (b *scriptedBody) Close() error { return nil }

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// client is a Sink that keeps what it gets.
type client struct {
	got       bytes.Buffer
	head      *Head
	answering int
	flushes   int
	begin     error
	// write is called with each write, if set.
	write func(p []byte) error
}

func (c *client) Answering() { c.answering++ }

func (c *client) Begin(h *Head) error {
	c.head = h
	return c.begin
}

func (c *client) Write(p []byte) error {
	c.got.Write(p)
	if c.write != nil {
		return c.write(p)
	}
	return nil
}

func (c *client) Flush() error {
	c.flushes++
	return nil
}

// silentJournal hears nothing.
type silentJournal struct{ journal.Nothing }

// bench is a Runner with upstreams of the names a, b, …, in this order.
type bench struct {
	t      testing.TB
	runner *Runner
	legs   []Leg
	body   string
	// change changes a call before it is run, if set; last is the one that ran last.
	change func(*Call)
	last   *Call
}

const streamed = `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`

func newBench(t testing.TB, change func(*resilience.Settings, *route.Timeouts), upstreams ...*upstream) *bench {
	b := &bench{t: t, body: streamed}
	h := health.New(silentJournal{})
	b.runner = &Runner{Health: h, Journal: silentJournal{}}
	s, limits := resilience.Defaults(), route.DefaultTimeouts()
	s.Retry.MaxRetries = 0
	if change != nil {
		change(&s, &limits)
	}
	var configs []health.Config
	for i := range upstreams {
		configs = append(configs, health.Config{Name: string(rune('a' + i)), Settings: s})
	}
	h.Apply(configs)
	for i, u := range upstreams {
		b.legs = append(b.legs, Leg{
			Dialect: openaichat.Chat{},
			Target:  route.Target{Provider: configs[i].Name, Model: "m", Timeouts: limits}, Guards: h.Provider(configs[i].Name),
			Upstream: u, Settings: &s, Label: "m",
		})
	}
	return b
}

// ask runs one request.
func (b *bench) ask(ctx context.Context, c *client) *Result {
	b.t.Helper()
	body := GetBuffer(len(b.body))
	body.B = append(body.B, b.body...)
	q, err := openaichat.Chat{}.ReadRequest(body.B)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last = &Call{Dialect: openaichat.Chat{}, Request: q, Body: body, Header: http.Header{}, Legs: b.legs, Start: time.Now()}
	defer b.last.Release()
	if b.change != nil {
		b.change(b.last)
	}
	return b.runner.Run(ctx, b.last, c)
}

// failures are a's in a row; inFlight what is out at a.
func (b *bench) failures() int   { return b.legs[0].Guards.ConsecutiveFailures() }
func (b *bench) inFlight() int64 { return b.legs[0].Guards.Snapshot(time.Now()).InFlight }

// story is how a request ended: ok, or the ending and the fault's class.
func story(r *Result) string {
	if r.OK {
		return "ok"
	}
	out := map[failover.Ending]string{
		failover.PassBack: "passed back", failover.ClientLeft: "client left", failover.CutShort: "cut short", failover.Deadline: "deadline",
		failover.AllLimited: "all limited", failover.CircuitOpen: "circuit open", failover.OneFailed: "failed", failover.AllFailed: "all failed",
	}[r.Final.Ending]
	if r.Final.Fault != nil {
		out += ": " + r.Final.Fault.Class.String()
	}
	return out
}
