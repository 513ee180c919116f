package gemini

import (
	"bytes"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// blocked is the fault of a prompt that a filter refused (R12). Nobody else is to blame: it goes back as the
// caller's own mistake.
func (f feedback) blocked() *fault.Fault {
	message := "the prompt was blocked by the provider's content filter (" + f.reason + ")"
	if f.message != "" {
		message += ": " + f.message
	}
	return &fault.Fault{Class: fault.ContentFilter, Status: 400, Code: f.reason, Message: message}
}

// isArray says that a body is a JSON array: how a stream comes without alt=sse.
func isArray(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && body[0] == '['
}

// judge reads a whole reply. A usable candidate decides: with one, an error beside it does not count.
func judge(body []byte) (reply wire.Reply, f *fault.Fault) {
	if isArray(body) {
		return judgeArray(body)
	}
	if f = wire.NoAnswer(body, arrayFault); f != nil {
		return reply, f
	}
	var (
		errorRaw           []byte
		said               feedback
		kind               jsonscan.Kind
		candidates, usable int
	)
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "modelVersion":
			reply.Model, _ = r.Text()
		case "candidates":
			kind = r.Kind()
			if !r.Array() {
				continue
			}
			for r.Elem() {
				c := readCandidate(&r)
				if candidates == 0 {
					reply.Finish = finishWord(c.finish)
				}
				candidates++
				if c.holds || len(c.finish) > 0 {
					usable++
				}
			}
		case "usageMetadata":
			reply.Usage, _ = readUsage(&r)
		case "promptFeedback":
			said = readFeedback(&r)
		case "error":
			errorRaw = errorValue(&r)
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case usable > 0:
		return reply, nil
	case said.reason != "":
		return reply, said.blocked()
	case errorRaw != nil:
		d, _ := readDetail(errorRaw)
		return reply, d.fault()
	case kind != jsonscan.Array:
		return reply, wire.NoArray("candidates", kind)
	case candidates == 0:
		return reply, wire.Invalid(`"candidates" in the upstream's answer is empty`)
	}
	return reply, wire.Invalid(`"candidates" in the upstream's answer hold no content`)
}

// judgeArray reads the array of a stream's events as one reply.
func judgeArray(body []byte) (wire.Reply, *fault.Fault) {
	if err := jsonscan.Valid(body); err != nil {
		return wire.Reply{}, wire.BrokenAnswer(err)
	}
	var p wire.Progress
	for _, event := range elements(body) {
		if e := judgeEvent(event, &p); e.Fault != nil {
			return p.Reply, e.Fault
		}
	}
	return p.Reply, wire.CutShort(&p, false)
}

// errorValue reads the value of an "error" member: nil if it says that there is none.
func errorValue(r *jsonscan.Reader) []byte {
	raw := r.Raw()
	if empty(raw) {
		return nil
	}
	return raw
}

// judgeCount reads the reply to a request to count tokens.
func judgeCount(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, arrayFault); f != nil {
		return reply, f
	}
	var errorRaw []byte
	found := false
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "totalTokens":
			reply.Usage.Input, found = whole(r.Raw())
		case "cachedContentTokenCount":
			reply.Usage.CachedInput, _ = whole(r.Raw())
		case "error":
			errorRaw = errorValue(&r)
		default:
			r.Skip()
		}
	}
	switch {
	case !r.End():
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	case found:
		return reply, nil
	case errorRaw != nil:
		d, _ := readDetail(errorRaw)
		return reply, d.fault()
	}
	return reply, wire.Invalid(`the upstream's answer has no "totalTokens"`)
}

// AppendTokenCount appends the reply to a request to count tokens.
func AppendTokenCount(dst []byte, tokens int64) []byte {
	out := list{dst: append(dst, '{')}
	out.number("totalTokens", tokens)
	return append(out.dst, '}')
}
