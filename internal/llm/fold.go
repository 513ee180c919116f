package llm

import "slices"

// Fold collects a stream's events, in Order's strict order, into the reply that they say. The zero value is ready.
type Fold struct {
	reply Reply
	began bool
}

// Put takes one event.
func (f *Fold) Put(e *Event) {
	switch e.Kind {
	case Start:
		f.began = true
		f.reply.ID, f.reply.Model, f.reply.Created = e.ID, e.Model, e.Created
		f.tier(e.ServiceTier)
		return
	case Used:
		f.reply.Usage = e.Usage
		return
	case Alive:
		return
	case PartStart, Delta, Sealing, Cited, Probs, PartStop, Finish:
	}
	c := f.choice(e.Choice)
	var p *Part
	if n := len(c.Content); n > 0 {
		p = &c.Content[n-1]
	}
	switch e.Kind {
	case PartStart:
		c.Content = append(c.Content, e.Head.clone())
	case Delta:
		p.extend(e.Text)
	case Sealing:
		seal := *e.Seal
		if p.Kind == Reasoning {
			p.Seal = &seal
		} else {
			p.Signature = &seal
		}
	case Cited:
		p.Citations = append(p.Citations, *e.Citation)
	case Probs:
		c.LogProbs = joinArrays(c.LogProbs, e.LogProbs)
	case Finish:
		c.Stop, c.StopText = e.Stop, e.StopText
		f.tier(e.ServiceTier)
	case PartStop, Start, Used, Alive:
	}
}

func (f *Fold) tier(t string) {
	if t != "" {
		f.reply.ServiceTier = t
	}
}

// Reply is what the events said, to be called once.
func (f *Fold) Reply() *Reply { return &f.reply }

func (f *Fold) choice(n int) *Choice {
	for len(f.reply.Choices) <= n {
		f.reply.Choices = append(f.reply.Choices, Choice{})
	}
	return &f.reply.Choices[n]
}

// clone is a part that can be extended without changing p.
func (p *Part) clone() Part {
	q := *p
	if p.Call != nil {
		call := *p.Call
		q.Call = &call
	}
	if p.Media != nil {
		media := *p.Media
		q.Media = &media
	}
	if p.Seal != nil {
		seal := *p.Seal
		q.Seal = &seal
	}
	q.Citations = slices.Clone(p.Citations)
	return q
}

func (p *Part) extend(text []byte) {
	switch p.Kind {
	case ToolCall:
		p.Call.Arguments += string(text)
	case Audio, Image, Document, Video:
		if p.Media == nil {
			p.Media = &Media{}
		}
		p.Media.Data += string(text)
	case Text, Reasoning, Refusal, ToolResult, Opaque:
		p.Text += string(text)
	}
}

// joinArrays joins two raw JSON arrays.
func joinArrays(a, b []byte) []byte {
	if len(a) <= 2 {
		return slices.Clone(b)
	}
	if len(b) <= 2 {
		return a
	}
	a = append(a[:len(a)-1], ',')
	return append(a, b[1:]...)
}

// Unfold emits the events that say a reply, in strict order.
func Unfold(r *Reply, emit func(*Event)) {
	emit(&Event{Kind: Start, ID: r.ID, Model: r.Model, Created: r.Created, ServiceTier: r.ServiceTier})
	for i := range r.Choices {
		c := &r.Choices[i]
		probs := c.LogProbs
		for j := range c.Content {
			p := &c.Content[j]
			unfold(p, i, j, emit)
			if p.Kind == Text && len(probs) > 0 {
				emit(&Event{Kind: Probs, Choice: i, Part: j, LogProbs: probs})
				probs = nil
			}
			emit(&Event{Kind: PartStop, Choice: i, Part: j})
		}
		emit(&Event{Kind: Finish, Choice: i, Stop: c.Stop, StopText: c.StopText})
	}
	if r.Usage.Known {
		emit(&Event{Kind: Used, Usage: r.Usage})
	}
}

func unfold(p *Part, choice, part int, emit func(*Event)) {
	head := p.clone()
	text := p.Text
	head.Text, head.Citations, head.Seal, head.Signature = "", nil, nil, nil
	switch {
	case head.Call != nil:
		text, head.Call.Arguments = p.Call.Arguments, ""
	case head.Media != nil:
		text, head.Media.Data = p.Media.Data, ""
	}
	emit(&Event{Kind: PartStart, Choice: choice, Part: part, Head: &head})
	if text != "" {
		emit(&Event{Kind: Delta, Choice: choice, Part: part, Text: []byte(text)})
	}
	for i := range p.Citations {
		emit(&Event{Kind: Cited, Choice: choice, Part: part, Citation: &p.Citations[i]})
	}
	for _, s := range [...]*Seal{p.Seal, p.Signature} {
		if s != nil {
			emit(&Event{Kind: Sealing, Choice: choice, Part: part, Seal: s})
		}
	}
}
