package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
)

// What upstreams and the relays before them are known to do to this dialect's streams.
func TestDecoder(t *testing.T) {
	t.Parallel()
	block := func(index, b string) string {
		return `{"type":"content_block_start","index":` + index + `,"content_block":{` + b + `}}`
	}
	delta := func(index, d string) string {
		return `{"type":"content_block_delta","index":` + index + `,"delta":{` + d + `}}`
	}
	finish := func(reason string) string {
		return `{"type":"message_delta","delta":{` + reason + `},"usage":{"output_tokens":25}}`
	}
	const tool = `"type":"tool_use","id":"t","name":"f"`
	for name, c := range map[string]struct {
		events []string
		want   []llm.Part
		stop   llm.Stop
		word   string
	}{
		"text": {[]string{openEvent, saysText("a"), saysText(`\"b\u00e9`), closeEvent, finishEvent}, []llm.Part{text(`a"bé`)}, llm.EndTurn, ""},
		"text in the start": {
			[]string{block("0", `"type":"text","text":"x"`), saysText("y"), finishEvent}, []llm.Part{text("xy")}, llm.EndTurn, "",
		},
		"deltas without a start": {
			[]string{saysText("a"), delta("1", `"type":"thinking_delta","thinking":"t"`), delta("1", `"type":"signature_delta","signature":"s"`), finishEvent},
			[]llm.Part{text("a"), thought(llm.Anthropic, llm.Signed, "t", "s")},
			llm.EndTurn, "",
		},
		"deltas after a stop": {
			[]string{openEvent, saysText("a"), saysText("b"), closeEvent, saysText("c"), finishEvent}, []llm.Part{text("ab"), text("c")}, llm.EndTurn, "",
		},
		"every block is number 0": {
			[]string{openEvent, saysText("a"), closeEvent, block("0", tool+`,"input":{}`), delta("0", `"type":"input_json_delta","partial_json":"{\"x\":"`), delta("0", `"type":"input_json_delta","partial_json":"1}"`), closeEvent, finish(`"stop_reason":"tool_use"`)},
			[]llm.Part{text("a"), call("t", "f", `{"x":1}`)},
			llm.ToolUse, "",
		},
		"no stops between blocks": {
			[]string{openEvent, saysText("a"), block("1", tool), block("2", `"type":"tool_use","id":"u","name":"g","input":{}`), finish(`"stop_reason":"tool_use"`)},
			[]llm.Part{text("a"), call("t", "f", ""), call("u", "g", "")},
			llm.ToolUse, "",
		},
		"input in the start": {
			[]string{block("0", tool+`,"input":{"a": 1}`), closeEvent, finish(`"stop_reason":"tool_use"`)}, []llm.Part{call("t", "f", `{"a": 1}`)}, llm.ToolUse, "",
		},
		"input in the start and in pieces": {
			[]string{block("0", tool+`,"input":{"a": 1}`), delta("0", `"type":"input_json_delta","partial_json":""`), delta("0", `"type":"input_json_delta","partial_json":"{\"a\":1}"`), closeEvent, finishEvent},
			[]llm.Part{call("t", "f", `{"a":1}`)},
			llm.EndTurn, "",
		},
		"a server's call": {
			[]string{block("0", `"type":"server_tool_use","id":"s","name":"w","input":{}`), delta("0", `"type":"input_json_delta","partial_json":"{\"q\":"`), delta("0", `"type":"input_json_delta","partial_json":"\"x\"}"`), closeEvent, finish(`"stop_reason":"pause_turn"`)},
			[]llm.Part{{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte(`{"type":"server_tool_use","id":"s","name":"w","input":{"q":"x"}}`)}}},
			llm.Paused, "",
		},
		"a server's call that breaks off": {
			[]string{block("0", `"type":"mcp_tool_use","id":"s","name":"w","input":{}`), delta("0", `"type":"input_json_delta","partial_json":"{\"q\":"`)},
			[]llm.Part{{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "mcp_tool_use", Raw: []byte(`{"type":"mcp_tool_use","id":"s","name":"w","input":{}}`)}}},
			llm.EndTurn, "",
		},
		"blocks, deltas and events that nobody knows": {
			[]string{`{"type":"galaxy_event"}`, block("0", `"type":"hologram","data":"zz"`), delta("0", `"type":"hologram_delta","data":"yy"`), closeEvent, block("1", `"x":1`), openEvent, saysText("a"), delta("0", `"type":"input_json_delta","partial_json":"x"`), `[DONE]`},
			[]llm.Part{{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "hologram", Raw: []byte(`{"type":"hologram","data":"zz"}`)}}, text("a")},
			llm.EndTurn, "",
		},
		"a stop sequence":     {[]string{openEvent, saysText("a"), finish(`"stop_reason":"stop_sequence","stop_sequence":"\n\n"`)}, []llm.Part{text("a")}, llm.StopSequence, "\n\n"},
		"an unknown reason":   {[]string{openEvent, saysText("a"), finish(`"stop_reason":"tea_break"`)}, []llm.Part{text("a")}, llm.OtherStop, "tea_break"},
		"the window is full":  {[]string{openEvent, saysText("a"), finish(`"stop_reason":"model_context_window_exceeded"`)}, []llm.Part{text("a")}, llm.ContextFull, ""},
		"two message_deltas":  {[]string{openEvent, saysText("a"), finish(`"stop_reason":null`), finish(`"stop_reason":"max_tokens"`)}, []llm.Part{text("a")}, llm.Length, ""},
		"nothing but the end": {[]string{finish(`"stop_reason":"refusal"`)}, nil, llm.Refused, ""},
		"a wrapped seal comes out as what it is": {
			[]string{block("0", `"type":"redacted_thinking","data":"`+llm.Wrap(&llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "g"})+`"`), finishEvent},
			[]llm.Part{thought(llm.OpenAI, llm.Encrypted, "", "g")},
			llm.EndTurn, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := decodeStream(t, sayAll(append([]string{startEvent}, c.events...)...))
			want := &llm.Reply{ID: "msg_1", Model: "claude-x", Choices: a.Choices, Usage: a.Usage}
			if diff := cmp.Diff(want, a); diff != "" {
				t.Error(diff)
			}
			if len(a.Choices) != 1 {
				if c.want != nil || c.stop != llm.EndTurn {
					t.Fatalf("%d choices", len(a.Choices))
				}
				return
			}
			got := a.Choices[0]
			if diff := cmp.Diff(c.want, got.Content); diff != "" || got.Stop != c.stop || got.StopText != c.word {
				t.Errorf("%s stop %v %q", diff, got.Stop, got.StopText)
			}
		})
	}
	var d decoder
	if err := d.Decode([]byte(`{"type"`), func(*llm.Event) { t.Error("something was told") }); err == nil {
		t.Error("no error for half an event")
	}
}

