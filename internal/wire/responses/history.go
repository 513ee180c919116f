package responses

import (
	"errors"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

var errNoResponse = errors.New("not a response object")

// Output cuts the id and the output, a JSON array, out of a response object, or out of the terminal event of a stream. The
// output points into reply. It is what Expand takes for a turn of history.
func Output(reply []byte) (id string, output []byte, err error) {
	r := jsonscan.New(reply)
	if !r.Object() {
		return "", nil, errNoResponse
	}
	var inner []byte
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			id, _ = r.Text()
		case "output":
			kind := r.Kind()
			if output = r.Raw(); kind != jsonscan.Array {
				output = nil
			}
		case "response":
			inner = r.Raw()
		default:
			r.Skip()
		}
	}
	switch {
	case !r.End():
		return "", nil, r.Err()
	case output == nil && inner != nil && inner[0] == '{':
		return Output(inner)
	case output == nil:
		return "", nil, errNoResponse
	}
	return id, output, nil
}

// Input cuts the input out of a request that was read before, as it is: text or an array; nil if there is none. It
// points into body. It is what Expand takes for a turn of history.
func Input(body []byte) (input []byte, err error) {
	r := jsonscan.Again(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "input" && r.Kind() != jsonscan.Null {
			input = r.Raw()
		} else {
			r.Skip()
		}
	}
	if !r.End() {
		return nil, r.Err()
	}
	return input, nil
}

// Expand writes a request that goes on from an earlier response as one that says the whole conversation: without
// previous_response_id, and with the history before its own input. Each entry of history is what Input or Output gave, in
// the order of the conversation: an array of items, a text (a message of the user's), or one item.
//
// A thought of the history of which nothing but an id and a summary is known is left out: it means something only to the
// provider that keeps it, and another one refuses it.
func Expand(body []byte, history [][]byte) ([]byte, error) {
	input := []byte{'['}
	for _, turn := range history {
		if err := jsonscan.Valid(turn); err != nil {
			return nil, err
		}
		elements(turn, func(raw []byte) {
			if it := readItem(raw); it.shape() == reasoningShape && it.encrypted == nil && len(it.content) <= len("[]") {
				return
			}
			input = appendInput(input, raw)
		})
	}
	size := len(body) + len(input)
	m := members{dst: append(make([]byte, 0, size), '{')}
	r := jsonscan.New(body)
	if !r.Object() {
		return nil, errNoResponse
	}
	own := []byte(nil)
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		raw := r.Raw()
		switch string(key) {
		case "previous_response_id":
		case "input":
			own = raw
		default:
			m.add(key, raw)
		}
	}
	if !r.End() {
		return nil, r.Err()
	}
	elements(own, func(raw []byte) { input = appendInput(input, raw) })
	m.add([]byte("input"), append(input, ']'))
	return append(m.dst, '}'), nil
}

// appendInput appends an item to an array of items; a text becomes a message of the user's.
func appendInput(input, raw []byte) []byte {
	if len(input) > 1 {
		input = append(input, ',')
	}
	if raw[0] != '"' {
		return append(input, raw...)
	}
	input = append(input, `{"type":"message","role":"user","content":`...)
	input = append(input, raw...)
	return append(input, '}')
}

// appendUnsealed leaves the reasoning items out of a request's input, and with them the ids of what came of those
// thoughts: an item that is named by its id must not come without its reasoning.
func appendUnsealed(dst, body []byte) (repaired []byte, dropped []string) {
	r := jsonscan.New(body)
	if !r.Object() {
		return dst, nil
	}
	m := members{dst: append([]byte(nil), '{')}
	found := false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		isInput := string(key) == "input" && r.Kind() == jsonscan.Array
		raw := r.Raw()
		if !isInput {
			m.add(key, raw)
			continue
		}
		out := append(m.key(key), '[')
		first := true
		elements(raw, func(raw []byte) {
			it := readItem(raw)
			sh := it.shape()
			if sh == reasoningShape {
				found = true
				return
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			if sh == callShape || sh == customShape || sh == messageShape && text(it.role) == "assistant" {
				out = appendNameless(out, raw)
				return
			}
			out = append(out, raw...)
		})
		m.dst = append(out, ']')
	}
	if !found || !r.End() {
		return dst, nil
	}
	return append(append(dst, m.dst...), '}'), []string{llm.DropSignatures}
}

// appendNameless appends an object without its id.
func appendNameless(dst, raw []byte) []byte {
	m := members{dst: append(dst, '{')}
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		if string(key) != "id" {
			m.add(key, value)
		}
	}
	return append(m.dst, '}')
}
