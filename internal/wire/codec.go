package wire

import (
	"evergate/internal/llm"
)

// Client is the half of a codec that faces clients: what a dialect's request means, and how an answer is said in it.
// Implementations are stateless and safe for concurrent use.
type Client interface {
	Dialect
	// DecodeRequest reads the whole request, which ReadRequest has read before. What llm has no word for is noted in the
	// request's Dropped by its name. The error is a *RequestError.
	DecodeRequest(r *Request) (*llm.Request, error)
	// AppendReply appends a whole reply. What the dialect cannot say is noted in q.Dropped.
	AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte
	// NewEncoder makes the encoder of one stream that answers q.
	NewEncoder(q *llm.Request) Encoder
}

// Encoder writes one stream in a client's dialect, framing included. It is given events in llm.Order's strict order: parts
// numbered from 0, one open at a time in each choice. Not safe for concurrent use.
type Encoder interface {
	// Append appends what e says, which may be nothing yet. e is not kept.
	Append(dst []byte, e *llm.Event) []byte
	// AppendEnd appends the proper end of the stream. Every choice that began has had its Finish.
	AppendEnd(dst []byte) []byte
	// Said is what the client was told so far, for AppendStreamError.
	Said() Said
}

// Target says for whom a request is written.
type Target struct {
	// Model is the upstream's id.
	Model string
	// Vendor is who made the model: seals of others are dropped (llm.DropSignatures).
	Vendor llm.Vendor
	Quirks Quirks
	// AskUsage asks for usage in a stream, where the dialect must be asked.
	AskUsage bool
	// Prefix is the beginning of the answer, which the request is to end in as the model's own last turn (R70); empty: none.
	Prefix string
	// Unsealed leaves out every seal, and what cannot be sent without its seal (R10's repair).
	Unsealed bool
	// Answer and Created, in seconds since 1970, are the id and the time of an answer whose upstream says none (Bedrock has
	// no ids, and most have no time); empty and 0: none is said.
	Answer  string
	Created int64
}

// Quirks are what a target does differently from what its dialect's codec would write; data alone. The zero value is
// none.
type Quirks struct {
	// MaxTokensField is the name of the output limit: max_tokens or max_completion_tokens; empty: the dialect's first.
	MaxTokensField string
	// DeveloperRole: system prompts go out as role developer.
	DeveloperRole bool
	// Refuses are names of request fields, in the upstream's dialect, that the target answers with an error: they are
	// left out and noted.
	Refuses []string
	// ReasoningField is the name under which thoughts in the history go back (reasoning_content, reasoning); empty:
	// nowhere, they are dropped.
	ReasoningField string
	// RequiredWord is the tool_choice that means "at least one": required, or any (Mistral); empty: required.
	RequiredWord string
	// CustomTools: tools that take free text are known; else they go out as functions with one text.
	CustomTools bool
	// ShortCallIDs: the id of a tool call must be nine letters or digits (Mistral).
	ShortCallIDs bool
	// NoThinking is the member that turns thinking off, such as "thinking":{"type":"disabled"}; empty: there is none, and the
	// wish is noted as lost.
	NoThinking string
	// PlainContent: a message's content must be a string where it is nothing but text; else a user's texts stay parts.
	PlainContent bool
	// PlainSchema: JSON schemas of formats are not known; json_object is sent and the schema noted as lost.
	PlainSchema bool
	// Labels: metadata goes along as the request's labels (Vertex AI).
	Labels bool
	// DefaultMaxTokens is the output limit where the dialect must have one and the client gave none; 0: the codec's own.
	DefaultMaxTokens int64
}

// Upstream is the half of a codec that faces providers. Implementations are stateless and safe for concurrent use.
type Upstream interface {
	Dialect
	// EncodeRequest appends the request for a target. What it cannot say is noted in q.Dropped; the error is a
	// *RequestError where nothing sensible would be left.
	EncodeRequest(dst []byte, q *llm.Request, t *Target) ([]byte, error)
	// DecodeReply reads a whole reply that Judge found good.
	DecodeReply(body []byte) (*llm.Reply, error)
	// NewDecoder makes the decoder of one stream.
	NewDecoder() Decoder
}

// Decoder reads one stream of an upstream. Not safe for concurrent use.
type Decoder interface {
	// Decode reads one event's data, which JudgeEvent found well-formed and no error, and emits what it says. Parts may
	// overlap and may lack their PartStop, but not their PartStart; see llm.Order. Emitted events hold only during the call.
	Decode(data []byte, emit func(*llm.Event)) error
	// End is told that the stream ended properly, for what was held back.
	End(emit func(*llm.Event))
}

// Said is what a stream's client was told of it.
type Said struct {
	ID, Model string
	Created   int64
	// Sequence is the number that the next event would have, in dialects that count them.
	Sequence int64
	// Begun: the dialect's opening event is out.
	Begun bool
}

// Embedder is a dialect of embeddings, either side of it. A dialect that is only asked, or only served, returns errors
// for the other half.
type Embedder interface {
	Dialect
	DecodeEmbed(r *Request) (*llm.EmbedRequest, error)
	AppendEmbedReply(dst []byte, a *llm.EmbedReply, q *llm.EmbedRequest) []byte
	EncodeEmbed(dst []byte, q *llm.EmbedRequest, t *Target) ([]byte, error)
	DecodeEmbedReply(body []byte) (*llm.EmbedReply, error)
}

// Unsealer is a dialect in which a request can be repaired without decoding it (R10): AppendUnsealed appends body without its
// signed, redacted and encrypted thoughts and says what it left out; with nothing to leave out it returns dst and nil.
type Unsealer interface {
	AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string)
}

// Counter is a dialect whose answer the gateway can estimate itself where no provider has it: token counting.
type Counter interface {
	Dialect
	// DecodeCounted reads what is to be counted. The error is a *RequestError.
	DecodeCounted(r *Request) (*llm.Request, error)
	// AppendCount appends the answer.
	AppendCount(dst []byte, tokens int64) []byte
}
