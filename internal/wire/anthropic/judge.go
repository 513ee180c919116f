package anthropic

import (
	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// judgeMessage reads a whole message. Content decides: a reply without it is no answer whatever else it holds, and
// empty content is an answer only where a stop reason says so.
func judgeMessage(body []byte) (reply wire.Reply, f *fault.Fault) {
	if f = wire.NoAnswer(body, nil); f != nil {
		return reply, f
	}
	var (
		kind    jsonscan.Kind
		blocks  int
		failure bool
	)
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			word, _ := r.Literal()
			failure = failure || string(word) == "error"
		case "model":
			reply.Model, _ = r.Text()
		case "content":
			kind = r.Kind()
			if !r.Array() {
				continue
			}
			for r.Elem() {
				if r.Kind() == jsonscan.Object {
					blocks++
				}
				r.Skip()
			}
		case "stop_reason":
			word, _ := r.Literal()
			reply.Finish = stopWord(word)
		case "usage":
			c := readCounts(&r)
			c.into(&reply.Usage)
		case "error":
			failure = failure || r.Kind() != jsonscan.Null
			r.Skip()
		default:
			r.Skip()
		}
	}
	if !r.End() {
		return wire.Reply{}, wire.BrokenAnswer(r.Err())
	}
	switch {
	case blocks > 0 || kind == jsonscan.Array && reply.Finish != "":
		return reply, nil
	case failure:
		return reply, readDetail(body).fault()
	case kind != jsonscan.Array:
		if d := readDetail(body); d.message != "" {
			return reply, d.fault()
		}
		return reply, wire.NoArray("content", kind)
	default:
		return reply, wire.Invalid(`"content" in the upstream's answer is empty`)
	}
}

// stopWord is a stop reason as a string; for the known ones that costs no allocation.
func stopWord(word []byte) string {
	switch string(word) {
	case "":
		return ""
	case "end_turn":
		return "end_turn"
	case "tool_use":
		return "tool_use"
	case "max_tokens":
		return "max_tokens"
	case "stop_sequence":
		return "stop_sequence"
	}
	return string(word)
}
