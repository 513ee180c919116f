package responses

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
)

// A stream that leaves out beginnings, deltas or ends says all that it does say, and says it once.
func TestIncompleteLifecycles(t *testing.T) {
	t.Parallel()
	const end = `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	call := func(args string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "f", Arguments: args}}
	}
	for _, c := range []struct {
		name   string
		events []string
		want   []llm.Part
		stop   llm.Stop
	}{
		{"deltas alone", []string{`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"b"}`, end}, []llm.Part{text("ab")}, llm.EndTurn},
		{"the text's end alone", []string{`{"type":"response.output_text.done","text":"ab"}`, end}, []llm.Part{text("ab")}, llm.EndTurn},
		{"the part's end alone", []string{`{"type":"response.content_part.done","part":{"type":"output_text","text":"ab","annotations":[{"type":"url_citation","url":"u"}]}}`, end}, []llm.Part{{Kind: llm.Text, Text: "ab", Citations: []llm.Citation{{URL: "u"}}}}, llm.EndTurn},
		{"the item's end alone", []string{`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}}`, end}, []llm.Part{text("a"), {Kind: llm.Refusal, Text: "b"}}, llm.EndTurn},
		{"the response's end alone", []string{`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`}, []llm.Part{text("a"), call("{}")}, llm.ToolUse},
		{
			"a call that only the response's end has", []string{
				`{"type":"response.output_text.delta","output_index":0,"delta":"a"}`,
				`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`,
			}, []llm.Part{text("a"), call("{}")}, llm.ToolUse,
		},
		{
			"everything several times", []string{
				`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":"}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"1}"}`,
				`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"a\":1}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}]}}`,
				`[DONE]`,
			}, []llm.Part{call(`{"a":1}`)}, llm.ToolUse,
		},
		{
			"arguments before the name", []string{
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c"}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`, end,
			}, []llm.Part{call("{}")}, llm.ToolUse,
		},
		{
			"a custom call", []string{
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","call_id":"c","name":"f","input":""}}`,
				`{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"*** "}`,
				`{"type":"response.custom_tool_call_input.done","output_index":0,"input":"*** "}`, end,
			}, []llm.Part{{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "f", Arguments: "*** ", Custom: true}}}, llm.ToolUse,
		},
		{
			"a summary of two paragraphs, then the thought itself", []string{
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}`,
				`{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"a"}`,
				`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}`,
				`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"long"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gA"}}`, end,
			}, []llm.Part{{Kind: llm.Reasoning, Text: "a\n\nb", Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gA", ID: "rs"}}}, llm.EndTurn,
		},
		{
			"a thought that is only sealed",
			[]string{`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[],"encrypted_content":"gA"}}`, end},
			[]llm.Part{{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gA", ID: "rs"}}},
			llm.EndTurn,
		},
		{"a thought of nothing", []string{`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}}`, end}, nil, llm.EndTurn},
		{
			"what nobody knows",
			[]string{`{"type":"response.new.delta","delta":"x"}`, `{"type":"keepalive"}`, `{"type":"response.output_item.done","output_index":0,"item":{"id":"n","type":"new_call","x":1}}`, end},
			[]llm.Part{{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "new_call", Raw: []byte(`{"id":"n","type":"new_call","x":1}`)}}},
			llm.EndTurn,
		},
		{
			"an item that ends twice",
			[]string{`{"type":"response.output_item.done","output_index":0,"item":{"id":"n","type":"new_call"}}`, `{"type":"response.output_item.done","output_index":0,"item":{"id":"n","type":"new_call"}}`, end},
			[]llm.Part{{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "new_call", Raw: []byte(`{"id":"n","type":"new_call"}`)}}},
			llm.EndTurn,
		},
		{"cut by the filter", []string{`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`}, []llm.Part{text("a")}, llm.ContentFilter},
		{"cut for no reason", []string{`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.incomplete","response":{}}`}, []llm.Part{text("a")}, llm.OtherStop},
		{"a pair of escapes", []string{`{"type":"response.output_text.delta","delta":"\ud83d\ude00\n"}`, end}, []llm.Part{text("😀\n")}, llm.EndTurn},
	} {
		var data [][]byte
		for _, e := range c.events {
			data = append(data, []byte(e))
		}
		got := decoded(t, data)
		if len(got.Choices) != 1 {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if diff := cmp.Diff(c.want, got.Choices[0].Content); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if got.Choices[0].Stop != c.stop {
			t.Errorf("%s: stop %d", c.name, got.Choices[0].Stop)
		}
	}
}

// The beginning is said first and once, even where a stream leaves it out.
func TestStartComesFirst(t *testing.T) {
	t.Parallel()
	for name, stream := range recorded(t, ".sse") {
		for _, data := range [][][]byte{events(t, stream), events(t, stream)[2:]} {
			var kinds []llm.EventKind
			d := Responses{}.NewDecoder()
			for _, e := range data {
				if err := d.Decode(e, func(ev *llm.Event) {
					if ev.Kind != llm.Alive {
						kinds = append(kinds, ev.Kind)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
			starts := 0
			for _, k := range kinds {
				if k == llm.Start {
					starts++
				}
			}
			if kinds[0] != llm.Start || starts != 1 {
				t.Errorf("%s: %v", name, kinds)
			}
		}
	}
}

func TestDecoderLogProbs(t *testing.T) {
	t.Parallel()
	got := decoded(t, [][]byte{
		[]byte(`{"type":"response.output_text.delta","delta":"a","logprobs":[{"token":"a","logprob":-1}]}`),
		[]byte(`{"type":"response.output_text.delta","delta":"b","logprobs":[{"token":"b","logprob":-2}]}`),
		[]byte(`{"type":"response.output_text.done","text":"ab","logprobs":[{"token":"a","logprob":-1},{"token":"b","logprob":-2}]}`),
		[]byte(`{"type":"response.completed","response":{}}`),
	})
	if want := `[{"token":"a","logprob":-1},{"token":"b","logprob":-2}]`; string(got.Choices[0].LogProbs) != want {
		t.Errorf("%s", got.Choices[0].LogProbs)
	}
}

func FuzzDecoder(f *testing.F) {
	g := newGrammar(f)
	for _, stream := range recorded(f, ".sse") {
		f.Add(stream[:min(len(stream), 6000)])
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var order llm.Order
		var out []byte
		d := Responses{}.NewDecoder()
		q := &llm.Request{Dropped: &llm.Dropped{}}
		e := Responses{}.NewEncoder(q)
		say := func(ev *llm.Event) { out = e.Append(out, ev) }
		put := func(ev *llm.Event) { order.Put(ev, say) }
		for line := range bytes.Lines(stream) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				if err := d.Decode(data, put); err != nil {
					continue
				}
			}
		}
		d.End(put)
		order.End(say)
		g.check(t, e.AppendEnd(out))
	})
}
