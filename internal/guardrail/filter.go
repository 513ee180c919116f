package guardrail

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

var errTooLong = errors.New("the answer is longer than a guardrail can hold back")

// Filter is the guards of one attempt's answer. It stands between the upstream's decoder and what writes the answer for the client. It
// lets out of a text what no rule can find anything in any more, and of a tool call's arguments nothing before they are complete. Not
// safe for concurrent use.
type Filter struct {
	w      *Watch
	ctx    context.Context //nolint:containedctx // the request's; events come without one
	guards []*Named

	start *llm.Event // not told yet: it is, with the first thing that is
	used  *llm.Event
	parts []*part
}

// part is one part of an answer.
type part struct {
	choice, name int
	head         llm.Part
	begun        bool // the client knows of it
	over         bool
	ears         []*ear
	last         []byte // the end of what was let out when it was over
	again        []byte // what was heard once more since it was taken up again, and is out already
	args         []byte
	changed      bool
	cited        []llm.Citation
	seals        []llm.Seal
}

// Filter begins with an attempt's answer; nil: no guard judges answers.
func (w *Watch) Filter(ctx context.Context) *Filter {
	if !w.OnResponse() {
		return nil
	}
	f := &Filter{w: w, ctx: ctx}
	for _, g := range w.guards {
		if g.OnResponse {
			f.guards = append(f.guards, g)
		}
	}
	return f
}

// Put takes one event and hands on what may go out. After an error, which is a *[Blocked] or says what cannot be done, nothing more may.
func (f *Filter) Put(e *llm.Event, next func(*llm.Event)) error {
	switch e.Kind {
	case llm.Start:
		if f.start == nil {
			own := *e
			f.start = &own
		}
	case llm.Used:
		if f.told() {
			next(e)
			return nil
		}
		own := *e
		f.used = &own
	case llm.Alive:
		if f.told() {
			next(e)
		}
	case llm.Finish:
		if err := f.end(e.Choice, true, next); err != nil {
			return err
		}
		f.tell(next)
		next(e)
	case llm.PartStart:
		return f.open(e, next)
	case llm.Delta, llm.Sealing, llm.Cited, llm.PartStop:
		return f.more(e, next)
	case llm.Probs: // they have the words again, token by token
	}
	return nil
}

// End lets out what was held back: the stream is over.
func (f *Filter) End(next func(*llm.Event)) error {
	for _, p := range f.parts {
		if err := f.close(p, next); err != nil {
			return err
		}
	}
	f.tell(next)
	return nil
}

// told says that the answer's beginning is out, or that there is none.
func (f *Filter) told() bool { return f.start == nil || f.start.Kind == 0 }

// tell lets out the answer's beginning.
func (f *Filter) tell(next func(*llm.Event)) {
	if !f.told() {
		next(f.start)
		f.start.Kind = 0
	}
	if f.used != nil {
		next(f.used)
		f.used = nil
	}
}

// open begins a part. What stood before it in the choice is over, but for calls whose arguments are not complete.
func (f *Filter) open(e *llm.Event, next func(*llm.Event)) error {
	if f.find(e.Choice, e.Part) != nil {
		return nil
	}
	if err := f.end(e.Choice, false, next); err != nil {
		return err
	}
	p := &part{choice: e.Choice, name: e.Part, head: *e.Head}
	if c := e.Head.Call; c != nil {
		call := *c
		p.head.Call = &call
	}
	f.parts = append(f.parts, p)
	if p.listens() || p.head.Kind == llm.ToolCall {
		return nil
	}
	if b := p.head.Opaque; b != nil {
		raw, err := f.w.Answer(f.ctx, b.Raw)
		if err != nil {
			return err
		}
		p.head.Opaque = &llm.Block{Vendor: b.Vendor, Type: b.Type, Raw: raw}
	}
	if m := p.head.Media; m != nil && m.Transcript != "" {
		own := *m
		texts := []Text{{Words, []byte(m.Transcript)}}
		if err := f.w.judge(f.ctx, Response, texts); err != nil {
			return err
		}
		own.Transcript = string(texts[0].Value)
		p.head.Media = &own
	}
	f.begin(p, next)
	return nil
}

// listens says whether a part is of words.
func (p *part) listens() bool {
	k := p.head.Kind
	return k == llm.Text || k == llm.Reasoning || k == llm.Refusal
}

// begin tells the client of a part.
func (f *Filter) begin(p *part, next func(*llm.Event)) {
	if p.begun {
		return
	}
	p.begun = true
	f.tell(next)
	next(&llm.Event{Kind: llm.PartStart, Choice: p.choice, Part: p.name, Head: &p.head})
}

func (f *Filter) find(choice, name int) *part {
	for i := len(f.parts) - 1; i >= 0; i-- {
		if p := f.parts[i]; p.choice == choice && p.name == name {
			return p
		}
	}
	return nil
}

