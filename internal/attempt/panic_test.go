package attempt

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/quota"
	"evergate/internal/quota/meters"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// broken is an upstream, a sink, a journal and a dialect with a bug in one method, if it has the name of that; the first few calls
// of it go well.
type broken struct {
	upstream
	in   string
	well int
}

func (b *broken) at(method string) {
	if b.in != method {
		return
	}
	if b.well--; b.well < 0 {
		panic("a bug in " + method)
	}
}

func (b *broken) Send(ctx context.Context, r *Outgoing) (*http.Response, *fault.Fault) {
	defer b.at("Send")
	return b.upstream.Send(ctx, r)
}

func (b *broken) Classify(status int, h http.Header, body []byte, code, message string) *fault.Fault {
	b.at("Classify")
	return b.upstream.Classify(status, h, body, code, message)
}

func (b *broken) Pass(_ context.Context, r *Raw) (*http.Response, *fault.Fault) {
	if r.Release != nil {
		r.Release()
	}
	b.at("Pass")
	s := b.scripts[0]
	resp := &http.Response{StatusCode: cmp.Or(s.status, 200), Header: http.Header{}, Body: io.NopCloser(strings.NewReader("hello"))}
	if s.status == http.StatusSwitchingProtocols {
		a, _ := net.Pipe()
		resp.Body = a
	}
	return resp, nil
}

func (*broken) Reach(string) error { return nil }
func (*broken) SignsBody() bool    { return false }

type brokenSink struct{ *broken }

func (s brokenSink) Answering()                           { s.at("Answering") }
func (s brokenSink) Begin(*Head) error                    { s.at("Begin"); return nil }
func (s brokenSink) Write([]byte) error                   { s.at("Write"); return nil }
func (s brokenSink) Flush() error                         { s.at("Flush"); return nil }
func (s brokenSink) Switch(*PassHead, io.ReadWriteCloser) { s.at("Switch") }

type brokenPassSink struct{ brokenSink }

func (s brokenPassSink) Begin(*PassHead) error { s.at("Begin"); return nil }

type brokenJournal struct {
	silentJournal
	*broken
}

func (j brokenJournal) AttemptEnded(*journal.Attempt) { j.at("AttemptEnded") }

type brokenDialect struct {
	openaichat.Chat
	*broken
}

func (d brokenDialect) ReadError(body []byte) (code, message string) {
	d.at("ReadError")
	return d.Chat.ReadError(body)
}

func (d brokenDialect) Judge(body []byte) (wire.Reply, *fault.Fault) {
	d.at("Judge")
	return d.Chat.Judge(body)
}

func (d brokenDialect) JudgeEvent(data []byte, p *wire.Progress) wire.Event {
	d.at("JudgeEvent")
	return d.Chat.JudgeEvent(data, p)
}

func (d brokenDialect) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	d.at("AppendRequest")
	return d.Chat.AppendRequest(dst, r, w)
}

// panics runs what is to panic.
func panics(t *testing.T, run func()) {
	t.Helper()
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "a bug in") {
			t.Errorf("recovered %v", p)
		}
	}()
	run()
}

// oneAtATime is a limit of one request in flight.
func oneAtATime() *meters.Gate {
	return &meters.Gate{Table: meters.New(meters.Options{}), Bound: meters.Bound{Kind: meters.Provider, Name: "a", Limits: quota.Limits{Concurrent: 1}}}
}

// nothingLeft says that nobody has a permit any more, none was settled twice, and the provider's probe slot is free.
func nothingLeft(t *testing.T, legs []Leg) {
	t.Helper()
	time.Sleep(time.Minute)
	synctest.Wait()
	now := time.Now()
	for i := range legs {
		g := legs[i].Guards
		if s := g.Snapshot(now); s.InFlight != 0 || s.SettledTwice != 0 || s.Guards.Breaker.FailuresTotal != 0 {
			t.Errorf("%s: %d in flight, %d settled twice, %d failures", s.Name, s.InFlight, s.SettledTwice, s.Guards.Breaker.FailuresTotal)
		}
		if l := legs[i].Limit; l != nil && l.Full(now) != nil {
			t.Error("the provider's limit is still held")
		}
		p, block := g.Admit(now, 0, "m", now.Add(time.Minute), false)
		if block.Blocked() {
			t.Fatalf("it is blocked: %+v", block)
		}
		p.Settle(now, resilience.Outcome{}, health.Measured{})
	}
}

