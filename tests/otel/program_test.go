package otel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var evergate string // the program's file

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "evergate-otel-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		evergate = filepath.Join(dir, "evergate")
		build := exec.Command("go", "build", "-o", evergate, "./cmd/evergate")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build ./cmd/evergate: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// program is a running command of the program.
type program struct {
	url  string
	cmd  *exec.Cmd
	out  lines
	done chan struct{}
}

type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// launch starts a command; ready is what answers 200 once it serves, empty: it is not waited for.
func launch(t *testing.T, env []string, url, ready string, args ...string) *program {
	t.Helper()
	p := &program{url: url, cmd: exec.Command(evergate, args...), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), env...), &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its exit code is in the state
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("output of %s:\n%s", args[0], p.out.String())
		}
	})
	for begin := time.Now(); ready != ""; time.Sleep(20 * time.Millisecond) {
		if resp, err := http.Get(url + ready); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Since(begin) > 15*time.Second {
			t.Fatalf("%s does not serve:\n%s", args[0], p.out.String())
		}
	}
	return p
}

// stop ends a program as a service manager does.
func (p *program) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		t.Fatal("the program does not end")
	}
}

// upstreams are three providers, one mock behind them, and what they were sent.
type upstreams struct {
	url  string
	mu   sync.Mutex
	seen []sighting
}

// sighting is what one request said of its trace.
type sighting struct{ provider, traceparent, tracestate, baggage string }

func startUpstreams(t *testing.T) *upstreams {
	t.Helper()
	address := freeAddress(t)
	launch(t, nil, "http://"+address, "/v1/models", "mock", "--listen", address)
	to, err := url.Parse("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	u := &upstreams{}
	// Connections of its own, one a request: those of the default transport are closed by every test server that ends.
	own := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{Transport: own, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		_, rest, _ := strings.Cut(strings.TrimPrefix(r.In.URL.Path, "/"), "/")
		r.Out.URL.Path, r.Out.URL.RawPath = "/"+rest, ""
	}, ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if r.Method == http.MethodPost {
			u.mu.Lock()
			u.seen = append(u.seen, sighting{provider, r.Header.Get("Traceparent"), r.Header.Get("Tracestate"), r.Header.Get("Baggage")})
			u.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	u.url = server.URL
	return u
}

// asked are the requests that came so far; they are forgotten.
func (u *upstreams) asked() []sighting {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.seen
	u.seen = nil
	return out
}

const secret = "sk-a-secret-of-the-provider"

// serve starts a gateway before the upstreams.
func serve(t *testing.T, u *upstreams, env ...string) *program {
	t.Helper()
	return begin(t, u, "/readyz", env)
}

// launchWith is serve of a gateway that need not come to serve.
func launchWith(t *testing.T, u *upstreams, env ...string) *program {
	t.Helper()
	return begin(t, u, "", env)
}

func begin(t *testing.T, u *upstreams, ready string, env []string) *program {
	t.Helper()
	address, dir := freeAddress(t), t.TempDir()
	file := filepath.Join(dir, "evergate.yaml")
	config := fmt.Sprintf(`
server: { listen: "%s" }
providers:
  bad: { type: openai-compatible, base_url: "%[2]s/bad/v1", api_key: %[3]s, models: [mock-503], resilience: { retry: { max_retries: 0 } } }
  good: { type: openai, base_url: "%[2]s/good/v1", api_key: %[3]s, models: [mock-chat] }
  slow: { type: groq, base_url: "%[2]s/slow/v1", api_key: %[3]s, models: [mock-slow] }
models:
  plain: { targets: [good/mock-chat] }
  fallback: { targets: [bad/mock-503, good/mock-chat] }
  hedged: { targets: [slow/mock-slow, good/mock-chat], hedge: { after: 100ms, budget: 1 } }
  lost: { targets: [bad/mock-503] }
`, address, u.url, secret)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append([]string{"EVERGATE_STATE_URL=memory:", "OTEL_BSP_SCHEDULE_DELAY=50"}, env...)
	return launch(t, env, "http://"+address, ready, "serve", "-c", file)
}

const prompt = "a prompt that no span may hold"

// ask sends a chat request and gives its reply's status and headers once it is whole.
func (p *program) ask(t *testing.T, model string, stream bool, header map[string]string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": model, "stream": stream, "messages": []any{map[string]string{"role": "user", "content": prompt}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, p.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp
}
