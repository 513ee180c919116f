package openaichat

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
)

// oneChoice is an event with one choice.
func oneChoice(delta string) string {
	return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func finishing(reason string) string {
	return `{"id":"c","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// What vendors say in their streams, by the content that it makes.
func TestDecoder(t *testing.T) {
	t.Parallel()
	signed := &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "c2ln"}
	for _, c := range []struct {
		name   string
		events []string
		want   []llm.Part
		stop   llm.Stop
	}{
		{"text", []string{oneChoice(`{"role":"assistant","content":""}`), oneChoice(`{"content":"a\n"}`), oneChoice(`{"content":"b"}`), finishing("stop")}, []llm.Part{told("a\nb")}, llm.EndTurn},
		{"parts of text", []string{oneChoice(`{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]},{"type":"text","text":"b"}]}`), finishing("stop")}, []llm.Part{told("ab")}, llm.EndTurn},
		{"reasoning_content", []string{oneChoice(`{"reasoning_content":"h"}`), oneChoice(`{"reasoning_content":"m","content":""}`), oneChoice(`{"content":"a"}`), finishing("stop")}, []llm.Part{thinks("hm", nil), told("a")}, llm.EndTurn},
		{"reasoning", []string{oneChoice(`{"reasoning":"hm"}`), oneChoice(`{"content":"a"}`), finishing("stop")}, []llm.Part{thinks("hm", nil), told("a")}, llm.EndTurn},
		{"both names with one text", []string{oneChoice(`{"reasoning":"hm","reasoning_content":"hm"}`), finishing("stop")}, []llm.Part{thinks("hm", nil)}, llm.EndTurn},
		{"reasoning and text in one delta", []string{oneChoice(`{"content":"a","reasoning":"hm"}`), finishing("stop")}, []llm.Part{thinks("hm", nil), told("a")}, llm.EndTurn},
		{"reasoning again after text", []string{oneChoice(`{"reasoning":"1"}`), oneChoice(`{"content":"a"}`), oneChoice(`{"reasoning":"2"}`), oneChoice(`{"content":"b"}`), finishing("stop")}, []llm.Part{thinks("1", nil), told("a"), thinks("2", nil), told("b")}, llm.EndTurn},
		{"listed thoughts, said twice", []string{
			oneChoice(`{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h","format":"anthropic-claude-v1","index":0}]}`),
			oneChoice(`{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","text":"m","index":0}]}`),
			oneChoice(`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0}]}`),
			oneChoice(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"cmVk","format":"anthropic-claude-v1","index":1}]}`), oneChoice(`{"content":"a"}`), finishing("stop"),
		}, []llm.Part{thinks("hm", signed), thinks("", &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "cmVk"}), told("a")}, llm.EndTurn},
		{"seal of a plain thought", []string{oneChoice(`{"reasoning_content":"hm"}`), oneChoice(`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0}]}`), finishing("stop")}, []llm.Part{thinks("hm", signed)}, llm.EndTurn},
		{"seal beside a plain thought", []string{oneChoice(`{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","format":"anthropic-claude-v1","index":0}],"reasoning_content":"hm"}`), finishing("stop")}, []llm.Part{thinks("hm", signed)}, llm.EndTurn},
		{"summary and what is encrypted", []string{
			oneChoice(`{"reasoning":"s","reasoning_details":[{"type":"reasoning.summary","summary":"s","format":"openai-responses-v1","index":0}]}`),
			oneChoice(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"ZW5j","id":"rs_1","format":"openai-responses-v1","index":1}]}`),
			oneChoice(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"ZW5k","id":"rs_2","format":"openai-responses-v1","index":2}]}`), finishing("stop"),
		}, []llm.Part{thinks("s", &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "ZW5j", ID: "rs_1"}), thinks("", &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "ZW5k", ID: "rs_2"})}, llm.EndTurn},
		{"thinking blocks", []string{oneChoice(`{"reasoning_content":"hm","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]}`), finishing("stop")}, []llm.Part{thinks("hm", signed)}, llm.EndTurn},
		{"mistral's thinking", []string{oneChoice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}`), oneChoice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]},{"type":"text","text":"a"}]}`), oneChoice(`{"content":"b"}`), finishing("stop")}, []llm.Part{thinks("hm", nil), told("ab")}, llm.EndTurn},
		{"google's thoughts", []string{oneChoice(`{"content":"<thought>h","extra_content":{"google":{"thought":true}}}`), oneChoice(`{"content":"m","extra_content":{"google":{"thought":true}}}`), oneChoice(`{"content":"</thought>a </thought>"}`), finishing("stop")}, []llm.Part{thinks("hm", nil), told("a </thought>")}, llm.EndTurn},
		{"google's signatures", []string{oneChoice(`{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"Z29v"}}}]}`), finishing("stop")}, []llm.Part{{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "f", Arguments: "{}"}, Signature: &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "Z29v"}}}, llm.ToolUse},
		{"google's signature of text", []string{oneChoice(`{"content":"a"}`), oneChoice(`{"content":"","extra_content":{"google":{"thought_signature":"Z29v"}}}`), finishing("stop")}, []llm.Part{{Kind: llm.Text, Text: "a", Signature: &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "Z29v"}}}, llm.EndTurn},
		{"wrapped seal", []string{oneChoice(`{"reasoning_content":"hm"}`), oneChoice(`{"reasoning_details":[{"type":"reasoning.text","signature":` + quote(llm.Wrap(&llm.Seal{Vendor: llm.Cohere, Kind: llm.Signed, Data: "d"})) + `}]}`), finishing("stop")}, []llm.Part{thinks("hm", &llm.Seal{Vendor: llm.Cohere, Kind: llm.Signed, Data: "d"})}, llm.EndTurn},
		{"refusal", []string{oneChoice(`{"refusal":"I "}`), oneChoice(`{"refusal":"won't"}`), finishing("stop")}, []llm.Part{{Kind: llm.Refusal, Text: "I won't"}}, llm.EndTurn},
		{"tool calls in fragments", []string{
			oneChoice(`{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`),
			oneChoice(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g"}}]}`), finishing("tool_calls"),
		}, []llm.Part{call("a", "f", `{"x":1}`), call("b", "g", "")}, llm.ToolUse},
		{"interleaved", []string{
			oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`), oneChoice(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}`),
			oneChoice(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`), oneChoice(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"y\":"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"2}"}}]}`), finishing("tool_calls"),
		}, []llm.Part{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)}, llm.ToolUse},
		{"name repeated", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}")}, llm.ToolUse},
		{"name repeated without id", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}")}, llm.ToolUse},
		{"name late", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}")}, llm.ToolUse},
		{"name empty at first", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"","arguments":""}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}")}, llm.ToolUse},
		{"index missing", []string{oneChoice(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`), oneChoice(`{"tool_calls":[{"function":{"arguments":"}"}}]}`), oneChoice(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}"), call("b", "f", "{}")}, llm.ToolUse},
		{"every index 0", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}"), call("b", "f", "{}")}, llm.ToolUse},
		{"whole calls in one chunk, arguments as objects, no ids", []string{oneChoice(`{"tool_calls":[{"function":{"name":"f","arguments":{"x": 1}}},{"function":{"name":"f","arguments":{}}}]}`), finishing("stop")}, []llm.Part{call(madeCallID("c", 0, keyCalls), "f", `{"x": 1}`), call(madeCallID("c", 0, keyCalls+1), "f", "{}")}, llm.ToolUse},
		{"the same call twice in one chunk, all of index 0, no ids", []string{oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"name":"f","arguments":"{}"}}]}`), finishing("stop")}, []llm.Part{call(madeCallID("c", 0, keyCalls), "f", "{}"), call(madeCallID("c", 0, keyCalls+1), "f", "{}")}, llm.ToolUse},
		{"whole calls of index 0 in two chunks, no ids", []string{oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"x":1}}}]}`), oneChoice(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"x":2}}}]}`), finishing("tool_calls")}, []llm.Part{call(madeCallID("c", 0, keyCalls), "f", `{"x":1}`), call(madeCallID("c", 0, keyCalls+1), "f", `{"x":2}`)}, llm.ToolUse},
		{"custom call", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","type":"custom","custom":{"name":"p","input":"ra"}}]}`), oneChoice(`{"tool_calls":[{"index":0,"custom":{"input":"w"}}]}`), finishing("tool_calls")}, []llm.Part{{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "p", Arguments: "raw", Custom: true}}}, llm.ToolUse},
		{"old function call", []string{oneChoice(`{"content":null,"function_call":{"name":"f","arguments":""}}`), oneChoice(`{"function_call":{"arguments":"{}"}}`), finishing("function_call")}, []llm.Part{call(madeCallID("c", 0, keyOldCall), "f", "{}")}, llm.ToolUse},
		{"text between calls", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), oneChoice(`{"content":"so"}`), finishing("tool_calls")}, []llm.Part{call("a", "f", "{}"), told("so")}, llm.ToolUse},
		{"sources before text", []string{oneChoice(`{"content":"","annotations":[{"type":"url_citation","url_citation":{"url":"u","title":"t","content":"q","start_index":1,"end_index":2}}]}`), oneChoice(`{"content":"abc"}`), finishing("stop")}, []llm.Part{{Kind: llm.Text, Text: "abc", Citations: []llm.Citation{{URL: "u", Title: "t", Quote: "q", Start: 1, End: 2}}}}, llm.EndTurn},
		{"perplexity's list of sources", []string{`{"id":"c","citations":["u","v"],"choices":[{"index":0,"delta":{"content":"a"},"message":{"content":"a"}}]}`, `{"id":"c","citations":["u","v"],"choices":[{"index":0,"delta":{"content":""},"message":{"content":"a"},"finish_reason":"stop"}]}`}, []llm.Part{{Kind: llm.Text, Text: "a", Citations: []llm.Citation{{URL: "u"}, {URL: "v"}}}}, llm.EndTurn},
		{"image", []string{oneChoice(`{"content":"see","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBO"},"index":0}]}`), finishing("stop")}, []llm.Part{told("see"), {Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "iVBO"}}}, llm.EndTurn},
		{"spoken", []string{oneChoice(`{"audio":{"id":"audio_1","transcript":"be"}}`), oneChoice(`{"audio":{"id":"audio_1","data":"AAAA"}}`), oneChoice(`{"audio":{"data":"BBBB"}}`), finishing("stop")}, []llm.Part{told("be"), {Kind: llm.Audio, Media: &llm.Media{FileID: "audio_1", Vendor: llm.OpenAI, Data: "AAAABBBB"}}}, llm.EndTurn},
		{"nothing but a finish", []string{finishing("stop")}, nil, llm.EndTurn},
		{"no finish: the end marker says it", []string{oneChoice(`{"content":"a"}`)}, []llm.Part{told("a")}, llm.EndTurn},
		{"no finish after a call", []string{oneChoice(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`)}, []llm.Part{call("a", "f", "{}")}, llm.ToolUse},
		{"a delta of odd kinds", []string{oneChoice(`{"content":{"a":1},"tool_calls":{"x":1},"reasoning":["a"],"reasoning_details":{"x":1},"audio":"x","images":"y","annotations":7,"refusal":null,"extra_content":"z","hologram":{}}`), finishing("stop")}, []llm.Part{thinks("a", nil)}, llm.EndTurn},
		{"finish said twice", []string{oneChoice(`{"content":"a"}`), finishing("length"), finishing("stop")}, []llm.Part{told("a")}, llm.Length},
		{"finish empty until the end", []string{`{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}`, finishing("stop")}, []llm.Part{told("a")}, llm.EndTurn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := answers(t, c.events)
			if len(a.Choices) != 1 || a.ID != "c" {
				t.Fatalf("%+v", a)
			}
			if got := a.Choices[0].Stop; got != c.stop {
				t.Errorf("stop is %s", stopNames[got])
			}
			if d := cmp.Diff(c.want, a.Choices[0].Content); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choice string
		want   llm.Stop
		text   string
	}{
		{`"finish_reason":"stop"`, llm.EndTurn, ""},
		{`"finish_reason":"eos"`, llm.EndTurn, ""},
		{`"finish_reason":"stop","stop_reason":"</x>"`, llm.StopSequence, "</x>"},
		{`"finish_reason":"stop","stop_reason":32000`, llm.EndTurn, ""},
		{`"finish_reason":"stop","native_finish_reason":"stop_sequence"`, llm.StopSequence, ""},
		{`"finish_reason":"stop","native_finish_reason":"refusal"`, llm.Refused, ""},
		{`"finish_reason":"stop_sequence"`, llm.StopSequence, ""},
		{`"finish_reason":"MAX_TOKENS"`, llm.Length, ""},
		{`"finish_reason":"length"`, llm.Length, ""},
		{`"finish_reason":"model_length"`, llm.ContextFull, ""},
		{`"finish_reason":"tool_use"`, llm.ToolUse, ""},
		{`"finish_reason":"function_call"`, llm.ToolUse, ""},
		{`"finish_reason":"content_filter"`, llm.ContentFilter, ""},
		{`"finish_reason":"SAFETY"`, llm.ContentFilter, ""},
		{`"finish_reason":"sensitive"`, llm.ContentFilter, ""},
		{`"finish_reason":"refusal"`, llm.Refused, ""},
		{`"finish_reason":"tea_break"`, llm.OtherStop, "tea_break"},
		{`"finish_reason":null`, llm.EndTurn, ""},
	} {
		a, err := Chat{}.DecodeReply([]byte(`{"id":"c","choices":[{"index":0,"message":{"content":"a"},` + c.choice + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Choices[0]; got.Stop != c.want || got.StopText != c.text {
			t.Errorf("%s: %s %q", c.choice, stopNames[got.Stop], got.StopText)
		}
	}
}

// xAI does not count reasoning as output; its sum shows it.
func TestUsageHoldsReasoning(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]llm.Usage{
		`{"prompt_tokens":390,"completion_tokens":26,"total_tokens":493,"completion_tokens_details":{"reasoning_tokens":77}}`: {Known: true, Input: 390, Output: 103, Reasoning: 77},
		`{"prompt_tokens":10,"completion_tokens":80,"total_tokens":90,"completion_tokens_details":{"reasoning_tokens":77}}`:   {Known: true, Input: 10, Output: 80, Reasoning: 77},
		`{"prompt_tokens":10,"completion_tokens":80,"completion_tokens_details":{"reasoning_tokens":77}}`:                     {Known: true, Input: 10, Output: 80, Reasoning: 77},
	} {
		a := answers(t, []string{`{"id":"c","choices":[],"usage":` + in + `}`})
		if d := cmp.Diff(want, a.Usage); d != "" {
			t.Errorf("%s: %s", in, d)
		}
	}
}

// recordedStreams are all recorded streams of chat completions that are no error.
func recordedStreams(tb testing.TB) map[string][]byte {
	all := files(tb, "streams")
	for name, body := range files(tb, "more") {
		all[name] = body
	}
	for name := range all {
		if !strings.HasSuffix(name, ".sse") || dialectOf(name) != (Chat{}) {
			delete(all, name)
		}
	}
	return all
}

// plainSum is what a stream says, gathered by encoding/json alone.
type plainSum struct {
	text, reasoning, refusal string
	calls                    []llm.Call
	finish                   string
}

func sumOf(tb testing.TB, events []string) plainSum {
	tb.Helper()
	var sum plainSum
	index := map[int]int{}
	for _, data := range events {
		if data == "[DONE]" {
			break
		}
		var e struct {
			Choices []struct {
				Index int
				Delta struct {
					Content                               any
					Reasoning, Reasoning_content, Refusal string
					Tool_calls                            []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					}
				}
				Finish_reason string
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			tb.Fatal(err)
		}
		for _, c := range e.Choices {
			if c.Index > 0 || sum.finish != "" {
				continue // one recording has two streams in it
			}
			sum.reasoning += c.Delta.Reasoning + c.Delta.Reasoning_content
			switch content := c.Delta.Content.(type) {
			case string:
				sum.text += content
			case []any:
				for _, p := range content {
					p := p.(map[string]any)
					sum.text += texts(p["text"])
					sum.reasoning += texts(p["thinking"])
				}
			}
			sum.refusal += c.Delta.Refusal
			for _, call := range c.Delta.Tool_calls {
				at, ok := index[call.Index]
				if !ok {
					at = len(sum.calls)
					index[call.Index] = at
					sum.calls = append(sum.calls, llm.Call{ID: call.ID, Name: call.Function.Name})
				}
				sum.calls[at].Arguments += call.Function.Arguments
			}
			sum.finish = c.Finish_reason
		}
	}
	return sum
}

func sumOfReply(c *llm.Choice) (sum plainSum) {
	for _, p := range c.Content {
		switch p.Kind {
		case llm.Text:
			sum.text += p.Text
		case llm.Reasoning:
			sum.reasoning += p.Text
		case llm.Refusal:
			sum.refusal += p.Text
		case llm.ToolCall:
			sum.calls = append(sum.calls, *p.Call)
		case llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
		}
	}
	sum.finish = strings.Trim(string(appendFinish(nil, c.Stop, false)), `"`)
	return sum
}

// Every recorded stream says what encoding/json finds in it; however its bytes were cut; and the whole of it is in a golden
// file.
func TestStreamsOfRecordings(t *testing.T) {
	t.Parallel()
	for name, stream := range recordedStreams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := framesOf(t, stream, len(stream))
			for size := 1; size < 8; size++ {
				if d := cmp.Diff(events, framesOf(t, stream, size)); d != "" {
					t.Fatalf("in pieces of %d bytes: %s", size, d)
				}
			}
			broken := strings.Contains(name, "error-in-stream")
			if broken {
				events = events[:len(events)-1] // the error, which is not for the decoder
			}
			if i := slices.Index(events, "[DONE]"); i >= 0 {
				events = events[:i+1]
			}
			var fold llm.Fold
			var order llm.Order
			put := func(e *llm.Event) { order.Put(e, fold.Put) }
			d := Chat{}.NewDecoder()
			for _, data := range events {
				if err := d.Decode([]byte(data), put); err != nil {
					t.Fatal(err)
				}
			}
			d.End(put)
			a := fold.Reply()
			want := sumOf(t, events)
			if want.finish == "eos" {
				want.finish = "stop"
			}
			if broken {
				want.finish = "null"
			}
			if d := cmp.Diff(want, sumOfReply(&a.Choices[0]), cmp.AllowUnexported(plainSum{})); d != "" {
				t.Error(d)
			}
			testkit.Golden(t, "golden/streams/"+strings.TrimSuffix(name, ".sse")+".txt", show(a))
		})
	}
}

// Every recorded reply, in golden files; and as a stream it says the same.
func TestRepliesOfRecordings(t *testing.T) {
	t.Parallel()
	all := files(t, "replies")
	for name, body := range files(t, "more") {
		all[name] = body
	}
	for name, body := range all {
		if dialectOf(name) != (Chat{}) || !strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".request.json") || name == "azure-content-filter-prompt.json" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := Chat{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, "golden/replies/"+strings.TrimSuffix(name, ".json")+".txt", show(a))
			if strings.Contains(name, "audio") {
				return // what was spoken is text in a stream
			}
			stream, err := Chat{}.StreamFromReply(body, true)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(show(a)), string(show(answers(t, framesOf(t, stream, len(stream)))))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeReplyOfNonsense(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `[]`, `{"choices":[`, `{"choices":[]}x`} {
		if _, err := (Chat{}).DecodeReply([]byte(body)); err == nil {
			t.Errorf("%q is a reply", body)
		}
	}
	if err := (Chat{}).NewDecoder().Decode([]byte(`7`), func(*llm.Event) {}); err == nil {
		t.Error("7 is an event")
	}
}

// A stream whose first event says nothing (Azure) begins with the second; one without choices begins all the same.
func TestDecoderStartsOnce(t *testing.T) {
	t.Parallel()
	var kinds []llm.EventKind
	d := Chat{}.NewDecoder()
	for _, data := range []string{
		`{"choices":[],"created":0,"id":"","model":"","prompt_filter_results":[]}`,
		oneChoice(`{"role":"assistant","content":""}`),
		`{"id":"c","choices":[],"usage":{"prompt_tokens":1}}`,
		`{"id":"c","choices":[],"usage":{"prompt_tokens":1}}`,
		`[DONE]`,
	} {
		if err := d.Decode([]byte(data), func(e *llm.Event) { kinds = append(kinds, e.Kind) }); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]llm.EventKind{llm.Start, llm.Used}, kinds); d != "" {
		t.Error(d)
	}
}
