package responses

import "evergate/internal/llm"

// piece reads an event that says a part of something: a delta, or all of a text at its end.
func (d *decoder) piece(f *frame, emit func(*llm.Event)) {
	switch string(f.kind) {
	case "response.output_text.delta":
		d.say(f, llm.Text, f.delta, false, emit)
	case "response.output_text.done":
		d.say(f, llm.Text, f.text, true, emit)
	case "response.refusal.delta":
		d.say(f, llm.Refusal, f.delta, false, emit)
	case "response.refusal.done":
		d.say(f, llm.Refusal, f.text, true, emit)
	case "response.output_text.annotation.added":
		d.cite(f, emit)
	case "response.reasoning_summary_text.delta":
		d.summarise(f, f.delta, false, emit)
	case "response.reasoning_summary_text.done":
		d.summarise(f, f.text, true, emit)
	case "response.reasoning_text.delta":
		d.thinkAloud(f, f.delta, false, emit)
	case "response.reasoning_text.done":
		d.thinkAloud(f, f.text, true, emit)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		d.argue(f, f.delta, false, emit)
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		d.argue(f, f.text, true, emit)
	default: // progress of a vendor's own tools
		emit(&llm.Event{Kind: llm.Alive})
	}
}

func bit(part int64) uint64 { return 1 << min(part, 63) }

// say says a piece of a message. All of a text at its end says nothing anew if any of it was said.
func (d *decoder) say(f *frame, kind llm.PartKind, raw []byte, all bool, emit func(*llm.Event)) {
	s := d.at(f.output)
	if s.done || all && s.parts&bit(f.content) != 0 {
		return
	}
	text := d.unescaped(raw)
	if len(text) == 0 {
		return
	}
	d.beginPart(s, f.content, kind, emit)
	d.delta(key(s.index, f.content), text, emit)
	d.probs(s, f.content, f.logprobs, emit)
}

func (d *decoder) probs(s *itemSaid, part int64, raw []byte, emit func(*llm.Event)) {
	if len(raw) > len("[]") && raw[0] == '[' {
		emit(&llm.Event{Kind: llm.Probs, Part: key(s.index, part), LogProbs: raw})
	}
}

func (d *decoder) beginPart(s *itemSaid, part int64, kind llm.PartKind, emit func(*llm.Event)) {
	if s.parts&bit(part) != 0 && part < 63 {
		return
	}
	s.parts |= bit(part)
	d.said = true
	d.start(key(s.index, part), &llm.Part{Kind: kind}, emit)
}

// partDone reads the end of a content part.
func (d *decoder) partDone(f *frame, emit func(*llm.Event)) {
	s := d.at(f.output)
	p := readPart(f.part)
	switch {
	case s.done:
	case string(p.kind) == "summary_text":
		d.summarise(f, p.text, true, emit)
	case string(p.kind) == "reasoning_text":
		d.thinkAloud(f, p.text, true, emit)
	case string(p.kind) == "output_text", string(p.kind) == "refusal":
		d.wholePart(s, f.content, &p, emit)
	}
}

// wholePart says what a message's part holds and was not said before, and stops it.
func (d *decoder) wholePart(s *itemSaid, part int64, p *part, emit func(*llm.Event)) {
	kind, raw := llm.Text, p.text
	if string(p.kind) == "refusal" {
		kind, raw = llm.Refusal, p.refusal
	}
	if s.parts&bit(part) == 0 {
		text := d.unescaped(raw)
		if len(text) == 0 {
			return
		}
		d.beginPart(s, part, kind, emit)
		d.delta(key(s.index, part), text, emit)
		d.probs(s, part, p.logprobs, emit)
	}
	if s.cited&bit(part) == 0 {
		for _, c := range citations(p.annotations) {
			s.cited |= bit(part)
			emit(&llm.Event{Kind: llm.Cited, Part: key(s.index, part), Citation: &c})
		}
	}
	emit(&llm.Event{Kind: llm.PartStop, Part: key(s.index, part)})
}

func (d *decoder) cite(f *frame, emit func(*llm.Event)) {
	s := d.at(f.output)
	c, ok := citation(f.annotation)
	if !ok || s.done {
		return
	}
	s.cited |= bit(f.content)
	d.beginPart(s, f.content, llm.Text, emit)
	emit(&llm.Event{Kind: llm.Cited, Part: key(s.index, f.content), Citation: &c})
}

// summarise says a piece of a thought's summary, whose parts are paragraphs.
func (d *decoder) summarise(f *frame, raw []byte, all bool, emit func(*llm.Event)) {
	s := d.at(f.output)
	if s.done || s.shape == messageShape || all && s.summary >= f.summary {
		return
	}
	text := d.unescaped(raw)
	if len(text) == 0 {
		return
	}
	if f.summary > s.summary && s.said {
		d.think(s, []byte("\n\n"), emit)
	}
	s.summary = max(s.summary, f.summary)
	d.think(s, text, emit)
}

// thinkAloud says a piece of a thought that is shown as it is, unless a summary of it was said.
func (d *decoder) thinkAloud(f *frame, raw []byte, all bool, emit func(*llm.Event)) {
	s := d.at(f.output)
	if s.done || s.shape == messageShape || s.summary >= 0 || all && s.parts&bit(f.content) != 0 {
		return
	}
	text := d.unescaped(raw)
	if len(text) == 0 {
		return
	}
	if s.parts&bit(f.content) == 0 && s.said {
		d.think(s, []byte("\n\n"), emit)
	}
	s.parts |= bit(f.content)
	d.think(s, text, emit)
}

// argue says a piece of a call's arguments. Before its name is known nothing can be said: the item's end says it all.
func (d *decoder) argue(f *frame, raw []byte, all bool, emit func(*llm.Event)) {
	s := d.at(f.output)
	if s.done || !s.begun || all && s.said {
		return
	}
	text := d.unescaped(raw)
	if len(raw) > 0 && raw[0] == '{' { // an object for a text
		text = raw
	}
	s.said = s.said || len(text) > 0
	d.delta(key(s.index, 0), text, emit)
}
