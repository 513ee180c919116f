package cohere

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// NewDecoder makes the decoder of one stream.
func (Chat) NewDecoder() wire.Decoder { return &decoder{} }

// decoder reads one stream. Contents and calls are numbered each for themselves, and thoughts and text may have the same
// number: parts are told apart by number and kind.
type decoder struct {
	started, finished bool
	part              int // key of the open part; 0: none is open

	// What events are made of, so that none is garbage.
	ev    llm.Event
	head  llm.Part
	call  *llm.Call
	text  []byte
	probs []byte
}

const (
	textPart = iota + 1
	thoughtPart
	toolPart
	planPart
	partKinds
)

// Decode reads one event.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	data = bytes.TrimSpace(data)
	if wire.IsDone(data) {
		return nil
	}
	var kind, id, delta []byte
	var index int64
	d.probs = d.probs[:0]
	r := jsonscan.New(data)
	if !r.Object() {
		return errNoAnswer
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "id":
			id, _ = r.Literal()
		case "index":
			index, _ = r.Int()
		case "delta":
			delta = r.Raw()
		case "logprobs":
			if r.Kind() == jsonscan.Object {
				d.probs = appendProb(d.probs, &r)
			} else {
				r.Skip()
			}
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return r.Err()
	}
	switch string(kind) {
	case "message-start":
		d.start(id, emit)
	case "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start":
		in := jsonscan.New(delta)
		d.readDelta(&in, int(index), emit)
	case "tool-call-end":
		d.stop(emit)
	case "content-end": // its citations may come after it
	case "message-end":
		d.readEnd(delta, emit)
	}
	return nil
}

// End has nothing to say: nothing is held back.
func (d *decoder) End(emit func(*llm.Event)) { d.stop(emit) }

func (d *decoder) put(e llm.Event, emit func(*llm.Event)) {
	d.ev = e
	emit(&d.ev)
}

func (d *decoder) start(id []byte, emit func(*llm.Event)) {
	if !d.started {
		d.started = true
		d.put(llm.Event{Kind: llm.Start, ID: string(id)}, emit)
	}
}

// open has the part of a key be the open one.
func (d *decoder) open(key int, kind llm.PartKind, emit func(*llm.Event)) {
	if key == d.part {
		return
	}
	d.start(nil, emit)
	d.stop(emit)
	d.part = key
	d.head = llm.Part{Kind: kind}
	if kind == llm.ToolCall {
		d.head.Call = d.call
	}
	d.put(llm.Event{Kind: llm.PartStart, Part: key, Head: &d.head}, emit)
}

func (d *decoder) stop(emit func(*llm.Event)) {
	if d.part != 0 {
		d.put(llm.Event{Kind: llm.PartStop, Part: d.part}, emit)
		d.part = 0
	}
}

func partKey(index, kind int) int { return index*partKinds + kind }

// readDelta reads {"message":{…}} with one piece of whatever kind in it.
func (d *decoder) readDelta(r *jsonscan.Reader, index int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "message" {
			r.Skip()
			continue
		}
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "content":
				d.readContent(r, index, emit)
			case "tool_plan":
				d.say(r, partKey(0, planPart), llm.Reasoning, emit)
			case "tool_calls":
				d.readCalls(r, index, emit)
			case "citations":
				d.readCitations(r, emit)
			default:
				r.Skip()
			}
		}
	}
}

func (d *decoder) readContent(r *jsonscan.Reader, index int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "text":
			d.say(r, partKey(index, textPart), llm.Text, emit)
		case "thinking":
			d.say(r, partKey(index, thoughtPart), llm.Reasoning, emit)
		default:
			r.Skip()
		}
	}
}

// say reads text and emits it as a piece of the part of a key.
func (d *decoder) say(r *jsonscan.Reader, key int, kind llm.PartKind, emit func(*llm.Event)) {
	raw, ok := r.RawString()
	if !ok || len(raw) == 0 {
		return
	}
	d.open(key, kind, emit)
	d.put(llm.Event{Kind: llm.Delta, Part: key, Text: jsonscan.Unescaped(&d.text, raw)}, emit)
	if kind == llm.Text && len(d.probs) > 0 {
		d.probs = append(d.probs, ']')
		d.put(llm.Event{Kind: llm.Probs, LogProbs: d.probs}, emit)
		d.probs = d.probs[:0]
	}
}

// readCalls reads one call, or the piece of one; it is an object where a whole reply has an array.
func (d *decoder) readCalls(r *jsonscan.Reader, index int, emit func(*llm.Event)) {
	if r.Kind() != jsonscan.Array {
		d.readCall(r, index, emit)
		return
	}
	r.Array()
	for r.Elem() {
		d.readCall(r, index, emit)
		index++
	}
}

func (d *decoder) readCall(r *jsonscan.Reader, index int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	var id, name, arguments []byte
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			id, _ = r.Literal()
		case "function":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				switch string(key) {
				case "name":
					name, _ = r.Literal()
				case "arguments":
					arguments, _ = r.RawString()
				default:
					r.Skip()
				}
			}
		default:
			r.Skip()
		}
	}
	key := partKey(index, toolPart)
	if len(name) > 0 {
		d.call = &llm.Call{ID: string(id), Name: string(name)}
		d.open(key, llm.ToolCall, emit)
	}
	if len(arguments) == 0 || key != d.part { // a piece of nothing
		return
	}
	d.put(llm.Event{Kind: llm.Delta, Part: key, Text: jsonscan.Unescaped(&d.text, arguments)}, emit)
}

// readCitations reads one citation, which is an object where a whole reply has an array. It belongs to the text that is
// being said, or that was said last.
func (d *decoder) readCitations(r *jsonscan.Reader, emit func(*llm.Event)) {
	if r.Kind() != jsonscan.Object {
		r.Skip()
		return
	}
	c := readCited(r)
	if c.elsewhere || !r.OK() {
		return
	}
	key := d.part
	if key%partKinds != textPart {
		key = partKey(c.content, textPart)
		d.open(key, llm.Text, emit)
	}
	for i := range c.sources {
		d.put(llm.Event{Kind: llm.Cited, Part: key, Citation: &c.sources[i]}, emit)
	}
}

// readEnd reads a message-end: the usage, which it brings along, and the finish.
func (d *decoder) readEnd(delta []byte, emit func(*llm.Event)) {
	var word []byte
	var u llm.Usage
	r := jsonscan.New(delta)
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "finish_reason":
			word, _ = r.Literal()
		case "usage":
			u = readUsage(&r)
		default:
			r.Skip()
		}
	}
	if d.finished {
		return
	}
	d.start(nil, emit)
	d.stop(emit)
	if u.Known {
		d.put(llm.Event{Kind: llm.Used, Usage: u}, emit)
	}
	if len(word) > 0 {
		d.finished = true
		stop, text := stopOf(word)
		d.put(llm.Event{Kind: llm.Finish, Stop: stop, StopText: text}, emit)
	}
}
