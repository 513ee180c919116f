package anthropic

import (
	"encoding/base64"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

func (w *writing) appendTurns() {
	w.dst = append(w.dst, '[')
	for i := range w.turns {
		t := &w.turns[i]
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, `{"role":"`...)
		w.dst = append(w.dst, t.role...)
		w.dst = append(w.dst, `","content":[`...)
		first := true
		for _, list := range [...][]*llm.Part{t.results, t.parts} {
			for _, p := range list {
				if !first {
					w.dst = append(w.dst, ',')
				}
				first = false
				w.appendPart(p)
			}
		}
		w.dst = append(w.dst, "]}"...)
	}
	w.dst = append(w.dst, ']')
}

// appendPart appends the block that a part is.
func (w *writing) appendPart(p *llm.Part) {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		w.appendText(p)
	case llm.Image:
		w.dst = append(w.dst, `{"type":"image","source":`...)
		w.appendSource(p.Media, imageType(p.Media))
		w.closeBlock(p.Cache)
	case llm.Document:
		w.dst = append(w.dst, `{"type":"document","source":`...)
		w.appendSource(p.Media, documentType(p.Media))
		if title := clip(p.Media.Name, maxTitle); title != "" {
			w.dst = append(w.dst, `,"title":`...)
			w.dst = jsonscan.AppendString(w.dst, title)
		}
		w.closeBlock(p.Cache)
	case llm.ToolCall:
		w.dst = append(w.dst, `{"type":"tool_use","id":`...)
		w.dst = jsonscan.AppendString(w.dst, w.ids.ofCall(p.Call))
		w.dst = append(w.dst, `,"name":`...)
		w.dst = jsonscan.AppendString(w.dst, p.Call.Name)
		w.dst = append(w.dst, `,"input":`...)
		w.dst = appendInput(w.dst, p.Call)
		w.closeBlock(p.Cache)
	case llm.ToolResult:
		w.appendResult(p)
	case llm.Reasoning:
		if p.Seal.Kind == llm.Redacted {
			w.dst = append(w.dst, `{"type":"redacted_thinking","data":`...)
		} else {
			w.dst = append(w.dst, `{"type":"thinking","thinking":`...)
			w.dst = jsonscan.AppendString(w.dst, p.Text)
			w.dst = append(w.dst, `,"signature":`...)
		}
		w.dst = jsonscan.AppendString(w.dst, p.Seal.Data)
		w.closeBlock(nil)
	case llm.Opaque:
		w.dst = append(w.dst, p.Opaque.Raw...)
	case llm.Audio, llm.Video: // collect left them out
	}
}

func (w *writing) appendText(p *llm.Part) {
	w.dst = append(w.dst, `{"type":"text","text":`...)
	w.dst = wire.AppendText(w.dst, p)
	w.closeBlock(p.Cache)
}

func (w *writing) closeBlock(c *llm.Cache) {
	if c != nil {
		w.appendCache(c)
	}
	w.dst = append(w.dst, '}')
}

// appendResult appends a tool's result: as text where it is nothing else, without content where there is none.
func (w *writing) appendResult(p *llm.Part) {
	w.dst = append(w.dst, `{"type":"tool_result","tool_use_id":`...)
	w.dst = jsonscan.AppendString(w.dst, w.ids.ofResult(p.Result))
	content := w.sendable(p.Result.Content)
	switch {
	case len(content) == 0:
	case len(content) == 1 && content[0].Kind == llm.Text && content[0].Cache == nil:
		w.dst = append(w.dst, `,"content":`...)
		w.dst = wire.AppendText(w.dst, content[0])
	default:
		w.dst = append(w.dst, `,"content":[`...)
		for i, c := range content {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.appendPart(c)
		}
		w.dst = append(w.dst, ']')
	}
	if p.Result.Error {
		w.dst = append(w.dst, `,"is_error":true`...)
	}
	w.closeBlock(p.Cache)
}

// sendable are the parts of a result that the dialect takes in one.
func (w *writing) sendable(parts []llm.Part) (list []*llm.Part) {
	for i := range parts {
		p := &parts[i]
		switch p.Kind {
		case llm.Text, llm.Refusal:
			if blankPart(p) {
				continue
			}
		case llm.Image, llm.Document:
			if !w.sendsMedia(p) {
				w.dropKind(p)
				continue
			}
		case llm.Opaque:
			if p.Opaque.Vendor != llm.Anthropic {
				w.dropKind(p)
				continue
			}
		case llm.Audio, llm.Video, llm.ToolCall, llm.ToolResult, llm.Reasoning:
			w.dropKind(p)
			continue
		}
		if p.Cache != nil { // markers inside of a result are not counted as the dialect's four
			q := *p
			q.Cache = nil
			p = &q
		}
		list = append(list, p)
	}
	return list
}

