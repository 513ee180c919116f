// Package anthropic is the Anthropic dialect: the operation /messages with its streams, and /messages/count_tokens beside
// it. It is the same-dialect half (spans, judging, errors, streams from replies and back), and the codec to and from
// the words of llm, on the client's side and on the upstream's.
//
// It owns the dialect's field names, its event grammar, and what is known of its models by their ids (models.go). It
// must not know which provider is asked, HTTP, or any other dialect.
package anthropic

import (
	"evergate/internal/fault"
	"evergate/internal/wire"
)

// Messages is the operation /messages. It holds nothing and is safe for concurrent use.
type Messages struct{}

var (
	_ wire.Dialect  = Messages{}
	_ wire.Client   = Messages{}
	_ wire.Upstream = Messages{}
	_ wire.Unsealer = Messages{}
)

// Name is "messages".
func (Messages) Name() string { return "messages" }

// Path is where messages are made.
func (Messages) Path() string { return "/messages" }

// Side is false: every provider of this dialect has it.
func (Messages) Side() bool { return false }

// ReadRequest reads model and stream, and checks that messages are there.
func (Messages) ReadRequest(body []byte) (wire.Request, error) {
	return readRequest(body, true)
}

// AppendRequest changes r in place; see [wire.Dialect].
func (Messages) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return wire.AppendRewritten(dst, r, w)
}

// Judge reads a whole message.
func (Messages) Judge(body []byte) (wire.Reply, *fault.Fault) { return judgeMessage(body) }

// JudgeEvent reads one event of a stream; its Name is the event's type.
func (Messages) JudgeEvent(data []byte, p *wire.Progress) wire.Event { return judgeEvent(data, p) }

// AppendEnd appends what a proper end still needs; see [wire.Dialect].
func (Messages) AppendEnd(dst []byte, p *wire.Progress) []byte { return appendEnd(dst, p) }

// AppendError appends {"type":"error",…}.
func (Messages) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// AppendStreamError appends the error event after which nothing comes; message_stop would be a clean end.
func (Messages) AppendStreamError(dst []byte, f wire.Failure) []byte {
	return appendStreamError(dst, f)
}

// ReadError reads an error body: the error's type and its message.
func (Messages) ReadError(body []byte) (code, message string) { return readError(body) }

// StreamFromReply turns a message into the events that would have made it. Usage is always part of them.
func (Messages) StreamFromReply(body []byte, _ bool) ([]byte, error) { return streamFromReply(body) }

// ReplyFromStream folds a stream into a message. The error is a *fault.Fault.
func (Messages) ReplyFromStream(stream []byte) ([]byte, error) { return replyFromStream(stream) }

// AppendUnsealed leaves thinking and redacted_thinking blocks out of a request; see [wire.Unsealer].
func (Messages) AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	return appendUnsealed(dst, body)
}
