package converse

import (
	"errors"
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// invoke is what the dialects of vectors have in common, which go through InvokeModel: they are asked only, and do not
// stream.
type invoke struct{ wire.Unstreamed }

var errAskedOnly = errors.New("no client speaks this dialect")

// Path is empty: no client speaks it.
func (invoke) Path() string { return "" }

// Side is false: the model alone decides whether there are vectors.
func (invoke) Side() bool { return false }

// ReadRequest checks that the body is an object; the model is in the path.
func (invoke) ReadRequest(body []byte) (wire.Request, error) { return readRequest(body) }

// AppendRequest applies parameters.
func (invoke) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, wire.Rewrite{Params: w.Params})
}

// AppendError appends {"message":…}.
func (invoke) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// ReadError reads AWS's error body.
func (invoke) ReadError(body []byte) (code, message string) { return readError(body) }

// DecodeEmbed is an error: no client speaks this.
func (invoke) DecodeEmbed(*wire.Request) (*llm.EmbedRequest, error) { return nil, errAskedOnly }

// AppendEmbedReply appends nothing: no client speaks this.
func (invoke) AppendEmbedReply(dst []byte, _ *llm.EmbedReply, _ *llm.EmbedRequest) []byte { return dst }

// judgeVectors says whether a reply has vectors, read as DecodeEmbedReply does.
func judgeVectors(body []byte, decode func([]byte) (*llm.EmbedReply, error)) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	a, err := decode(body)
	if err != nil {
		return reply, noAnswer(body, err.Error())
	}
	reply.Usage = a.Usage
	return reply, nil
}

// texts are the inputs, at most limit of them.
func texts(q *llm.EmbedRequest, limit int) ([]string, error) {
	switch {
	case len(q.Tokens) > 0:
		return nil, &wire.RequestError{Param: "input", Message: "this model takes text, not token ids"}
	case len(q.Inputs) == 0:
		return nil, &wire.RequestError{Param: "input", Message: "there is no input"}
	case len(q.Inputs) > limit:
		return nil, &wire.RequestError{Param: "input", Message: "this model takes at most " + strconv.Itoa(limit) + " input(s) in a request"}
	}
	return q.Inputs, nil
}

// dropVectorFields notes what none of these models has a place for.
func dropVectorFields(q *llm.EmbedRequest) {
	if q.Title != "" {
		q.Dropped.Add("title")
	}
	if q.User != "" {
		q.Dropped.Add("user")
	}
}

var errNoVectors = errors.New("the upstream's answer has no embedding")

// readVector reads an array of numbers; nil if it is none.
func readVector(r *jsonscan.Reader) []float32 {
	if !r.Array() {
		return nil
	}
	out := make([]float32, 0, 1024)
	for r.Elem() {
		raw := r.Raw()
		n, err := strconv.ParseFloat(string(raw), 32)
		if err != nil {
			return nil
		}
		out = append(out, float32(n))
	}
	return out
}

// readVectors reads an array of vectors; nil if one of them is none.
func readVectors(r *jsonscan.Reader) (out [][]float32) {
	if !r.Array() {
		return nil
	}
	for r.Elem() {
		v := readVector(r)
		if len(v) == 0 {
			return nil
		}
		out = append(out, v)
	}
	return out
}
