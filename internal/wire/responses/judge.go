package responses

import (
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// head is what the members of a response object say, its output aside.
type head struct {
	id, model, status, reason, tier []byte
	created                         int64
	usage                           wire.Usage
	failure                         []byte // the raw error; nil: none
	output                          []byte // the raw output; nil: none
	outputKind                      jsonscan.Kind
}

// read reads a response object in one pass; what it gives points into the text. It says whether there was an object.
func (h *head) read(r *jsonscan.Reader) bool {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "id":
			h.id, _ = r.Literal()
		case "model":
			h.model, _ = r.Literal()
		case "status":
			h.status, _ = r.Literal()
		case "service_tier":
			h.tier, _ = r.Literal()
		case "created_at":
			h.created, _ = r.Int()
		case "usage":
			if u := openaiwords.ReadUsage(r); u.Known {
				h.usage = u
			}
		case "error":
			h.failure = openaiwords.ErrorValue(r)
		case "output":
			h.outputKind = r.Kind()
			h.output = r.Raw()
		case "incomplete_details":
			if !r.Object() {
				continue
			}
			for key, ok := r.Key(); ok; key, ok = r.Key() {
				if string(key) == "reason" {
					h.reason, _ = r.Literal()
				} else {
					r.Skip()
				}
			}
		default:
			r.Skip()
		}
	}
	return true
}

// finish is the word for how an answer ended: the reason that it is incomplete, else its status. For the usual ones that
// costs no allocation.
func (h *head) finish() string {
	word := h.status
	if len(h.reason) > 0 {
		word = h.reason
	}
	switch string(word) {
	case "completed":
		return "completed"
	case "max_output_tokens":
		return "max_output_tokens"
	case "content_filter":
		return "content_filter"
	}
	return string(word)
}

// fault says what is wrong with a response that did not come to its end; nil if nothing is.
func (h *head) fault() *fault.Fault {
	switch string(h.status) {
	case "failed":
		if h.failure == nil {
			return wire.Invalid("the upstream says that the response failed, and not why")
		}
		return openaiwords.FaultOf(h.failure)
	case "cancelled":
		return wire.Invalid("the upstream says that the response was cancelled")
	}
	return nil
}

// judge reads a plain reply (R14). A response that is queued or in progress is the answer to a background request.
func judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return reply, f
	}
	var h head
	r := jsonscan.New(body)
	h.read(&r)
	if !r.End() {
		return reply, wire.BrokenAnswer(r.Err())
	}
	reply = wire.Reply{ID: string(h.id), Model: string(h.model), Usage: h.usage, Finish: h.finish()}
	if f = h.fault(); f != nil {
		return reply, f
	}
	holds := h.outputKind == jsonscan.Array && len(h.output) > len("[]")
	switch {
	case h.failure != nil && !holds:
		return reply, openaiwords.FaultOf(body) // its code may stand beside it
	case string(h.status) == "queued", string(h.status) == "in_progress":
		return reply, nil
	case h.outputKind != jsonscan.Array:
		if f := openaiwords.FaultIn(body); f != nil {
			return reply, f
		}
		return reply, wire.NoArray("output", h.outputKind)
	case !holds && !h.usage.Known:
		return reply, wire.Invalid(`"output" in the upstream's answer is empty`)
	}
	return reply, nil
}

// unfinished is the fault of a stream whose terminal event says that there is no answer.
func unfinished(kind string) *fault.Fault {
	return wire.Invalid("the upstream broke the answer off with an event " + strconv.Quote(kind))
}
