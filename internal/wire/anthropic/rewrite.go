package anthropic

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// appendRequest copies r's body with the places changed that w names. What w does not name is kept byte for byte.
func appendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	if len(w.Params) > 0 || w.OmitModel || r.Spans.Again {
		return appendWalked(dst, r, w)
	}
	if w.Model == "" || w.Model == r.Model {
		return r.Body
	}
	at := r.Spans.Model
	dst = slices.Grow(dst, len(r.Body)+len(w.Model))
	dst = append(dst, r.Body[:at.From]...)
	dst = jsonscan.AppendString(dst, w.Model)
	return append(dst, r.Body[at.To:]...)
}

// appendWalked is appendRequest for what the spans do not tell: parameters, a model that is left out, and one that came
// more than once (it is changed at each place, as parsers differ in which one counts). A parameter that is named model or
// stream has no say.
func appendWalked(dst []byte, q *wire.Request, w wire.Rewrite) []byte {
	size := len(q.Body) + len(w.Model)
	for _, p := range w.Params {
		size += len(p.Name) + len(p.Value) + len(`"":,`)
	}
	m := members{dst: slices.Grow(dst, size), body: q.Body}
	var found [64]bool // of w.Params; more than these are put in without looking, which has the same effect
	r := jsonscan.New(q.Body)
	r.Object()
	m.begin(r.Offset())
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		r.Kind() // stands on the value now
		from := r.Offset()
		r.Skip()
		to := r.Offset()
		switch string(key) {
		case "model":
			switch {
			case w.OmitModel:
				m.drop(to)
			case w.Model != "":
				m.keep(from)
				m.dst = jsonscan.AppendString(m.dst, w.Model)
				m.done = to
			default:
				m.keep(to)
			}
			continue
		case "stream":
			m.keep(to)
			continue
		}
		at := slices.IndexFunc(w.Params, func(p wire.Param) bool { return p.Name == string(key) })
		if at < 0 {
			m.keep(to)
			continue
		}
		if at < len(found) {
			found[at] = true
		}
		m.keep(from)
		m.dst = append(m.dst, w.Params[at].Value...)
		m.done = to
	}
	for i, p := range w.Params {
		if p.Name == "model" || p.Name == "stream" || i < len(found) && found[i] {
			continue
		}
		m.add(p.Name, p.Value)
	}
	return m.end()
}

// members copies an object's text member by member, so that some can be left out and others added.
type members struct {
	dst, body []byte
	done      int  // everything before it is copied or left out
	some      bool // a member was written
}

// begin copies what stands before the first member.
func (m *members) begin(open int) {
	m.dst = append(m.dst, m.body[:open]...)
	m.done = open
}

// keep copies up to an offset in or at the end of a member, and minds the comma before it.
func (m *members) keep(to int) {
	if !m.some {
		for m.done < to && m.body[m.done] != '"' {
			m.done++ // white space, and the comma after a member that was left out
		}
		m.some = true
	}
	m.dst = append(m.dst, m.body[m.done:to]...)
	m.done = to
}

// drop leaves a member out, with the comma before it.
func (m *members) drop(to int) { m.done = to }

// add appends a new member; only what closes the object may follow.
func (m *members) add(name string, value []byte) {
	if m.some {
		m.dst = append(m.dst, ',')
	}
	m.some = true
	m.dst = jsonscan.AppendString(m.dst, name)
	m.dst = append(m.dst, ':')
	m.dst = append(m.dst, value...)
}

func (m *members) end() []byte { return append(m.dst, m.body[m.done:]...) }
