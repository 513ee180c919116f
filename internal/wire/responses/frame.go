package responses

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/openaiwords"
)

// frame is one stream event, read in one pass. Its slices are raw JSON values that point into the event's data, nil where
// the event has none of it.
type frame struct {
	kind []byte // "type", unescaped

	response, item, part, annotation, logprobs []byte
	// delta is what is new; text is all of it, of the events that end a part (text, arguments, input, refusal, code).
	delta, text []byte
	failure     []byte // "error"

	output, content, summary int64 // indices
	sequence                 int64 // -1: unsaid
}

// read reads an event and says whether it was an object, which it may be and yet end in an error.
func (f *frame) read(r *jsonscan.Reader) bool {
	f.sequence = -1
	if !r.Object() {
		return false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			f.kind, _ = r.Literal()
		case "delta", "partial_image_b64":
			f.delta = r.Raw()
		case "text", "arguments", "input", "refusal", "code":
			f.text = r.Raw() // an error event's code too
		case "sequence_number":
			if n, ok := r.Int(); ok {
				f.sequence = n
			}
		case "output_index":
			f.output = index(r)
		case "content_index":
			f.content = index(r)
		case "summary_index":
			f.summary = index(r)
		case "logprobs":
			f.logprobs = r.Raw()
		case "response":
			f.response = r.Raw()
		case "item":
			f.item = r.Raw()
		case "part":
			f.part = r.Raw()
		case "annotation":
			f.annotation = r.Raw()
		case "error":
			f.failure = openaiwords.ErrorValue(r)
		default:
			r.Skip()
		}
	}
	return true
}

// maxIndex bounds the places of items and parts, so that two of them make one key.
const maxIndex = 1<<16 - 1

func index(r *jsonscan.Reader) int64 {
	n, _ := r.Int()
	return min(max(n, 0), maxIndex)
}

// says tells whether a raw value is text that is not empty, or holds something.
func says(raw []byte) bool { return len(raw) > 2 && raw[0] != 'n' && raw[0] != 'f' }

func has(kind []byte, end string) bool { return bytes.HasSuffix(kind, []byte(end)) }
