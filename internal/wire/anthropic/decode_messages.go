package anthropic

import (
	"fmt"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

func (d *reading) system(r *jsonscan.Reader) {
	d.q.System = append(d.content(r, "system", false), d.q.System...)
}

func (d *reading) messages(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Array() {
		d.wrong("messages", "an array of messages", kind)
		return
	}
	d.names = map[string]string{}
	for i := 0; r.Elem() && d.err == nil; i++ {
		param := fmt.Sprintf("messages.%d", i)
		if kind := r.Kind(); kind != jsonscan.Object {
			d.wrong(param, "an object with role and content", kind)
			return
		}
		d.message(r.Raw(), param)
	}
	if d.err == nil && len(d.q.Messages) == 0 && len(d.q.System) == 0 {
		d.fail("messages", `"messages" is empty: at least one message is needed`)
	}
}

// message reads one turn. Role system in the middle is a system prompt that comes late; at the start it is one like any
// other.
func (d *reading) message(raw []byte, param string) {
	var m llm.Message
	var role string
	hasContent := false
	var content jsonscan.Reader
	r := jsonscan.New(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "role":
			role = d.text(&r, param+".role")
		case "content":
			if !r.Null() {
				hasContent = true
				content = jsonscan.New(r.Raw())
			}
		case "id", "type", "model", "stop_reason", "stop_sequence", "usage": // of a reply that was sent back as it came
			r.Skip()
		default:
			if !empty(r.Raw()) {
				d.q.Dropped.Add(string(key))
			}
		}
	}
	switch role {
	case "user":
		m.Role = llm.User
	case "assistant":
		m.Role = llm.Assistant
	case "system", "developer":
		m.Role = llm.System
	default:
		d.fail(param+".role", fmt.Sprintf("%q must be user or assistant, not %q", param+".role", role))
		return
	}
	if !hasContent {
		d.fail(param+".content", fmt.Sprintf("%q is missing", param+".content"))
		return
	}
	m.Content = d.content(&content, param+".content", true)
	if m.Role == llm.System && len(d.q.Messages) == 0 {
		d.q.System = append(d.q.System, m.Content...)
		return
	}
	d.q.Messages = append(d.q.Messages, m)
}

// content reads text or an array of blocks.
func (d *reading) content(r *jsonscan.Reader, param string, all bool) (parts []llm.Part) {
	switch kind := r.Kind(); kind {
	case jsonscan.String:
		text, _ := r.Text()
		return []llm.Part{{Kind: llm.Text, Text: text}}
	case jsonscan.Array:
		r.Array()
		for i := 0; r.Elem() && d.err == nil; i++ {
			at := fmt.Sprintf("%s.%d", param, i)
			if kind := r.Kind(); kind != jsonscan.Object {
				d.wrong(at, "a content block", kind)
				return parts
			}
			var b blockIn
			b.read(r.Raw())
			if !all && b.kind != "text" {
				d.fail(at+".type", fmt.Sprintf("%q must be text, not %q", at+".type", b.kind))
				return parts
			}
			parts = d.part(parts, &b, at)
		}
		return parts
	case jsonscan.Null:
		r.Skip()
	default:
		d.wrong(param, "a string or an array of content blocks", kind)
		r.Skip()
	}
	return nil
}

// part appends what a block of a request is.
func (d *reading) part(parts []llm.Part, b *blockIn, at string) []llm.Part {
	switch b.kind {
	case "":
		d.fail(at+".type", fmt.Sprintf("%q is missing", at+".type"))
		return parts
	case "image":
		m, ok := b.media()
		if !ok {
			d.fail(at+".source", fmt.Sprintf("%q must be of type base64, url or file", at+".source"))
			return parts
		}
		return append(parts, llm.Part{Kind: llm.Image, Media: m, Cache: b.cache})
	case "document":
		return d.document(parts, b, at)
	case "search_result":
		m := llm.Media{Type: "text/plain", Name: b.title, PlainText: plainText(b.content)}
		if source := textOf(b.source); source != "" && m.PlainText != "" {
			m.PlainText = "Source: " + source + "\n\n" + m.PlainText
		}
		if b.wantsCitations {
			d.q.Dropped.Add(llm.DropCitations)
		}
		return append(parts, llm.Part{Kind: llm.Document, Media: &m, Cache: b.cache})
	case "tool_use":
		if b.name == "" {
			d.fail(at+".name", fmt.Sprintf("%q is missing", at+".name"))
		}
		d.names[b.id] = b.name
	case "tool_result":
		var content []llm.Part
		if len(b.content) > 0 {
			r := jsonscan.New(b.content)
			content = d.content(&r, at+".content", true)
		}
		return append(parts, llm.Part{Kind: llm.ToolResult, Cache: b.cache, Result: &llm.Result{
			CallID: b.toolUseID, Name: d.names[b.toolUseID], Content: content, Error: b.isError,
		}})
	}
	return b.appendPart(parts)
}

// document appends a document. One that is made of blocks becomes text where it is nothing else.
func (d *reading) document(parts []llm.Part, b *blockIn, at string) []llm.Part {
	m, ok := b.media()
	switch {
	case ok:
	case b.sourceKind() == "content" && onlyText(valueOf(membersOf(b.source), "content")):
		m = &llm.Media{Type: "text/plain", PlainText: plainText(valueOf(membersOf(b.source), "content"))}
	case b.sourceKind() == "content":
		r := jsonscan.New(valueOf(membersOf(b.source), "content"))
		return append(parts, d.content(&r, at+".source.content", true)...)
	default:
		d.fail(at+".source", fmt.Sprintf("%q must be of type base64, url, text, content or file", at+".source"))
		return parts
	}
	m.Name = b.title
	if b.context != "" {
		d.q.Dropped.Add("context")
	}
	if b.wantsCitations {
		d.q.Dropped.Add(llm.DropCitations)
	}
	return append(parts, llm.Part{Kind: llm.Document, Media: m, Cache: b.cache})
}
