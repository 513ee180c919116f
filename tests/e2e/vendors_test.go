package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// upstream is a provider that speaks a dialect of its own; its name is that dialect's. The names of the models are real
// ones, so that what is known of them applies: what they refuse, what must come back to them.
type upstream struct {
	Name           string `json:"name"`
	Model          string `json:"model"`
	EmbeddingModel string `json:"embedding_model,omitempty"`
}

var upstreams = []upstream{
	{"chat", "chat/gpt-5-mini", "chat/text-embedding-3-small"},
	{"responses", "responses/gpt-5", ""},
	{"anthropic", "anthropic/claude-sonnet-4-5", ""},
	{"gemini", "gemini/gemini-3-pro", "gemini/gemini-embedding-001"},
	{"bedrock", "bedrock/anthropic.claude-sonnet-4-5-v1:0", ""},
	{"cohere", "cohere/command-a-vision-07-2025", "cohere/embed-v4.0"},
}

// vendorConfig has a provider for each upstream dialect, all at one address. Nothing is tried twice and no guard ever
// closes: the checks make providers fail on purpose.
const vendorConfig = `
providers:
  chat:      { type: openai, api: chat, base_url: "%[1]s/v1", api_key: unused, models: [gpt-5-mini, text-embedding-3-small] }
  responses: { type: openai, api: responses, base_url: "%[1]s/v1", api_key: unused, models: [gpt-5] }
  anthropic: { type: anthropic, base_url: "%[1]s", api_key: unused, models: [claude-sonnet-4-5] }
  gemini:    { type: gemini, base_url: "%[1]s", api_key: unused, models: [gemini-3-pro, gemini-embedding-001] }
  bedrock:   { type: bedrock, base_url: "%[1]s", region: us-east-1, aws: { access_key_id: AKIAEXAMPLE, secret_access_key: unused }, models: ["anthropic.claude-sonnet-4-5-v1:0"] }
  cohere:    { type: cohere, base_url: "%[1]s", api_key: unused, models: [command-a-vision-07-2025, embed-v4.0] }
resilience:
  retry: { max_retries: 0 }
  circuit_breaker: { failure_threshold: 0 }
  cooldown: { failures: 0 }
  credential_cooldown: { base: 0 }
  model_lockout: { base: 0 }
`

const recordingsFile = "testdata/recordings.json"

// startMock starts `evergate mock` with a script and gives its address.
func startMock(t *testing.T, script string) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mock.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	p := start(t, "evergate mock", nil, evergate, "mock", "--listen", address, "--script", file)
	if err := p.awaitHTTP("http://"+address+"/mock/requests", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// startVendors starts a gateway in front of all upstream dialects, which also replay the recordings of testdata.
func startVendors(t *testing.T) *gateway {
	t.Helper()
	return serve(t, fmt.Sprintf(vendorConfig, startMock(t, "replay: { dir: "+absolute(t, "testdata/recorded")+" }\n")), "")
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// vendorEnv tells a check script where the gateway is and what is behind it.
func vendorEnv(t *testing.T, url string) []string {
	t.Helper()
	list, err := json.Marshal(upstreams)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"EVERGATE_URL=" + url, "UPSTREAMS=" + string(list), "RECORDINGS=" + absolute(t, recordingsFile)}
}

// recording is a provider's recorded answer and what any client must understand of it.
type recording struct {
	Upstream string
	File     string
	Text     string // contained in it
	Calls    [][2]any
	Input    int64 // tokens, those from a cache included
	Output   int64 // tokens, thoughts included
	Stop     string
	Thinks   bool
}

func recordings(t *testing.T) []recording {
	t.Helper()
	data, err := os.ReadFile(recordingsFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (r *recording) streamed() bool { return !strings.HasSuffix(r.File, ".json") }

func (r *recording) model() string {
	for _, u := range upstreams {
		if u.Name == r.Upstream {
			return u.Model
		}
	}
	return ""
}

// callsOf writes calls in one form: name and arguments, keys in order.
func (r *recording) calls() string {
	var out []string
	for _, c := range r.Calls {
		arguments, _ := json.Marshal(c[1])
		out = append(out, fmt.Sprint(c[0])+string(arguments))
	}
	return strings.Join(out, " ")
}

// ordered is JSON with its keys in order.
func ordered(raw string) string {
	var v any
	if json.Unmarshal([]byte(raw), &v) != nil {
		return raw
	}
	out, _ := json.Marshal(v)
	return string(out)
}
