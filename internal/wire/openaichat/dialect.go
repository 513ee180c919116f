// Package openaichat is the OpenAI dialect of chat completions, with the older completions and embeddings beside it:
// how a request is read and changed in place, how a reply or a stream's event is judged, how an error is read and said,
// and how a whole reply becomes a stream and back; and how requests, replies and streams are translated to and from
// those that no vendor owns (package llm).
//
// It owns what many vendors made of that dialect too: their spellings of usage, reasoning, finish reasons and errors.
// It must not know which provider is asked: whatever any of them says is understood from all of them.
package openaichat

import (
	"evergate/internal/fault"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// Chat is the operation /chat/completions. It holds nothing and is safe for concurrent use.
type Chat struct{ streamed }

// Completions is the older operation /completions. It holds nothing and is safe for concurrent use.
type Completions struct{ streamed }

// Embeddings is the operation /embeddings. It holds nothing and is safe for concurrent use.
type Embeddings struct {
	base
	wire.Unstreamed
}

var (
	_ wire.Client   = Chat{}
	_ wire.Upstream = Chat{}
	_ wire.Unsealer = Chat{}
	_ wire.Client   = Completions{}
	_ wire.Embedder = Embeddings{}
)

// Name is "chat".
func (Chat) Name() string { return "chat" }

// Name is "completions".
func (Completions) Name() string { return "completions" }

// Name is "embeddings".
func (Embeddings) Name() string { return "embeddings" }

// Side is false: every provider of this dialect has chat completions.
func (Chat) Side() bool { return false }

// Side is true: many providers have no older completions.
func (Completions) Side() bool { return true }

// Side is true: many providers have no embeddings.
func (Embeddings) Side() bool { return true }

// Path is where chat completions are.
func (Chat) Path() string { return "/chat/completions" }

// Path is where the older completions are.
func (Completions) Path() string { return "/completions" }

// Path is where embeddings are.
func (Embeddings) Path() string { return "/embeddings" }

// ReadRequest reads model, stream and stream_options, and checks that messages are there.
func (Chat) ReadRequest(body []byte) (wire.Request, error) {
	return readRequest(body, reading{streams: true, messages: true})
}

// ReadRequest reads model, stream and stream_options.
func (Completions) ReadRequest(body []byte) (wire.Request, error) {
	return readRequest(body, reading{streams: true})
}

// ReadRequest reads model; embeddings do not stream, whatever the body says.
func (Embeddings) ReadRequest(body []byte) (wire.Request, error) {
	return readRequest(body, reading{})
}

// Judge reads a whole chat completion.
func (Chat) Judge(body []byte) (wire.Reply, *fault.Fault) { return judgeChoices(body, chatShape) }

// Judge reads a whole completion.
func (Completions) Judge(body []byte) (wire.Reply, *fault.Fault) {
	return judgeChoices(body, textShape)
}

// Judge reads a list of embeddings.
func (Embeddings) Judge(body []byte) (wire.Reply, *fault.Fault) { return judgeEmbeddings(body) }

// JudgeEvent reads one chat.completion.chunk.
func (Chat) JudgeEvent(data []byte, p *wire.Progress) wire.Event {
	return judgeEvent(data, p, chatShape)
}

// JudgeEvent reads one streamed text_completion.
func (Completions) JudgeEvent(data []byte, p *wire.Progress) wire.Event {
	return judgeEvent(data, p, textShape)
}

// AppendEnd appends what a proper end still needs; see [wire.Dialect].
func (Chat) AppendEnd(dst []byte, p *wire.Progress) []byte { return appendEnd(dst, p, chatShape) }

// AppendEnd appends what a proper end still needs; see [wire.Dialect].
func (Completions) AppendEnd(dst []byte, p *wire.Progress) []byte {
	return appendEnd(dst, p, textShape)
}

// StreamFromReply turns a chat completion into chat.completion.chunk events.
func (Chat) StreamFromReply(body []byte, withUsage bool) ([]byte, error) {
	return streamFromReply(body, withUsage, chatShape)
}

// StreamFromReply turns a completion into streamed ones.
func (Completions) StreamFromReply(body []byte, withUsage bool) ([]byte, error) {
	return streamFromReply(body, withUsage, textShape)
}

// ReplyFromStream folds a stream into a chat completion. The error is a *fault.Fault.
func (Chat) ReplyFromStream(stream []byte) ([]byte, error) {
	return replyFromStream(stream, Chat{}, chatShape)
}

// ReplyFromStream folds a stream into a completion. The error is a *fault.Fault.
func (Completions) ReplyFromStream(stream []byte) ([]byte, error) {
	return replyFromStream(stream, Completions{}, textShape)
}

// base is what all operations have in common.
type base struct{}

// AppendRequest changes r in place; see [wire.Dialect].
func (base) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	return appendRequest(dst, r, w)
}

// AppendError appends the body of an error reply.
func (base) AppendError(dst []byte, f wire.Failure) []byte { return appendError(dst, f) }

// ReadError reads an error body in any of the shapes that vendors of this dialect use.
func (base) ReadError(body []byte) (code, message string) { return openaiwords.ReadError(body) }

// streamed is what the operations have in common that can be streamed.
type streamed struct{ base }

// AppendStreamError appends the error event after which nothing comes.
func (streamed) AppendStreamError(dst []byte, f wire.Failure) []byte {
	return appendStreamError(dst, f)
}
