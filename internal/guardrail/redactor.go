package guardrail

import (
	"bytes"
	"context"
	"math"

	"evergate/internal/jsonscan"
)

// Redactor masks what its rules find, or blocks what has any of it. It is frozen, and safe for concurrent use.
type Redactor struct {
	rules []*Rule
	block bool
	least int // characters of the shortest text in which something can be found
}

// NewRedactor makes a redactor; block: nothing is masked, and what has any of it is blocked.
func NewRedactor(rules []*Rule, block bool) *Redactor {
	r := &Redactor{rules: rules, block: block, least: math.MaxInt}
	for _, rule := range rules {
		r.least = min(r.least, rule.least)
	}
	return r
}

// Check implements [Guard].
func (r *Redactor) Check(_ context.Context, p *Passage) (Verdict, error) {
	changed := false
	for i := range p.Texts {
		t := &p.Texts[i]
		out, found := r.Text(t.Value)
		if found == "" {
			continue
		}
		if r.block {
			return blockFor(found), nil
		}
		t.Value, changed = out, true
	}
	if changed {
		return Verdict{Action: Replace}, nil
	}
	return Verdict{}, nil
}

func blockFor(kind string) Verdict {
	return Verdict{Action: Block, Reason: "it has what must not pass: " + kind}
}

// Text gives a whole text with everything masked that is found in it, and the kind of the first of it; empty: there is nothing, and the
// text is given back as it is. JSON stays JSON.
func (r *Redactor) Text(text []byte) (out []byte, found string) {
	if len(text) < r.least {
		return text, ""
	}
	out, found = redact(nil, text, r.rules)
	switch {
	case found == "":
		return text, ""
	case isJSON(text) && jsonscan.Valid(out) != nil: // a number, or more than one text
		if sound, ok := r.json(text); ok {
			return sound, found
		}
	}
	return out, found
}

// json masks what is found in the texts and numbers of a JSON document; false: not all of it is in those.
func (r *Redactor) json(text []byte) (out []byte, ok bool) {
	d := readArguments(text)
	for i := range d.texts {
		if v, _ := redact(nil, d.texts[i].Value, r.rules); v != nil {
			d.texts[i].Value = v
		}
	}
	out = d.append(nil)
	_, left := redact(nil, out, r.rules)
	return out, left == ""
}

func isJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 1 && (text[0] == '{' || text[0] == '[') && jsonscan.Valid(text) == nil
}

// Follow implements [Follower].
func (r *Redactor) Follow() Listener { return &redacting{stream: newStream(r.rules), block: r.block} }

// redacting is a text that a redactor follows.
type redacting struct {
	*stream
	block bool
}

func (l *redacting) Hear(dst, piece []byte) ([]byte, Verdict) { return l.next(dst, piece, false) }
func (l *redacting) End(dst []byte) ([]byte, Verdict)         { return l.next(dst, nil, true) }

func (l *redacting) next(dst, piece []byte, whole bool) ([]byte, Verdict) {
	before := len(dst)
	dst, found := l.take(dst, piece, whole)
	switch {
	case found == "":
		return dst, Verdict{}
	case l.block:
		return dst[:before], blockFor(found)
	}
	return dst, Verdict{Action: Replace}
}
