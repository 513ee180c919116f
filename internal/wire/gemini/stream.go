package gemini

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// streamFromReply writes a reply, or each of an array of them, as an event. The error is a *fault.Fault.
func streamFromReply(body []byte) ([]byte, error) {
	events := [][]byte{bytes.TrimSpace(body)}
	if isArray(body) {
		if err := jsonscan.Valid(body); err != nil {
			return nil, wire.BrokenAnswer(err)
		}
		events = elements(body)
	} else if f := wire.NoAnswer(body, arrayFault); f != nil {
		return nil, f
	} else if err := jsonscan.Valid(body); err != nil {
		return nil, wire.BrokenAnswer(err)
	}
	out := make([]byte, 0, len(body)+len(events)*len(eventStart+eventEnd))
	for _, e := range events {
		out = append(out, eventStart...)
		out = append(out, jsonscan.OneLine(e)...)
		out = append(out, eventEnd...)
	}
	return out, nil
}

// replyFromStream folds a stream into the reply that it would have been. The stream must be whole: one that has an
// error in it, was cut, or brings no content is an error (R14). The error is a *fault.Fault.
func replyFromStream(stream []byte) ([]byte, error) {
	var p wire.Progress
	var f folded
	if isArray(stream) {
		if err := jsonscan.Valid(stream); err != nil {
			return nil, wire.BrokenAnswer(err)
		}
		for _, data := range elements(stream) {
			if e := judgeEvent(data, &p); e.Fault != nil {
				return nil, e.Fault
			}
			f.add(data)
		}
		if fault := wire.CutShort(&p, false); fault != nil {
			return nil, fault
		}
		return f.json(), nil
	}
	err := wire.EachEvent(stream, Generate{}, &p, func(data []byte, _ *wire.Event) error {
		f.add(bytes.Clone(data)) // pieces of it are kept
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.json(), nil
}

// folded is a reply in the making. Its values point into the events.
type folded struct {
	fields     []member // of the reply, but its candidates
	candidates []foldedCandidate
}

type foldedCandidate struct {
	index  int64
	fields []member // all but index and content
	role   []byte
	parts  []foldedPart
}

// foldedPart is one part; open says that it is nothing but text, which the next part may go on with.
type foldedPart struct {
	raw           []byte
	text          []byte // inside of its string
	open, thought bool
}

// add folds one valid event in.
func (f *folded) add(data []byte) {
	for _, m := range members(data) {
		if m.key != "candidates" {
			set(&f.fields, m)
			continue
		}
		for _, c := range elements(m.raw) {
			f.addCandidate(c)
		}
	}
}

func (f *folded) addCandidate(raw []byte) {
	all := members(raw)
	var index int64
	for _, m := range all {
		if m.key == "index" {
			index, _ = whole(m.raw)
		}
	}
	var c *foldedCandidate
	for i := range f.candidates {
		if f.candidates[i].index == index {
			c = &f.candidates[i]
		}
	}
	if c == nil {
		f.candidates = append(f.candidates, foldedCandidate{index: index})
		c = &f.candidates[len(f.candidates)-1]
	}
	for _, m := range all {
		switch m.key {
		case "index":
		case "content":
			for _, n := range members(m.raw) {
				switch n.key {
				case "role":
					c.role = n.raw
				case "parts":
					for _, p := range elements(n.raw) {
						c.addPart(p)
					}
				}
			}
		case "groundingMetadata", "citationMetadata", "logprobsResult", "urlContextMetadata":
			join(&c.fields, m)
		default:
			set(&c.fields, m)
		}
	}
}

// addPart appends a part, or its text to the part before if both are text of the same kind.
func (c *foldedCandidate) addPart(raw []byte) {
	p := foldedPart{raw: raw}
	isText, more := false, false
	for _, m := range members(raw) {
		switch {
		case m.key == "text" && m.raw[0] == '"':
			p.text, isText = m.raw[1:len(m.raw)-1:len(m.raw)-1], true
		case m.key == "thought":
			p.thought = string(m.raw) == "true"
		default: // a signature, a function call, …
			more = true
		}
	}
	p.open = isText && !more
	if n := len(c.parts); n > 0 && p.open && c.parts[n-1].open && c.parts[n-1].thought == p.thought {
		last := &c.parts[n-1]
		last.text = append(last.text, p.text...)
		last.raw = nil
		return
	}
	c.parts = append(c.parts, p)
}

// set sets a member; the last one counts, but null never does.
func set(to *[]member, m member) {
	if string(m.raw) == "null" {
		return
	}
	for i := range *to {
		if (*to)[i].key == m.key {
			(*to)[i].raw = m.raw
			return
		}
	}
	*to = append(*to, m)
}

// join sets a member that is an object whose arrays grow from event to event.
func join(to *[]member, m member) {
	for i := range *to {
		if (*to)[i].key != m.key {
			continue
		}
		all := members((*to)[i].raw)
		for _, n := range members(m.raw) {
			joinArrays(&all, n)
		}
		out := list{dst: []byte("{")}
		for _, n := range all {
			out.anyKey(n.key)
			out.dst = append(out.dst, n.raw...)
		}
		(*to)[i].raw = append(out.dst, '}')
		return
	}
	set(to, m)
}

func joinArrays(to *[]member, m member) {
	for i := range *to {
		was := (*to)[i].raw
		if (*to)[i].key != m.key || was[0] != '[' || m.raw[0] != '[' {
			continue
		}
		out := list{dst: []byte("[")}
		for _, raw := range [...][]byte{was, m.raw} {
			for _, e := range elements(raw) {
				out.next()
				out.dst = append(out.dst, e...)
			}
		}
		(*to)[i].raw = append(out.dst, ']')
		return
	}
	set(to, m)
}

// json writes the reply.
func (f *folded) json() []byte {
	out := list{dst: []byte("{")}
	out.open("candidates", '[')
	for _, c := range f.candidates {
		out.next()
		one := list{dst: append(out.dst, '{')}
		one.open("content", '{')
		one.open("parts", '[')
		for i, p := range c.parts {
			if p.open && len(p.text) == 0 && len(c.parts) > 1 && i == len(c.parts)-1 {
				continue // what the last event brings beside its finish
			}
			one.next()
			one.dst = p.append(one.dst)
		}
		one.close(']')
		if c.role != nil {
			one.raw("role", c.role)
		} else {
			one.text("role", "model")
		}
		one.close('}')
		for _, m := range c.fields {
			one.anyKey(m.key)
			one.dst = append(one.dst, m.raw...)
		}
		one.number("index", c.index)
		out.dst = append(one.dst, '}')
	}
	out.close(']')
	for _, m := range f.fields {
		out.anyKey(m.key)
		out.dst = append(out.dst, m.raw...)
	}
	return append(out.dst, '}')
}

func (p *foldedPart) append(dst []byte) []byte {
	if p.raw != nil {
		return append(dst, p.raw...)
	}
	out := list{dst: append(dst, '{')}
	out.key("text")
	out.dst = append(append(append(out.dst, '"'), p.text...), '"')
	if p.thought {
		out.raw("thought", []byte("true"))
	}
	return append(out.dst, '}')
}
