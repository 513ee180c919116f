package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/config"
	"evergate/internal/journal"
	"evergate/internal/mock"
	"evergate/internal/telemetry/traces"
	"evergate/internal/testkit"
)

// stack is a whole gateway on an in-memory network, with simulated providers a, b, … behind it; made for synctest bubbles.
type stack struct {
	t      testing.TB
	net    *testkit.Net
	mocks  map[string]*mock.Provider
	app    *App
	client *http.Client
	facts  *recorder
	open   StateOpener // of its state; nil: it has none to share
	// next and nextErr are what a reload reads.
	next    *config.Config
	nextErr error
	traces  *traces.Settings // set before the start: requests are traced
}

// recorder keeps the facts of the journal.
type recorder struct {
	journal.Nothing
	mu       sync.Mutex
	requests []journal.Request
	attempts []journal.Attempt
	guards   []journal.Guard
	orders   []journal.Order
	probes   []journal.Probe
	mirrors  []journal.Mirror
	changed  []journal.Change
	bug      int // every so many-th attempt panics; 0: none does
}

func (r *recorder) RequestEnded(f *journal.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, *f)
}

func (r *recorder) AttemptEnded(f *journal.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = append(r.attempts, *f)
	if r.bug > 0 && len(r.attempts)%r.bug == 0 {
		panic("a bug of a test")
	}
}

func (r *recorder) GuardChanged(f *journal.Guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guards = append(r.guards, *f)
}

func (r *recorder) BreakerOperated(o *journal.Order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orders = append(r.orders, *o)
}

func (r *recorder) ProbeEnded(p *journal.Probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes = append(r.probes, *p)
}

func (r *recorder) MirrorEnded(m *journal.Mirror) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mirrors = append(r.mirrors, *m)
}

func (r *recorder) Changed(c *journal.Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, *c)
}

// last gives the last request's fact.
func (r *recorder) last() journal.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.requests) == 0 {
		return journal.Request{}
	}
	return r.requests[len(r.requests)-1]
}

// twoProviders is the configuration most tests use: m is a/m, then b/m.
const twoProviders = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
models:
  demo: {strategy: ordered, targets: [a/m, b/m2]}
`

// newStack starts a gateway with the configuration and a provider for each script; stopped when the test ends.
func newStack(t testing.TB, text string, scripts map[string]mock.Script) *stack {
	t.Helper()
	return newStackWith(t, parse(t, text), scripts, slog.New(slog.DiscardHandler))
}

// newStackWith is newStack with what else it takes: a log, and what must be there before the gateway starts.
func newStackWith(t testing.TB, cfg *config.Config, scripts map[string]mock.Script, log *slog.Logger, before ...func(*stack)) *stack {
	t.Helper()
	s := &stack{t: t, net: testkit.NewNet(), mocks: map[string]*mock.Provider{}, facts: &recorder{}}
	for name, script := range scripts {
		script.Name = name
		p := mock.New(script)
		s.mocks[name] = p
		s.net.Serve(t, name+":80", p)
	}
	for _, f := range before {
		f(s)
	}
	a, err := New(Options{
		Config: cfg, Logger: log, Sinks: []journal.Sink{s.facts}, Dial: s.net.DialContext, OpenState: s.open, Version: "test", Traces: s.traces,
		Load:   func() (*config.Config, error) { return s.next, s.nextErr },
		Listen: func(_, addr string) (net.Listener, error) { return s.net.Listen(addr), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	s.app, s.client = a, s.net.Client(t)
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = a.Stop(ctx)
	})
	return s
}

func parse(t testing.TB, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// answer is what a client got.
type answer struct {
	status  int
	header  http.Header
	body    string // plain
	text    string // what the model said
	finish  string
	done    bool   // [DONE] came
	errCode string // code of an error object, in the body or in the stream
	usage   bool
	broken  error // the connection broke
	took    time.Duration
	first   time.Duration // to the first content
}

// ask sends a chat request and reads the answer to its end.
func (s *stack) ask(model string, stream bool, more ...string) answer {
	s.t.Helper()
	return s.post(context.Background(), "/v1/chat/completions", fmt.Sprintf(
		`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]%s}`, model, stream, strings.Join(more, "")))
}

func (s *stack) post(ctx context.Context, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	start := time.Now()
	res, err := s.client.Do(req)
	if err != nil {
		return answer{broken: err, took: time.Since(start)}
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.readStream(res.Body, start)
	} else {
		b, err := io.ReadAll(res.Body)
		a.body, a.broken = string(b), err
		a.readChunk(b, start)
	}
	a.took = time.Since(start)
	return a
}

func (a *answer) readStream(r io.Reader, start time.Time) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case data == "[DONE]":
			a.done = true
		default:
			a.readChunk([]byte(data), start)
		}
	}
	a.broken = lines.Err()
}

func (a *answer) readChunk(b []byte, start time.Time) {
	var c struct {
		Choices []struct {
			Delta, Message struct{ Content string }
			FinishReason   string `json:"finish_reason"`
		}
		Usage *struct{}
		Error *struct{ Code, Type string }
	}
	if json.Unmarshal(b, &c) != nil {
		return
	}
	if c.Error != nil {
		a.errCode = c.Error.Code
		if a.errCode == "" {
			a.errCode = c.Error.Type
		}
	}
	a.usage = a.usage || c.Usage != nil
	for _, ch := range c.Choices {
		a.text += ch.Delta.Content + ch.Message.Content
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
		}
		if a.first == 0 && a.text != "" {
			a.first = time.Since(start)
		}
	}
}

// story is the answer in one line: status, who spoke, how it ended, after how long.
func (a *answer) story() string {
	if a.status == 0 {
		return fmt.Sprintf("broken @%s", a.took)
	}
	words := []string{fmt.Sprint(a.status)}
	for _, name := range []string{"a", "b"} {
		if strings.Contains(a.text, "simulated provider "+name) {
			words = append(words, name)
		}
	}
	if a.finish != "" {
		words = append(words, a.finish)
	}
	if a.done {
		words = append(words, "done")
	}
	if a.errCode != "" {
		words = append(words, "error="+a.errCode)
	}
	if a.broken != nil {
		words = append(words, "broken")
	}
	return strings.Join(words, " ") + " @" + a.took.String()
}
