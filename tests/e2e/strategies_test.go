package e2e

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// strategyConfig has a virtual model for each strategy. %[1]s is a quick upstream, %[2]s and %[3]s are paced ones.
const strategyConfig = `
log: { level: warn }
providers:
  a: { type: openai-compatible, base_url: "%[1]s/v1", api_key: unused, models: [m] }
  b: { type: openai-compatible, base_url: "%[1]s/v1", api_key: unused, models: [m] }
  c: { type: openai-compatible, base_url: "%[1]s/v1", api_key: unused, models: [m] }
  dead: { type: openai-compatible, base_url: "http://127.0.0.1:9/v1", api_key: unused, models: [m] }
  one: { type: openai-compatible, base_url: "%[2]s/v1", api_key: unused, models: [m] }
  two: { type: openai-compatible, base_url: "%[3]s/v1", api_key: unused, models: [m] }
models:
  weighted: { strategy: weighted, targets: [{ target: a/m, weight: 5 }, { target: b/m, weight: 3 }, { target: c/m, weight: 2 }] }
  turns: { strategy: round_robin, targets: [a/m, b/m, c/m] }
  turns-dead: { strategy: round_robin, targets: [a/m, dead/m, b/m, c/m] }
  quick: { strategy: least_latency, targets: [one/m, two/m] }
  idle: { strategy: least_busy, targets: [one/m, two/m] }
  cheap: { strategy: least_cost, targets: [dead/m, a/m, b/m, c/m] }
  best: { strategy: auto, targets: [one/m, two/m] }
catalog:
  a/m: { input_price: 0.1, output_price: 50 } # for those who read much
  b/m: { input_price: 5, output_price: 1 }    # for those who write much
  c/m: { input_price: 60, output_price: 60 }
  one/m: { input_price: 1, output_price: 1 }
  two/m: { input_price: 1, output_price: 1 }
resilience:
  circuit_breaker: { timeout: 1h }
`

// TestStrategies counts where the requests of each strategy go. Where a draw decides, the bounds are five and more standard
// deviations away from what must come: one run in a million fails by chance.
func TestStrategies(t *testing.T) {
	one, two := pace(t), pace(t)
	g := serve(t, fmt.Sprintf(strategyConfig, startMock(t, "{}"), one.URL, two.URL), "")
	d := drive(g.url)
	t.Run("weighted", func(t *testing.T) { weightedShares(t, d) })
	t.Run("round_robin", func(t *testing.T) { takesTurns(t, d) })
	t.Run("least_cost", func(t *testing.T) { leastCost(t, d) })
	t.Run("least_latency", func(t *testing.T) { followsLatency(t, d, one, two) })
	t.Run("least_busy", func(t *testing.T) { evadesTheBusy(t, d, one, two) })
	t.Run("auto", func(t *testing.T) { scoresAll(t, d, one, two) })
}

func weightedShares(t *testing.T, d *driver) {
	const n = 10_000
	count := d.send(t, "weighted", n, 16).count()
	for provider, want := range map[string]float64{"a": 0.5, "b": 0.3, "c": 0.2} {
		got, deviation := float64(count[provider])/n, math.Sqrt(want*(1-want)/n)
		t.Logf("%s: %.2f %% of %d (%.0f %% by weight, %+.1f standard deviations)", provider, 100*got, n, 100*want, (got-want)/deviation)
		if math.Abs(got-want) > 5.5*deviation {
			t.Errorf("%s got %.2f %%, want %.0f", provider, 100*got, 100*want)
		}
	}
}

func takesTurns(t *testing.T, d *driver) {
	order := d.send(t, "turns", 30, 1)
	for i := 3; i < len(order); i++ {
		if order[i] != order[i-3] || order[i] == order[i-1] {
			t.Fatalf("not in turn: %v", order)
		}
	}
	const each = 1000
	for provider, n := range d.send(t, "turns", 3*each, 16).count() {
		if n != each {
			t.Errorf("%s had %d turns of %d, want %d", provider, n, 3*each, each)
		}
	}
	d.send(t, "turns-dead", 20, 1) // opens the breaker of the one that is not there
	count := d.send(t, "turns-dead", 3*each, 16).count()
	t.Logf("with one that is blocked: %v", count)
	for _, provider := range []string{"a", "b", "c"} { // each has a third of the turns of the one that is blocked
		if n := count[provider]; n < each-30 || n > each+30 {
			t.Errorf("%s had %d turns of %d with one blocked, want %d", provider, n, 3*each, each)
		}
	}
}

