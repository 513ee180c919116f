package responses

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/llm"
	"evergate/internal/testkit"
)

// streamed writes events as a client of this dialect gets them.
func streamed(q *llm.Request, evs ...llm.Event) string {
	var order llm.Order
	var out []byte
	e := Responses{}.NewEncoder(q)
	say := func(ev *llm.Event) { out = e.Append(out, ev) }
	for i := range evs {
		order.Put(&evs[i], say)
	}
	order.End(say)
	return string(e.AppendEnd(out))
}

func textual(s string) []byte { return []byte(s) }

// answers are replies with all that another dialect's model may say.
func answers() map[string]*llm.Reply {
	reply := func(stop llm.Stop, parts ...llm.Part) *llm.Reply {
		return &llm.Reply{
			ID: "chatcmpl-u1", Model: "up-model", Created: 1760000000,
			Choices: []llm.Choice{{Content: parts, Stop: stop}},
			Usage:   llm.Usage{Known: true, Input: 9, Output: 4, CachedInput: 2, Reasoning: 1},
		}
	}
	text := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	call := func(id, name, args string) llm.Part {
		return llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: id, Name: name, Arguments: args}}
	}
	google := &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: "c2ln"}
	return map[string]*llm.Reply{
		"text":     reply(llm.EndTurn, text("Hel\"lo\n")),
		"parallel": reply(llm.ToolUse, call("call_a", "get_weather", `{"city":"Paris"}`), call("call_b", "get_time", "")),
		"thoughts": reply(llm.EndTurn,
			llm.Part{Kind: llm.Reasoning, Text: "hm", Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: "EqQB"}},
			llm.Part{Kind: llm.Reasoning, Seal: &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: "AAAA"}},
			llm.Part{Kind: llm.Reasoning, Text: "own", Seal: &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: "gAAAA"}},
			text("a")),
		"signed": reply(llm.ToolUse,
			llm.Part{Kind: llm.Text, Text: "a", Signature: google}, llm.Part{Kind: llm.Text, Text: "b"},
			llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_a", Name: "f", Arguments: "{}"}, Signature: google}),
		"cited":       reply(llm.EndTurn, llm.Part{Kind: llm.Text, Text: "a", Citations: []llm.Citation{{URL: "https://e.org", Title: "E", End: 1}, {Title: "a document"}}}, text("b")),
		"length":      reply(llm.Length, text("half")),
		"filter":      reply(llm.ContentFilter, text("half")),
		"refused":     reply(llm.EndTurn, llm.Part{Kind: llm.Refusal, Text: "no"}),
		"custom":      reply(llm.ToolUse, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_a", Name: "apply_patch", Arguments: "*** \"Begin\"", Custom: true}}),
		"image":       reply(llm.EndTurn, text("see"), llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "AAAA"}}),
		"lost":        reply(llm.EndTurn, llm.Part{Kind: llm.Audio, Media: &llm.Media{Data: "AAAA", Transcript: "said"}}, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte("{}")}}),
		"server tool": reply(llm.EndTurn, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: "web_search_call", Raw: []byte("{\"id\":\"ws_1\",\n\"type\":\"web_search_call\"}")}}, text("a")),
		"nothing":     reply(llm.EndTurn),
	}
}

const echoed = `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":{
	"type":"object"}},{"type":"custom","name":"apply_patch"},{"type":"web_search"}],"tool_choice":"required","metadata":{
	"a":"b"},"temperature":0.5,"max_output_tokens":99,"store":false,"reasoning":{"effort":"low"},"text":{"verbosity":"low"}}`

