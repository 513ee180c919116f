package converse

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

var streams = []string{
	"citations-stream-haiku-4.5", "redacted-thinking-stream-sonnet-3.7", "text-stream-nova-micro",
	"thinking-stream-sonnet-4", "tool-single-stream-sonnet-3",
}

func TestRecordedStreams(t *testing.T) {
	t.Parallel()
	for _, name := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := frames(t, name+".eventstream")
			lines, reply := decodeAll(t, events)
			testkit.Golden(t, "golden/"+name+".txt", []byte(lines))

			var p wire.Progress
			for _, e := range events {
				if j := (Converse{}).JudgeEvent([]byte(e), &p); j.Malformed || j.Fault != nil || j.End {
					t.Errorf("%s: %+v", e, j)
				}
			}
			if !p.SawContent || !p.SawFinish || p.OpenTool || !p.Reply.Usage.Known {
				t.Errorf("%+v", p)
			}
			if d := cmp.Diff(reply.Usage, p.Reply.Usage); d != "" {
				t.Error(d)
			}

			// R17: a stream where a reply was asked for says the same, and so does that reply as a stream again.
			body, err := Converse{}.ReplyFromStream(asSSE(events))
			if err != nil {
				t.Fatal(err)
			}
			folded, err := Converse{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(reply, folded); d != "" {
				t.Error("folded:", d)
			}
			again, err := Converse{}.StreamFromReply(body, false)
			if err != nil {
				t.Fatal(err)
			}
			_, unfolded := decodeAll(t, data(t, again))
			if d := cmp.Diff(reply, unfolded); d != "" {
				t.Error("unfolded:", d)
			}
		})
	}
}

// data gives the data of an event stream's events, all of which must be named in the plainest form.
func data(t *testing.T, stream []byte) (out []string) {
	t.Helper()
	var s sse.Splitter
	for len(stream) > 0 {
		f, n, err := s.Next(stream, true)
		if err != nil || n == 0 || !f.Named {
			t.Fatalf("%q: %v", stream, err)
		}
		out = append(out, string(f.Data))
		stream = stream[n:]
	}
	return out
}

// The exception comes before any content, in a stream that began with a 200.
func TestRecordedException(t *testing.T) {
	t.Parallel()
	events := frames(t, "error-in-stream-validation-exception.eventstream")
	var p wire.Progress
	e := Converse{}.JudgeEvent([]byte(events[0]), &p)
	if e.Fault == nil || e.Fault.Class != fault.Rejected || e.Fault.Status != 400 || e.Fault.Code != "validationException" ||
		!strings.Contains(e.Fault.Message, "does not match the expected type image/png") || p.SawContent {
		t.Fatalf("%+v", e.Fault)
	}
}

