package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// The suites of fleets run real stores, instances of the program with one configuration, and a scripted upstream. EVERGATE_FLEET=full has
// them do everything as often and as long as the figures in docs/fleet.md say; else they do enough to see that it works.

// rounds is how often something is done.
func rounds(short, full int) int {
	if os.Getenv("EVERGATE_FLEET") == "full" {
		return full
	}
	return short
}

// lasting is how long something is done.
func lasting(short, full time.Duration) time.Duration {
	if os.Getenv("EVERGATE_FLEET") == "full" {
		return full
	}
	return short
}

// scripted is the upstream of many providers: the first segment of the path is one's name.
type scripted struct {
	*httptest.Server

	mu    sync.Mutex
	moods map[string]mood
	seen  map[string][]arrival
}

// mood is how a provider answers: nil is well; who is the prompt, key the credential, n how many requests came before.
type mood func(who, key string, n int) int

// arrival is one request as it came to the upstream.
type arrival struct {
	at       time.Time
	who, key string
}

func failing(string, string, int) int { return http.StatusInternalServerError }

// refusing refuses the first key that comes, once.
func refusing(_, _ string, n int) int {
	if n == 0 {
		return http.StatusUnauthorized
	}
	return http.StatusOK
}

// shaky fails two of three times.
func shaky(_, _ string, n int) int {
	if n%3 < 2 {
		return http.StatusBadGateway
	}
	return http.StatusOK
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{moods: map[string]mood{}, seen: map[string][]arrival{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		var body struct{ Messages []struct{ Content string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
			reply(w, http.StatusBadRequest, `{"error":{"message":"no messages"}}`)
			return
		}
		status := s.ask(name, body.Messages[0].Content, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if status != http.StatusOK {
			reply(w, status, `{"error":{"message":"as the script says","type":"server_error"}}`)
			return
		}
		reply(w, status, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) ask(name, who, key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.seen[name])
	s.seen[name] = append(s.seen[name], arrival{time.Now(), who, key})
	if m := s.moods[name]; m != nil {
		return m(who, key, n)
	}
	return http.StatusOK
}

// set changes a provider's mood and forgets what it was asked.
func (s *scripted) set(name string, m mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moods[name], s.seen[name] = m, nil
}

// got is what a provider was asked since its mood was set.
func (s *scripted) got(name string) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen[name])
}

// fleet is some instances with one configuration and one store.
type fleet struct {
	up     *scripted
	config string
	all    []*gateway
	client *http.Client
}

// herd is a number of providers of one kind: their names begin with kind. For provider x-1 there is a virtual model x-1 that asks
// it and then the provider good, which all fleets have.
type herd struct {
	kind string
	n    int
	more string // of each one's configuration
}

// newFleet makes a fleet without an instance; rest is what more its configuration says.
func newFleet(t *testing.T, state, interval, rest string, kinds ...herd) *fleet {
	t.Helper()
	f := &fleet{up: newScripted(t), client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(f.client.CloseIdleConnections)
	providers := fmt.Sprintf("providers:\n  good: { type: openai-compatible, base_url: \"%s/good/v1\", api_key: good, models: [m] }\n", f.up.URL)
	models := "models:\n  good: { targets: [good/m] }\n"
	for _, k := range kinds {
		for i := range k.n {
			name := fmt.Sprintf("%s-%d", k.kind, i)
			providers += fmt.Sprintf("  %[1]s: { type: openai-compatible, base_url: \"%[2]s/%[1]s/v1\", keys: [{ name: a, value: %[1]s-a }, { name: b, value: %[1]s-b }], models: [m]%[3]s }\n",
				name, f.up.URL, k.more)
			models += fmt.Sprintf("  %[1]s: { targets: [%[1]s/m, good/m] }\n", name)
		}
	}
	f.config = providers + models + fmt.Sprintf("state: { url: %q, sync_interval: %s }\n", state, interval) + rest
	return f
}

// quick opens a breaker at its first failure, and leaves everything else alone.
func quick(timeout string) string {
	return "resilience: { retry: { max_retries: 0 }, cooldown: { failures: 0 }, circuit_breaker: { failure_threshold: 1, timeout: " + timeout + " } }\n"
}

// join starts one more instance, and waits until it serves.
func (f *fleet) join(t *testing.T) *gateway { return f.joinAs(t, nil, evergate) }

// joinAs is join by another program, in another environment.
func (f *fleet) joinAs(t *testing.T, env []string, program ...string) *gateway {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{
		url: fmt.Sprintf("http://127.0.0.1:%d", port), file: filepath.Join(t.TempDir(), "evergate.yaml"),
		head: fmt.Sprintf("server: { listen: 127.0.0.1:%d }\n", port),
	}
	g.write(t, f.config)
	f.again(t, g, env, program...)
	f.all = append(f.all, g)
	return g
}

// again starts an instance that has ended.
func (f *fleet) again(t *testing.T, g *gateway, env []string, program ...string) {
	t.Helper()
	g.process = start(t, "instance at "+g.url, env, append(program, "serve", "-c", g.file)...)
	if err := g.awaitHTTP(g.url+"/readyz", time.Minute); err != nil {
		t.Fatal(err)
	}
}

// joinAll starts n instances and waits until they know of each other.
func (f *fleet) joinAll(t *testing.T, n int) {
	t.Helper()
	for range n {
		f.join(t)
	}
	f.acquainted(t)
}

func (f *fleet) acquainted(t *testing.T) {
	t.Helper()
	for _, g := range f.all {
		eventually(t, 30*time.Second, func() error {
			if h := g.sees(t); !h.State.Reached || len(h.Instances) < len(f.all) {
				return fmt.Errorf("%s: store reached: %t (%s), knows %d instances of %d", g.url, h.State.Reached, h.State.Message, len(h.Instances), len(f.all))
			}
			return nil
		})
	}
}

// ask sends one request to an instance and gives who answered. The prompt is what the upstream knows the client by.
func (f *fleet) ask(g *gateway, model, who string) (string, error) {
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, who)
	resp, err := f.client.Post(g.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("word"))) {
		err = fmt.Errorf("%s: %s: %s", model, resp.Status, text)
	}
	return resp.Header.Get("X-Evergate-Provider"), err
}

// mustAsk is ask for a request that has to be answered by one provider.
func (f *fleet) mustAsk(t *testing.T, g *gateway, model, by string) {
	t.Helper()
	if who, err := f.ask(g, model, g.url); err != nil || who != by {
		t.Fatalf("a request for %s at %s was answered by %q, %v; it should have been %s", model, g.url, who, err, by)
	}
}

// fleetView is the part of GET /admin/v1/health that these suites read.
type fleetView struct {
	Instance  string
	Providers map[string]struct {
		Breaker struct {
			State   string
			RetryAt time.Time `json:"retry_at"`
		}
		Credentials map[string]struct {
			State         string
			CooldownUntil time.Time `json:"cooldown_until"`
		}
	}
	Instances []struct {
		ID           string
		Silent, Left bool
	}
	State struct {
		Reached bool
		Errors  int `json:"errors_total"`
		Message string
	}
}

func (g *gateway) sees(t *testing.T) fleetView {
	t.Helper()
	v, err := g.view()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (g *gateway) view() (v fleetView, err error) {
	resp, err := http.Get(g.url + "/admin/v1/health")
	if err != nil {
		return v, err
	}
	defer func() { _ = resp.Body.Close() }()
	return v, json.NewDecoder(resp.Body).Decode(&v)
}

// believes waits until an instance has a provider's breaker in a state.
func (g *gateway) believes(t *testing.T, provider, state string, within time.Duration) {
	t.Helper()
	eventually(t, within, func() error {
		if is := g.sees(t).Providers[provider].Breaker.State; is != state {
			return fmt.Errorf("%s has the breaker of %s %s, not %s", g.url, provider, is, state)
		}
		return nil
	})
}

// move is a line of the log that says that a guard moved.
type move struct {
	Msg, Guard, Provider, Credential, To string
	Time                                 time.Time
	Heard                                bool
}

// from is what was said since so many bytes had been.
func (o *output) from(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.buf.Bytes()[n:])
}

func (o *output) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Len()
}

