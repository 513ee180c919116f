package anthropic

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Two events, one after the other: nothing breaks, the judge and the decoder agree on what is well-formed, and the
// pattern of the first changes nothing about the second.
func FuzzEvents(f *testing.F) {
	for _, name := range []string{"tool-search-stream-sonnet-4.6.sse", "citations-stream-haiku-4.5.sse", "redacted-thinking-stream-sonnet-4.5.sse"} {
		var last []byte
		for _, frame := range frames(f, files(f, "streams")[name]) {
			f.Add(last, frame.Data)
			last = frame.Data
		}
	}
	f.Add([]byte(`{"type":"error","error":{"message":[{"x":1}]}}`), []byte(`[DONE]`))
	f.Add([]byte(`1`), []byte(`{"delta":null}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var aided, plain wire.Progress
		var d decoder
		var order llm.Order
		var fold llm.Fold
		put := func(e *llm.Event) { order.Put(e, fold.Put) }
		for _, data := range [][]byte{first, second} {
			if len(data) == 0 {
				continue
			}
			e := Messages{}.JudgeEvent(data, &aided)
			if e.Malformed == wire.WholeEvent(data) {
				t.Fatalf("%q: malformed %v", data, e.Malformed)
			}
			plain.Pattern = wire.Pattern{}
			if diff := cmp.Diff(Messages{}.JudgeEvent(data, &plain), e); diff != "" {
				t.Fatalf("%q: %s", data, diff)
			}
			if err := d.Decode(data, put); (err != nil) != e.Malformed {
				t.Fatalf("%q: malformed %v, but %v", data, e.Malformed, err)
			}
		}
		d.End(put)
		order.End(fold.Put)
		aided.Pattern, plain.Pattern = wire.Pattern{}, wire.Pattern{}
		if diff := cmp.Diff(plain, aided); diff != "" {
			t.Fatal(diff)
		}
		mustBeJSON(t, Messages{}.AppendReply(nil, fold.Reply(), &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}))
		stream := sayAll(string(jsonscan.OneLine(first)), string(jsonscan.OneLine(second)))
		if body, err := (Messages{}).ReplyFromStream(stream); err == nil {
			mustBeJSON(t, body)
		}
	})
}

func mustBeJSON(t *testing.T, text []byte) {
	t.Helper()
	if err := jsonscan.Valid(text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// What is read as a request can be changed in place, repaired, and written anew, and is still a request.
func FuzzRequest(f *testing.F) {
	for _, body := range files(f, "requests") {
		if len(body) < 5000 {
			f.Add(withModel(body), "claude-sonnet-4-5")
		}
	}
	f.Add([]byte(`{"model":"m","max_tokens":5000,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"search_result","content":[]}]},`+
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"a.b","name":"f","input":[]}]},{"role":"system","content":"r"}],`+
		`"thinking":{"type":"adaptive"},"output_config":{"format":{"type":"json_schema","schema":{"oneOf":[{"minimum":1}]}}},"tool_choice":{"type":"none"}}`), "claude-opus-4-8")
	f.Fuzz(func(t *testing.T, body []byte, model string) {
		r, err := Messages{}.ReadRequest(body)
		if err != nil {
			return
		}
		without := Messages{}.AppendRequest(nil, &r, wire.Rewrite{OmitModel: true, Params: []wire.Param{{Name: "anthropic_version", Value: []byte(`"x"`)}}})
		mustBeJSON(t, without)
		if valueOf(membersOf(without), "model") != nil || valueOf(membersOf(without), "anthropic_version") == nil {
			t.Fatalf("%s", without)
		}
		other := Messages{}.AppendRequest(nil, &r, wire.Rewrite{Model: "other"})
		if again, err := (Messages{}).ReadRequest(other); err != nil || again.Model != "other" {
			t.Fatalf("%s: %v", other, err)
		}
		if repaired, dropped := (Messages{}).AppendUnsealed(nil, body); len(dropped) > 0 {
			mustBeJSON(t, repaired)
			if again, more := (Messages{}).AppendUnsealed(nil, repaired); len(more) > 0 {
				t.Fatalf("%s still had seals: %s", repaired, again)
			}
		}
		q, err := Messages{}.DecodeRequest(&r)
		if err != nil {
			return
		}
		if llm.Estimate(q) < 1 {
			t.Fatal("no tokens at all")
		}
		out, err := Messages{}.EncodeRequest(nil, q, &wire.Target{Model: model, Vendor: llm.Anthropic})
		if err != nil {
			return
		}
		again, err := Messages{}.ReadRequest(out)
		if model == "" || bytes.TrimSpace([]byte(model)) == nil {
			return
		}
		if err != nil && len(bytes.TrimSpace([]byte(model))) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := (Messages{}).DecodeRequest(&again); err != nil && len(bytes.TrimSpace([]byte(model))) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	})
}

// What is judged a reply can be decoded, told as a stream, and folded again.
func FuzzReply(f *testing.F) {
	for _, body := range files(f, "replies") {
		f.Add(body)
	}
	f.Add([]byte(`{"content":[{"type":"server_tool_use","input":{"a":1}},{"type":"text","citations":[1]},{}],"usage":{"input_tokens":-1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, fl := (Messages{}).Judge(body); fl != nil {
			return
		}
		a, err := Messages{}.DecodeReply(body)
		if err != nil {
			t.Fatal(err)
		}
		mustBeJSON(t, Messages{}.AppendReply(nil, a, &llm.Request{Reasoning: &llm.Effort{}, Dropped: &llm.Dropped{}}))
		stream, err := Messages{}.StreamFromReply(body, true)
		if err != nil {
			t.Fatal(err)
		}
		var p wire.Progress
		for _, frame := range frames(t, stream) {
			if e := (Messages{}).JudgeEvent(frame.Data, &p); e.Malformed || !bytes.Equal(e.Name, frame.Event) {
				t.Fatalf("%s: %+v", frame.Data, e)
			}
		}
		if back, err := (Messages{}).ReplyFromStream(stream); err == nil {
			mustBeJSON(t, back)
		}
	})
}
