package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// AppendPrefilled appends body with one more content, of the model's (R70).
func (Generate) AppendPrefilled(dst, body []byte, text string) ([]byte, bool) {
	turn := jsonscan.AppendString([]byte(`{"role":"model","parts":[{"text":`), text)
	return wire.AppendElement(dst, body, "contents", append(turn, `}]}`...), nil)
}

// TakesPrefill is true: none of the models is known to refuse it.
func (Generate) TakesPrefill(string) bool { return true }
