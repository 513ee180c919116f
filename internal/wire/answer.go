package wire

import (
	"bytes"
	"math"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/sse"
)

// Invalid is the fault of a 2xx answer that is none (R14).
func Invalid(message string) *fault.Fault {
	return &fault.Fault{Class: fault.Invalid, Message: message}
}

// BrokenAnswer is the fault of an answer that is no valid JSON; err is the reader's.
func BrokenAnswer(err error) *fault.Fault {
	return Invalid("the upstream's answer is broken: " + err.Error())
}

// NoAnswer says what is wrong with a 2xx body that is no JSON object (R14); nil if it is one, or fails only further in.
// Some upstreams put an error into an array: inArray, if not nil, gives the fault that an array is, nil for another one.
func NoAnswer(body []byte, inArray func(body []byte) *fault.Fault) *fault.Fault {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return Invalid("the upstream answered with an empty body")
	case body[0] == '<':
		return Invalid("the upstream answered with an HTML page")
	case body[0] == '{':
		return nil
	}
	if err := jsonscan.Valid(body); err != nil {
		return BrokenAnswer(err)
	}
	if body[0] == '[' && inArray != nil {
		if f := inArray(body); f != nil {
			return f
		}
	}
	return Invalid("the upstream answered with JSON that is not an object")
}

// NoArray is the fault of an answer whose member that holds what was asked for is missing or no array.
func NoArray(member string, kind jsonscan.Kind) *fault.Fault {
	if kind == jsonscan.None || kind == jsonscan.Null {
		return Invalid(`the upstream's answer has no "` + member + `"`)
	}
	return Invalid(`"` + member + `" in the upstream's answer is ` + kind.String() + ", not an array")
}

// OddEvent judges an event that is no object: an array that is an error (see NoAnswer), or nothing that could be passed on.
func OddEvent(data []byte, inArray func(data []byte) *fault.Fault) Event {
	if len(data) > 0 && data[0] == '[' {
		if f := inArray(data); f != nil {
			return Event{Fault: f}
		}
	}
	return Event{Malformed: true}
}

// IsDone says that an event's data is the end marker of OpenAI's dialects, which relays add to others' streams too.
func IsDone(data []byte) bool { return string(data) == "[DONE]" }

// WholeEvent says that data is one complete event, a JSON object or the end marker, to which nothing could be added. It
// is the hook that an [sse.Splitter] asks.
func WholeEvent(data []byte) bool {
	data = bytes.TrimSpace(data)
	return IsDone(data) || len(data) > 0 && data[0] == '{' && jsonscan.Valid(data) == nil
}

// EachEvent goes over a stream that was read to its end, for folding it into a plain reply (R17), and hands the events
// that are well-formed to add, with what the dialect says of them; data may be used only during the call. A stream that
// has an error in it, was cut, or brings no content is no answer (R14). The error is add's or a *fault.Fault.
func EachEvent(stream []byte, d Dialect, p *Progress, add func(data []byte, e *Event) error) error {
	cut := sse.Splitter{Whole: WholeEvent, Max: math.MaxInt}
	done := false
	for !done {
		frame, n, err := cut.Next(stream, true)
		if err != nil {
			return Invalid(err.Error())
		}
		if n == 0 {
			break
		}
		stream = stream[n:]
		if frame.Comment {
			continue
		}
		switch e := d.JudgeEvent(frame.Data, p); {
		case e.Fault != nil:
			return e.Fault
		case e.End:
			done = true
		case e.Malformed && p.OpenTool:
			return Invalid("the upstream's stream broke inside a tool call")
		case e.Malformed: // left out (R17)
		default:
			if err := add(frame.Data, &e); err != nil {
				return err
			}
		}
	}
	if f := CutShort(p, done); f != nil {
		return f
	}
	return nil
}

// CutShort says what a stream that is over lacks to be an answer (R14); nil if nothing. done: its end marker came.
func CutShort(p *Progress, done bool) *fault.Fault {
	switch {
	case !p.SawContent:
		return Invalid("the upstream's stream ended without any content")
	case !p.SawFinish && !done:
		return Invalid("the upstream's stream was cut before its end")
	}
	return nil
}