// moved waits until the log, from a place on, says that a provider's guard came to a state, and gives that line.
func (g *gateway) moved(t *testing.T, from int, guard, provider, to string) (m move) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		for line := range strings.Lines(g.out.from(from)) {
			if !strings.Contains(line, `"msg":"guard"`) {
				continue
			}
			m = move{}
			if json.Unmarshal([]byte(line), &m) == nil && m.Guard == guard && m.Provider == provider && m.To == to {
				return nil
			}
		}
		return fmt.Errorf("%s does not say that the %s of %s is %s", g.url, guard, provider, to)
	})
	return m
}

// quantile is the value that a share of all values do not exceed; it sorts them.
func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(share*float64(len(all))), len(all)-1)]
}

func shown(all []time.Duration) string {
	round := func(q float64) time.Duration { return quantile(all, q).Round(100 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v", round(0.5), round(0.99), round(1))
}

// stateServer is a real server for the state, and what can be done to it.
type stateServer struct {
	name                       string
	addr                       string
	url                        func(addr string) string
	kill, start, pause, resume func()
	wipe                       func() // has it come back with nothing in it
}

// eachServer runs a test with each kind of server; where one is missing it says so.
func eachServer(t *testing.T, test func(t *testing.T, s *stateServer)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) { test(t, redisState(t)) })
	t.Run("postgres", func(t *testing.T) {
		s, _ := postgresState(t)
		test(t, s)
	})
}

func redisState(t *testing.T) *stateServer {
	t.Helper()
	r := servers.StartRedis(t, "--requirepass", servers.Password)
	return &stateServer{
		name: "redis", addr: r.Addr(),
		url:  func(addr string) string { return "redis://:" + url.QueryEscape(servers.Password) + "@" + addr + "/0" },
		kill: r.Kill, start: r.Start, pause: r.Pause, resume: r.Resume, wipe: r.Restart,
	}
}

func postgresState(t *testing.T) (*stateServer, *servers.Postgres) {
	t.Helper()
	p := servers.StartPostgres(t)
	p.Database("gate")
	var paused []string
	return &stateServer{
		name: "postgres", addr: p.Addr(),
		url: func(addr string) string {
			return "postgres://gate:" + url.QueryEscape(servers.Password) + "@" + addr + "/gate?target_session_attrs=read-write"
		},
		kill: p.Kill, start: p.Start,
		pause: func() {
			paused = strings.Fields(p.Exec("gate", "SELECT pid FROM pg_stat_activity"))
			p.PauseAll(paused)
		},
		resume: func() { p.ResumeAll(paused) },
		wipe: func() {
			p.Exec("gate", "DROP SCHEMA gate CASCADE; CREATE SCHEMA gate AUTHORIZATION gate")
			p.Kill()
			p.Start()
		},
	}, p
}

var errNotYet = errors.New("not yet")
