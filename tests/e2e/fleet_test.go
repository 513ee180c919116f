package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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

// sideBySide has a test run beside others: they wait most of the time. Figures are taken of one alone.
func sideBySide(t *testing.T) {
	t.Helper()
	if os.Getenv("EVERGATE_FLEET") != "full" {
		t.Parallel()
	}
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
	return f.send(g, model, who, false)
}

func (f *fleet) send(g *gateway, model, who string, streamed bool) (string, error) {
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%q}]}`, model, streamed, who)
	resp, err := f.client.Post(g.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("word")) || streamed && !bytes.HasSuffix(text, []byte("data: [DONE]\n\n"))) {
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
