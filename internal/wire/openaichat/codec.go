package openaichat

import (
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// DecodeRequest reads a whole request for a chat completion, in OpenAI's words and those of the vendors that widened
// them. The error is a *wire.RequestError.
func (Chat) DecodeRequest(r *wire.Request) (*llm.Request, error) { return decodeChat(r) }

// EncodeRequest appends the request for a target. What it cannot say is noted in q.Dropped. The error is a
// *wire.RequestError.
func (Chat) EncodeRequest(dst []byte, q *llm.Request, t *wire.Target) ([]byte, error) {
	return encodeChat(dst, q, t)
}
