package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"evergate/internal/mock"
)

// upstream is a simulated provider that changes its mind on command.
type upstream struct {
	url string
	*mock.Provider
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	p := mock.New(mock.Script{})
	server := httptest.NewServer(p)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return &upstream{url: server.URL, Provider: p}
}

// does has it do that from now on; an empty behaviour is to answer.
func (u *upstream) does(b mock.Behaviour) { u.SetScript(mock.Script{Defaults: b}) }

// gateway is a running `evergate serve`.
type gateway struct {
	*process
	port  int
	url   string // under 127.0.0.1
	token string // of the admin API, if it wants one
	argv  []string
	env   []string

	clients string // the port of the data plane, where that is another
}

// serve starts a gateway; config is the file without its server and admin sections. With a token the admin API wants it.
func serve(t *testing.T, config, token string) *gateway {
	t.Helper()
	port := freePort(t)
	head := fmt.Sprintf("server: { listen: 127.0.0.1:%d, shutdown_grace: 2s }\n", port)
	if token != "" {
		head += fmt.Sprintf("admin: { token: %q }\n", token)
	}
	return begin(t, head+config, port, token)
}

// begin starts a gateway whose admin API is at the port.
func begin(t *testing.T, config string, port int, token string) *gateway {
	t.Helper()
	g := &gateway{port: port, url: fmt.Sprintf("http://127.0.0.1:%d", port), token: token}
	file := filepath.Join(t.TempDir(), "evergate.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.argv = []string{evergate, "serve", "-c", file}
	g.env = []string{"EVERGATE_STATE_URL=sqlite:" + filepath.Join(filepath.Dir(file), "evergate.db")}
	g.start(t)
	return g
}

// start starts it, anew if it was stopped.
func (g *gateway) start(t *testing.T) {
	t.Helper()
	g.process = start(t, g.env, g.argv...)
	g.awaitHTTP(t, g.url+"/readyz")
}

// twoProviders is a gateway in front of two simulated providers, of which the first is asked first.
func twoProviders(t *testing.T, token string) (g *gateway, first, second *upstream) {
	t.Helper()
	first, second = startUpstream(t), startUpstream(t)
	return serve(t, fmt.Sprintf(`
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m, n] }
  beta:  { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m] }
models:
  fast: { strategy: ordered, targets: [alpha/m, beta/m] }
resilience:
  circuit_breaker: { failure_threshold: 3, timeout: 30s }
`, first.url, second.url), token), first, second
}

// apart is a gateway whose admin API has an address of its own.
func apart(t *testing.T) *gateway {
	t.Helper()
	port, clients := freePort(t), freePort(t)
	g := begin(t, fmt.Sprintf(`
server: { listen: 127.0.0.1:%d }
admin: { listen: 127.0.0.1:%d }
providers:
  alpha: { type: openai-compatible, base_url: "%s/v1", api_key: unused, models: [m] }
`, clients, port, startUpstream(t).url), port, "")
	g.clients = strconv.Itoa(clients)
	return g
}

// ask sends a chat completion with the given message and gives the status.
func (g *gateway) ask(t *testing.T, model, message string, header ...string) int {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": message}}})
	if err != nil {
		t.Fatal(err)
	}
	status, _ := g.do(t, http.MethodPost, "/v1/chat/completions", string(body), header...)
	return status
}

// do sends a JSON request with the admin token and gives status and body.
func (g *gateway) do(t *testing.T, method, path, body string, header ...string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if g.token != "" && len(header) == 0 {
		req.Header.Set("Authorization", "Bearer "+g.token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, reply
}

// get reads a JSON reply of the admin API.
func get[T any](t *testing.T, g *gateway, path string) T {
	t.Helper()
	var reply T
	status, body := g.do(t, http.MethodGet, path, "")
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, body)
	}
	return reply
}

// breaker is what GET /admin/v1/health says of a circuit breaker.
type breaker struct {
	State    string     `json:"state"`
	Trip     string     `json:"trip"`
	OpenedAt *time.Time `json:"opened_at"`
	RetryAt  *time.Time `json:"retry_at"`
	Operator *struct {
		Action, Reason string
	} `json:"operator"`
}

func (g *gateway) breaker(t *testing.T, provider string) breaker {
	t.Helper()
	type health struct {
		Providers map[string]struct{ Breaker breaker }
	}
	return get[health](t, g, "/admin/v1/health").Providers[provider].Breaker
}

// event is an entry of the timeline.
type event struct {
	At                            time.Time
	Kind, Provider, Guard         string
	From, To, Reason, By, Message string
	RequestID                     string `json:"request_id"`
}

// audit is what was done by hand, newest first.
func (g *gateway) audit(t *testing.T) []event {
	t.Helper()
	return get[struct{ Entries []event }](t, g, "/admin/v1/audit").Entries
}
