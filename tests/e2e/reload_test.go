package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What a large installation has.
const (
	manyProviders = 50
	manyModels    = 2000 // of all providers together, which list them when they are asked
	manyVirtual   = 200

	each = manyModels / manyProviders
)

// largeConfig is the configuration of a large installation behind one address. The model "cheapest" goes to the
// provider whose number is cheap, there is a model of the given name more than 200, and the facts of so many models are said.
func largeConfig(upstream string, cheap int, another string, facts int) string {
	var b strings.Builder
	b.WriteString("log: { level: info }\nproviders:\n")
	for p := range manyProviders {
		_, _ = fmt.Fprintf(&b, "  p%02[1]d: { type: openai-compatible, base_url: \"%[2]s/p%02[1]d/v1\", keys: [key-%[1]d-a, key-%[1]d-b], attributes: { region: r%[3]d } }\n", p, upstream, p%5)
	}
	b.WriteString("policies:\n")
	for r := range 5 {
		_, _ = fmt.Fprintf(&b, "  not-r%d: { providers: { deny: [p%02d] } }\n", r, r)
	}
	b.WriteString("models:\n")
	strategies := []string{"ordered", "weighted", "round_robin", "least_latency", "least_busy", "least_cost", "auto"}
	for v := range manyVirtual {
		_, _ = fmt.Fprintf(&b, "  v%03d: { strategy: %s, policy: not-r%d, targets: [", v, strategies[v%len(strategies)], v%5)
		for n := range 8 {
			_, _ = fmt.Fprintf(&b, "p%02[1]d/p%02[1]d-m%02[2]d, ", (v+n*7)%manyProviders, (v+n)%each)
		}
		b.WriteString("] }\n")
	}
	_, _ = fmt.Fprintf(&b, "  %s: { targets: [p00/p00-m00] }\n  cheapest: { strategy: least_cost, targets: [p00/p00-m01, p01/p01-m01] }\n", another)
	b.WriteString("catalog:\n")
	for m := range facts {
		_, _ = fmt.Fprintf(&b, "  p%02d-m%02d: { context_window: 128000, input_price: %d, output_price: %d }\n", m/each, m%each, m+1, m+1)
	}
	_, _ = fmt.Fprintf(&b, "  p%02[1]d/p%02[1]d-m01: { input_price: 0, output_price: 0 }\n", cheap)
	return b.String()
}

// TestReloadUnderLoad reloads the configuration of a large installation in every way, under clients that never stop. No
// request may fail, streams that run meanwhile come to their end, and each reload is in force once it is said to be.
func TestReloadUnderLoad(t *testing.T) {
	t.Setenv("CACHE_REFRESH_INTERVAL", "1") // seconds: the lists of models are read anew all the while, too
	many := manyUpstreams(t)
	upstream := many.URL
	began := time.Now()
	g := serve(t, largeConfig(upstream, 0, "extra", 0), "")
	ready := time.Since(began)
	eventually(t, 20*time.Second, func() error { return g.lists(manyModels + manyVirtual) })
	t.Logf("%d providers, %d models, %d virtual models: ready %v after the start, all models known after %v",
		manyProviders, manyModels, manyVirtual, ready.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	report(t, "without load", g.reloads(t, 10, 0))

	d := drive(g.url)
	load := startLoad(t, d)
	report(t, "under load", g.reloads(t, 40, 50*time.Millisecond))

	for n := range 4 { // by the admin API, with a file that changed
		g.write(t, largeConfig(upstream, n%2, fmt.Sprintf("extra-%d", n), 0))
		g.reloads(t, 1, 0)
		if provider, err := d.ask(chatFor("cheapest")); err != nil || provider != fmt.Sprintf("p%02d", n%2) {
			t.Errorf("reload %d: %q, %v answered, not the one that is cheap now", n, provider, err)
		}
		if _, err := d.ask(chatFor(fmt.Sprintf("extra-%d", n))); err != nil {
			t.Errorf("reload %d: the new model: %v", n, err)
		}
	}
	g.write(t, largeConfig(upstream, 0, "by-watching", 0)) // by the file alone
	eventually(t, 10*time.Second, func() error { return d.knows("by-watching") })
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil { // by a signal
		t.Fatal(err)
	}
	reloaded := strings.Count(g.out.String(), `"msg":"config reloaded"`)
	eventually(t, 10*time.Second, func() error {
		if n := strings.Count(g.out.String(), `"msg":"config reloaded"`); n <= reloaded {
			return fmt.Errorf("%d reloads in the log", n)
		}
		return nil
	})
	g.write(t, largeConfig(upstream, 0, "by-mistake", 0)+"modles: {}\n")
	status, _, body := post(t, g.url+"/admin/v1/reload", "")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "modles") || d.knows("by-watching") != nil || d.knows("by-mistake") == nil {
		t.Errorf("a file with a mistake: %d %s", status, body)
	}
	load.stop(t)
	if n := many.asked.Load(); n < 3*manyProviders {
		t.Errorf("%d lists of models were asked for: none was read anew", n)
	}

	g.write(t, largeConfig(upstream, 0, "extra", manyModels))
	took := g.reloads(t, 5, 0)
	t.Logf("with the facts of %d models said: %v in the middle", manyModels, took[2].Round(100*time.Microsecond))
}

