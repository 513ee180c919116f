package anthropic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Content: parts} }

func assistant(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.Assistant, Content: parts}
}

func late(s string) llm.Message {
	return llm.Message{Role: llm.System, Content: []llm.Part{text(s)}}
}

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: arguments}}
}

func result(id string, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: id, Content: parts}}
}

func thought(vendor llm.Vendor, kind llm.SealKind, s, data string) llm.Part {
	return llm.Part{Kind: llm.Reasoning, Text: s, Seal: &llm.Seal{Vendor: vendor, Kind: kind, Data: data}}
}

func pointer[T any](v T) *T { return &v }

// asks makes a request of messages, with what else is said of it.
func asks(messages []llm.Message, more func(*llm.Request)) *llm.Request {
	q := &llm.Request{Messages: messages, MaxTokens: 100, Dropped: &llm.Dropped{}}
	if more != nil {
		more(q)
	}
	return q
}

// encoded gives the request's members, but for model and max_tokens of 100, as JSON in the order they have, and what was noted.
func encoded(t *testing.T, q *llm.Request, to wire.Target) (body string, dropped []string) {
	t.Helper()
	if to.Model == "" {
		to.Model = "up-model"
	}
	if to.Vendor == "" {
		to.Vendor = llm.Anthropic
	}
	out, err := Messages{}.EncodeRequest([]byte("x"), q, &to)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, out[1:])
	body = strings.TrimPrefix(string(out), `x{"model":"`+to.Model+`",`)
	body = strings.TrimPrefix(body, `"max_tokens":100,`)
	if _, err := (Messages{}).ReadRequest(out[1:]); err != nil {
		t.Error(err)
	}
	return strings.TrimSuffix(body, "}"), q.Dropped.Names()
}

