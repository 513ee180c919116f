package openaichat

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// AppendPrefilled appends body with one more message, of the assistant's (R70).
func (Chat) AppendPrefilled(dst, body []byte, text string) ([]byte, bool) {
	turn := jsonscan.AppendString([]byte(`{"role":"assistant","content":`), text)
	return wire.AppendElement(dst, body, "messages", append(turn, '}'), nil)
}

// TakesPrefill is true: nobody can tell by a model's name what a server of this dialect does with it.
func (Chat) TakesPrefill(string) bool { return true }
