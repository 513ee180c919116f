package converse

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

func TestRecordedReplies(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*llm.Reply{
		"multi-turn-nova-2-lite": {
			Choices: []llm.Choice{{Stop: llm.EndTurn, Content: []llm.Part{text("EIGHT")}}},
			Usage:   llm.Usage{Known: true, Input: 64, Output: 5},
		},
		"thinking-haiku-4.5": {
			Choices: []llm.Choice{{Stop: llm.EndTurn, Content: []llm.Part{
				thought("This is a basic arithmetic question. 5 + 3 = 8.", &llm.Seal{
					Vendor: llm.Anthropic, Kind: llm.Signed,
					Data: "EtkBCkgIEBABGAIqQIyk4xd3CqsRUUTwvwG0mlOurutR8EyBalCaLgrVXwSi0o+wZ3dzaBlJhkUgwXMK/EFm0sIkTL6vl9TjA29ZDBcSDMhJTUHuKN6vqbeGdxoMIErfCnVDOFxkPzbOIjBWarmvL10vC1mPibRG2d9gda/9tME6T5+hTiDNeOQwk+wphEIXQxbacgnR3PNuVQkqP5BwDkdsJ/+MIj+Wqo5p+wwbPYNrZOtpliAHuG0+2jFFSNloUETJxUW8ymYidGR8MGoymr1N53OUcsqlKFqEExgB",
				}),
				text("5 + 3 = 8"),
			}}},
			Usage: llm.Usage{Known: true, Input: 45, Output: 38},
		},
		"tool-single-sonnet-3": {
			Choices: []llm.Choice{{Stop: llm.ToolUse, Content: []llm.Part{
				text("Okay, let me use the tool to fetch an expert explanation for the concept of distributed tracing."),
				call("tooluse_iPA5tRLlQ5qSvfeYGeQVPg", "fetch_concept", `{"concept":"distributed tracing"}`),
			}}},
			Usage: llm.Usage{Known: true, Input: 269, Output: 77},
		},
		"image-in-sonnet-4.5": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := read(t, "replies", name+".json")
			reply, f := Converse{}.Judge(body)
			if f != nil {
				t.Fatal(f)
			}
			got, err := Converse{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
				if len(got.Choices[0].Content) != 1 || !strings.HasPrefix(got.Choices[0].Content[0].Text, "This image shows a **coyote**") {
					t.Errorf("%+v", got)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(wire.Reply{Usage: got.Usage, Finish: stopWord(got.Choices[0].Stop, "")}, reply); d != "" {
				t.Error(d)
			}
			events, err := Converse{}.StreamFromReply(body, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, again := decodeAll(t, data(t, events)); cmp.Diff(got, again) != "" {
				t.Error(cmp.Diff(got, again))
			}
		})
	}
}

func TestDecodeReply(t *testing.T) {
	t.Parallel()
	body := `{"additionalModelResponseFields":{"stop_sequence":"END"},"output":{"message":{"role":"assistant","content":[
		{"hologram":{}},{"citationsContent":{"content":[{"text":"a"},{"text":"b"}],"citations":[{"title":"T","source":"https://s"},{"location":{"web":{"url":"https://x"}}}]}},
		{"reasoningContent":{"redactedContent":"AAH/"}},{"reasoningContent":{"redactedContent":"not base64"}},{"reasoningContent":{"reasoningText":{"text":"open"}}},
		{"image":{"format":"png","source":{"bytes":"aGk="}}},{"toolUse":{"toolUseId":"x","name":"f","input":"{\"broken"}},{"toolUse":{"toolUseId":"y","name":"g","input":null}}
	]}},"stopReason":"stop_sequence","serviceTier":{"type":"flex"},"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":14,"cacheReadInputTokens":4,"cacheWriteInputTokenCount":7}}`
	got, err := Converse{}.DecodeReply([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Reply{
		ServiceTier: "flex", Usage: llm.Usage{Known: true, Input: 12, Output: 2, CachedInput: 4, CacheWrite: 7},
		Choices: []llm.Choice{{Stop: llm.StopSequence, StopText: "END", Content: []llm.Part{
			{Kind: llm.Text, Text: "ab", Citations: []llm.Citation{{Title: "T", URL: "https://s"}, {URL: "https://x"}}},
			thought("", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "converse:AAH/"}),
			thought("open", nil),
			{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "aGk="}},
			call("x", "f", `{"broken`), call("y", "g", ""),
		}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// Written again it says the same, but for what Converse has no place for.
	want.ServiceTier, want.Choices[0].Content[3].Media.Type = "", ""
	if again, err := (Converse{}).DecodeReply(appendReply(nil, got)); err != nil || cmp.Diff(want.Choices[0].Content[:3], again.Choices[0].Content[:3]) != "" {
		t.Error(err, cmp.Diff(want, again))
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.Stop{
		"end_turn": llm.EndTurn, "tool_use": llm.ToolUse, "max_tokens": llm.Length, "stop_sequence": llm.StopSequence,
		"guardrail_intervened": llm.ContentFilter, "content_filtered": llm.ContentFilter, "model_context_window_exceeded": llm.ContextFull,
		"malformed_model_output": llm.OtherStop, "malformed_tool_use": llm.OtherStop, "something_new": llm.OtherStop,
	} {
		a, err := Converse{}.DecodeReply(fmt.Appendf(nil, `{"output":{"message":{"content":[]}},"stopReason":%q}`, word))
		if err != nil || a.Choices[0].Stop != want || want == llm.OtherStop && a.Choices[0].StopText != word {
			t.Errorf("%s: %+v, %v", word, a, err)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		class      fault.Class // Unknown: it is an answer
		code       string
	}{
		{name: "empty text with a finish", body: `{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"end_turn"}`},
		{name: "no body", body: " ", class: fault.Invalid},
		{name: "a page", body: "<html>", class: fault.Invalid},
		{name: "half", body: `{"output":{"message"`, class: fault.Invalid},
		{name: "a list", body: `[]`, class: fault.Invalid},
		{name: "no output", body: `{"stopReason":"end_turn"}`, class: fault.Invalid},
		{name: "no stop reason", body: `{"output":{"message":{"content":[{"text":"x"}]}}}`, class: fault.Invalid},
		{name: "an error", body: `{"__type":"com.amazon.coral.service#ThrottlingException:http://x/","message":"slow"}`, class: fault.RateLimited, code: "ThrottlingException"},
		{name: "an unknown operation", body: `{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}`, class: fault.Invalid, code: "UnknownOperationException"},
		{name: "a message without a type", body: `{"message":"no"}`, class: fault.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, f := Converse{}.Judge([]byte(c.body))
			if (f == nil) != (c.class == fault.Unknown) || f != nil && (f.Class != c.class || f.Code != c.code || f.Message == "") {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data   string
		class  fault.Class
		status int
	}{
		{`{"exception":"throttlingException","message":"Too many requests."}`, fault.RateLimited, 429},
		{`{"exception":"validationException","message":"Input is too long."}`, fault.Rejected, 400},
		{`{"exception":"internalServerException","message":"x"}`, fault.Upstream, 500},
		{`{"exception":"serviceUnavailableException","message":"x"}`, fault.Upstream, 503},
		{`{"exception":"modelStreamErrorException","message":"x"}`, fault.Upstream, 502},
		{`{"exception":"modelStreamErrorException","originalMessage":"busy","originalStatusCode":529}`, fault.Upstream, 529},
		{`{"exception":"modelStreamErrorException","originalMessage":"bad","originalStatusCode":400}`, fault.Rejected, 400},
		{`{"exception":"modelTimeoutException","message":"x"}`, fault.Upstream, 504},
		{`{"exception":"accessDeniedException","message":"x"}`, fault.Auth, 403},
		{`{"exception":"resourceNotFoundException","message":"x"}`, fault.ModelMissing, 404},
		{`{"exception":"somethingNewException"}`, fault.Invalid, 0},
	} {
		p := wire.Progress{SawContent: true}
		e := Converse{}.JudgeEvent([]byte(c.data), &p)
		if e.Fault == nil || e.Fault.Class != c.class || e.Fault.Status != c.status || e.Fault.Message == "" || !strings.Contains(c.data, e.Fault.Code) {
			t.Errorf("%s: %+v", c.data, e.Fault)
		}
	}
}

func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, data string
		want       wire.Event
		p          wire.Progress
	}{
		{name: "start", data: `{"messageStart":{"role":"assistant"}}`},
		{name: "text", data: `{"contentBlockDelta":{"delta":{"text":"x"}}}`, want: wire.Event{Content: true}, p: wire.Progress{SawContent: true}},
		{name: "no text", data: `{"contentBlockDelta":{"delta":{"text":""}}}`},
		{name: "a thought", data: `{"contentBlockDelta":{"delta":{"reasoningContent":{"text":"x"}}}}`, want: wire.Event{Content: true}, p: wire.Progress{SawContent: true}},
		{name: "a hidden thought", data: `{"contentBlockDelta":{"delta":{"reasoningContent":{"redactedContent":"eA=="}}}}`, want: wire.Event{Content: true}, p: wire.Progress{SawContent: true}},
		{name: "a signature", data: `{"contentBlockDelta":{"delta":{"reasoningContent":{"signature":"x"}}}}`},
		{name: "a citation", data: `{"contentBlockDelta":{"delta":{"citation":{"title":"x"}}}}`},
		{name: "a call", data: `{"contentBlockStart":{"start":{"toolUse":{"toolUseId":"a","name":"f"}}}}`, want: wire.Event{Content: true}, p: wire.Progress{SawContent: true, SawTool: true, OpenTool: true}},
		{name: "no arguments yet", data: `{"contentBlockDelta":{"delta":{"toolUse":{"input":""}}}}`},
		{name: "the finish", data: `{"messageStop":{"stopReason":"max_tokens"}}`, want: wire.Event{Content: true, Finish: true}, p: wire.Progress{SawContent: true, SawFinish: true, Reply: wire.Reply{Finish: "max_tokens"}}},
		{name: "usage", data: `{"metadata":{"usage":{"inputTokens":1,"outputTokens":2}}}`, p: wire.Progress{Reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 1, Output: 2}}}},
		{name: "news", data: `{"novelty":{}}`},
		{name: "half", data: `{"messageStop":{"stopReason":"max_tokens"}`, want: wire.Event{Malformed: true}},
		{name: "no object", data: `[DONE]`, want: wire.Event{Malformed: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p wire.Progress
			if d := cmp.Diff(c.want, Converse{}.JudgeEvent([]byte(c.data), &p)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.p, p); d != "" {
				t.Error(d)
			}
		})
	}
	p := wire.Progress{OpenTool: true}
	if (Converse{}).JudgeEvent([]byte(`{"messageStop":{"stopReason":"tool_use"}}`), &p); p.OpenTool {
		t.Error("the call stays open at the finish")
	}
	p = wire.Progress{OpenTool: true}
	if (Converse{}).JudgeEvent([]byte(`{"contentBlockStop":{"contentBlockIndex":0}}`), &p); p.OpenTool {
		t.Error("the call stays open")
	}
}

func TestReadError(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"error-400-input-tokens.json":  "Input Tokens Exceeded",
		"error-404-retired-model.json": "end of its life",
	} {
		if code, message := (Converse{}).ReadError(read(t, "errors", name)); code != "" || !strings.Contains(message, want) {
			t.Errorf("%s: %q %q", name, code, message)
		}
	}
	for body, want := range map[string]string{
		`{"code":"A","Message":"b"}`: "A b", `{"__type":"x#A"}`: "A A", `{"error":{"message":"b"}}`: " ", `x`: " ", `{"message":"b"`: " ",
	} {
		code, message := Converse{}.ReadError([]byte(body))
		if code+" "+message != want {
			t.Errorf("%s: %q %q", body, code, message)
		}
	}
}

func TestErrorsThatAreSaid(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{429: "throttlingException", 400: "validationException", 503: "serviceUnavailableException", 502: "internalServerException"} {
		out := Converse{}.AppendStreamError(nil, wire.Failure{Status: status, Message: "a \"b\""})
		var p wire.Progress
		if e := (Converse{}).JudgeEvent([]byte(data(t, out)[0]), &p); e.Fault == nil || e.Fault.Code != want || e.Fault.Message != "a \"b\"" {
			t.Errorf("%s: %+v", out, e.Fault)
		}
	}
	if _, message := (Converse{}).ReadError(Converse{}.AppendError(nil, wire.Failure{Message: "x"})); message != "x" {
		t.Error(message)
	}
	if out := (Converse{}).AppendEnd([]byte("x"), &wire.Progress{}); string(out) != "x" {
		t.Error("an end marker")
	}
}

func TestAppendRequest(t *testing.T) {
	t.Parallel()
	body := `{"messages":[],"inferenceConfig":{"maxTokens":1,"topP":0.5},"serviceTier":{"type":"flex"}}`
	r, err := Converse{}.ReadRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	param := func(name, value string) wire.Param { return wire.Param{Name: name, Value: []byte(value)} }
	for _, c := range []struct {
		params []wire.Param
		want   string
	}{
		{nil, body},
		{[]wire.Param{param("model", `"x"`)}, body},
		{
			[]wire.Param{param("temperature", "0.2"), param("max_tokens", "9"), param("requestMetadata", `{"a":"b"}`)},
			`{"messages":[],"inferenceConfig":{"maxTokens":9,"topP":0.5,"temperature":0.2},"serviceTier":{"type":"flex"},"requestMetadata":{"a":"b"}}`,
		},
		{
			[]wire.Param{param("inferenceConfig", `{"topP":1}`), param("serviceTier", "1"), param("serviceTier", "2"), param("stopSequences", `["a"]`)},
			`{"messages":[],"inferenceConfig":{"topP":1,"stopSequences":["a"]},"serviceTier":2}`,
		},
	} {
		if got := string(Converse{}.AppendRequest(nil, &r, wire.Rewrite{Params: c.params})); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.params, got, c.want)
		}
	}
	if _, err := (Converse{}).ReadRequest([]byte(`[]`)); !errors.As(err, new(*wire.RequestError)) {
		t.Error(err)
	}
}

func TestAppendUnsealed(t *testing.T) {
	t.Parallel()
	body := `{"system":[], "messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"s"}}}, {"toolUse":{"toolUseId":"a"}}]},` +
		`{"content":[{"reasoningContent":{"redactedContent":"eA=="}}],"role":"assistant"}],"x":1}`
	want := `{"system":[], "messages":[{"role":"user","content":[{"text":"a"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"a"}}]},` +
		`{"content":[{"text":"Continue."}],"role":"assistant"}],"x":1}`
	got, dropped := Converse{}.AppendUnsealed([]byte("before"), []byte(body))
	if string(got) != "before"+want || cmp.Diff([]string{"reasoning_signature"}, dropped) != "" {
		t.Errorf("%s %v", got, dropped)
	}
	for _, whole := range []string{want, `{"messages":`, `[]`} {
		if got, dropped := (Converse{}).AppendUnsealed([]byte("x"), []byte(whole)); string(got) != "x" || dropped != nil {
			t.Errorf("%s: %s %v", whole, got, dropped)
		}
	}
}

func TestSealsGoBackAsTheyCame(t *testing.T) {
	t.Parallel()
	for _, blob := range []string{"EtkECkgI+/=", "\x00\x01\xff", "converse:AAH/", "", "ü"} {
		in := base64.StdEncoding.EncodeToString([]byte(blob))
		if out := blobOf(sealOf([]byte(blob))); out != in {
			t.Errorf("%q: %s became %s", blob, in, out)
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, name := range []string{"image-in-sonnet-4.5", "multi-turn-nova-2-lite", "thinking-haiku-4.5", "tool-single-sonnet-3"} {
		f.Add(read(f, "replies", name+".json"))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, fl := Converse{}.Judge(body)
		a, err := Converse{}.DecodeReply(body)
		if fl == nil && err != nil {
			t.Fatalf("a good reply cannot be read: %v", err)
		}
		if err == nil {
			if _, err := (Converse{}).DecodeReply(appendReply(nil, a)); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
		}
		if out, _ := (Converse{}).AppendUnsealed(nil, body); out != nil && !jsonscan.IsObject(out) {
			t.Fatalf("unsealed: %s", out)
		}
	})
}
