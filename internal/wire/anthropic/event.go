package anthropic

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// eventKind is what an event of a stream is, by its type.
type eventKind uint8

const (
	untyped    eventKind = iota // it has no type
	otherEvent                  // of a type that is not known
	messageStart
	blockStart
	blockDelta
	blockStop
	messageDelta
	messageStop
	ping
	errorEvent
)

func kindOf(word []byte) eventKind {
	switch string(word) {
	case "":
		return untyped
	case "content_block_delta":
		return blockDelta
	case "content_block_start":
		return blockStart
	case "content_block_stop":
		return blockStop
	case "message_start":
		return messageStart
	case "message_delta":
		return messageDelta
	case "message_stop":
		return messageStop
	case "ping":
		return ping
	case "error":
		return errorEvent
	}
	return otherEvent
}

// event is what was read of one event. Slices point into its data; a text is what stands between the quotes, escapes
// left as they are.
type event struct {
	word  []byte
	kind  eventKind
	index int64

	id, model []byte // of a message_start
	usage     counts

	block block // of a content_block_start
	delta delta
	wrong []byte // raw value of "error"
	bare  bool   // there is a message or detail of its own
}

// block is the start of a content block.
type block struct {
	kind, id, name             []byte
	text, thinking, sign, data []byte
	input                      []byte // raw
	raw                        []byte
}

// delta is that of a block, or of the message.
type delta struct {
	kind     []byte
	text     []byte // of text, thinking or partial_json
	textFrom int
	sign     []byte
	citation []byte // raw
	raw      []byte // raw "content" of a compaction_delta
	stop     []byte
	sequence []byte
}

// readEvent reads an event's data in one pass; false if it is not one JSON object.
func readEvent(data []byte, e *event) bool {
	e.usage = nothing()
	r := jsonscan.New(data)
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			e.word, _ = r.Literal()
			e.kind = kindOf(e.word)
		case "index":
			e.index, _ = r.Int()
		case "delta":
			e.delta.read(&r)
		case "content_block":
			e.block.read(&r, data)
		case "message":
			if r.Kind() == jsonscan.String {
				e.bare = true
			}
			e.readMessage(&r)
		case "usage":
			e.usage = readCounts(&r)
		case "error":
			if r.Kind() != jsonscan.Null {
				e.wrong = r.Raw()
			} else {
				r.Skip()
			}
		case "detail":
			e.bare = true
			r.Skip()
		default:
			r.Skip()
		}
	}
	return r.End()
}

func (e *event) readMessage(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			e.id, _ = r.Literal()
		case "model":
			e.model, _ = r.Literal()
		case "usage":
			e.usage = readCounts(r)
		default:
			r.Skip()
		}
	}
}

func (d *delta) read(r *jsonscan.Reader) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			d.kind, _ = r.Literal()
		case "text", "thinking", "partial_json":
			if raw, isText := r.RawString(); isText {
				d.text = raw
				d.textFrom = r.Offset() - 1 - len(raw)
			}
		case "signature":
			d.sign, _ = r.RawString()
		case "citation":
			d.citation = r.Raw()
		case "content":
			d.raw = r.Raw()
		case "stop_reason":
			d.stop, _ = r.Literal()
		case "stop_sequence":
			d.sequence, _ = r.Literal()
		default:
			r.Skip()
		}
	}
}

func (b *block) read(r *jsonscan.Reader, data []byte) {
	r.Kind() // stands on the value now
	from := r.Offset()
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			b.kind, _ = r.Literal()
		case "id":
			b.id, _ = r.Literal()
		case "name":
			b.name, _ = r.Literal()
		case "text":
			b.text, _ = r.RawString()
		case "thinking":
			b.thinking, _ = r.RawString()
		case "signature":
			b.sign, _ = r.RawString()
		case "data":
			b.data, _ = r.RawString()
		case "input":
			b.input = r.Raw()
		default:
			r.Skip()
		}
	}
	b.raw = data[from:r.Offset()]
}

// calls says that the block is a call, of a tool of the caller's or of the vendor's, whose input comes in pieces.
func (b *block) calls() bool { return bytes.HasSuffix(b.kind, []byte("tool_use")) }

