package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// everyVendor has one provider of each type that speaks a dialect of its own, all played by simulated ones.
const everyVendor = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  chat:      {type: openai-compatible, base_url: "http://a/v1", api_key: sk-key-chat, models: [m]}
  responses: {type: openai, api: responses, base_url: "http://a/v1", api_key: sk-key-responses, models: [m]}
  anthropic: {type: anthropic, base_url: "http://a", api_key: sk-key-anthropic, models: [m]}
  gemini:    {type: gemini, base_url: "http://a", api_key: sk-key-gemini, models: [m]}
  vertex:    {type: vertex, base_url: "http://a", api_key: sk-key-vertex, models: [m]}
  azure:     {type: azure-openai, base_url: "http://a", api_key: sk-key-azure, models: [m]}
  bedrock:   {type: bedrock, base_url: "http://a", region: us-east-1, aws: {access_key_id: AKIAEXAMPLE, secret_access_key: secret-of-bedrock}, models: [m]}
  cohere:    {type: cohere, base_url: "http://a", api_key: sk-key-cohere, models: [m]}
resilience: {retry: {max_retries: 0}}
`

var vendors = []string{"chat", "responses", "anthropic", "gemini", "vertex", "azure", "bedrock", "cohere"}

// heard is what a client understood of an answer, in whichever dialect it came.
type heard struct {
	status int
	header http.Header
	text   string
	calls  []string // name(arguments)
	stop   string   // in the dialect's own word
	input  int
	output int
	ended  bool // properly
	failed string
	raw    string
}

// speaker is a client of one dialect: how it asks and how it listens.
type speaker struct {
	name   string
	path   func(model string, stream bool) string
	body   func(model string, stream bool, prompt string, tools bool) string
	listen func(h *heard, data []byte)
}

func speakers() []speaker {
	at := func(path string) func(string, bool) string { return func(string, bool) string { return path } }
	return []speaker{
		{"chat", at("/v1/chat/completions"), func(model string, stream bool, prompt string, tools bool) string {
			t := ""
			if tools {
				t = `,"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
			}
			if stream {
				t += `,"stream_options":{"include_usage":true}`
			}
			return fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]%s}`, model, stream, prompt, t)
		}, hearChat},
		{"messages", at("/v1/messages"), func(model string, stream bool, prompt string, tools bool) string {
			t := ""
			if tools {
				t = `,"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`
			}
			return fmt.Sprintf(`{"model":%q,"max_tokens":500,"stream":%t,"system":"Be brief.","messages":[{"role":"user","content":%q}]%s}`, model, stream, prompt, t)
		}, hearMessages},
		{"responses", at("/v1/responses"), func(model string, stream bool, prompt string, tools bool) string {
			t := ""
			if tools {
				t = `,"tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]`
			}
			return fmt.Sprintf(`{"model":%q,"stream":%t,"instructions":"Be brief.","input":%q%s}`, model, stream, prompt, t)
		}, hearResponses},
		{"gemini", func(model string, stream bool) string {
			if stream {
				return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/" + model + ":generateContent"
		}, func(_ string, _ bool, prompt string, tools bool) string {
			t := ""
			if tools {
				t = `,"tools":[{"functionDeclarations":[{"name":"get_weather","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING"}},"required":["city"]}}]}]`
			}
			return fmt.Sprintf(`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":%q}]}]%s}`, prompt, t)
		}, hearGemini},
	}
}

func hearChat(h *heard, data []byte) {
	if string(data) == "[DONE]" {
		h.ended = true
		return
	}
	var c struct {
		Choices []struct {
			Delta, Message struct {
				Content   string
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
		Error *struct{ Type string }
	}
	h.parse(data, &c)
	for _, ch := range c.Choices {
		h.text += ch.Delta.Content + ch.Message.Content
		for _, call := range append(ch.Delta.ToolCalls, ch.Message.ToolCalls...) {
			h.call(call.Function.Name, call.Function.Arguments)
		}
		h.stop += ch.FinishReason
	}
	h.count(c.Usage.Prompt, c.Usage.Completion)
	if c.Error != nil {
		h.failed = "error " + c.Error.Type
	}
}

func hearMessages(h *heard, data []byte) {
	type block struct {
		Type, Text, Name string
		Input            json.RawMessage
	}
	var m struct {
		Type         string
		Content      []block
		ContentBlock block `json:"content_block"`
		Delta        struct {
			Text        string
			PartialJSON string `json:"partial_json"`
			StopReason  string `json:"stop_reason"`
		}
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		}
		Error *struct{ Type string }
	}
	h.parse(data, &m)
	for _, b := range m.Content {
		h.text += b.Text
		if b.Type == "tool_use" {
			h.call(b.Name, string(b.Input))
		}
	}
	if m.ContentBlock.Type == "tool_use" {
		h.call(m.ContentBlock.Name, "")
	}
	h.text += m.Delta.Text
	h.call("", m.Delta.PartialJSON)
	h.stop += m.StopReason + m.Delta.StopReason
	h.count(m.Usage.Input, m.Usage.Output)
	h.ended = h.ended || m.Type == "message_stop"
	if m.Error != nil {
		h.failed = m.Error.Type
	}
}

func hearResponses(h *heard, data []byte) {
	type response struct {
		Status string
		Output []struct {
			Type, Name, Arguments string
			Content               []struct{ Text string }
		}
		Usage struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		}
		Error *struct{ Code string }
	}
	var e struct {
		response
		Type     string
		Delta    string
		Item     struct{ Type, Name string }
		Response response
	}
	h.parse(data, &e)
	switch e.Type {
	case "response.output_text.delta":
		h.text += e.Delta
	case "response.function_call_arguments.delta":
		h.call("", e.Delta)
	case "response.output_item.added":
		if e.Item.Type == "function_call" {
			h.call(e.Item.Name, "")
		}
	case "response.completed", "response.incomplete":
		h.ended = true
		h.stop = e.Response.Status
		h.count(e.Response.Usage.Input, e.Response.Usage.Output)
	case "response.failed":
		h.failed = e.Response.Error.Code
	case "error":
		h.failed = "error"
	case "":
		for _, o := range e.Output {
			for _, c := range o.Content {
				h.text += c.Text
			}
			if o.Type == "function_call" {
				h.call(o.Name, o.Arguments)
			}
		}
		h.stop = e.Status
		h.count(e.Usage.Input, e.Usage.Output)
		if e.Error != nil {
			h.failed = "error " + e.Error.Code
		}
	}
}

