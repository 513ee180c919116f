package openaichat

import (
	"math/bits"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

// shape is what an operation's choices hold.
type shape uint8

const (
	chatShape shape = iota // message, or delta in a stream
	textShape              // text
)

// choice is what was seen in one element of "choices".
type choice struct {
	index   int64
	holds   bool // there is a message, delta or text, empty or not
	content bool // RESILIENCE §1, the finish aside
	tool    bool
	// text is the place of the last plain text that was read, for a Pattern.
	text wire.Span
	// finish is the finish reason; empty stands for none, as some vendors send it so until the end.
	finish []byte
	// fault is the raw value of the choice's own error, nil without one.
	fault []byte
}

// readChoice reads one element of choices. Where a delta comes with a message (Perplexity repeats all there was so far
// in it) the delta counts.
func readChoice(r *jsonscan.Reader, s shape) (c choice) {
	if !r.Object() {
		return c
	}
	var message choice
	var delta bool
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "index":
			c.index, _ = r.Int()
		case "finish_reason":
			c.finish, _ = r.Literal()
		case "delta":
			if s != chatShape {
				r.Skip()
				continue
			}
			delta = readMessage(r, &c)
		case "message":
			if s != chatShape {
				r.Skip()
				continue
			}
			readMessage(r, &message)
		case "text":
			if s != textShape {
				r.Skip()
				continue
			}
			c.holds = c.holds || r.Kind() == jsonscan.String
			c.content = c.says(r) || c.content
		case "error":
			c.fault = openaiwords.ErrorValue(r)
		default:
			r.Skip()
		}
	}
	if !delta && message.holds {
		c.holds, c.content, c.tool = true, message.content, message.tool
	}
	return c
}

// readMessage reads a message or delta, and says whether it is one.
func readMessage(r *jsonscan.Reader, c *choice) bool {
	if !r.Object() {
		return false
	}
	c.holds = true
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "content", "refusal", "audio", "images",
			"reasoning", "reasoning_content", "reasoning_text", "reasoning_details", "thinking", "thinking_blocks":
			c.content = c.says(r) || c.content
		case "tool_calls":
			if !r.Array() {
				continue
			}
			for r.Elem() {
				c.tool = true
				c.content = readTool(r) || c.content
			}
		case "function_call":
			if r.Kind() == jsonscan.Object {
				c.tool = true
			}
			c.content = readCall(r) || c.content
		default:
			r.Skip()
		}
	}
	return true
}

// readTool says whether a tool call says something: the id and type that its first delta brings do not.
func readTool(r *jsonscan.Reader) (content bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "function", "custom":
			content = readCall(r) || content
		default:
			r.Skip()
		}
	}
	return content
}

// readCall says whether a call has a name or arguments, also if the arguments are an object instead of a string.
func readCall(r *jsonscan.Reader) (content bool) {
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "name", "arguments", "input":
			if r.Kind() == jsonscan.Object {
				r.Skip()
				content = true
				continue
			}
			content = says(r) || content
		default:
			r.Skip()
		}
	}
	return content
}

// says is says, and keeps the place of a text.
func (c *choice) says(r *jsonscan.Reader) bool {
	if r.Kind() != jsonscan.String {
		return says(r)
	}
	raw, _ := r.RawString()
	if len(raw) == 0 {
		return false
	}
	to := r.Offset() - 1
	c.text = wire.Span{From: to - len(raw), To: to}
	return true
}

// says reads a value and tells whether it is text that is not empty, or has such text in its parts: content comes as a
// string or as an array of typed parts, reasoning as strings, parts, or parts of parts, audio and images as objects.
func says(r *jsonscan.Reader) (something bool) {
	switch r.Kind() {
	case jsonscan.String:
		text, _ := r.RawString()
		return len(text) > 0
	case jsonscan.Array:
		r.Array()
		for r.Elem() {
			something = says(r) || something
		}
		return something
	case jsonscan.Object:
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "text", "content", "reasoning", "reasoning_content", "thinking", "summary", "refusal",
				"data", "transcript", "image_url", "url", "b64_json":
				something = says(r) || something
			default: // type, id, index, format, signature, …
				r.Skip()
			}
		}
		return something
	case jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.None:
		r.Skip()
	}
	return false
}

// failed says of a finish reason that it stands for a failure of the upstream and for no end of an answer: the
// documented words of OpenRouter and Mistral, Zhipu, DeepSeek and vLLM.
func failed(finish []byte) bool {
	switch string(finish) {
	case "error", "network_error", "insufficient_system_resource", "abort":
		return true
	}
	return false
}

// finishWord is a finish reason as a string; for the known ones that costs no allocation.
func finishWord(finish []byte) string {
	switch string(finish) {
	case "":
		return ""
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	case "function_call":
		return "function_call"
	case "content_filter":
		return "content_filter"
	}
	return string(finish)
}

// bit is a choice's place in a Progress; choices beyond the 64th share the last one.
func (c *choice) bit() uint64 { return 1 << min(max(c.index, 0), 63) }

// settle brings SawFinish and OpenTool in line with the rest of p.
func settle(p *wire.Progress) {
	p.SawFinish = p.Begun != 0 && p.Begun == p.Ended && bits.OnesCount64(p.Ended) >= p.Choices
	p.OpenTool = p.SawTool && !p.SawFinish
}
