// Package cohere is Cohere's own dialect (v2), as it is spoken to Cohere: chat, and the vectors of embed. It says how a
// request is written, how a reply or a stream's event is judged and what it says, and how an error is read.
//
// It owns the JSON alone: it must not know the provider's address or credentials, nor which model is asked beyond its id.
// No client speaks it.
package cohere

import (
	"evergate/internal/jsonscan"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// Chat is the operation /v2/chat. It holds nothing and is safe for concurrent use.
type Chat struct{}

// Embed is the operation /v2/embed. It holds nothing and is safe for concurrent use.
type Embed struct{ wire.Unstreamed }

var (
	_ wire.Upstream = Chat{}
	_ wire.Embedder = Embed{}
)

// Name is "cohere".
func (Chat) Name() string { return "cohere" }

// Name is "cohere_embed".
func (Embed) Name() string { return "cohere_embed" }

// Path is empty: no client speaks it.
func (Chat) Path() string { return "" }

// Path is empty: no client speaks it.
func (Embed) Path() string { return "" }

// Side is false.
func (Chat) Side() bool { return false }

// Side is false.
func (Embed) Side() bool { return false }

// ReadRequest reads model and stream.
func (Chat) ReadRequest(body []byte) (wire.Request, error) { return readRequest(body) }

// ReadRequest reads the model.
func (Embed) ReadRequest(body []byte) (wire.Request, error) {
	r, err := readRequest(body)
	r.Stream = false
	return r, err
}

func readRequest(body []byte) (wire.Request, error) {
	q := wire.Request{Body: body, AskedUsage: true} // it always comes
	r := jsonscan.New(body)
	if r.Kind() != jsonscan.Object {
		return q, wire.NoObject(body)
	}
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "model":
			q.Spans.Again = q.Spans.Again || !q.Spans.Model.Absent()
			r.Kind() // stands on the value now
			from := r.Offset()
			q.Model, _ = r.Text()
			q.Spans.Model = wire.Span{From: from, To: r.Offset()}
		case "stream":
			q.Stream, _ = r.Bool()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return q, wire.NoJSON(body, r.Err())
	}
	if q.Model == "" {
		return q, &wire.RequestError{Param: "model", Message: `"model" is missing`}
	}
	return q, nil
}

// AppendRequest changes the model and the members that params name; one named model or stream has no say.
func (Chat) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, w)
}

// AppendRequest changes the model and the members that params name; one named model has no say.
func (Embed) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, w)
}

// AppendEnd appends the end marker.
func (Chat) AppendEnd(dst []byte, _ *wire.Progress) []byte {
	return sse.AppendData(dst, []byte("[DONE]"))
}

// AppendError appends {"id":…,"message":…}.
func (Chat) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// AppendError appends {"id":…,"message":…}.
func (Embed) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

func appendError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, '{')
	if f.RequestID != "" {
		dst = jsonscan.AppendStringMember(dst, "id", f.RequestID)
	}
	return append(jsonscan.AppendStringMember(dst, "message", f.Message), '}')
}

// AppendStreamError appends the error as an event, after which nothing comes.
func (Chat) AppendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, "event: error\ndata: "...)
	return append(appendError(dst, f), "\n\n"...)
}

// ReadError reads {"message":…,"error_type":…}.
func (Chat) ReadError(body []byte) (code, message string) { return readError(body) }

// ReadError reads {"message":…,"error_type":…}.
func (Embed) ReadError(body []byte) (code, message string) { return readError(body) }
