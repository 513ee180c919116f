package anthropic

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// appendUnsealed copies a request without its thinking and redacted_thinking blocks (R10). A turn that held nothing else
// goes with them; the dialect joins the turns around it. Where the last turn of the model's then calls tools without a
// thought before it, which manual thinking does not allow, thinking is turned off, and with it what manages the context by
// clearing thoughts, which is refused without. That is the whole repair where another vendor's model made that turn.
func appendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	r := jsonscan.New(body)
	if !r.Object() {
		return dst, nil
	}
	open := r.Offset()
	var messages, thinking, managed []byte
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "messages":
			messages = r.Raw()
		case "thinking":
			thinking = r.Raw()
		case "context_management":
			managed = r.Raw()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return dst, nil
	}
	turns, found, calls := unsealed(messages)
	off := calls && textOf(valueOf(membersOf(thinking), "type")) == "enabled"
	if !found && !off {
		return dst, nil
	}
	if found {
		dropped = append(dropped, llm.DropSignatures)
	}
	if off {
		dropped = append(dropped, "thinking")
	}
	clears := off && bytes.Contains(managed, []byte(`"clear_thinking`))
	if clears {
		dropped = append(dropped, "context_management")
	}
	e := jsonscan.NewEditor(dst, body, open)
	r = jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		r.Kind()
		from := r.Offset()
		r.Skip()
		to := r.Offset()
		switch {
		case string(key) == "messages":
			e.Replace(from, to, turns)
		case string(key) == "thinking" && off, string(key) == "context_management" && clears:
			e.Drop(to)
		default:
			e.Keep(to)
		}
	}
	return e.End(), dropped
}

// unsealed writes the array of messages anew. found says that something was left out, calls that the last turn of the
// model's calls tools.
func unsealed(messages []byte) (out []byte, found, calls bool) {
	r := jsonscan.New(messages)
	if !r.Array() {
		return nil, false, false
	}
	out = append(out, '[')
	for r.Elem() {
		raw := r.Raw()
		turn := membersOf(raw)
		content := valueOf(turn, "content")
		blocks, left, lost, tool := thoughtless(content)
		if textOf(valueOf(turn, "role")) == "assistant" {
			calls = tool
		}
		found = found || lost
		if lost && left == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if !lost {
			out = append(out, raw...)
			continue
		}
		out = appendObject(out, put(turn, "content", blocks))
	}
	return append(out, ']'), found, calls
}

// thoughtless writes a turn's content without thoughts and says how many blocks are left.
func thoughtless(content []byte) (out []byte, left int, lost, tool bool) {
	r := jsonscan.New(content)
	if r.Kind() != jsonscan.Array {
		return content, 1, false, false
	}
	r.Array()
	out = append(out, '[')
	for r.Elem() {
		raw := r.Raw()
		switch textOf(valueOf(membersOf(raw), "type")) {
		case "thinking", "redacted_thinking":
			lost = true
			continue
		case "tool_use":
			tool = true
		}
		if left > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
		left++
	}
	return append(out, ']'), left, lost, tool
}
