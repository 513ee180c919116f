package responses

import (
	"bytes"
	"strings"

	"evergate/internal/jsonscan"
)

// Dereference writes a request in which items stand in place of references to them, as far as they are kept: output gives
// the output of an earlier response by its id, as Output cut it out, or nil. A reference to anything else stays. It returns
// nil if nothing changed.
//
// An item is found by its id, which names its response (see encoder.openAs); one of another's making is not found.
func Dereference(body []byte, output func(id string) []byte) ([]byte, error) {
	if !bytes.Contains(body, []byte(`_reference"`)) { // of "item_reference": few texts have the first of these bytes often
		return nil, nil
	}
	m := members{dst: append(make([]byte, 0, 2*len(body)), '{')}
	r := jsonscan.New(body)
	if !r.Object() {
		return nil, errNoResponse
	}
	found := false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		raw := r.Raw()
		if string(key) != "input" {
			m.add(key, raw)
			continue
		}
		input := []byte{'['}
		elements(raw, func(raw []byte) {
			if it := readItem(raw); it.shape() == referenceShape {
				if kept := keptItem(text(it.id), output); kept != nil {
					raw, found = kept, true
				}
			}
			input = appendInput(input, raw)
		})
		m.add(key, append(input, ']'))
	}
	if !r.End() {
		return nil, r.Err()
	}
	if !found {
		return nil, nil
	}
	return append(m.dst, '}'), nil
}

// keptItem is the item with this id in the output of its response; nil if it is not kept.
func keptItem(id string, output func(string) []byte) (kept []byte) {
	_, base, _ := strings.Cut(id, "_")
	if i := strings.LastIndexByte(base, '_'); i > 0 {
		elements(output("resp_"+base[:i]), func(raw []byte) {
			if it := readItem(raw); text(it.id) == id {
				kept = raw
			}
		})
	}
	return kept
}