// Streams and plain replies as clients get them, for people to read.
func TestAnswers(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	for name, a := range answers() {
		q := request(t, echoed)
		var evs []llm.Event
		llm.Unfold(a, func(e *llm.Event) { evs = append(evs, *e) })
		stream := streamed(q, evs...)
		g.check(t, []byte(stream))
		plain := Responses{}.AppendReply(nil, a, q)
		file := strings.ReplaceAll(name, " ", "-")
		testkit.Golden(t, "golden/answer-"+file+".sse", []byte(stream+": dropped "+strings.Join(q.Dropped.Names(), ", ")+"\n"))
		testkit.Golden(t, "golden/answer-"+file+".json", []byte(indented(t, plain)+"\n"))
		if i := strings.LastIndex(stream, `"response":`); stream[i+len(`"response":`):len(stream)-3] != string(plain) {
			t.Errorf("%s: the stream ends with another response than the plain reply", name)
		}
		if _, f := (Responses{}).Judge(plain); f != nil {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// What another vendor sealed goes to the client and comes back to where it was.
func TestForeignSealsComeBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"thoughts", "signed"} {
		a := answers()[name]
		_, output, err := Output(Responses{}.AppendReply(nil, a, request(t, echoed)))
		if err != nil {
			t.Fatal(err)
		}
		q := request(t, `{"model":"m","input":`+string(output)+`}`)
		var got []llm.Part
		for _, m := range q.Messages {
			got = append(got, m.Content...)
		}
		for i := range got {
			if s := got[i].Seal; s != nil && s.Vendor == llm.OpenAI {
				s.ID = ""
			}
		}
		if diff := cmp.Diff(a.Choices[0].Content, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A custom tool that another dialect carried as a function with one text is a custom tool again.
func TestFreeText(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	q := request(t, echoed)
	for arguments, want := range map[string]string{
		`{"input":"*** \"Begin\""}`: `*** "Begin"`,
		`{"patch":"x"}`:             "x",
		`{"a":"x","b":"y"}`:         `{"a":"x","b":"y"}`,
		`not JSON`:                  `not JSON`,
		`{}`:                        `{}`,
	} {
		stream := streamed(q, llm.Event{Kind: llm.Start, ID: "u"},
			llm.Event{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "apply_patch"}}},
			llm.Event{Kind: llm.Delta, Text: textual(arguments[:1])}, llm.Event{Kind: llm.Delta, Text: textual(arguments[1:])},
			llm.Event{Kind: llm.Finish, Stop: llm.ToolUse})
		g.check(t, []byte(stream))
		got := decoded(t, events(t, []byte(stream)))
		if diff := cmp.Diff(&llm.Call{ID: "c", Name: "apply_patch", Arguments: want, Custom: true}, got.Choices[0].Content[0].Call); diff != "" {
			t.Errorf("%s:\n%s", arguments, diff)
		}
	}
}

// An item whose end is the answer's, and no other, is incomplete with it.
func TestIncompleteItem(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	stream := streamed(&llm.Request{}, llm.Event{Kind: llm.Start, ID: "u"},
		llm.Event{Kind: llm.PartStart, Part: 0, Head: &llm.Part{Kind: llm.Text}}, llm.Event{Kind: llm.Delta, Part: 0, Text: textual("a")},
		llm.Event{Kind: llm.PartStart, Part: 1, Head: &llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "c", Name: "f"}}}, llm.Event{Kind: llm.Delta, Part: 1, Text: textual(`{"x":48`)},
		llm.Event{Kind: llm.PartStop, Part: 1}, llm.Event{Kind: llm.Finish, Stop: llm.Length})
	g.check(t, []byte(stream))
	if !strings.Contains(stream, `"arguments":"{\"x\":48","status":"incomplete"}`) || !strings.Contains(stream, `}],"status":"completed"}`) || !strings.Contains(stream, `"incomplete_details":{"reason":"max_output_tokens"}`) {
		t.Error(stream)
	}
}

func TestEncoderLogProbs(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	stream := streamed(&llm.Request{}, llm.Event{Kind: llm.Start, ID: "u"}, llm.Event{Kind: llm.PartStart, Head: &llm.Part{Kind: llm.Text}},
		llm.Event{Kind: llm.Probs, LogProbs: []byte(`[{"token":"a","logprob":-1}]`)}, llm.Event{Kind: llm.Delta, Text: textual("a")},
		llm.Event{Kind: llm.Delta, Text: textual("b")}, llm.Event{Kind: llm.Probs, LogProbs: []byte("[{\"token\":\"b\",\n\"logprob\":-2}]")},
		llm.Event{Kind: llm.Finish, Stop: llm.EndTurn})
	g.check(t, []byte(stream))
	if !strings.Contains(stream, `"delta":"a","logprobs":[{"token":"a","logprob":-1}]}`) || !strings.Contains(stream, `"delta":"b","logprobs":[]}`) {
		t.Error(stream)
	}
	if n := strings.Count(stream, `"logprobs":[{"token":"a","logprob":-1},{"token":"b", "logprob":-2}]`); n != 4 { // text, part, item, response
		t.Errorf("said %d times at the ends: %s", n, stream)
	}
}

