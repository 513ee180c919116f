package openaichat

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// R14
func TestJudge(t *testing.T) {
	t.Parallel()
	const message = `"message":{"role":"assistant","content":"hi"}`
	bad := func(class fault.Class, status int, code, message string) *fault.Fault {
		return &fault.Fault{Class: class, Status: status, Code: code, Message: message}
	}
	r14 := func(message string) *fault.Fault { return bad(fault.Invalid, 0, "", message) }
	for _, c := range []struct {
		name, body string
		reply      wire.Reply
		fault      *fault.Fault
	}{
		{
			name:  "an answer",
			body:  ` {"model":"m","choices":[{"index":0,` + message + `,"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			reply: wire.Reply{Model: "m", Finish: "stop", Usage: wire.Usage{Known: true, Input: 1, Output: 2}},
		},
		{
			name:  "empty text with a finish is an answer",
			body:  `{"choices":[{"message":{"content":""},"finish_reason":"length"},{"finish_reason":"stop"}],"error":null}`,
			reply: wire.Reply{Finish: "length"},
		},
		{name: "no finish", body: `{"choices":[{` + message + `}]}`},
		{name: "a finish that nobody knows", body: `{"choices":[{` + message + `,"finish_reason":"tea_break"}]}`, reply: wire.Reply{Finish: "tea_break"}},
		{name: "a finish without a message", body: `{"choices":[{"finish_reason":"content_filter"}]}`, reply: wire.Reply{Finish: "content_filter"}},
		{name: "an answer beside an error", body: `{"error":{"message":"late"},"choices":[{` + message + `}]}`},
		{name: "Groq's usage", body: `{"choices":[{` + message + `}],"x_groq":{"usage":{"prompt_tokens":3}}}`, reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 3}}},

		{name: "nothing", body: "", fault: r14("the upstream answered with an empty body")},
		{name: "white space", body: "\r\n ", fault: r14("the upstream answered with an empty body")},
		{name: "a page", body: "\n<!DOCTYPE html><html>", fault: r14("the upstream answered with an HTML page")},
		{name: "text", body: "upstream connect error", fault: r14("the upstream's answer is broken: invalid JSON at byte 0: expected a value")},
		{name: "half an answer", body: `{"choices":[{` + message, fault: r14("the upstream's answer is broken: invalid JSON at byte 58: it ends too early")},
		{name: "more than an answer", body: `{"choices":[{` + message + `}]} x`, fault: r14("the upstream's answer is broken: invalid JSON at byte 62: something follows the value")},
		{name: "a string", body: `"hi"`, fault: r14("the upstream answered with JSON that is not an object")},
		{name: "a list", body: `[]`, fault: r14("the upstream answered with JSON that is not an object")},
		{name: "an empty object", body: `{}`, fault: r14(`the upstream's answer has no "choices"`)},
		{name: "choices null", body: `{"choices":null}`, fault: r14(`the upstream's answer has no "choices"`)},
		{name: "choices empty", body: `{"choices":[],"usage":{"prompt_tokens":1}}`, reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 1}}, fault: r14(`"choices" in the upstream's answer is empty`)},
		{name: "choices an object", body: `{"choices":{}}`, fault: r14(`"choices" in the upstream's answer is an object, not an array`)},
		{name: "choices without a message", body: `{"choices":[{"index":0},null,{"message":null}]}`, fault: r14(`"choices" in the upstream's answer hold no message`)},
		{name: "another operation's answer", body: `{"choices":[{"text":"hi"}]}`, fault: r14(`"choices" in the upstream's answer hold no message`)},

		{
			name:  "an error object",
			body:  `{"error":{"message":"The service is overloaded","type":"server_error","param":null,"code":"service_overloaded"}}`,
			fault: bad(fault.Invalid, 0, "service_overloaded", "The service is overloaded"),
		},
		{name: "an error with a status", body: `{"error":{"message":"busy","type":"server_error","code":503}}`, fault: bad(fault.Upstream, 503, "server_error", "busy")},
		{name: "an error with a status in quotes", body: `{"error":{"message":"who?","code":"401"}}`, fault: bad(fault.Invalid, 401, "401", "who?")},
		{name: "an error with a status and choices", body: `{"error":{"message":"slow","code":429},"choices":[]}`, fault: bad(fault.Invalid, 429, "429", "slow")},
		{name: "an error text", body: `{"error":"no"}`, fault: bad(fault.Invalid, 0, "", "no")},
		{name: "an error that says nothing", body: `{"error":{}}`, fault: r14("the upstream answered with an error that says nothing")},
		{name: "a list with an error", body: `[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]`, fault: bad(fault.Upstream, 503, "UNAVAILABLE", "overloaded")},
		{name: "a message alone", body: `{"object":"error","message":"gone","type":"NotFoundError","code":404}`, fault: bad(fault.Invalid, 404, "NotFoundError", "gone")},
		{name: "a detail alone", body: `{"detail":"Invalid API Key"}`, fault: bad(fault.Invalid, 0, "", "Invalid API Key")},
		{
			name:  "an error in the choice",
			body:  `{"choices":[{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"boom"}},"message":{"content":""},"finish_reason":"error"}]}`,
			reply: wire.Reply{Finish: "error"}, fault: bad(fault.Upstream, 502, "502", "Provider returned error: boom"),
		},
		{
			name:  "an error in a choice without content",
			body:  `{"choices":[{"error":{"code":502,"message":"gone"},"message":{"content":""},"finish_reason":"stop"}]}`,
			reply: wire.Reply{Finish: "stop"}, fault: bad(fault.Upstream, 502, "502", "gone"),
		},
		{name: "a number that is no status", body: `{"error":{"code":1302,"message":"busy"}}`, fault: bad(fault.Invalid, 0, "1302", "busy")},
		{
			name:  "a finish that is a failure",
			body:  `{"choices":[{` + message + `,"finish_reason":"insufficient_system_resource"}]}`,
			reply: wire.Reply{Finish: "insufficient_system_resource"},
			fault: bad(fault.Invalid, 0, "insufficient_system_resource", `the upstream broke the answer off with finish_reason "insufficient_system_resource"`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reply, f := Chat{}.Judge([]byte(c.body))
			if d := cmp.Diff(c.fault, f); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.reply, reply); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestJudgeCompletionsAndEmbeddings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		d          wire.Dialect
		want       string // the fault's message
	}{
		{"text", `{"choices":[{"text":"","finish_reason":"stop"}]}`, Completions{}, ""},
		{"a message instead of text", `{"choices":[{"message":{"content":"hi"}}]}`, Completions{}, `"choices" in the upstream's answer hold no text`},
		{"an embedding", `{"data":[{"embedding":[0.1]},{"embedding":"AAAA"}]}`, Embeddings{}, ""},
		{"no data", `{"object":"list"}`, Embeddings{}, `the upstream's answer has no "data"`},
		{"data empty", `{"data":[]}`, Embeddings{}, `"data" in the upstream's answer is empty`},
		{"data an object", `{"data":{}}`, Embeddings{}, `"data" in the upstream's answer is an object, not an array`},
		{"data without an embedding", `{"data":[{"embedding":[1]},{"embedding":null}]}`, Embeddings{}, `"data" in the upstream's answer lacks an embedding`},
		{"an embedding empty", `{"data":[{"embedding":[]}]}`, Embeddings{}, `"data" in the upstream's answer lacks an embedding`},
		{"an error", `{"error":{"message":"no embeddings here"}}`, Embeddings{}, "no embeddings here"},
		{"broken", `{"data":[{"embedding":[1`, Embeddings{}, "the upstream's answer is broken: invalid JSON at byte 24: it ends too early"},
		{"a page", `<html>`, Embeddings{}, "the upstream answered with an HTML page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, f := c.d.Judge([]byte(c.body))
			got := ""
			if f != nil {
				got = f.Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// plainUsage is a usage object as encoding/json reads it, in all the spellings of the recordings.
type plainUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	CacheHit         int64 `json:"prompt_cache_hit_tokens"`
	CacheCreation    int64 `json:"cache_creation_input_tokens"`
	Prompt           struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
		Audio  int64 `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	Completion struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Audio     int64 `json:"audio_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *plainUsage) wire() wire.Usage {
	if u == nil {
		return wire.Usage{}
	}
	out := wire.Usage{
		Known: true, Input: u.PromptTokens, Output: u.CompletionTokens,
		CachedInput: max(u.CacheHit, u.Prompt.Cached), CacheWrite: max(u.CacheCreation, u.Prompt.Write),
		Reasoning: u.Completion.Reasoning, AudioInput: u.Prompt.Audio, AudioOutput: u.Completion.Audio,
	}
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		out.Input = u.TotalTokens
	}
	if r := u.Completion.Reasoning; r > 0 && u.PromptTokens+u.CompletionTokens+r == u.TotalTokens { // xAI
		out.Output += r
	}
	return out
}

func TestJudgeRecordings(t *testing.T) {
	t.Parallel()
	for name, body := range files(t, "replies") {
		reply, f := dialectOf(name).Judge(body)
		if name == "azure-content-filter-prompt.json" {
			if f == nil || f.Status != 400 || f.Code != "content_filter" || !strings.HasPrefix(f.Message, "The response was filtered") {
				t.Errorf("%s: %v", name, f)
			}
			continue
		}
		if f != nil {
			t.Errorf("%s: %v", name, f)
			continue
		}
		var plain struct {
			Model   string
			Usage   *plainUsage
			Choices []struct {
				Finish string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatal(name, err)
		}
		want := wire.Reply{Model: plain.Model, Usage: plain.Usage.wire()}
		if len(plain.Choices) > 0 {
			want.Finish = plain.Choices[0].Finish
		}
		if d := cmp.Diff(want, reply); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		// Cut anywhere it is no answer.
		for at := 0; at < len(strings.TrimRight(string(body), " \n")); at += 1 + len(body)/97 {
			if _, f := dialectOf(name).Judge(body[:at]); f == nil || f.Class != fault.Invalid {
				t.Errorf("%s cut at %d: %v", name, at, f)
			}
		}
	}
}

func TestUsageSpellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]wire.Usage{
		`null`:                {},
		`{}`:                  {},
		`{"cost":0.1}`:        {},
		`"many"`:              {},
		`{"prompt_tokens":0}`: {Known: true},
		`{"prompt_tokens":10,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":4,"cache_write_tokens":5},"completion_tokens_details":{"reasoning_tokens":6,"audio_tokens":7}}`: {Known: true, Input: 10, Output: 20, CachedInput: 3, AudioInput: 4, CacheWrite: 5, Reasoning: 6, AudioOutput: 7},
		`{"prompt_tokens":10.0,"completion_tokens":1e1,"prompt_tokens_details":null,"completion_tokens_details":null}`:                                                                                        {Known: true, Input: 10, Output: 10},
		`{"prompt_tokens":10,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`:                                                                                                                       {Known: true, Input: 10, CachedInput: 8},
		`{"prompt_tokens":10,"cached_tokens":8}`: {Known: true, Input: 10, CachedInput: 8},
		`{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":1,"reasoning_tokens":2}`: {Known: true, Input: 10, Output: 5, CachedInput: 7, CacheWrite: 1, Reasoning: 2},
		`{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":8},"cached_tokens":0}`:                                     {Known: true, Input: 10, CachedInput: 8},
		`{"total_tokens":9}`:                           {Known: true, Input: 9},
		`{"prompt_tokens":"10","completion_tokens":5}`: {Known: true, Output: 5},
	} {
		reply, f := Chat{}.Judge([]byte(`{"choices":[{"message":{}}],"usage":` + in + `}`))
		if d := cmp.Diff(want, reply.Usage); d != "" || f != nil {
			t.Errorf("%s: %s %v", in, d, f)
		}
	}
}
