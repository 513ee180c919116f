package gemini

import (
	"bytes"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// noAnswer says what is wrong with a 2xx body that is no JSON object (R14); nil if it is one, or fails only further in.
func noAnswer(body []byte) *fault.Fault {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return invalid("the upstream answered with an empty body")
	case body[0] == '<':
		return invalid("the upstream answered with an HTML page")
	case body[0] == '{':
		return nil
	}
	if err := jsonscan.Valid(body); err != nil {
		return brokenJSON(err)
	}
	if d, ok := readDetail(body); ok && body[0] == '[' {
		return d.fault()
	}
	return invalid("the upstream answered with JSON that is not an object")
}

func brokenJSON(err error) *fault.Fault {
	return invalid("the upstream's answer is broken: " + err.Error())
}

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
	if f = noAnswer(body); f != nil {
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
		return wire.Reply{}, brokenJSON(r.Err())
	}
	switch {
	case usable > 0:
		return reply, nil
	case said.reason != "":
		return reply, said.blocked()
	case errorRaw != nil:
		d, _ := readDetail(errorRaw)
		return reply, d.fault()
	case kind == jsonscan.None || kind == jsonscan.Null:
		return reply, invalid(`the upstream's answer has no "candidates"`)
	case kind != jsonscan.Array:
		return reply, invalid(`"candidates" in the upstream's answer is ` + kindWords[kind] + ", not an array")
	case candidates == 0:
		return reply, invalid(`"candidates" in the upstream's answer is empty`)
	}
	return reply, invalid(`"candidates" in the upstream's answer hold no content`)
}

// judgeArray reads the array of a stream's events as one reply.
func judgeArray(body []byte) (wire.Reply, *fault.Fault) {
	if err := jsonscan.Valid(body); err != nil {
		return wire.Reply{}, brokenJSON(err)
	}
	var p wire.Progress
	for _, event := range elements(body) {
		if e := judgeEvent(event, &p); e.Fault != nil {
			return p.Reply, e.Fault
		}
	}
	return p.Reply, complete(&p)
}

// complete says what a stream that is over lacks to be an answer; nil if nothing.
func complete(p *wire.Progress) *fault.Fault {
	switch {
	case !p.SawContent:
		return invalid("the upstream's stream ended without any content")
	case !p.SawFinish:
		return invalid("the upstream's stream was cut before its end")
	}
	return nil
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
	if f = noAnswer(body); f != nil {
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
		return wire.Reply{}, brokenJSON(r.Err())
	case found:
		return reply, nil
	case errorRaw != nil:
		d, _ := readDetail(errorRaw)
		return reply, d.fault()
	}
	return reply, invalid(`the upstream's answer has no "totalTokens"`)
}

// AppendTokenCount appends the reply to a request to count tokens.
func AppendTokenCount(dst []byte, tokens int64) []byte {
	out := list{dst: append(dst, '{')}
	out.number("totalTokens", tokens)
	return append(out.dst, '}')
}
