package cohere

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// document is one of those that an answer may cite. They stand beside the conversation.
type document struct{ id, title, text string }

// emptyResult is said for a tool that gave nothing back.
const emptyResult = "(no output)"

// appendMessages appends the conversation. Results of tools come before whatever else stands between two turns of the
// model's, as they must. It says false if there is nothing to send.
func (w *writer) appendMessages(dst []byte) (out []byte, ok bool) {
	dst = append(jsonscan.AppendKey(dst, "messages"), '[')
	none := len(dst)
	if len(w.q.System) > 0 {
		dst = w.appendTurn(dst, "system", w.q.System)
	}
	messages := w.q.Messages
	for len(messages) > 0 {
		if messages[0].Role == llm.Assistant {
			dst = w.appendAssistant(dst, &messages[0])
			messages = messages[1:]
			continue
		}
		n := slices.IndexFunc(messages, func(m llm.Message) bool { return m.Role == llm.Assistant })
		if n < 0 {
			n = len(messages)
		}
		for i := range messages[:n] {
			for j := range messages[i].Content {
				if r := messages[i].Content[j].Result; r != nil {
					dst = w.appendResult(dst, r)
				}
			}
		}
		for i := range messages[:n] {
			m := &messages[i]
			if m.Name != "" {
				w.drop.Add(llm.DropNames)
			}
			role := "user"
			if m.Role == llm.System {
				role = "system"
			}
			dst = w.appendTurn(dst, role, m.Content)
		}
		messages = messages[n:]
	}
	if len(dst) == none && (len(w.q.Messages) > 0 && len(w.drop.Names()) > 0) {
		return dst, false
	}
	return append(dst, ']'), true
}

// appendTurn appends a message of the user's or the system's, if it has anything to say: as one text where it is one.
func (w *writer) appendTurn(dst []byte, role string, content []llm.Part) []byte {
	from := len(dst)
	dst = append(jsonscan.AppendComma(dst), '{')
	dst = jsonscan.AppendStringMember(dst, "role", role)
	dst = jsonscan.AppendKey(dst, "content")
	if i := onlyText(content); i >= 0 {
		if content[i].Cache != nil {
			w.drop.Add(llm.DropCache)
		}
		return append(wire.AppendText(dst, &content[i]), '}')
	}
	dst = append(dst, '[')
	none := len(dst)
	for i := range content {
		p := &content[i]
		if p.Cache != nil {
			w.drop.Add(llm.DropCache)
		}
		switch p.Kind {
		case llm.Text, llm.Refusal:
			if p.HasText() {
				dst = appendText(jsonscan.AppendComma(dst), p)
			}
		case llm.Image:
			dst = w.appendImage(dst, p.Media)
		case llm.Document:
			w.addDocument(p.Media)
		case llm.ToolResult: // has gone out already
		case llm.Audio, llm.Video, llm.Opaque, llm.Reasoning, llm.ToolCall:
			w.dropPart(p)
		}
	}
	if len(dst) == none {
		return dst[:from]
	}
	return append(dst, "]}"...)
}

// onlyText gives the place of the one text that a content is; -1 if it is not that.
func onlyText(content []llm.Part) int {
	at := -1
	for i := range content {
		switch {
		case content[i].Kind == llm.ToolResult:
		case content[i].Kind != llm.Text || at >= 0 || !content[i].HasText():
			return -1
		default:
			at = i
		}
	}
	return at
}

func appendText(dst []byte, p *llm.Part) []byte {
	return append(wire.AppendText(append(dst, `{"type":"text","text":`...), p), '}')
}

// appendImage appends an image by its address or as a data URI.
func (w *writer) appendImage(dst []byte, m *llm.Media) []byte {
	url := m.URL
	if m.Data != "" {
		kind := m.Type
		if kind == "" {
			kind = "image/png"
		}
		url = "data:" + kind + ";base64," + m.Data
	}
	if url == "" {
		w.dropPart(&llm.Part{Kind: llm.Image, Media: m})
		return dst
	}
	dst = append(jsonscan.AppendComma(dst), `{"type":"image_url","image_url":{`...)
	dst = jsonscan.AppendStringMember(dst, "url", url)
	switch m.Detail {
	case "":
	case "auto", "low", "high":
		dst = jsonscan.AppendStringMember(dst, "detail", m.Detail)
	default:
		w.drop.Add("detail")
	}
	return append(dst, "}}"...)
}

// addDocument keeps a document that is text; Cohere reads no others.
func (w *writer) addDocument(m *llm.Media) {
	text := m.PlainText
	if text == "" && (strings.HasPrefix(m.Type, "text/") || m.Type == "application/json") {
		if b, err := base64.StdEncoding.DecodeString(m.Data); err == nil && utf8.Valid(b) {
			text = string(b)
		}
	}
	if text == "" {
		w.dropPart(&llm.Part{Kind: llm.Document, Media: m})
		return
	}
	w.documents = append(w.documents, document{id: "doc_" + strconv.Itoa(len(w.documents)), title: m.Name, text: text})
}

func (w *writer) appendDocuments(dst []byte) []byte {
	if len(w.documents) == 0 {
		return dst
	}
	dst = append(jsonscan.AppendKey(dst, "documents"), '[')
	for _, d := range w.documents {
		dst = append(jsonscan.AppendComma(dst), '{')
		dst = jsonscan.AppendStringMember(dst, "id", d.id)
		dst = append(jsonscan.AppendKey(dst, "data"), '{')
		if d.title != "" {
			dst = jsonscan.AppendStringMember(dst, "title", d.title)
		}
		dst = append(jsonscan.AppendStringMember(dst, "text", d.text), "}}"...)
	}
	return append(dst, ']')
}

