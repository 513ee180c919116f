package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

func ptr[T any](v T) *T { return &v }

func told(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func textOf(p llm.Part) string { return wire.TextOf(&p) }

func turn(role llm.Role, parts ...llm.Part) llm.Message {
	return llm.Message{Role: role, Content: parts}
}

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: arguments}}
}

func result(id string, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: id, Content: parts}}
}

func thinks(text string, s *llm.Seal) llm.Part {
	return llm.Part{Kind: llm.Reasoning, Text: text, Seal: s}
}

// fromEveryVendor is a conversation with all that the other dialects can say.
func fromEveryVendor() *llm.Request {
	signed := &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "c2ln"}
	google := &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "Z29v"}
	return &llm.Request{
		Dropped: &llm.Dropped{}, Stream: true,
		System: []llm.Part{told("A"), {Kind: llm.Text, Text: "B", Cache: &llm.Cache{}}},
		Messages: []llm.Message{
			turn(llm.User, told("look"), told("again"),
				llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/jpeg", Data: "/9j/", Detail: "low"}},
				llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "https://x/y"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Type: "application/pdf", Data: "JVBE"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{PlainText: "plain", Name: "n.txt"}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{Type: "text/plain", Data: "aGk="}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{FileID: "file-1", Vendor: llm.Anthropic}},
				llm.Part{Kind: llm.Document, Media: &llm.Media{URL: "https://x/a.pdf"}},
				llm.Part{Kind: llm.Audio, Media: &llm.Media{Type: "audio/mpeg", Data: "SUQz"}},
				llm.Part{Kind: llm.Video, Media: &llm.Media{URL: "https://x/v"}}),
			turn(llm.Assistant, thinks("secret plan", signed), thinks("", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "cmVk"}), told("Let me "), told("see."),
				call("functions.w:0", "w", `{"c": "P"}`),
				llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "toolu_1", Name: "t"}, Signature: google},
				llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "p1", Name: "p", Arguments: `raw "text"`, Custom: true}},
				llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use"}}),
			turn(llm.User, told("by the way"), result("functions.w:0", told("sunny"), told("warm"), llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "iVBO"}})),
			turn(llm.User, llm.Part{Kind: llm.ToolResult, Result: &llm.Result{CallID: "toolu_1", Error: true}}, result("p1", told("ok"))),
			turn(llm.System, told("REMINDER")),
			{Role: llm.User, Name: "bob", Content: []llm.Part{{Kind: llm.Text, Text: "and?", Citations: []llm.Citation{{URL: "u"}}}}},
			turn(llm.Assistant, thinks("only this", nil)),
			turn(llm.User, told("go on")),
		},
		Tools: []llm.Tool{
			{Name: "w", Description: "weather", Schema: []byte(`{"type":"object", "b":1.0,"a":2}`), Strict: ptr(true), Cache: &llm.Cache{}},
			{Name: "t"},
			{Name: "p", Custom: true, Grammar: []byte(`{"type":"grammar","syntax":"lark","definition":"start: x"}`)},
			{Name: "s", Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "web_search"}},
		},
		Choice: llm.ToolChoice{How: llm.Required}, Parallel: ptr(false),
		MaxTokens: 100, Temperature: ptr(0.25), TopP: ptr(1.0), TopK: ptr(int64(5)), MinP: ptr(0.1), Seed: ptr(int64(0)), Choices: 2,
		Stop: []string{"</done>"}, LogProbs: true, TopLogProbs: 3, LogitBias: []byte(`{"1":2}`),
		Format:    llm.Format{Kind: llm.JSONSchema, Schema: []byte(`{"type":"object"}`), Strict: ptr(true)},
		Reasoning: &llm.Effort{Budget: 12000}, Verbosity: "low", ServiceTier: "standard_only", User: "u-1", Metadata: []byte(`{"k":"v"}`),
		CacheKey: "key", CacheRetention: "24h", Cache: &llm.Cache{}, Modalities: []string{"text", "audio"}, AudioVoice: "alloy", AudioFormat: "mp3", Store: ptr(false),
	}
}

func TestEncodeRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q *llm.Request
		t wire.Target
	}{
		"compatible server": {fromEveryVendor(), wire.Target{Model: "up"}},
		"openai": {fromEveryVendor(), wire.Target{Model: "up", Vendor: llm.OpenAI, AskUsage: true, Quirks: wire.Quirks{
			MaxTokensField: "max_completion_tokens", DeveloperRole: true, CustomTools: true,
		}}},
		"claude by openrouter": {fromEveryVendor(), wire.Target{Model: "up", Vendor: llm.Anthropic, Quirks: wire.Quirks{ReasoningField: "reasoning"}}},
		"claude unsealed":      {fromEveryVendor(), wire.Target{Model: "up", Vendor: llm.Anthropic, Unsealed: true, Quirks: wire.Quirks{ReasoningField: "reasoning"}}},
		"gemini":               {fromEveryVendor(), wire.Target{Model: "up", Vendor: llm.Google}},
		"mistral": {fromEveryVendor(), wire.Target{Model: "up", Quirks: wire.Quirks{
			RequiredWord: "any", ShortCallIDs: true, PlainSchema: true, PlainContent: true,
			Refuses: []string{
				"logprobs", "logit_bias", "user", "metadata", "stream_options", "parallel_tool_calls", "name", "strict", "service_tier", "verbosity",
				"prompt_cache_key", "prompt_cache_retention", "modalities", "audio", "seed", "n",
			},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := Chat{}.EncodeRequest([]byte("kept"), c.q, &c.t)
			if err != nil || !bytes.HasPrefix(out, []byte("kept{")) {
				t.Fatalf("%v\n%s", err, out)
			}
			testkit.Golden(t, "golden/encode/"+strings.ReplaceAll(name, " ", "-")+".json", readable(t, out[len("kept"):], c.q.Dropped.Names()))
		})
	}
}

// readable indents a body, with the names of what was lost after it.
func readable(tb testing.TB, body []byte, dropped []string) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", "  "); err != nil {
		tb.Fatalf("%v\n%s", err, body)
	}
	out.WriteString("\n" + strings.Join(dropped, "\n") + "\n")
	return out.Bytes()
}