// R33, guideline 17: a permit is settled exactly once, as nobody's fault, wherever on the way there is a bug.
func TestPanicsAnywhere(t *testing.T) {
	plain := []piece{say(`{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}`)}
	stream := []piece{event(text("a")), event(finish("0")), say("data: [DONE]\n\n")}
	for _, tt := range []struct {
		in     string
		stream bool
		s      scripted
	}{
		{"AppendRequest", false, scripted{body: plain}},
		{"Send", false, scripted{body: plain}},
		{"Send", true, scripted{body: stream}},
		{"Classify", false, scripted{status: 400}},
		{"ReadError", false, scripted{status: 503}},
		{"Judge", false, scripted{body: plain}},
		{"JudgeEvent", true, scripted{body: stream}},
		{"Answering", true, scripted{body: stream}},
		{"Begin", false, scripted{body: plain}},
		{"Begin", true, scripted{body: stream}},
		{"Write", false, scripted{body: plain}},
		{"Write", true, scripted{body: stream}},
		{"Flush", true, scripted{body: stream}},
		{"AttemptEnded", false, scripted{body: plain}},
	} {
		t.Run(fmt.Sprintf("%s, stream %t", tt.in, tt.stream), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, bug := newBench(t, nil, &upstream{}), &broken{in: tt.in}
				bug.scripts = []scripted{tt.s}
				b.legs[0].Upstream = bug
				b.legs[0].Limit = oneAtATime()
				b.runner.Journal = brokenJournal{broken: bug}
				panics(t, func() { b.asked(t.Context(), brokenDialect{broken: bug}, tt.stream, brokenSink{bug}) })
				nothingLeft(t, b.legs)
			})
		})
	}
}

// asked runs one request in a dialect.
func (b *bench) asked(ctx context.Context, d wire.Dialect, stream bool, sink Sink) {
	body := GetBuffer(len(b.body))
	body.B = append(body.B, strings.Replace(streamed, "true", fmt.Sprint(stream), 1)...)
	q, err := d.ReadRequest(body.B)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range b.legs {
		b.legs[i].Dialect = d
	}
	c := &Call{Dialect: d, Request: q, Body: body, Header: http.Header{}, Legs: b.legs, Start: time.Now()}
	defer c.Release()
	if b.change != nil {
		b.change(c)
	}
	b.runner.Run(ctx, c, sink)
}

// The same for a passage.
func TestPanicsInAPassage(t *testing.T) {
	for in, status := range map[string]int{"Pass": 200, "Classify": 500, "Begin": 200, "Write": 200, "Flush": 200, "AttemptEnded": 200, "Switch": 101} {
		t.Run(in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, bug := newBench(t, nil, &upstream{}), &broken{in: in}
				bug.scripts = []scripted{{status: status}}
				b.runner.Journal = brokenJournal{broken: bug}
				leg := &b.legs[0]
				leg.Limit = oneAtATime()
				p := &Passage{Provider: "a", Guards: leg.Guards, Limit: leg.Limit, Upstream: bug, Settings: leg.Settings, Timeouts: leg.Target.Timeouts, Start: time.Now()}
				panics(t, func() { b.runner.Pass(t.Context(), p, brokenPassSink{brokenSink{bug}}) })
				nothingLeft(t, b.legs)
			})
		})
	}
}

// The same for a thing that a provider keeps.
func TestPanicsInAFetch(t *testing.T) {
	for in, status := range map[string]int{"Send": 200, "Classify": 500, "ReadError": 404} {
		t.Run(in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, bug := newBench(t, nil, &upstream{}), &broken{in: in}
				bug.scripts = []scripted{{status: status}}
				b.legs[0].Upstream, b.legs[0].Dialect = bug, brokenDialect{broken: bug}
				panics(t, func() {
					_, _ = b.runner.Fetch(t.Context(), "req", &b.legs[0], &Outgoing{Method: http.MethodGet, Header: http.Header{}, Release: func() {}})
				})
				nothingLeft(t, b.legs)
			})
		})
	}
}

// The same for hedges: one that panics while it is made ready, and one that has the answer when the request's goroutine is gone, or
// comes by it thereafter.
func TestPanicsBesideHedges(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		well     int
		hedges   []*upstream
	}{
		{"a request that cannot be written", "AppendRequest", 1, []*upstream{answers(0, second, "from-b")}},
		{"an attempt that ends in one, beside a hedge under way", "Send", 0, []*upstream{answers(0, 30*second, "from-b")}},
		{"an attempt that ends in one, beside a hedge that waits", "AttemptEnded", 0, []*upstream{answers(0, second, "from-b")}},
		{"a hedge that ends in one, beside a hedge that waits", "hedge", 0, []*upstream{mute(), answers(0, second, "from-c")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := answers(20*second, 0, "from-a")
				b, bug := newBench(t, nil, append([]*upstream{first}, tt.hedges...)...), &broken{in: tt.in, well: tt.well}
				bug.upstream = *first
				b.legs[0].Upstream = bug
				b.runner.Journal = brokenJournal{broken: bug}
				if tt.in == "hedge" {
					b.legs[1].Upstream = late{b.legs[1].Upstream}
				}
				b.change = func(call *Call) { call.Hedge = route.Hedge{Max: len(tt.hedges), After: 10 * second} }
				ctx, cancel := context.WithCancel(t.Context())
				panics(t, func() { b.asked(ctx, brokenDialect{broken: bug}, true, brokenSink{bug}) })
				time.AfterFunc(40*time.Second, cancel) // net/http's comes at once
				nothingLeft(t, b.legs)
			})
		})
	}
}

// late panics when it is cancelled.
type late struct{ Upstream }

func (l late) Send(ctx context.Context, r *Outgoing) (*http.Response, *fault.Fault) {
	<-ctx.Done()
	r.Release()
	panic("a bug in Send")
}
