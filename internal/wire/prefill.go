package wire

import (
	"bytes"

	"evergate/internal/jsonscan"
)

// Prefiller is a dialect in which a request can end in the beginning of the answer, as the model's own last turn.
type Prefiller interface {
	Dialect
	// AppendPrefilled appends body with the turn; false: it has no place for one, and dst is untouched.
	AppendPrefilled(dst, body []byte, text string) ([]byte, bool)
	// TakesPrefill is false for models that are known to refuse it.
	TakesPrefill(model string) bool
}

// AppendElement appends body with one more element at the end of an array that is a member of it. Where the member is
// another value, lone makes an array's first element of it; nil: there is no such form. False: nothing was appended.
func AppendElement(dst, body []byte, member string, element []byte, lone func(raw []byte) []byte) ([]byte, bool) {
	r := jsonscan.New(body)
	if !r.Object() {
		return dst, false
	}
	from, to := 0, 0
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		f, t := r.Skip()
		if string(key) == member {
			from, to = f, t
		}
	}
	if !r.End() || to == 0 {
		return dst, false
	}
	value := body[from:to]
	out := append(dst, body[:from]...)
	switch {
	case value[0] == '[':
		out = append(out, value[:len(value)-1]...)
		if len(bytes.TrimSpace(value[1:len(value)-1])) > 0 {
			out = append(out, ',')
		}
	case lone != nil:
		out = append(append(append(out, '['), lone(value)...), ',')
	default:
		return dst, false
	}
	out = append(append(out, element...), ']')
	return append(out, body[to:]...), true
}
