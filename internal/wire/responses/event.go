package responses

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// judgeEvent reads the data of one event. p changes only once the data has turned out to be valid.
func judgeEvent(data []byte, p *wire.Progress) (e wire.Event) {
	if len(data) == 0 || data[0] <= ' ' || data[len(data)-1] <= ' ' {
		data = bytes.TrimSpace(data)
	}
	if wire.IsDone(data) {
		return wire.Event{End: true}
	}
	r := jsonscan.New(data)
	if r.Kind() != jsonscan.Object {
		return wire.OddEvent(data, openaiwords.FaultIn)
	}
	var f frame
	f.read(&r)
	if !r.End() {
		return wire.Event{Malformed: true}
	}
	if f.sequence >= 0 {
		p.Sequence = f.sequence + 1
	} else {
		p.Sequence++
	}
	if len(f.kind) == 0 {
		e.Fault = openaiwords.FaultIn(data)
		return e
	}
	e.Name = f.kind
	switch {
	case f.failure != nil && f.response == nil, string(f.kind) == "error":
		e.Fault = openaiwords.FaultOf(data)
		return e
	case f.response != nil:
		if judgeResponse(&f, &e, p); e.Fault != nil {
			return e
		}
	case f.item != nil:
		judgeItem(&f, &e, p)
	case f.part != nil:
		e.Content = partSays(f.part)
	case has(f.kind, ".delta"), has(f.kind, ".partial_image"):
		e.Content = says(f.delta)
	case has(f.kind, ".done"):
		e.Content = says(f.text)
	}
	p.SawContent = p.SawContent || e.Content
	return e
}

// judgeResponse judges the events that carry a response object: those of the stream's beginning and its end.
func judgeResponse(f *frame, e *wire.Event, p *wire.Progress) {
	var h head
	r := jsonscan.New(f.response)
	h.read(&r)
	if p.ID == "" && len(h.id) > 0 {
		p.ID, p.Created = string(h.id), h.created
		p.Reply.ID = p.ID
	}
	if p.Reply.Model == "" && len(h.model) > 0 {
		p.Reply.Model = string(h.model)
	}
	if h.usage.Known {
		p.Reply.Usage = h.usage
	}
	switch string(f.kind) {
	case "response.completed", "response.incomplete", "response.done":
		if e.Fault = h.fault(); e.Fault != nil {
			return
		}
		e.Finish, e.Content = true, true
		p.SawFinish, p.OpenTool = true, false
		if p.Reply.Finish = h.finish(); p.Reply.Finish == "" {
			p.Reply.Finish = string(bytes.TrimPrefix(f.kind, []byte("response.")))
		}
	case "response.failed":
		h.status = []byte("failed")
		e.Fault = h.fault()
	case "response.cancelled":
		e.Fault = unfinished(string(f.kind))
	default: // created, queued, in_progress
		e.Fault = h.fault()
	}
}

// judgeItem judges the events that carry an output item. What a vendor's own tools do is content as soon as it begins.
func judgeItem(f *frame, e *wire.Event, p *wire.Progress) {
	it := readItem(f.item)
	switch it.shape() {
	case callShape, customShape:
		e.Content = says(it.name) || says(it.arguments) || says(it.input)
		p.SawTool = true
		p.OpenTool = has(f.kind, ".added")
	case messageShape:
		e.Content = partsSay(it.content)
	case reasoningShape:
		e.Content = partsSay(it.summary) || partsSay(it.content)
	case otherShape, callOutput, customOutput, referenceShape, moreTools:
		e.Content = len(it.kind) > 0
	}
}

// partsSay tells whether one of several content parts says something.
func partsSay(raw []byte) (something bool) {
	r := jsonscan.New(raw)
	if r.Kind() == jsonscan.String {
		return says(raw)
	}
	if !r.Array() {
		return false
	}
	for r.Elem() {
		something = partSays(r.Raw()) || something
	}
	return something
}

func partSays(raw []byte) (something bool) {
	r := jsonscan.New(raw)
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "text", "refusal":
			something = says(r.Raw()) || something
		default:
			r.Skip()
		}
	}
	return something
}
