package wire

import "bytes"

// Hints are what a request may ask for beyond text, as bits. A hint is a word that stood where JSON may have it, which
// may have been text; what is not hinted at is not asked for.
type Hints uint8

// The hints.
const (
	HintsImage Hints = 1 << iota
	HintsFile
	HintsAudio
	HintsVideo
	HintsTools
	HintsSchema // an answer in the form of a JSON schema
	HintsOutput // an answer that is more than text
)

// Hints are those of the request's body. Turns that hold nothing but text are not looked at, however long they are.
func (r *Request) Hints() Hints {
	if turns := r.Spans.Turns; r.Spans.Texts {
		return HintsOf(r.Body[:turns.From]) | HintsOf(r.Body[turns.To:])
	}
	return HintsOf(r.Body)
}

// HintsOf looks a request's bytes over for the words with which clients' dialects ask for these things. It is a guess that is
// cheap enough for every request: it reads what stands after quotation marks, and decodes nothing.
func HintsOf(body []byte) (h Hints) {
	for {
		i := bytes.IndexByte(body, '"')
		if i < 0 {
			return h
		}
		body = body[i+1:]
		if len(body) < 5 {
			return h
		}
		switch uint16(body[0])<<8 | uint16(body[1]) { // most words are none of these
		case 'i'<<8 | 'm', 'i'<<8 | 'n', 'd'<<8 | 'o', 'f'<<8 | 'i', 'f'<<8 | 'u', 'a'<<8 | 'u', 'a'<<8 | 'p', 'v'<<8 | 'i',
			't'<<8 | 'o', 'j'<<8 | 's', 'o'<<8 | 'u', 'm'<<8 | 'o', 'r'<<8 | 'e':
			h |= hint(body)
		}
	}
}

// hint is what the word that s begins with hints at. Media are known by their part's type (image_url, input_file,
// document) or by their MIME type; those of Gemini have nothing else.
func hint(s []byte) Hints {
	switch s[0] {
	case 'i':
		switch {
		case begins(s, "image"), begins(s, "input_image"):
			return HintsImage
		case begins(s, "input_file"):
			return HintsFile
		case begins(s, "input_audio"):
			return HintsAudio
		}
	case 'd':
		if begins(s, "document") {
			return HintsFile
		}
	case 'f':
		switch {
		case begins(s, "functions"):
			return HintsTools
		case begins(s, "file"):
			return HintsImage | HintsFile | HintsAudio | HintsVideo // a reference: to what, nobody says
		}
	case 'a':
		switch {
		case begins(s, "audio"):
			return HintsAudio
		case begins(s, "application/pdf"):
			return HintsFile
		}
	case 'v':
		if begins(s, "video") {
			return HintsVideo
		}
	case 't':
		if begins(s, "tools\"") {
			return HintsTools
		}
	case 'j':
		if begins(s, "json_schema") {
			return HintsSchema
		}
	case 'o':
		if begins(s, "output_config") || begins(s, "output_format") {
			return HintsSchema
		}
	case 'm':
		if begins(s, "modalities") {
			return HintsOutput
		}
	case 'r':
		switch {
		case begins(s, "responseModalities"), begins(s, "response_modalities"):
			return HintsOutput
		case begins(s, "responseSchema"), begins(s, "response_schema"), begins(s, "responseJsonSchema"), begins(s, "response_json_schema"):
			return HintsSchema
		}
	}
	return 0
}

func begins(s []byte, word string) bool { return len(s) >= len(word) && string(s[:len(word)]) == word }