// appendResult appends what a tool gave back, as a message of its own.
func (w *writer) appendResult(dst []byte, r *llm.Result) []byte {
	id := r.CallID
	if id == "" {
		w.unnamedResults++
		id = "call_" + strconv.Itoa(w.unnamedResults)
	}
	if r.Error {
		w.drop.Add(llm.DropToolErrors)
	}
	dst = append(jsonscan.AppendComma(dst), `{"role":"tool"`...)
	dst = jsonscan.AppendStringMember(dst, "tool_call_id", id)
	dst = jsonscan.AppendKey(dst, "content")
	if i := onlyText(r.Content); i >= 0 {
		return append(wire.AppendText(dst, &r.Content[i]), '}')
	}
	dst = append(dst, '[')
	none := len(dst)
	for i := range r.Content {
		p := &r.Content[i]
		if p.Kind == llm.Text || p.Kind == llm.Refusal {
			if p.HasText() {
				dst = appendText(jsonscan.AppendComma(dst), p)
			}
		} else {
			w.dropPart(p)
		}
	}
	if len(dst) == none {
		dst = appendText(dst, &llm.Part{Text: emptyResult})
	}
	return append(dst, "]}"...)
}

// appendAssistant appends a turn of the model's. Thoughts before calls are its plan, where it is a model that has plans
// and no thoughts of the other kind.
func (w *writer) appendAssistant(dst []byte, m *llm.Message) []byte {
	from := len(dst)
	if m.Name != "" {
		w.drop.Add(llm.DropNames)
	}
	calls := slices.ContainsFunc(m.Content, func(p llm.Part) bool { return p.Kind == llm.ToolCall })
	plan := ""
	dst = append(jsonscan.AppendComma(dst), `{"role":"assistant"`...)
	empty := len(dst)
	dst = append(jsonscan.AppendKey(dst, "content"), '[')
	none := len(dst)
	for i := range m.Content {
		p := &m.Content[i]
		if p.Cache != nil {
			w.drop.Add(llm.DropCache)
		}
		if p.Signature != nil {
			w.drop.Add(llm.DropSignatures)
		}
		switch p.Kind {
		case llm.Text, llm.Refusal:
			if len(p.Citations) > 0 {
				w.drop.Add(llm.DropCitations)
			}
			if p.HasText() {
				dst = appendText(jsonscan.AppendComma(dst), p)
			}
		case llm.Reasoning:
			if p.Seal != nil {
				w.drop.Add(llm.DropSignatures)
			}
			switch {
			case p.Text == "":
			case thinks(w.t.Model):
				dst = append(jsonscan.AppendComma(dst), `{"type":"thinking"`...)
				dst = append(jsonscan.AppendStringMember(dst, "thinking", p.Text), '}')
			case calls:
				plan += p.Text
			default:
				w.drop.Add(llm.DropReasoning)
			}
		case llm.ToolCall:
		case llm.Image, llm.Document, llm.Audio, llm.Video, llm.Opaque, llm.ToolResult:
			w.dropPart(p)
		}
	}
	if len(dst) == none {
		dst = dst[:empty]
	} else {
		dst = append(dst, ']')
	}
	if plan != "" {
		dst = jsonscan.AppendStringMember(dst, "tool_plan", plan)
	}
	if calls {
		dst = append(jsonscan.AppendKey(dst, "tool_calls"), '[')
		for i := range m.Content {
			if c := m.Content[i].Call; c != nil {
				dst = w.appendCall(jsonscan.AppendComma(dst), c)
			}
		}
		dst = append(dst, ']')
	}
	if len(dst) == empty {
		return dst[:from]
	}
	return append(dst, '}')
}

func (w *writer) appendCall(dst []byte, c *llm.Call) []byte {
	id := c.ID
	if id == "" {
		w.unnamedCalls++
		id = "call_" + strconv.Itoa(w.unnamedCalls)
	}
	arguments := c.Arguments
	switch {
	case c.Custom:
		w.drop.Add(llm.DropCustomTools)
		arguments = string(append(jsonscan.AppendStringMember([]byte{'{'}, customInput, arguments), '}'))
	case strings.TrimSpace(arguments) == "":
		arguments = "{}"
	}
	dst = append(dst, '{')
	dst = jsonscan.AppendStringMember(dst, "id", id)
	dst = append(jsonscan.AppendKey(dst, "type"), `"function","function":{`...)
	dst = jsonscan.AppendStringMember(dst, "name", c.Name)
	dst = jsonscan.AppendStringMember(dst, "arguments", arguments)
	return append(dst, "}}"...)
}

// dropPart notes a part that has no place here.
func (w *writer) dropPart(p *llm.Part) {
	if p.Media != nil && p.Media.FileID != "" {
		w.drop.Add(llm.DropFileIDs)
		return
	}
	switch p.Kind {
	case llm.Image:
		w.drop.Add(llm.DropImages)
	case llm.Document:
		w.drop.Add(llm.DropDocuments)
	case llm.Audio:
		w.drop.Add(llm.DropAudio)
	case llm.Video:
		w.drop.Add(llm.DropVideo)
	case llm.Opaque:
		w.drop.Add(llm.DropServerTools)
	case llm.Reasoning:
		w.drop.Add(llm.DropReasoning)
	case llm.Text, llm.Refusal, llm.ToolCall, llm.ToolResult:
	}
}
