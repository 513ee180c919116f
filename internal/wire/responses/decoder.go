package responses

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// decoder reads one stream. Each text comes several times: in deltas, at the end of its part, of its item and of the
// response. It is said once, from whichever of these comes first, so that a stream that leaves some of them out loses
// nothing. Parts are told apart by their item's place in the output and their own in the item.
type decoder struct {
	items  []itemSaid
	begun  bool
	said   bool // some text or refusal was
	called bool
	over   bool
	text   []byte    // unescaped, used again
	event  llm.Event // of the last delta, used again: most events are deltas
}

// itemSaid is what was said of one output item.
type itemSaid struct {
	index int64
	shape shape
	begun bool // its one part has, in items that are one part
	said  bool // something of its arguments, input or thought was
	// summary is the place of the last part of a summary that was said.
	summary int64
	done    bool
	// parts and cited have a bit for each content part (of the first 64) of which text or a citation was said.
	parts, cited uint64
	// id is the one by which a call, or a vendor's own item, is known.
	id string
}

// Decode reads one event.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return nil
	}
	var f frame
	r := jsonscan.New(data)
	if !f.read(&r) || !r.End() {
		return wire.Invalid("the upstream sent an event that is not a JSON object")
	}
	switch {
	case f.response != nil:
		d.response(&f, emit)
		return nil
	case d.over:
		return nil
	case f.item != nil:
		d.item(&f, emit)
	case f.part != nil:
		if has(f.kind, ".done") {
			d.partDone(&f, emit)
		}
	default:
		d.piece(&f, emit)
	}
	return nil
}

// End has nothing to say: what is held back is only what would say nothing.
func (d *decoder) End(func(*llm.Event)) {}

// start begins a part, and before it a stream that does not say its beginning itself.
func (d *decoder) start(part int, head *llm.Part, emit func(*llm.Event)) {
	if !d.begun {
		d.begun = true
		emit(&llm.Event{Kind: llm.Start})
	}
	emit(&llm.Event{Kind: llm.PartStart, Part: part, Head: head})
}

// response reads the events that carry a response: those of the beginning and of the end.
func (d *decoder) response(f *frame, emit func(*llm.Event)) {
	var h head
	r := jsonscan.New(f.response)
	h.read(&r)
	if !d.begun {
		d.begun = true
		e := llm.Event{Kind: llm.Start, ID: string(h.id), Model: string(h.model), Created: h.created}
		if string(h.tier) != "auto" { // that is not decided yet
			e.ServiceTier = string(h.tier)
		}
		emit(&e)
	}
	switch string(f.kind) {
	case "response.completed", "response.incomplete", "response.done":
	default:
		return
	}
	if d.over {
		return
	}
	d.missed(h.output, emit)
	d.over = true
	if h.usage.Known {
		emit(&llm.Event{Kind: llm.Used, Usage: h.usage})
	}
	if len(h.status) == 0 && string(f.kind) == "response.incomplete" {
		h.status = []byte("incomplete")
	}
	e := llm.Event{Kind: llm.Finish, ServiceTier: string(h.tier)}
	e.Stop, e.StopText = h.stop(d.called)
	emit(&e)
}

// missed says what the final output holds and the stream did not say: calls and a vendor's own items that never came, and
// the texts if none did. Places in it are not trusted: some vendors leave items out of it.
func (d *decoder) missed(output []byte, emit func(*llm.Event)) {
	said, at := d.said, int64(0)
	for i := range d.items {
		at = max(at, d.items[i].index+1)
	}
	elements(output, func(raw []byte) {
		it := readItem(raw)
		switch it.shape() {
		case messageShape:
			if said {
				return
			}
		case reasoningShape:
			return
		case callShape, customShape, otherShape, callOutput, customOutput, referenceShape, moreTools:
			id := it.call()
			for i := range d.items {
				if d.items[i].begun && d.items[i].id == id {
					return
				}
			}
		}
		s := d.at(min(at, maxIndex))
		at++
		d.whole(s, &it, emit)
	})
}

