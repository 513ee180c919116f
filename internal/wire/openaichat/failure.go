package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
	"evergate/internal/wire"
)

const (
	eventStart = "data: "
	eventEnd   = "\n\n"
	endMarker  = eventStart + "[DONE]" + eventEnd
)

func appendError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, `{"error":`...)
	dst = openaiwords.AppendError(dst, &f)
	return append(dst, '}')
}

// appendStreamError appends the error as the stream's last event; [DONE] would be a clean end.
func appendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, eventStart...)
	dst = appendError(dst, f)
	return append(dst, eventEnd...)
}

// appendEnd appends an event with the finish of each choice that has begun and has none (R17), and the end marker.
func appendEnd(dst []byte, p *wire.Progress, s shape) []byte {
	open := p.Begun &^ p.Ended
	if p.SawContent && open != 0 {
		dst = append(dst, `data: {"id":`...)
		dst = jsonscan.AppendString(dst, p.ID)
		dst = append(dst, `,"object":`...)
		dst = append(dst, s.object(true)...)
		dst = append(dst, `,"created":`...)
		dst = strconv.AppendInt(dst, p.Created, 10)
		dst = append(dst, `,"model":`...)
		dst = jsonscan.AppendString(dst, p.Reply.Model)
		dst = append(dst, `,"choices":[`...)
		for i, comma := 0, false; i < 64; i++ {
			if open>>i&1 == 0 {
				continue
			}
			if comma {
				dst = append(dst, ',')
			}
			comma = true
			dst = append(dst, `{"index":`...)
			dst = strconv.AppendInt(dst, int64(i), 10)
			dst = append(dst, s.nothing()...)
			dst = append(dst, `,"logprobs":null,"finish_reason":`...)
			dst = jsonscan.AppendString(dst, s.finishWithout(p.SawTool))
			dst = append(dst, '}')
		}
		dst = append(dst, "]}"+eventEnd...)
	}
	return append(dst, endMarker...)
}

// object is the "object" of a reply or of a stream's events, as JSON.
func (s shape) object(stream bool) string {
	switch {
	case s == textShape:
		return `"text_completion"`
	case stream:
		return `"chat.completion.chunk"`
	default:
		return `"chat.completion"`
	}
}

// nothing is the member of a streamed choice that adds nothing to it.
func (s shape) nothing() string {
	if s == textShape {
		return `,"text":""`
	}
	return `,"delta":{}`
}

// finishWithout is the finish of an answer that ended without saying so (R17).
func (shape) finishWithout(tool bool) string {
	if tool {
		return "tool_calls"
	}
	return "stop"
}
