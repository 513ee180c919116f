package openaichat

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// AppendUnsealed appends body without what carries seals: lists of thoughts, and the signatures beside text and calls.
// Thoughts that are said as plain text beside a list stay.
func (Chat) AppendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	var u unsealer
	r := jsonscan.New(body)
	out := dst
	r.Object()
	from := 0 // what is copied so far, in body
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "messages" || r.Kind() != jsonscan.Array {
			r.Skip()
			continue
		}
		r.Array()
		for r.Elem() {
			r.Kind() // stands on the value now
			start := r.Offset()
			raw := r.Raw()
			out = append(out, body[from:start]...)
			out = u.message(out, raw)
			from = r.Offset()
		}
	}
	if !r.End() || len(u.dropped) == 0 {
		return dst, nil
	}
	return append(out, body[from:]...), u.dropped
}

// unsealer notes what it leaves out.
type unsealer struct{ dropped []string }

func (u *unsealer) drop(name string) {
	if !slices.Contains(u.dropped, name) {
		u.dropped = append(u.dropped, name)
	}
}

// message appends a message, as it is if it carries no seal.
func (u *unsealer) message(dst, raw []byte) []byte {
	r := jsonscan.New(raw)
	if !r.Object() {
		return append(dst, raw...)
	}
	out := append(dst, '{')
	changed, plain, listed := false, false, false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		switch string(key) {
		case "reasoning_details", "thinking_blocks":
			if sealed, text := carriesSeal(value); sealed {
				changed, listed = true, listed || text
				u.drop(llm.DropSignatures)
				continue
			}
		case "extra_content":
			if inner := jsonscan.New(value); hasSignature(&inner) {
				changed = true
				u.drop(llm.DropSignatures)
				continue
			}
		case "reasoning_content", "reasoning", "reasoning_text":
			plain = plain || len(value) > len(`""`) && value[0] == '"'
		case "tool_calls":
			mark := len(out)
			out = appendComma(out)
			out = append(out, `"tool_calls":`...)
			var some bool
			if out, some = u.calls(out, value); some {
				changed = true
				continue
			}
			out = out[:mark]
		}
		out = appendMember(appendComma(out), key, value)
	}
	if !changed || !r.OK() {
		return append(dst, raw...)
	}
	if listed && !plain {
		u.drop(llm.DropReasoning)
	}
	return append(out, '}')
}

func appendComma(dst []byte) []byte {
	if dst[len(dst)-1] == '{' || dst[len(dst)-1] == '[' {
		return dst
	}
	return append(dst, ',')
}

// calls appends a list of calls and says whether one carried a seal.
func (u *unsealer) calls(dst, raw []byte) (out []byte, changed bool) {
	r := jsonscan.New(raw)
	if !r.Array() {
		return dst, false
	}
	out = append(dst, '[')
	for r.Elem() {
		if r.Kind() != jsonscan.Object {
			out = append(appendComma(out), r.Raw()...)
			continue
		}
		r.Object()
		out = append(appendComma(out), '{')
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			value := r.Raw()
			if string(key) == "extra_content" {
				if inner := jsonscan.New(value); hasSignature(&inner) {
					changed = true
					u.drop(llm.DropSignatures)
					continue
				}
			}
			out = appendMember(appendComma(out), key, value)
		}
		out = append(out, '}')
	}
	return append(out, ']'), changed
}

func hasSignature(r *jsonscan.Reader) bool {
	s, _ := readExtra(r)
	return s != nil
}

// carriesSeal says whether a list of thoughts has a seal in it, and whether it has text.
func carriesSeal(list []byte) (sealed, text bool) {
	r := jsonscan.New(list)
	if !r.Array() {
		return false, false
	}
	for r.Elem() {
		t := readThought(&r)
		sealed = sealed || len(t.sealed) > 0
		text = text || len(t.text) > 0
	}
	return sealed, text
}
