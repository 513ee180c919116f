package anthropic

import (
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// CountTokens is the operation /messages/count_tokens. It holds nothing and is safe for concurrent use.
type CountTokens struct{ wire.Unstreamed }

var _ wire.Counter = CountTokens{}

// Name is "count_tokens".
func (CountTokens) Name() string { return "count_tokens" }

// Path is where tokens are counted.
func (CountTokens) Path() string { return "/messages/count_tokens" }

// Side is true: many providers of this dialect do not count.
func (CountTokens) Side() bool { return true }

// ReadRequest reads model; counts do not stream, whatever the body says.
func (CountTokens) ReadRequest(body []byte) (wire.Request, error) { return readRequest(body, false) }

// AppendRequest changes r in place; see [wire.Dialect].
func (CountTokens) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, w)
}

// DecodeCounted reads the whole request, so that what nobody counts can be estimated ([llm.Estimate]). There is no
// max_tokens in it.
func (CountTokens) DecodeCounted(r *wire.Request) (*llm.Request, error) {
	return decodeRequest(r, false)
}

// Judge reads {"input_tokens":N}. Nothing was used: the count is no Usage.
func (CountTokens) Judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	counted := false
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "input_tokens" {
			r.Skip()
			continue
		}
		_, counted = r.Int()
	}
	if !r.End() {
		return reply, wire.BrokenAnswer(r.Err())
	}
	if counted {
		return reply, nil
	}
	if d := readDetail(body); d.message != "" {
		return reply, d.fault()
	}
	return reply, wire.Invalid(`the upstream's answer has no "input_tokens"`)
}

// AppendCount appends the reply that says how many tokens there are.
func (CountTokens) AppendCount(dst []byte, tokens int64) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, tokens, 10)
	return append(dst, '}')
}

// AppendError appends {"type":"error",…}.
func (CountTokens) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// ReadError reads an error body: the error's type and its message.
func (CountTokens) ReadError(body []byte) (code, message string) { return readError(body) }
