package responses

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// said is one part of a user's message or a tool's output; nil for what cannot be said, which is noted.
func (e *requestEncoder) said(p *llm.Part) []byte {
	m := p.Media
	switch p.Kind {
	case llm.Text, llm.Refusal:
		return appendInputText(nil, p)
	case llm.Image:
		out := []byte(`{"type":"input_image",`)
		switch {
		case m.Data != "":
			out = append(out, `"image_url":`...)
			out = appendDataURL(out, m, "image/png")
		case m.URL != "":
			out = append(out, `"image_url":`...)
			out = jsonscan.AppendString(out, m.URL)
		case m.FileID != "" && m.Vendor == llm.OpenAI:
			out = append(out, `"file_id":`...)
			out = jsonscan.AppendString(out, m.FileID)
		default:
			return e.lost(p)
		}
		detail := m.Detail
		if detail == "" {
			detail = "auto"
		}
		out = append(out, `,"detail":`...)
		out = jsonscan.AppendString(out, detail)
		return append(out, '}')
	case llm.Document:
		return e.document(p)
	case llm.Audio:
		e.lose(llm.Audio)
		if m != nil && m.Transcript != "" {
			return appendInputText(nil, &llm.Part{Text: m.Transcript})
		}
	case llm.Video, llm.Reasoning, llm.Opaque, llm.ToolCall, llm.ToolResult:
		e.lose(p.Kind)
	}
	return nil
}

// document writes a file. A text goes out as one, since files must be of a kind that the API converts.
func (e *requestEncoder) document(p *llm.Part) []byte {
	m := p.Media
	name := m.Name
	out := []byte(`{"type":"input_file",`)
	switch {
	case m.PlainText != "":
		return appendInputText(nil, &llm.Part{Text: m.PlainText})
	case m.Data != "":
		if name == "" {
			name = "document.pdf"
		}
		out = append(out, `"filename":`...)
		out = jsonscan.AppendString(out, name)
		out = append(out, `,"file_data":`...)
		out = appendDataURL(out, m, "application/pdf")
	case m.URL != "":
		out = append(out, `"file_url":`...)
		out = jsonscan.AppendString(out, m.URL)
	case m.FileID != "" && m.Vendor == llm.OpenAI:
		out = append(out, `"file_id":`...)
		out = jsonscan.AppendString(out, m.FileID)
	default:
		return e.lost(p)
	}
	return append(out, '}')
}

// lost notes media that are only to be found at another vendor.
func (e *requestEncoder) lost(p *llm.Part) []byte {
	if p.Media != nil && p.Media.FileID != "" {
		e.q.Dropped.Add(llm.DropFileIDs)
	} else {
		e.lose(p.Kind)
	}
	return nil
}

func appendInputText(dst []byte, p *llm.Part) []byte {
	dst = append(dst, `{"type":"input_text","text":`...)
	dst = wire.AppendText(dst, p)
	return append(dst, '}')
}

// appendDataURL appends data as a URL; kind is the type of what came without one. Base64 and a sound type need no escapes.
func appendDataURL(dst []byte, m *llm.Media, kind string) []byte {
	if m.Type != "" {
		kind = m.Type
	}
	var b strings.Builder
	b.Grow(len(kind) + len(m.Data) + len("data:;base64,"))
	b.WriteString("data:")
	b.WriteString(kind)
	b.WriteString(";base64,")
	b.WriteString(m.Data)
	return jsonscan.AppendString(dst, b.String())
}
