package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// conversation writes instructions and input.
func (e *requestEncoder) conversation() error {
	system := e.system(e.q.System)
	if system.HasText() && len(e.q.Messages) > 0 {
		e.dst = wire.AppendText(e.key([]byte("instructions")), &system)
	}
	from := len(e.key([]byte("input")))
	e.dst = append(e.dst, '[')
	for i := range e.q.Messages {
		m := &e.q.Messages[i]
		if m.Name != "" {
			e.q.Dropped.Add(llm.DropNames)
		}
		role := "user"
		switch m.Role {
		case llm.Assistant:
			role = "assistant"
		case llm.System:
			role = "system"
			if e.t.Quirks.DeveloperRole {
				role = "developer"
			}
		case llm.User:
		}
		for j := range m.Content {
			if m.Role == llm.Assistant && alone(m.Content, j) {
				e.plain(&m.Content[j])
				continue
			}
			e.part(role, &m.Content[j])
		}
		e.closeMessage()
	}
	if len(e.q.Messages) == 0 && system.HasText() { // the API wants an input
		e.openMessage("system")
		e.dst = appendInputText(e.dst, &system)
		e.closeMessage()
	}
	if len(e.dst) == from+1 {
		return &wire.RequestError{Message: "nothing of the conversation can be said to this model's provider"}
	}
	e.dst = append(e.dst, ']')
	return nil
}

// alone says whether the model said a text with no other beside it.
func alone(content []llm.Part, i int) bool {
	says := func(i int) bool {
		return i >= 0 && i < len(content) && (content[i].Kind == llm.Text || content[i].Kind == llm.Refusal)
	}
	return content[i].Kind == llm.Text && !says(i-1) && !says(i+1)
}

// plain writes what the model said as a message of one text: items with parts should have the id by which the provider
// knows them, which is not known.
func (e *requestEncoder) plain(p *llm.Part) {
	e.lacks(p)
	if !p.HasText() {
		return
	}
	e.item()
	e.dst = append(e.dst, `{"type":"message","role":"assistant","content":`...)
	e.dst = wire.AppendText(e.dst, p)
	e.dst = append(e.dst, '}')
}

// system joins the system prompt's texts.
func (e *requestEncoder) system(parts []llm.Part) llm.Part {
	texts := make([]*llm.Part, 0, 4)
	for i := range parts {
		p := &parts[i]
		if p.Cache != nil {
			e.q.Dropped.Add(llm.DropCache)
		}
		if p.Kind == llm.Text {
			texts = append(texts, p)
		} else {
			e.lose(p.Kind)
		}
	}
	return llm.Part{Quoted: appendJoined(nil, texts, `\n\n`)}
}

// appendJoined appends texts as the inside of one JSON string, with what is between them.
func appendJoined(dst []byte, texts []*llm.Part, between string) []byte {
	for i, p := range texts {
		if i > 0 {
			dst = append(dst, between...)
		}
		dst = wire.AppendInside(dst, p)
	}
	return dst
}

// lose notes content of a kind that cannot go where it is.
func (e *requestEncoder) lose(kind llm.PartKind) {
	switch kind {
	case llm.Image:
		e.q.Dropped.Add(llm.DropImages)
	case llm.Document:
		e.q.Dropped.Add(llm.DropDocuments)
	case llm.Audio:
		e.q.Dropped.Add(llm.DropAudio)
	case llm.Video:
		e.q.Dropped.Add(llm.DropVideo)
	case llm.Reasoning:
		e.q.Dropped.Add(llm.DropReasoning)
	case llm.Opaque:
		e.q.Dropped.Add(llm.DropServerTools)
	case llm.Text, llm.ToolCall, llm.ToolResult, llm.Refusal:
	}
}

// part writes one part of a message: into the open message item, or as an item of its own.
func (e *requestEncoder) part(role string, p *llm.Part) {
	e.lacks(p)
	switch p.Kind {
	case llm.ToolCall:
		e.call(p.Call)
	case llm.ToolResult:
		e.result(p.Result)
	case llm.Reasoning:
		e.thought(p)
	case llm.Opaque:
		if p.Opaque.Vendor != llm.OpenAI {
			e.lose(llm.Opaque)
			return
		}
		e.item()
		e.dst = append(e.dst, p.Opaque.Raw...)
	case llm.Refusal:
		if role != "assistant" {
			role, p = "user", &llm.Part{Kind: llm.Text, Text: p.Text}
			e.content(role, p)
			return
		}
		e.openMessage(role)
		e.dst = append(e.dst, `{"type":"refusal","refusal":`...)
		e.dst = jsonscan.AppendString(e.dst, p.Text)
		e.dst = append(e.dst, '}')
	case llm.Text, llm.Image, llm.Document, llm.Audio, llm.Video:
		e.content(role, p)
	}
}

// lacks notes what goes with a part in other dialects and has no place in this one.
func (e *requestEncoder) lacks(p *llm.Part) {
	if p.Cache != nil {
		e.q.Dropped.Add(llm.DropCache)
	}
	if p.Signature != nil {
		e.q.Dropped.Add(llm.DropSignatures)
	}
	if len(p.Citations) > 0 {
		e.q.Dropped.Add(llm.DropCitations)
	}
}

