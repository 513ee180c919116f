package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// R46: what a target's API cannot say is left out and named, or refused where the caller says strict; another candidate
// that can do it is taken instead.
func TestDroppedAndStrict(t *testing.T) {
	const models = "models: {demo: {targets: [anthropic/m, chat/m]}}\n"
	const body = `{"model":%q,"seed":7,"logit_bias":{"50256":-100},"messages":[{"role":"user","content":"hello"}]}`
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor+models, map[string]mock.Script{"a": {}})
		ask := func(model, prefer string) answer {
			return s.post(t.Context(), "/v1/chat/completions", fmt.Sprintf(body, model), "X-Evergate-Prefer", prefer)
		}
		a := ask("anthropic/m", "")
		if got := a.header.Get("X-Evergate-Dropped"); a.status != 200 || !strings.Contains(got, "seed") || !strings.Contains(got, "logit_bias") {
			t.Errorf("%d, dropped %q: %s", a.status, got, a.body)
		}
		a = ask("anthropic/m", "strict")
		if a.status != 400 || !strings.Contains(a.body, "seed") || !strings.Contains(a.body, "anthropic") {
			t.Errorf("strict: %d %s", a.status, a.body)
		}
		a = ask("demo", "strict")
		if a.status != 200 || a.header.Get("X-Evergate-Model") != "chat/m" || a.header.Get("X-Evergate-Dropped") != "" {
			t.Errorf("strict, with another candidate: %d by %s, dropped %q", a.status, a.header.Get("X-Evergate-Model"), a.header.Get("X-Evergate-Dropped"))
		}
		if trail := a.header.Get("X-Evergate-Trail"); trail != "anthropic/m=unable, chat/m=200" {
			t.Errorf("trail %q", trail)
		}
		if h := s.breakerOf("anthropic"); h != "closed 0" {
			t.Errorf("the breaker of who was passed over: %s", h)
		}
	})
}

// R46: a question without its image is another question: a target whose API cannot take it is passed over, and with
// nobody left the caller is told.
func TestImageThatCannotBeSaid(t *testing.T) {
	const models = "models: {demo: {targets: [bedrock/m, chat/m]}}\n"
	const body = `{"model":%q,"messages":[{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"https://example.com/cat.png"}}]}]}`
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor+models, map[string]mock.Script{"a": {}})
		a := s.post(t.Context(), "/v1/chat/completions", fmt.Sprintf(body, "demo"))
		if trail := a.header.Get("X-Evergate-Trail"); a.status != 200 || trail != "bedrock/m=unable, chat/m=200" {
			t.Errorf("%d, trail %q: %s", a.status, trail, a.body)
		}
		a = s.post(t.Context(), "/v1/chat/completions", fmt.Sprintf(body, "bedrock/m"))
		if a.status != 400 || !strings.Contains(a.body, "images") || !strings.Contains(a.body, "bedrock") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// breakerOf is a provider's breaker: its state and the failures in a row.
func (s *stack) breakerOf(provider string) string {
	var page struct {
		Providers map[string]struct {
			Breaker struct {
				State    string
				Failures int `json:"consecutive_failures"`
			}
		}
	}
	req, err := http.NewRequestWithContext(s.t.(*testing.T).Context(), http.MethodGet, "http://gateway/admin/v1/health", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil {
		s.t.Fatal(err)
	}
	b := page.Providers[provider].Breaker
	return fmt.Sprintf("%s %d", b.State, b.Failures)
}

// R10: a refused signature is left out and the same candidate asked once more, in either path; no guard moves.
func TestSealRepaired(t *testing.T) {
	const thought = `{"model":%q,"max_tokens":3000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[
		{"role":"user","content":"q"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"secret plan","signature":"bm90LXlvdXJz"},{"type":"text","text":"a"}]},
		{"role":"user","content":"hello"}]}`
	for _, vendor := range []string{"anthropic", "bedrock"} {
		t.Run(vendor, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, strings.ReplaceAll(everyVendor, "secret_access_key: secret-of-bedrock}, models: [m]", "secret_access_key: secret-of-bedrock}, models: [anthropic.claude-x]"), map[string]mock.Script{"a": {}})
				model := map[string]string{"anthropic": "anthropic/m", "bedrock": "bedrock/anthropic.claude-x"}[vendor]
				a := s.post(t.Context(), "/v1/messages", fmt.Sprintf(thought, model))
				if a.status != 200 || a.header.Get("X-Evergate-Attempts") != "1" || !strings.Contains(a.header.Get("X-Evergate-Dropped"), "reasoning_signature") {
					t.Fatalf("%d, attempts %s, dropped %q: %s", a.status, a.header.Get("X-Evergate-Attempts"), a.header.Get("X-Evergate-Dropped"), a.body)
				}
				seen := slices.DeleteFunc(s.mocks["a"].Requests(), func(r mock.Seen) bool { return r.Method != http.MethodPost })
				n := len(seen)
				if n < 2 || !strings.Contains(string(seen[n-2].Body), "bm90LXlvdXJz") || strings.Contains(string(seen[n-1].Body), "bm90LXlvdXJz") {
					t.Errorf("what the provider saw: %d requests", n)
				}
				if got := s.breakerOf(vendor); got != "closed 0" {
					t.Errorf("breaker: %s", got)
				}
			})
		})
	}
}

