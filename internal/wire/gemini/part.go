package gemini

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// part is one element of a content's parts, with its values as they came.
type part struct {
	raw       []byte // all of it
	text      []byte // inside of the string
	isText    bool
	thought   bool
	signature []byte // inside of the string
	// call, result, inline and file are the values of functionCall, functionResponse, inlineData and fileData.
	call, result, inline, file []byte
	// opaque is the name of the member that makes it a block of Google's own.
	opaque string
	// lost are names of what has no place elsewhere.
	lost []string
}

// readPart reads the next value of r, whose whole text is data.
func readPart(data []byte, r *jsonscan.Reader) (p part) {
	r.Kind() // stands on the value now
	from := r.Offset()
	if !r.Object() {
		return p
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch name := camel(key); string(name) {
		case "text":
			p.text, p.isText = r.RawString()
		case "thought":
			p.thought, _ = r.Bool()
		case "thoughtSignature":
			p.signature, _ = r.RawString()
		case "functionCall":
			p.call = objectOrNil(r)
		case "functionResponse":
			p.result = objectOrNil(r)
		case "inlineData":
			p.inline = objectOrNil(r)
		case "fileData":
			p.file = objectOrNil(r)
		case "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
			if r.Kind() == jsonscan.Object {
				p.opaque = string(name)
			}
			r.Skip()
		default:
			if raw := r.Raw(); !empty(raw) {
				p.lost = append(p.lost, string(name))
			}
		}
	}
	if r.OK() {
		p.raw = data[from:r.Offset()]
	}
	return p
}

func objectOrNil(r *jsonscan.Reader) []byte {
	if r.Kind() != jsonscan.Object {
		r.Skip()
		return nil
	}
	return r.Raw()
}

// sealOf is the seal that a signature is: Google's own, or another's that was wrapped to travel as one.
func sealOf(signature []byte) *llm.Seal {
	if len(signature) == 0 {
		return nil
	}
	data := jsonscan.TextOf(signature)
	if s, ok := llm.Unwrap(standard(data)); ok {
		return &s
	}
	return &llm.Seal{Vendor: llm.Google, Kind: llm.Signed, Data: data}
}

// signatureOf is the value of thoughtSignature that carries a seal: SDKs decode it, so it must be base64.
func signatureOf(s *llm.Seal) string {
	if s.Vendor == llm.Google && s.Kind == llm.Signed && s.ID == "" {
		return s.Data
	}
	return llm.Wrap(s)
}

// call is a functionCall.
type call struct {
	id, name string
	args     []byte // raw; nil: none
}

func readCall(raw []byte) (c call) {
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(camel(key)) {
		case "id":
			c.id, _ = r.Text()
		case "name":
			c.name, _ = r.Text()
		case "args":
			if c.args = r.Raw(); string(c.args) == "null" {
				c.args = nil
			}
		default:
			r.Skip()
		}
	}
	return c
}

// readMedia reads inlineData or fileData.
func readMedia(raw []byte) *llm.Media {
	m := &llm.Media{}
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(camel(key)) {
		case "mimeType":
			m.Type, _ = r.Text()
		case "data":
			text, _ := r.Text()
			m.Data = standard(text)
		case "fileUri":
			uri, _ := r.Text()
			if ofGoogle(uri) {
				m.FileID, m.Vendor = uri, llm.Google
			} else {
				m.URL = uri
			}
		case "displayName":
			m.Name, _ = r.Text()
		default:
			r.Skip()
		}
	}
	return m
}

// ofGoogle says that a URI is of a file that only Google can read.
func ofGoogle(uri string) bool {
	return strings.HasPrefix(uri, "gs://") || strings.HasPrefix(uri, "https://generativelanguage.googleapis.com/") ||
		strings.HasPrefix(uri, "files/")
}

// kindOf is the kind of part that holds a file.
func kindOf(m *llm.Media) llm.PartKind {
	kind, _, _ := strings.Cut(strings.ToLower(m.Type), "/")
	switch kind {
	case "image":
		return llm.Image
	case "audio":
		return llm.Audio
	case "video":
		return llm.Video
	case "":
		uri := strings.ToLower(m.URL + m.FileID)
		if strings.Contains(uri, "youtube.com/") || strings.Contains(uri, "youtu.be/") {
			return llm.Video
		}
		if guessed := typeByName(uri); guessed != "" {
			return kindOf(&llm.Media{Type: guessed})
		}
	}
	return llm.Document
}

// typeByName guesses a MIME type by a URL's ending; empty: unknown.
func typeByName(url string) string {
	url, _, _ = strings.Cut(url, "?")
	url, _, _ = strings.Cut(url, "#")
	dot := strings.LastIndexByte(url, '.')
	if dot < 0 {
		return ""
	}
	switch strings.ToLower(url[dot+1:]) {
	case "png":
		return "image/png"
	case "jpg", "jpeg":
		return "image/jpeg"
	case "webp":
		return "image/webp"
	case "gif":
		return "image/gif"
	case "heic":
		return "image/heic"
	case "heif":
		return "image/heif"
	case "pdf":
		return "application/pdf"
	case "txt", "md":
		return "text/plain"
	case "csv":
		return "text/csv"
	case "html", "htm":
		return "text/html"
	case "mp3":
		return "audio/mp3"
	case "wav":
		return "audio/wav"
	case "ogg":
		return "audio/ogg"
	case "flac":
		return "audio/flac"
	case "mp4":
		return "video/mp4"
	case "webm":
		return "video/webm"
	case "mov":
		return "video/quicktime"
	}
	return ""
}
