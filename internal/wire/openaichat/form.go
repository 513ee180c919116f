package openaichat

import (
	"bytes"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/wire"
)

// ReadForm reads the model, and whether a stream is wanted, from a form. Files are passed over by their bounds, never looked
// into.
func (f Form) ReadForm(body []byte, contentType string) (wire.Request, error) {
	q := wire.Request{Body: body, ContentType: contentType}
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return q, err
	}
	var named wire.Naming
	_, err = eachField(body, boundary, func(at *field) error {
		if at.file && string(at.name) != "model" {
			return nil
		}
		value := string(body[at.value.From:min(at.value.To, at.value.From+longestValue)])
		switch string(at.name) {
		case "model":
			if at.file || at.encoded || strings.ContainsAny(value, "\r\n") { // else a name could pass for the rest of the form
				return &wire.RequestError{Param: "model", Message: `"model" must be plain text of one line`}
			}
			q.Spans.Again = q.Spans.Again || named.Model != jsonscan.None
			q.Model, q.Spans.Model, named.Model = value, at.value, jsonscan.String
		case "stream":
			q.Stream = strings.EqualFold(value, "true") || value == "1"
		case "response_format":
			q.Raw = f.raw && plainFormat(value)
		case "n":
			n, _ := strconv.Atoi(value)
			q.Choices = min(max(n, 0), 64)
		default:
			named.Other(at.name)
		}
		return nil
	})
	if err != nil {
		return q, err
	}
	if named.Silent() && f.model == "" && named.Unlike() == nil {
		return q, &wire.RequestError{Param: "model", Message: `"model" is missing: name the model to use, such as ` + f.example()}
	}
	return q, f.settle(&q, &named, "")
}

// longestValue is how much of a field is read; no name of a model is longer.
const longestValue = 64 << 10

// AppendRequest changes the model's field, and sets what the target overrides as fields of their own. Everything else is
// copied, files included.
func (f Form) AppendRequest(dst []byte, r *wire.Request, w wire.Rewrite) []byte {
	if r.ContentType == "" {
		return f.Aside.AppendRequest(dst, r, w)
	}
	if w.Model == "" {
		w.Model = r.Model
	}
	if len(w.Params) == 0 && !r.Spans.Again {
		at := r.Spans.Model
		if w.Model == r.Model {
			return r.Body
		}
		dst = append(dst, r.Body[:at.From]...)
		dst = append(dst, w.Model...)
		return append(dst, r.Body[at.To:]...)
	}
	boundary, _ := boundaryOf(r.ContentType) // it was read before
	copied := 0
	end, _ := eachField(r.Body, boundary, func(at *field) error {
		switch {
		case at.file:
		case string(at.name) == "model":
			dst = append(dst, r.Body[copied:at.value.From]...)
			dst = append(dst, w.Model...)
			copied = at.value.To
		case overridden(w.Params, string(at.name)):
			dst = append(dst, r.Body[copied:at.from]...)
			copied = at.to
		}
		return nil
	})
	dst = append(dst, r.Body[copied:end]...)
	for i := range w.Params {
		if overridden(w.Params[i:i+1], w.Params[i].Name) && !overridden(w.Params[i+1:], w.Params[i].Name) {
			dst = appendField(dst, boundary, w.Params[i])
		}
	}
	return append(dst, r.Body[end:]...)
}

// overridden says whether a target sets a field. One that is named model or stream has no say.
func overridden(params []wire.Param, name string) bool {
	for i := range params {
		if params[i].Name == name {
			return name != "model" && name != "stream"
		}
	}
	return false
}

// appendField appends a parameter as a field: text as it is, every other value as its JSON.
func appendField(dst []byte, boundary string, p wire.Param) []byte {
	dst = append(dst, "--"+boundary+"\r\nContent-Disposition: form-data; name="...)
	dst = jsonscan.AppendString(dst, p.Name)
	dst = append(dst, "\r\n\r\n"...)
	r := jsonscan.New(p.Value)
	if text, ok := r.Text(); ok {
		dst = append(dst, text...)
	} else {
		dst = append(dst, p.Value...)
	}
	return append(dst, "\r\n"...)
}