// A count of tokens is asked of the provider where its dialect has it, and estimated elsewhere, never 0.
func TestCountTokens(t *testing.T) {
	const body = `{"model":%q,"system":"Be brief.","messages":[{"role":"user","content":"How many tokens are these?"}]}`
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		for _, tc := range []struct{ model, estimated, fault string }{
			{"anthropic/m", "", ""},
			{"anthropic/m", "true", "status=404"},
			{"anthropic/m", "true", "status=501"},
			{"chat/m", "true", ""},
			{"gemini/m", "true", ""},
		} {
			a := s.post(t.Context(), "/v1/messages/count_tokens", fmt.Sprintf(body, tc.model), "X-Mock-Fault", tc.fault)
			var n struct {
				Tokens int `json:"input_tokens"`
			}
			if err := json.Unmarshal([]byte(a.body), &n); err != nil || a.status != 200 || n.Tokens == 0 || a.header.Get("X-Evergate-Estimated") != tc.estimated {
				t.Errorf("%+v: %d, estimated %q, %s", tc, a.status, a.header.Get("X-Evergate-Estimated"), a.body)
			}
		}
	})
}

// Each SDK lists models in its own form.
func TestModelLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		for _, tc := range []struct{ path, header, want string }{
			{"/v1/models", "", `{"object":"list","data":[{"id":"m","object":"model","created":0,"owned_by":"chat"}]}`},
			{"/v1/models", "Anthropic-Version", `{"data":[{"type":"model","id":"m","display_name":"m","created_at":"1970-01-01T00:00:00Z"}],"has_more":false,"first_id":"m","last_id":"m"}`},
			{"/v1/models/chat/m", "Anthropic-Version", `{"type":"model","id":"chat/m","display_name":"chat/m","created_at":"1970-01-01T00:00:00Z"}`},
			{"/v1beta/models", "", `{"models":[{"name":"models/m","displayName":"m","supportedGenerationMethods":["generateContent","countTokens"]}]}`},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway"+tc.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.header != "" {
				req.Header.Set(tc.header, "2023-06-01")
			}
			res, err := s.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			var got json.RawMessage
			err = json.NewDecoder(res.Body).Decode(&got)
			res.Body.Close()
			if err != nil || string(got) != tc.want {
				t.Errorf("%s %s: %s %v", tc.path, tc.header, got, err)
			}
		}
	})
}

// Without alt=sse a streamed answer of Google's API is one JSON array.
func TestGeminiArray(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		for _, model := range []string{"chat/m", "gemini/m"} {
			a := s.post(t.Context(), "/v1beta/models/"+model+":streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`)
			var list []struct{ Candidates []json.RawMessage }
			if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list) == 0 || len(list[0].Candidates) != 1 {
				t.Errorf("%s: %d %s %v", model, a.status, a.body, err)
			}
		}
	})
}

// Embeddings cross dialects, too; a provider that has none says so clearly.
func TestEmbeddingsAcrossDialects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
		for _, vendor := range []string{"chat", "gemini", "azure", "cohere"} {
			a := s.post(t.Context(), "/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":["one","two"]}`, vendor+"/m"))
			var list struct {
				Data []struct {
					Index     int
					Embedding []float64
				}
			}
			if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != 200 || len(list.Data) != 2 || list.Data[1].Index != 1 || len(list.Data[0].Embedding) == 0 {
				t.Errorf("%s: %d %.300s %v", vendor, a.status, a.body, err)
			}
		}
		a := s.post(t.Context(), "/v1/embeddings", `{"model":"anthropic/m","input":"one"}`)
		if a.status != 404 || !strings.Contains(a.body, "embeddings") {
			t.Errorf("anthropic: %d %s", a.status, a.body)
		}
	})
}
