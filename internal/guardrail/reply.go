package guardrail

import (
	"evergate/internal/llm"
)

// place is where a text of an answer stands.
type place struct {
	text *string
	part *llm.Part // nil: it is a citation's
	raw  *document // of an opaque block: the text is in it
	at   int
}

// Reply has the guards judge a whole answer, and changes it as they say. The error is a *[Blocked].
func (f *Filter) Reply(a *llm.Reply) error {
	var texts []Text
	var places []place
	add := func(kind Kind, s *string, p *llm.Part) {
		if *s != "" {
			texts, places = append(texts, Text{kind, []byte(*s)}), append(places, place{text: s, part: p})
		}
	}
	for i := range a.Choices {
		c := &a.Choices[i]
		c.LogProbs = nil // they have the words again, token by token
		for j := range c.Content {
			p := &c.Content[j]
			switch {
			case p.Call != nil:
				add(Arguments, &p.Call.Arguments, p)
			case p.Media != nil:
				add(Words, &p.Media.Transcript, p)
				add(Words, &p.Media.PlainText, p)
			case p.Opaque != nil:
				d := read(p.Opaque.Raw)
				for k := range d.texts {
					texts, places = append(texts, d.texts[k]), append(places, place{part: p, raw: d, at: k})
				}
			default:
				add(Words, &p.Text, p)
			}
			for k := range p.Citations {
				q := &p.Citations[k]
				add(Words, &q.URL, nil)
				add(Words, &q.Title, nil)
				add(Words, &q.Quote, nil)
			}
		}
	}
	if len(texts) == 0 {
		return nil
	}
	if err := f.w.judge(f.ctx, Response, texts); err != nil {
		return err
	}
	for i := range places {
		places[i].put(texts[i].Value)
	}
	return nil
}

// put puts a text in its place. A part that was changed is no longer what was signed, nor what the citations count.
func (o *place) put(value []byte) {
	switch {
	case o.raw != nil:
		if was := o.raw.texts[o.at].Value; string(was) != string(value) {
			o.raw.texts[o.at].Value = value
			o.part.Opaque.Raw = o.raw.append(nil)
		}
	case *o.text != string(value):
		*o.text = string(value)
		if p := o.part; p != nil {
			if p.Seal != nil && p.Seal.Kind == llm.Signed {
				p.Seal = nil
			}
			p.Signature = nil
			for k := range p.Citations {
				p.Citations[k].Start, p.Citations[k].End = 0, 0
			}
		}
	}
}
