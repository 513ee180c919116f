package cohere

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

func ptr[T any](v T) *T { return &v }

func says(role llm.Role, text string) llm.Message {
	return llm.Message{Role: role, Content: []llm.Part{{Kind: llm.Text, Text: text}}}
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func call(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: args}}
}

func result(id string, content ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: id, Content: content}}
}

const (
	plain    = "command-a-03-2025"
	thinking = "command-a-reasoning-08-2025"
)

func TestEncodeRequest(t *testing.T) {
	t.Parallel()
	hi := []llm.Message{says(llm.User, "hi")}
	weather := llm.Tool{Name: "weather", Description: "Of a place", Schema: []byte(`{"type":"object","properties":{"z":{},"a":{}}}`)}
	const sent = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		name    string
		q       llm.Request
		model   string // empty: plain
		quirks  wire.Quirks
		want    string // without the model
		dropped []string
	}{
		{name: "text", q: llm.Request{Messages: hi}, want: sent},
		{
			name: "parameters",
			q: llm.Request{
				System: []llm.Part{text("be"), {Kind: llm.Text, Text: "brief", Cache: &llm.Cache{}}}, Messages: hi, Stream: true,
				MaxTokens: 9, Stop: []string{"a", "b", "c", "d", "e", "f"}, Temperature: ptr(0.5), TopP: ptr(1.0), TopK: ptr(int64(900)),
				FrequencyPenalty: ptr(0.5), PresencePenalty: ptr(-1.0), Seed: ptr(int64(7)), LogProbs: true, TopLogProbs: 2,
			},
			want: `"messages":[{"role":"system","content":[{"type":"text","text":"be"},{"type":"text","text":"brief"}]},{"role":"user","content":"hi"}],"stream":true,` +
				`"max_tokens":9,"stop_sequences":["a","b","c","d","e"],"temperature":0.5,"p":0.99,"k":500,"frequency_penalty":0.5,"presence_penalty":0,"seed":7,"logprobs":true`,
			dropped: []string{"cache_control", "stop", "presence_penalty", "top_logprobs"},
		},
		{
			name: "what cohere cannot say",
			q: llm.Request{
				Messages: []llm.Message{{Role: llm.User, Name: "bob", Content: []llm.Part{text("hi")}}},
				MinP:     ptr(0.1), Choices: 2, LogitBias: []byte(`{"1":2}`), Verbosity: "high", ServiceTier: "flex", User: "u", Metadata: []byte(`{"a":"b"}`),
				CacheKey: "k", CacheRetention: "24h", Cache: &llm.Cache{}, Modalities: []string{"audio"}, AudioVoice: "x", Store: ptr(true),
				Choice: llm.ToolChoice{How: llm.Required}, Reasoning: &llm.Effort{Level: "high"}, Tools: []llm.Tool{{Opaque: &llm.Block{}}},
			},
			want: sent,
			dropped: []string{
				"name", "server_tools", "tool_choice", "reasoning_effort", "min_p", "n", "logit_bias", "verbosity", "service_tier", "user", "metadata", "prompt_cache_key",
				"prompt_cache_retention", "cache_control", "modalities", "audio", "store",
			},
		},
		{
			name: "tools", q: llm.Request{Messages: hi, Tools: []llm.Tool{weather, {Name: "t"}}, Choice: llm.ToolChoice{How: llm.Required}, Parallel: ptr(false)},
			want: sent + `,"tools":[{"type":"function","function":{"name":"weather","description":"Of a place","parameters":{"type":"object","properties":{"z":{},"a":{}}}}},` +
				`{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}],"tool_choice":"REQUIRED"`,
			dropped: []string{"parallel_tool_calls"},
		},
		{
			name: "the one tool", q: llm.Request{Messages: hi, Tools: []llm.Tool{weather, {Name: "t", Strict: ptr(true)}}, Choice: llm.ToolChoice{How: llm.Named, Name: "t"}},
			want: sent + `,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}],"strict_tools":true,"tool_choice":"REQUIRED"`,
		},
		{
			name: "some tools, none to be called", q: llm.Request{
				Messages: hi, Choice: llm.ToolChoice{How: llm.None, Only: []string{"t", "u"}},
				Tools: []llm.Tool{weather, {Name: "t", Strict: ptr(true), Cache: &llm.Cache{}}, {Name: "u", Custom: true}},
			},
			want: sent + `,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}},` +
				`{"type":"function","function":{"name":"u","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}],"tool_choice":"NONE"`,
			dropped: []string{"cache_control", "strict", "custom_tools"},
		},
		{
			name: "a loop of tools, results first",
			q: llm.Request{Messages: []llm.Message{
				says(llm.User, "both"),
				{Role: llm.Assistant, Content: []llm.Part{
					{Kind: llm.Reasoning, Text: "I will", Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "x"}},
					text(""),
					call("a", "weather", `{"z":1}`), call("", "weather", ""),
					{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "patch", Arguments: "x", Custom: true}},
				}},
				says(llm.System, "hurry"),
				{Role: llm.User, Content: []llm.Part{text("and?"), result("a", text("sunny"))}},
				{Role: llm.User, Content: []llm.Part{result(""), {Kind: llm.ToolResult, Result: &llm.Result{CallID: "c", Error: true, Content: []llm.Part{text("1"), text("2"), {Kind: llm.Image, Media: &llm.Media{URL: "u"}}}}}}},
			}},
			want: `"messages":[{"role":"user","content":"both"},{"role":"assistant","tool_plan":"I will","tool_calls":[` +
				`{"id":"a","type":"function","function":{"name":"weather","arguments":"{\"z\":1}"}},{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}},` +
				`{"id":"c","type":"function","function":{"name":"patch","arguments":"{\"input\":\"x\"}"}}]},` +
				`{"role":"tool","tool_call_id":"a","content":"sunny"},{"role":"tool","tool_call_id":"call_1","content":[{"type":"text","text":"(no output)"}]},` +
				`{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},{"role":"system","content":"hurry"},{"role":"user","content":"and?"}]`,
			dropped: []string{"reasoning_signature", "custom_tools", "tool_result_error", "images"},
		},
		{
			name: "thoughts in the history", model: thinking,
			q: llm.Request{Messages: []llm.Message{
				says(llm.User, "x"),
				{Role: llm.Assistant, Name: "al", Content: []llm.Part{
					{Kind: llm.Reasoning, Text: "hm"},
					{Kind: llm.Text, Text: "y", Citations: []llm.Citation{{}}, Signature: &llm.Seal{}, Cache: &llm.Cache{}},
					{Kind: llm.Image, Media: &llm.Media{Data: "x"}},
				}},
				{Role: llm.Assistant, Content: []llm.Part{text("")}},
				says(llm.User, "z"),
			}},
			want:    `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"y"}]},{"role":"user","content":"z"}]`,
			dropped: []string{"name", "citations", "reasoning_signature", "cache_control", "images"},
		},
		{
			name: "thoughts without a place",
			q: llm.Request{Messages: []llm.Message{
				says(llm.User, "x"), {Role: llm.Assistant, Content: []llm.Part{{Kind: llm.Reasoning, Text: "hm"}, text("y")}}, says(llm.User, "z"),
			}},
			want:    `"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"y"}]},{"role":"user","content":"z"}]`,
			dropped: []string{"reasoning"},
		},
		{
			name: "media",
			q: llm.Request{
				Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{
					text("look"),
					{Kind: llm.Image, Media: &llm.Media{Type: "image/jpeg", Data: "/9j/"}},
					{Kind: llm.Image, Media: &llm.Media{URL: "https://x/y.png", Detail: "low"}},
					{Kind: llm.Image, Media: &llm.Media{Data: "AA", Detail: "original"}},
					{Kind: llm.Image, Media: &llm.Media{FileID: "f"}},
					{Kind: llm.Document, Media: &llm.Media{PlainText: "2+2=4", Name: "Sums"}},
					{Kind: llm.Document, Media: &llm.Media{Type: "text/csv", Data: "YSxi"}},
					{Kind: llm.Document, Media: &llm.Media{Type: "application/pdf", Data: "JVBERi0="}},
					{Kind: llm.Audio},
					{Kind: llm.Video},
					{Kind: llm.Opaque},
				}}},
				Format: llm.Format{Kind: llm.JSONObject},
			},
			want: `"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/"}},` +
				`{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}],` +
				`"documents":[{"id":"doc_0","data":{"title":"Sums","text":"2+2=4"}},{"id":"doc_1","data":{"text":"a,b"}}]`,
			dropped: []string{"detail", "file_ids", "documents", "audio", "video", "server_tools", "response_format"},
		},
		{
			name: "a schema", q: llm.Request{Messages: hi, Format: llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{"type": "object"}`)}},
			want: sent + `,"response_format":{"type":"json_object","json_schema":{"type": "object"}}`,
		},
		{
			name: "a schema that is not known", q: llm.Request{Messages: hi, Format: llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{}`)}}, quirks: wire.Quirks{PlainSchema: true},
			want: sent + `,"response_format":{"type":"json_object"}`, dropped: []string{"json_schema"},
		},
		{
			name: "a form beside tools", q: llm.Request{Messages: hi, Format: llm.Format{Kind: llm.JSONObject}, Tools: []llm.Tool{{Name: "t"}}},
			want: sent + `,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}]`, dropped: []string{"response_format"},
		},
		{name: "thinking", model: thinking, q: llm.Request{Messages: hi, Reasoning: &llm.Effort{Level: "low"}}, want: sent + `,"thinking":{"type":"enabled","token_budget":2048}`},
		{name: "thinking as it likes", model: thinking, q: llm.Request{Messages: hi, Reasoning: &llm.Effort{Budget: -1}}, want: sent + `,"thinking":{"type":"enabled"}`},
		{name: "no thinking", model: thinking, q: llm.Request{Messages: hi, Reasoning: &llm.Effort{Off: true}}, want: sent + `,"thinking":{"type":"disabled"}`},
		{name: "no thinking where there is none", q: llm.Request{Messages: hi, Reasoning: &llm.Effort{Off: true}}, want: sent},
		{
			name: "quirks", model: thinking,
			q: llm.Request{
				Messages: hi, Reasoning: &llm.Effort{Level: "low"}, Temperature: ptr(1.0), TopP: ptr(0.5), TopK: ptr(int64(1)), Seed: ptr(int64(1)), Stop: []string{"x"},
				Tools: []llm.Tool{{Name: "t", Strict: ptr(true)}}, Choice: llm.ToolChoice{How: llm.Required}, LogProbs: true,
			},
			quirks: wire.Quirks{DefaultMaxTokens: 5, Refuses: []string{"thinking", "temperature", "p", "k", "seed", "stop_sequences", "strict_tools", "tool_choice", "logprobs"}},
			want:   sent + `,"tools":[{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}],"max_tokens":5`,
			dropped: []string{
				"strict", "tool_choice", "stop", "temperature", "top_p", "top_k", "seed", "logprobs", "reasoning_effort",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.q.Dropped = &llm.Dropped{}
			if c.model == "" {
				c.model = plain
			}
			out, err := Chat{}.EncodeRequest([]byte("x"), &c.q, &wire.Target{Model: c.model, Vendor: llm.Cohere, Quirks: c.quirks})
			if err != nil {
				t.Fatal(err)
			}
			want := `x{"model":"` + c.model + `",` + c.want + `}`
			if d := cmp.Diff(want, string(out)); d != "" || !json.Valid(out[1:]) {
				t.Error(d)
			}
			if d := cmp.Diff(slices.Sorted(slices.Values(c.dropped)), slices.Sorted(slices.Values(c.q.Dropped.Names()))); d != "" {
				t.Error(d)
			}
		})
	}
	q := llm.Request{Dropped: &llm.Dropped{}, Messages: []llm.Message{{Role: llm.User, Content: []llm.Part{{Kind: llm.Audio}}}}}
	if out, err := (Chat{}).EncodeRequest([]byte("x"), &q, &wire.Target{}); !errors.As(err, new(*wire.RequestError)) || string(out) != "x" {
		t.Errorf("%s %v", out, err)
	}
}

