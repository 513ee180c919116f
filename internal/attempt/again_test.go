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
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire/anthropic"
)

// sealing refuses a signature of the request with every 400.
type sealing struct{ *upstream }

func (u sealing) Classify(status int, _ http.Header, _ []byte, code, message string) *fault.Fault {
	return &fault.Fault{Class: fault.Rejected, Status: status, Code: code, Message: message, Seal: true}
}

// R10, R56: a request that is repaired has the time of its attempt for the answer, and not what is given to a refusal's body.
func TestRepairedRequestHasItsTime(t *testing.T) {
	const asked = `{"model":"m","max_tokens":3000,"stream":%t,"messages":[{"role":"user","content":"q"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"a plan","signature":"bm90LXlvdXJz"},{"type":"text","text":"a"}]},{"role":"user","content":"hello"}]}`
	for stream, body := range map[bool][]piece{
		false: {after(20*time.Second, `{"id":"a","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)},
		true: {
			event(`{"type":"message_start","message":{"id":"a"}}`), event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hel"}}`),
			after(20*time.Second, "data: "+`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`+"\n\n"),
			event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`), event(`{"type":"message_stop"}`),
		},
	} {
		t.Run(fmt.Sprintf("stream %t", stream), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &upstream{scripts: []scripted{{status: 400, body: []piece{say("{}")}}, {body: body}}}
				b := newBench(t, nil, up)
				b.legs[0].Upstream, b.legs[0].Dialect = sealing{up}, anthropic.Messages{}
				buf := GetBuffer(len(asked))
				buf.B = fmt.Appendf(buf.B, asked, stream)
				q, err := anthropic.Messages{}.ReadRequest(buf.B)
				if err != nil {
					t.Fatal(err)
				}
				call := &Call{Dialect: anthropic.Messages{}, Request: q, Body: buf, Header: http.Header{}, Legs: b.legs, Start: time.Now()}
				defer call.Release()
				start, c := time.Now(), &client{}
				r := b.runner.Run(t.Context(), call, c)
				if !r.OK || r.Attempts != 1 || time.Since(start) != 20*time.Second || !strings.Contains(c.got.String(), "lo") {
					t.Errorf("%s after %s, %d attempts: %s", story(r), time.Since(start), r.Attempts, c.got.String())
				}
				if len(up.asked) != 2 || strings.Contains(string(up.asked[1].Body), "bm90LXlvdXJz") || b.failures() != 0 {
					t.Errorf("asked %d times, %d failures", len(up.asked), b.failures())
				}
			})
		})
	}
}

// R70: nor is the one that goes on with a stream without the beginning that its target refused.
func TestRestartHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := &upstream{scripts: []scripted{{body: []piece{event(text("one two ")), {err: context.DeadlineExceeded}}}}}
		second := &upstream{scripts: []scripted{
			{status: 400, body: []piece{say("{}")}},
			{header: 20 * time.Second, body: []piece{event(text("one two three")), event(finish("0")), say(done)}},
		}}
		b := newBench(t, nil, first, second)
		b.change = func(c *Call) { c.Resume = true }
		c := &client{}
		if r := b.ask(t.Context(), c); !r.OK || !r.Resumed || !strings.HasSuffix(c.got.String(), done) || strings.Contains(string(second.asked[1].Body), "one two") {
			t.Errorf("%s: %s", story(r), c.got.String())
		}
	})
}

// raw plays the scripts of an upstream for passthrough.
type raw struct{ *upstream }

func (raw) Reach(string) error { return nil }
func (raw) SignsBody() bool    { return false }

func (u raw) Pass(ctx context.Context, r *Raw) (*http.Response, *fault.Fault) {
	return u.Send(ctx, &Outgoing{Credential: r.Credential, Release: func() {}})
}

// R13: what an attempt before it brought is no sign of life of the one that the client left.
func TestClientLeavesASilentSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := &upstream{scripts: []scripted{{status: 503}, {header: time.Hour}}}
		b := newBench(t, func(s *resilience.Settings, _ *route.Timeouts) { s.Retry.MaxRetries = 1 }, up)
		leg := &b.legs[0]
		p := &Passage{Provider: "a", Guards: leg.Guards, Upstream: raw{up}, Settings: leg.Settings, Timeouts: leg.Target.Timeouts, Start: time.Now(), Again: true, Dialect: leg.Dialect}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		r := b.runner.Pass(ctx, p, brokenPassSink{})
		if story(r) != "client left: client_gone" || len(up.asked) != 2 || b.failures() != 2 {
			t.Errorf("%s, asked %d times, %d failures", story(r), len(up.asked), b.failures())
		}
	})
}
