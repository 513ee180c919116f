package openaichat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
	"evergate/internal/wire"
)

// answer is a reply with one choice.
func answer(stop llm.Stop, parts ...llm.Part) *llm.Reply {
	return &llm.Reply{
		ID: "msg_1", Model: "up", Created: 1700000000, Choices: []llm.Choice{{Content: parts, Stop: stop}},
		Usage: llm.Usage{Known: true, Input: 6300, Output: 25, CachedInput: 2000, CacheWrite: 4000, Reasoning: 7, AudioInput: 1, AudioOutput: 2}, ServiceTier: "default",
	}
}

// What any upstream can answer, as replies and as streams, in golden files.
func TestAnswers(t *testing.T) {
	t.Parallel()
	signed := &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "c2ln"}
	redacted := &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "cmVk"}
	google := &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "Z29v"}
	cohere := &llm.Seal{Vendor: llm.Cohere, Kind: llm.Signed, Data: "Y28="}
	openai := &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "ZW5j", ID: "rs_1"}
	two := answer(llm.EndTurn, told("one"))
	two.Choices = append(two.Choices, llm.Choice{Content: []llm.Part{told("two")}, Stop: llm.Length})
	probs := answer(llm.EndTurn, told("hi"))
	probs.Choices[0].LogProbs = []byte(`[{"token":"hi","logprob":-0.1,"bytes":[104,105],"top_logprobs":[]}]`)
	custom := &llm.Request{Tools: []llm.Tool{{Name: "p", Custom: true}}}
	for name, c := range map[string]struct {
		a *llm.Reply
		q *llm.Request
	}{
		"text":                              {answer(llm.EndTurn, told("Hi \"é\"\n"), told("more")), &llm.Request{StreamUsage: true}},
		"text without usage":                {answer(llm.StopSequence, told("Hi")), &llm.Request{}},
		"nothing":                           {answer(llm.Length), &llm.Request{StreamUsage: true}},
		"calls":                             {answer(llm.ToolUse, told("Checking."), call("toolu_1", "get_weather", `{"city": "Paris"}`), call("toolu_2", "get_time", "")), &llm.Request{}},
		"calls only":                        {answer(llm.ToolUse, call("toolu_1", "f", `{}`)), &llm.Request{}},
		"call signed":                       {answer(llm.ToolUse, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "f", Arguments: "{}"}, Signature: google}), &llm.Request{}},
		"text signed":                       {answer(llm.EndTurn, llm.Part{Kind: llm.Text, Text: "a", Signature: google}), &llm.Request{}},
		"thoughts":                          {answer(llm.EndTurn, thinks("hm", nil), told("a")), &llm.Request{}},
		"thoughts sealed":                   {answer(llm.EndTurn, thinks("hm", signed), thinks("", redacted), told("a")), &llm.Request{}},
		"thoughts listed":                   {answer(llm.EndTurn, thinks("one", signed), thinks("two", nil), thinks("sum", openai), told("a")), &llm.Request{Reasoning: &llm.Effort{Level: "low", Sealed: true}}},
		"thoughts of others":                {answer(llm.EndTurn, thinks("hm", cohere), told("a")), &llm.Request{}},
		"thoughts hidden":                   {answer(llm.EndTurn, thinks("hm", signed), told("a")), &llm.Request{Reasoning: &llm.Effort{Level: "low", Show: "none"}}},
		"refusal":                           {answer(llm.Refused, llm.Part{Kind: llm.Refusal, Text: "I won't"}), &llm.Request{}},
		"filtered":                          {answer(llm.ContentFilter, told("I can")), &llm.Request{}},
		"paused":                            {answer(llm.Paused, told("wait"), llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use"}}), &llm.Request{}},
		"unknown stop":                      {answer(llm.OtherStop, told("Hello")), &llm.Request{}},
		"window full":                       {answer(llm.ContextFull, told("Hel")), &llm.Request{}},
		"sources":                           {answer(llm.EndTurn, told("ÄÖ. "), llm.Part{Kind: llm.Text, Text: "Ruby", Citations: []llm.Citation{{URL: "https://r", Title: "R", Quote: "q", Start: 0, End: 4}, {URL: "https://s"}, {Title: "a document"}}}), &llm.Request{}},
		"audio":                             {answer(llm.EndTurn, llm.Part{Kind: llm.Audio, Media: &llm.Media{FileID: "audio_1", Vendor: llm.OpenAI, Data: "AAAA", Transcript: "beep"}}), &llm.Request{}},
		"image":                             {answer(llm.EndTurn, told("see"), llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/webp", Data: "UklG"}}), &llm.Request{}},
		"video":                             {answer(llm.EndTurn, told("see"), llm.Part{Kind: llm.Video, Media: &llm.Media{URL: "u"}}), &llm.Request{}},
		"two choices":                       {two, &llm.Request{Choices: 2}},
		"probabilities":                     {probs, &llm.Request{LogProbs: true}},
		"old function":                      {answer(llm.ToolUse, call("a", "f", `{"x":1}`), call("b", "g", "")), &llm.Request{OldFunctions: true}},
		"custom call":                       {answer(llm.ToolUse, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "a", Name: "p", Arguments: "raw", Custom: true}}), custom},
		"custom call carried as a function": {answer(llm.ToolUse, call("a", "p", `{"input":"raw \"x\""}`), call("b", "p", `{"other":1}`)), custom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := *c.q // some share one
			c.q = &q
			c.q.Dropped = &llm.Dropped{}
			reply := Chat{}.AppendReply(nil, c.a, c.q)
			validReply(t, reply)
			file := "golden/answers/" + strings.ReplaceAll(name, " ", "-")
			testkit.Golden(t, file+".json", readable(t, reply, c.q.Dropped.Names()))
			inReply := slices.Clone(c.q.Dropped.Names())
			c.q.Dropped = &llm.Dropped{}
			stream := encode(Chat{}, c.a, c.q, true)
			validStream(t, stream, c.q)
			testkit.Golden(t, file+".sse", stream)
			if d := cmp.Diff(inReply, c.q.Dropped.Names()); d != "" {
				t.Errorf("the stream loses something else: %s", d)
			}
		})
	}
}

