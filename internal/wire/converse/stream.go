package converse

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// NewDecoder makes the decoder of one ConverseStream.
func (Converse) NewDecoder() wire.Decoder { return &decoder{} }

// decoder reads one stream. Bedrock says of a block that it starts only where it is a tool's call; of all others the
// first piece must do.
type decoder struct {
	started, finished bool
	part              int // key of the open part; 0: none is open
	// sealing holds what came of the open part's seal, whose kind is sealKind.
	sealing  []byte
	sealKind llm.SealKind

	// What events are made of, so that none is garbage.
	ev   llm.Event
	head llm.Part
	call *llm.Call
	seal llm.Seal
	cite llm.Citation
	text []byte
}

// Parts are told apart by their block's index and their kind.
const (
	textPart = iota + 1
	toolPart
	thoughtPart
	imagePart
	partKinds
)

// Decode reads one event: the payload of a frame under the frame's type.
func (d *decoder) Decode(data []byte, emit func(*llm.Event)) error {
	r := jsonscan.New(data)
	if !r.Object() {
		return errNoAnswer
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "messageStart":
			r.Skip()
			d.start(emit)
		case "contentBlockStart":
			d.readStart(&r, emit)
		case "contentBlockDelta":
			d.readDelta(&r, emit)
		case "contentBlockStop":
			r.Skip()
			d.stop(emit)
		case "messageStop":
			d.readStop(&r, emit)
		case "metadata":
			d.readMetadata(&r, emit)
		default:
			r.Skip()
		}
	}
	r.End()
	return r.Err()
}

// End has nothing to say: what was held back went out with the finish.
func (d *decoder) End(emit func(*llm.Event)) { d.stop(emit) }

func (d *decoder) put(e llm.Event, emit func(*llm.Event)) {
	d.ev = e
	emit(&d.ev)
}

func (d *decoder) start(emit func(*llm.Event)) {
	if !d.started {
		d.started = true
		d.put(llm.Event{Kind: llm.Start}, emit)
	}
}

// open has the part of a key be the open one.
func (d *decoder) open(key int, kind llm.PartKind, emit func(*llm.Event)) {
	if key == d.part {
		return
	}
	d.start(emit)
	d.stop(emit)
	d.part = key
	d.head = llm.Part{Kind: kind}
	if kind == llm.ToolCall {
		d.head.Call = d.call
	}
	if kind == llm.Image {
		d.head.Media = &llm.Media{}
	}
	d.put(llm.Event{Kind: llm.PartStart, Part: key, Head: &d.head}, emit)
}

// stop ends the open part, with its seal.
func (d *decoder) stop(emit func(*llm.Event)) {
	if d.part == 0 {
		return
	}
	if len(d.sealing) > 0 {
		d.seal = llm.Seal{Vendor: signedBy, Kind: d.sealKind}
		if d.sealKind == llm.Redacted {
			d.seal.Data = sealOf(d.sealing)
		} else {
			d.seal.Data = string(d.sealing)
		}
		d.put(llm.Event{Kind: llm.Sealing, Part: d.part, Seal: &d.seal}, emit)
		d.sealing = d.sealing[:0]
	}
	d.put(llm.Event{Kind: llm.PartStop, Part: d.part}, emit)
	d.part = 0
}

// readStart reads a contentBlockStart.
func (d *decoder) readStart(r *jsonscan.Reader, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	var index int64
	var tool bool
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "contentBlockIndex":
			index, _ = r.Int()
		case "start":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				if string(key) == "toolUse" && r.Kind() == jsonscan.Object {
					d.call, tool = readToolUse(r), true
					d.call.Arguments = ""
				} else {
					r.Skip() // an image's format comes again as its first bytes
				}
			}
		default:
			r.Skip()
		}
	}
	if tool && r.OK() {
		d.open(partKey(index, toolPart), llm.ToolCall, emit)
	}
}

func partKey(index int64, kind int) int { return int(index)*partKinds + kind }