// Usage is told as soon as it is known, and what comes later stands over it.
func TestDecoderUsage(t *testing.T) {
	t.Parallel()
	var got []llm.Usage
	var d decoder
	for _, data := range []string{startEvent, startEvent, openEvent, saysText("a"), closeEvent, finishEvent, endEvent} {
		if err := d.Decode([]byte(data), func(e *llm.Event) {
			if e.Kind == llm.Used {
				got = append(got, e.Usage)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	first := llm.Usage{Known: true, Input: 6300, CachedInput: 2000, CacheWrite: 4000, Output: 1}
	last := first
	last.Output = 25
	if diff := cmp.Diff([]llm.Usage{first, last}, got); diff != "" {
		t.Error(diff)
	}
}

// R17 and R14: what makes no reply.
func TestReplyFromStreamMistakes(t *testing.T) {
	t.Parallel()
	open := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`
	piece := `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`
	for name, c := range map[string]struct {
		stream string
		want   string
	}{
		"nothing":        {"", "the upstream's stream ended without any content"},
		"no content":     {string(sayAll(startEvent, openEvent, closeEvent, endEvent)), "the upstream's stream ended without any content"},
		"cut":            {string(sayAll(startEvent, openEvent, saysText("a"))), "the upstream's stream was cut before its end"},
		"an error":       {string(sayAll(startEvent, openEvent, saysText("a"), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), "Overloaded"},
		"broken call":    {string(sayAll(startEvent, open, piece)) + "data: {\"type\"\n\n" + string(sayAll(finishEvent)), "the upstream's stream broke inside a tool call"},
		"half arguments": {string(sayAll(startEvent, open, piece, closeEvent, finishEvent)), "the upstream's stream holds a tool call whose input is broken: invalid JSON at byte 4: it ends too early"},
	} {
		_, err := Messages{}.ReplyFromStream([]byte(c.stream))
		if err == nil || !containsMessage(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One broken event elsewhere is left out; a stream without its marker, but with a finish, is complete; and so is one with
	// a marker and no finish.
	for name, events := range map[string][]string{
		"a broken event": {startEvent, openEvent, saysText("a"), `{"bro`, saysText("b"), finishEvent},
		"no marker":      {startEvent, openEvent, saysText("a"), saysText("b"), closeEvent, finishEvent},
		"no finish":      {startEvent, openEvent, saysText("a"), saysText("b"), closeEvent, endEvent},
		"no start":       {openEvent, saysText("a"), saysText("b"), endEvent},
	} {
		body, err := Messages{}.ReplyFromStream(sayAll(events...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		a, err := Messages{}.DecodeReply(body)
		if err != nil || len(a.Choices[0].Content) != 1 || a.Choices[0].Content[0].Text != "ab" || a.Choices[0].Stop != llm.EndTurn {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}

// Null says nothing, in whatever event it comes.
func TestReplyFromStreamNulls(t *testing.T) {
	t.Parallel()
	body, err := Messages{}.ReplyFromStream(sayAll(startEvent, openEvent, saysText("a"), closeEvent,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":25}}`,
		`{"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":26,"cache_read_input_tokens":null}}`, endEvent))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Messages{}.DecodeReply(body)
	if err != nil || a.Choices[0].Stop != llm.Length || a.Usage.CachedInput != 2000 || a.Usage.Output != 26 {
		t.Errorf("%s: %v", body, err)
	}
}

func TestStreamFromReplyMistakes(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "<html>", `{"type":"error","error":{"type":"x","message":"m"}}`, `{"content":[]}`} {
		if stream, err := (Messages{}).StreamFromReply([]byte(body), true); err == nil {
			t.Errorf("%q became %s", body, stream)
		}
	}
	stream, err := Messages{}.StreamFromReply([]byte("{\n\"content\":[{\"type\":\"text\",\n\"text\":\"a\\nb\"},7]}"), true)
	if err != nil {
		t.Fatal(err)
	}
	a := decodeStream(t, stream)
	if diff := cmp.Diff([]llm.Choice{{Content: []llm.Part{text("a\nb")}, Stop: llm.EndTurn}}, a.Choices); diff != "" {
		t.Error(diff)
	}
}
