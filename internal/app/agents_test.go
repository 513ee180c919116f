package app

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// agentVendors has OpenAI in both its dialects and Anthropic, all played by one simulated provider that is as strict as they
// are, and a model that fails over from one vendor to the other.
const agentVendors = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  chat:      {type: openai, api: chat, base_url: "http://a/v1", api_key: sk-key-chat, models: [gpt-5-mini]}
  responses: {type: openai, api: responses, base_url: "http://a/v1", api_key: sk-key-responses, models: [gpt-5]}
  anthropic: {type: anthropic, base_url: "http://a", api_key: sk-key-anthropic, models: [claude-sonnet-4-5]}
models:
  both: {strategy: ordered, targets: [anthropic/claude-sonnet-4-5, chat/gpt-5-mini]}
resilience: {retry: {max_retries: 0}}
`

// capture is a request as an agent sends it.
func capture(t *testing.T, name string, fill ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/agents", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(fill...).Replace(string(data))
}

// claudeHeaders are what Claude Code sends beside.
var claudeHeaders = []string{
	"Anthropic-Version", "2023-06-01", "X-App", "cli", "Anthropic-Dangerous-Direct-Browser-Access", "true", "User-Agent", "claude-cli/2.1.332 (external, sdk-cli)",
	"Anthropic-Beta", "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20",
}

func agents() (claude, codex speaker) {
	all := speakers()
	claude, codex = all[1], all[2]
	claude.path = func(string, bool) string { return "/v1/messages?beta=true" }
	return claude, codex
}

var (
	promptWords = regexp.MustCompile(`words-\d+`)
	endUser     = regexp.MustCompile(`"(?:user|safety_identifier)":"((?:[^"\\]|\\.)*)"`)
	toolNames   = regexp.MustCompile(`"name":\s*"([A-Za-z_]+)"`)
)

// seals are thoughts as the simulated vendors seal them, to be sent back.
func seals(s *stack) (fill []string) {
	claude, codex := agents()
	h := s.talk(&claude, "", false, `{"model":"anthropic/claude-sonnet-4-5","max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hi"}]}`)
	var m struct {
		Content []struct{ Thinking, Signature string }
	}
	if json.Unmarshal([]byte(h.raw), &m) != nil || len(m.Content) == 0 || m.Content[0].Signature == "" {
		s.t.Fatal(h.raw)
	}
	h = s.talk(&codex, "", false, `{"model":"responses/gpt-5","reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],"input":"hi"}`)
	var r struct {
		Output []struct {
			Sealed string `json:"encrypted_content"`
		}
	}
	if json.Unmarshal([]byte(h.raw), &r) != nil || len(r.Output) == 0 || r.Output[0].Sealed == "" {
		s.t.Fatal(h.raw)
	}
	return []string{"A thought.", m.Content[0].Thinking, "SIGNATURE", m.Content[0].Signature, "SEALED", r.Output[0].Sealed}
}

// sentLast is the last request that the simulated provider a got for a model.
func (s *stack) sentLast() string {
	for _, r := range slices.Backward(s.mocks["a"].Requests()) {
		if len(r.Body) > 0 {
			return string(r.Body)
		}
	}
	s.t.Fatal("the provider was not asked")
	return ""
}

