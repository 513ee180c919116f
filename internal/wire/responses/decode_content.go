package responses

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// parts reads a message's content or a tool's output: a text, or parts. Empty texts are left out.
func (c *conversation) parts(raw []byte) (out []llm.Part) {
	if len(raw) > 2 && raw[0] == '"' {
		return append(c.texts.List(), c.texts.Part(inside(raw)))
	}
	if len(raw) > 0 && raw[0] == '{' { // some tools answer with an object
		r := jsonscan.Again(raw)
		if p := readPart(r.Raw()); len(p.kind) == 0 {
			return []llm.Part{{Kind: llm.Text, Text: string(raw)}}
		}
	}
	elements(raw, func(raw []byte) {
		p := readPart(raw)
		part, ok := c.part(&p)
		if !ok {
			return
		}
		if p.marker != nil {
			part.Cache = &llm.Cache{}
		}
		out = append(out, part)
	})
	return out
}

// part reads one part; ok is false for what is empty, or has no place in the canonical model, which is noted.
func (c *conversation) part(p *part) (out llm.Part, ok bool) {
	switch kind := string(p.kind); kind {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		out = c.texts.Part(inside(p.text))
		out.Citations = citations(p.annotations)
		return out, out.HasText()
	case "refusal":
		out = llm.Part{Kind: llm.Refusal, Text: text(p.refusal)}
		return out, out.Text != ""
	case "input_image", "computer_screenshot", "image_url":
		m := llm.Media{Detail: text(p.detail)}
		if url := imageURL(p.imageURL); url != "" {
			locate(&m, url)
		} else if m.FileID = text(p.fileID); m.FileID != "" {
			m.Vendor = llm.OpenAI
		} else {
			return out, false
		}
		return llm.Part{Kind: llm.Image, Media: &m}, true
	case "input_file":
		return c.file(p)
	case "input_audio":
		return c.audio(p)
	default:
		c.q.Dropped.Add(kind)
		return out, false
	}
}

// imageURL reads an address, also one level deeper, as chat completions have it.
func imageURL(raw []byte) string {
	if len(raw) == 0 || raw[0] == '"' {
		return text(raw)
	}
	url, _ := member(raw, "url")
	return text(url)
}

// member gives one member of an object.
func member(raw []byte, name string) (value []byte, found bool) {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return nil, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) == name {
			value, found = r.Raw(), true
		} else {
			r.Skip()
		}
	}
	return value, found
}

func (c *conversation) file(p *part) (out llm.Part, ok bool) {
	m := llm.Media{Name: text(p.filename), Detail: text(p.detail)}
	switch {
	case p.fileData != nil:
		data := text(p.fileData)
		if locate(&m, data); m.Data == "" { // not every client says the type
			m.URL, m.Data, m.Type = "", data, "application/pdf"
		}
	case p.fileURL != nil:
		m.URL = text(p.fileURL)
	case p.fileID != nil:
		m.FileID, m.Vendor = text(p.fileID), llm.OpenAI
	default:
		return out, false
	}
	kind := llm.Document
	switch {
	case strings.HasPrefix(m.Type, "image/"):
		kind = llm.Image
	case strings.HasPrefix(m.Type, "audio/"):
		kind = llm.Audio
	case strings.HasPrefix(m.Type, "video/"):
		kind = llm.Video
	}
	return llm.Part{Kind: kind, Media: &m}, true
}

func (c *conversation) audio(p *part) (out llm.Part, ok bool) {
	data, _ := member(p.audio, "data")
	format, _ := member(p.audio, "format")
	m := llm.Media{Data: text(data), Type: audioType(text(format))}
	return llm.Part{Kind: llm.Audio, Media: &m}, m.Data != ""
}

func audioType(format string) string {
	switch format {
	case "":
		return ""
	case "mp3":
		return "audio/mpeg"
	}
	return "audio/" + format
}

// locate tells data in a data URL from an address.
func locate(m *llm.Media, url string) {
	rest, isData := strings.CutPrefix(url, "data:")
	kind, data, isBase64 := strings.Cut(rest, ";base64,")
	if !isData || !isBase64 {
		m.URL = url
		return
	}
	m.Type, _, _ = strings.Cut(kind, ";")
	m.Data = data
}

// citations reads annotations: addresses with the place that they support, and files.
func citations(raw []byte) (out []llm.Citation) {
	elements(raw, func(raw []byte) {
		if c, ok := citation(raw); ok {
			out = append(out, c)
		}
	})
	return out
}

func citation(raw []byte) (c llm.Citation, ok bool) {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return c, false
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "url":
			c.URL, _ = r.Text()
		case "title":
			c.Title, _ = r.Text()
		case "filename":
			if name, _ := r.Text(); c.Title == "" {
				c.Title = name
			}
		case "start_index":
			n, _ := r.Int()
			c.Start = int(max(n, 0))
		case "end_index":
			n, _ := r.Int()
			c.End = int(max(n, 0))
		case "url_citation": // one level deeper, as chat completions have it
			c, _ = citation(r.Raw())
		default:
			r.Skip()
		}
	}
	return c, c.URL != "" || c.Title != ""
}
