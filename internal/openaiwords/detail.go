package openaiwords

import (
	"bytes"
	"strconv"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
)

// detail is what an error says, gathered from whatever shape it has.
type detail struct {
	code, kind, word, number string // "code" as text, "type", Google's status or reason, "code" as a number
	message                  string
	status                   int
}

// maxErrorNesting is how deep errors are looked for within errors.
const maxErrorNesting = 6

// readDetail reads an error body, an error event, or the value of an "error" member. The shapes: an object with message,
// code and type, alone (vLLM, Mistral, Bedrock, Cohere, an error event of Responses) or under "error" (OpenAI, Anthropic,
// OpenRouter); text under "error" (xAI, Ollama); text or a list under "detail" (FastAPI); "errors"; a response object
// whose "error" it is; a list around all that (Gemini).
func readDetail(raw []byte) (d detail) {
	r := jsonscan.New(raw)
	d.read(&r, 0)
	if !r.End() {
		return detail{}
	}
	return d
}

func (d *detail) read(r *jsonscan.Reader, level int) {
	if level > maxErrorNesting {
		r.Skip()
		return
	}
	switch r.Kind() {
	case jsonscan.String:
		d.message, _ = r.Text()
	case jsonscan.Array:
		r.Array()
		for r.Elem() {
			if d.message != "" {
				r.Skip()
				continue
			}
			d.read(r, level+1)
		}
	case jsonscan.Object:
		d.readObject(r, level)
	case jsonscan.Number, jsonscan.Bool, jsonscan.Null, jsonscan.None:
		r.Skip()
	}
}

func (d *detail) readObject(r *jsonscan.Reader, level int) {
	var inner, raw detail // of "error" and its like, which says more than what stands around it; of metadata
	var place string
	var text bool // "error" is text: a word for the status, where there is a message too
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "message", "msg", "error_description":
			var m detail
			m.read(r, level+1)
			d.take(m)
		case "error":
			text = r.Kind() == jsonscan.String
			inner.read(r, level+1)
		case "errors", "detail", "response":
			inner.read(r, level+1)
		case "code":
			d.readCode(r)
		case "type", "error_type":
			if kind, _ := r.Literal(); string(kind) != "error" && !bytes.HasPrefix(kind, []byte("response.")) {
				d.kind = string(kind)
			}
		case "status":
			if r.Kind() == jsonscan.String {
				if word, _ := r.Text(); !isProgress(word) {
					d.word = word
				}
				continue
			}
			d.setStatus(r.Int())
		case "status_code", "http_code":
			d.setStatus(r.Int())
		case "details":
			readReason(r, &d.word)
		case "metadata":
			if r.Object() {
				for key, ok := r.Key(); ok; key, ok = r.Key() {
					if string(key) == "raw" {
						raw.message, _ = r.Text()
					} else {
						r.Skip()
					}
				}
			}
		case "loc":
			place = readPlace(r)
		default:
			r.Skip()
		}
	}
	if text && d.message != "" {
		d.take(detail{word: inner.message})
	} else if inner.message != "" {
		message := d.message
		d.message = ""
		d.take(inner)
		if d.message == "" {
			d.message = message
		}
	} else {
		d.take(inner)
	}
	if raw.message != "" { // OpenRouter: the words of the provider behind it
		if d.message != "" {
			d.message += ": "
		}
		d.message += raw.message
	}
	if place != "" && d.message != "" {
		d.message = place + ": " + d.message
	}
}

// isProgress knows the words for how far a response is, which say nothing of an error in it.
func isProgress(word string) bool {
	switch word {
	case "completed", "failed", "in_progress", "cancelled", "queued", "incomplete":
		return true
	}
	return false
}

