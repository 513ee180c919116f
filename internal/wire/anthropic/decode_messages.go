package anthropic

import (
	"fmt"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// step is one on the way to where the reading is: a member by name, or an element by number.
type step struct {
	name  string
	index int
}

// enter notes where the reading goes, and gives what leave needs; the way is written out only when there is a mistake.
func (d *reading) enter(name string, index int) (back int) {
	d.path = append(d.path, step{name, index})
	return len(d.path) - 1
}

func (d *reading) leave(back int) { d.path = d.path[:back] }

// here is where the reading is, and a member of that if there is one named.
func (d *reading) here(member string) string {
	var at []byte
	for _, s := range d.path {
		if s.name != "" {
			at = append(at, s.name...)
		} else {
			at = strconv.AppendInt(at, int64(s.index), 10)
		}
		at = append(at, '.')
	}
	if member == "" {
		return string(at[:len(at)-1])
	}
	return string(at) + member
}

// failAt notes a mistake in a member of what is being read.
func (d *reading) failAt(member, what string) {
	at := d.here(member)
	d.fail(at, strconv.Quote(at)+" "+what)
}

func (d *reading) wrongAt(member, want string, got jsonscan.Kind) { d.wrong(d.here(member), want, got) }

// system reads the prompt before the conversation. Of a member that comes twice the last one counts.
func (d *reading) system(r *jsonscan.Reader, text []byte) {
	back := d.enter("system", 0)
	own := d.content(r, text, false)
	d.q.System, d.systems = append(own, d.q.System[d.systems:]...), len(own)
	d.leave(back)
}

func (d *reading) messages(r *jsonscan.Reader, text []byte) {
	if kind := r.Kind(); !r.Array() {
		d.wrong("messages", "an array of messages", kind)
		return
	}
	d.names = map[string]string{}
	d.q.Messages, d.q.System = nil, d.q.System[:d.systems] // see system
	back := d.enter("messages", 0)
	for i := 0; r.Elem() && d.err == nil; i++ {
		back := d.enter("", i)
		if kind := r.Kind(); kind != jsonscan.Object {
			d.wrongAt("", "an object with role and content", kind)
			return
		}
		d.message(r, text)
		d.leave(back)
	}
	d.leave(back)
	if d.err == nil && len(d.q.Messages) == 0 && len(d.q.System) == 0 {
		d.fail("messages", `"messages" is empty: at least one message is needed`)
	}
}

// message reads one turn. Role system in the middle is a system prompt that comes late; at the start it is one like any
// other.
func (d *reading) message(r *jsonscan.Reader, text []byte) {
	var m llm.Message
	var role []byte
	hasContent := false
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "role":
			kind := r.Kind()
			word, isText := r.Literal()
			if role = word; !isText {
				d.wrongAt("role", "a string", kind)
			}
		case "content":
			if !r.Null() {
				hasContent = true
				back := d.enter("content", 0)
				m.Content = d.content(r, text, true)
				d.leave(back)
			}
		case "id", "type", "model", "stop_reason", "stop_sequence", "usage": // of a reply that was sent back as it came
			r.Skip()
		default:
			if !empty(r.Raw()) {
				d.q.Dropped.Add(string(key))
			}
		}
	}
	switch string(role) {
	case "user":
		m.Role = llm.User
	case "assistant":
		m.Role = llm.Assistant
	case "system", "developer":
		m.Role = llm.System
	default:
		d.failAt("role", fmt.Sprintf("must be user or assistant, not %q", role))
		return
	}
	if !hasContent {
		d.failAt("content", "is missing")
		return
	}
	if m.Role == llm.System && len(d.q.Messages) == 0 {
		d.q.System = append(d.q.System, m.Content...)
		return
	}
	d.q.Messages = append(d.q.Messages, m)
}

// content reads text or an array of blocks.
func (d *reading) content(r *jsonscan.Reader, text []byte, all bool) (parts []llm.Part) {
	switch kind := r.Kind(); kind {
	case jsonscan.String:
		said, _ := r.RawString()
		return append(d.texts.List(), d.texts.Part(said))
	case jsonscan.Array:
		r.Array()
		for i := 0; r.Elem() && d.err == nil; i++ {
			back := d.enter("", i)
			if kind := r.Kind(); kind != jsonscan.Object {
				d.wrongAt("", "a content block", kind)
				return parts
			}
			var b blockIn
			b.read(r, text)
			if i == 0 {
				parts = d.texts.List()
			}
			if !all && b.kind != "text" {
				d.failAt("type", fmt.Sprintf("must be text, not %q", b.kind))
				return parts
			}
			parts = d.part(parts, &b)
			d.leave(back)
		}
		return parts
	case jsonscan.Null:
		r.Skip()
	default:
		d.wrongAt("", "a string or an array of content blocks", kind)
		r.Skip()
	}
	return nil
}

// part appends what a block of a request is.
func (d *reading) part(parts []llm.Part, b *blockIn) []llm.Part {
	switch b.kind {
	case "":
		d.failAt("type", "is missing")
		return parts
	case "image":
		m, ok := b.media()
		if !ok {
			d.failAt("source", "must be of type base64, url or file")
			return parts
		}
		return append(parts, llm.Part{Kind: llm.Image, Media: m, Cache: b.cache})
	case "document":
		return d.document(parts, b)
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
			d.failAt("name", "is missing")
		}
		d.names[b.id] = b.name
	case "tool_result":
		var content []llm.Part
		if len(b.content) > 0 {
			r := jsonscan.Again(b.content)
			back := d.enter("content", 0)
			content = d.content(&r, b.content, true)
			d.leave(back)
		}
		return append(parts, llm.Part{Kind: llm.ToolResult, Cache: b.cache, Result: &llm.Result{
			CallID: b.toolUseID, Name: d.names[b.toolUseID], Content: content, Error: b.isError,
		}})
	}
	return b.appendPart(parts, &d.texts)
}

// document appends a document. One that is made of blocks becomes text where it is nothing else.
func (d *reading) document(parts []llm.Part, b *blockIn) []llm.Part {
	m, ok := b.media()
	switch {
	case ok:
	case b.sourceKind() == "content" && onlyText(valueOf(membersOf(b.source), "content")):
		m = &llm.Media{Type: "text/plain", PlainText: plainText(valueOf(membersOf(b.source), "content"))}
	case b.sourceKind() == "content":
		content := valueOf(membersOf(b.source), "content")
		r := jsonscan.Again(content)
		back := d.enter("source.content", 0)
		parts = append(parts, d.content(&r, content, true)...)
		d.leave(back)
		return parts
	default:
		d.failAt("source", "must be of type base64, url, text, content or file")
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