func TestDecoder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{
			name: "no messageStart, no stops, text without a start",
			events: []string{
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"a"}}}`,
				`{"contentBlockDelta":{"delta":{"text":"b"},"contentBlockIndex":1}}`,
				`{"messageStop":{"stopReason":"end_turn"}}`,
			},
			want: "start\npart 0: kind 1\n  0 \"a\"\nstop 0\npart 1: kind 1\n  1 \"b\"\nstop 1\nfinish 1 \"\"\n",
		},
		{
			name: "a signature in two pieces, with escapes",
			events: []string{
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"h\u006dm"}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"A\/"}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"B="}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"text":"x"}}}`,
			},
			want: "start\npart 0: kind 8\n  0 \"hmm\"\n  0 seal anthropic 1 \"A/B=\"\nstop 0\npart 1: kind 1\n  1 \"x\"\nstop 1\nfinish 1 \"\"\n",
		},
		{
			name: "parallel calls, one without arguments",
			events: []string{
				`{"contentBlockStart":{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}}`,
				`{"contentBlockStop":{"contentBlockIndex":0}}`,
				`{"contentBlockStart":{"start":{"toolUse":{"name":"g","toolUseId":"b"}},"contentBlockIndex":1}}`,
				`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"x\""}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":":1}"}}}}`,
				`{"contentBlockStop":{"contentBlockIndex":1}}`,
				`{"messageStop":{"stopReason":"tool_use"}}`,
				`{"metadata":{"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":19,"cacheReadInputTokens":5,"cacheWriteInputTokens":7}}}`,
			},
			want: "start\npart 0: kind 6 call \"a\" \"f\"\nstop 0\npart 1: kind 6 call \"b\" \"g\"\n  1 \"{\\\"x\\\"\"\n  1 \":1}\"\nstop 1\n" +
				"finish 3 \"\"\nusage {Known:true Input:15 Output:4 CachedInput:5 CacheWrite:7 Reasoning:0 AudioInput:0 AudioOutput:0}\n",
		},
		{
			name: "what is not known loses nothing else",
			events: []string{
				`{"novelty":{"x":1}}`, `{"contentBlockStart":{"contentBlockIndex":0,"start":{"hologram":{}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"hologram":"x"}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"toolUse":{"input":"of nothing"}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"text":"","novelty":2}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":2,"delta":{"text":"x"}}}`,
				`{"messageStop":{"stopReason":"malformed_tool_use","additionalModelResponseFields":null}}`,
			},
			want: "start\npart 0: kind 1\n  0 \"x\"\nstop 0\nfinish 9 \"malformed_tool_use\"\n",
		},
		{
			name: "the stop sequence that was met, and a second stop",
			events: []string{
				`{"messageStop":{"stopReason":"stop_sequence","additionalModelResponseFields":{"stop_sequence":"END"}}}`,
				`{"messageStop":{"stopReason":"end_turn"}}`,
			},
			want: "start\nfinish 4 \"END\"\n",
		},
		{
			name: "a web citation and a picture",
			events: []string{
				`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"citation":{"title":"T","location":{"web":{"url":"https://x.y","domain":"x.y"}},"sourceContent":[{"text":"a"},{"text":"b"}]}}}}`,
				`{"contentBlockStart":{"contentBlockIndex":1,"start":{"image":{"format":"png"}}}}`,
				`{"contentBlockDelta":{"contentBlockIndex":1,"delta":{"image":{"source":{"bytes":"aGk="}}}}}`,
				`{"messageStop":{"stopReason":"guardrail_intervened"}}`,
			},
			want: "start\npart 0: kind 1\n  0 cited {URL:https://x.y Title:T Quote:ab Start:0 End:0}\nstop 0\npart 1: kind 2\n  1 \"aGk=\"\nstop 1\nfinish 5 \"\"\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lines, _ := decodeAll(t, c.events)
			if d := cmp.Diff(c.want, lines); d != "" {
				t.Error(d)
			}
		})
	}
	if err := (Converse{}).NewDecoder().Decode([]byte(`{"messageStop":`), func(*llm.Event) {}); err == nil {
		t.Error("half an event was read")
	}
}

func TestReplyFromStreamThatIsNotWhole(t *testing.T) {
	t.Parallel()
	text := `{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"a"}}}`
	for name, events := range map[string][]string{
		"no finish":        {text},
		"an exception":     {text, `{"exception":"throttlingException","message":"slow down"}`},
		"broken in a call": {`{"contentBlockStart":{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}}`, `{"x`, `{"messageStop":{"stopReason":"tool_use"}}`},
	} {
		if body, err := (Converse{}).ReplyFromStream(asSSE(events)); err == nil {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// An open stream's decoder makes no garbage but for a call's head.
func TestDecoderDoesNotAllocate(t *testing.T) {
	d := Converse{}.NewDecoder()
	events := [][]byte{
		[]byte(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"some \"text\" here"},"p":"abcdefgh"}}`),
		[]byte(`{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"more"},"p":"abcdefgh"}}`),
	}
	emit := func(*llm.Event) {}
	_ = d.Decode(events[0], emit)
	if n := testing.AllocsPerRun(50, func() {
		for _, e := range events {
			_ = d.Decode(e, emit)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, name := range append([]string{"error-in-stream-validation-exception"}, streams...) {
		for _, e := range frames(f, name+".eventstream") {
			f.Add([]byte(e))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var p wire.Progress
		e := Converse{}.JudgeEvent(in, &p)
		if e.Malformed == (json.Valid(in) && strings.HasPrefix(strings.TrimLeft(string(in), " \t\r\n"), "{")) {
			t.Fatalf("malformed is %v", e.Malformed)
		}
		d := Converse{}.NewDecoder()
		var order llm.Order
		content := false
		open := -1
		say := func(ev *llm.Event) {
			switch ev.Kind {
			case llm.PartStart:
				open = ev.Part
				content = content || ev.Head.Kind == llm.ToolCall
			case llm.PartStop:
				open = -1
			case llm.Delta, llm.Sealing, llm.Cited:
				if ev.Part != open {
					t.Fatalf("a piece of part %d, open is %d", ev.Part, open)
				}
				content = content || ev.Kind == llm.Delta && len(ev.Text) > 0
			case llm.Finish:
				content = true
			case llm.Start, llm.Used, llm.Probs, llm.Alive:
			}
		}
		err := d.Decode(in, func(ev *llm.Event) { order.Put(ev, say) })
		if err == nil && e.Malformed {
			t.Fatal("a malformed event was decoded")
		}
		// What is said is content: else it would be held back for ever.
		if err == nil && e.Fault == nil && content && !e.Content {
			t.Fatalf("content that was not judged as such: %q", in)
		}
	})
}
