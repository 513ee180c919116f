package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// Whatever a client sends is refused, or makes a request that is JSON, and can be repaired and expanded.
func FuzzRequest(f *testing.F) {
	for _, body := range recorded(f, ".request.json") {
		f.Add(body[:min(len(body), 4000)])
		if len(body) < 4000 {
			f.Add(body)
		}
	}
	f.Add([]byte(echoed))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		r, err := Responses{}.ReadRequest(body)
		if err != nil {
			var refused *wire.RequestError
			if !errors.As(err, &refused) {
				t.Fatalf("%T", err)
			}
			return
		}
		if out := (Responses{}).AppendRequest(nil, &r, wire.Rewrite{Model: "other"}); !json.Valid(out) {
			t.Fatalf("rewritten: %s", out)
		}
		if out, dropped := (Responses{}).AppendUnsealed(nil, body); dropped != nil && !json.Valid(out) {
			t.Fatalf("repaired: %s", out)
		}
		if out, err := Expand(body, [][]byte{[]byte(`"a"`)}); err != nil || !json.Valid(out) {
			t.Fatalf("expanded: %v %s", err, out)
		}
		q, err := Responses{}.DecodeRequest(&r)
		if err != nil {
			return
		}
		if out, err := (Responses{}).EncodeRequest(nil, q, &openAI); err == nil && !json.Valid(out) {
			t.Fatalf("encoded: %s", out)
		}
		if out := (Responses{}).AppendReply(nil, answers()["text"], q); !json.Valid(out) || bytes.ContainsAny(out, "\r\n") {
			t.Fatalf("the echo of the request: %s", out)
		}
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
	})
}

// Whatever an upstream answers is judged; what is judged good can be decoded, said again and streamed.
func FuzzReply(f *testing.F) {
	for _, body := range recorded(f, ".json") {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		Responses{}.ReadError(body)
		if _, fault := (Responses{}).Judge(body); fault != nil {
			return
		}
		a, err := Responses{}.DecodeReply(body)
		if err != nil {
			t.Fatal(err)
		}
		out := Responses{}.AppendReply(nil, a, &llm.Request{Dropped: &llm.Dropped{}})
		if !json.Valid(out) || bytes.ContainsAny(out, "\r\n") {
			t.Fatalf("said again: %s", out)
		}
		stream, err := Responses{}.StreamFromReply(body, true)
		if err != nil {
			return
		}
		for _, e := range events(t, stream) {
			if !json.Valid(e) {
				t.Fatalf("event: %s", e)
			}
		}
	})
}

// An event is malformed if it is no JSON object, and never else.
func FuzzJudgeEvent(f *testing.F) {
	for _, stream := range recorded(f, ".sse") {
		for _, e := range events(f, stream) {
			if len(e) < 500 {
				f.Add(e)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p wire.Progress
		e := Responses{}.JudgeEvent(data, &p)
		trimmed := bytes.TrimSpace(data)
		switch {
		case wire.IsDone(trimmed):
			return
		case len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed):
			if e.Malformed {
				t.Fatalf("malformed: %s", data)
			}
		case !e.Malformed && e.Fault == nil:
			t.Fatalf("well-formed: %q", data)
		}
		if e.Fault != nil && e.Fault.Class == fault.Unknown {
			t.Fatalf("a fault of no class: %s", data)
		}
	})
}
