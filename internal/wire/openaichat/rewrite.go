package openaichat

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

const (
	askInside  = `"include_usage":true`
	askOptions = `{` + askInside + `}`
	askMember  = `"stream_options":` + askOptions
)

// appendRequest copies r's body with the places changed that w names. What w does not name is kept byte for byte.
//
// A member that came more than once is changed at each place: parsers differ in which one counts (the last for most,
// the first for some), and no upstream may be asked for another model than the one that was looked at.
func appendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	if len(w.Params) > 0 || r.Spans.Again {
		return appendWalked(dst, r, w)
	}
	e := editor{dst: dst, body: r.Body}
	model, ask := w.Model != "" && w.Model != r.Model, asks(r, w)
	if !model && !ask {
		return r.Body
	}
	e.dst = slices.Grow(dst, len(r.Body)+len(w.Model)+len(askMember)+1)
	options := r.Spans.StreamOptions
	if ask && options.Absent() {
		e.upTo(r.Spans.Insert)
		e.add(askMember + ",")
		ask = false
	}
	if ask && options.From < r.Spans.Model.From {
		e.ask(options, r.Spans.IncludeUsage)
		ask = false
	}
	if model {
		e.model(r.Spans.Model, w.Model)
	}
	if ask {
		e.ask(options, r.Spans.IncludeUsage)
	}
	return e.end()
}

func asks(r *wire.Request, w wire.Rewrite) bool { return w.AskUsage && r.Stream && !r.AskedUsage }

// appendWalked is appendRequest for what the spans do not tell: parameters, and members that came more than once. A
// parameter that is named model or stream has no say, one named stream_options has the last.
func appendWalked(dst []byte, q *wire.Request, w wire.Rewrite) []byte {
	size := len(q.Body) + len(w.Model) + len(askMember) + 1
	for _, p := range w.Params {
		size += len(p.Name) + len(p.Value) + len(`"":,`)
	}
	e := editor{dst: slices.Grow(dst, size), body: q.Body}
	ask := asks(q, w) && !slices.ContainsFunc(w.Params, func(p wire.Param) bool { return p.Name == "stream_options" })
	var found [64]bool // of w.Params; more than these are put in without looking, which has the same effect
	r := jsonscan.New(q.Body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		r.Kind() // stands on the value now
		from := r.Offset()
		switch string(key) {
		case "model":
			r.Skip()
			if w.Model != "" {
				e.model(wire.Span{From: from, To: r.Offset()}, w.Model)
			}
			continue
		case "stream":
			r.Skip()
			continue
		case "stream_options":
			if ask {
				include := readIncludeUsage(&r)
				e.ask(wire.Span{From: from, To: r.Offset()}, include.span)
				continue
			}
		}
		r.Skip()
		for i, p := range w.Params {
			if p.Name == string(key) && i < len(found) {
				found[i] = true
				e.replace(wire.Span{From: from, To: r.Offset()}, p.Value)
			}
		}
	}
	e.upTo(r.Offset() - 1) // the closing brace; what is added has a comma before it, as there is at least a model
	if ask && q.Spans.StreamOptions.Absent() {
		e.add("," + askMember)
	}
	for i, p := range w.Params {
		if p.Name == "model" || p.Name == "stream" || i < len(found) && found[i] {
			continue
		}
		e.dst = append(e.dst, ',')
		e.dst = jsonscan.AppendString(e.dst, p.Name)
		e.dst = append(e.dst, ':')
		e.dst = append(e.dst, p.Value...)
	}
	return e.end()
}

// editor copies body to dst, with changes at rising offsets.
type editor struct {
	dst, body []byte
	done      int
}

func (e *editor) upTo(offset int) {
	e.dst = append(e.dst, e.body[e.done:offset]...)
	e.done = offset
}

func (e *editor) add(s string) { e.dst = append(e.dst, s...) }

func (e *editor) replace(s wire.Span, value []byte) {
	e.upTo(s.From)
	e.dst = append(e.dst, value...)
	e.done = s.To
}

func (e *editor) model(s wire.Span, name string) {
	e.upTo(s.From)
	e.dst = jsonscan.AppendString(e.dst, name)
	e.done = s.To
}

// ask asks for usage in the stream_options that are at options, where include is its include_usage, if it has one.
func (e *editor) ask(options, include wire.Span) {
	switch {
	case !include.Absent():
		e.upTo(include.From)
		e.add("true")
		e.done = include.To
	case e.body[options.From] != '{': // null
		e.upTo(options.From)
		e.add(askOptions)
		e.done = options.To
	default:
		e.upTo(options.From + 1)
		e.add(askInside)
		r := jsonscan.New(e.body[options.From:options.To])
		r.Object()
		if _, more := r.Key(); more {
			e.add(",")
		}
	}
}

func (e *editor) end() []byte {
	e.upTo(len(e.body))
	return e.dst
}