// field is one part of a form, as places in its body.
type field struct {
	name     []byte
	file     bool // it has a file's name
	encoded  bool // its value is not as it stands there
	value    wire.Span
	from, to int // from its delimiter to that of the next one
}

// eachField calls do for each part and gives where the closing delimiter stands. Whatever two parsers could read in two ways
// is refused: a form must not say one model here and another one upstream. The error is do's, or a *wire.RequestError.
func eachField(body []byte, boundary string, do func(*field) error) (end int, err error) {
	delimiter := []byte("\n--" + boundary)
	if bytes.Contains(body, []byte("\r--"+boundary)) { // some end a line there
		return 0, &wire.RequestError{Message: "the form is malformed: a boundary stands behind half a line's end"}
	}
	at, next, last := 0, 0, false
	if bytes.HasPrefix(body, delimiter[1:]) {
		next, last = afterDelimiter(body, len(delimiter)-1)
	} else {
		at, next, last = findDelimiter(body, 0, delimiter)
	}
	if len(bytes.TrimSpace(body[:at])) > 0 {
		return 0, &wire.RequestError{Message: "the form is malformed: there is something before its first part"}
	}
	crlf := endsCRLF(body, next)
	for next > 0 && !last {
		f := field{from: at}
		if f.value.From, err = f.readHead(body, next); err != nil {
			return 0, err
		}
		at, next, last = findDelimiter(body, f.value.From-1, delimiter)
		if next == 0 {
			break
		}
		if endsCRLF(body, at) != crlf || endsCRLF(body, next) != crlf && next < len(body) {
			return 0, &wire.RequestError{Message: "the form is malformed: its lines end in two ways"}
		}
		f.to, f.value.To = at, at-1 // before the line's end
		if f.value.To > 0 && body[f.value.To-1] == '\r' {
			f.value.To--
		}
		f.value.To = max(f.value.To, f.value.From)
		if err := do(&f); err != nil {
			return 0, err
		}
	}
	if next == 0 {
		return 0, &wire.RequestError{Message: "the form breaks off: its closing boundary is missing"}
	}
	if len(bytes.TrimSpace(body[next:])) > 0 {
		return 0, &wire.RequestError{Message: "the form is malformed: it goes on behind its closing boundary"}
	}
	return at, nil
}

// endsCRLF says whether the line before a place ends with a carriage return and a line feed.
func endsCRLF(body []byte, at int) bool { return at > 1 && body[at-2] == '\r' }

// findDelimiter finds the next delimiter, which begins a line; next is 0 if there is none.
func findDelimiter(body []byte, from int, delimiter []byte) (at, next int, last bool) {
	for {
		i := bytes.Index(body[from:], delimiter)
		if i < 0 {
			return 0, 0, false
		}
		if next, last = afterDelimiter(body, from+i+len(delimiter)); next > 0 {
			return from + i + 1, next, last
		}
		from += i + 1
	}
}

// afterDelimiter reads the rest of a delimiter's line: two dashes at the last one, and blanks. next is 0 if there is anything
// else, which makes it no delimiter.
func afterDelimiter(body []byte, at int) (next int, last bool) {
	if last = bytes.HasPrefix(body[at:], []byte("--")); last {
		at += 2
	}
	for at < len(body) && (body[at] == ' ' || body[at] == '\t') {
		at++
	}
	if at < len(body) && body[at] == '\r' {
		at++
	}
	switch {
	case at < len(body) && body[at] == '\n':
		return at + 1, last
	case at == len(body) && last:
		return at, true
	}
	return 0, false
}

