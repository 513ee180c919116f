package anthropic

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// DecodeReply reads a whole message. The error is a *fault.Fault.
func (Messages) DecodeReply(body []byte) (*llm.Reply, error) {
	a := &llm.Reply{Choices: make([]llm.Choice, 1)}
	c := &a.Choices[0]
	var reason, sequence string
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			a.ID, _ = r.Text()
		case "model":
			a.Model, _ = r.Text()
		case "content":
			if !r.Array() {
				continue
			}
			var texts wire.Texts
			for r.Elem() {
				var b blockIn
				if b.read(&r, body); b.kind != "" {
					c.Content = b.appendPart(c.Content, &texts)
				}
			}
		case "stop_reason":
			reason, _ = r.Text()
		case "stop_sequence":
			sequence, _ = r.Text()
		case "usage":
			u := readCounts(&r)
			u.into(&a.Usage)
			a.ServiceTier = string(u.tier)
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return nil, wire.BrokenAnswer(r.Err())
	}
	c.Stop, c.StopText = stopOf(reason, sequence)
	return a, nil
}

// decoder reads one stream.
type decoder struct {
	usage llm.Usage
	tier  string
	began bool

	part int // of the block that is open, counted over the stream, as some upstreams number every block 0
	kind blockKind
	// before is what stood before the text of the last event that was nothing but text of the open block.
	before []byte
	text   []byte    // unescaped
	event  llm.Event // of text: one for each would be garbage
	// held is the open block's raw start, of a call of the vendor's own tool, whose input comes in pieces; of a call of the
	// caller's an input that came whole. input are the pieces.
	held, input []byte
	heldType    string
	// index is the open block's, as the upstream counts. overlap: a block began before the one before it had ended.
	index   int64
	overlap bool
}

// blockKind is what the open block is.
type blockKind uint8

const (
	noBlock blockKind = iota
	textBlock
	thoughtBlock
	callBlock
	heldBlock // goes out whole, at its end
	otherBlock
)

// NewDecoder makes the decoder of one stream.
func (Messages) NewDecoder() wire.Decoder { return &decoder{} }

// Decode reads one event; see [wire.Decoder].
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	if len(data) > 0 && (data[0] <= ' ' || data[len(data)-1] <= ' ') {
		data = bytes.TrimSpace(data)
	}
	if text := sameButText(data, d.before); text != nil {
		d.emitText(text, emit)
		return nil
	}
	if wire.IsDone(data) {
		return nil
	}
	var e event
	if !readEvent(data, &e) {
		return wire.Invalid("an event of the upstream's stream is no JSON object")
	}
	switch e.kind {
	case messageStart:
		d.start(&e, emit)
	case blockStart:
		d.overlap = d.overlap || d.kind == callBlock && d.index != e.index
		d.index = e.index
		d.blockStart(&e.block, emit)
	case blockDelta:
		if d.overlap && d.index != e.index && string(e.delta.kind) == "input_json_delta" { // which nobody can put together any more
			return wire.Invalid("the upstream's stream goes on with a tool call after another block began")
		}
		d.blockDelta(data, &e.delta, emit)
	case blockStop:
		d.blockStop(emit)
	case messageDelta:
		d.end(&e, emit)
	case ping:
		emit(&llm.Event{Kind: llm.Alive})
	case untyped, otherEvent, messageStop, errorEvent:
	}
	return nil
}

// End lets out what was held back.
func (d *decoder) End(emit func(*llm.Event)) { d.blockStop(emit) }

func (d *decoder) start(e *event, emit func(*llm.Event)) {
	if d.began {
		return // some relays say it twice
	}
	d.began = true
	d.tier = string(e.usage.tier)
	emit(&llm.Event{Kind: llm.Start, ID: string(e.id), Model: string(e.model), ServiceTier: d.tier})
	if e.usage.into(&d.usage); d.usage.Known {
		emit(&llm.Event{Kind: llm.Used, Usage: d.usage})
	}
}

func (d *decoder) end(e *event, emit func(*llm.Event)) {
	d.blockStop(emit)
	was := d.usage
	if e.usage.into(&d.usage); d.usage != was {
		emit(&llm.Event{Kind: llm.Used, Usage: d.usage})
	}
	if len(e.delta.stop) > 0 {
		stop, text := stopOf(string(e.delta.stop), string(e.delta.sequence))
		emit(&llm.Event{Kind: llm.Finish, Stop: stop, StopText: text})
	}
}