// leastCost asks much and little: which is cheaper depends on the request.
func leastCost(t *testing.T, d *driver) {
	cases := []struct{ name, prompt, want string }{
		{"a long prompt", strings.Repeat("word ", 2000), "a"},
		{"a short one", "word", "b"},
	}
	for _, c := range cases {
		body := fmt.Sprintf(`{"model":"cheap","messages":[{"role":"user","content":%q}],"max_tokens":9}`, c.prompt)
		for i := range 20 {
			provider, err := d.ask(body)
			if err != nil || provider != c.want {
				t.Fatalf("%s, request %d: answered by %q, %v, want %s", c.name, i, provider, err, c.want)
			}
		}
	}
}

// followsLatency has the requests go to the quicker of two, which are then swapped. A third of the time decides by 27 to 1,
// and every tenth request draws from both: 92 % are right.
func followsLatency(t *testing.T, d *driver, one, two *paced) {
	const learn, n = 50, 200
	for _, c := range []struct {
		quick    string
		one, two time.Duration
	}{{"one", 20 * time.Millisecond, 60 * time.Millisecond}, {"two", 60 * time.Millisecond, 20 * time.Millisecond}} {
		one.wait(c.one)
		two.wait(c.two)
		order := d.send(t, "quick", learn+n, 4)
		count := order[learn:].count()
		t.Logf("%s is quick: had %d of the first %d, %d of the next %d; first run of five after %d requests",
			c.quick, order[:learn].count()[c.quick], learn, count[c.quick], n, order.settled(c.quick))
		if share := float64(count[c.quick]) / n; share < 0.75 {
			t.Errorf("%s is quick, and had %.0f %% of the requests", c.quick, 100*share)
		}
		if count[c.quick] == n {
			t.Error("the other one was never asked: nobody would find out that it has become quicker")
		}
	}
}

// evadesTheBusy has one of two take a hundred times longer. With 16 clients, as many wait at each: it gets one request in a
// hundred.
func evadesTheBusy(t *testing.T, d *driver, one, two *paced) {
	one.wait(300 * time.Millisecond)
	two.wait(3 * time.Millisecond)
	const n = 2000
	count := d.send(t, "idle", n, 16).count()
	t.Logf("the busy one had %d of %d", count["one"], n)
	if count["one"] > n/20 || count["one"] == 0 {
		t.Errorf("the busy one had %d of %d requests", count["one"], n)
	}
}

// scoresAll has two that differ in latency alone, which is three of ten parts of the score: 1 for the quick one, 0.8 for
// the other, or 6 to 1 by the eighth power; a little less, since the quick one has more requests in flight.
func scoresAll(t *testing.T, d *driver, one, two *paced) {
	one.wait(30 * time.Millisecond)
	two.wait(10 * time.Millisecond)
	const learn, n = 50, 300
	count := d.send(t, "best", learn+n, 4)[learn:].count()
	t.Logf("the quick one had %d of %d", count["two"], n)
	if share := float64(count["two"]) / n; share < 0.65 || share > 0.98 {
		t.Errorf("the quick one had %.0f %% of the requests, want about 80", 100*share)
	}
}

// paced is an upstream that takes its time.
type paced struct {
	*httptest.Server
	time atomic.Int64
}

func (p *paced) wait(d time.Duration) { p.time.Store(int64(d)) }

func pace(t *testing.T) *paced {
	t.Helper()
	p := &paced{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(time.Duration(p.time.Load()))
		reply(w, http.StatusOK, answer)
	}))
	t.Cleanup(p.Close)
	return p
}

const answer = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`

// driver sends chat requests, as many at a time as are asked for, and notes who answers.
type driver struct {
	url    string
	client http.Client
}

// drive makes one that keeps its connections.
func drive(url string) *driver {
	return &driver{url: url, client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// answers are the providers that answered, in the order in which the requests began.
type answers []string

func (a answers) count() map[string]int {
	n := map[string]int{}
	for _, provider := range a {
		n[provider]++
	}
	return n
}

// settled is how many requests there were before the first five in a row at one provider.
func (a answers) settled(at string) int {
	run := 0
	for i, provider := range a {
		if run++; provider != at {
			run = 0
		}
		if run == 5 {
			return i - 4
		}
	}
	return len(a)
}

// send asks a model n times with so many clients. Each request must be answered.
func (d *driver) send(t *testing.T, model string, n, clients int) answers {
	t.Helper()
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}]}`, model)
	out := make(answers, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return
				}
				provider, err := d.ask(body)
				if err != nil {
					t.Errorf("request %d for %s: %v", i, model, err)
					return
				}
				out[i] = provider
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
}

// ask sends one request and says who answered it.
func (d *driver) ask(body string) (provider string, err error) {
	resp, err := d.client.Post(d.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return resp.Header.Get("X-Evergate-Provider"), err
}
