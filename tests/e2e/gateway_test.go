// Package e2e runs the built program with real model servers behind it and the real SDKs in front of it. It knows the
// program only from outside: command line, configuration file, HTTP.
package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const repo = "../.."

var (
	evergate   string // the program's file
	venvPython = filepath.Join(repo, ".venv/bin/python")
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "evergate-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		evergate = filepath.Join(dir, "evergate")
		build := exec.Command("go", "build", "-o", evergate, "./cmd/evergate")
		build.Dir = repo
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build ./cmd/evergate: %v\n%s", err, out)
			return 1
		}
		defer alpha.kill()
		defer beta.kill()
		return m.Run()
	}())
}

// gateway is a running `evergate serve`.
type gateway struct {
	*process
	url  string
	file string // its configuration
	head string // the first line of that, with the server section
}

// serve starts a gateway; config is the file without its server section.
func serve(t *testing.T, config string, server string) *gateway {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	if server != "" {
		server = ", " + server
	}
	g := &gateway{
		url:  fmt.Sprintf("http://127.0.0.1:%d", port),
		file: filepath.Join(t.TempDir(), "evergate.yaml"),
		head: fmt.Sprintf("server: { listen: 127.0.0.1:%d%s }\n", port, server),
	}
	g.write(t, config)
	state := "EVERGATE_STATE_URL=sqlite:" + filepath.Join(filepath.Dir(g.file), "evergate.db") // the default's file is in the working directory, which all share
	g.process = start(t, "evergate serve", []string{state}, evergate, "serve", "-c", g.file)
	if err := g.awaitHTTP(g.url+"/readyz", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	return g
}

// write puts another configuration in the gateway's file, which it watches. The file is replaced as editors do it: nobody
// reads half of it.
func (g *gateway) write(t *testing.T, config string) {
	t.Helper()
	if err := os.WriteFile(g.file+".new", []byte(g.head+config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.file+".new", g.file); err != nil {
		t.Fatal(err)
	}
}

// providerHealth is the part of GET /admin/v1/health that the tests read.
type providerHealth struct {
	Breaker struct {
		State               string `json:"state"`
		ConsecutiveFailures int    `json:"consecutive_failures"`
	} `json:"breaker"`
}

func (g *gateway) health(t *testing.T, provider string) providerHealth {
	t.Helper()
	resp, err := http.Get(g.url + "/admin/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var all struct {
		Providers map[string]providerHealth `json:"providers"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	h, ok := all.Providers[provider]
	if !ok {
		t.Fatalf("GET /admin/v1/health does not know %s: %v", provider, all.Providers)
	}
	return h
}

// modelConfig has both model servers behind the virtual model "fast", and the moody upstreams if there are any.
func modelConfig(moodyURL string) string {
	config := fmt.Sprintf(`
providers:
  a: { type: llamacpp, base_url: "%s/v1" }
  b: { type: llamacpp, base_url: "%s/v1" }
`, alpha.url(), beta.url())
	for _, name := range []string{"limited", "broken", "cut", "slow"} {
		if moodyURL != "" {
			config += fmt.Sprintf("  %[1]s: { type: openai-compatible, base_url: \"%[2]s/%[1]s/v1\", api_key: unused, models: [m] }\n", name, moodyURL)
		}
	}
	return config + `
models:
  fast: { strategy: ordered, targets: [a/gemma, b/gemma] }
resilience:
  circuit_breaker: { failure_threshold: 3, timeout: 2s }
`
}