// take fills from o what d lacks.
func (d *detail) take(o detail) {
	for _, f := range [...]struct{ to, from *string }{
		{&d.code, &o.code},
		{&d.kind, &o.kind},
		{&d.word, &o.word},
		{&d.number, &o.number},
		{&d.message, &o.message},
	} {
		if *f.to == "" {
			*f.to = *f.from
		}
	}
	if d.status == 0 {
		d.status = o.status
	}
}

// readCode reads a code that is a word, an HTTP status, or an HTTP status in quotes.
func (d *detail) readCode(r *jsonscan.Reader) {
	switch r.Kind() {
	case jsonscan.String:
		d.code, _ = r.Text()
		if n, err := strconv.ParseInt(d.code, 10, 32); err == nil {
			d.setStatus(n, true)
		}
	case jsonscan.Number:
		raw := r.Raw()
		d.number = string(raw)
		n := jsonscan.New(raw)
		d.setStatus(n.Int())
	case jsonscan.Object, jsonscan.Array, jsonscan.Bool, jsonscan.Null, jsonscan.None:
		r.Skip()
	}
}

func (d *detail) setStatus(n int64, ok bool) {
	if ok && n >= 400 && n <= 599 {
		d.status = int(n)
	}
}

// readReason finds Google's reason, such as API_KEY_INVALID, which is more exact than its status.
func readReason(r *jsonscan.Reader, word *string) {
	if !r.Array() {
		return
	}
	for r.Elem() {
		if !r.Object() {
			continue
		}
		for key, ok := r.Key(); ok; key, ok = r.Key() {
			if string(key) != "reason" {
				r.Skip()
				continue
			}
			if reason, ok := r.Text(); ok && reason != "" {
				*word = reason
			}
		}
	}
}

// readPlace reads FastAPI's place of a mistake: ["body", "messages", 0].
func readPlace(r *jsonscan.Reader) (place string) {
	if !r.Array() {
		return ""
	}
	for r.Elem() {
		var part string
		if r.Kind() == jsonscan.String {
			part, _ = r.Text()
		} else {
			part = string(r.Raw())
		}
		if place != "" {
			place += "."
		}
		place += part
	}
	return place
}

// name is the code if it is a word, else the type, else what else there is.
func (d *detail) name() string {
	for _, s := range [...]string{d.code, d.kind, d.word} {
		if s != "" {
			return s
		}
	}
	return d.number
}

// fault is Invalid (R14), or Upstream where the error says a 5xx of itself; the provider's own table refines it by its
// code and status.
func (d *detail) fault() *fault.Fault {
	f := &fault.Fault{Class: fault.Invalid, Status: d.status, Code: d.name(), Message: d.message}
	if d.status >= 500 {
		f.Class = fault.Upstream
	}
	if f.Message == "" {
		f.Message = "the upstream answered with an error that says nothing"
	}
	return f
}

// FaultOf is the fault that an error is, in any shape: an error body, an error event, or the value of an "error" member.
func FaultOf(raw []byte) *fault.Fault {
	d := readDetail(raw)
	return d.fault()
}

// FaultIn is the fault that a text without an answer in it is, nil if it is no error either.
func FaultIn(raw []byte) *fault.Fault {
	if d := readDetail(raw); d.message != "" {
		return d.fault()
	}
	return nil
}

// ReadError reads an error body: its code, or else its type, and its message; empty if it is none.
func ReadError(body []byte) (code, message string) {
	d := readDetail(body)
	if d.message == "" {
		return "", ""
	}
	return d.name(), d.message
}

// ErrorValue reads the value of an "error" member: nil if it says that there is none.
func ErrorValue(r *jsonscan.Reader) []byte {
	kind := r.Kind()
	raw := r.Raw()
	switch kind {
	case jsonscan.Object, jsonscan.Array, jsonscan.Number:
		return raw
	case jsonscan.String:
		if len(raw) > len(`""`) {
			return raw
		}
	case jsonscan.Bool:
		if string(raw) == "true" {
			return raw
		}
	case jsonscan.Null, jsonscan.None:
	}
	return nil
}