// at finds an item by its place in the output, or begins it.
func (d *decoder) at(index int64) *itemSaid {
	for i := len(d.items) - 1; i >= 0; i-- {
		if d.items[i].index == index {
			return &d.items[i]
		}
	}
	d.items = append(d.items, itemSaid{index: index, summary: -1})
	return &d.items[len(d.items)-1]
}

// key tells parts apart.
func key(item, part int64) int { return int(item<<16 | part) }

// item reads the beginning or the end of an item.
func (d *decoder) item(f *frame, emit func(*llm.Event)) {
	it := readItem(f.item)
	s := d.at(f.output)
	s.shape = it.shape()
	if has(f.kind, ".done") {
		d.whole(s, &it, emit)
		return
	}
	switch s.shape {
	case callShape, customShape:
		if it.name != nil && it.callID != nil {
			d.beginCall(s, &it, emit)
		}
	case otherShape, messageShape, reasoningShape, callOutput, customOutput, referenceShape, moreTools:
	}
}

func (d *decoder) beginCall(s *itemSaid, it *item, emit func(*llm.Event)) {
	if s.begun {
		return
	}
	s.begun, d.called = true, true
	s.id = it.call()
	d.start(key(s.index, 0), &llm.Part{
		Kind: llm.ToolCall, Call: &llm.Call{ID: s.id, Name: text(it.name), Custom: it.shape() == customShape},
	}, emit)
}

// whole says what an item holds and was not said before, and stops its parts.
func (d *decoder) whole(s *itemSaid, it *item, emit func(*llm.Event)) {
	if s.done {
		return
	}
	s.done, s.shape = true, it.shape()
	switch s.shape {
	case messageShape:
		n := int64(0)
		elements(it.content, func(raw []byte) {
			p := readPart(raw)
			d.wholePart(s, min(n, maxIndex), &p, emit)
			n++
		})
		return
	case reasoningShape:
		d.wholeThought(s, it, emit)
		return
	case callShape, customShape:
		d.beginCall(s, it, emit)
		if !s.said {
			arguments := it.arguments
			if s.shape == customShape {
				arguments = it.input
			}
			d.delta(key(s.index, 0), []byte(written(arguments)), emit)
		}
	case otherShape, callOutput, customOutput, referenceShape, moreTools:
		if len(it.kind) == 0 {
			return
		}
		s.begun, s.id = true, it.call()
		d.start(key(s.index, 0), &llm.Part{
			Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: string(it.kind), Raw: bytes.Clone(it.raw)},
		}, emit)
	}
	emit(&llm.Event{Kind: llm.PartStop, Part: key(s.index, 0)})
}

// wholeThought ends a reasoning item: with its text if none came, and its seal.
func (d *decoder) wholeThought(s *itemSaid, it *item, emit func(*llm.Event)) {
	seal := sealOf(it)
	if !s.said {
		if t := thought(it); t != "" {
			d.think(s, []byte(t), emit)
		}
	}
	if seal != nil {
		d.beginThought(s, emit)
		emit(&llm.Event{Kind: llm.Sealing, Part: key(s.index, 0), Seal: seal})
	}
	if s.begun {
		emit(&llm.Event{Kind: llm.PartStop, Part: key(s.index, 0)})
	}
}

func (d *decoder) beginThought(s *itemSaid, emit func(*llm.Event)) {
	if !s.begun {
		s.begun = true
		d.start(key(s.index, 0), &llm.Part{Kind: llm.Reasoning}, emit)
	}
}

func (d *decoder) think(s *itemSaid, text []byte, emit func(*llm.Event)) {
	d.beginThought(s, emit)
	s.said = true
	d.delta(key(s.index, 0), text, emit)
}

func (d *decoder) delta(part int, text []byte, emit func(*llm.Event)) {
	if len(text) > 0 {
		d.event = llm.Event{Kind: llm.Delta, Part: part, Text: text}
		emit(&d.event)
	}
}

// unescaped is the text of a raw string, which holds until the next call.
func (d *decoder) unescaped(raw []byte) []byte {
	return jsonscan.Unescaped(&d.text, inside(raw))
}