// says tells whether the block's start is a content event (RESILIENCE §1).
func (b *block) says() bool {
	switch string(b.kind) {
	case "", "text", "thinking":
		return len(b.text) > 0 || len(b.thinking) > 0
	case "redacted_thinking":
		return len(b.data) > 0
	}
	if b.calls() {
		return len(b.name) > 0
	}
	// What a server tool gave comes whole. Blocks of a type that is not known are nothing that a client waits for.
	return bytes.HasSuffix(b.kind, []byte("_tool_result"))
}

// says tells whether a block's delta is a content event.
func (d *delta) says() bool { return len(d.text) > 0 || len(d.raw) > len(`""`) && d.raw[0] == '"' }

// judgeEvent reads the data of one event. p changes only once the data has turned out to be valid. p.Sequence, which
// this dialect has no other use for, is one more than the index of the block that is open, 0 if none is.
func judgeEvent(data []byte, p *wire.Progress) (out wire.Event) {
	if len(data) == 0 || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		data = bytes.TrimSpace(data)
	}
	if text := sameButText(data, p.Pattern.Before); text != nil {
		return wire.Event{Content: true, Name: data[len(deltaStart)-len(deltaWord)-1 : len(deltaStart)-1]}
	}
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	var e event
	if !readEvent(data, &e) {
		return wire.Event{Malformed: true}
	}
	if e.kind == errorEvent || e.wrong != nil || e.kind == untyped && e.bare {
		raw := e.wrong
		if raw == nil {
			raw = data
		}
		return wire.Event{Fault: readDetail(raw).fault(), Name: nameOf(e.word)}
	}
	out.Name = nameOf(e.word)
	switch e.kind {
	case messageStart:
		p.Begun |= 1
		if p.ID == "" {
			p.ID = string(e.id)
		}
		if p.Reply.Model == "" {
			p.Reply.Model = string(e.model)
		}
		e.usage.into(&p.Reply.Usage)
	case blockStart:
		p.Sequence = max(e.index, 0) + 1
		out.Content = e.block.says()
		if e.block.calls() {
			p.OpenTool = true
			// A call of the vendor's own tool is answered by the vendor: the client has nothing to do.
			p.SawTool = p.SawTool || string(e.block.kind) == "tool_use"
		}
	case blockDelta:
		out.Content = e.delta.says()
		if out.Content && len(e.delta.text) > 0 {
			remember(&p.Pattern, data, &e.delta)
		}
	case blockStop:
		p.Sequence, p.OpenTool = 0, false
	case messageDelta:
		e.usage.into(&p.Reply.Usage)
		if len(e.delta.stop) > 0 {
			out.Finish, out.Content = true, true
			p.Ended |= 1
			p.SawFinish, p.OpenTool = true, false
			if p.Reply.Finish == "" {
				p.Reply.Finish = stopWord(e.delta.stop)
			}
		}
	case messageStop:
		out.End = true
	case untyped, otherEvent, ping, errorEvent:
	}
	p.SawContent = p.SawContent || out.Content
	return out
}

const (
	deltaWord  = "content_block_delta"
	deltaStart = `{"type":"` + deltaWord + `"`
)

// remember keeps what stands before a delta's text, if its text is the last thing in the event: the next event of
// the same block then differs in its text alone, and in how much white space pads its end.
func remember(p *wire.Pattern, data []byte, d *delta) {
	if !bytes.HasPrefix(data, []byte(deltaStart)) || !closes(data[d.textFrom+len(d.text):]) {
		return
	}
	p.Before = append(p.Before[:0], data[:d.textFrom]...)
}

// sameButText gives the text of an event that is the one of the pattern with another text, which is sound and not
// empty: it is content and moves nothing else. nil if it is none.
func sameButText(data, before []byte) []byte {
	from := len(before)
	if from == 0 || !bytes.HasPrefix(data, before) {
		return nil
	}
	to := jsonscan.StringEnd(data, from)
	if to <= from || !closes(data[to:]) {
		return nil
	}
	return data[from:to]
}

// closes says that nothing but the ends of a delta and of its event follow a text.
func closes(rest []byte) bool {
	if len(rest) < len(`"}}`) || rest[1] != '}' || rest[len(rest)-1] != '}' {
		return false
	}
	for _, c := range rest[2 : len(rest)-1] {
		if c != ' ' {
			return false
		}
	}
	return true
}

// nameOf is an event's type as the name of its frame; nil for what cannot be one.
func nameOf(word []byte) []byte {
	for _, c := range word {
		if c < ' ' {
			return nil
		}
	}
	if len(word) == 0 {
		return nil
	}
	return word
}
