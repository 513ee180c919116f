package wire

import (
	"slices"

	"evergate/internal/jsonscan"
)

// AppendRewritten is Dialect.AppendRequest where a target's parameters are members of the body itself and usage need not be
// asked for: it copies r's body with what w names changed, and keeps all else byte for byte.
func AppendRewritten(dst []byte, r *Request, w Rewrite) []byte {
	if len(w.Params) > 0 || w.OmitModel || r.Spans.Again {
		return appendWalked(dst, r, w)
	}
	at := r.Spans.Model
	if w.Model == "" || w.Model == r.Model || at.Absent() {
		return r.Body
	}
	dst = slices.Grow(dst, len(r.Body)+len(w.Model))
	dst = append(dst, r.Body[:at.From]...)
	dst = jsonscan.AppendString(dst, w.Model)
	return append(dst, r.Body[at.To:]...)
}

// appendWalked is AppendRewritten for what the spans do not tell: parameters, a model that is left out, and one that came
// more than once (it is changed at each place, as parsers differ in which one counts). A parameter that is named model or
// stream has no say; of two with the same name the last one counts.
func appendWalked(dst []byte, q *Request, w Rewrite) []byte {
	size := len(q.Body) + len(w.Model)
	for _, p := range w.Params {
		size += len(p.Name) + len(p.Value) + len(`"":,`)
	}
	var few [64]bool
	done := append(few[:0], make([]bool, len(w.Params))...) // of w.Params
	r := jsonscan.New(q.Body)
	r.Object()
	e := jsonscan.NewEditor(slices.Grow(dst, size), q.Body, r.Offset())
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		r.Kind() // stands on the value now
		from := r.Offset()
		r.Skip()
		to := r.Offset()
		at := -1
		switch string(key) {
		case "model":
			if w.OmitModel {
				e.Drop(to)
				continue
			}
			if w.Model != "" {
				e.ReplaceText(from, to, w.Model)
				continue
			}
		case "stream":
		default:
			for i := range w.Params {
				if w.Params[i].Name == string(key) {
					at, done[i] = i, true
				}
			}
		}
		if at < 0 {
			e.Keep(to)
		} else {
			e.Replace(from, to, w.Params[at].Value)
		}
	}
	for i, p := range w.Params {
		same := func(q Param) bool { return q.Name == p.Name }
		if p.Name != "model" && p.Name != "stream" && !done[i] && !slices.ContainsFunc(w.Params[i+1:], same) {
			e.Add(p.Name, p.Value)
		}
	}
	return e.End()
}
