package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// agentConfig gives the agents the models they know by name, from vendors of another kind: each virtual model is served by
// one upstream dialect alone.
const agentConfig = `
providers:
  chat:      { type: openai, api: chat, base_url: "%[1]s/v1", api_key: unused, models: [gpt-5-mini] }
  anthropic: { type: anthropic, base_url: "%[1]s", api_key: unused, models: [claude-sonnet-4-5] }
models:
  over-chat: { targets: [chat/gpt-5-mini] }
  over-anthropic: { targets: [anthropic/claude-sonnet-4-5] }
`

// agentScript has the provider call the agent's shell once; what it says then is the simulated provider's own, strict about
// what it is sent, and quotes the command's output.
const agentScript = `
replay: { dir: %[1]s }
rules:
  - { path: /chat/completions, stream: true, nth: 1, do: { replay: %[2]s-chat.sse } }
  - { path: /messages, stream: true, nth: 1, do: { replay: %[2]s-anthropic.sse } }
`

// shellOutput is what the command of testdata/agents prints. The command does not hold these words: they are the shell's.
const shellOutput = "evergate-42"

// codingAgent is a real command line program: its folder below tests/agents/node_modules/.bin, and how it is run with a
// prompt at a gateway. Nothing of this machine's settings reaches it.
type codingAgent struct {
	binary string
	run    func(t *testing.T, home, url, model, prompt string) (env, argv []string)
}

var codingAgents = map[string]codingAgent{
	"claude": {"claude", func(_ *testing.T, _, url, model, prompt string) (env, argv []string) {
		return []string{
			"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=unused", "DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		}, []string{"-p", prompt, "--model", model, "--allowedTools", "Bash"}
	}},
	"codex": {"codex", func(t *testing.T, home, url, model, prompt string) (env, argv []string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".codex/config.toml"), fmt.Appendf(nil, codexConfig, model, url), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"EVERGATE_KEY=unused"}, []string{"exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", prompt}
	}},
}

const codexConfig = `
model = "%s"
model_provider = "evergate"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.evergate]
name = "Evergate"
base_url = "%s/v1"
wire_api = "responses"
env_key = "EVERGATE_KEY"
`

// TestAgents runs the real coding agents: each asks a model of its own vendor's and of another's, is told to run a harmless
// command, runs it, sends the output back, and says the last answer.
func TestAgents(t *testing.T) {
	for name, agent := range codingAgents {
		binary := absolute(t, filepath.Join(repo, "tests/agents/node_modules/.bin", agent.binary))
		if _, err := os.Stat(binary); err != nil {
			fmt.Fprintf(os.Stderr, "\n%[1]s\n!!! NO %[2]s: it is not installed (scripts/install-test-tools does it, unless AGENTS=0). It is left out.\n%[1]s\n\n",
				strings.Repeat("!", 100), strings.ToUpper(name))
			t.Run(name, func(t *testing.T) { t.Skip("not installed") })
			continue
		}
		for _, dialect := range []string{"chat", "anthropic"} {
			t.Run(name+" over "+dialect, func(t *testing.T) {
				t.Parallel()
				upstream := record(t, startMock(t, fmt.Sprintf(agentScript, absolute(t, "testdata/agents"), name)))
				g := serve(t, fmt.Sprintf(agentConfig, upstream.url), "")
				home, work := t.TempDir(), t.TempDir()
				env, argv := agent.run(t, home, g.url, "over-"+dialect, "Run the command, please, and tell me the number that it says.")
				clean := append([]string{"-i", "-C", work, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, env...)
				p := start(t, name, nil, append(append([]string{"env"}, clean...), append([]string{binary}, argv...)...)...)
				code := p.exitCode(t, 2*time.Minute)
				if out := p.out.String(); code != 0 || !strings.Contains(out, "The tool answered: ") || !strings.Contains(out, shellOutput) {
					t.Errorf("exit code %d", code)
				}
				asked := upstream.requests()
				if len(asked) < 2 {
					t.Fatalf("the upstream was asked %d times", len(asked))
				}
				for _, words := range []string{"Run the command, please", shellOutput, "I run the command."} {
					if !strings.Contains(asked[1], words) {
						t.Errorf("the second request to the upstream lacks %q: %.2000s", words, asked[1])
					}
				}
			})
		}
	}
}

// recorder passes requests on and keeps the bodies of those to models.
type recorder struct {
	url  string
	mu   sync.Mutex
	seen []string
}

func record(t *testing.T, target string) *recorder {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(to) },
		FlushInterval: -1,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if q.Method == http.MethodPost {
			r.mu.Lock()
			r.seen = append(r.seen, string(body))
			r.mu.Unlock()
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *recorder) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.seen...)
}
