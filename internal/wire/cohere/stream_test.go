package cohere

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// data gives the data of an event stream's events.
func data(t testing.TB, stream []byte) (out []string) {
	t.Helper()
	var s sse.Splitter
	for len(stream) > 0 {
		f, n, err := s.Next(stream, true)
		if err != nil || n == 0 || !f.Named && !(f.Plain && string(f.Data) == "[DONE]") {
			t.Fatalf("%q: %v", stream, err)
		}
		out = append(out, string(f.Data))
		stream = stream[n:]
	}
	return out
}

// decodeAll runs events through the decoder and llm.Order, and gives a line for each event that comes out, and the
// reply that they fold to.
func decodeAll(t testing.TB, events []string) (lines string, reply *llm.Reply) {
	t.Helper()
	d := Chat{}.NewDecoder()
	var order llm.Order
	var fold llm.Fold
	var b strings.Builder
	say := func(e *llm.Event) {
		b.WriteString(line(e))
		fold.Put(e)
	}
	put := func(e *llm.Event) { order.Put(e, say) }
	for _, e := range events {
		if err := d.Decode([]byte(e), put); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
	}
	d.End(put)
	order.End(say)
	return b.String(), fold.Reply()
}

func line(e *llm.Event) string {
	switch e.Kind {
	case llm.Start:
		return fmt.Sprintf("start %q\n", e.ID)
	case llm.PartStart:
		s := fmt.Sprintf("part %d: kind %d", e.Part, e.Head.Kind)
		if e.Head.Call != nil {
			s += fmt.Sprintf(" call %q %q", e.Head.Call.ID, e.Head.Call.Name)
		}
		return s + "\n"
	case llm.Delta:
		return fmt.Sprintf("  %d %q\n", e.Part, e.Text)
	case llm.Cited:
		return fmt.Sprintf("  %d cited %+v\n", e.Part, *e.Citation)
	case llm.PartStop:
		return fmt.Sprintf("stop %d\n", e.Part)
	case llm.Finish:
		return fmt.Sprintf("finish %d %q\n", e.Stop, e.StopText)
	case llm.Used:
		return fmt.Sprintf("usage %+v\n", e.Usage)
	case llm.Probs:
		return fmt.Sprintf("  probs %s\n", e.LogProbs)
	case llm.Sealing, llm.Alive:
	}
	return "other\n"
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"tool-single-stream-command-a", "reasoning"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := read(t, "streams", name+".sse")
			events := data(t, stream)
			lines, reply := decodeAll(t, events)
			testkit.Golden(t, "golden/"+name+".txt", []byte(lines))

			var p wire.Progress
			for i, e := range events {
				j := Chat{}.JudgeEvent([]byte(e), &p)
				if j.Malformed || j.Fault != nil || j.End != (i == len(events)-1) || !j.End && !strings.Contains(e, `"type":"`+string(j.Name)+`"`) {
					t.Errorf("%s: %+v", e, j)
				}
			}
			if !p.SawContent || !p.SawFinish || p.OpenTool || p.ID != reply.ID || p.Reply.Usage != reply.Usage || !reply.Usage.Known {
				t.Errorf("%+v", p)
			}

			// R17: a stream where a reply was asked for says the same, and so does that reply as a stream again.
			body, err := Chat{}.ReplyFromStream(stream)
			if err != nil {
				t.Fatal(err)
			}
			folded, err := Chat{}.DecodeReply(body)
			if err != nil {
				t.Fatal(err)
			}
			reply.Choices[0].LogProbs = nil
			if d := cmp.Diff(reply, folded); d != "" {
				t.Error("folded:", d)
			}
			again, err := Chat{}.StreamFromReply(body, false)
			if err != nil {
				t.Fatal(err)
			}
			if _, unfolded := decodeAll(t, data(t, again)); cmp.Diff(reply, unfolded) != "" {
				t.Error("unfolded:", cmp.Diff(reply, unfolded))
			}
		})
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
			name: "plan, parallel calls, and one without arguments",
			events: []string{
				`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will"}}}`,
				`{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}`,
				`{"type":"tool-call-end","index":0}`,
				`{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{\"x\""}}]}}}`,
				`{"type":"tool-call-delta","index":1,"delta":{"message":{"tool_calls":{"function":{"arguments":":1}"}}}}}`,
				`{"type":"tool-call-end","index":1}`,
				`{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}`,
			},
			want: "start \"\"\npart 0: kind 8\n  0 \"I will\"\nstop 0\npart 1: kind 6 call \"a\" \"f\"\nstop 1\npart 2: kind 6 call \"b\" \"g\"\n" +
				"  2 \"{\\\"x\\\"\"\n  2 \":1}\"\nstop 2\nfinish 3 \"\"\n",
		},
		{
			name: "what is not known loses nothing else",
			events: []string{
				`{"type":"debug","prompt":"x"}`, `{"type":"content-delta","index":0,"delta":{"message":{"content":{"hologram":"x"},"novelty":1}}}`,
				`{"type":"content-delta","delta":{"message":{"content":{"text":"x"}}}}`, `{"novelty":1}`, `{"type":"tool-call-delta","index":3,"delta":{"message":{"tool_calls":{"function":{"arguments":"of nothing"}}}}}`,
				`{"type":"message-end","delta":{"finish_reason":"USER_CANCEL","usage":null}}`, `{"type":"message-end","delta":{"finish_reason":"COMPLETE"}}`,
			},
			want: "start \"\"\npart 0: kind 1\n  0 \"x\"\nstop 0\nfinish 9 \"USER_CANCEL\"\n",
		},
		{
			name:   "an end without a finish",
			events: []string{`{"type":"content-delta","delta":{"message":{"content":{"text":"x"}}}}`, `[DONE]`},
			want:   "start \"\"\npart 0: kind 1\n  0 \"x\"\nstop 0\nfinish 1 \"\"\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if lines, _ := decodeAll(t, c.events); lines != c.want {
				t.Error(cmp.Diff(c.want, lines))
			}
		})
	}
}

func TestJudgeEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data string
		want wire.Event
	}{
		{`{"type":"message-start","id":"x","delta":{"message":{"role":"assistant"}}}`, wire.Event{}},
		{`{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}`, wire.Event{}},
		{`{"type":"content-delta","delta":{"message":{"content":{"text":"x"}}}}`, wire.Event{Content: true}},
		{`{"type":"content-delta","delta":{"message":{"content":{"thinking":"x"}}}}`, wire.Event{Content: true}},
		{`{"type":"tool-plan-delta","delta":{"message":{"tool_plan":"x"}}}`, wire.Event{Content: true}},
		{`{"type":"tool-call-start","delta":{"message":{"tool_calls":{"id":"a","function":{"name":"f"}}}}}`, wire.Event{Content: true}},
		{`{"type":"tool-call-delta","delta":{"message":{"tool_calls":{"function":{"arguments":""}}}}}`, wire.Event{}},
		{`{"type":"citation-start","delta":{"message":{"citations":{}}}}`, wire.Event{}},
		{`{"type":"message-end","delta":{"finish_reason":"MAX_TOKENS"}}`, wire.Event{Content: true, Finish: true}},
		{`{"type":"novelty"}`, wire.Event{}},
		{` [DONE]`, wire.Event{End: true}},
		{`{"type":`, wire.Event{Malformed: true}},
		{`[1]`, wire.Event{Malformed: true}},
		{`{"message":"overloaded","id":"x"}`, wire.Event{Fault: &fault.Fault{Class: fault.Invalid, Message: "overloaded"}}},
		{`{"type":"message-end","delta":{"finish_reason":"ERROR","error":"it broke"}}`, wire.Event{Fault: &fault.Fault{Class: fault.Upstream, Code: "ERROR", Message: "it broke"}}},
		{`{"type":"message-end","delta":{"error":"it broke"}}`, wire.Event{Fault: &fault.Fault{Class: fault.Upstream, Message: "it broke"}}},
		{`{"type":"message-end","delta":{"finish_reason":"TIMEOUT"}}`, wire.Event{Fault: &fault.Fault{Class: fault.Upstream, Code: "TIMEOUT", Message: `the upstream broke the answer off with finish_reason "TIMEOUT"`}}},
	} {
		var p wire.Progress
		got := Chat{}.JudgeEvent([]byte(c.data), &p)
		got.Name = nil
		if d := cmp.Diff(c.want, got); d != "" || p.SawContent != got.Content || p.SawFinish != got.Finish || p.OpenTool != strings.Contains(c.data, `"name"`) {
			t.Errorf("%s: %s %+v", c.data, d, p)
		}
	}
	p := wire.Progress{OpenTool: true}
	if (Chat{}).JudgeEvent([]byte(`{"type":"tool-call-end"}`), &p); p.OpenTool {
		t.Error("the call stays open")
	}
}

func TestReplyFromStreamThatIsNotWhole(t *testing.T) {
	t.Parallel()
	text := "data: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"x\"}}}}\n\n"
	for name, in := range map[string]string{
		"no finish": text, "an error": text + "event: error\ndata: {\"message\":\"no\"}\n\n", "nothing": "data: [DONE]\n\n",
		"broken in a call": "data: {\"type\":\"tool-call-start\",\"delta\":{\"message\":{\"tool_calls\":{\"id\":\"a\",\"function\":{\"name\":\"f\"}}}}}\n\ndata: {x\n\n",
	} {
		if body, err := (Chat{}).ReplyFromStream([]byte(in)); err == nil {
			t.Errorf("%s: %s", name, body)
		}
	}
	if body, err := (Chat{}).ReplyFromStream([]byte(text + "data: [DONE]\n\n")); err != nil || !strings.Contains(string(body), `"COMPLETE"`) {
		t.Errorf("%s %v", body, err)
	}
}

func TestDecoderDoesNotAllocate(t *testing.T) {
	d := Chat{}.NewDecoder()
	events := [][]byte{
		[]byte(`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"some \"text\""}}}}`),
		[]byte(`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"more"}}}}`),
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
	for _, name := range []string{"tool-single-stream-command-a", "reasoning"} {
		for _, e := range data(f, read(f, "streams", name+".sse")) {
			f.Add([]byte(e))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var p wire.Progress
		e := Chat{}.JudgeEvent(in, &p)
		if e.Malformed == wire.WholeEvent(in) {
			t.Fatalf("malformed is %v", e.Malformed)
		}
		var order llm.Order
		content, open := false, -1
		say := func(ev *llm.Event) {
			switch ev.Kind {
			case llm.PartStart:
				open = ev.Part
				content = content || ev.Head.Kind == llm.ToolCall
			case llm.PartStop:
				open = -1
			case llm.Delta, llm.Cited, llm.Sealing:
				if ev.Part != open {
					t.Fatalf("a piece of part %d, open is %d", ev.Part, open)
				}
				content = content || ev.Kind == llm.Delta
			case llm.Finish:
				content = true
			case llm.Start, llm.Used, llm.Probs, llm.Alive:
			}
		}
		err := Chat{}.NewDecoder().Decode(in, func(ev *llm.Event) { order.Put(ev, say) })
		if err == nil && e.Malformed {
			t.Fatal("a malformed event was decoded")
		}
		if err == nil && e.Fault == nil && content && !e.Content {
			t.Fatalf("content that was not judged as such: %q", in)
		}
	})
}
