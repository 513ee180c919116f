package openaichat

import (
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

// readDetail reads an error body, or the value of an "error" member. The shapes: an object with message, code and
// type, alone (vLLM, Mistral, Bedrock, Cohere) or under "error" (OpenAI, Anthropic); text under "error" (xAI, Ollama);
// text or a list under "detail" (FastAPI); "errors"; a list around all that (Gemini).
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
		case "errors", "detail":
			inner.read(r, level+1)
		case "code":
			d.readCode(r)
		case "type", "error_type":
			if kind, _ := r.Literal(); string(kind) != "error" {
				d.kind = string(kind)
			}
		case "status":
			if r.Kind() == jsonscan.String {
				d.word, _ = r.Text()
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

// faultOf is the fault that the value of an "error" member is.
func faultOf(raw []byte) *fault.Fault {
	d := readDetail(raw)
	return d.fault()
}

func failedFinish(finish []byte) *fault.Fault {
	return &fault.Fault{
		Class: fault.Invalid, Code: string(finish),
		Message: "the upstream broke the answer off with finish_reason " + strconv.Quote(string(finish)),
	}
}

func readError(body []byte) (code, message string) {
	d := readDetail(body)
	if d.message == "" {
		return "", ""
	}
	return d.name(), d.message
}