// appendInput appends a call's arguments, which this dialect wants as an object: none are an empty one, and what is no
// object becomes a member of one.
func appendInput(dst []byte, c *llm.Call) []byte {
	if c.Custom {
		return appendWrapped(dst, c.Arguments)
	}
	raw := strings.TrimSpace(c.Arguments)
	if raw == "" {
		return append(dst, "{}"...)
	}
	if jsonscan.Valid([]byte(raw)) != nil {
		return appendWrapped(dst, c.Arguments)
	}
	if raw[0] == '{' {
		return append(dst, raw...)
	}
	if raw == "null" {
		return append(dst, "{}"...)
	}
	dst = append(dst, `{"`+customInput+`":`...)
	dst = append(dst, raw...)
	return append(dst, '}')
}

// customInput is the one parameter of a tool that takes free text, where it goes out as a function.
const customInput = "input"

func appendWrapped(dst []byte, text string) []byte {
	dst = append(dst, `{"`+customInput+`":`...)
	dst = jsonscan.AppendString(dst, text)
	return append(dst, '}')
}

// maxTitle is how many characters a document's title may have.
const maxTitle = 500

func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// sendsMedia says whether the dialect has a form for it.
func (w *writing) sendsMedia(p *llm.Part) bool {
	m := p.Media
	switch {
	case m == nil || p.Kind != llm.Image && p.Kind != llm.Document:
		return false
	case m.FileID != "":
		return m.Vendor == llm.Anthropic
	case p.Kind == llm.Image:
		if m.Detail != "" && m.Detail != "auto" {
			w.drop("detail")
		}
		return m.URL != "" || m.Data != "" && imageType(m) != ""
	case m.PlainText != "":
		return !blank(m.PlainText)
	}
	return m.URL != "" || m.Data != "" && documentType(m) != ""
}

// appendSource appends a source for media of a type that sendsMedia has found good.
func (w *writing) appendSource(m *llm.Media, kind string) {
	switch {
	case m.FileID != "":
		w.dst = append(w.dst, `{"type":"file","file_id":`...)
		w.dst = jsonscan.AppendString(w.dst, m.FileID)
	case m.PlainText != "":
		w.dst = append(w.dst, `{"type":"text","media_type":"text/plain","data":`...)
		w.dst = jsonscan.AppendString(w.dst, m.PlainText)
	case m.Data != "" && kind == "text/plain":
		w.dst = append(w.dst, `{"type":"text","media_type":"text/plain","data":`...)
		text, _ := base64.StdEncoding.DecodeString(m.Data) // documentType has looked
		w.dst = jsonscan.AppendText(w.dst, text)
	case m.Data != "":
		w.dst = append(w.dst, `{"type":"base64","media_type":`...)
		w.dst = jsonscan.AppendString(w.dst, kind)
		w.dst = append(w.dst, `,"data":`...)
		w.dst = jsonscan.AppendString(w.dst, m.Data)
	default:
		w.dst = append(w.dst, `{"type":"url","url":`...)
		w.dst = jsonscan.AppendString(w.dst, m.URL)
	}
	w.dst = append(w.dst, '}')
}

// imageType is the type of an image's data as the dialect knows it, by what was said or by its first bytes; empty for
// one that it does not take.
func imageType(m *llm.Media) string {
	kind := strings.ToLower(m.Type)
	switch kind {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return kind
	case "image/jpg":
		return "image/jpeg"
	case "", "image/*", "application/octet-stream":
		for _, magic := range [...]struct{ start, kind string }{
			{"/9j/", "image/jpeg"}, {"iVBOR", "image/png"}, {"R0lG", "image/gif"}, {"UklG", "image/webp"},
		} {
			if strings.HasPrefix(m.Data, magic.start) {
				return magic.kind
			}
		}
	}
	return ""
}

// documentType is the like for documents: PDF, and text of any kind, which goes out as plain text.
func documentType(m *llm.Media) string {
	kind, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	switch {
	case kind == "application/pdf" || strings.HasPrefix(m.Data, "JVBER"): // %PDF
		return "application/pdf"
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml":
		if _, err := base64.StdEncoding.DecodeString(m.Data); err == nil {
			return "text/plain"
		}
	}
	return ""
}
