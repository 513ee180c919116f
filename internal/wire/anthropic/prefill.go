package anthropic

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// AppendPrefilled appends body with one more turn, of the assistant's (R70). The text must not end in white space.
func (Messages) AppendPrefilled(dst, body []byte, text string) ([]byte, bool) {
	turn := jsonscan.AppendString([]byte(`{"role":"assistant","content":`), text)
	return wire.AppendElement(dst, body, "messages", append(turn, '}'), nil)
}

// TakesPrefill is false from Claude 4.6 on: a conversation must end in a user's turn there.
func (Messages) TakesPrefill(model string) bool { return takesPrefill(model) }

func takesPrefill(model string) bool {
	major, minor, ok := version(model)
	return !ok || major*100+minor < 406
}
