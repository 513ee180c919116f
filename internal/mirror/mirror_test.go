package mirror

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
	"evergate/internal/wire/openaichat"
)

// slow is an upstream that answers after a while, or has a bug.
type slow struct {
	takes time.Duration
	bug   bool
}

func (u *slow) Send(ctx context.Context, r *attempt.Outgoing) (*http.Response, *fault.Fault) {
	r.Release()
	if u.bug {
		panic("a bug")
	}
	select {
	case <-time.After(u.takes):
	case <-ctx.Done():
		return nil, &fault.Fault{Class: fault.Reset, Cause: ctx.Err()}
	}
	const body = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}, nil
}

func (*slow) Classify(int, http.Header, []byte, string, string) *fault.Fault {
	return &fault.Fault{}
}
func (*slow) Refine(f *fault.Fault) *fault.Fault            { return f }
func (*slow) ReadFault(context.Context, error) *fault.Fault { return &fault.Fault{} }
func (*slow) CanStreamUsage() bool                          { return false }
func (*slow) Speaks(string) []string                        { return []string{"chat"} }
func (*slow) Maker(string) llm.Vendor                       { return "" }
func (*slow) OmitsModel(string, string) bool                { return false }
func (*slow) Quirks(string) wire.Quirks                     { return wire.Quirks{} }

// bench is a room for copies, with the journal of what became of them.
type bench struct {
	journal.Nothing
	copies   *Copies
	guards   *health.Health
	upstream slow
	settings resilience.Settings
	bodies   []*attempt.Buffer

	mu    sync.Mutex
	facts []journal.Mirror
}

func (b *bench) MirrorEnded(m *journal.Mirror) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts = append(b.facts, *m)
}

func (b *bench) outcomes() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var words []string
	for _, f := range b.facts {
		words = append(words, f.Outcome)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func newBench() *bench {
	b := &bench{settings: resilience.Defaults(), upstream: slow{takes: time.Second}}
	b.guards = health.New(b)
	b.guards.Apply([]health.Config{{Name: "up", Settings: b.settings}})
	b.copies = New(&attempt.Runner{Health: b.guards, Journal: b}, b)
	return b
}

// start starts a copy of a request of so many bytes.
func (b *bench) start(t *testing.T, size int) {
	t.Helper()
	const head, tail = `{"model":"m","messages":[{"role":"user","content":"`, `"}]}`
	buf := attempt.GetBuffer(size)
	buf.B = append(append(append(buf.B, head...), strings.Repeat("x", max(size-len(head)-len(tail), 0))...), tail...)
	request, err := openaichat.Chat{}.ReadRequest(buf.B)
	if err != nil {
		t.Fatal(err)
	}
	b.bodies = append(b.bodies, buf)
	buf.Retain() // to look, at the end, whether everybody else has let go
	b.copies.Start(&Copy{
		Call: attempt.Call{
			Dialect: openaichat.Chat{}, Request: request, Body: buf, Header: http.Header{}, Start: time.Now(),
			Legs: []attempt.Leg{{
				Target: route.Target{Provider: "up", Model: "m", Timeouts: route.DefaultTimeouts()}, Guards: b.guards.Provider("up"),
				Upstream: &b.upstream, Settings: &b.settings, Dialect: openaichat.Chat{}, Label: "m",
			}},
		},
		RequestID: "req_1", Route: "demo", MaxInFlight: 1000, Timeout: time.Minute,
	})
}

// letGo fails the test where a body was let go of too often, or not at all: ours is the last hold.
func (b *bench) letGo(t *testing.T) {
	t.Helper()
	for i, buf := range b.bodies {
		buf.Release()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the body of copy %d was not let go of", i)
				}
			}()
			buf.Release()
		}()
	}
}

// The bodies of all copies together are bounded, and a body is let go of whatever becomes of its copy.
func TestBytesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 4000
		b := newBench()
		b.copies.room = room
		for range 5 {
			b.start(t, room/4)
		}
		b.start(t, 100)
		if got := b.outcomes(); got != "dropped dropped" {
			t.Errorf("while four quarters are under way: %s", got)
		}
		time.Sleep(2 * time.Second)
		b.start(t, room)
		time.Sleep(2 * time.Second)
		b.start(t, room+1)
		if got := b.outcomes(); got != "dropped dropped dropped ok ok ok ok ok" {
			t.Errorf("%s", got)
		}
		b.letGo(t)
		if b.copies.held != 0 || len(b.copies.inFlight) != 0 {
			t.Errorf("%d bytes and %v are left", b.copies.held, b.copies.inFlight)
		}
	})
}

// A bug on a copy's way is told of, and ends neither the gateway nor a place.
func TestBug(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.upstream.bug = true
		b.start(t, 100)
		synctest.Wait()
		if got := b.outcomes(); got != "bug" || !strings.Contains(b.facts[0].Message, "a bug") {
			t.Errorf("%s: %q", got, b.facts[0].Message)
		}
		b.letGo(t)
		if n := b.guards.Provider("up").Snapshot(time.Now()).InFlight; n != 0 || len(b.copies.inFlight) != 0 {
			t.Errorf("%d attempts and %v copies are left", n, b.copies.inFlight)
		}
	})
}

// After a stop no copy is made, and a second stop does not wait.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.upstream.takes = time.Hour
		b.start(t, 100)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		b.copies.Stop(ctx)
		b.start(t, 100)
		b.copies.Stop(ctx)
		if got := b.outcomes(); got != "dropped stopped" || time.Since(begun) != 3*time.Second {
			t.Errorf("%s after %s", got, time.Since(begun))
		}
		b.letGo(t)
	})
}
