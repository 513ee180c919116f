package openaichat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// RESILIENCE §1: what a content event is, and what is not.
func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	delta := func(d string) string {
		return `{"id":"c","choices":[{"index":0,"delta":` + d + `,"finish_reason":null}],"usage":null}`
	}
	content := wire.Event{Content: true}
	nothing := wire.Event{}
	failing := func(class fault.Class, status int, code, message string) wire.Event {
		return wire.Event{Fault: &fault.Fault{Class: class, Status: status, Code: code, Message: message}}
	}
	for _, c := range []struct {
		name, data string
		want       wire.Event
	}{
		{"role only", delta(`{"role":"assistant"}`), nothing},
		{"role and empty text", delta(`{"role":"assistant","content":"","refusal":null}`), nothing},
		{"empty delta", delta(`{}`), nothing},
		{"delta null", delta(`null`), nothing},
		{"text", delta(`{"content":"a"}`), content},
		{"white space is text", delta(`{"content":" "}`), content},
		{"text in parts", delta(`{"content":[{"type":"text","text":"a"}]}`), content},
		{"parts without text", delta(`{"content":[{"type":"text","text":""},{"type":"reference","reference_ids":[1]}]}`), nothing},
		{"thinking in parts of parts", delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`), content},
		{"reasoning", delta(`{"content":"","reasoning":"a"}`), content},
		{"reasoning_content", delta(`{"content":null,"reasoning_content":"a"}`), content},
		{"reasoning_content empty", delta(`{"content":null,"reasoning_content":""}`), nothing},
		{"reasoning_text", delta(`{"reasoning_text":"a"}`), content},
		{"reasoning_details", delta(`{"content":"","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`), content},
		{"reasoning_details encrypted", delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"xx"}]}`), content},
		{"reasoning_details with a signature only", delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"xx","index":0}]}`), nothing},
		{"refusal", delta(`{"refusal":"I"}`), content},
		{"audio", delta(`{"audio":{"id":"a","data":"AAAA"}}`), content},
		{"audio transcript", delta(`{"audio":{"transcript":"a"}}`), content},
		{"audio begun", delta(`{"audio":{"id":"a","expires_at":1}}`), nothing},
		{"image", delta(`{"images":[{"type":"image_url","image_url":{"url":"data:"}}]}`), content},
		{"a member that nobody knows", delta(`{"channel":"analysis","annotations":[{"type":"url_citation"}]}`), nothing},
		{"tool call begun", delta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"","arguments":""}}]}`), nothing},
		{"tool name", delta(`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"ls","arguments":""}}]}`), content},
		{"tool arguments", delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`), content},
		{"tool arguments as an object", delta(`{"tool_calls":[{"function":{"arguments":{}}}]}`), content},
		{"custom tool", delta(`{"tool_calls":[{"custom":{"input":"x"}}]}`), content},
		{"tool calls empty", delta(`{"tool_calls":[]}`), nothing},
		{"tool calls null", delta(`{"tool_calls":null,"function_call":null}`), nothing},
		{"function call", delta(`{"function_call":{"name":"ls"}}`), content},
		{"a whole message", `{"choices":[{"message":{"content":"a"}}]}`, content},
		{"a delta beside the whole message so far", `{"choices":[{"message":{"content":"all of it"},"delta":{"role":"assistant","content":""}}]}`, nothing},
		{"another operation's text", `{"choices":[{"text":"a"}]}`, nothing},
		{"finish", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, wire.Event{Content: true, Finish: true}},
		{"finish that nobody knows", `{"choices":[{"delta":{},"finish_reason":"tea_break"}]}`, wire.Event{Content: true, Finish: true}},
		{"finish empty", `{"choices":[{"delta":{"content":""},"finish_reason":""}]}`, nothing},
		{"finish of the second choice", `{"choices":[{"index":0,"delta":{}},{"index":1,"delta":{},"finish_reason":"stop"}]}`, wire.Event{Content: true, Finish: true}},
		{"finish and usage", `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`, wire.Event{Content: true, Finish: true}},
		{"usage", `{"choices":[],"usage":{"prompt_tokens":1}}`, wire.Event{UsageOnly: true}},
		{"usage without choices", `{"id":"x","usage":{"prompt_tokens":1}}`, wire.Event{UsageOnly: true}},
		{"usage beside an empty choice", `{"choices":[{"delta":{"content":""}}],"usage":{"prompt_tokens":1}}`, nothing},
		{"prompt filter results", `{"choices":[],"prompt_filter_results":[{"prompt_index":0}],"usage":null}`, nothing},
		{"a ping", `{"type":"ping"}`, nothing},
		{"end", "[DONE]", wire.Event{End: true}},
		{"end among white space", " [DONE]\r", wire.Event{End: true}},
		{"broken", `{"choices":[{"delta":{"content":"bro`, wire.Event{Malformed: true}},
		{"two texts", `{"choices":[]}{"choices":[]}`, wire.Event{Malformed: true}},
		{"a text", `hello`, wire.Event{Malformed: true}},
		{"no object", `[1]`, wire.Event{Malformed: true}},
		{"nothing", ``, wire.Event{Malformed: true}},

		{"error", `{"error":{"message":"no","type":"rate_limit_error","code":null}}`, failing(fault.Invalid, 0, "rate_limit_error", "no")},
		{"error with a status", `{"error":{"message":"no","type":"x","code":"tool_use_failed","status_code":400}}`, failing(fault.Invalid, 400, "tool_use_failed", "no")},
		{"error text", `{"error":"no"}`, failing(fault.Invalid, 0, "", "no")},
		{"error null", `{"error":null,"choices":[{"delta":{"content":"a"}}]}`, content},
		{"error text empty", `{"error":"","choices":[{"delta":{"content":"a"}}]}`, content},
		{"error false", `{"error":false,"choices":[{"delta":{"content":"a"}}]}`, content},
		{"error empty beside a choice", `{"error":{},"choices":[{"delta":{"content":"a"}}]}`, content},
		{"error empty", `{"error":{}}`, failing(fault.Invalid, 0, "", "the upstream answered with an error that says nothing")},
		{"message only", `{"message":"Internal server error"}`, failing(fault.Invalid, 0, "", "Internal server error")},
		{"error beside choices", `{"id":"c","error":{"code":502,"message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, failing(fault.Upstream, 502, "502", "gone")},
		{"error in a choice", `{"choices":[{"index":0,"delta":{"content":""},"error":{"code":"server_error","message":"gone"}}]}`, failing(fault.Invalid, 0, "server_error", "gone")},
		{"finish that is a failure", `{"choices":[{"delta":{},"finish_reason":"network_error"}]}`, failing(fault.Invalid, 0, "network_error", `the upstream broke the answer off with finish_reason "network_error"`)},
		{"Groq's error", `{"choices":[],"x_groq":{"id":"r","error":"broke off"}}`, failing(fault.Invalid, 0, "", "broke off")},
		{"Gemini's list", `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}]`, failing(fault.Invalid, 429, "RESOURCE_EXHAUSTED", "slow")},
		{"Anthropic's", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, failing(fault.Invalid, 0, "overloaded_error", "Overloaded")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p wire.Progress
			if d := cmp.Diff(c.want, Chat{}.JudgeEvent([]byte(c.data), &p)); d != "" {
				t.Error(d)
			}
			if c.want.Malformed || c.want.Fault != nil {
				p.Reply.Model, p.ID, p.Created = "", "", 0
				if d := cmp.Diff(wire.Progress{}, p); d != "" {
					t.Error("an event that is none moved the progress:", d)
				}
			}
			if p.SawContent != c.want.Content {
				t.Errorf("SawContent is %v", p.SawContent)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	type step struct {
		data string
		want wire.Progress
	}
	for name, steps := range map[string][]step{
		"a tool call is open until the finish": { // R17
			{`{"id":"c1","created":7,"model":"","choices":[{"delta":{"role":"assistant"}}]}`, wire.Progress{ID: "c1", Created: 7, Begun: 1}},
			{
				`{"id":"c2","model":"m","choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"ls"}}]}}]}`,
				wire.Progress{ID: "c1", Created: 7, Begun: 1, Reply: wire.Reply{Model: "m"}, SawContent: true, SawTool: true, OpenTool: true},
			},
			{
				`{"model":"m2","choices":[{"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}}`,
				wire.Progress{
					ID: "c1", Created: 7, Begun: 1, Ended: 1, SawContent: true, SawTool: true, SawFinish: true,
					Reply: wire.Reply{Model: "m", Finish: "tool_calls", Usage: wire.Usage{Known: true, Input: 1}},
				},
			},
			{
				`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
				wire.Progress{
					ID: "c1", Created: 7, Begun: 1, Ended: 1, SawContent: true, SawTool: true, SawFinish: true,
					Reply: wire.Reply{Model: "m", Finish: "tool_calls", Usage: wire.Usage{Known: true, Input: 1, Output: 2}},
				},
			},
		},
		"usage in Groq's member, and null after it": {
			{`{"choices":[{"delta":{"content":"a"}}],"x_groq":{"usage":{"prompt_tokens":1}}}`, wire.Progress{Begun: 1, SawContent: true, Reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 1}}}},
			{`{"choices":[],"usage":null}`, wire.Progress{Begun: 1, SawContent: true, Reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 1}}}},
			{`{"usage":{"prompt_tokens":2},"usage":null,"choices":[]}`, wire.Progress{Begun: 1, SawContent: true, Reply: wire.Reply{Usage: wire.Usage{Known: true, Input: 2}}}},
		},
		"one choice's finish is not the other's": {
			{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, wire.Progress{Begun: 1, SawContent: true}},
			{`{"choices":[{"index":1,"delta":{"content":"b"}}]}`, wire.Progress{Begun: 3, SawContent: true}},
			{`{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}`, wire.Progress{Begun: 3, Ended: 2, SawContent: true, Reply: wire.Reply{Finish: "length"}}},
			{`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, wire.Progress{Begun: 3, Ended: 3, SawContent: true, SawFinish: true, Reply: wire.Reply{Finish: "length"}}},
			{`{"choices":[{"index":99,"delta":{}}]}`, wire.Progress{Begun: 3 | 1<<63, Ended: 3, SawContent: true, Reply: wire.Reply{Finish: "length"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p wire.Progress
			for _, s := range steps {
				Chat{}.JudgeEvent([]byte(s.data), &p)
				got := p
				got.Pattern = wire.Pattern{}
				if d := cmp.Diff(s.want, got); d != "" {
					t.Errorf("after %s: %s", s.data, d)
				}
			}
		})
	}
}

