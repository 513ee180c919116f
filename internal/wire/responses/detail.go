package responses

import (
	"strconv"
	"strings"

	"evergate/internal/fault"
	"evergate/internal/jsonscan"
)

// detail is what an error says, gathered from whatever shape it has.
type detail struct {
	code, kind, number string // "code" as text, "type", "code" as a number
	message            string
	status             int
}

// maxErrorNesting is how deep errors are looked for within errors.
const maxErrorNesting = 6

// readDetail reads an error body, an error event, or the value of an "error" member. The shapes: an object with message,
// code and type, alone (vLLM, the stream's error event) or under "error" (OpenAI, OpenRouter); text under "error" beside a
// code (xAI); text or a list under "detail" (FastAPI); a response object whose "error" it is; a list around all that.
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
	var inner detail
	var behind, place string
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "message", "msg":
			var m detail
			m.read(r, level+1)
			d.take(&m)
		case "error", "detail", "errors", "response":
			var e detail
			e.read(r, level+1)
			inner.take(&e)
		case "code":
			d.readCode(r)
		case "type":
			if kind, _ := r.Literal(); len(kind) > 0 && string(kind) != "error" && !strings.HasPrefix(string(kind), "response.") {
				d.kind = string(kind)
			}
		case "status", "status_code":
			if r.Kind() == jsonscan.Number {
				d.setStatus(r.Int())
				continue
			}
			r.Skip()
		case "metadata":
			behind = readRaw(r)
		case "loc":
			place = readPlace(r)
		default:
			r.Skip()
		}
	}
	if inner.message != "" { // says more than what stands around it
		message := d.message
		d.message = ""
		d.take(&inner)
		if d.message == "" {
			d.message = message
		}
	} else {
		d.take(&inner)
	}
	if behind != "" { // OpenRouter: the words of the provider behind it
		if d.message != "" {
			d.message += ": "
		}
		d.message += behind
	}
	if place != "" && d.message != "" {
		d.message = place + ": " + d.message
	}
}

// take fills from o what d lacks.
func (d *detail) take(o *detail) {
	for _, f := range [...]struct{ to, from *string }{
		{&d.code, &o.code},
		{&d.kind, &o.kind},
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

// readRaw reads the member raw of an object.
func readRaw(r *jsonscan.Reader) (text string) {
	if !r.Object() {
		return ""
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == "raw" {
			text, _ = r.Text()
		} else {
			r.Skip()
		}
	}
	return text
}

// readPlace reads FastAPI's place of a mistake: ["body", "input", 0].
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
	for _, s := range [...]string{d.code, d.kind} {
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

// faultOf is the fault that an error is, in any of readDetail's shapes.
func faultOf(raw []byte) *fault.Fault {
	d := readDetail(raw)
	return d.fault()
}

// bareFault is the error that a text without an answer is, nil if it is none.
func bareFault(raw []byte) *fault.Fault {
	if d := readDetail(raw); d.message != "" {
		return d.fault()
	}
	return nil
}

func readError(body []byte) (code, message string) {
	d := readDetail(body)
	if d.message == "" {
		return "", ""
	}
	return d.name(), d.message
}

// errorValue reads the value of an "error" member: nil if it says that there is none.
func errorValue(r *jsonscan.Reader) []byte {
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
