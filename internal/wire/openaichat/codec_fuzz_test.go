package openaichat

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Whatever a client sends is read or refused; what was read can be written for any target, as valid JSON, and means the
// same when it is read again.
func FuzzDecodeRequest(f *testing.F) {
	for _, body := range files(f, "requests") {
		f.Add(body)
	}
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","reasoning_details":[{"type":"reasoning.encrypted","data":"d"}],"tool_calls":[{"id":"a","function":{"name":"f","arguments":{}},"extra_content":{"google":{"thought_signature":"s"}}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":"u"}]},{"role":"function","name":"f"}],"tools":[{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"lark"}}}}]}`))
	f.Add([]byte(`{"model":"m","functions":[{"name":"f"}],"function_call":"auto","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:text/plain;base64,aGk="}},{"type":"input_audio","input_audio":{"data":"x","format":"y"}}]},{"role":"assistant","function_call":{"name":"f"}},{"role":"function","name":"f","content":"r"}],"reasoning":{"effort":"low"},"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"name":"f"}]}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Chat{}.ReadRequest(body)
		if err != nil {
			return
		}
		for _, d := range []wire.Client{Chat{}, Completions{}} {
			q, err := d.DecodeRequest(&r)
			if err != nil {
				continue
			}
			for _, target := range []wire.Target{
				{Model: "up"},
				{Model: "up", Vendor: llm.Google, Unsealed: true, Quirks: wire.Quirks{DeveloperRole: true, PlainSchema: true, PlainContent: true, ShortCallIDs: true}},
				{Model: "up", Vendor: llm.Anthropic, AskUsage: true, Quirks: wire.Quirks{CustomTools: true, ReasoningField: "reasoning"}},
			} {
				again := *q
				again.Dropped = q.Dropped.Clone()
				out, err := Chat{}.EncodeRequest(nil, &again, &target)
				if err != nil {
					continue
				}
				if err := jsonscan.Valid(out); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				w, err := Chat{}.ReadRequest(out)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if _, err := (Chat{}).DecodeRequest(&w); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
		}
	})
}

// Whatever an upstream sends in a stream is decoded without a crash, into strict events, of which every client's dialect
// makes valid JSON; and what chat says of it is understood again.
func FuzzDecoder(f *testing.F) {
	for _, stream := range recordedStreams(f) {
		if len(stream) < 4_000 {
			f.Add(stream, true)
		}
	}
	f.Add([]byte("data: "+oneChoice(`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted","data":"d","index":300}],"images":[{"image_url":{"url":"data:a;base64,b"}}],"annotations":[{"url_citation":{"url":"u"}}],"audio":{"id":"a","data":"b","transcript":"c"},"refusal":"r","function_call":{"name":"f","arguments":{}},"tool_calls":[{"custom":{"name":"p","input":"i"},"extra_content":{"google":{"thought_signature":"s"}}}]}`)+"\n\n"), false)
	f.Fuzz(func(t *testing.T, stream []byte, listed bool) {
		q := &llm.Request{LogProbs: true, StreamUsage: true, Reasoning: &llm.Effort{Sealed: listed}, Dropped: &llm.Dropped{}, Tools: []llm.Tool{{Name: "p", Custom: true}}}
		chat, old := Chat{}.NewEncoder(q), Completions{}.NewEncoder(q)
		var fold llm.Fold
		var order llm.Order
		var inChat, inOld []byte
		say := func(e *llm.Event) {
			inChat, inOld = chat.Append(inChat, e), old.Append(inOld, e)
			fold.Put(e)
		}
		put := func(e *llm.Event) { order.Put(e, say) }
		d := Chat{}.NewDecoder()
		var p wire.Progress
		for _, line := range bytes.Split(stream, []byte("\n\n")) {
			data := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data: ")))
			if len(data) == 0 {
				continue
			}
			if e := (Chat{}).JudgeEvent(data, &p); e.Fault != nil || e.Malformed || e.End {
				continue
			}
			if err := d.Decode(data, put); err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
		}
		d.End(put)
		order.End(say)
		inChat, inOld = chat.AppendEnd(inChat), old.AppendEnd(inOld)
		for _, out := range [][]byte{inChat, inOld} {
			for _, line := range bytes.Split(out, []byte("\n\n")) {
				if data, ok := bytes.CutPrefix(line, []byte("data: {")); ok && !json.Valid(append([]byte("{"), data...)) {
					t.Fatalf("%s", line)
				}
			}
		}
		a := fold.Reply()
		if len(a.Choices) == 0 || !utf8.Valid(stream) {
			return
		}
		validStream(t, inChat, q)
		reply := Chat{}.AppendReply(nil, a, q)
		validReply(t, reply)
		again, err := Chat{}.DecodeReply(reply)
		if err != nil {
			t.Fatalf("%v\n%s", err, reply)
		}
		var was, is []plainSum
		for i := range a.Choices {
			if a.Choices[i].Stop == llm.Unstopped {
				continue // a number that was left out: there is no such choice
			}
			was, is = append(was, sumOfReply(&a.Choices[i])), append(is, sumOfReply(&again.Choices[i]))
		}
		for i := range was { // calls that came without a name or with free text are told otherwise
			was[i].calls, is[i].calls = nil, nil
		}
		if d := cmp.Diff(was, is, cmp.AllowUnexported(plainSum{})); d != "" {
			t.Fatalf("%s\n%s", d, reply)
		}
	})
}

func FuzzDecodeReply(f *testing.F) {
	for name, body := range files(f, "replies") {
		if dialectOf(name) == (Chat{}) {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, fault := (Chat{}).Judge(body); fault != nil {
			return
		}
		a, err := Chat{}.DecodeReply(body)
		if err != nil {
			t.Fatalf("good, but %v", err)
		}
		q := &llm.Request{Dropped: &llm.Dropped{}}
		for _, d := range []wire.Client{Chat{}, Completions{}} {
			if out := d.AppendReply(nil, a, q); !json.Valid(out) {
				t.Fatalf("%s", out)
			}
		}
		if _, fault := (Chat{}).Judge((Chat{}).AppendReply(nil, a, q)); fault != nil {
			t.Fatalf("good, then %v", fault)
		}
	})
}
