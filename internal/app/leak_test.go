package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
	"evergate/internal/testkit"
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
						t.Fatalf("a saw %+v", seen)
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
	usual := mock.Behaviour{Latency: time.Millisecond, ChunkDelay: 100 * time.Microsecond, Chunks: 10}
	c := &crowd{
		config: `
providers:
  a: {type: openai, base_url: "%s", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "%s", api_key: sk-key-of-b, models: [m2]}
models: {demo: {targets: [a/m, b/m2]}}
`,
		scripts: []mock.Script{{
			Defaults: usual,
			Rules:    []mock.Rule{{Probability: 0.05, Do: mock.Behaviour{Status: 500}}, {Probability: 0.05, Do: mock.Behaviour{Reset: mock.After(2)}}},
		}, {Defaults: usual}},
		ask: func(n int) request {
			return request{path: "/v1/chat/completions", body: fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, n%2 == 0)}
		},
	}
	c.run(t, 10_000)
}

// crowd is many clients at once.
type crowd struct {
	// config has a %s for the base URL of each script's provider.
	config  string
	scripts []mock.Script
	// ask is the n-th request.
	ask func(n int) request

	url       string
	transport *http.Transport
	app       *App
	mocks     []*mock.Provider

	cancelled, answered, failed atomic.Int64
}

// request is what one client of a crowd asks, and what it makes of a whole answer; nil: nothing.
type request struct {
	path, body string
	header     map[string]string
	check      func(status int, body string)
}

// run has total requests made, a third of which are given up, and looks at what is left then.
func (c *crowd) run(t *testing.T, total int) {
	if testing.Short() || testkit.Race { // make check runs it again without
		total /= 10
	}
	c.start(t)
	c.spread(t, 0, total/20) // pools and histograms fill
	goroutines, heap := c.rest()
	c.spread(t, total/20, total)
	goroutinesAfter, heapAfter := c.rest()
	if goroutinesAfter > goroutines+3 {
		t.Errorf("goroutines: %d before, %d after\n%s", goroutines, goroutinesAfter, stacks())
	}
	if heapAfter > heap+4<<20 {
		t.Errorf("heap: %d KiB before, %d KiB after", heap>>10, heapAfter>>10)
	}
	if n := c.app.ingress.InFlight(); n != 0 {
		t.Errorf("%d requests in flight after the last", n)
	}
	for name := range c.app.upstreams {
		if s := c.app.health.Provider(name).Snapshot(time.Now()); s.InFlight != 0 {
			t.Errorf("%s: %d permits were never settled", name, s.InFlight)
		}
	}
	for i, p := range c.mocks {
		if n := p.Counts().InFlight; n != 0 {
			t.Errorf("provider %d still serves %d requests", i, n)
		}
	}
	if c.cancelled.Load() < int64(total/10) || c.failed.Load() > 0 {
		t.Errorf("cancelled %d, failed %d: the test did not do what it is for", c.cancelled.Load(), c.failed.Load())
	}
	t.Logf("goroutines %d -> %d, heap %d -> %d KiB, cancelled %d, answered %d", goroutines, goroutinesAfter, heap>>10, heapAfter>>10,
		c.cancelled.Load(), c.answered.Load())
}

func (c *crowd) start(t *testing.T) {
	urls := []any{}
	for _, sc := range c.scripts {
		p := mock.New(sc)
		server, err := mock.Listen(t.Context(), "127.0.0.1:0", p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		c.mocks = append(c.mocks, p)
		urls = append(urls, strings.TrimSuffix(server.URL(), "/v1"))
	}
	a, err := New(Options{
		Config: parse(t, "server: {listen: \"127.0.0.1:0\"}\nresilience: {circuit_breaker: {failure_threshold: 0}}\nledger: {max_requests: 100}\n"+fmt.Sprintf(c.config, urls...)),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) }) // checked by what is left
	c.app, c.url, c.transport = a, "http://"+a.Addr().String(), &http.Transport{MaxIdleConnsPerHost: 64}
}

// spread makes the requests from one number to another, 32 at a time.
func (c *crowd) spread(t *testing.T, from, to int) {
	var wg sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	for range 32 {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= to; n = int(next.Add(1)) {
				c.one(t.Context(), n)
			}
		})
	}
	wg.Wait()
}

func (c *crowd) one(ctx context.Context, n int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if n%3 == 0 {
		time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
	}
	q := c.ask(n)
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.url+q.path, strings.NewReader(q.body))
	req.Header.Set("Content-Type", "application/json")
	for name, v := range q.header {
		req.Header.Set(name, v)
	}
	res, err := (&http.Client{Transport: c.transport}).Do(req)
	if err != nil {
		c.cancelled.Add(1)
		return
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	switch {
	case err != nil:
		c.cancelled.Add(1)
	case q.check != nil:
		c.answered.Add(1)
		q.check(res.StatusCode, string(body))
	case res.StatusCode == http.StatusOK:
		c.answered.Add(1)
	default:
		c.failed.Add(1)
	}
}

// rest is what there is when nothing is asked.
func (c *crowd) rest() (goroutines int, heap uint64) {
	c.transport.CloseIdleConnections()
	c.app.upstreamsIdle()
	for range 200 { // connections close in their own time, and copies end after their requests
		runtime.GC()
		if goroutines = runtime.NumGoroutine(); goroutines < 20 && !c.busy() {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return goroutines, m.HeapAlloc
}

// busy says whether anything is still asked of a provider.
func (c *crowd) busy() bool {
	for name := range c.app.upstreams {
		if c.app.health.Provider(name).Snapshot(time.Now()).InFlight != 0 {
			return true
		}
	}
	return slices.ContainsFunc(c.mocks, func(p *mock.Provider) bool { return p.Counts().InFlight != 0 })
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
