package openaichat

import (
	"encoding/json"

	"evergate/internal/jsonscan"
)

// set sets a member unless that would put null over a value.
func set(o object, key string, value any) {
	if value != nil || o[key] == nil {
		o[key] = value
	}
}

func either(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// joinCall adds to a call: arguments come in pieces, the name comes whole (some repeat it).
func joinCall(call, part object) object {
	if call == nil {
		call = object{}
	}
	for key, value := range part {
		switch key {
		case "arguments", "input":
			call[key] = join(call[key], value)
		default:
			if value != "" {
				set(call, key, value)
			}
		}
	}
	return call
}

func joinAudio(old, more any) any {
	part, ok := more.(object)
	if !ok {
		return either(old, more)
	}
	audio, _ := old.(object)
	if audio == nil {
		audio = object{}
	}
	for key, value := range part {
		if key == "data" || key == "transcript" {
			audio[key] = join(audio[key], value)
		} else {
			set(audio, key, value)
		}
	}
	return audio
}

// text is a string that grows.
type text struct{ bytes []byte }

// MarshalJSON writes it as a string.
func (t *text) MarshalJSON() ([]byte, error) {
	return jsonscan.AppendText(nil, t.bytes), nil
}

// join adds text to text, and parts to parts; text that comes to parts becomes one.
func join(old, more any) any {
	if was, ok := old.(string); ok {
		old = &text{[]byte(was)}
	}
	switch more := more.(type) {
	case nil:
		return old
	case string:
		switch old := old.(type) {
		case nil:
			return &text{[]byte(more)}
		case *text:
			old.bytes = append(old.bytes, more...)
			return old
		case []any:
			if more == "" {
				return old
			}
			return joinPart(old, object{"type": "text", "text": more})
		}
	case []any:
		parts, ok := old.([]any)
		if !ok {
			parts = []any{}
		}
		if was, ok := old.(*text); ok && len(was.bytes) > 0 {
			parts = []any{object{"type": "text", "text": was}}
		}
		for _, part := range more {
			parts = joinPart(parts, part)
		}
		return parts
	}
	return more
}

// joinPart adds a part to the last one if it goes on with it: same type, same index, and nothing that is whole in
// itself, such as encrypted reasoning or a citation.
func joinPart(parts []any, part any) []any {
	next, ok := part.(object)
	if !ok || len(parts) == 0 {
		return append(parts, part)
	}
	last, ok := parts[len(parts)-1].(object)
	if !ok || !same[string](last["type"], next["type"]) || !same[json.Number](last["index"], next["index"]) || !grows(next) {
		return append(parts, part)
	}
	for key, value := range next {
		switch key {
		case "text", "thinking", "summary":
			last[key] = join(last[key], value)
		default:
			set(last, key, value)
		}
	}
	return parts
}

// same compares two values that are mostly a T.
func same[T comparable](a, b any) bool {
	x, isT := a.(T)
	y, areT := b.(T)
	return isT == areT && x == y
}

func grows(part object) bool {
	for _, key := range [...]string{"text", "thinking", "summary", "signature"} {
		if part[key] != nil {
			return true
		}
	}
	return false
}

// joinLists joins log probabilities: an object of lists.
func joinLists(old, more any) any {
	part, ok := more.(object)
	if !ok {
		return either(old, more)
	}
	all, _ := old.(object)
	if all == nil {
		all = object{}
	}
	for key, value := range part {
		if list, ok := value.([]any); ok {
			known, _ := all[key].([]any)
			all[key] = append(known, list...)
		} else {
			set(all, key, value)
		}
	}
	return all
}
