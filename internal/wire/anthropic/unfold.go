package anthropic

import (
	"strconv"

	"evergate/internal/jsonscan"
)

// member is one member of an object: its key, unescaped, and its raw value.
type member struct {
	key string
	raw []byte
}

// membersOf takes a valid object apart; nil for what is none. Of members with the same key the last counts.
func membersOf(raw []byte) []member {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return nil
	}
	list := make([]member, 0, 8)
	var at map[string]int // places in list, once it is too long to be searched
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		if at == nil && len(list) < 24 {
			list = put(list, string(key), value)
			continue
		}
		if at == nil {
			at = make(map[string]int, 2*len(list))
			for i := range list {
				at[list[i].key] = i
			}
		}
		if i, again := at[string(key)]; again {
			list[i].raw = value
			continue
		}
		at[string(key)] = len(list)
		list = append(list, member{string(key), value})
	}
	return list
}

// put sets a member, in its place where there is one of that key.
func put(list []member, key string, raw []byte) []member {
	for i := range list {
		if list[i].key == key {
			list[i].raw = raw
			return list
		}
	}
	return append(list, member{key, raw})
}

func valueOf(list []member, key string) []byte {
	for i := range list {
		if list[i].key == key {
			return list[i].raw
		}
	}
	return nil
}

// textOf is a raw string's text; empty for what is none.
func textOf(raw []byte) string {
	r := jsonscan.Again(raw)
	text, _ := r.Text()
	return text
}

func appendObject(dst []byte, list []member) []byte {
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, m.key)
		dst = append(dst, ':')
		dst = append(dst, m.raw...)
	}
	return append(dst, '}')
}

// streamFromReply writes a message as the events of a stream. Members that are not known go along as they are: a
// message's in message_start, a block's in its start. The error is a *fault.Fault.
func streamFromReply(body []byte) ([]byte, error) {
	if _, f := judgeMessage(body); f != nil {
		return nil, f
	}
	message := membersOf(jsonscan.OneLine(body))
	content := valueOf(message, "content")
	stop, sequence, usage := valueOf(message, "stop_reason"), valueOf(message, "stop_sequence"), valueOf(message, "usage")
	start := make([]member, 0, len(message)+1)
	var closing []member // of message_delta
	for _, m := range message {
		switch m.key {
		case "content":
			m.raw = []byte("[]")
		case "stop_reason", "stop_sequence":
			m.raw = []byte("null")
		case "stop_details", "container":
			closing = append(closing, m)
			m.raw = []byte("null")
		}
		start = append(start, m)
	}
	out := appendNamed(nil, "message_start", `"message":`)
	out = appendObject(out, start)
	out = append(out, "}"+eventEnd...)

	tool := false
	r := jsonscan.Again(content)
	r.Array()
	for i := 0; r.Elem(); i++ {
		block := membersOf(r.Raw())
		if block == nil {
			continue
		}
		tool = tool || textOf(valueOf(block, "type")) == "tool_use"
		out = appendBlock(out, i, block)
	}
	if len(stop) == 0 || string(stop) == "null" {
		stop = []byte(`"end_turn"`)
		if tool {
			stop = []byte(`"tool_use"`)
		}
	}
	if len(sequence) == 0 {
		sequence = []byte("null")
	}
	if len(usage) == 0 || usage[0] != '{' {
		usage = []byte(`{"output_tokens":0}`)
	}
	out = appendNamed(out, "message_delta", `"delta":`)
	out = appendObject(out, append([]member{{"stop_reason", stop}, {"stop_sequence", sequence}}, closing...))
	out = append(out, `,"usage":`...)
	out = append(out, usage...)
	out = append(out, "}"+eventEnd...)
	return append(out, stopEvent...), nil
}

// appendNamed appends the start of an event, up to and with the name of its next member.
func appendNamed(dst []byte, name, next string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, `",`...)
	return append(dst, next...)
}

// appendBlock appends the events of one block.
func appendBlock(dst []byte, index int, block []member) []byte {
	type piece struct {
		kind, key string
		raw       []byte
	}
	var pieces []piece
	begin := make([]member, 0, len(block))
	call := len(valueOf(block, "input")) > 0
	for _, m := range block {
		switch {
		case m.key == "text" && isString(m.raw):
			pieces = append(pieces, piece{"text_delta", "text", m.raw})
			m.raw = []byte(`""`)
		case m.key == "thinking" && isString(m.raw):
			pieces = append(pieces, piece{"thinking_delta", "thinking", m.raw})
			m.raw = []byte(`""`)
		case m.key == "signature" && isString(m.raw):
			pieces = append(pieces, piece{"signature_delta", "signature", m.raw})
			m.raw = []byte(`""`)
		case m.key == "input" && call && m.raw[0] == '{':
			input := []byte(`""`)
			if string(m.raw) != "{}" {
				input = jsonscan.AppendText(nil, m.raw)
			}
			pieces = append(pieces, piece{"input_json_delta", "partial_json", input})
			m.raw = []byte("{}")
		case m.key == "citations" && len(m.raw) > len("[]") && m.raw[0] == '[':
			r := jsonscan.New(m.raw)
			r.Array()
			for r.Elem() {
				pieces = append(pieces, piece{"citations_delta", "citation", r.Raw()})
			}
			m.raw = []byte("[]")
		}
		begin = append(begin, m)
	}
	dst = appendNamed(dst, "content_block_start", `"index":`)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"content_block":`...)
	dst = appendObject(dst, begin)
	dst = append(dst, "}"+eventEnd...)
	// A signature ends its block, whatever the order of the members was.
	for _, last := range [...]bool{false, true} {
		for _, p := range pieces {
			if (p.kind == "signature_delta") != last || string(p.raw) == `""` && p.kind != "input_json_delta" {
				continue
			}
			dst = appendNamed(dst, deltaWord, `"index":`)
			dst = strconv.AppendInt(dst, int64(index), 10)
			dst = append(dst, `,"delta":{"type":"`...)
			dst = append(dst, p.kind...)
			dst = append(dst, `","`...)
			dst = append(dst, p.key...)
			dst = append(dst, `":`...)
			dst = append(dst, p.raw...)
			dst = append(dst, "}}"+eventEnd...)
		}
	}
	dst = append(dst, blockStopped...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	return append(dst, "}"+eventEnd...)
}

func isString(raw []byte) bool { return len(raw) > 0 && raw[0] == '"' }