// validReply checks what OpenAI's specification requires of a reply.
func validReply(tb testing.TB, body []byte) {
	tb.Helper()
	var a map[string]json.RawMessage
	if err := json.Unmarshal(body, &a); err != nil {
		tb.Fatalf("%v\n%s", err, body)
	}
	need(tb, a, "id", "object", "created", "model", "choices")
	var choices []map[string]json.RawMessage
	must(tb, json.Unmarshal(a["choices"], &choices))
	for _, c := range choices {
		need(tb, c, "index", "message", "logprobs", "finish_reason")
		var m map[string]json.RawMessage
		must(tb, json.Unmarshal(c["message"], &m))
		need(tb, m, "role", "content", "refusal")
	}
}

// validStream checks it of a stream: the first delta of a choice has the role, and only that; a choice finishes once, at its
// end; usage comes last and only if it was asked for; calls count from 0 and say id and name first.
func validStream(tb testing.TB, stream []byte, q *llm.Request) {
	tb.Helper()
	events := framesOf(tb, stream, len(stream))
	if events[len(events)-1] != "[DONE]" {
		tb.Fatal("no end marker")
	}
	roles, finished, calls := map[int]bool{}, map[int]bool{}, map[int]int{}
	for i, data := range events[:len(events)-1] {
		var a map[string]json.RawMessage
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			tb.Fatalf("%v\n%s", err, data)
		}
		need(tb, a, "id", "object", "created", "model", "choices")
		if string(a["object"]) != `"chat.completion.chunk"` {
			tb.Error(data)
		}
		var choices []struct {
			Index  *int
			Finish *string `json:"finish_reason"`
			Delta  *struct {
				Role  string
				Calls []struct {
					Index    *int
					ID       string
					Function struct{ Name string }
					Custom   struct{ Name string }
				} `json:"tool_calls"`
			}
		}
		must(tb, json.Unmarshal(a["choices"], &choices))
		if usage, ok := a["usage"]; ok != q.StreamUsage || ok && (string(usage) != "null") != (len(choices) == 0) || len(choices) == 0 && i != len(events)-2 {
			tb.Errorf("usage at event %d: %s", i, data)
		}
		for _, c := range choices {
			if c.Index == nil || c.Delta == nil || !strings.Contains(data, `"finish_reason":`) {
				tb.Fatal(data)
			}
			if (c.Delta.Role == "assistant") == roles[*c.Index] || finished[*c.Index] {
				tb.Errorf("event %d: %s", i, data)
			}
			roles[*c.Index] = true
			finished[*c.Index] = c.Finish != nil
			for _, call := range c.Delta.Calls {
				begun := calls[*c.Index]
				switch {
				case call.ID != "":
					if *call.Index != begun || call.Function.Name+call.Custom.Name == "" {
						tb.Errorf("event %d: %s", i, data)
					}
					calls[*c.Index]++
				case *call.Index != begun-1:
					tb.Errorf("event %d: %s", i, data)
				}
			}
		}
	}
	for index := range roles {
		if !finished[index] {
			tb.Errorf("choice %d has no finish", index)
		}
	}
}

func need(tb testing.TB, object map[string]json.RawMessage, names ...string) {
	tb.Helper()
	for _, name := range names {
		if _, ok := object[name]; !ok {
			tb.Errorf("%q is missing in %v", name, object)
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Chat to chat nothing is lost: a reply that was decoded and encoded says the same, as a reply and as a stream; and the
// message can be sent back.
func TestAnswersOfRecordingsRoundTrip(t *testing.T) {
	t.Parallel()
	all := map[string]*llm.Reply{}
	for name, stream := range recordedStreams(t) {
		if strings.Contains(name, "error") || strings.Contains(name, "cerebras") {
			continue
		}
		all[name] = answers(t, framesOf(t, stream, len(stream)))
	}
	replies := files(t, "replies")
	replies["vercel.json"] = files(t, "more")["vercel-thinking-signature-tool-sonnet-4.json"]
	for name, body := range replies {
		if dialectOf(name) != (Chat{}) || name == "azure-content-filter-prompt.json" {
			continue
		}
		a, err := Chat{}.DecodeReply(body)
		must(t, err)
		all[name] = a
	}
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, a)
		})
	}
}