// What Claude Code and Codex send reaches a provider of their own vendor and one of the other: every word of the prompt, every
// tool, the whole history; and what the other has no place for is said.
func TestAgentsRequests(t *testing.T) {
	claude, codex := agents()
	for _, c := range []struct {
		capture, model string
		sp             speaker
		want           string // the tool that is called, or words of the answer
		dropped        string // of OpenAI's web search, and of what only its maker reads: server_tools, reasoning
	}{
		{"claude-first", "chat/gpt-5-mini", claude, "Agent", "defer_loading, context_management, cache_control, user"},
		{"claude-first", "responses/gpt-5", claude, "Agent", "defer_loading, context_management, cache_control, user"},
		{"claude-first", "anthropic/claude-sonnet-4-5", claude, "Agent", ""},
		{"claude-second", "chat/gpt-5-mini", claude, "words-902", "defer_loading, context_management, cache_control, reasoning, reasoning_signature, user"},
		{"claude-second", "responses/gpt-5", claude, "words-902", "defer_loading, context_management, cache_control, reasoning_signature, reasoning, user"},
		{"claude-second", "anthropic/claude-sonnet-4-5", claude, "words-902", ""},
		{"codex-first", "chat/gpt-5-mini", codex, "exec_command", "client_metadata, server_tools"},
		{"codex-first", "responses/gpt-5", codex, "exec_command", ""},
		{"codex-first", "anthropic/claude-sonnet-4-5", codex, "exec_command", "client_metadata, server_tools, prompt_cache_key"},
		{"codex-second", "chat/gpt-5-mini", codex, "words-902", "client_metadata, reasoning, reasoning_signature, server_tools"},
		{"codex-second", "responses/gpt-5", codex, "words-902", ""},
		{"codex-second", "anthropic/claude-sonnet-4-5", codex, "words-902", "client_metadata, reasoning_signature, reasoning, reasoning_effort, server_tools, prompt_cache_key"},
		{"codex-custom-tools", "chat/gpt-5-mini", codex, "words-906", "reasoning, reasoning_signature, server_tools"},
		{"codex-custom-tools", "responses/gpt-5", codex, "words-906", ""},
		{"codex-custom-tools", "anthropic/claude-sonnet-4-5", codex, "words-906", "reasoning_signature, reasoning, custom_tools, reasoning_effort, server_tools, prompt_cache_key"},
	} {
		t.Run(c.capture+" to "+c.model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, agentVendors, map[string]mock.Script{"a": {}})
				body := capture(t, c.capture, append(seals(s), "MODEL", c.model)...)
				h := s.talk(&c.sp, c.model, true, body, claudeHeaders...)
				if h.status != http.StatusOK || !h.ended || h.failed != "" {
					t.Fatalf("%d, ended %t, failed %q: %s", h.status, h.ended, h.failed, h.raw)
				}
				if !strings.Contains(h.text, c.want) && !slices.ContainsFunc(h.calls, func(call string) bool { return strings.HasPrefix(call, c.want+" ") }) {
					t.Errorf("said %q, calls %q", h.text, h.calls)
				}
				if got := h.header.Get("X-Evergate-Dropped"); got != c.dropped {
					t.Errorf("dropped %q, not %q", got, c.dropped)
				}
				sent := s.sentLast()
				var lost []string
				for _, word := range slices.Compact(slices.Sorted(slices.Values(promptWords.FindAllString(body, -1)))) {
					if !strings.Contains(sent, word) {
						lost = append(lost, word)
					}
				}
				for _, name := range toolNames.FindAllStringSubmatch(body, -1) {
					if !strings.Contains(sent, `"`+name[1]+`"`) {
						lost = append(lost, name[1])
					}
				}
				if len(lost) > 0 {
					t.Errorf("lost on the way: %q", lost)
				}
				// OpenAI refuses an identifier of a user of more than 64 characters; Claude Code's has 150.
				if user := endUser.FindStringSubmatch(sent); user != nil && len(user[1]) > 64 {
					t.Errorf("the user is %q", user[1])
				}
			})
		})
	}
}

// A session that another vendor's model answered in between goes on at Anthropic, which wants a thought before each call: the
// request is repaired (R10), where Claude Code would repeat it in vain.
func TestAgentsBackToAnthropic(t *testing.T) {
	claude, _ := agents()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, agentVendors, map[string]mock.Script{"a": {}})
		body := capture(t, "claude-second", "MODEL", "both")
		thought := regexp.MustCompile(`\{\s*"type": "thinking",[^}]*\},\s*`)
		if !thought.MatchString(body) {
			t.Fatal("the capture has no thought to take away")
		}
		h := s.talk(&claude, "both", true, thought.ReplaceAllString(body, ""), claudeHeaders...)
		if h.status != http.StatusOK || !strings.Contains(h.text, "words-902") || !h.ended || h.header.Get("X-Evergate-Provider") != "anthropic" {
			t.Fatalf("%d %v: %s", h.status, h.header, h.raw)
		}
		if got := h.header.Get("X-Evergate-Dropped"); got != "thinking, context_management" {
			t.Errorf("dropped %q", got)
		}
	})
}

