package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// AppendPrefilled appends body with one more item, a message of the assistant's (R70). An input that is text becomes a
// message of the user's before it.
func (Responses) AppendPrefilled(dst, body []byte, text string) ([]byte, bool) {
	item := jsonscan.AppendString([]byte(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`), text)
	return wire.AppendElement(dst, body, "input", append(item, `}]}`...), func(raw []byte) []byte {
		return append(append([]byte(`{"type":"message","role":"user","content":`), raw...), '}')
	})
}

// TakesPrefill is true: none of the models is known to refuse it.
func (Responses) TakesPrefill(string) bool { return true }
