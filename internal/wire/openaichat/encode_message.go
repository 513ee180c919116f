package openaichat

import (
	"encoding/base64"
	"slices"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// messages writes the conversation and says whether there is any. Results of tools must follow the calls at once: they
// come before everything else that the users' turns after the calls say.
func (e *requestEncoder) messages() bool {
	e.raw("[")
	if text := joinTexts(e, e.q.System, "\n\n"); text != "" {
		e.message(e.systemRole(), "")
		e.key("content")
		e.str(text)
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
			if text := joinTexts(e, m.Content, "\n\n"); text != "" {
				e.message(e.systemRole(), m.Name)
				e.key("content")
				e.str(text)
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

// joinTexts is the text of parts, as one string: system, assistant and tool messages with parts are refused by many
// servers. What is no text is noted.
func joinTexts(e *requestEncoder, parts []llm.Part, between string) string {
	var one string
	var all []byte
	n := 0
	for i := range parts {
		p := &parts[i]
		e.note(p)
		text := ""
		switch p.Kind {
		case llm.Text, llm.Refusal:
			text = p.Text
		case llm.Document:
			if text = plainText(p.Media); text == "" {
				e.lost(p)
			}
		case llm.Image, llm.Audio, llm.Video, llm.ToolCall, llm.ToolResult, llm.Reasoning, llm.Opaque:
			e.lost(p)
		}
		if text == "" {
			continue
		}
		n++
		switch n {
		case 1:
			one = text
		case 2:
			all = append(append(append(all, one...), between...), text...)
		default:
			all = append(append(all, between...), text...)
		}
	}
	if n > 1 {
		return string(all)
	}
	return one
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
	e.str(joinTexts(e, texts, "\n"))
	e.raw("}")
}

// user writes a user's message of n parts.
func (e *requestEncoder) user(m *llm.Message, n int) {
	mark := len(e.dst)
	e.message("user", m.Name)
	e.key("content")
	if text, ok := e.onlyText(m, n); ok {
		e.str(text)
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
func (e *requestEncoder) onlyText(m *llm.Message, n int) (string, bool) {
	if n > 1 && !e.t.Quirks.PlainContent {
		return "", false
	}
	for i := range m.Content {
		if p := &m.Content[i]; countParts(p) > 0 && !isText(p) {
			return "", false
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
		e.str(p.Text)
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

// assistant writes a turn of the model; one of which nothing is left is left out.
func (e *requestEncoder) assistant(m *llm.Message) {
	mark := len(e.dst)
	e.message("assistant", m.Name)
	text, refusal := e.assistantText(m)
	some := text != "" || refusal != ""
	calls := 0
	for i := range m.Content {
		if m.Content[i].Kind == llm.ToolCall {
			calls++
		}
	}
	e.key("content")
	if text == "" && (calls > 0 || refusal != "") {
		e.raw("null")
	} else {
		e.str(text)
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

func (e *requestEncoder) assistantText(m *llm.Message) (text, refusal string) {
	var texts []llm.Part
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
