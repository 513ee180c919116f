// Package responses is OpenAI's dialect of the Responses API: how a request is read and changed in place, how a response
// object or a stream's event is judged, how an error is read and said, how a whole response becomes a stream and back, and
// how all of it is translated to and from the canonical model.
//
// It owns what other vendors made of that dialect, too. It must not know which provider is asked, and it keeps no
// responses: who keeps them builds on Output and Expand.
package responses

import (
	"evergate/internal/fault"
	"evergate/internal/llm"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// Responses is the operation /responses. It holds nothing and is safe for concurrent use.
type Responses struct{}

var (
	_ wire.Dialect  = Responses{}
	_ wire.Client   = Responses{}
	_ wire.Upstream = Responses{}
	_ wire.Unsealer = Responses{}
)

// Name is "responses".
func (Responses) Name() string { return "responses" }

// Path is where responses are created.
func (Responses) Path() string { return "/responses" }

// Side is false: a provider that is asked in this dialect has this route.
func (Responses) Side() bool { return false }

// ReadRequest reads what the gateway must know; see [wire.Dialect].
func (Responses) ReadRequest(body []byte) (wire.Request, error) { return readRequest(body) }

// AppendRequest changes r in place; see [wire.Dialect].
func (Responses) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, w)
}

// Judge reads a whole response object.
func (Responses) Judge(body []byte) (wire.Reply, *fault.Fault) { return judge(body) }

// JudgeEvent reads one stream event. The terminal event (response.completed, response.incomplete) is a Finish and no End,
// because it has to reach the client; nothing need follow it.
func (Responses) JudgeEvent(data []byte, p *wire.Progress) wire.Event { return judgeEvent(data, p) }

// AppendEnd appends a terminal event if there was none (R17, after an explicit [DONE]), else nothing.
func (Responses) AppendEnd(dst []byte, p *wire.Progress) []byte { return appendEnd(dst, p) }

// AppendError appends the body of an error reply.
func (Responses) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// AppendStreamError appends a response.failed event, after which nothing comes.
func (Responses) AppendStreamError(dst []byte, f wire.Failure) []byte {
	return appendStreamError(dst, f)
}

// ReadError reads an error body in any of the shapes that vendors of this dialect use.
func (Responses) ReadError(body []byte) (code, message string) { return openaiwords.ReadError(body) }

// StreamFromReply writes a response object as the events of a stream. Usage is always said in this dialect. The error is
// a *fault.Fault.
func (Responses) StreamFromReply(body []byte, _ bool) ([]byte, error) { return streamFromReply(body) }

// ReplyFromStream folds a stream into a response object. The error is a *fault.Fault.
func (Responses) ReplyFromStream(stream []byte) ([]byte, error) { return replyFromStream(stream) }

// DecodeRequest reads a whole request. A previous_response_id that is still there is an error: whoever keeps responses
// has expanded it before (Expand).
func (Responses) DecodeRequest(r *wire.Request) (*llm.Request, error) { return decodeRequest(r) }

// AppendReply appends a whole response object.
func (Responses) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	return appendReply(dst, a, q)
}

// NewEncoder makes the encoder of one stream.
func (Responses) NewEncoder(q *llm.Request) wire.Encoder { return &encoder{q: q} }

// EncodeRequest appends the request for a target that speaks this dialect. It is stateless: nothing is stored at the
// provider unless the client asked for it.
func (Responses) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	return encodeRequest(dst, q, t)
}

// DecodeReply reads a whole response object.
func (Responses) DecodeReply(body []byte) (*llm.Reply, error) { return decodeReply(body) }

// NewDecoder makes the decoder of one stream.
func (Responses) NewDecoder() wire.Decoder { return &decoder{} }

// AppendUnsealed appends body without its reasoning items (R10).
func (Responses) AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	return appendUnsealed(dst, body)
}