func TestEncodeTurns(t *testing.T) {
	t.Parallel()
	png := &llm.Media{Type: "image/png", Data: "iVBORw0K"}
	for name, c := range map[string]struct {
		q       *llm.Request
		to      wire.Target
		want    string
		dropped []string
	}{
		"parallel results share one user turn, results first": {
			q: asks([]llm.Message{
				user(text("both")), assistant(call("call_a", "f", `{"x":1.0}`), call("call_b", "g", "")),
				user(result("call_a", text("A"))), user(text("and?")), user(result("call_b", text("B"))),
			}, nil),
			want: `"tools":[{"name":"f","input_schema":{"type":"object"}},{"name":"g","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"both"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_a","name":"f","input":{"x":1.0}},{"type":"tool_use","id":"call_b","name":"g","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_a","content":"A"},{"type":"tool_result","tool_use_id":"call_b","content":"B"},{"type":"text","text":"and?"}]}]`,
		},
		"neighbours are joined, empty texts and turns left out": {
			q: asks([]llm.Message{
				user(text("a")), assistant(text("")), user(text("b"), text(" \n")), assistant(text("c")), assistant(text("d")), user(text("e")),
			}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]},{"role":"user","content":[{"type":"text","text":"e"}]}]`,
		},
		"a system message in the middle, of a model that takes none": {
			q: asks([]llm.Message{user(text("q")), assistant(text("a")), late("REMINDER"), user(text("q2"))},
				func(q *llm.Request) { q.System = []llm.Part{text("BASE")} }),
			want: `"system":[{"type":"text","text":"BASE"}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[` +
				`{"type":"text","text":"<system-reminder>\nREMINDER\n</system-reminder>"},{"type":"text","text":"q2"}]}]`,
		},
		"the same after a result": {
			q: asks([]llm.Message{user(text("q")), assistant(call("c", "f", "{}")), user(result("c", text("r"))), late("R"), assistant(text("x")), user(text("y"))}, nil),
			want: `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"},{"type":"text","text":"<system-reminder>\nR\n</system-reminder>"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"text","text":"y"}]}]`,
		},
		"of a model that takes them, where it does": {
			to: wire.Target{Model: "claude-opus-4-8"},
			q:  asks([]llm.Message{user(text("q")), late("R"), late("S"), assistant(text("a")), user(text("q2")), late("T")}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"system","content":[{"type":"text","text":"R"},{"type":"text","text":"S"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"q2"}]},{"role":"system","content":[{"type":"text","text":"T"}]}]`,
		},
		"of a model that takes them, where it does not": {
			to: wire.Target{Model: "claude-opus-5"},
			q:  asks([]llm.Message{user(text("q")), late("R"), user(text("q2")), assistant(text("a")), late("S"), user(text("q3"))}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"<system-reminder>\nR\n</system-reminder>"},{"type":"text","text":"q2"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"<system-reminder>\nS\n</system-reminder>"},{"type":"text","text":"q3"}]}]`,
		},
		"leading system messages": {
			q:    asks([]llm.Message{late("A"), user(text("q"))}, func(q *llm.Request) { q.System = []llm.Part{text("S"), text("")} }),
			want: `"system":[{"type":"text","text":"S"},{"type":"text","text":"A"}],"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]`,
		},
		"nothing but instructions": {
			q:    asks(nil, func(q *llm.Request) { q.System = []llm.Part{text("Say hi.")} }),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"Say hi."}]}]`,
		},
		"a beginning of the answer": {
			q:    asks([]llm.Message{user(text("q")), assistant(text("The answer is: \n"))}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"text","text":"The answer is:"}]}]`,
		},
		"foreign ids": {
			q: asks([]llm.Message{
				user(text("x")), assistant(call("functions.Bash:0", "f", `{}`), call("functions.Bash;0", "f", `{}`)),
				user(result("functions.Bash:0", text("A")), result("functions.Bash;0", text("B"))),
			}, nil),
			want: `"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"functions_Bash_0_1jdb8wkajapec","name":"f","input":{}},{"type":"tool_use","id":"functions_Bash_0_1jdl0gcb894m5","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_Bash_0_1jdb8wkajapec","content":"A"},{"type":"tool_result","tool_use_id":"functions_Bash_0_1jdl0gcb894m5","content":"B"}]}]`,
		},
		"no ids": {
			q: asks([]llm.Message{user(text("x")), assistant(call("", "f", ""), call("", "g", "")), user(result("", text("A")), result("", text("B")))},
				func(q *llm.Request) { q.Tools = []llm.Tool{{Name: "f"}, {Name: "g"}} }),
			want: `"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}},{"name":"g","input_schema":{"type":"object","properties":{}}}],` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"f","input":{}},{"type":"tool_use","id":"call_2","name":"g","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"A"},{"type":"tool_result","tool_use_id":"call_2","content":"B"}]}]`,
		},
		"arguments that are no object": {
			q: asks([]llm.Message{user(text("x")), assistant(
				call("a", "f", `[1]`), call("b", "f", `{"x":`), call("c", "f", `null`), call("d", "f", ` {"b":1, "a":2} `),
				llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "e", Name: "f", Arguments: "*** \"x\"", Custom: true}},
			)}, func(q *llm.Request) { q.Tools = []llm.Tool{{Name: "f", Schema: []byte(`{"type":"object"}`)}} }),
			want: `"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[` +
				`{"type":"tool_use","id":"a","name":"f","input":{"input":[1]}},{"type":"tool_use","id":"b","name":"f","input":{"input":"{\"x\":"}},{"type":"tool_use","id":"c","name":"f","input":{}},` +
				`{"type":"tool_use","id":"d","name":"f","input":{"b":1, "a":2}},{"type":"tool_use","id":"e","name":"f","input":{"input":"*** \"x\""}}]}]`,
			dropped: []string{llm.DropCustomTools},
		},
		"results with images, errors, nothing": {
			q: asks([]llm.Message{user(text("x")), assistant(call("a", "f", "")), user(
				result("a", text("see"), llm.Part{Kind: llm.Image, Media: png}, text(""), llm.Part{Kind: llm.Audio, Media: png}),
				llm.Part{Kind: llm.ToolResult, Cache: &llm.Cache{}, Result: &llm.Result{CallID: "b", Error: true}},
			)}, func(q *llm.Request) { q.Tools = []llm.Tool{{Name: "f", Schema: []byte(`{}`)}} }),
			want: `"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[` +
				`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0K"}}]},` +
				`{"type":"tool_result","tool_use_id":"b","is_error":true,"cache_control":{"type":"ephemeral"}}]}]`,
			dropped: []string{llm.DropAudio},
		},
		"images and documents": {
			q: asks([]llm.Message{user(
				llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "https://x/y.png", Detail: "low"}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{Data: "/9j/4AAQ", Detail: "auto"}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/tiff", Data: "SUkq"}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{FileID: "file-1", Vendor: llm.OpenAI}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{FileID: "file_1", Vendor: llm.Anthropic}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Type: "application/pdf", Data: "JVBERi0x", Name: "a.pdf"}, Cache: &llm.Cache{TTL: "1h"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Type: "text/csv; charset=utf-8", Data: "YSxi", Name: strings.Repeat("é", 600)}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{PlainText: "hello"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{URL: "https://x/y.pdf"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Type: "application/vnd.ms-excel", Data: "AAAA"}},
				llm.Part{Kind: llm.Audio, Media: &llm.Media{Data: "AAAA"}}, llm.Part{Kind: llm.Video, Media: &llm.Media{URL: "u"}},
			), assistant(llm.Part{Kind: llm.Image, Media: png}, text("ok"))}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/y.png"}},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}},{"type":"image","source":{"type":"file","file_id":"file_1"}},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"},"title":"a.pdf","cache_control":{"type":"ephemeral","ttl":"1h"}},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a,b"},"title":"` + strings.Repeat("é", 500) + `"},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}},{"type":"document","source":{"type":"url","url":"https://x/y.pdf"}}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"ok"}]}]`,
			dropped: []string{"detail", llm.DropImages, llm.DropFileIDs, llm.DropDocuments, llm.DropAudio, llm.DropVideo},
		},
		"thoughts: only those of the target's vendor, as they were": {
			q: asks([]llm.Message{user(text("q")), assistant(
				thought(llm.Anthropic, llm.Signed, "a <b>\u2028", "c2ln+/="), thought(llm.Anthropic, llm.Redacted, "", "cmVk"),
				thought(llm.OpenAI, llm.Encrypted, "", "gAAAA"), thought(llm.Google, llm.Signed, "secret", "x"),
				llm.Part{Kind: llm.Reasoning, Text: "unsealed"}, text("a"),
			), user(text("q2"))}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[` +
				`{"type":"thinking","thinking":"a <b>` + "\u2028" + `","signature":"c2ln+/="},{"type":"redacted_thinking","data":"cmVk"},{"type":"text","text":"a"}]},` +
				`{"role":"user","content":[{"type":"text","text":"q2"}]}]`,
			dropped: []string{llm.DropSignatures, llm.DropReasoning},
		},
		"thoughts for another vendor's target, and unsealed": {
			to: wire.Target{Unsealed: true},
			q: asks([]llm.Message{
				user(text("q")), assistant(thought(llm.Anthropic, llm.Signed, "t", "s")), user(text("q2")),
				assistant(thought(llm.Anthropic, llm.Redacted, "", "s"), text("a")), user(text("q3")),
			}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"},{"type":"text","text":"q2"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]},` +
				`{"role":"user","content":[{"type":"text","text":"q3"}]}]`,
			dropped: []string{llm.DropSignatures, llm.DropReasoning},
		},
		"what only one vendor understands": {
			q: asks([]llm.Message{{Role: llm.User, Name: "pat", Content: []llm.Part{text("q")}}, assistant(
				llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte(`{"type":"server_tool_use"}`)}},
				llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "web_search_call", Raw: []byte(`{}`)}},
				llm.Part{Kind: llm.Text, Text: "a", Citations: []llm.Citation{{URL: "u"}}, Signature: &llm.Seal{Vendor: llm.Google}},
				llm.Part{Kind: llm.Refusal, Text: "no"},
			), user(text("r"))}, nil),
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"server_tool_use"},` +
				`{"type":"text","text":"a"},{"type":"text","text":"no"}]},{"role":"user","content":[{"type":"text","text":"r"}]}]`,
			dropped: []string{llm.DropNames, llm.DropServerTools, llm.DropSignatures, llm.DropCitations},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, dropped := encoded(t, c.q, c.to)
			if diff := cmp.Diff(c.want, got) + cmp.Diff(c.dropped, dropped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fields encodes a request with one short message and gives what else is in it.
func fields(t *testing.T, more func(*llm.Request), to wire.Target) (string, []string) {
	t.Helper()
	q := asks([]llm.Message{user(text("q"))}, more)
	body, dropped := encoded(t, q, to)
	before, after, _ := strings.Cut(body, `"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]`)
	return before + strings.TrimPrefix(after, ","), dropped
}