// lists counts the lists of models that were asked for.
type lists struct {
	*httptest.Server
	asked atomic.Int64
}

// manyUpstreams are all providers at one address, each below a path of its own with models of its own. Streams take half a
// second.
func manyUpstreams(t *testing.T) *lists {
	t.Helper()
	l := &lists{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{provider}/v1/models", func(w http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		var ids []string
		for m := range each {
			ids = append(ids, fmt.Sprintf(`{"id":"%s-m%02d","object":"model"}`, r.PathValue("provider"), m))
		}
		reply(w, http.StatusOK, `{"object":"list","data":[`+strings.Join(ids, ",")+`]}`)
	})
	mux.HandleFunc("POST /{provider}/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), `"model":"`+r.PathValue("provider")+"-m") {
			reply(w, http.StatusNotFound, `{"error":{"message":"a model of another provider","code":"model_not_found"}}`)
			return
		}
		if !strings.Contains(string(body), `"stream":true`) {
			reply(w, http.StatusOK, answer)
			return
		}
		if stream(w, 20, 25*time.Millisecond) == nil {
			_, _ = fmt.Fprint(w, `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		}
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

func chatFor(model string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hello"}],"max_tokens":9}`, model)
}

// knows asks a model.
func (d *driver) knows(model string) error {
	_, err := d.ask(chatFor(model))
	return err
}

// lists is an error while the gateway knows fewer models.
func (g *gateway) lists(atLeast int) error {
	resp, err := http.Get(g.url + "/v1/models")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if n := strings.Count(string(text), `"object":"model"`); n < atLeast {
		return errors.Join(err, fmt.Errorf("%d models", n))
	}
	return nil
}

// reloads asks the admin API n times to reload, with pauses between, and gives how long each took, the request included.
func (g *gateway) reloads(t *testing.T, n int, pause time.Duration) []time.Duration {
	t.Helper()
	var took []time.Duration
	for range n {
		began := time.Now()
		if status, _, body := post(t, g.url+"/admin/v1/reload", ""); status != http.StatusOK {
			t.Fatalf("reload: %d %s", status, body)
		}
		took = append(took, time.Since(began))
		time.Sleep(pause)
	}
	slices.Sort(took)
	return took
}

// report says how long reloads took. 100 ms are the aim; a test machine that does other work gets five times as long.
func report(t *testing.T, when string, took []time.Duration) {
	t.Helper()
	middle := took[len(took)/2]
	t.Logf("reload %s: %v in the middle, %v at most, of %d", when, middle.Round(100*time.Microsecond), took[len(took)-1].Round(100*time.Microsecond), len(took))
	if middle > 500*time.Millisecond {
		t.Errorf("a reload %s takes %v", when, middle)
	}
}

// load are clients that send one request after another.
type load struct {
	stopping atomic.Bool
	clients  sync.WaitGroup
	plain    atomic.Int64
	streams  atomic.Int64
	mu       sync.Mutex
	slowest  time.Duration // of the plain ones
	failed   []error
}

func startLoad(t *testing.T, d *driver) *load {
	t.Helper()
	l := &load{}
	for client := range 8 {
		l.clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			for !l.stopping.Load() {
				l.once(d, random, client%2 == 0)
				time.Sleep(2 * time.Millisecond) // leaves the processor to what is measured
			}
		})
	}
	t.Cleanup(func() { l.stopping.Store(true); l.clients.Wait() })
	return l
}

// once asks some virtual or direct model.
func (l *load) once(d *driver, random *rand.Rand, streamed bool) {
	model := fmt.Sprintf("v%03d", random.IntN(manyVirtual))
	if random.IntN(3) == 0 {
		model = fmt.Sprintf("p%02[1]d/p%02[1]d-m%02[2]d", random.IntN(manyProviders), random.IntN(each))
	}
	var err error
	began := time.Now()
	if streamed {
		err = d.stream(model)
		l.streams.Add(1)
	} else {
		err = d.knows(model)
		l.plain.Add(1)
		took := time.Since(began)
		l.mu.Lock()
		l.slowest = max(l.slowest, took)
		l.mu.Unlock()
	}
	if err != nil {
		l.mu.Lock()
		l.failed = append(l.failed, fmt.Errorf("%s, streamed %v: %w", model, streamed, err))
		l.mu.Unlock()
	}
}

func (l *load) stop(t *testing.T) {
	t.Helper()
	l.stopping.Store(true)
	l.clients.Wait()
	t.Logf("%d plain requests, the slowest took %v; %d streams; %d failed", l.plain.Load(), l.slowest.Round(100*time.Microsecond), l.streams.Load(), len(l.failed))
	if len(l.failed) > 0 {
		t.Errorf("failed: %v", l.failed[:min(5, len(l.failed))])
	}
	if l.streams.Load() < 20 || l.plain.Load() < 100 {
		t.Error("there was no load")
	}
}

// stream asks a model for a stream, which must come to its proper end.
func (d *driver) stream(model string) error {
	body := strings.Replace(chatFor(model), `{"model"`, `{"stream":true,"model"`, 1)
	body = strings.Replace(body, `,"max_tokens":9`, "", 1)
	resp, err := d.client.Post(d.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var last string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() != "" {
			last = lines.Text()
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || last != "data: [DONE]" {
		return fmt.Errorf("%s, ended in %s", resp.Status, last)
	}
	return nil
}
