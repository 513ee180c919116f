package guardrail

import (
	"bytes"
	"slices"

	"evergate/internal/jsonscan"
)

// document is a JSON body and the texts in it: every string, whatever member has it, so that no dialect can have one that is
// forgotten. What is left alone is the model's name, what a vendor sealed, and what is coded in base64.
type document struct {
	body  []byte
	texts []Text
	marks []mark // one for each text
}

// mark is where a text stands in the body, its quotes included, and what was there.
type mark struct {
	from, to int
	was      []byte
}

// What is taken for coded bytes, in members that have such: this many characters of base64 and nothing else.
const (
	leastCoded  = 512
	leastSealed = 40
	leastDigits = 9 // of a number that is looked at
)

// read finds the texts of a body; of one that is not valid JSON, those before that is known.
func read(body []byte) *document { return readAt(body, 0) }

// readArguments is read for what has no settings of its own and names no model.
func readArguments(body []byte) *document { return readAt(body, 2) }

func readAt(body []byte, level int) *document {
	d := &document{body: body}
	r := jsonscan.New(body)
	d.value(&r, "", level)
	return d
}

// value reads one value of a member; level counts what it lies in.
func (d *document) value(r *jsonscan.Reader, name string, level int) {
	switch r.Kind() {
	case jsonscan.Object:
		if !r.Object() {
			return
		}
		for {
			before := r.Offset()
			key, ok := r.Key()
			if !ok {
				return
			}
			d.key(key, before)
			d.value(r, inner(name, key, r.Kind()), level+1)
		}
	case jsonscan.Array:
		if !r.Array() {
			return
		}
		for r.Elem() {
			d.value(r, name, level+1)
		}
	case jsonscan.String:
		from := r.Offset()
		raw, ok := r.RawString()
		if ok && len(raw) > 0 && !(level == 1 && name == "model") {
			d.text(raw, from, r.Offset(), name)
		}
	case jsonscan.Number:
		from, to := r.Skip()
		if to-from >= leastDigits && level > 1 && name != "generationConfig" && name != "generation_config" && whole10(d.body[from:to]) {
			d.add(Number, d.body[from:to], from, to)
		}
	default:
		r.Skip()
	}
}

// toolData is the name of all that lies in what a tool is called with, or gave back: its members are the tool's own, whatever they are called.
const toolData = "\x00"

// inner is the name of a member as its values see it: settings keep the name of their object, so that they are told from data, and so does a tool's data.
func inner(outer string, key []byte, kind jsonscan.Kind) string {
	switch outer {
	case "generationConfig", "generation_config", toolData:
		return outer
	}
	if kind == jsonscan.Object {
		switch string(key) {
		case "input", "args", "arguments", "response", "metadata":
			return toolData
		}
	}
	return string(key)
}

// whole10 says whether a number is a whole one, a sign and a fraction of nothing aside.
func whole10(digits []byte) bool {
	digits = bytes.TrimPrefix(digits, []byte("-"))
	if i := bytes.IndexByte(digits, '.'); i > 0 && len(bytes.Trim(digits[i:], ".0")) == 0 {
		digits = digits[:i]
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// text adds a string.
func (d *document) text(raw []byte, from, to int, name string) {
	if coded(raw, name) {
		return
	}
	value := raw
	if bytes.IndexByte(raw, '\\') >= 0 {
		value = jsonscan.AppendUnescaped(nil, raw)
	}
	kind := Words
	switch {
	case name == "arguments":
		kind = Arguments
	case slices.Contains(labels, name):
		kind = Label
	}
	d.add(kind, value, from, to)
}

// key adds a member's name, if it is no plain word.
func (d *document) key(key []byte, before int) {
	plainWord := len(key) <= 64
	for _, c := range key {
		plainWord = plainWord && (c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_')
	}
	if plainWord {
		return
	}
	from := before + bytes.IndexByte(d.body[before:], '"')
	d.add(Label, key, from, jsonscan.StringEnd(d.body, from+1)+1)
}

func (d *document) add(kind Kind, value []byte, from, to int) {
	d.texts = append(d.texts, Text{kind, value})
	d.marks = append(d.marks, mark{from, to, value})
}

// labels are names of members whose values are part of a request's form and never words.
//
//nolint:gochecknoglobals // a constant in all but type
var labels = []string{
	"type", "role", "id", "object", "status", "name", "model", "call_id", "tool_call_id", "tool_use_id", "item_id", "response_id", "previous_response_id",
	"file_id", "container", "effort", "format", "detail", "media_type", "mime_type", "mimeType", "service_tier", "tool_choice", "finish_reason", "stop_reason", "ttl",
	"mode", "phase", "encoding_format", "task_type", "taskType", "input_type", "truncation", "voice", "quality", "size", "style", "background", "response_format",
	"signature", "thoughtSignature", "thought_signature", "encrypted_content", "url", "uri", "fileUri", "file_uri", "include", "modalities", "responseModalities", "required",
}

// coded says whether a string is base64 and nothing else, or a data URL of it: pictures, sound, seals. Rules do not look into it.
func coded(raw []byte, name string) bool {
	least := leastCoded
	switch name {
	case "signature", "thoughtSignature", "thought_signature", "encrypted_content":
		least = leastSealed
	case "data", "b64_json", "file_data", "bytesBase64Encoded":
	default:
		if !bytes.HasPrefix(raw, []byte("data:")) {
			return false
		}
	}
	if len(raw) < least {
		return false
	}
	if bytes.HasPrefix(raw, []byte("data:")) {
		if i := bytes.Index(raw[:min(len(raw), 200)], []byte(";base64,")); i > 0 {
			raw = raw[i+len(";base64,"):]
		}
	}
	for _, c := range raw {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '=' && c != '-' && c != '_' && c != '\\' {
			return false
		}
	}
	return true
}

// changed says whether any text is another one now.
func (d *document) changed() bool {
	for i := range d.texts {
		if !bytes.Equal(d.texts[i].Value, d.marks[i].was) {
			return true
		}
	}
	return false
}

// append appends the body with the texts as they are now. A number that was replaced is a string.
func (d *document) append(dst []byte) []byte {
	done := 0
	for i := range d.texts {
		m := &d.marks[i]
		if bytes.Equal(d.texts[i].Value, m.was) {
			continue
		}
		dst = append(dst, d.body[done:m.from]...)
		dst = jsonscan.AppendText(dst, d.texts[i].Value)
		done = m.to
	}
	return append(dst, d.body[done:]...)
}
