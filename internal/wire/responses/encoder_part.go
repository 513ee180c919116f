package responses

import (
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// start begins a part: in the open item, or in one of its own.
func (e *encoder) start(head *llm.Part) {
	e.closePart()
	e.hidden = false
	switch head.Kind {
	case llm.Text, llm.Refusal:
		e.startSaying(head.Kind)
	case llm.Reasoning:
		e.openAs(reasoning, "rs_", "reasoning")
		e.out = append(e.out, `,"summary":[`...)
		e.added("]}")
		e.inPart = llm.Reasoning
		e.text = -1 // a summary has no part until it has a text
	case llm.ToolCall:
		e.startCall(head.Call)
	case llm.Image:
		if head.Media != nil && head.Media.URL != "" {
			e.hide(llm.DropImages)
			return
		}
		e.openAs(image, "ig_", "image_generation_call")
		e.added(`,"status":"in_progress","result":null}`)
		e.out = append(e.out, `,"result":"`...)
		e.text, e.inPart = len(e.out), llm.Image
	case llm.Opaque:
		e.opaque(head.Opaque)
	case llm.Audio:
		e.q.Dropped.Add(llm.DropAudio)
		if head.Media != nil && head.Media.Transcript != "" {
			e.startSaying(llm.Text)
			e.say([]byte(head.Media.Transcript))
		}
		e.closePart()
		e.hidden = true
	case llm.Document:
		e.hide(llm.DropDocuments)
	case llm.Video:
		e.hide(llm.DropVideo)
	case llm.ToolResult: // a model says none
		e.hide(llm.DropServerTools)
	}
}

// hide begins a part that cannot be said.
func (e *encoder) hide(name string) {
	e.q.Dropped.Add(name)
	e.hidden = true
}

// startSaying begins a content part of a message.
func (e *encoder) startSaying(kind llm.PartKind) {
	if e.open != message || e.signature != "" {
		e.openAs(message, "msg_", "message")
		e.out = append(e.out, `,"role":"assistant","content":[`...)
		e.added(`],"status":"in_progress"}`)
		e.content = 0
	} else {
		e.content++
		e.out = append(e.out, ',')
	}
	e.part, e.inPart = len(e.out), kind
	empty := `{"type":"output_text","text":"","annotations":[],"logprobs":[]}`
	e.out = append(e.out, `{"type":"output_text","text":"`...)
	if kind == llm.Refusal {
		empty = `{"type":"refusal","refusal":""}`
		e.out = append(e.out[:e.part], `{"type":"refusal","refusal":"`...)
	}
	e.text = len(e.out)
	if e.inContent("response.content_part.added") {
		e.w.name("part")
		e.w.dst = append(e.w.dst, empty...)
		e.w.end()
	}
}

// inContent begins an event of the open content part.
func (e *encoder) inContent(kind string) bool {
	if !e.w.begin(kind) {
		return false
	}
	e.w.at(e.id0, e.index)
	e.w.int("content_index", e.content)
	return true
}

func (e *encoder) startCall(c *llm.Call) {
	open, prefix, kind, input := functionCall, "fc_", "function_call", "arguments"
	if free := !c.Custom && custom(e.q, c.Name); c.Custom || free {
		open, prefix, kind, input = customCall, "ctc_", "custom_tool_call", "input"
		if free {
			open = freeCall
		}
	}
	e.openAs(open, prefix, kind)
	e.out = append(e.out, `,"call_id":`...)
	e.out = jsonscan.AppendString(e.out, c.ID)
	e.name = c.Name
	for i := range e.q.Tools {
		if t := &e.q.Tools[i]; t.Name == c.Name && t.Namespace != "" {
			e.name = t.Within
			e.out = append(e.out, `,"namespace":`...)
			e.out = jsonscan.AppendString(e.out, t.Namespace)
		}
	}
	e.out = append(e.out, `,"name":`...)
	e.out = jsonscan.AppendString(e.out, e.name)
	e.added(`,"` + input + `":"","status":"in_progress"}`)
	e.out = append(e.out, `,"`...)
	e.out = append(e.out, input...)
	e.out = append(e.out, `":"`...)
	e.text, e.inPart = len(e.out), llm.ToolCall
}

// opaque writes a vendor's own item as it is.
func (e *encoder) opaque(b *llm.Block) {
	e.hidden = true
	if b == nil || b.Vendor != llm.OpenAI || len(b.Raw) == 0 {
		e.q.Dropped.Add(llm.DropServerTools)
		return
	}
	e.closeItem("completed")
	if len(e.out) > 0 {
		e.out = append(e.out, ',')
	}
	e.item = len(e.out)
	e.out = flatten(append(e.out, b.Raw...), e.item)
	e.w.item("response.output_item.added", e.index, e.out[e.item:])
	e.w.item("response.output_item.done", e.index, e.out[e.item:])
	e.index++
}

// delta writes more of the open part.
func (e *encoder) delta(text []byte) {
	if e.hidden || e.inPart == 0 || len(text) == 0 {
		return
	}
	e.say(text)
}

func (e *encoder) say(text []byte) {
	if e.inPart == llm.Reasoning && e.text < 0 {
		e.part = len(e.out)
		e.out = append(e.out, `{"type":"summary_text","text":"`...)
		e.text = len(e.out)
		e.w.summaryPart("response.reasoning_summary_part.added", e.id0, e.index, 0, []byte(`{"type":"summary_text","text":""}`))
	}
	from := len(e.out)
	e.out = jsonscan.AppendText(e.out, text)
	copy(e.out[from:], e.out[from+1:len(e.out)-1]) // without its quotes
	e.out = e.out[:len(e.out)-2]
	said := e.out[from:]
	switch e.inPart {
	case llm.Text:
		if e.inContent("response.output_text.delta") {
			e.w.quoted("delta", said)
			e.w.name("logprobs")
			e.w.dst = append(e.w.dst, '[')
			e.w.dst = append(e.w.dst, e.fresh...)
			e.w.dst = append(e.w.dst, ']')
			e.w.end()
		}
		e.fresh = e.fresh[:0]
	case llm.Refusal:
		if e.inContent("response.refusal.delta") {
			e.w.quoted("delta", said)
			e.w.end()
		}
	case llm.Reasoning:
		e.w.summaryText("response.reasoning_summary_text.delta", e.id0, e.index, 0, "delta", said)
	case llm.ToolCall:
		switch e.open {
		case functionCall:
			e.w.piece("response.function_call_arguments.delta", e.id0, e.index, "delta", said)
		case customCall:
			e.w.piece("response.custom_tool_call_input.delta", e.id0, e.index, "delta", said)
		case noItem, message, reasoning, freeCall, image:
		}
	case llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
	}
}

// closePart ends the open part. Its item stays open: another part may go on with it, and how it ended is not yet known.
func (e *encoder) closePart() {
	kind := e.inPart
	e.inPart = 0
	switch kind {
	case llm.Text:
		e.closeText()
	case llm.Refusal:
		to := len(e.out)
		e.out = append(e.out, `"}`...)
		if e.inContent("response.refusal.done") {
			e.w.quoted("refusal", e.out[e.text:to])
			e.w.end()
		}
		e.partDone()
	case llm.Reasoning:
		if e.text < 0 {
			return
		}
		to := len(e.out)
		e.out = append(e.out, `"}`...)
		e.w.summaryText("response.reasoning_summary_text.done", e.id0, e.index, 0, "text", e.out[e.text:to])
		e.w.summaryPart("response.reasoning_summary_part.done", e.id0, e.index, 0, e.out[e.part:])
	case llm.ToolCall:
		e.closeCall()
	case llm.Image:
		e.out = append(e.out, '"')
	case llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
	}
}

func (e *encoder) partDone() {
	if e.inContent("response.content_part.done") {
		e.w.raw("part", e.out[e.part:])
		e.w.end()
	}
}

func (e *encoder) closeText() {
	to := len(e.out)
	e.out = append(e.out, `","annotations":[`...)
	e.out = append(e.out, e.citations...)
	e.out = append(e.out, `],"logprobs":[`...)
	probs := len(e.out)
	e.out = append(e.out, e.probs...)
	e.out = append(e.out, ']')
	if e.inContent("response.output_text.done") {
		e.w.quoted("text", e.out[e.text:to])
		e.w.raw("logprobs", e.out[probs-1:])
		e.w.end()
	}
	e.out = append(e.out, '}')
	e.partDone()
	e.citations, e.probs, e.fresh, e.cited = e.citations[:0], e.probs[:0], e.fresh[:0], 0
}

func (e *encoder) closeCall() {
	switch e.open {
	case functionCall:
		if len(e.out) == e.text { // called without arguments
			e.inPart = llm.ToolCall
			e.say([]byte("{}"))
			e.inPart = 0
		}
		if e.w.begin("response.function_call_arguments.done") {
			e.w.at(e.id0, e.index)
			e.w.name("name")
			e.w.dst = jsonscan.AppendString(e.w.dst, e.name)
			e.w.quoted("arguments", e.out[e.text:])
			e.w.end()
		}
	case freeCall:
		arguments := jsonscan.AppendUnescaped(nil, e.out[e.text:])
		e.out = e.out[:e.text]
		e.open = customCall
		e.inPart = llm.ToolCall
		e.delta([]byte(freeText(arguments)))
		e.inPart = 0
		e.w.piece("response.custom_tool_call_input.done", e.id0, e.index, "input", e.out[e.text:])
	case customCall:
		e.w.piece("response.custom_tool_call_input.done", e.id0, e.index, "input", e.out[e.text:])
	case noItem, message, reasoning, image:
	}
	e.out = append(e.out, '"')
}

// freeText is the text of a custom call that was made as a function call with one text for its arguments.
func freeText(arguments []byte) string {
	if raw, ok := member(arguments, "input"); ok {
		return written(raw)
	}
	r := jsonscan.New(arguments)
	if !r.Object() {
		return string(arguments)
	}
	_, ok := r.Key()
	raw := r.Raw()
	if _, more := r.Key(); !ok || more || !r.End() {
		return string(arguments)
	}
	return written(raw)
}

// sealing keeps a seal until its item ends: OpenAI's own as it is, another vendor's wrapped.
func (e *encoder) sealing(s *llm.Seal) {
	if e.hidden {
		return
	}
	switch e.inPart {
	case llm.Reasoning:
		if e.seal = s.Data; s.Vendor != llm.OpenAI || s.Kind != llm.Encrypted {
			e.seal = llm.Wrap(s)
		}
	case llm.Text, llm.Refusal:
		w := *s
		w.ID = signatureOf
		e.signature = llm.Wrap(&w)
	case llm.ToolCall:
		w := *s
		w.ID = signatureOf
		if id := e.callID(); strings.IndexByte(id, '|') < 0 { // which parts a wrapped seal
			w.ID += id
		}
		e.signature = llm.Wrap(&w)
	case llm.Image, llm.Document, llm.Audio, llm.Video, llm.ToolResult, llm.Opaque:
	}
}

// callID is the open call's id, which out has.
func (e *encoder) callID() string {
	raw, _ := member(append(append([]byte(nil), e.out[e.item:e.text]...), `"}`...), "call_id")
	return text(raw)
}

// cite writes a source of the open text.
func (e *encoder) cite(c *llm.Citation) {
	if e.inPart != llm.Text || e.hidden {
		return
	}
	if c.URL == "" { // a place in a document, of which the dialect would name an uploaded file
		e.q.Dropped.Add(llm.DropCitations)
		return
	}
	if len(e.citations) > 0 {
		e.citations = append(e.citations, ',')
	}
	from := len(e.citations)
	e.citations = append(e.citations, `{"type":"url_citation","url":`...)
	e.citations = jsonscan.AppendString(e.citations, c.URL)
	e.citations = append(e.citations, `,"title":`...)
	e.citations = jsonscan.AppendString(e.citations, c.Title)
	e.citations = append(e.citations, `,"start_index":`...)
	e.citations = strconv.AppendInt(e.citations, int64(c.Start), 10)
	e.citations = append(e.citations, `,"end_index":`...)
	e.citations = strconv.AppendInt(e.citations, int64(c.End), 10)
	e.citations = append(e.citations, '}')
	if e.inContent("response.output_text.annotation.added") {
		e.w.int("annotation_index", e.cited)
		e.w.raw("annotation", e.citations[from:])
		e.w.end()
	}
	e.cited++
}