func hearGemini(h *heard, data []byte) {
	var g struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text         string
					FunctionCall *struct {
						Name string
						Args json.RawMessage
					}
				}
			}
			FinishReason string
		}
		UsageMetadata struct {
			PromptTokenCount, CandidatesTokenCount int
		}
		Error *struct{ Status string }
	}
	h.parse(data, &g)
	for _, c := range g.Candidates {
		for _, p := range c.Content.Parts {
			h.text += p.Text
			if p.FunctionCall != nil {
				h.call(p.FunctionCall.Name, string(p.FunctionCall.Args))
			}
		}
		h.stop += c.FinishReason
		h.ended = h.ended || c.FinishReason != ""
	}
	h.count(g.UsageMetadata.PromptTokenCount, g.UsageMetadata.CandidatesTokenCount)
	if g.Error != nil {
		h.failed = g.Error.Status
	}
}

func (h *heard) parse(data []byte, into any) {
	if err := json.Unmarshal(data, into); err != nil {
		h.failed = "no JSON: " + err.Error()
	}
}

// call notes a call's name, or more of the last one's arguments.
func (h *heard) call(name, arguments string) {
	if name != "" {
		h.calls = append(h.calls, name+" ")
	}
	if n := len(h.calls); n > 0 {
		h.calls[n-1] += arguments
	}
}

func (h *heard) count(input, output int) {
	h.input, h.output = max(h.input, input), max(h.output, output)
}

// talk asks in one dialect and listens to the end.
func (s *stack) talk(sp *speaker, model string, stream bool, body string, headers ...string) *heard {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://gateway"+sp.path(model, stream), strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	h := &heard{status: res.StatusCode, header: res.Header, raw: string(raw)}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		sp.listen(h, raw)
		return h
	}
	lines := bufio.NewScanner(strings.NewReader(h.raw))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			sp.listen(h, []byte(data))
		}
	}
	return h
}

// Any client dialect reaches any provider, streamed or not: the same words arrive, and the same calls.
func TestEveryDialectReachesEveryProvider(t *testing.T) {
	for _, sp := range speakers() {
		for _, vendor := range vendors {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s to %s, stream %t", sp.name, vendor, stream), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
						model := vendor + "/m"
						h := s.talk(&sp, model, stream, sp.body(model, stream, "hello", false))
						if h.status != 200 || !strings.Contains(h.text, "simulated provider a") || h.failed != "" || stream && !h.ended {
							t.Fatalf("text: %d %q, ended %t, failed %q\n%s", h.status, h.text, h.ended, h.failed, h.raw)
						}
						if h.input == 0 || h.output == 0 || h.stop == "" {
							t.Errorf("usage %d+%d, stop %q\n%s", h.input, h.output, h.stop, h.raw)
						}
						if got := h.header.Get("X-Evergate-Model"); got != model {
							t.Errorf("answered by %q", got)
						}
						h = s.talk(&sp, model, stream, sp.body(model, stream, "what is the weather?", true))
						if h.status != 200 || len(h.calls) != 1 || stream && !h.ended {
							t.Fatalf("tools: %d, calls %q, ended %t\n%s", h.status, h.calls, h.ended, h.raw)
						}
						name, arguments, _ := strings.Cut(h.calls[0], " ")
						if name != "get_weather" || !strings.Contains(arguments, `"city"`) || !json.Valid([]byte(arguments)) {
							t.Errorf("call %s(%s)", name, arguments)
						}
					})
				})
			}
		}
	}
}

// R15, in every pair: a stream that breaks off after content ends with the client's own error event and no proper end.
func TestCutInEveryPair(t *testing.T) {
	for _, sp := range speakers() {
		for _, vendor := range vendors {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
					model := vendor + "/m"
					h := s.talk(&sp, model, true, sp.body(model, true, "hello", false), "X-Mock-Fault", "cut=3")
					if h.status != 200 || h.text == "" || h.ended || h.failed == "" {
						t.Fatalf("%d, text %q, ended %t, failed %q\n%s", h.status, h.text, h.ended, h.failed, h.raw)
					}
				})
			})
		}
	}
}

// A provider's refusal reaches every client with its status, its message and its wait, in the client's own form.
func TestRefusalInEveryPair(t *testing.T) {
	for _, sp := range speakers() {
		for _, vendor := range vendors {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {}})
					model := vendor + "/m"
					h := s.talk(&sp, model, false, sp.body(model, false, "hello", false), "X-Mock-Fault", "status=400")
					if h.status != 400 || h.failed == "" {
						t.Errorf("400: %d %s", h.status, h.raw)
					}
					h = s.talk(&sp, model, false, sp.body(model, false, "hello", false), "X-Mock-Fault", "status=429; retry-after=7")
					if h.status != 429 || h.failed == "" || h.header.Get("Retry-After") != "7" {
						t.Errorf("429: %d, Retry-After %q, %s", h.status, h.header.Get("Retry-After"), h.raw)
					}
				})
			})
		}
	}
}