// more is a piece of a part, or its end.
func (f *Filter) more(e *llm.Event, next func(*llm.Event)) error {
	p := f.find(e.Choice, e.Part)
	if p == nil {
		return nil
	}
	switch {
	case e.Kind == llm.PartStop:
		return f.close(p, next)
	case e.Kind == llm.Sealing:
		p.seals = append(p.seals, *e.Seal)
	case e.Kind == llm.Cited:
		c := *e.Citation
		if err := f.cite(&c); err != nil {
			return err
		}
		p.cited = append(p.cited, c)
	case p.head.Kind == llm.ToolCall:
		if p.over {
			return nil // a call that is closed takes no more
		}
		if p.args = append(p.args, e.Text...); len(p.args) > mostHeld {
			return errTooLong
		}
	case !p.listens():
		next(e)
	default:
		var before []byte
		if p.over { // it is taken up again: what it ended with may be the beginning of something
			before = p.last
			p.over, p.ears, p.last, p.again = false, nil, nil, before
		}
		for _, o := range f.parts { // another part's text is not the beginning of this one
			if o != p && o.choice == p.choice && o.listens() && o.ears != nil {
				if err := f.close(o, next); err != nil {
					return err
				}
			}
		}
		if len(before) > 0 {
			return f.hear(p, slices.Concat(before, e.Text), false, next)
		}
		return f.hear(p, e.Text, false, next)
	}
	return nil
}

// hear has all guards hear more of a part's text, one after the other, and hands on what the last one lets out.
func (f *Filter) hear(p *part, text []byte, last bool, next func(*llm.Event)) error {
	if p.ears == nil {
		for _, g := range f.guards {
			p.ears = append(p.ears, newEar(g))
		}
	}
	for _, e := range p.ears {
		out, changed, err := e.hear(f.ctx, f.w, text, last)
		if err != nil {
			return err
		}
		text, p.changed = out, p.changed || changed
	}
	if last {
		p.last = bytes.Clone(text[max(0, len(text)-mostBounded):])
	}
	text = p.untold(text)
	if len(text) > 0 {
		f.begin(p, next)
		next(&llm.Event{Kind: llm.Delta, Choice: p.choice, Part: p.name, Text: text})
	}
	return nil
}

// untold takes from a text what is out already, as far as it is still the same.
func (p *part) untold(text []byte) []byte {
	for len(p.again) > 0 && len(text) > 0 {
		if text[0] != p.again[0] {
			p.again = nil
			break
		}
		text, p.again = text[1:], p.again[1:]
	}
	return text
}

// end closes the parts of a choice; all: also calls whose arguments are not complete.
func (f *Filter) end(choice int, all bool, next func(*llm.Event)) error {
	for _, p := range f.parts {
		if p.choice != choice || !all && p.head.Kind == llm.ToolCall && jsonscan.Valid(p.args) != nil {
			continue
		}
		if err := f.close(p, next); err != nil {
			return err
		}
	}
	return nil
}

// close lets out what is held back of a part, and ends it.
func (f *Filter) close(p *part, next func(*llm.Event)) error {
	if p.over {
		return nil
	}
	p.over = true
	switch {
	case p.head.Kind == llm.ToolCall:
		if err := f.call(p, next); err != nil {
			return err
		}
	case p.ears != nil:
		if err := f.hear(p, nil, true, next); err != nil {
			return err
		}
		p.ears = nil
	}
	f.begin(p, next)
	for i := range p.cited {
		c := &p.cited[i]
		if p.changed {
			c.Start, c.End = 0, 0
		}
		next(&llm.Event{Kind: llm.Cited, Choice: p.choice, Part: p.name, Citation: c})
	}
	for i := range p.seals {
		if s := &p.seals[i]; !p.changed || s.Kind != llm.Signed {
			next(&llm.Event{Kind: llm.Sealing, Choice: p.choice, Part: p.name, Seal: s})
		}
	}
	p.cited, p.seals = nil, nil
	next(&llm.Event{Kind: llm.PartStop, Choice: p.choice, Part: p.name})
	return nil
}

// call hands on a tool call whose arguments are complete.
func (f *Filter) call(p *part, next func(*llm.Event)) error {
	texts := []Text{{Arguments, p.args}}
	if err := f.w.judge(f.ctx, Response, texts); err != nil {
		return err
	}
	p.changed = string(texts[0].Value) != string(p.args)
	p.args = nil
	f.begin(p, next)
	if len(texts[0].Value) > 0 {
		next(&llm.Event{Kind: llm.Delta, Choice: p.choice, Part: p.name, Text: texts[0].Value})
	}
	return nil
}

// cite has the guards judge what a citation quotes.
func (f *Filter) cite(c *llm.Citation) error {
	fields := []*string{&c.URL, &c.Title, &c.Quote}
	var texts []Text
	for _, s := range fields {
		texts = append(texts, Text{Words, []byte(*s)})
	}
	if err := f.w.judge(f.ctx, Response, texts); err != nil {
		return err
	}
	for i, s := range fields {
		*s = string(texts[i].Value)
	}
	return nil
}