func TestJudgeEventOfCompletions(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]wire.Event{
		`{"choices":[{"text":""}]}`:                          {},
		`{"choices":[{"text":"a"}]}`:                         {Content: true},
		`{"choices":[{"text":"","finish_reason":"length"}]}`: {Content: true, Finish: true},
		`{"choices":[{"delta":{"content":"a"}}]}`:            {},
	} {
		if d := cmp.Diff(want, Completions{}.JudgeEvent([]byte(data), &wire.Progress{})); d != "" {
			t.Errorf("%s: %s", data, d)
		}
	}
}

// plainEvent is an event as encoding/json reads it.
type plainEvent struct {
	Model   string
	Error   json.RawMessage
	Usage   *plainUsage
	XGroq   struct{ Usage *plainUsage } `json:"x_groq"`
	Choices []struct {
		Index  int
		Text   string
		Finish *string `json:"finish_reason"`
		Delta  struct {
			Content          any
			Reasoning        string
			ReasoningContent string `json:"reasoning_content"`
			Refusal          string
			ToolCalls        []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
}

func (e *plainEvent) content() bool {
	for _, c := range e.Choices {
		if c.Text+c.Delta.Reasoning+c.Delta.ReasoningContent+c.Delta.Refusal+texts(c.Delta.Content) != "" || c.Finish != nil {
			return true
		}
		for _, call := range c.Delta.ToolCalls {
			if call.Function.Name+call.Function.Arguments != "" {
				return true
			}
		}
	}
	return false
}

// texts is all text in a content, a string or Mistral's parts of parts.
func texts(content any) (out string) {
	switch content := content.(type) {
	case string:
		return content
	case []any:
		for _, part := range content {
			part, _ := part.(map[string]any)
			out += texts(part["text"]) + texts(part["thinking"])
		}
	}
	return out
}

// frames cuts a recording.
func frames(tb testing.TB, stream []byte) (out []sse.Frame) {
	tb.Helper()
	s := sse.Splitter{Whole: wire.WholeEvent}
	for {
		f, n, err := s.Next(stream, true)
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			return out
		}
		stream = stream[n:]
		if !f.Comment {
			f.Data, f.Event = bytes.Clone(f.Data), bytes.Clone(f.Event)
			out = append(out, f)
		}
	}
}

func TestJudgeEventsOfRecordings(t *testing.T) {
	t.Parallel()
	for name, stream := range files(t, "streams") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dialectOf(name)
			var p wire.Progress
			var want wire.Reply
			all := frames(t, stream)
			if len(all) < 2 {
				t.Fatalf("%d events", len(all))
			}
			finished := map[int]bool{} // some send a choice's finish twice
			for i, f := range all {
				e := d.JudgeEvent(f.Data, &p)
				if string(f.Data) == "[DONE]" {
					if !e.End || i != len(all)-1 {
						t.Errorf("event %d of %d: %+v", i, len(all), e)
					}
					continue
				}
				var plain plainEvent
				if err := json.Unmarshal(f.Data, &plain); err != nil {
					t.Fatal(err)
				}
				if plain.Error != nil {
					if e.Fault == nil || e.Fault.Code != "tool_use_failed" || e.Fault.Status != 400 || e.Fault.Message == "" {
						t.Errorf("event %d: %+v", i, e)
					}
					continue
				}
				if e.Fault != nil || e.Malformed || e.End || e.Content != plain.content() {
					t.Errorf("event %d: %+v\n%s", i, e, f.Data)
				}
				if want.Model == "" {
					want.Model = plain.Model
				}
				for _, u := range []*plainUsage{plain.XGroq.Usage, plain.Usage} {
					if u != nil {
						want.Usage = u.wire()
					}
				}
				finish := false
				for _, c := range plain.Choices {
					if c.Finish != nil {
						finish = true
						finished[c.Index] = true
						if want.Finish == "" {
							want.Finish = *c.Finish
						}
					}
				}
				if e.Finish != finish {
					t.Errorf("event %d: Finish is %v", i, e.Finish)
				}
				if e.UsageOnly != (plain.Usage != nil && len(plain.Choices) == 0) {
					t.Errorf("event %d: UsageOnly is %v", i, e.UsageOnly)
				}
				// A stream that is cut here has its finish only if each choice had.
				choices := 1
				if strings.Contains(name, "-n2-") {
					choices = 2
				}
				if p.SawFinish != (len(finished) == choices) {
					t.Errorf("event %d: SawFinish is %v after %d finishes", i, p.SawFinish, len(finished))
				}
				if p.OpenTool != (p.SawTool && len(finished) == 0) {
					t.Errorf("event %d: OpenTool is %v", i, p.OpenTool)
				}
			}
			if d := cmp.Diff(want, p.Reply); d != "" {
				t.Error(d)
			}
			if !p.SawContent || p.SawTool != strings.Contains(name, "tool") && !strings.Contains(name, "failed") {
				t.Errorf("%+v", p)
			}
		})
	}
}

