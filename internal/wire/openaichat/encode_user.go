package openaichat

import (
	"encoding/base64"
	"strings"

	"evergate/internal/llm"
)

// users writes neighbouring turns of users: first all results of tools, then what else each says.
func (e *requestEncoder) users(turns []llm.Message) {
	for i := range turns {
		for j := range turns[i].Content {
			if p := &turns[i].Content[j]; p.Kind == llm.ToolResult {
				e.result(p)
			}
		}
	}
	for i := range turns {
		m := &turns[i]
		rest := 0
		for j := range m.Content {
			rest += countParts(&m.Content[j])
		}
		if rest > 0 || len(m.Content) == 0 {
			e.user(m, rest)
		}
	}
}

// countParts is how many parts of a user's message p makes.
func countParts(p *llm.Part) int {
	if p.Kind != llm.ToolResult {
		return 1
	}
	n := 0
	for i := range p.Result.Content {
		if !isText(&p.Result.Content[i]) {
			n++
		}
	}
	return n
}

func isText(p *llm.Part) bool {
	return p.Kind == llm.Text || p.Kind == llm.Document && plainText(p.Media) != ""
}

// result writes a tool message with the text of a result. What else the result holds follows in the user's message.
func (e *requestEncoder) result(p *llm.Part) {
	r := p.Result
	if p.Cache != nil {
		e.q.Dropped.Add(llm.DropCache)
	}
	if r.Error {
		e.q.Dropped.Add(llm.DropToolErrors)
	}
	e.message("tool", "")
	e.key("tool_call_id")
	e.str(e.callID(r.CallID))
	e.key("content")
	texts := make([]llm.Part, 0, 4)
	for i := range r.Content {
		if c := &r.Content[i]; isText(c) {
			texts = append(texts, *c)
		}
	}
	text := joinTexts(e, texts, "\n")
	e.said(&text)
	e.raw("}")
}

// user writes a user's message of n parts.
func (e *requestEncoder) user(m *llm.Message, n int) {
	mark := len(e.dst)
	e.message("user", m.Name)
	e.key("content")
	if text, ok := e.onlyText(m, n); ok {
		e.said(&text)
		e.raw("}")
		return
	}
	e.raw("[")
	for i := range m.Content {
		p := &m.Content[i]
		if p.Kind != llm.ToolResult {
			e.userPart(p)
			continue
		}
		for j := range p.Result.Content {
			if c := &p.Result.Content[j]; !isText(c) {
				e.userPart(c)
			}
		}
	}
	if e.dst[len(e.dst)-1] == '[' { // nothing of it could be said
		e.dst = e.dst[:mark]
		return
	}
	e.raw("]}")
}

// onlyText is the content of a message whose parts can be one string: a single text, or texts where parts are refused.
func (e *requestEncoder) onlyText(m *llm.Message, n int) (text llm.Part, ok bool) {
	if n > 1 && !e.t.Quirks.PlainContent {
		return text, false
	}
	for i := range m.Content {
		if p := &m.Content[i]; countParts(p) > 0 && !isText(p) {
			return text, false
		}
	}
	texts := m.Content
	if n < len(texts) {
		texts = nil
		for i := range m.Content {
			if isText(&m.Content[i]) {
				texts = append(texts, m.Content[i])
			}
		}
	}
	return joinTexts(e, texts, "\n\n"), true
}

// userPart writes one part of a user's message, or notes that it has no place.
func (e *requestEncoder) userPart(p *llm.Part) {
	e.note(p)
	m := p.Media
	switch {
	case p.Kind == llm.Text:
		e.part("text")
		e.said(p)
	case p.Kind == llm.Image && (m.Data != "" || m.URL != ""):
		e.part("image_url")
		e.raw(`{"url":`)
		e.url(m, "image/png")
		if m.Detail != "" {
			e.key("detail")
			e.str(m.Detail)
		}
		e.raw("}")
	case p.Kind == llm.Document && plainText(m) != "":
		e.part("text")
		e.str(plainText(m))
	case p.Kind == llm.Document && m.Data != "":
		e.part("file")
		e.raw(`{"filename":`)
		e.str(fileName(m))
		e.key("file_data")
		e.url(m, "application/pdf")
		e.raw("}")
	case p.Kind == llm.Document && m.FileID != "" && m.Vendor == llm.OpenAI && m.Vendor == e.t.Vendor:
		e.part("file")
		e.raw(`{"file_id":`)
		e.str(m.FileID)
		e.raw("}")
	case p.Kind == llm.Audio && m.Data != "":
		e.part("input_audio")
		e.raw(`{"data":`)
		e.str(m.Data)
		e.key("format")
		e.str(audioFormat(m.Type))
		e.raw("}")
	default:
		e.lost(p)
		return
	}
	e.raw("}")
}

// part begins one, up to the value that its type names.
func (e *requestEncoder) part(kind string) {
	if e.dst[len(e.dst)-1] != '[' {
		e.raw(",")
	}
	e.raw(`{"type":`)
	e.str(kind)
	e.key(kind)
}

// url writes a URL, or the data as one.
func (e *requestEncoder) url(m *llm.Media, kind string) {
	if m.Data == "" {
		e.str(m.URL)
		return
	}
	if m.Type != "" {
		kind = m.Type
	}
	e.raw(`"data:`)
	quoted := len(e.dst)
	e.str(kind)
	e.dst = append(e.dst[:quoted], e.dst[quoted+1:len(e.dst)-1]...) // its quotes are those of the whole
	e.raw(";base64,")
	quoted = len(e.dst)
	e.str(m.Data)
	e.dst = append(e.dst[:quoted], e.dst[quoted+1:]...)
}

func fileName(m *llm.Media) string {
	switch {
	case m.Name != "":
		return m.Name
	case m.Type == "" || m.Type == "application/pdf":
		return "document.pdf"
	}
	return "document"
}

// plainText is a document's text, where it is nothing else.
func plainText(m *llm.Media) string {
	if m.PlainText != "" || m.Data == "" || !strings.HasPrefix(m.Type, "text/") {
		return m.PlainText
	}
	text, err := base64.StdEncoding.DecodeString(m.Data)
	if err != nil {
		return ""
	}
	return string(text)
}