func (d *decoder) blockStart(b *block, emit func(*llm.Event)) {
	d.blockStop(emit)
	d.part++
	head := llm.Part{Kind: llm.Opaque}
	switch string(b.kind) {
	case "text":
		d.kind, head.Kind = textBlock, llm.Text
	case "thinking", "redacted_thinking":
		d.kind, head.Kind = thoughtBlock, llm.Reasoning
	case "tool_use":
		d.kind, head.Kind = callBlock, llm.ToolCall
		head.Call = &llm.Call{ID: string(b.id), Name: string(b.name)}
		if !empty(b.input) {
			d.held = append(d.held[:0], b.input...)
		}
	case "":
		d.kind = noBlock
		return
	default:
		if b.calls() || string(b.kind) == "compaction" {
			d.kind = heldBlock
			d.heldType = string(b.kind)
			d.held = append(d.held[:0], b.raw...)
			return
		}
		d.kind = otherBlock
		head.Opaque = &llm.Block{Vendor: llm.Anthropic, Type: string(b.kind), Raw: b.raw}
	}
	emit(&llm.Event{Kind: llm.PartStart, Part: d.part, Head: &head})
	switch d.kind {
	case textBlock:
		d.emitText(b.text, emit)
	case thoughtBlock:
		d.emitText(b.thinking, emit)
		d.emitSeal(signed(jsonscan.TextOf(b.sign)), emit)
		d.emitSeal(redacted(jsonscan.TextOf(b.data)), emit)
	case noBlock, callBlock, heldBlock, otherBlock:
	}
}

// blockDelta adds to the open block. A delta of text without a block is one's beginning.
func (d *decoder) blockDelta(data []byte, e *delta, emit func(*llm.Event)) {
	switch string(e.kind) {
	case "text_delta":
		d.need(textBlock, llm.Text, emit)
	case "thinking_delta":
		d.need(thoughtBlock, llm.Reasoning, emit)
	case "signature_delta":
		d.need(thoughtBlock, llm.Reasoning, emit)
		d.emitSeal(signed(jsonscan.TextOf(e.sign)), emit)
		return
	case "citations_delta":
		if c, ok := readCitation(e.citation); ok && d.kind == textBlock {
			emit(&llm.Event{Kind: llm.Cited, Part: d.part, Citation: &c})
		}
		return
	case "input_json_delta":
		switch d.kind {
		case callBlock:
			if len(e.text) > 0 {
				d.held = d.held[:0] // the pieces count
			}
		case heldBlock:
			d.input = jsonscan.AppendUnescaped(d.input, e.text)
			return
		case noBlock, textBlock, thoughtBlock, otherBlock:
			return
		}
	case "compaction_delta":
		if d.kind == heldBlock {
			d.input = append(d.input[:0], e.raw...)
		}
		return
	default:
		return
	}
	d.emitText(e.text, emit)
	var p wire.Pattern
	p.Before = d.before[:0]
	if len(e.text) > 0 {
		remember(&p, data, e)
	}
	d.before = p.Before
}

// need opens a part where an upstream forgot to, or where what comes does not belong to the block that is open.
func (d *decoder) need(kind blockKind, part llm.PartKind, emit func(*llm.Event)) {
	if d.kind == kind {
		return
	}
	d.blockStop(emit)
	d.part++
	d.kind = kind
	emit(&llm.Event{Kind: llm.PartStart, Part: d.part, Head: &llm.Part{Kind: part}})
}

func (d *decoder) blockStop(emit func(*llm.Event)) {
	kind := d.kind
	d.kind, d.before = noBlock, d.before[:0]
	switch kind {
	case noBlock:
		return
	case heldBlock:
		raw := d.whole()
		emit(&llm.Event{Kind: llm.PartStart, Part: d.part, Head: &llm.Part{
			Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: d.heldType, Raw: raw},
		}})
	case callBlock:
		if len(d.held) > 0 { // its input came whole
			emit(&llm.Event{Kind: llm.Delta, Part: d.part, Text: d.held})
		}
	case textBlock, thoughtBlock, otherBlock:
	}
	emit(&llm.Event{Kind: llm.PartStop, Part: d.part})
	d.held, d.input = d.held[:0], d.input[:0]
}

// whole is the held block with what came in pieces put in.
func (d *decoder) whole() []byte {
	member := "input"
	if d.heldType == "compaction" {
		member = "content"
	}
	if len(bytes.TrimSpace(d.input)) == 0 || jsonscan.Valid(d.input) != nil {
		return bytes.Clone(d.held)
	}
	return appendObject(nil, put(membersOf(d.held), member, d.input))
}

func (d *decoder) emitText(raw []byte, emit func(*llm.Event)) {
	if len(raw) == 0 {
		return
	}
	d.event = llm.Event{Kind: llm.Delta, Part: d.part, Text: jsonscan.Unescaped(&d.text, raw)}
	emit(&d.event)
}

func (d *decoder) emitSeal(s *llm.Seal, emit func(*llm.Event)) {
	if s != nil {
		emit(&llm.Event{Kind: llm.Sealing, Part: d.part, Seal: s})
	}
}
