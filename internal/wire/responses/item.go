package responses

import "evergate/internal/jsonscan"

// item is one input or output item, its members as raw JSON that points into the text; nil where there is none.
type item struct {
	raw  []byte
	kind []byte // "type", unescaped

	id, role, callID, name, arguments, input, result []byte
	content, output, summary, encrypted, tools       []byte
	phase, namespace                                 []byte
}

// shape is what an item means to the canonical model.
type shape uint8

const (
	otherShape     shape = iota // a vendor's own
	messageShape                // message, also without a type
	reasoningShape              // reasoning
	callShape                   // function_call
	customShape                 // custom_tool_call
	callOutput                  // function_call_output
	customOutput                // custom_tool_call_output
	referenceShape              // item_reference, also without a type
	moreTools                   // additional_tools
)

// readItem reads one item; raw must be valid.
func readItem(raw []byte) item {
	r := jsonscan.Again(raw)
	return nextItem(&r, raw)
}

// nextItem reads the item that comes next in the text that r reads.
func nextItem(r *jsonscan.Reader, text []byte) (it item) {
	r.Kind() // stands on the value now
	from := r.Offset()
	if r.Object() {
		it.read(r)
	}
	it.raw = text[from:r.Offset()]
	return it
}

// read reads the members.
func (it *item) read(r *jsonscan.Reader) {
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		var to *[]byte
		switch string(key) {
		case "type":
			it.kind, _ = r.Literal()
			continue
		case "id":
			to = &it.id
		case "role":
			to = &it.role
		case "call_id":
			to = &it.callID
		case "name":
			to = &it.name
		case "arguments":
			to = &it.arguments
		case "input":
			to = &it.input
		case "result":
			to = &it.result
		case "content":
			to = &it.content
		case "output":
			to = &it.output
		case "summary":
			to = &it.summary
		case "encrypted_content":
			to = &it.encrypted
		case "tools":
			to = &it.tools
		case "phase":
			to = &it.phase
		case "namespace":
			to = &it.namespace
		default:
			r.Skip()
			continue
		}
		if value := r.Raw(); string(value) != "null" {
			*to = value
		}
	}
}

func (it *item) shape() shape {
	switch string(it.kind) {
	case "message":
		return messageShape
	case "reasoning":
		return reasoningShape
	case "function_call":
		return callShape
	case "custom_tool_call":
		return customShape
	case "function_call_output":
		return callOutput
	case "custom_tool_call_output":
		return customOutput
	case "item_reference":
		return referenceShape
	case "additional_tools":
		return moreTools
	case "":
		if it.role != nil {
			return messageShape
		}
		if it.id != nil && it.content == nil {
			return referenceShape
		}
	}
	return otherShape
}

// call gives the id by which a call and its output belong together.
func (it *item) call() string {
	if it.callID == nil {
		return text(it.id)
	}
	return text(it.callID)
}

// text is the text of a raw string; empty if it is none.
func text(raw []byte) string { return jsonscan.TextOf(inside(raw)) }

// written is the text of a raw string, or a raw value of another kind as it stands: some send objects for texts.
func written(raw []byte) string {
	if len(raw) > 0 && raw[0] != '"' {
		return string(raw)
	}
	return text(raw)
}

// part is one part of a message's, a summary's or a tool output's content, as raw JSON.
type part struct {
	kind []byte // unescaped

	text, refusal, annotations, logprobs                                 []byte
	imageURL, fileID, detail, fileData, fileURL, filename, audio, marker []byte
}

// readPart reads one part; raw must be valid. A bare string counts as a text.
func readPart(raw []byte) (p part) {
	r := jsonscan.Again(raw)
	if r.Kind() == jsonscan.String {
		p.kind, p.text = []byte("input_text"), r.Raw()
		return p
	}
	if !r.Object() {
		return p
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		var to *[]byte
		switch string(key) {
		case "type":
			p.kind, _ = r.Literal()
			continue
		case "text":
			to = &p.text
		case "refusal":
			to = &p.refusal
		case "annotations":
			to = &p.annotations
		case "logprobs":
			to = &p.logprobs
		case "image_url":
			to = &p.imageURL
		case "file_id":
			to = &p.fileID
		case "detail":
			to = &p.detail
		case "file_data":
			to = &p.fileData
		case "file_url":
			to = &p.fileURL
		case "filename":
			to = &p.filename
		case "input_audio":
			to = &p.audio
		case "prompt_cache_breakpoint":
			to = &p.marker
		default:
			r.Skip()
			continue
		}
		if value := r.Raw(); string(value) != "null" {
			*to = value
		}
	}
	return p
}

// elements gives each element of a raw array; one value that is no array is the only one.
func elements(raw []byte, yield func([]byte)) {
	r := jsonscan.Again(raw)
	switch {
	case r.Kind() == jsonscan.Null, r.Kind() == jsonscan.None:
	case r.Array():
		for r.Elem() {
			yield(r.Raw())
		}
	default:
		yield(raw)
	}
}