// content writes a part into the message of role.
func (e *requestEncoder) content(role string, p *llm.Part) {
	switch {
	case role == "assistant" && p.Kind == llm.Text:
		if !p.HasText() {
			return
		}
		e.openMessage(role)
		e.dst = append(e.dst, `{"type":"output_text","text":`...)
		e.dst = wire.AppendText(e.dst, p)
		e.dst = append(e.dst, `,"annotations":[]}`...)
	case role != "user" && p.Kind != llm.Text:
		e.lose(p.Kind)
	default:
		if said := e.said(p); said != nil {
			e.openMessage(role)
			e.dst = append(e.dst, said...)
		}
	}
}

// item begins an item that is no message.
func (e *requestEncoder) item() {
	e.closeMessage()
	e.comma()
}

func (e *requestEncoder) comma() {
	if e.items {
		e.dst = append(e.dst, ',')
	}
	e.items = true
}

// openMessage begins a message, or goes on with the open one, for another part.
func (e *requestEncoder) openMessage(role string) {
	if e.inMessage {
		e.dst = append(e.dst, ',')
		return
	}
	e.comma()
	e.inMessage = true
	e.dst = append(e.dst, `{"type":"message","role":"`...)
	e.dst = append(e.dst, role...)
	e.dst = append(e.dst, `","content":[`...)
}

func (e *requestEncoder) closeMessage() {
	if e.inMessage {
		e.inMessage = false
		e.dst = append(e.dst, "]}"...)
	}
}

func (e *requestEncoder) call(c *llm.Call) {
	e.item()
	if c.Custom {
		e.dst = append(e.dst, `{"type":"custom_tool_call","call_id":`...)
	} else {
		e.dst = append(e.dst, `{"type":"function_call","call_id":`...)
	}
	e.dst = appendCallID(e.dst, c.ID)
	e.dst = append(e.dst, `,"name":`...)
	e.dst = jsonscan.AppendString(e.dst, c.Name)
	switch {
	case c.Custom:
		e.dst = append(e.dst, `,"input":`...)
		e.dst = jsonscan.AppendString(e.dst, c.Arguments)
	case c.Arguments == "":
		e.dst = append(e.dst, `,"arguments":"{}"`...)
	default:
		e.dst = append(e.dst, `,"arguments":`...)
		e.dst = jsonscan.AppendString(e.dst, c.Arguments)
	}
	e.dst = append(e.dst, '}')
}

// maxCallID is how long the API lets the id of a call be.
const maxCallID = 64

// appendCallID appends the id of a call. A longer one than the API takes is cut in its middle, in the call and in its
// result alike.
func appendCallID(dst []byte, id string) []byte {
	if len(id) > maxCallID {
		id = id[:maxCallID/2] + id[len(id)-maxCallID/2:]
	}
	return jsonscan.AppendString(dst, id)
}

func (e *requestEncoder) result(r *llm.Result) {
	e.item()
	if r.Error {
		e.q.Dropped.Add(llm.DropToolErrors)
	}
	if r.Custom {
		e.dst = append(e.dst, `{"type":"custom_tool_call_output","call_id":`...)
	} else {
		e.dst = append(e.dst, `{"type":"function_call_output","call_id":`...)
	}
	e.dst = appendCallID(e.dst, r.CallID)
	e.dst = append(e.dst, `,"output":`...)
	plain := make([]*llm.Part, 0, 4)
	for i := range r.Content {
		if r.Content[i].Kind == llm.Text {
			plain = append(plain, &r.Content[i])
		}
	}
	if len(plain) == len(r.Content) { // what every server takes
		e.dst = appendJoined(append(e.dst, '"'), plain, `\n`)
		e.dst = append(e.dst, `"}`...)
		return
	}
	e.dst = append(e.dst, '[')
	some := false
	for i := range r.Content {
		said := e.said(&r.Content[i])
		if said == nil {
			continue
		}
		if some {
			e.dst = append(e.dst, ',')
		}
		some = true
		e.dst = append(e.dst, said...)
	}
	e.dst = append(e.dst, "]}"...)
}

// thought writes a sealed thought back to the vendor that made it, or an open one where the target has a place for it.
func (e *requestEncoder) thought(p *llm.Part) {
	s := p.Seal
	sealed := s != nil && s.Vendor == e.t.Vendor && s.Kind == llm.Encrypted && s.Data != "" && !e.t.Unsealed
	if !sealed {
		if s != nil {
			e.q.Dropped.Add(llm.DropSignatures)
		}
		if p.Text == "" {
			return
		}
		if e.t.Quirks.ReasoningField == "" {
			e.q.Dropped.Add(llm.DropReasoning)
			return
		}
		e.item()
		e.dst = append(e.dst, `{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":`...)
		e.dst = jsonscan.AppendString(e.dst, p.Text)
		e.dst = append(e.dst, "}]}"...)
		return
	}
	e.item()
	e.dst = append(e.dst, `{"type":"reasoning",`...)
	if s.ID != "" {
		e.dst = append(e.dst, `"id":`...)
		e.dst = jsonscan.AppendString(e.dst, s.ID)
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, `"summary":[`...)
	if p.Text != "" {
		e.dst = append(e.dst, `{"type":"summary_text","text":`...)
		e.dst = jsonscan.AppendString(e.dst, p.Text)
		e.dst = append(e.dst, '}')
	}
	e.dst = append(e.dst, `],"encrypted_content":`...)
	e.dst = jsonscan.AppendString(e.dst, s.Data)
	e.dst = append(e.dst, '}')
}