func TestResponseID(t *testing.T) {
	t.Parallel()
	for upstream, want := range map[string][2]string{
		"resp_0a":                {"resp_0a", "0a"},
		"chatcmpl-1":             {"resp_chatcmpl-1", "chatcmpl-1"},
		"msg bdrk/1":             {"resp_msg_bdrk_1", "msg_bdrk_1"},
		"":                       {"resp_unnamed", "unnamed"},
		strings.Repeat("ab", 40): {"resp_" + strings.Repeat("ab", 40), strings.Repeat("ab", maxBase/2)},
	} {
		if id, base := responseID(upstream); id != want[0] || base != want[1] {
			t.Errorf("%q: %q %q", upstream, id, base)
		}
	}
}

// Whatever a model says, in whatever pieces, makes a stream by the grammar that says the same.
func TestAnyAnswer(t *testing.T) {
	t.Parallel()
	g := newGrammar(t)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		q := &llm.Request{Dropped: &llm.Dropped{}}
		evs := []llm.Event{{Kind: llm.Start, ID: "u", Model: "m"}}
		parts := r.IntN(6)
		for part := range parts {
			head := &llm.Part{Kind: []llm.PartKind{llm.Text, llm.Refusal, llm.Reasoning, llm.ToolCall}[r.IntN(4)]}
			if head.Kind == llm.ToolCall {
				head.Call = &llm.Call{ID: string(rune('a' + part)), Name: "f", Custom: r.IntN(2) == 0}
			}
			evs = append(evs, llm.Event{Kind: llm.PartStart, Part: part, Head: head})
			for range r.IntN(4) {
				evs = append(evs, llm.Event{Kind: llm.Delta, Part: part, Text: textual([]string{"a", "\"\\\n", "é😀", "{}", "data: \r"}[r.IntN(5)])})
			}
			if head.Kind == llm.Reasoning && r.IntN(2) == 0 {
				evs = append(evs, llm.Event{Kind: llm.Sealing, Part: part, Seal: &llm.Seal{Vendor: []llm.Vendor{llm.OpenAI, llm.Anthropic}[r.IntN(2)], Kind: llm.Encrypted, Data: "gA"}})
			}
			if r.IntN(3) > 0 {
				evs = append(evs, llm.Event{Kind: llm.PartStop, Part: part})
			}
			if r.IntN(5) == 0 {
				evs = append(evs, llm.Event{Kind: llm.Alive})
			}
		}
		evs = append(evs, llm.Event{Kind: llm.Finish, Stop: []llm.Stop{llm.EndTurn, llm.Length}[r.IntN(2)]}, llm.Event{Kind: llm.Used, Usage: llm.Usage{Known: true, Input: 1}})
		stream := []byte(streamed(q, evs...))
		g.check(t, stream)

		var order llm.Order
		var fold llm.Fold
		for i := range evs {
			order.Put(&evs[i], fold.Put)
		}
		want, got := said(fold.Reply()), said(decoded(t, events(t, stream)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d:\n%s\n%s", seed, diff, stream)
		}
	}
}

// said is what a reply says, without what says nothing and without ids.
func said(a *llm.Reply) (out []llm.Part) {
	for _, p := range a.Choices[0].Content {
		if p.Call == nil && p.Text == "" && p.Seal == nil {
			continue
		}
		if p.Seal != nil {
			p.Seal.ID = ""
		}
		if p.Call != nil && p.Call.Arguments == "" && !p.Call.Custom {
			p.Call.Arguments = "{}"
		}
		out = append(out, p)
	}
	return out
}

func BenchmarkStream(b *testing.B) {
	stream := recorded(b, ".sse")["openai-code-interpreter-stream-gpt-5"]
	data := events(b, stream)
	q := &llm.Request{Dropped: &llm.Dropped{}}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		translated(b, data, q)
	}
}
