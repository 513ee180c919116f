package anthropic

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// blockIn is a content block of a request or a reply as it was read, whatever its type. Raw values point into the text.
type blockIn struct {
	kind                                string
	thinking, sign, data                string
	id, name, toolUseID, title, context string
	text                                []byte // a string's inside
	input, content, source, citations   []byte
	cache                               *llm.Cache
	isError, wantsCitations             bool
	raw                                 []byte
}

// read reads one block of the text that r reads. What is no object has no kind.
func (b *blockIn) read(r *jsonscan.Reader, text []byte) {
	r.Kind() // stands on the value now
	from := r.Offset()
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "type":
			b.kind = blockWord(r)
		case "text":
			b.text, _ = r.RawString()
		case "thinking":
			b.thinking, _ = r.Text()
		case "signature":
			b.sign, _ = r.Text()
		case "data":
			b.data, _ = r.Text()
		case "id":
			b.id, _ = r.Text()
		case "name":
			b.name, _ = r.Text()
		case "tool_use_id":
			b.toolUseID, _ = r.Text()
		case "title":
			b.title, _ = r.Text()
		case "context":
			b.context, _ = r.Text()
		case "input":
			b.input = r.Raw()
		case "content":
			b.content = r.Raw()
		case "source":
			b.source = r.Raw()
		case "citations":
			if r.Kind() == jsonscan.Array {
				b.citations = r.Raw()
				continue
			}
			b.wantsCitations = string(valueOf(membersOf(r.Raw()), "enabled")) == "true"
		case "cache_control":
			b.cache = readCache(r)
		case "is_error":
			b.isError, _ = r.Bool()
		default:
			r.Skip()
		}
	}
	b.raw = text[from:r.Offset()]
}

// blockWord reads a block's type; for the common ones that costs no allocation.
func blockWord(r *jsonscan.Reader) string {
	word, _ := r.RawString()
	return jsonscan.WordOf(word, "text", "tool_use", "tool_result", "thinking", "image")
}

// appendPart appends what the block is, for the kinds that requests and replies have in common. What only the vendor
// understands goes as it is.
func (b *blockIn) appendPart(parts []llm.Part, texts *wire.Texts) []llm.Part {
	switch b.kind {
	case "text":
		part := texts.Part(b.text)
		part.Citations, part.Cache = readCitations(b.citations), b.cache
		return append(parts, part)
	case "thinking":
		return append(parts, llm.Part{Kind: llm.Reasoning, Text: b.thinking, Seal: signed(b.sign)})
	case "redacted_thinking":
		s := redacted(b.data)
		if n := len(parts); s != nil && s.Kind == llm.Signed && n > 0 && parts[n-1].Kind == llm.ToolCall {
			parts[n-1].Signature = s // see encoder: the seal of a call follows it
			return parts
		}
		return append(parts, llm.Part{Kind: llm.Reasoning, Seal: s})
	case "tool_use":
		call := llm.Call{ID: b.id, Name: b.name, Arguments: string(b.input)}
		return append(parts, llm.Part{Kind: llm.ToolCall, Call: &call, Cache: b.cache})
	}
	return append(parts, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: b.kind, Raw: b.raw}})
}

// signed is the seal that a thinking block's signature is: the vendor's own, or another's that was wrapped.
func signed(signature string) *llm.Seal {
	if signature == "" {
		return nil
	}
	if s, ok := llm.Unwrap(signature); ok {
		return &s
	}
	return &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Signed, Data: signature}
}

// redacted is the seal that a redacted_thinking block's data is.
func redacted(data string) *llm.Seal {
	if data == "" {
		return nil
	}
	if s, ok := llm.Unwrap(data); ok {
		return &s
	}
	return &llm.Seal{Vendor: llm.Anthropic, Kind: llm.Redacted, Data: data}
}

func (b *blockIn) sourceKind() string { return textOf(valueOf(membersOf(b.source), "type")) }

// media reads the source of an image or document; ok is false for a source of another kind.
func (b *blockIn) media() (m *llm.Media, ok bool) {
	source := membersOf(b.source)
	m = &llm.Media{Type: textOf(valueOf(source, "media_type"))}
	switch b.sourceKind() {
	case "base64":
		m.Data = textOf(valueOf(source, "data"))
		return m, m.Data != ""
	case "url":
		m.URL = textOf(valueOf(source, "url"))
		return m, m.URL != ""
	case "file":
		m.FileID, m.Vendor = textOf(valueOf(source, "file_id")), llm.Anthropic
		return m, m.FileID != ""
	case "text":
		m.PlainText = textOf(valueOf(source, "data"))
		if m.Type == "" {
			m.Type = "text/plain"
		}
		return m, true
	}
	return nil, false
}

// plainText joins the text of raw content, which is text or an array of blocks.
func plainText(raw []byte) (text string) {
	r := jsonscan.Again(raw)
	if r.Kind() == jsonscan.String {
		text, _ = r.Text()
		return text
	}
	if !r.Array() {
		return ""
	}
	for r.Elem() {
		if s := textOf(valueOf(membersOf(r.Raw()), "text")); s != "" {
			if text != "" {
				text += "\n\n"
			}
			text += s
		}
	}
	return text
}

// onlyText says that raw content has no block but of text.
func onlyText(raw []byte) bool {
	r := jsonscan.Again(raw)
	if r.Kind() == jsonscan.String {
		return true
	}
	if !r.Array() {
		return false
	}
	text := true
	for r.Elem() {
		text = textOf(valueOf(membersOf(r.Raw()), "type")) == "text" && text
	}
	return text
}

// readCitations reads the citations of a text block.
func readCitations(raw []byte) (list []llm.Citation) {
	r := jsonscan.Again(raw)
	if !r.Array() {
		return nil
	}
	for r.Elem() {
		if c, ok := readCitation(r.Raw()); ok {
			list = append(list, c)
		}
	}
	return list
}

// readCitation reads one, of whatever type: places in a document have no word in llm and are left out; its title and
// the quotation stay.
func readCitation(raw []byte) (c llm.Citation, ok bool) {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return c, false
	}
	for key, more := r.Key(); more; key, more = r.Key() {
		switch string(key) {
		case "cited_text":
			c.Quote, _ = r.Text()
		case "title", "document_title":
			if title, ok := r.Text(); ok {
				c.Title = title
			}
		case "url":
			c.URL, _ = r.Text()
		case "source": // of a search result: mostly an address
			if source, _ := r.Text(); c.URL == "" {
				c.URL = source
			}
		default:
			r.Skip()
		}
	}
	return c, c != llm.Citation{}
}