// readDelta reads a contentBlockDelta. Should its index come after the delta, the delta is read once more then.
func (d *decoder) readDelta(r *jsonscan.Reader, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	index, known := int64(0), false
	var delta []byte
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "contentBlockIndex":
			index, known = r.Int()
		case "delta":
			if known {
				d.readPiece(r, index, emit)
			} else {
				delta = r.Raw()
			}
		default: // "p" is padding against those who read lengths
			r.Skip()
		}
	}
	if len(delta) > 0 && r.OK() {
		in := jsonscan.New(delta)
		d.readPiece(&in, index, emit)
	}
}

func (d *decoder) readPiece(r *jsonscan.Reader, index int64, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "text":
			d.say(r, partKey(index, textPart), llm.Text, emit)
		case "reasoningContent":
			d.readThought(r, partKey(index, thoughtPart), emit)
		case "toolUse":
			d.readInput(r, partKey(index, toolPart), emit)
		case "citation":
			d.cite = readCitation(r)
			d.open(partKey(index, textPart), llm.Text, emit)
			d.put(llm.Event{Kind: llm.Cited, Part: d.part, Citation: &d.cite}, emit)
		case "image":
			d.readPicture(r, partKey(index, imagePart), emit)
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
}

func (d *decoder) readThought(r *jsonscan.Reader, key int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for name, ok := r.Key(); ok; name, ok = r.Key() {
		switch string(name) {
		case "text":
			d.say(r, key, llm.Reasoning, emit)
		case "signature":
			if raw, ok := r.RawString(); ok && len(raw) > 0 {
				d.open(key, llm.Reasoning, emit)
				d.sealKind = llm.Signed
				d.sealing = jsonscan.AppendUnescaped(d.sealing, raw)
			}
		case "redactedContent":
			if text, ok := r.Literal(); ok && len(text) > 0 {
				d.open(key, llm.Reasoning, emit)
				d.sealKind = llm.Redacted
				if sealing, ok := appendBlob(d.sealing, text); ok {
					d.sealing = sealing
				}
			}
		default:
			r.Skip()
		}
	}
}

// readInput reads a piece of a call's arguments.
func (d *decoder) readInput(r *jsonscan.Reader, key int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for name, ok := r.Key(); ok; name, ok = r.Key() {
		if string(name) != "input" {
			r.Skip()
			continue
		}
		raw, ok := r.RawString()
		if !ok || len(raw) == 0 || key != d.part { // a piece of nothing
			continue
		}
		d.put(llm.Event{Kind: llm.Delta, Part: key, Text: jsonscan.Unescaped(&d.text, raw)}, emit)
	}
}

func (d *decoder) readPicture(r *jsonscan.Reader, key int, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for name, ok := r.Key(); ok; name, ok = r.Key() {
		if string(name) != "source" {
			r.Skip()
			continue
		}
		if data := readBytes(r); data != "" {
			d.open(key, llm.Image, emit)
			d.put(llm.Event{Kind: llm.Delta, Part: key, Text: []byte(data)}, emit)
		}
	}
}

// readStop reads a messageStop.
func (d *decoder) readStop(r *jsonscan.Reader, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	var word []byte
	var sequence string
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "stopReason":
			word, _ = r.Literal()
		case "additionalModelResponseFields":
			sequence = readStopSequence(r)
		default:
			r.Skip()
		}
	}
	if len(word) == 0 || d.finished || !r.OK() {
		return
	}
	d.finished = true
	d.start(emit)
	d.stop(emit)
	stop, text := stopOf(word)
	if stop == llm.StopSequence {
		text = sequence
	}
	d.put(llm.Event{Kind: llm.Finish, Stop: stop, StopText: text}, emit)
}

// readMetadata reads the usage, which comes after the stop.
func (d *decoder) readMetadata(r *jsonscan.Reader, emit func(*llm.Event)) {
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "usage" {
			r.Skip()
			continue
		}
		if u := readUsage(r); u.Known && r.OK() {
			d.start(emit)
			d.put(llm.Event{Kind: llm.Used, Usage: u}, emit)
		}
	}
}
