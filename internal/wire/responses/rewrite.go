package responses

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// appendRequest copies r's body with the places changed that w names; all else is kept byte for byte. Usage need not be
// asked for. A model that came more than once is changed at each place: parsers differ in which one counts.
func appendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	if len(w.Params) > 0 || r.Spans.Again || w.OmitModel {
		return appendWalked(dst, r, w)
	}
	if w.Model == "" || w.Model == r.Model {
		return r.Body
	}
	dst = slices.Grow(dst, len(r.Body)+len(w.Model)+2)
	dst = append(dst, r.Body[:r.Spans.Model.From]...)
	dst = jsonscan.AppendString(dst, w.Model)
	return append(dst, r.Body[r.Spans.Model.To:]...)
}

// appendWalked writes the members anew, one after the other. A parameter that is named model or stream has no say.
func appendWalked(dst []byte, q *wire.Request, w wire.Rewrite) []byte {
	size := len(q.Body) + len(w.Model)
	for _, p := range w.Params {
		size += len(p.Name) + len(p.Value) + len(`"":,`)
	}
	m := members{dst: append(slices.Grow(dst, size), '{')}
	found := make([]bool, len(w.Params))
	r := jsonscan.New(q.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		raw := r.Raw()
		switch string(key) {
		case "model":
			switch {
			case w.OmitModel:
			case w.Model != "":
				m.dst = jsonscan.AppendString(m.key(key), w.Model)
			default:
				m.add(key, raw)
			}
			continue
		case "stream":
			m.add(key, raw)
			continue
		}
		for i := range w.Params {
			if w.Params[i].Name == string(key) {
				found[i] = true
				raw = w.Params[i].Value
			}
		}
		m.add(key, raw)
	}
	for i, p := range w.Params {
		if !found[i] && p.Name != "model" && p.Name != "stream" {
			m.add([]byte(p.Name), p.Value)
		}
	}
	return append(m.dst, '}')
}

// members writes an object's members after its opening brace.
type members struct {
	dst  []byte
	some bool
}

func (m *members) key(name []byte) []byte {
	if m.some {
		m.dst = append(m.dst, ',')
	}
	m.some = true
	m.dst = jsonscan.AppendString(m.dst, string(name))
	m.dst = append(m.dst, ':')
	return m.dst
}

func (m *members) add(name, raw []byte) { m.dst = append(m.key(name), raw...) }