// A call of a tool in a namespace, which another vendor's model knows as a tool of its own, comes to Codex as one of that
// namespace; its output goes back.
func TestAgentsNamespace(t *testing.T) {
	_, codex := agents()
	for _, model := range []string{"chat/gpt-5-mini", "anthropic/claude-sonnet-4-5"} {
		t.Run(model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, agentVendors, map[string]mock.Script{"a": {}})
				body := capture(t, "codex-first", "MODEL", model, `"tool_choice": "auto"`, `"tool_choice": {"type":"function","name":"close_agent"}`)
				h := s.talk(&codex, model, true, body)
				if h.status != http.StatusOK || len(h.calls) != 1 || !strings.Contains(h.raw, `"namespace":"multi_agent_v1","name":"close_agent"`) {
					t.Fatalf("%d, calls %q: %s", h.status, h.calls, h.raw)
				}
				next := `{"type":"function_call","call_id":"call_9","namespace":"multi_agent_v1","name":"close_agent","arguments":"{\"target\":\"x\"}"},` +
					`{"type":"function_call_output","call_id":"call_9","output":"closed at last"}],"tools"`
				body = capture(t, "codex-first", "MODEL", model, " ],\n \"tools\"", ","+next)
				h = s.talk(&codex, model, true, body)
				if h.status != http.StatusOK || !strings.Contains(h.text, "closed at last") || strings.Contains(h.header.Get("X-Evergate-Dropped"), "namespace") {
					t.Errorf("%d %q, dropped %q: %s", h.status, h.text, h.header.Get("X-Evergate-Dropped"), h.raw)
				}
			})
		})
	}
}

const (
	threadBegins    = `"thread":{"type":"create"},"messages":[{"role":"user","content":"hello"}]`
	threadContinues = `"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":"and now?"}]`
	unsupported     = `"details":{"error_code":"thread_unsupported_request"`
)

// Conversations that Anthropic's servers hold ("thread", which the SDKs' tool runner and Claude Code use): whoever cannot
// go on with one says so in the API's own words, upon which those clients send the whole.
func TestAnthropicThreads(t *testing.T) {
	claude, _ := agents()
	beta := []string{"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "message-threads-2026-08-12"}
	ask := func(s *stack, model, members string, headers ...string) *heard {
		body := `{"model":"` + model + `","max_tokens":500,` + members + `}`
		return s.talk(&claude, model, false, body, append(headers, beta...)...)
	}
	for name, test := range map[string]func(*testing.T, *stack){
		"begun elsewhere": func(t *testing.T, s *stack) {
			h := ask(s, "chat/gpt-5-mini", threadBegins)
			if h.status != http.StatusOK || !strings.Contains(h.text, "hello") || h.header.Get("X-Evergate-Dropped") != "thread" {
				t.Errorf("%d %q, dropped %q", h.status, h.raw, h.header.Get("X-Evergate-Dropped"))
			}
		},
		"continued elsewhere": func(t *testing.T, s *stack) {
			h := ask(s, "chat/gpt-5-mini", threadContinues)
			if h.status != http.StatusBadRequest || !strings.Contains(h.raw, unsupported) || !strings.Contains(h.raw, `"invalid_request_error"`) {
				t.Errorf("%d %s", h.status, h.raw)
			}
		},
		"forgotten by Anthropic": func(t *testing.T, s *stack) {
			for range 3 { // no guard takes it for a model that is missing (R9)
				h := ask(s, "anthropic/claude-sonnet-4-5", threadContinues)
				if h.status != http.StatusNotFound || !strings.Contains(h.raw, `"error_code":"thread_not_found"`) {
					t.Fatalf("%d %s", h.status, h.raw)
				}
			}
			if h := ask(s, "anthropic/claude-sonnet-4-5", threadBegins); h.status != http.StatusOK {
				t.Errorf("%d %s", h.status, h.raw)
			}
		},
		"while Anthropic is down": func(t *testing.T, s *stack) {
			h := ask(s, "both", threadContinues, "X-Mock-Fault", "status=500")
			if h.status != http.StatusBadRequest || !strings.Contains(h.raw, unsupported) {
				t.Errorf("%d %s", h.status, h.raw)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newStack(t, agentVendors, map[string]mock.Script{"a": {}})) })
		})
	}
}