func TestRecordedReplies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*llm.Reply{
		"json-schema-command-a": {
			ID: "4a894e68-e7ed-4de2-8ac8-512d9038a414", Usage: llm.Usage{Known: true, Input: 614, Output: 13, CachedInput: 480},
			Choices: []llm.Choice{{Stop: llm.EndTurn, Content: []llm.Part{text(`{"name":"John","age":30}`)}}},
		},
		"tool-parallel-command-a": {
			ID: "53fb2093-1922-4777-acc2-8f6335433e6f", Usage: llm.Usage{Known: true, Input: 1568, Output: 132, CachedInput: 992},
			Choices: []llm.Choice{{Stop: llm.ToolUse, Content: []llm.Part{
				{Kind: llm.Reasoning, Text: "I will use the weather tool to find the weather in Berlin (52.5200, 13.4050) and the best_language_to_learn tool to find the best language to learn."},
				call("weather_5fdj252rgk1f", "weather", `{"latitude":"52.5200","longitude":"13.4050"}`), call("best_language_to_learn_qxep73hcps93", "best_language_to_learn", "{}"),
			}}},
		},
	} {
		body := read(t, "replies", name+".json")
		if reply, f := (Chat{}).Judge(body); f != nil || reply.Usage != want.Usage || reply.Finish == "" {
			t.Errorf("%s: %+v %v", name, reply, f)
		}
		got, err := Chat{}.DecodeReply(body)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", name, d, err)
		}
		events, err := Chat{}.StreamFromReply(body, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, again := decodeAll(t, data(t, events)); cmp.Diff(want, again) != "" {
			t.Errorf("%s: %s", name, cmp.Diff(want, again))
		}
	}
}

