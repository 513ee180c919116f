package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// streamFromReply writes a reply as the events of a stream: for each choice one with all it says and one with its
// finish (older completions: one with both), then the usage, then the end marker. Members that are not known go
// along as they are. The error is a *fault.Fault.
func streamFromReply(body []byte, withUsage bool, s shape) ([]byte, error) {
	if f := wire.NoAnswer(body, openaiwords.FaultIn); f != nil {
		return nil, f
	}
	head, choices, usage, err := partReply(body, s)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i, raw := range choices {
		c := partChoice(raw, i, s)
		out = append(out, eventStart...)
		out = append(out, head...)
		out = append(out, `"choices":[{"index":`...)
		out = strconv.AppendInt(out, c.index, 10)
		out = append(out, c.rest...)
		if s == chatShape {
			out = append(out, `,"delta":`...)
			out = append(out, c.delta...)
			out = append(out, `,"finish_reason":null}]}`+eventEnd...)
			out = append(out, eventStart...)
			out = append(out, head...)
			out = append(out, `"choices":[{"index":`...)
			out = strconv.AppendInt(out, c.index, 10)
			out = append(out, s.nothing()...)
		}
		out = append(out, `,"finish_reason":`...)
		out = append(out, c.finish...)
		out = append(out, "}]}"+eventEnd...)
	}
	if withUsage && len(usage) > 0 {
		out = append(out, eventStart...)
		out = append(out, head...)
		out = append(out, `"choices":[],"usage":`...)
		out = append(out, usage...)
		out = append(out, "}"+eventEnd...)
	}
	return append(out, endMarker...), nil
}

// partReply gives the start of each event (an open object with a comma at its end), the raw choices and the usage.
func partReply(body []byte, s shape) (head []byte, choices [][]byte, usage []byte, err error) {
	head = append(head, `{"object":`...)
	head = append(head, s.object(true)...)
	head = append(head, ',')
	r := jsonscan.New(body)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "object":
			r.Skip()
		case "usage":
			if usage = jsonscan.OneLine(r.Raw()); string(usage) == "null" {
				usage = nil
			}
		case "choices":
			choices = nil
			if !r.Array() {
				continue
			}
			for r.Elem() {
				choices = append(choices, jsonscan.OneLine(r.Raw()))
			}
		default:
			head = appendMember(head, key, jsonscan.OneLine(r.Raw()))
			head = append(head, ',')
		}
	}
	if !r.End() {
		return nil, nil, nil, wire.BrokenAnswer(r.Err())
	}
	if len(choices) == 0 {
		return nil, nil, nil, wire.Invalid(`"choices" in the upstream's answer is empty`)
	}
	return head, choices, usage, nil
}

type partedChoice struct {
	index  int64
	rest   []byte // members that go along, each with a comma before it
	delta  []byte // an object
	finish []byte // a JSON value
}

// partChoice takes a valid choice apart; at is its place in the reply.
func partChoice(raw []byte, at int, s shape) partedChoice {
	c := partedChoice{index: int64(at), delta: []byte("{}")}
	tool := false
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			if n, ok := r.Int(); ok {
				c.index = n
			}
		case "finish_reason":
			c.finish = r.Raw()
		case "message":
			if s != chatShape {
				c.rest = appendMember(append(c.rest, ','), key, r.Raw())
				continue
			}
			c.delta, tool = appendDelta(nil, r.Raw())
		default:
			c.rest = appendMember(append(c.rest, ','), key, r.Raw())
		}
	}
	if finish := string(c.finish); finish == "" || finish == "null" || finish == `""` {
		c.finish = jsonscan.AppendString(nil, s.finishWithout(tool))
	}
	return c
}

// appendDelta appends a message as a delta, in which tool calls carry their index.
func appendDelta(dst, message []byte) (delta []byte, tool bool) {
	r := jsonscan.New(message)
	if !r.Object() {
		return append(dst, "{}"...), false
	}
	dst = append(dst, '{')
	role := false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		role = role || string(key) == "role"
		if string(key) != "tool_calls" || r.Kind() != jsonscan.Array {
			raw := r.Raw()
			tool = tool || string(key) == "function_call" && raw[0] == '{'
			dst = appendMember(dst, key, raw)
			continue
		}
		dst = append(dst, `"tool_calls":[`...)
		r.Array()
		for i := 0; r.Elem(); i++ {
			tool = true
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendIndexed(dst, r.Raw(), i)
		}
		dst = append(dst, ']')
	}
	if !role {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, `"role":"assistant"`...)
	}
	return append(dst, '}'), tool
}

// appendIndexed appends an object with index as its member of that name; what is no object goes along as it is.
func appendIndexed(dst, raw []byte, index int) []byte {
	r := jsonscan.New(raw)
	if !r.Object() {
		return append(dst, raw...)
	}
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		if string(key) != "index" {
			dst = appendMember(append(dst, ','), key, value)
		}
	}
	return append(dst, '}')
}

func appendMember(dst, key, raw []byte) []byte {
	dst = jsonscan.AppendText(dst, key)
	dst = append(dst, ':')
	return append(dst, raw...)
}
