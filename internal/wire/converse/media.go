package converse

import (
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// imageFormat is Bedrock's word for an image's format. The bytes decide where they tell: Bedrock refuses an image that
// is not what it is called, and clients often call it wrong.
func imageFormat(m *llm.Media) string {
	for _, f := range [...]struct{ start, format string }{
		{"iVBORw0KGgo", "png"}, {"/9j/", "jpeg"}, {"R0lGOD", "gif"}, {"UklGR", "webp"},
	} {
		if strings.HasPrefix(m.Data, f.start) {
			return f.format
		}
	}
	switch strings.ToLower(m.Type) {
	case "image/png":
		return "png"
	case "image/jpeg", "image/jpg":
		return "jpeg"
	case "image/gif":
		return "gif"
	case "image/webp":
		return "webp"
	}
	return ""
}

var documentFormats = [...]struct{ kind, format string }{
	{"application/pdf", "pdf"},
	{"text/csv", "csv"},
	{"application/msword", "doc"},
	{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
	{"application/vnd.ms-excel", "xls"},
	{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"},
	{"text/html", "html"},
	{"text/plain", "txt"},
	{"text/markdown", "md"},
}

// documentFormat is Bedrock's word for a document's format: by its type, by its name's end, or by its first bytes. What
// else is text goes as text.
func documentFormat(m *llm.Media) string {
	kind, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	for _, f := range documentFormats {
		if kind == f.kind {
			return f.format
		}
	}
	if dot := strings.LastIndexByte(m.Name, '.'); dot >= 0 {
		end := strings.ToLower(m.Name[dot+1:])
		for _, f := range documentFormats {
			if end == f.format {
				return end
			}
		}
	}
	switch {
	case m.PlainText != "", strings.HasPrefix(kind, "text/"), kind == "application/json":
		return "txt"
	case strings.HasPrefix(m.Data, "JVBERi0"):
		return "pdf"
	}
	return ""
}

var videoFormats = [...]struct{ kind, format string }{
	{"video/mp4", "mp4"},
	{"video/quicktime", "mov"},
	{"video/x-matroska", "mkv"},
	{"video/webm", "webm"},
	{"video/x-flv", "flv"},
	{"video/mpeg", "mpeg"},
	{"video/mpg", "mpg"},
	{"video/x-ms-wmv", "wmv"},
	{"video/wmv", "wmv"},
	{"video/3gpp", "three_gp"},
}

func videoFormat(m *llm.Media) string {
	for _, f := range videoFormats {
		if strings.EqualFold(m.Type, f.kind) {
			return f.format
		}
	}
	return ""
}

// appendMedia appends an image, document or video block. It says false where Bedrock cannot be given the thing: it takes
// bytes and places in S3, and fetches nothing else. Name is the document's.
func appendMedia(dst []byte, kind llm.PartKind, m *llm.Media, name string) (out []byte, ok bool) {
	var block, format string
	switch kind { //nolint:exhaustive // the others have no block
	case llm.Image:
		block, format = "image", imageFormat(m)
	case llm.Document:
		block, format = "document", documentFormat(m)
	case llm.Video:
		block, format = "video", videoFormat(m)
	}
	s3 := strings.HasPrefix(m.URL, "s3://")
	if format == "" || m.Data == "" && m.PlainText == "" && !s3 {
		return dst, false
	}
	dst = append(dst, '{')
	dst = append(jsonscan.AppendKey(dst, block), '{')
	dst = jsonscan.AppendStringMember(dst, "format", format)
	if kind == llm.Document {
		dst = jsonscan.AppendStringMember(dst, "name", name)
	}
	dst = append(jsonscan.AppendKey(dst, "source"), '{')
	switch {
	case m.Data != "":
		dst = jsonscan.AppendStringMember(dst, "bytes", m.Data)
	case m.PlainText != "":
		dst = jsonscan.AppendStringMember(dst, "text", m.PlainText)
	default:
		dst = append(jsonscan.AppendKey(dst, "s3Location"), '{')
		dst = jsonscan.AppendString(jsonscan.AppendKey(dst, "uri"), m.URL)
		dst = append(dst, '}')
	}
	return append(dst, "}}}"...), true
}

// documentName makes a name of what Bedrock allows in one: letters, digits, single spaces, hyphens, parentheses and
// square brackets. Names must differ within a request, so taken holds those that were given out.
func documentName(name string, taken map[string]bool) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	var b strings.Builder
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '(', c == ')', c == '[', c == ']', c == '-':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), " "):
			b.WriteByte(' ')
		}
	}
	base := b.String()
	base = strings.TrimSpace(base[:min(len(base), maxDocumentName)])
	if base == "" {
		base = "document"
	}
	out := base
	for n := 2; taken[out]; n++ {
		out = base + " " + strconv.Itoa(n)
	}
	taken[out] = true
	return out
}

// maxDocumentName is Bedrock's limit of 200 characters less room for a number.
const maxDocumentName = 190
