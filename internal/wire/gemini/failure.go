package gemini

import (
	"strconv"
	"strings"
	"time"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

const (
	eventStart = "data: "
	eventEnd   = "\n\n"
	errorInfo  = "type.googleapis.com/google.rpc.ErrorInfo"
	domain     = "evergate"
)

// detail is what an error says.
type detail struct {
	status                int // HTTP, 0: unsaid
	word, reason, message string
	wait                  fault.Wait
}

// maxErrorNesting is how deep errors are looked for within errors.
const maxErrorNesting = 4

// readDetail reads an error body, the value of an "error" member, or a list of either (what a stream without alt=sse
// answers). ok is false if it is none of these.
func readDetail(raw []byte) (d detail, ok bool) {
	r := jsonscan.New(raw)
	d.read(&r, 0)
	return d, r.End() && (d.message != "" || d.word != "" || d.reason != "")
}

func (d *detail) read(r *jsonscan.Reader, level int) {
	switch r.Kind() {
	case jsonscan.String:
		d.message, _ = r.Text()
	case jsonscan.Array:
		r.Array()
		for r.Elem() {
			if d.message != "" || level > maxErrorNesting {
				r.Skip()
				continue
			}
			d.read(r, level+1)
		}
	case jsonscan.Object:
		r.Object()
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "error":
				if level > maxErrorNesting {
					r.Skip()
					continue
				}
				d.read(r, level+1)
			case "code":
				if n, ok := r.Int(); ok && n >= 400 && n <= 599 {
					d.status = int(n)
				}
			case "message":
				if text, _ := r.Text(); text != "" {
					d.message = text
				}
			case "status":
				if text, _ := r.Text(); text != "" {
					d.word = text
				}
			case "details":
				d.readDetails(r)
			default:
				r.Skip()
			}
		}
	case jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.None:
		r.Skip()
	}
}

// readDetails finds the reason, such as API_KEY_INVALID, which is more exact than the status, and how long to wait.
func (d *detail) readDetails(r *jsonscan.Reader) {
	if !r.Array() {
		return
	}
	for r.Elem() {
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			switch string(key) {
			case "reason":
				if text, _ := r.Text(); text != "" && d.reason == "" {
					d.reason = text
				}
			case "retryDelay":
				text, _ := r.Text()
				if wait, err := time.ParseDuration(text); err == nil && wait >= 0 {
					d.wait = fault.Wait{For: wait, Named: true}
				}
			default:
				r.Skip()
			}
		}
	}
}

// name is the code that stands for the error: the reason, else the status word.
func (d *detail) name() string {
	switch {
	case d.reason != "":
		return d.reason
	case d.word != "":
		return d.word
	case d.status != 0:
		return strconv.Itoa(d.status)
	}
	return ""
}

// fault is Invalid (R14), or Upstream where the error says a 5xx of itself; the provider's own table refines it.
func (d *detail) fault() *fault.Fault {
	f := &fault.Fault{Class: fault.Invalid, Status: d.status, Code: d.name(), Message: d.message, Wait: d.wait}
	if d.status >= 500 {
		f.Class = fault.Upstream
	}
	if f.Message == "" {
		f.Message = "the upstream answered with an error that says nothing"
	}
	return f
}

// arrayFault is the fault that a list of errors is, nil if it is none.
func arrayFault(raw []byte) *fault.Fault {
	if d, ok := readDetail(raw); ok {
		return d.fault()
	}
	return nil
}

func readError(body []byte) (code, message string) {
	d, ok := readDetail(body)
	if !ok || d.message == "" {
		return "", ""
	}
	return d.name(), d.message
}

// appendError appends a google.rpc error. SDKs want "error" to come first and its code to be an HTTP status.
func appendError(dst []byte, f wire.Failure) []byte {
	status := f.Status
	if status < 400 || status > 599 {
		status = 500
	}
	out := list{dst: append(dst, `{"error":{`...)}
	out.number("code", int64(status))
	out.text("message", f.Message)
	out.text("status", statusWord(status))
	if f.Code != "" || f.Param != "" || f.RequestID != "" || len(f.Attempts) > 0 {
		out.open("details", '[')
		out.next()
		info := list{dst: append(out.dst, '{')}
		info.text("@type", errorInfo)
		if f.Code != "" {
			info.text("reason", strings.ToUpper(f.Code))
		}
		info.text("domain", domain)
		if f.Param != "" || f.RequestID != "" {
			info.open("metadata", '{')
			if f.Param != "" {
				info.text("param", f.Param)
			}
			if f.RequestID != "" {
				info.text("request_id", f.RequestID)
			}
			info.close('}')
		}
		if len(f.Attempts) > 0 {
			info.key("attempts")
			info.dst = wire.AppendAttempts(info.dst, f.Attempts)
		}
		out.dst = append(info.dst, '}')
		out.close(']')
	}
	return append(out.dst, "}}"...)
}

func appendStreamError(dst []byte, f wire.Failure) []byte {
	dst = append(dst, eventStart...)
	dst = appendError(dst, f)
	return append(dst, eventEnd...)
}

// statusWord is google.rpc.Code's word for an HTTP status.
func statusWord(status int) string {
	switch status {
	case 401:
		return "UNAUTHENTICATED"
	case 402, 403:
		return "PERMISSION_DENIED"
	case 404:
		return "NOT_FOUND"
	case 409:
		return "ABORTED"
	case 429:
		return "RESOURCE_EXHAUSTED"
	case 499:
		return "CANCELLED"
	case 501:
		return "UNIMPLEMENTED"
	case 502, 503, 529:
		return "UNAVAILABLE"
	case 504:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