func TestDecodeReply(t *testing.T) {
	t.Parallel()
	got, err := Chat{}.DecodeReply([]byte(`{"id":"x","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"hologram"},{"type":"text","text":"It is 4."}],
		"citations":[{"start":6,"end":7,"text":"4","content_index":2,"sources":[{"type":"document","id":"d","document":{"snippet":"2+2","text":"later"}}]},
			{"start":0,"end":2,"type":"TEXT_CONTENT"},{"start":1,"end":2,"type":"PLAN","sources":[]}]},
		"finish_reason":"STOP_SEQUENCE","usage":{"billed_units":{"input_tokens":3,"output_tokens":4}},
		"logprobs":[{"text":"It","token_ids":[1],"logprobs":[-0.5]},{"text":"x"},{"text":" is","logprobs":[-0.25,-0.25]}]}`))
	want := &llm.Reply{ID: "x", Usage: llm.Usage{Known: true, Input: 3, Output: 4}, Choices: []llm.Choice{{
		Stop: llm.StopSequence, LogProbs: []byte(`[{"token":"It","logprob":-0.5,"bytes":[73,116],"top_logprobs":[]},{"token":" is","logprob":-0.5,"bytes":[32,105,115],"top_logprobs":[]}]`),
		Content: []llm.Part{
			{Kind: llm.Reasoning, Text: "hm"},
			{Kind: llm.Text, Text: "It is 4.", Citations: []llm.Citation{{Title: "d", Quote: "2+2", Start: 6, End: 7}, {End: 2}}},
		},
	}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]fault.Class{
		`{"message":{"content":[]},"finish_reason":"COMPLETE"}`: fault.Unknown, `{"message":{"content":[]}}`: fault.Invalid, `{"finish_reason":"COMPLETE"}`: fault.Invalid,
		`{"message":{"content":[]},"finish_reason":"ERROR"}`: fault.Upstream, ` `: fault.Invalid, `<html>`: fault.Invalid, `{"message":`: fault.Invalid, `[]`: fault.Invalid,
		`{"message":"no such model","id":"x"}`: fault.Invalid,
	} {
		if _, f := (Chat{}).Judge([]byte(body)); (f == nil) != (want == fault.Unknown) || f != nil && (f.Class != want || f.Message == "") {
			t.Errorf("%s: %+v", body, f)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	code, message := Chat{}.ReadError(read(t, "errors", "error-400-too-many-tokens.json"))
	if code != "TOO_MANY_TOKENS" || !strings.HasPrefix(message, "too many tokens: size limit exceeded") {
		t.Error(code, message)
	}
	for _, body := range []string{`{"message":{"a":1}}`, `{"message":"x"`, `x`, `{}`} {
		if code, message := (Embed{}).ReadError([]byte(body)); code != "" || message != "" {
			t.Errorf("%s: %q %q", body, code, message)
		}
	}
	if out := string(Chat{}.AppendError(nil, wire.Failure{RequestID: "r", Message: "m"})); out != `{"id":"r","message":"m"}` {
		t.Error(out)
	}
	out := Chat{}.AppendStreamError(nil, wire.Failure{Message: "m"})
	if e := (Chat{}).JudgeEvent([]byte(data(t, out)[0]), &wire.Progress{}); e.Fault == nil || e.Fault.Message != "m" {
		t.Errorf("%s", out)
	}
}

func TestAppendRequest(t *testing.T) {
	t.Parallel()
	body := `{"stream":true,"model":"a","p":0.5}`
	r, err := Chat{}.ReadRequest([]byte(body))
	if err != nil || !r.Stream || r.Model != "a" || !r.AskedUsage {
		t.Fatalf("%+v %v", r, err)
	}
	if got := string(Chat{}.AppendRequest(nil, &r, wire.Rewrite{Model: "a"})); got != body {
		t.Error(got)
	}
	params := []wire.Param{{Name: "p", Value: []byte("1")}, {Name: "k", Value: []byte("2")}, {Name: "stream", Value: []byte("false")}, {Name: "model", Value: []byte(`"x"`)}}
	if got := string(Chat{}.AppendRequest(nil, &r, wire.Rewrite{Model: "b", Params: params})); got != `{"stream":true,"model":"b","p":1,"k":2}` {
		t.Error(got)
	}
	for _, bad := range []string{`[]`, `{"model":1}`, `{"model":"a"`} {
		if _, err := (Embed{}).ReadRequest([]byte(bad)); !errors.As(err, new(*wire.RequestError)) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, name := range []string{"json-schema-command-a", "tool-parallel-command-a"} {
		f.Add(read(f, "replies", name+".json"))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, fl := Chat{}.Judge(body)
		a, err := Chat{}.DecodeReply(body)
		if fl == nil && err != nil {
			t.Fatalf("a good reply cannot be read: %v", err)
		}
		if err == nil {
			if _, err := (Chat{}).DecodeReply(appendReply(nil, a)); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
		}
	})
}
