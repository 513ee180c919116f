package anthropic

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// replyFromStream folds a stream into the message that it would have been. The stream must be whole: one that has an
// error in it, was cut, or brings no content is an error (R14). The error is a *fault.Fault.
func replyFromStream(stream []byte) ([]byte, error) {
	var p wire.Progress
	var f folded
	err := wire.EachEvent(stream, Messages{}, &p, func(data []byte, _ *wire.Event) error {
		f.add(bytes.Clone(data)) // pieces of it are kept
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.json(&p)
}

// folded is a message in the making.
type folded struct {
	message []member
	blocks  []foldedBlock
	closing []member // of the message_delta, but for the usage
	usage   []member
}

type foldedBlock struct {
	index     int64
	open      bool
	members   []member
	text      []byte // of the member that grows: text, thinking, input, or a compaction's content
	grows     string
	sign      []byte
	citations [][]byte
}

// add folds one event, which is a valid JSON object that nobody changes any more, in.
func (f *folded) add(data []byte) {
	var e event
	if !readEvent(data, &e) {
		return
	}
	switch e.kind {
	case messageStart:
		if f.message == nil {
			f.message = membersOf(valueOf(membersOf(data), "message"))
			f.addUsage(valueOf(f.message, "usage"))
		}
	case blockStart:
		f.blocks = append(f.blocks, foldedBlock{index: e.index, open: true, members: membersOf(e.block.raw)})
	case blockDelta:
		if b := f.block(e.index); b != nil {
			b.add(&e.delta)
		}
	case blockStop:
		if b := f.block(e.index); b != nil {
			b.open = false
		}
	case messageDelta:
		all := membersOf(data)
		for _, m := range membersOf(valueOf(all, "delta")) {
			if string(m.raw) != "null" || valueOf(f.closing, m.key) == nil {
				f.closing = put(f.closing, m.key, m.raw)
			}
		}
		f.addUsage(valueOf(all, "usage"))
		for _, m := range all { // context_management and whatever else stands beside it
			switch m.key {
			case "type", "delta", "usage":
			default:
				f.closing = put(f.closing, m.key, m.raw)
			}
		}
	case untyped, otherEvent, messageStop, ping, errorEvent:
	}
}

// addUsage lets what a later event says stand over what an earlier one said: numbers are totals, never additions.
func (f *folded) addUsage(raw []byte) {
	for _, m := range membersOf(raw) {
		if string(m.raw) != "null" || valueOf(f.usage, m.key) == nil {
			f.usage = put(f.usage, m.key, m.raw)
		}
	}
}

func (f *folded) block(index int64) *foldedBlock {
	for i := len(f.blocks) - 1; i >= 0; i-- {
		if b := &f.blocks[i]; b.index == index && b.open {
			return b
		}
	}
	return nil
}

func (b *foldedBlock) add(d *delta) {
	switch string(d.kind) {
	case "text_delta":
		b.grow("text", d.text)
	case "thinking_delta":
		b.grow("thinking", d.text)
	case "input_json_delta":
		b.grow("input", d.text)
	case "compaction_delta":
		if isString(d.raw) {
			b.grow("content", d.raw[1:len(d.raw)-1])
		}
	case "signature_delta":
		b.sign = d.sign
	case "citations_delta":
		if len(d.citation) > 0 {
			b.citations = append(b.citations, d.citation)
		}
	}
}

// grow adds to a member; raw has its escapes still.
func (b *foldedBlock) grow(key string, raw []byte) {
	if b.grows == "" {
		b.grows = key
		if was := valueOf(b.members, key); isString(was) {
			b.text = append(b.text, was[1:len(was)-1]...)
		}
	}
	if b.grows == key {
		b.text = append(b.text, raw...)
	}
}

// json writes the block.
func (b *foldedBlock) json() ([]member, error) {
	list := b.members
	switch {
	case b.grows == "input" && len(bytes.TrimSpace(b.text)) == 0:
	case b.grows == "input":
		input := jsonscan.AppendUnescaped(nil, b.text)
		if err := jsonscan.Valid(input); err != nil {
			return nil, wire.Invalid("the upstream's stream holds a tool call whose input is broken: " + err.Error())
		}
		list = put(list, "input", input)
	case b.grows != "":
		// Halves of a surrogate pair that two events share are one character now.
		list = put(list, b.grows, jsonscan.AppendText(nil, jsonscan.AppendUnescaped(nil, b.text)))
	}
	if b.sign != nil {
		list = put(list, "signature", append(append([]byte{'"'}, b.sign...), '"'))
	}
	if len(b.citations) > 0 {
		raw := []byte{'['}
		for i, c := range b.citations {
			if i > 0 {
				raw = append(raw, ',')
			}
			raw = append(raw, c...)
		}
		list = put(list, "citations", append(raw, ']'))
	}
	return list, nil
}

// json writes the message.
func (f *folded) json(p *wire.Progress) ([]byte, error) {
	message := f.message
	if message == nil {
		message = []member{{"id", []byte(`""`)}, {"type", []byte(`"message"`)}, {"role", []byte(`"assistant"`)}, {"model", []byte(`""`)}}
	}
	content := []byte{'['}
	for i := range f.blocks {
		list, err := f.blocks[i].json()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			content = append(content, ',')
		}
		content = appendObject(content, list)
	}
	message = put(message, "content", append(content, ']'))
	if !p.SawFinish {
		stop := "end_turn"
		if p.SawTool {
			stop = "tool_use"
		}
		f.closing = put(f.closing, "stop_reason", jsonscan.AppendString(nil, stop))
	}
	for _, m := range f.closing {
		message = put(message, m.key, m.raw)
	}
	if f.usage != nil {
		message = put(message, "usage", appendObject(nil, f.usage))
	}
	return appendObject(nil, message), nil
}