func TestJudgeEventDoesNotAllocate(t *testing.T) {
	events := [][]byte{
		[]byte(chunk),
		[]byte(`{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		[]byte(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens_details":{"reasoning_tokens":1}}}`),
		[]byte("[DONE]"),
	}
	p := wire.Progress{ID: "x", Reply: wire.Reply{Model: "m"}}
	if n := testing.AllocsPerRun(50, func() {
		for _, data := range events {
			Chat{}.JudgeEvent(data, &p)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzJudgeEvent(f *testing.F) {
	for _, stream := range files(f, "streams") {
		for i, frame := range frames(f, stream) {
			if i%9 == 0 {
				f.Add(frame.Data)
			}
		}
	}
	for _, body := range files(f, "errors") {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range [...]wire.Dialect{Chat{}, Completions{}} {
			var p wire.Progress
			e := d.JudgeEvent(data, &p)
			var o map[string]any
			if json.Unmarshal(data, &o) == nil && o != nil && e.Malformed {
				t.Errorf("%q is malformed", data)
			}
			if !json.Valid(data) && !e.Malformed && !e.End {
				t.Errorf("%q is %+v", data, e)
			}
			if e.Content != p.SawContent || e.Fault != nil && e.Content {
				t.Errorf("%q: %+v, %+v", data, e, p)
			}
		}
	})
}