// readHead reads the headers of a part and gives where its value begins.
func (f *field) readHead(body []byte, at int) (value int, err error) {
	malformed := &wire.RequestError{Message: "the form is malformed: a part's headers cannot be read"}
	for first := true; ; first = false {
		n := bytes.IndexByte(body[at:], '\n')
		if n < 0 || n > longestValue {
			return 0, malformed
		}
		line := bytes.TrimSuffix(body[at:at+n], []byte("\r"))
		at += n + 1
		if len(line) == 0 {
			if first {
				return 0, malformed
			}
			return at, nil
		}
		name, content, ok := bytes.Cut(line, []byte(":"))
		if !ok || line[0] == ' ' || line[0] == '\t' || bytes.IndexByte(line, '\r') >= 0 { // a line that goes on with the one before is not written any more
			return 0, malformed
		}
		switch strings.ToLower(string(bytes.TrimSpace(name))) {
		case "content-disposition":
			if f.name != nil || !f.readDisposition(content) {
				return 0, malformed
			}
		case "content-transfer-encoding":
			f.encoded = true
		}
	}
}

// readDisposition reads the names of a part and of its file; false: they could be read in two ways.
func (f *field) readDisposition(content []byte) bool {
	return eachParam(content, func(name string, value []byte) bool {
		switch name {
		case "name":
			if f.name != nil || bytes.ContainsAny(value, `"\`) {
				return false
			}
			f.name = append([]byte{}, value...)
		case "filename", "filename*":
			f.file = true
		default: // RFC 2231 knows a name in pieces
			return !strings.HasPrefix(name, "name*") && !strings.HasPrefix(name, "filename*")
		}
		return true
	})
}

// eachParam goes over the parameters of a header's value (after the first semicolon), names in lower case, quotes taken off;
// false: it is malformed, or do said so. Quotes stand around values alone: some would look for the next semicolon behind others.
func eachParam(content []byte, do func(name string, value []byte) bool) bool {
	i := bytes.IndexByte(content, ';')
	if i >= 0 && bytes.IndexByte(content[:i], '"') >= 0 {
		return false
	}
	for i >= 0 && i < len(content) {
		content = bytes.TrimLeft(content[i+1:], " \t")
		if len(content) == 0 {
			return true
		}
		name, rest, ok := bytes.Cut(content, []byte("="))
		if !ok || bytes.ContainsAny(name, `"\;`) {
			return false
		}
		rest = bytes.TrimLeft(rest, " \t")
		var value []byte
		if len(rest) > 0 && rest[0] == '"' {
			at := 1
			for ; at < len(rest) && rest[at] != '"'; at++ {
				// A backslash escapes these alone: some send the names of Windows' files as they are.
				if rest[at] == '\\' && at+1 < len(rest) && (rest[at+1] == '"' || rest[at+1] == '\\') {
					at++
				}
				value = append(value, rest[at])
			}
			if at >= len(rest) {
				return false
			}
			rest = bytes.TrimLeft(rest[at+1:], " \t")
			if len(rest) > 0 && rest[0] != ';' {
				return false
			}
			content, i = rest, 0
			if len(rest) == 0 {
				i = -1
			}
		} else {
			content, i = rest, bytes.IndexByte(rest, ';')
			value = rest
			if i >= 0 {
				value = rest[:i]
			}
			if value = bytes.TrimSpace(value); bytes.IndexByte(value, '"') >= 0 {
				return false
			}
		}
		if !do(strings.ToLower(string(bytes.TrimSpace(name))), value) {
			return false
		}
	}
	return true
}

// boundaryOf is the boundary of a form's content type. The error is a *wire.RequestError.
func boundaryOf(contentType string) (string, error) {
	boundary, times := "", 0
	whole := eachParam([]byte(contentType), func(name string, value []byte) bool {
		if name == "boundary" {
			boundary = string(value)
			times++
		}
		return !strings.HasPrefix(name, "boundary*") // nor in pieces
	})
	if !whole || times != 1 || boundary == "" || len(boundary) > 200 || strings.ContainsAny(boundary, "\r\n\\\"") || strings.TrimSpace(boundary) != boundary {
		return "", &wire.RequestError{Message: "the content type names no boundary: send multipart/form-data; boundary=…, as every HTTP library does"}
	}
	return boundary, nil
}
