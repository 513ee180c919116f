package openaichat

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// assistant writes a turn of the model; one of which nothing is left is left out.
func (e *requestEncoder) assistant(m *llm.Message) {
	mark := len(e.dst)
	e.message("assistant", m.Name)
	text, refusal := e.assistantText(m)
	some := text.HasText() || refusal != ""
	calls := 0
	for i := range m.Content {
		if m.Content[i].Kind == llm.ToolCall {
			calls++
		}
	}
	e.key("content")
	if !text.HasText() && (calls > 0 || refusal != "") {
		e.raw("null")
	} else {
		e.said(&text)
	}
	if refusal != "" {
		e.key("refusal")
		e.str(refusal)
	}
	some = e.thoughts(m) || some
	some = e.earlierAudio(m) || some
	if calls > 0 {
		some = true
		e.key("tool_calls")
		e.raw("[")
		for i := range m.Content {
			if p := &m.Content[i]; p.Kind == llm.ToolCall {
				e.note(p)
				e.call(p)
			}
		}
		e.raw("]")
	}
	if !some {
		e.dst = e.dst[:mark]
		return
	}
	e.signature(m)
	e.raw("}")
}

func (e *requestEncoder) assistantText(m *llm.Message) (text llm.Part, refusal string) {
	texts := make([]llm.Part, 0, 4)
	for i := range m.Content {
		switch p := &m.Content[i]; p.Kind {
		case llm.Text, llm.Document:
			texts = append(texts, *p)
		case llm.Refusal:
			refusal += p.Text
		case llm.Image, llm.Video, llm.Opaque:
			e.note(p)
			e.lost(p)
		case llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Audio: // have a place of their own
		}
	}
	return joinTexts(e, texts, ""), refusal
}

// thoughts writes what the model thought, where the target takes it back: all text under the name that it knows, and
// those that carry its own vendor's seals as reasoning_details.
func (e *requestEncoder) thoughts(m *llm.Message) (some bool) {
	field := e.t.Quirks.ReasoningField
	text, sealed := "", 0
	for i := range m.Content {
		p := &m.Content[i]
		if p.Kind != llm.Reasoning {
			continue
		}
		if field == "" {
			e.lostThought(p)
			continue
		}
		text += p.Text
		switch {
		case e.mine(p.Seal):
			sealed++
		case p.Seal != nil:
			e.q.Dropped.Add(llm.DropSignatures)
		}
	}
	if text != "" {
		e.key(field)
		e.str(text)
	}
	if sealed == 0 {
		return text != ""
	}
	e.key("reasoning_details")
	e.raw("[")
	index := 0
	for i := range m.Content {
		p := &m.Content[i]
		if p.Kind != llm.Reasoning || !e.mine(p.Seal) {
			continue
		}
		if index > 0 {
			e.raw(",")
		}
		e.dst = appendThought(e.dst, p.Text, p.Seal, index)
		index++
	}
	e.raw("]")
	return true
}

// mine says whether a seal is the target's vendor's own and may be sent.
func (e *requestEncoder) mine(s *llm.Seal) bool {
	return s != nil && s.Vendor != "" && s.Vendor == e.t.Vendor && !e.t.Unsealed
}

// signature writes the seal of a turn's text.
func (e *requestEncoder) signature(m *llm.Message) {
	var last *llm.Seal
	for i := range m.Content {
		if p := &m.Content[i]; p.Kind != llm.ToolCall && p.Signature != nil {
			if !e.mine(p.Signature) {
				e.q.Dropped.Add(llm.DropSignatures)
				continue
			}
			last = p.Signature
		}
	}
	if last != nil {
		e.key("extra_content")
		e.dst = appendExtra(e.dst, last)
	}
}

// earlierAudio writes the id of what was spoken before, which stands for it.
func (e *requestEncoder) earlierAudio(m *llm.Message) bool {
	for i := range m.Content {
		p := &m.Content[i]
		if p.Kind != llm.Audio {
			continue
		}
		if p.Media.FileID == "" || p.Media.Vendor != llm.OpenAI || p.Media.Vendor != e.t.Vendor {
			e.lost(p)
			continue
		}
		e.key("audio")
		e.raw(`{"id":`)
		e.str(p.Media.FileID)
		e.raw("}")
		return true
	}
	return false
}

func (e *requestEncoder) call(p *llm.Part) {
	c := p.Call
	if e.dst[len(e.dst)-1] != '[' {
		e.raw(",")
	}
	e.raw(`{"id":`)
	e.str(e.callID(c.ID))
	switch {
	case c.Custom && e.t.Quirks.CustomTools:
		e.raw(`,"type":"custom","custom":{"name":`)
		e.str(c.Name)
		e.key("input")
		e.str(c.Arguments)
	default:
		e.raw(`,"type":"function","function":{"name":`)
		e.str(c.Name)
		e.key("arguments")
		switch {
		case c.Custom:
			e.q.Dropped.Add(llm.DropCustomTools)
			e.str(`{"input":` + string(jsonscan.AppendString(nil, c.Arguments)) + `}`)
		case c.Arguments == "":
			e.str("{}")
		default:
			e.str(c.Arguments)
		}
	}
	e.raw("}")
	if s := p.Signature; e.mine(s) {
		e.key("extra_content")
		e.dst = appendExtra(e.dst, s)
	} else if s != nil {
		e.q.Dropped.Add(llm.DropSignatures)
	}
	e.raw("}")
}