func TestEncodeFields(t *testing.T) {
	t.Parallel()
	tool := []llm.Tool{{Name: "ls", Description: "lists", Schema: []byte(`{"type":"object", "properties":{}}`)}}
	const toolJSON = `"tools":[{"name":"ls","description":"lists","input_schema":{"type":"object", "properties":{}}}],`
	claude := func(id string) wire.Target { return wire.Target{Model: id} }
	strictObject := []byte(`{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}`)
	for name, c := range map[string]struct {
		more    func(*llm.Request)
		to      wire.Target
		want    string
		dropped []string
	}{
		"stream":                          {more: func(q *llm.Request) { q.Stream = true }, want: `"stream":true`},
		"no limit":                        {more: func(q *llm.Request) { q.MaxTokens = 0 }, want: `"max_tokens":8192,`},
		"no limit, a default":             {more: func(q *llm.Request) { q.MaxTokens = 0 }, to: wire.Target{Quirks: wire.Quirks{DefaultMaxTokens: 77}}, want: `"max_tokens":77,`},
		"no limit, an old model":          {more: func(q *llm.Request) { q.MaxTokens = 0 }, to: claude("claude-3-opus-20240229"), want: `"max_tokens":4096,`},
		"no limit, a new model":           {more: func(q *llm.Request) { q.MaxTokens = 0 }, to: claude("claude-sonnet-4-5"), want: `"max_tokens":32000,`},
		"temperature":                     {more: func(q *llm.Request) { q.Temperature = pointer(0.2) }, want: `"temperature":0.2`},
		"temperature 0":                   {more: func(q *llm.Request) { q.Temperature = pointer(0.0) }, want: `"temperature":0`},
		"temperature beyond 1":            {more: func(q *llm.Request) { q.Temperature = pointer(1.7) }, want: `"temperature":1`, dropped: []string{"temperature"}},
		"temperature and top_p":           {more: func(q *llm.Request) { q.Temperature, q.TopP = pointer(0.2), pointer(0.9) }, want: `"temperature":0.2,"top_p":0.9`},
		"temperature and top_p, 4.5":      {more: func(q *llm.Request) { q.Temperature, q.TopP = pointer(0.2), pointer(0.9) }, to: claude("claude-haiku-4-5"), want: `"temperature":0.2`, dropped: []string{"top_p"}},
		"temperature 1 and top_p, 4.5":    {more: func(q *llm.Request) { q.Temperature, q.TopP = pointer(1.0), pointer(0.9) }, to: claude("claude-haiku-4-5"), want: `"top_p":0.9`},
		"sampling that is fixed":          {more: func(q *llm.Request) { q.Temperature, q.TopP, q.TopK = pointer(0.5), pointer(0.5), pointer(int64(4)) }, to: claude("claude-opus-4-7"), dropped: []string{"temperature", "top_p", "top_k"}},
		"sampling that is fixed, default": {more: func(q *llm.Request) { q.Temperature = pointer(1.0) }, to: claude("claude-opus-4-7"), want: `"temperature":1`},
		"top_k":                           {more: func(q *llm.Request) { q.TopK = pointer(int64(5)) }, want: `"top_k":5`},
		"stops":                           {more: func(q *llm.Request) { q.Stop = []string{"\n", "END", ""} }, want: `"stop_sequences":["END"]`, dropped: []string{"stop"}},
		"user":                            {more: func(q *llm.Request) { q.User = "u\"1" }, want: `"metadata":{"user_id":"u\"1"}`},
		"a user's long name":              {more: func(q *llm.Request) { q.User = strings.Repeat("x", 513) }, dropped: []string{"user"}},
		"tier auto":                       {more: func(q *llm.Request) { q.ServiceTier = "auto" }, want: `"service_tier":"auto"`},
		"tier default":                    {more: func(q *llm.Request) { q.ServiceTier = "default" }, want: `"service_tier":"standard_only"`},
		"tier flex":                       {more: func(q *llm.Request) { q.ServiceTier = "flex" }, dropped: []string{"service_tier"}},
		"cache for all":                   {more: func(q *llm.Request) { q.Cache = &llm.Cache{TTL: "5m"} }, want: `"cache_control":{"type":"ephemeral","ttl":"5m"}`},
		"cache for long":                  {more: func(q *llm.Request) { q.Cache = &llm.Cache{TTL: "24h"} }, want: `"cache_control":{"type":"ephemeral"}`, dropped: []string{"cache_control.ttl"}},
		"what there is no word for": {more: func(q *llm.Request) {
			q.MinP, q.FrequencyPenalty, q.PresencePenalty, q.Seed = pointer(0.1), pointer(0.5), pointer(0.5), pointer(int64(7))
			q.Choices, q.LogProbs, q.TopLogProbs, q.LogitBias = 2, true, 3, []byte(`{"1":2}`)
			q.Verbosity, q.Metadata, q.CacheKey, q.CacheRetention, q.Store = "low", []byte(`{"a":"b"}`), "k", "24h", pointer(true)
			q.Modalities, q.AudioVoice = []string{"text", "audio"}, "alloy"
		}, dropped: []string{
			"min_p", "frequency_penalty", "presence_penalty", "seed", "n", "logprobs", "top_logprobs", "logit_bias", "verbosity", "metadata",
			"prompt_cache_key", "prompt_cache_retention", "store", "audio", "modalities",
		}},
		"defaults are no loss": {more: func(q *llm.Request) {
			q.FrequencyPenalty, q.Choices, q.LogitBias, q.Verbosity, q.Store, q.Modalities = pointer(0.0), 1, []byte(`{}`), "medium", pointer(false), []string{"text"}
			q.Parallel = pointer(true)
		}},
		"refused fields": {
			more: func(q *llm.Request) {
				q.Temperature, q.TopP, q.TopK, q.Stop, q.User, q.ServiceTier = pointer(0.1), pointer(0.2), pointer(int64(1)), []string{"x"}, "u", "auto"
				q.Cache = &llm.Cache{}
				q.Tools, q.Choice = tool, llm.ToolChoice{How: llm.Required}
			},
			to:      wire.Target{Quirks: wire.Quirks{Refuses: []string{"temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "tool_choice", "cache_control"}}},
			want:    toolJSON,
			dropped: []string{"cache_control", "tool_choice", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier"},
		},

		"tools":               {more: func(q *llm.Request) { q.Tools = tool }, want: toolJSON},
		"tool choice auto":    {more: func(q *llm.Request) { q.Tools, q.Choice.How = tool, llm.Auto }, want: toolJSON + `"tool_choice":{"type":"auto"}`},
		"tool choice any":     {more: func(q *llm.Request) { q.Tools, q.Choice.How = tool, llm.Required }, want: toolJSON + `"tool_choice":{"type":"any"}`},
		"tool choice named":   {more: func(q *llm.Request) { q.Tools, q.Choice = tool, llm.ToolChoice{How: llm.Named, Name: "ls"} }, want: toolJSON + `"tool_choice":{"type":"tool","name":"ls"}`},
		"tool choice none":    {more: func(q *llm.Request) { q.Tools, q.Choice.How, q.Parallel = tool, llm.None, pointer(false) }, want: toolJSON + `"tool_choice":{"type":"none"}`},
		"one call at a time":  {more: func(q *llm.Request) { q.Tools, q.Parallel = tool, pointer(false) }, want: toolJSON + `"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		"a choice of nothing": {more: func(q *llm.Request) { q.Choice.How, q.Parallel = llm.None, pointer(false) }},
		"some tools": {
			more: func(q *llm.Request) {
				q.Tools = append([]llm.Tool{{Name: "rm"}}, tool...)
				q.Choice = llm.ToolChoice{How: llm.Auto, Only: []string{"ls"}}
			},
			want: toolJSON + `"tool_choice":{"type":"auto"}`,
		},
		"other tools": {
			more: func(q *llm.Request) {
				q.Tools = []llm.Tool{
					{Opaque: &llm.Block{Vendor: llm.Anthropic, Raw: []byte(`{"type":"web_search_20250305","name":"web_search"}`)}},
					{Opaque: &llm.Block{Vendor: llm.OpenAI, Raw: []byte(`{}`)}},
					{Name: "patch", Custom: true},
					{Name: "s", Schema: strictObject, Strict: pointer(true)},
					{Name: "t", Schema: []byte(`{"properties":{}}`), Strict: pointer(true), Cache: &llm.Cache{}},
				}
			},
			want: `"tools":[{"type":"web_search_20250305","name":"web_search"},` +
				`{"name":"patch","input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}},` +
				`{"name":"s","input_schema":` + string(strictObject) + `,"strict":true},` +
				`{"name":"t","input_schema":{"properties":{},"type":"object"},"cache_control":{"type":"ephemeral"}}],`,
			dropped: []string{llm.DropServerTools, llm.DropCustomTools, llm.DropStrict},
		},

		"a schema": {
			more: func(q *llm.Request) { q.Format = llm.Format{Kind: llm.JSONSchema, Name: "point", Schema: strictObject} },
			want: `"output_config":{"format":{"type":"json_schema","schema":` + string(strictObject) + `}}`,
		},
		"a schema for a model that knows none": {
			more:    func(q *llm.Request) { q.Format = llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{"a":1}`)} },
			to:      claude("claude-3-5-haiku-latest"),
			want:    `"system":[{"type":"text","text":"Answer with JSON that keeps to this JSON Schema and with nothing else, no text around it, no code fence:\n{\"a\":1}"}],`,
			dropped: []string{"json_schema"},
		},
		"a JSON object": {
			more:    func(q *llm.Request) { q.Format.Kind = llm.JSONObject; q.System = []llm.Part{text("S")} },
			want:    `"system":[{"type":"text","text":"S"},{"type":"text","text":"Answer with one valid JSON object and nothing else: no text around it, no code fence."}],`,
			dropped: []string{"response_format"},
		},

		"effort, by budget":           {more: func(q *llm.Request) { q.MaxTokens, q.Reasoning = 4000, &llm.Effort{Level: "high"} }, want: `"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":3200}`},
		"effort, no limit":            {more: func(q *llm.Request) { q.MaxTokens, q.Reasoning = 0, &llm.Effort{Level: "low"} }, to: claude("claude-sonnet-4-5"), want: `"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":2048}`},
		"a budget":                    {more: func(q *llm.Request) { q.MaxTokens, q.Reasoning = 9000, &llm.Effort{Budget: 5000, Show: "none"} }, want: `"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":5000}`},
		"no room to think":            {more: func(q *llm.Request) { q.MaxTokens, q.Reasoning = 1024, &llm.Effort{Level: "high"} }, want: `"max_tokens":1024,`, dropped: []string{"reasoning_effort"}},
		"effort, adaptive":            {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "minimal"} }, to: claude("claude-opus-4-6"), want: `"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}`},
		"effort, adaptive, xhigh":     {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "xhigh", Show: "detailed"} }, to: claude("claude-sonnet-5"), want: `"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"xhigh"}`},
		"xhigh where it is not known": {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "xhigh"} }, to: claude("claude-sonnet-4-6"), want: `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		"as the model likes":          {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Budget: -1, Show: "none"} }, to: claude("claude-opus-4-7"), want: `"thinking":{"type":"adaptive","display":"omitted"}`},
		"effort and schema": {
			more: func(q *llm.Request) {
				q.Reasoning, q.Format = &llm.Effort{Level: "high"}, llm.Format{Kind: llm.JSONSchema, Schema: strictObject}
			},
			to:   claude("claude-opus-4-6"),
			want: `"thinking":{"type":"adaptive"},"output_config":{"effort":"high","format":{"type":"json_schema","schema":` + string(strictObject) + `}}`,
		},
		"effort of a model that cannot": {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "high"} }, to: claude("claude-3-5-sonnet-20241022"), dropped: []string{"reasoning_effort"}},
		"off":                           {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Off: true} }},
		"off, of one that always does":  {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "none"} }, to: claude("claude-fable-5"), dropped: []string{"reasoning_effort"}},
		"nothing asked":                 {more: func(q *llm.Request) { q.Reasoning = &llm.Effort{Sealed: true} }},
		"thinking and a forced tool": {
			more: func(q *llm.Request) {
				q.MaxTokens, q.Reasoning, q.Tools, q.Choice.How = 9000, &llm.Effort{Level: "low"}, tool, llm.Required
			},
			want: `"max_tokens":9000,` + toolJSON + `"tool_choice":{"type":"any"}`, dropped: []string{"reasoning_effort"},
		},
		"thinking and sampling": {
			more: func(q *llm.Request) {
				q.MaxTokens, q.Reasoning = 9000, &llm.Effort{Level: "low"}
				q.Temperature, q.TopP, q.TopK = pointer(0.3), pointer(0.97), pointer(int64(3))
			},
			want: `"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2048},"top_p":0.97`, dropped: []string{"temperature", "top_k"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, dropped := fields(t, c.more, c.to)
			if diff := cmp.Diff(strings.TrimSuffix(c.want, ","), strings.TrimSuffix(got, ",")) + cmp.Diff(c.dropped, dropped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Thinking by budget needs the thoughts before a call that waits for its result.
func TestEncodeThinkingInToolLoop(t *testing.T) {
	t.Parallel()
	loop := func(first ...llm.Part) []llm.Message {
		return []llm.Message{user(text("q")), assistant(append(first, call("a", "f", ""))...), user(result("a", text("r")))}
	}
	set := func(q *llm.Request) {
		q.MaxTokens, q.Reasoning, q.Tools = 9000, &llm.Effort{Level: "low"}, []llm.Tool{{Name: "f"}}
	}
	for name, c := range map[string]struct {
		messages []llm.Message
		model    string
		thinks   bool
	}{
		"without":              {loop(), "claude-sonnet-4-5", false},
		"with":                 {loop(thought(llm.Anthropic, llm.Signed, "t", "s")), "claude-sonnet-4-5", true},
		"another's":            {loop(thought(llm.Google, llm.Signed, "t", "s")), "claude-sonnet-4-5", false},
		"adaptive":             {loop(), "claude-opus-4-6", true},
		"an answer in between": {append(loop(), assistant(text("done")), user(text("more"))), "claude-sonnet-4-5", true},
		"a beginning":          {[]llm.Message{user(text("q")), assistant(text("The"))}, "claude-sonnet-4-5", false},
	} {
		body, dropped := encoded(t, asks(c.messages, set), wire.Target{Model: c.model})
		if got := strings.Contains(body, `"thinking":{`); got != c.thinks || slices.Contains(dropped, "reasoning_effort") == got {
			t.Errorf("%s: %s, dropped %v", name, body, dropped)
		}
	}
}

// Of more than four markers the last four stay.
func TestEncodeCacheMarkers(t *testing.T) {
	t.Parallel()
	mark := &llm.Cache{}
	marked := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s, Cache: mark} }
	body, dropped := encoded(t, asks([]llm.Message{user(marked("c"), marked("d")), assistant(marked("e")), user(marked("f"))}, func(q *llm.Request) {
		q.Tools = []llm.Tool{{Name: "a", Cache: mark}}
		q.System = []llm.Part{marked("b")}
	}), wire.Target{})
	if n := strings.Count(body, `"cache_control"`); n != 4 || strings.Contains(body, `"b","cache_control"`) || !strings.Contains(body, `"c","cache_control"`) {
		t.Errorf("%d markers: %s", n, body)
	}
	if !slices.Equal(dropped, []string{llm.DropCache}) {
		t.Error(dropped)
	}
}

func TestEncodeNothing(t *testing.T) {
	t.Parallel()
	q := asks([]llm.Message{user(text(" ")), assistant(llm.Part{Kind: llm.Audio, Media: &llm.Media{}})}, nil)
	_, err := Messages{}.EncodeRequest(nil, q, &wire.Target{})
	var bad *wire.RequestError
	if !errors.As(err, &bad) || bad.Param != "messages" {
		t.Errorf("%v", err)
	}
}

func TestLegalID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	seen := map[string]bool{}
	for _, id := range []string{"toolu_01-Ab", "a.b", "a:b", "a_b", "", "é", long, long + "y", strings.Repeat("x", 64), "fc_1|call_2"} {
		got := legalID(id)
		if again := legalID(got); again != got || seen[got] || len(got) == 0 || len(got) > 64 {
			t.Errorf("%q became %q, then %q", id, got, again)
		}
		seen[got] = true
	}
	for _, id := range []string{"toolu_01-Ab", "a_b", strings.Repeat("x", 64)} {
		if legalID(id) != id {
			t.Errorf("%q was changed", id)
		}
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]int{
		"claude-3-haiku-20240307": 300, "claude-3-5-sonnet-20241022": 305, "claude-3-7-sonnet-latest": 307, "claude-sonnet-4-20250514": 400,
		"claude-opus-4-1-20250805": 401, "claude-haiku-4-5@20251001": 405, "us.anthropic.claude-opus-4-6-v1": 406,
		"anthropic.claude-3-sonnet-20240229-v1:0": 300, "anthropic/claude-opus-4.7": 407, "claude-sonnet-5": 500, "claude-fable-5-1": 501, "claude-2.1": 201,
		"claude-instant-1.2": 102, "claude-mythos-preview": 407, "anthropic/claude-4.7-opus": 407,
		"gpt-5": -1, "up-claude": -1, "claude-latest": -1, "kimi-k2": -1,
	} {
		major, minor, ok := version(id)
		got := major*100 + minor
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

// What a client sends can be as long as it likes: time must not grow with its square.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	var schema strings.Builder
	schema.WriteString(`{"type":"object","additionalProperties":false,"properties":{"p0":true`)
	q := asks(nil, nil)
	for i := range 30_000 {
		fmt.Fprintf(&schema, `,"p%d":{"type":"string"}`, i)
		q.Messages = append(q.Messages, assistant(call("", fmt.Sprint("f", i), "")))
	}
	schema.WriteString("}}")
	if list := membersOf(valueOf(membersOf([]byte(schema.String())), "properties")); len(list) != 30_000 || string(list[0].raw) != `{"type":"string"}` {
		t.Errorf("%d members, the first is %s", len(list), list[0].raw)
	}
	q.Format = llm.Format{Kind: llm.JSONSchema, Schema: []byte(schema.String())}
	start := time.Now()
	encoded(t, q, wire.Target{})
	if took := time.Since(start); took > 20*time.Second { // it is a few hundred milliseconds, and was minutes
		t.Errorf("it took %v", took)
	}
}

func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want string
		lost     []string
	}{
		"in order, byte for byte": {`{ "type":"object","additionalProperties":false, "properties":{"a":{"type":"string","format":"date"}} }`, "", nil},
		"no scheme at all":        {`true`, "", nil},
		"open objects": {
			`{"type":"object","properties":{"minimum":{"type":"object"},"b":{"type":"array","items":{"properties":{}},"minItems":1}}}`,
			`{"type":"object","properties":{"minimum":{"type":"object","additionalProperties":false},"b":{"type":"array","items":{"properties":{},"additionalProperties":false},"minItems":1}},"additionalProperties":false}`, nil,
		},
		"keywords that are refused": {
			`{"minimum":1,"type":"integer","maximum":1e2}`, `{"type":"integer"}`, []string{"schema.minimum", "schema.maximum"},
		},
		"all of them":              {`{"minLength":1}`, `{}`, []string{"schema.minLength"}},
		"a map":                    {`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":false}`, []string{"schema.additionalProperties"}},
		"a map without a type":     {`{"additionalProperties":true}`, `{"additionalProperties":false}`, []string{"schema.additionalProperties"}},
		"oneOf, definitions":       {`{"oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"string","format":"color","pattern":"^a"}}}`, `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"string","pattern":"^a"}}}`, []string{"schema.format"}},
		"examples are no schemas":  {`{"enum":[{"type":"object"}],"default":{"minimum":1},"const":1}`, "", nil},
		"arrays with many members": {`{"type":"array","minItems":2,"items":true}`, `{"type":"array","items":true}`, []string{"schema.minItems"}},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		got, lost := strictSchema([]byte(c.in))
		if string(got) != want || !slices.Equal(lost, c.lost) {
			t.Errorf("%s: %s, %v", name, got, lost)
		}
		if again, _ := strictSchema(got); string(again) != string(got) || !isStrict(got) {
			t.Errorf("%s: changed again to %s", name, again)
		}
	}
}
