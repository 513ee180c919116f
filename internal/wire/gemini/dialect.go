// Package gemini is the dialect of Google's Gemini models, as the Gemini API and Vertex AI speak it: generateContent and
// its stream, token counts and embeddings, on the side of the client and on that of the provider.
//
// It owns that wire format: camelCase and snake_case members, parts, candidates, OpenAPI-like schemas, thought
// signatures, google.rpc errors, and what is known of the models by their ids (models.go). It must not know URLs, keys,
// providers or any other dialect. The model and the kind of answer stand in the path, which is the caller's to read.
package gemini

import (
	"evergate/internal/fault"
	"evergate/internal/wire"
)

// Generate is generateContent and streamGenerateContent. It holds nothing and is safe for concurrent use.
type Generate struct{ base }

// CountTokens is countTokens, which is passed on or answered by an estimate, never translated. It holds nothing and is
// safe for concurrent use.
type CountTokens struct{ single }

var (
	_ wire.Client   = Generate{}
	_ wire.Upstream = Generate{}
	_ wire.Unsealer = Generate{}
	_ wire.Dialect  = CountTokens{}
)

// Name is "gemini".
func (Generate) Name() string { return "gemini" }

// ReadRequest reads how many candidates are wanted and checks that contents are there. The caller sets Model and Stream,
// which stand in the path.
func (Generate) ReadRequest(body []byte) (wire.Request, error) { return readGenerate(body) }

// AppendRequest changes r in place: the model only where the body names one. A parameter that is no member of the
// request goes into its generationConfig; see [wire.Dialect].
func (Generate) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendGenerate(dst, r, w)
}

// Judge reads a whole reply, or the JSON array of a stream's replies that comes without alt=sse.
func (Generate) Judge(body []byte) (wire.Reply, *fault.Fault) { return judge(body) }

// JudgeEvent reads one streamed reply. There is no end marker: a stream has ended when all its candidates have their
// finish reason.
func (Generate) JudgeEvent(data []byte, p *wire.Progress) wire.Event { return judgeEvent(data, p) }

// AppendEnd appends nothing, but for a finish that is missing after another vendor's end marker (R17).
func (Generate) AppendEnd(dst []byte, p *wire.Progress) []byte { return appendEnd(dst, p) }

// StreamFromReply makes the reply the one event of a stream: that is what a stream of one event looks like.
func (Generate) StreamFromReply(body []byte, _ bool) ([]byte, error) { return streamFromReply(body) }

// ReplyFromStream folds a stream, as events or as a JSON array, into one reply. The error is a *fault.Fault.
func (Generate) ReplyFromStream(stream []byte) ([]byte, error) { return replyFromStream(stream) }

// AppendStreamError appends the error as the stream's last event.
func (Generate) AppendStreamError(dst []byte, f wire.Failure) []byte {
	return appendStreamError(dst, f)
}

// Name is "gemini_count_tokens".
func (CountTokens) Name() string { return "gemini_count_tokens" }

// Side is true: other providers have no such route.
func (CountTokens) Side() bool { return true }

// ReadRequest checks that contents or a whole generateContentRequest are there.
func (CountTokens) ReadRequest(body []byte) (wire.Request, error) { return readCount(body) }

// AppendRequest changes the model where the body names one, also inside generateContentRequest.
func (CountTokens) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendNested(dst, r, w)
}

// Judge reads the count, which is the reply's usage.
func (CountTokens) Judge(body []byte) (wire.Reply, *fault.Fault) { return judgeCount(body) }

// base is what all operations have in common.
type base struct{}

// Path is empty: the model is a part of the path.
func (base) Path() string { return "" }

// Side is false: every provider of this dialect has the route.
func (base) Side() bool { return false }

// AppendError appends {"error":{"code","message","status","details"}}.
func (base) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// ReadError reads the reason, else the status word, and the message of a google.rpc error.
func (base) ReadError(body []byte) (code, message string) { return readError(body) }

// single is what the operations have in common that are never streamed.
type single struct {
	base
	wire.Unstreamed
}
