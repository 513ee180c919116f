package openaichat

import (
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// messages writes the conversation and says whether there is any. Results of tools must follow the calls at once: they
// come before everything else that the users' turns after the calls say.
func (e *requestEncoder) messages() bool {
	e.raw("[")
	if text := joinTexts(e, e.q.System, "\n\n"); text.HasText() {
		e.message(e.systemRole(), "")
		e.key("content")
		e.said(&text)
		e.raw("}")
	}
	all := e.q.Messages
	for i := 0; i < len(all); {
		m := &all[i]
		switch m.Role {
		case llm.User:
			end := i + 1
			for end < len(all) && all[end].Role == llm.User {
				end++
			}
			e.users(all[i:end])
			i = end
			continue
		case llm.Assistant:
			e.assistant(m)
		case llm.System:
			if text := joinTexts(e, m.Content, "\n\n"); text.HasText() {
				e.message(e.systemRole(), m.Name)
				e.key("content")
				e.said(&text)
				e.raw("}")
			}
		}
		i++
	}
	some := e.dst[len(e.dst)-1] != '['
	e.raw("]")
	return some
}

func (e *requestEncoder) systemRole() string {
	if e.t.Quirks.DeveloperRole {
		return "developer"
	}
	return "system"
}

// message begins one, with its role and name.
func (e *requestEncoder) message(role, name string) {
	if e.dst[len(e.dst)-1] != '[' {
		e.raw(",")
	}
	e.raw("{")
	e.key("role")
	e.str(role)
	if name != "" {
		if slices.Contains(e.t.Quirks.Refuses, "name") {
			e.q.Dropped.Add(llm.DropNames)
			return
		}
		e.key("name")
		e.str(name)
	}
}

// joinTexts is the text of parts, as one: system, assistant and tool messages with parts are refused by many servers. What
// is no text is noted.
func joinTexts(e *requestEncoder, parts []llm.Part, between string) (all llm.Part) {
	all.Kind = llm.Text
	var joined []byte // once it is more than one
	for i := range parts {
		p := &parts[i]
		e.note(p)
		var document llm.Part
		switch p.Kind {
		case llm.Text, llm.Refusal:
		case llm.Document:
			if document.Text = plainText(p.Media); document.Text == "" {
				e.lost(p)
			}
			p = &document
		case llm.Image, llm.Audio, llm.Video, llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Opaque:
			e.lost(p)
			continue
		}
		switch {
		case !p.HasText():
		case !all.HasText():
			all.Text, all.Quoted = p.Text, p.Quoted
		default:
			if joined == nil {
				joined = wire.AppendInside(nil, &all)
			}
			joined = jsonscan.AppendEscaped(joined, []byte(between))
			joined = wire.AppendInside(joined, p)
			all.Text, all.Quoted = "", joined
		}
	}
	return all
}

// note notes what no part keeps here.
func (e *requestEncoder) note(p *llm.Part) {
	if p.Cache != nil {
		e.q.Dropped.Add(llm.DropCache)
	}
	if len(p.Citations) > 0 {
		e.q.Dropped.Add(llm.DropCitations)
	}
}

// lost notes a part that has no place.
func (e *requestEncoder) lost(p *llm.Part) {
	d := e.q.Dropped
	switch p.Kind {
	case llm.Image, llm.Document, llm.Audio, llm.Video:
		if p.Media != nil && p.Media.FileID != "" {
			d.Add(llm.DropFileIDs)
			return
		}
		d.Add(mediaWord(p.Kind))
	case llm.Reasoning:
		e.lostThought(p)
	case llm.Opaque:
		d.Add(llm.DropServerTools)
	case llm.Text, llm.Refusal, llm.ToolCall, llm.ToolResult: // always have one where they can stand
	}
}

func mediaWord(k llm.PartKind) string {
	switch k {
	case llm.Image:
		return llm.DropImages
	case llm.Audio:
		return llm.DropAudio
	case llm.Video:
		return llm.DropVideo
	case llm.Document, llm.Text, llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Refusal, llm.Opaque:
	}
	return llm.DropDocuments
}

// lostThought notes a thought that is left out.
func (e *requestEncoder) lostThought(p *llm.Part) {
	if p.Text != "" {
		e.q.Dropped.Add(llm.DropReasoning)
	}
	if p.Seal != nil {
		e.q.Dropped.Add(llm.DropSignatures)
	}
}
