package wiretest

import (
	"bytes"
	"testing"

	"evergate/internal/llm"
	"evergate/internal/wire"
)

// answers are what any upstream can say, for a client's encoder.
func answers() map[string]*llm.Reply {
	reply := func(stop llm.Stop, parts ...llm.Part) *llm.Reply {
		return &llm.Reply{
			ID: "id1", Model: "model-1", Created: 1782321614, Choices: []llm.Choice{{Content: parts, Stop: stop}},
			Usage: llm.Usage{Known: true, Input: 10, Output: 5, CachedInput: 4, Reasoning: 2},
		}
	}
	text := llm.Part{Kind: llm.Text, Text: "Hello \"é\"\n"}
	call := llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_1", Name: "f", Arguments: `{"a": 1.50}`}}
	empty := llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: "call_2", Name: "g"}}
	seal := func(v llm.Vendor, k llm.SealKind) *llm.Seal {
		return &llm.Seal{Vendor: v, Kind: k, Data: "c2VhbA==", ID: "rs_1"}
	}
	thought := llm.Part{Kind: llm.Reasoning, Text: "Hm.", Seal: seal(llm.Anthropic, llm.Signed)}
	hidden := llm.Part{Kind: llm.Reasoning, Seal: seal(llm.OpenAI, llm.Encrypted)}
	redacted := llm.Part{Kind: llm.Reasoning, Seal: seal(llm.Anthropic, llm.Redacted)}
	bare := llm.Part{Kind: llm.Reasoning, Text: "Hm."}
	signed := llm.Part{Kind: llm.ToolCall, Call: call.Call, Signature: seal(llm.Google, llm.Signed)}
	cited := llm.Part{Kind: llm.Text, Text: "Zürich", Citations: []llm.Citation{{URL: "https://example.org", Title: "T", Start: 0, End: 6}, {Title: "a document"}}}
	picture := llm.Part{Kind: llm.Image, Media: &llm.Media{Type: "image/png", Data: "aGVsbG8="}}
	speech := llm.Part{Kind: llm.Audio, Media: &llm.Media{Type: "audio/wav", Data: "aGVsbG8=", Transcript: "hello"}}
	opaque := llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: "server_tool_use", Raw: []byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)}}
	foreign := llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Google, Type: "executableCode", Raw: []byte(`{"executableCode":{"code":"1"}}`)}}
	refusal := llm.Part{Kind: llm.Refusal, Text: "No."}
	two := reply(llm.EndTurn, text)
	two.Choices = append(two.Choices, llm.Choice{Content: []llm.Part{text, call}, Stop: llm.ToolUse})
	return map[string]*llm.Reply{
		"text": reply(llm.EndTurn, text), "nothing": reply(llm.EndTurn), "length": reply(llm.Length, text), "calls": reply(llm.ToolUse, text, call, empty),
		"thoughts": reply(llm.EndTurn, thought, redacted, hidden, bare, text), "signed call": reply(llm.ToolUse, bare, signed), "sources": reply(llm.EndTurn, text, cited),
		"refusal": reply(llm.Refused, refusal), "filter": reply(llm.ContentFilter, text), "stop sequence": reply(llm.StopSequence, text), "two": two,
		"media": reply(llm.EndTurn, text, picture, speech), "opaque": reply(llm.Paused, text, opaque, foreign, text), "unknown": reply(llm.OtherStop, text), "full": reply(llm.ContextFull, text),
	}
}

// clientSide checks the half that faces clients with answers of every kind.
func clientSide(t *testing.T, c wire.Client, s *Samples) {
	t.Helper()
	r, err := c.ReadRequest(s.Requests[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range answers() {
		t.Run(name, func(t *testing.T) {
			q, err := c.DecodeRequest(&r)
			if err != nil {
				t.Fatal(err)
			}
			if q.Dropped == nil {
				t.Error("the request cannot note what is dropped")
			}
			body := c.AppendReply([]byte("before"), a, q)
			rest, ok := bytes.CutPrefix(body, []byte("before"))
			if !ok {
				t.Fatalf("what was before is gone: %s", body)
			}
			if _, f := c.Judge(rest); f != nil && name != "nothing" {
				t.Errorf("it does not take its own reply for one: %v: %s", f, rest)
			}
			encode(t, c, q, a)
		})
	}
}

// encode writes an answer as a stream, event by event.
func encode(t *testing.T, c wire.Client, q *llm.Request, a *llm.Reply) {
	t.Helper()
	e := c.NewEncoder(q)
	if e.Said().Begun {
		t.Error("it begins before it begins")
	}
	var stream []byte
	llm.Unfold(a, func(ev *llm.Event) {
		before := len(stream)
		stream = e.Append(stream, ev)
		said := e.Said()
		if said.Model != a.Model {
			t.Errorf("the client was told of the model %q", said.Model)
		}
		if len(stream) > before {
			whole(t, stream[before:])
		}
		if ev.Kind != llm.Finish && ev.Kind != llm.Used {
			errorIsOne(t, c, stream, said)
		}
	})
	stream = e.AppendEnd(stream)
	ended := len(stream)
	if stream = e.Append(stream, &llm.Event{Kind: llm.Used, Usage: a.Usage}); len(stream) != ended { // llm.Order stops the rest
		t.Errorf("something comes after the end: %s", stream[ended:])
	}
	js := judgements(c, stream)
	if len(js) == 0 {
		t.Fatal("nothing was said")
	}
	for i := range js {
		if ev := &js[i].Event; ev.Malformed || ev.Fault != nil {
			t.Errorf("event %d: %+v\n%s", i, ev, stream)
		}
	}
	last := &js[len(js)-1]
	if !last.Event.End && !last.Progress.SawFinish {
		t.Errorf("it has no end: %s", stream)
	}
	if said := e.Said(); said.Sequence != 0 && said.Sequence != int64(len(js)) {
		t.Errorf("the next event would be number %d, after %d", said.Sequence, len(js))
	}
}

// whole says that what was written are whole events.
func whole(t *testing.T, events []byte) {
	t.Helper()
	if !bytes.HasSuffix(events, []byte("\n\n")) || len(data(events)) == 0 {
		t.Errorf("no whole event: %q", events)
	}
}

// errorIsOne says that the error which ends a stream before its finish is read as one, and never as a proper end.
func errorIsOne(t *testing.T, c wire.Client, stream []byte, said wire.Said) {
	t.Helper()
	f := wire.Failure{Status: 502, Code: "provider_error", Message: "It broke.", RequestID: "req_1", Said: said}
	js := judgements(c, c.AppendStreamError(bytes.Clone(stream), f))
	for i := range js[:len(js)-1] {
		if js[i].Event.End {
			t.Fatal("an end before the error")
		}
	}
	if last := &js[len(js)-1].Event; last.Fault == nil || last.End {
		t.Errorf("the error is %+v", last)
	}
}