func roundTrip(t *testing.T, a *llm.Reply) {
	t.Helper()
	want := string(show(a))
	for _, listed := range []bool{false, true} {
		q := &llm.Request{LogProbs: true, StreamUsage: true, Reasoning: &llm.Effort{Sealed: listed}, Dropped: &llm.Dropped{}}
		reply := Chat{}.AppendReply(nil, a, q)
		validReply(t, reply)
		got, err := Chat{}.DecodeReply(reply)
		must(t, err)
		if d := cmp.Diff(want, string(show(got))); d != "" {
			t.Errorf("as a reply: %s\n%s", d, reply)
		}
		if len(q.Dropped.Names()) > 0 {
			t.Errorf("lost: %q", q.Dropped.Names())
		}
		stream := encode(Chat{}, a, q, true)
		validStream(t, stream, q)
		if !bytes.Contains(stream, []byte(`"audio"`)) { // what was spoken is text in a stream
			if d := cmp.Diff(want, string(show(answers(t, framesOf(t, stream, len(stream)))))); d != "" {
				t.Errorf("as a stream: %s\n%s", d, stream)
			}
		}
		sentBack(t, a, reply)
	}
}

// sentBack checks that a message can be the history of the next request, with all that matters to its vendor.
func sentBack(t *testing.T, a *llm.Reply, reply []byte) {
	t.Helper()
	var r struct {
		Choices []struct{ Message json.RawMessage }
	}
	must(t, json.Unmarshal(reply, &r))
	for i, c := range r.Choices {
		q := read(t, `{"model":"m","messages":[{"role":"user","content":"x"},`+string(c.Message)+`]}`)
		var want []llm.Part
		for _, p := range a.Choices[i].Content {
			p.Citations = nil
			if p.Kind == llm.Audio {
				p.Media = &llm.Media{FileID: p.Media.FileID, Vendor: p.Media.Vendor}
			}
			want = append(want, p)
		}
		var got []llm.Part
		if len(q.Messages) > 1 {
			got = q.Messages[1].Content
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("sent back: %s\n%s", d, c.Message)
		}
	}
}

// A stream of many calls to Append writes nothing before there is something to say, and tells what it said.
func TestEncoderSaid(t *testing.T) {
	t.Parallel()
	for _, d := range []wire.Client{Chat{}, Completions{}} {
		e := d.NewEncoder(&llm.Request{Dropped: &llm.Dropped{}})
		var out []byte
		for _, v := range []llm.Event{
			{Kind: llm.Start, ID: "i", Model: "m", Created: 5},
			{Kind: llm.Alive},
			{Kind: llm.Used, Usage: llm.Usage{Known: true}},
			{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}},
		} {
			out = e.Append(out, &v)
		}
		if len(out) > 0 || e.Said().Begun {
			t.Errorf("%s: said %q", d.Name(), out)
		}
		out = e.Append(out, &llm.Event{Kind: llm.Delta, Text: []byte("a")})
		if d := cmp.Diff(wire.Said{ID: "i", Model: "m", Created: 5, Begun: true}, e.Said()); d != "" || len(out) == 0 {
			t.Error(d)
		}
		if end := e.AppendEnd(nil); string(end) != endMarker {
			t.Errorf("usage that nobody asked for: %s", end)
		}
	}
}

// A stream that was cut has no finish and no end, wherever it was cut.
func TestCutStreamsHaveNoEnd(t *testing.T) {
	t.Parallel()
	for name, stream := range recordedStreams(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := Chat{}.NewEncoder(&llm.Request{StreamUsage: true, Dropped: &llm.Dropped{}})
			var order llm.Order
			var out []byte
			say := func(v *llm.Event) { out = e.Append(out, v) }
			put := func(v *llm.Event) { order.Put(v, say) }
			d := Chat{}.NewDecoder()
			var p wire.Progress
			p.Choices = 1 + strings.Count(name, "-n2-")
			for _, data := range framesOf(t, stream, len(stream)) {
				if (Chat{}).JudgeEvent([]byte(data), &p).Fault != nil {
					break
				}
				must(t, d.Decode([]byte(data), put))
				if finished := bytes.Contains(out, []byte(`"finish_reason":"`)); finished != (p.Ended != 0) {
					t.Fatalf("finished is %v after %s", finished, data)
				}
				if bytes.Contains(out, []byte("[DONE]")) {
					t.Fatal("an end was invented")
				}
			}
		})
	}
}
