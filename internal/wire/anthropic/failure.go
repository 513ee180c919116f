package anthropic

import (
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// appendError appends {"type":"error","error":{…},"request_id":…}; code, param, details and attempts are left out where there
// is none.
func appendError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = jsonscan.AppendString(dst, errorType(f.Status))
	dst = append(dst, `,"message":`...)
	dst = jsonscan.AppendString(dst, f.Message)
	dst = appendMemberUnlessEmpty(dst, `,"code":`, f.Code)
	dst = appendMemberUnlessEmpty(dst, `,"param":`, f.Param)
	if f.Code == threadUnsupported {
		dst = append(dst, `,"details":{"error_code":"`+threadUnsupported+`","unsupported":["thread"]}`...)
	}
	if len(f.Attempts) > 0 {
		dst = append(dst, `,"attempts":`...)
		dst = wire.AppendAttempts(dst, f.Attempts)
	}
	dst = append(dst, '}')
	dst = appendMemberUnlessEmpty(dst, `,"request_id":`, f.RequestID)
	return append(dst, '}')
}

func appendMemberUnlessEmpty(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, name...)
	return jsonscan.AppendString(dst, value)
}

func appendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, "event: error\ndata: "...)
	dst = appendError(dst, f)
	return append(dst, eventEnd...)
}

// errorType is the dialect's word for a status.
func errorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

const (
	eventEnd     = "\n\n"
	stopEvent    = "event: message_stop\ndata: {\"type\":\"message_stop\"}" + eventEnd
	blockStopped = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"
)

// appendEnd appends what is missing of a proper end: the stop of a block that is open, a message_delta where no stop reason
// came (R17), and message_stop.
func appendEnd(dst []byte, p *wire.Progress) []byte {
	if p.Sequence > 0 && !p.SawFinish { // see judgeEvent
		dst = append(dst, blockStopped...)
		dst = strconv.AppendInt(dst, p.Sequence-1, 10)
		dst = append(dst, "}"+eventEnd...)
	}
	if p.SawContent && !p.SawFinish {
		stop := "end_turn"
		if p.SawTool {
			stop = "tool_use"
		}
		dst = appendMessageDelta(dst, stop, "", false, &p.Reply.Usage)
	}
	return append(dst, stopEvent...)
}

// appendMessageDelta appends the event that says how a message ended.
func appendMessageDelta(dst []byte, stop, sequence string, hasSequence bool, u *wire.Usage) []byte {
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"...)
	if stop == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsonscan.AppendString(dst, stop)
	}
	dst = append(dst, `,"stop_sequence":`...)
	if hasSequence {
		dst = jsonscan.AppendString(dst, sequence)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"stop_details":null,"container":null},"usage":{`...)
	dst = appendCounts(dst, u)
	return append(dst, "}}"+eventEnd...)
}

// detail is what an error says.
type detail struct{ kind, message string }

// readDetail reads an error body, or the value of an "error" member: an object with type and message, alone or under
// "error", or text; relays in front write FastAPI's "detail" too.
func readDetail(raw []byte) (d detail) {
	r := jsonscan.New(raw)
	d.read(&r, 0)
	if !r.End() {
		return detail{}
	}
	return d
}

// maxErrorNesting is how deep errors are looked for within errors.
const maxErrorNesting = 4

func (d *detail) read(r *jsonscan.Reader, level int) {
	if level > maxErrorNesting {
		r.Skip()
		return
	}
	if r.Kind() == jsonscan.String {
		d.message, _ = r.Text()
		return
	}
	if !r.Object() {
		return
	}
	var inner detail
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type", "code", "__type":
			kind, _ := r.Literal()
			if string(kind) != "error" && (d.kind == "" || string(key) == "type") {
				d.kind = string(kind)
			}
		case "message", "Message":
			d.message, _ = r.Text()
		case "error", "detail":
			inner.read(r, level+1)
		default:
			r.Skip()
		}
	}
	if inner.message != "" {
		d.message = inner.message
	}
	if inner.kind != "" {
		d.kind = inner.kind
	}
}

// fault is R14's; the provider's own table refines it by its code.
func (d detail) fault() *fault.Fault {
	if d.message == "" {
		d.message = "the upstream answered with an error that says nothing"
	}
	return &fault.Fault{Class: fault.Invalid, Code: d.kind, Message: d.message}
}

func readError(body []byte) (code, message string) {
	d := readDetail(body)
	if d.message == "" {
		return "", ""
	}
	return d.kind, d.message
}
