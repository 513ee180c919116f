package app

import (
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// withFacts is a model whose first target can do little, and whose second nobody knows anything about.
const withFacts = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [plain, small, long]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [any]}
models:
  demo: {targets: [a/plain, b/any]}
  windows: {targets: [a/small, b/any], on: {context_length: [a/long]}}
catalog:
  plain: {input: [text], output: [text], tools: false, structured_output: false}
  small: {context_window: 1000}
  long: {context_window: 100000}
`

// R46: a target whose model is known to be unable to do what a request asks is left out, with the reason; what is not known
// counts as able.
func TestWhatAModelIsKnownToBeUnableTo(t *testing.T) {
	const both, first = "a/plain=unable, b/any=200", "a/plain=200"
	chat := func(content, more string) string {
		return `{"model":"MODEL","messages":[{"role":"user","content":` + content + `}]` + more + `}`
	}
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	for _, tt := range []struct{ name, path, body, trail, says string }{
		{"text", "/v1/chat/completions", chat(`"hi"`, ""), first, ""},
		{"an image", "/v1/chat/completions", chat(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,`+pixel+`"}}]`, ""), both, "takes no images"},
		{"text about an image", "/v1/chat/completions", chat(`"what is \"image_url\"?"`, ""), first, ""},
		{"a sound", "/v1/chat/completions", chat(`[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]`, ""), both, "takes no audio"},
		{"a file", "/v1/chat/completions", chat(`[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]`, ""), both, "takes no files"},
		{"a file of text", "/v1/chat/completions", chat(`[{"type":"file","file":{"filename":"a.csv","file_data":"data:text/csv;base64,YSxi"}}]`, ""), first, ""},
		{"a document of text, in Messages", "/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"aGVsbG8="}}]}]}`, first, ""},
		{"a document of text as text, in Messages", "/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}}]}]}`, first, ""},
		{"a file of text, in Responses", "/v1/responses", `{"model":"MODEL","input":[{"role":"user","content":[{"type":"input_file","filename":"a.txt","file_data":"data:Text/Plain;base64,aGVsbG8="}]}]}`, first, ""},
		{"a file of text, in Gemini's", "/v1beta/models/MODEL:generateContent", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"text/plain","data":"aGVsbG8="}}]}]}`, first, ""},
		{"tools", "/v1/chat/completions", chat(`"hi"`, `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`), both, "calls no tools"},
		{"an empty list of tools", "/v1/chat/completions", chat(`"the \"tools\" are here"`, `,"stop":["\"tools\""]`), first, ""},
		{"a schema", "/v1/chat/completions", chat(`"hi"`, `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`), both, "keeps to no JSON schema"},
		{"JSON without a schema", "/v1/chat/completions", chat(`"json"`, `,"response_format":{"type":"json_object"}`), first, ""},
		{"spoken output", "/v1/chat/completions", chat(`"hi"`, `,"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"}`), both, "gives no audio"},
		{"written output", "/v1/chat/completions", chat(`"hi"`, `,"modalities":["text"]`), first, ""},
		{"an image, in Messages", "/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}]}`, both, "takes no images"},
		{"an image that a tool gave", "/v1/messages", `{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]}]}]}`, both, "takes no images"},
		{"an image, in Responses", "/v1/responses", `{"model":"MODEL","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]}]}`, both, "takes no images"},
		{"an image, in Gemini's", "/v1beta/models/MODEL:generateContent", `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + pixel + `"}}]}]}`, both, "takes no images"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, withFacts+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
				send := func(model string) answer {
					return s.post(t.Context(), strings.Replace(tt.path, "MODEL", model, 1), strings.Replace(tt.body, "MODEL", model, 1))
				}
				if a := send("demo"); a.status != 200 || trailOf(s, &a) != tt.trail {
					t.Errorf("%d [%s], want [%s]: %s", a.status, trailOf(s, &a), tt.trail, a.body)
				}
				if tt.says == "" {
					return
				}
				before := len(s.chats("a"))
				if a := send("a/plain"); a.status != 400 || !strings.Contains(a.body, "plain "+tt.says) || len(s.chats("a")) != before {
					t.Errorf("alone: %d %s", a.status, a.body)
				}
			})
		})
	}
}

// R11, R46: a prompt that is surely longer than a known window is not sent there, and goes to the model's targets for that; one
// that may fit is sent.
func TestKnownWindows(t *testing.T) {
	chat := func(model string, bytes int) string {
		return `{"model":"` + model + `","messages":[{"role":"user","content":"` + strings.Repeat("word ", bytes/5) + `"}]}`
	}
	for _, tt := range []struct {
		name   string
		bytes  int
		a      mock.Script
		status int
		trail  string
	}{
		{"it fits", 2000, answers(), 200, "a/small=200"},
		{"the estimate says too long, the provider may know better", 7000, answers(), 200, "a/small=200"},
		{"surely too long", 12000, answers(), 200, "a/small=context_length, a/long=200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, withFacts+oneTry, map[string]mock.Script{"a": tt.a, "b": answers()})
				if a := s.post(t.Context(), "/v1/chat/completions", chat("windows", tt.bytes)); a.status != tt.status || trailOf(s, &a) != tt.trail {
					t.Errorf("%d [%s], want %d [%s]", a.status, trailOf(s, &a), tt.status, tt.trail)
				}
			})
		})
	}
	t.Run("alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, withFacts+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
			a := s.post(t.Context(), "/v1/chat/completions", chat("a/small", 12000))
			if a.status != 400 || a.errCode != "context_length_exceeded" || !strings.Contains(a.body, "takes 1000") || len(s.chats("a")) != 0 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	})
}

// R72: what an explanation says of a target that is unable is what the live path does.
func TestExplainSaysWhatAModelIsUnableTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, withFacts+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		req := `{"model":"demo","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`
		a := s.post(t.Context(), "/admin/v1/explain", req, "Authorization", "Bearer admin-token")
		if a.status != 200 || !strings.Contains(a.body, "calls no tools") {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