// Case by case what the golden files do not show at a glance.
func TestEncodeRequestSays(t *testing.T) {
	t.Parallel()
	one := func(change func(q *llm.Request)) *llm.Request {
		q := &llm.Request{Dropped: &llm.Dropped{}, Messages: []llm.Message{turn(llm.User, told("x"))}}
		change(q)
		return q
	}
	tool := []llm.Tool{{Name: "f"}, {Name: "g"}}
	for _, c := range []struct {
		name    string
		q       *llm.Request
		t       wire.Target
		member  string
		want    string // empty: absent
		dropped string
	}{
		{"effort word", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "xhigh"} }), wire.Target{}, "reasoning_effort", `"xhigh"`, ""},
		{"effort none", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Level: "none", Off: true} }), wire.Target{}, "reasoning_effort", `"none"`, ""},
		{"effort off by a member", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Off: true} }), wire.Target{Quirks: wire.Quirks{NoThinking: `"thinking":{"type":"disabled"}`}}, "thinking", `{"type":"disabled"}`, ""},
		{"effort off", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Off: true} }), wire.Target{}, "reasoning_effort", "", "reasoning_effort"},
		{"effort as it likes", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Budget: -1} }), wire.Target{}, "reasoning_effort", "", ""},
		{"effort small", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Budget: 1024} }), wire.Target{}, "reasoning_effort", `"low"`, ""},
		{"effort large", one(func(q *llm.Request) { q.Reasoning = &llm.Effort{Budget: 60000} }), wire.Target{}, "reasoning_effort", `"high"`, ""},
		{"stream without usage", one(func(q *llm.Request) { q.Stream = true }), wire.Target{}, "stream_options", "", ""},
		{"stream with usage", one(func(q *llm.Request) { q.Stream, q.StreamUsage = true, true }), wire.Target{}, "stream_options", `{"include_usage":true}`, ""},
		{"no stream", one(func(q *llm.Request) { q.StreamUsage = true }), wire.Target{AskUsage: true}, "stream_options", "", ""},
		{"choice without tools", one(func(q *llm.Request) { q.Choice.How = llm.None }), wire.Target{}, "tool_choice", "", ""},
		{"choice none", one(func(q *llm.Request) { q.Tools, q.Choice.How = tool, llm.None }), wire.Target{}, "tool_choice", `"none"`, ""},
		{"choice named", one(func(q *llm.Request) { q.Tools, q.Choice = tool, llm.ToolChoice{How: llm.Named, Name: "g"} }), wire.Target{}, "tool_choice", `{"type":"function","function":{"name":"g"}}`, ""},
		{"only some tools", one(func(q *llm.Request) {
			q.Tools, q.Choice = tool, llm.ToolChoice{How: llm.Auto, Only: []string{"g"}}
		}), wire.Target{}, "tools", `[{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}]`, ""},
		{"tools refused", one(func(q *llm.Request) { q.Tools = tool }), wire.Target{Quirks: wire.Quirks{Refuses: []string{"tools"}}}, "tools", "", "tools"},
		{"store", one(func(q *llm.Request) { q.Store = ptr(true) }), wire.Target{}, "store", "true", ""},
		{"file of the target's vendor", one(func(q *llm.Request) {
			q.Messages[0].Content = []llm.Part{{Kind: llm.Document, Media: &llm.Media{FileID: "file-1", Vendor: llm.OpenAI}}}
		}), wire.Target{Vendor: llm.OpenAI}, "messages", `[{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}]`, ""},
		{"empty user turn", one(func(q *llm.Request) { q.Messages[0].Content = nil }), wire.Target{}, "messages", `[{"role":"user","content":""}]`, ""},
		{"thoughts go back", one(func(q *llm.Request) {
			q.Messages = append(q.Messages, turn(llm.Assistant, thinks("hm", nil), told("a")))
		}), wire.Target{Quirks: wire.Quirks{ReasoningField: "reasoning_content"}}, "messages", `[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning_content":"hm"}]`, ""},
		{"foreign seal, text goes", one(func(q *llm.Request) {
			q.Messages = append(q.Messages, turn(llm.Assistant, thinks("hm", &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "x"}), told("a")))
		}), wire.Target{Vendor: llm.Anthropic, Quirks: wire.Quirks{ReasoningField: "reasoning"}}, "messages", `[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning":"hm"}]`, "reasoning_signature"},
		{"no vendor, no seal", one(func(q *llm.Request) {
			q.Messages = append(q.Messages, turn(llm.Assistant, thinks("hm", &llm.Seal{Kind: llm.Signed, Data: "x"}), told("a")))
		}), wire.Target{Quirks: wire.Quirks{ReasoningField: "reasoning"}}, "messages", `[{"role":"user","content":"x"},{"role":"assistant","content":"a","reasoning":"hm"}]`, "reasoning_signature"},
		{"refusal", one(func(q *llm.Request) {
			q.Messages = append(q.Messages, turn(llm.Assistant, llm.Part{Kind: llm.Refusal, Text: "no"}))
		}), wire.Target{}, "messages", `[{"role":"user","content":"x"},{"role":"assistant","content":null,"refusal":"no"}]`, ""},
		{"results of neighbouring turns come first", one(func(q *llm.Request) {
			q.Messages = append(q.Messages, turn(llm.Assistant, call("a", "f", "{}"), call("b", "f", "")),
				turn(llm.User, result("a", llm.Part{Kind: llm.Image, Media: &llm.Media{URL: "u"}})), turn(llm.User, result("b", told("2"))))
		}), wire.Target{}, "messages", `[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":""},{"role":"tool","tool_call_id":"b","content":"2"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := Chat{}.EncodeRequest(nil, c.q, &c.t)
			if err != nil {
				t.Fatal(err)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(out, &members); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := string(members[c.member]); got != c.want {
				t.Errorf("%s is %s", c.member, got)
			}
			if got := strings.Join(c.q.Dropped.Names(), " "); got != c.dropped {
				t.Errorf("dropped: %s", got)
			}
		})
	}
}

func TestEncodeRequestOfNothing(t *testing.T) {
	t.Parallel()
	q := &llm.Request{Dropped: &llm.Dropped{}, Messages: []llm.Message{turn(llm.Assistant, thinks("hm", nil))}}
	dst, err := Chat{}.EncodeRequest([]byte("x"), q, &wire.Target{})
	var e *wire.RequestError
	if !errors.As(err, &e) || string(dst) != "x" {
		t.Errorf("%v, %s", err, dst)
	}
}

// again writes a request and reads what was written: it must mean the same.
func again(t *testing.T, q *llm.Request, vendor llm.Vendor) {
	t.Helper()
	target := wire.Target{Model: q.Model, Vendor: vendor, Quirks: wire.Quirks{CustomTools: true, ReasoningField: "reasoning_content", MaxTokensField: "max_completion_tokens", NoThinking: `"thinking":{"type":"disabled"}`}}
	before := string(show(q.Dropped))
	want := *q
	q.Dropped = q.Dropped.Clone()
	out, err := Chat{}.EncodeRequest(nil, q, &target)
	if err != nil {
		t.Fatal(err)
	}
	if after := string(show(q.Dropped)); after != before && !strings.Contains(after, "top_k") {
		t.Errorf("lost on the way: %s", after)
	}
	got := read(t, string(out))
	normal(&want)
	normal(got)
	if d := cmp.Diff(string(show(&want)), string(show(got))); d != "" {
		t.Errorf("%s\n%s", d, out)
	}
}

// normal takes out what means the same in two forms.
func normal(q *llm.Request) {
	q.Dropped, q.TopK, q.MinP, q.Cache = nil, nil, nil, nil
	if q.Choices == 1 {
		q.Choices = 0
	}
	if q.Store != nil && !*q.Store {
		q.Store = nil
	}
	if q.ServiceTier == "auto" {
		q.ServiceTier = ""
	}
	if len(q.System) > 1 {
		var e requestEncoder
		q.System = []llm.Part{told(textOf(joinTexts(&e, q.System, "\n\n")))}
	}
	for i := range q.Tools {
		if len(q.Tools[i].Schema) == 0 && !q.Tools[i].Custom {
			q.Tools[i].Schema = []byte(`{"type":"object","properties":{}}`)
		}
	}
	if q.OldFunctions {
		q.OldFunctions = false
	}
	if len(q.Tools) == 0 {
		q.Choice, q.Parallel = llm.ToolChoice{}, nil
	}
	for i := range q.Messages {
		for j := range q.Messages[i].Content {
			if c := q.Messages[i].Content[j].Call; c != nil && c.Arguments == "" && !c.Custom {
				c.Arguments = "{}"
			}
		}
	}
	if r := q.Reasoning; r != nil {
		r.Show, r.Sealed = "", false
		if r.Level == "" && !r.Off && r.Budget <= 0 {
			q.Reasoning = nil
		}
	}
}

// Ids that a target would refuse are replaced, a call's and its result's alike.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, legal, short string }{
		{"call_abc-1", "call_abc-1", "ePBvXzPGF"},
		{"abcdEF123", "abcdEF123", "abcdEF123"},
		{"functions.Bash:0", "", ""},
		{"functions.Bash:1", "", ""},
		{strings.Repeat("a", 41), "", ""},
		{"", "", ""},
	} {
		legal, short := legalCallID(c.id), shortCallID(c.id)
		if legal != legalCallID(c.id) || !onlyIn(legal, "_-") || len(legal) > 40 || legal == "" || c.legal != "" && legal != c.legal {
			t.Errorf("%q: legal %q", c.id, legal)
		}
		if len(short) != 9 || !onlyIn(short, "") || c.short == "abcdEF123" && short != c.short {
			t.Errorf("%q: short %q", c.id, short)
		}
	}
	if legalCallID("functions.Bash:0") == legalCallID("functions.Bash:1") || shortCallID("a") == shortCallID("b") {
		t.Error("two ids have become one")
	}
}
