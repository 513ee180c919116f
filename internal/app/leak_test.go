package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// R58: the upstream sees a cancellation within 100 ms, at whatever moment the client goes away, and no connection stays.
func TestCancellationReachesTheUpstream(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, after := range []time.Duration{10, 75, 160, 205} { // before headers, after them, in the content
			t.Run(fmt.Sprintf("stream=%t after %dms", stream, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: steady()}, "b": {Defaults: steady()}})
					if !stream && after > 150 {
						t.Skip("a plain reply is whole by then")
					}
					ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
					defer cancel()
					start := time.Now()
					_ = s.post(ctx, "/v1/chat/completions", fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream))
					synctest.Wait()
					seen := s.chats("a")
					if len(seen) != 1 || seen[0].CancelledAt.IsZero() {
						t.Fatalf("a saw %d requests, cancelled at %v", len(seen), seen[0].CancelledAt)
					}
					if late := seen[0].CancelledAt.Sub(start) - after*time.Millisecond; late > 100*time.Millisecond {
						t.Errorf("cancelled %s late", late)
					}
					if n := len(s.chats("b")); n != 0 {
						t.Errorf("b was asked %d times for nobody", n)
					}
					if c := s.counted("a"); c != "" { // R13
						t.Errorf("the client's leave counts against a:%s", c)
					}
					if got := s.facts.last(); got.Status != statusGone {
						t.Errorf("logged as %d", got.Status)
					}
				})
			})
		}
	}
}

const statusGone = 499

// chats are the requests a provider saw, without those for its models.
func (s *stack) chats(name string) []mock.Seen {
	var out []mock.Seen
	for _, r := range s.mocks[name].Requests() {
		if r.Method == http.MethodPost {
			out = append(out, r)
		}
	}
	return out
}

// 10,000 requests over real TCP, a third of them cancelled by the client at any moment, a tenth of a's answers failing: afterwards
// goroutines, connections and memory are what they were.
func TestNothingLeaks(t *testing.T) {
	total := 10_000
	if testing.Short() {
		total = 1_000
	}
	broken := mock.Behaviour{Status: 500}
	script := mock.Script{
		Defaults: mock.Behaviour{Latency: time.Millisecond, ChunkDelay: 100 * time.Microsecond, Chunks: 10},
		Rules:    []mock.Rule{{Probability: 0.05, Do: broken}, {Probability: 0.05, Do: mock.Behaviour{Reset: mock.After(2)}}},
	}
	ctx := t.Context()
	urls := []any{"127.0.0.1:0"}
	mocks := []*mock.Provider{}
	for _, sc := range []mock.Script{script, {Defaults: script.Defaults}} {
		p := mock.New(sc)
		server, err := mock.Listen(ctx, "127.0.0.1:0", p)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		mocks = append(mocks, p)
		urls = append(urls, server.URL())
	}
	facts := &counter{}
	a, err := New(Options{
		Config: parse(t, fmt.Sprintf(`
server: {listen: %q}
providers:
  a: {type: openai, base_url: %q, api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: %q, api_key: sk-key-of-b, models: [m2]}
models: {demo: {targets: [a/m, b/m2]}}
resilience: {circuit_breaker: {failure_threshold: 0}}
`, urls...)),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	defer a.Stop(context.Background()) //nolint:errcheck // checked by what is left
	url := "http://" + a.Addr().String() + "/v1/chat/completions"
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	client := &http.Client{Transport: transport}
	ask := func(n int) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if n%3 == 0 {
			time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
		}
		body := fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, n%2 == 0)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			facts.cancelled.Add(1)
			return
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			facts.cancelled.Add(1)
		}
		_ = res.Body.Close()
		facts.status(res.StatusCode)
	}
	spread := func(from, to int) {
		var wg sync.WaitGroup
		var next atomic.Int64
		next.Store(int64(from))
		for range 32 {
			wg.Go(func() {
				for n := int(next.Add(1)); n <= to; n = int(next.Add(1)) {
					ask(n)
				}
			})
		}
		wg.Wait()
	}
	rest := func() (goroutines int, heap uint64) {
		transport.CloseIdleConnections()
		a.upstreamsIdle()
		for range 200 { // connections close in their own time
			runtime.GC()
			if goroutines = runtime.NumGoroutine(); goroutines < 20 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return goroutines, m.HeapAlloc
	}
	spread(0, 500) // pools and histograms fill
	goroutines, heap := rest()
	spread(500, total)
	goroutinesAfter, heapAfter := rest()
	if goroutinesAfter > goroutines+3 {
		t.Errorf("goroutines: %d before, %d after\n%s", goroutines, goroutinesAfter, stacks())
	}
	if heapAfter > heap+4<<20 {
		t.Errorf("heap: %d KiB before, %d KiB after", heap>>10, heapAfter>>10)
	}
	if n := a.ingress.InFlight(); n != 0 {
		t.Errorf("%d requests in flight after the last", n)
	}
	for _, name := range []string{"a", "b"} {
		if s := a.health.Provider(name).Snapshot(time.Now()); s.InFlight != 0 {
			t.Errorf("%s: %d permits were never settled", name, s.InFlight)
		}
	}
	for i, p := range mocks {
		if c := p.Counts(); c.InFlight != 0 {
			t.Errorf("provider %d still serves %d requests", i, c.InFlight)
		}
	}
	if facts.cancelled.Load() < int64(total/10) || facts.failed.Load() > 0 {
		t.Errorf("cancelled %d, failed %d: the test did not do what it is for", facts.cancelled.Load(), facts.failed.Load())
	}
	t.Logf("goroutines %d -> %d, heap %d -> %d KiB, cancelled %d, answered %d", goroutines, goroutinesAfter, heap>>10, heapAfter>>10,
		facts.cancelled.Load(), facts.answered.Load())
}

type counter struct{ cancelled, answered, failed atomic.Int64 }

func (c *counter) status(code int) {
	if code == http.StatusOK {
		c.answered.Add(1)
	} else {
		c.failed.Add(1)
	}
}

// upstreamsIdle closes idle upstream connections.
func (a *App) upstreamsIdle() {
	a.reload.Lock()
	defer a.reload.Unlock()
	for _, up := range a.upstreams {
		up.client.Close()
	}
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
