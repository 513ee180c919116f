package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// streamFromReply writes a response object as the events of a stream (R17), each text in one delta. Members and items that
// are not known go along as they are. The error is a *fault.Fault.
func streamFromReply(body []byte) ([]byte, error) {
	if f := wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return nil, f
	}
	body = jsonscan.OneLine(body)
	var h head
	r := jsonscan.New(body)
	h.read(&r)
	if !r.End() {
		return nil, wire.BrokenAnswer(r.Err())
	}
	if f := h.fault(); f != nil {
		return nil, f
	}
	if h.outputKind != jsonscan.Array {
		return nil, wire.Invalid(`the upstream's answer has no "output"`)
	}
	var w writer
	begun := appendBegun(nil, body)
	for _, kind := range [...]string{"response.created", "response.in_progress"} {
		w.begin(kind)
		w.raw("response", begun)
		w.end()
	}
	output := 0
	elements(h.output, func(raw []byte) {
		w.unfold(raw, output)
		output++
	})
	kind := "response.completed"
	if string(h.status) == "incomplete" {
		kind = "response.incomplete"
	}
	w.begin(kind)
	w.raw("response", body)
	w.end()
	return w.dst, nil
}

// appendBegun appends a response object as it was at its beginning.
func appendBegun(dst, body []byte) []byte {
	m := members{dst: append(dst, '{')}
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		raw := r.Raw()
		switch string(key) {
		case "status":
			raw = []byte(`"in_progress"`)
		case "output":
			raw = []byte("[]")
		case "usage", "completed_at", "incomplete_details":
			raw = []byte("null")
		case "output_text":
			raw = []byte(`""`)
		}
		m.add(key, raw)
	}
	return append(m.dst, '}')
}

// unfold writes the events of one output item.
func (w *writer) unfold(raw []byte, output int) {
	it := readItem(raw)
	id := it.id
	if id == nil {
		id = []byte(`""`)
	}
	switch it.shape() {
	case messageShape:
		w.item("response.output_item.added", output, appendEmptied(nil, raw, "content"))
		n := 0
		elements(it.content, func(part []byte) {
			w.unfoldPart(part, id, output, n)
			n++
		})
	case reasoningShape:
		w.item("response.output_item.added", output, appendEmptied(nil, raw, "summary", "content"))
		n := 0
		elements(it.summary, func(part []byte) {
			w.unfoldSummary(part, id, output, n)
			n++
		})
		n = 0
		elements(it.content, func(part []byte) {
			w.unfoldPart(part, id, output, n)
			n++
		})
	case callShape:
		w.item("response.output_item.added", output, appendEmptied(nil, raw, "arguments"))
		arguments := inside(it.arguments)
		w.piece("response.function_call_arguments.delta", id, output, "delta", arguments)
		if w.begin("response.function_call_arguments.done") {
			w.at(id, output)
			if it.name != nil {
				w.raw("name", it.name)
			}
			w.quoted("arguments", arguments)
			w.end()
		}
	case customShape:
		w.item("response.output_item.added", output, appendEmptied(nil, raw, "input"))
		input := inside(it.input)
		w.piece("response.custom_tool_call_input.delta", id, output, "delta", input)
		w.piece("response.custom_tool_call_input.done", id, output, "input", input)
	case otherShape, callOutput, customOutput, referenceShape, moreTools:
		w.item("response.output_item.added", output, raw)
	}
	w.item("response.output_item.done", output, raw)
}

// piece writes an event of an item with one text.
func (w *writer) piece(kind string, id []byte, output int, name string, inside []byte) {
	if w.begin(kind) {
		w.at(id, output)
		w.quoted(name, inside)
		w.end()
	}
}

// unfoldPart writes the events of one content part.
func (w *writer) unfoldPart(raw, id []byte, output, n int) {
	p := readPart(raw)
	event := func(kind string) bool {
		if !w.begin(kind) {
			return false
		}
		w.at(id, output)
		w.int("content_index", n)
		return true
	}
	whole := func(kind string, raw []byte) {
		if event(kind) {
			w.raw("part", raw)
			w.end()
		}
	}
	said := func(kind, name string, text, logprobs []byte) {
		if event(kind) {
			w.quoted(name, text)
			if logprobs != nil {
				w.raw("logprobs", logprobs)
			}
			w.end()
		}
	}
	switch string(p.kind) {
	case "output_text":
		if p.logprobs == nil {
			p.logprobs = []byte("[]")
		}
		whole("response.content_part.added", []byte(`{"type":"output_text","text":"","annotations":[],"logprobs":[]}`))
		said("response.output_text.delta", "delta", inside(p.text), p.logprobs)
		cited := 0
		elements(p.annotations, func(a []byte) {
			if event("response.output_text.annotation.added") {
				w.int("annotation_index", cited)
				w.raw("annotation", a)
				w.end()
			}
			cited++
		})
		said("response.output_text.done", "text", inside(p.text), p.logprobs)
	case "refusal":
		whole("response.content_part.added", []byte(`{"type":"refusal","refusal":""}`))
		said("response.refusal.delta", "delta", inside(p.refusal), nil)
		said("response.refusal.done", "refusal", inside(p.refusal), nil)
	case "reasoning_text":
		whole("response.content_part.added", []byte(`{"type":"reasoning_text","text":""}`))
		said("response.reasoning_text.delta", "delta", inside(p.text), nil)
		said("response.reasoning_text.done", "text", inside(p.text), nil)
	default:
		whole("response.content_part.added", raw)
	}
	whole("response.content_part.done", raw)
}

// unfoldSummary writes the events of one part of a reasoning summary.
func (w *writer) unfoldSummary(raw, id []byte, output, n int) {
	p := readPart(raw)
	w.summaryPart("response.reasoning_summary_part.added", id, output, n, []byte(`{"type":"summary_text","text":""}`))
	w.summaryText("response.reasoning_summary_text.delta", id, output, n, "delta", inside(p.text))
	w.summaryText("response.reasoning_summary_text.done", id, output, n, "text", inside(p.text))
	w.summaryPart("response.reasoning_summary_part.done", id, output, n, raw)
}

func (w *writer) summaryPart(kind string, id []byte, output, n int, part []byte) {
	if w.begin(kind) {
		w.at(id, output)
		w.int("summary_index", n)
		w.raw("part", part)
		w.end()
	}
}

func (w *writer) summaryText(kind string, id []byte, output, n int, name string, inside []byte) {
	if w.begin(kind) {
		w.at(id, output)
		w.int("summary_index", n)
		w.quoted(name, inside)
		w.end()
	}
}

// appendEmptied appends an item as it was before anything was in it: the named members empty, its status in_progress.
func appendEmptied(dst, raw []byte, names ...string) []byte {
	m := members{dst: append(dst, '{')}
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		if string(key) == "status" {
			value = []byte(`"in_progress"`)
		}
		for _, n := range names {
			if n != string(key) {
				continue
			}
			switch value[0] {
			case '[':
				value = []byte("[]")
			case '"':
				value = []byte(`""`)
			}
		}
		m.add(key, value)
	}
	return append(m.dst, '}')
}
