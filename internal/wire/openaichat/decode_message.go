package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// wireMessage is one message as it was said.
type wireMessage struct {
	role, name, callID string
	content            []llm.Part
	hasContent         bool
	refusal            string
	calls              []llm.Part
	oldCall            *llm.Call
	plain              string // thoughts that came without a list
	thoughts           thoughts
	extra              *llm.Seal
	audio              string // id of what was spoken before
	cache              *llm.Cache
}

// messages reads the conversation. What stands at its head with the role system or developer is the system prompt.
func (d *requestDecoder) messages() {
	d.q.System, d.q.Messages = nil, nil // of a member that comes twice the last one counts
	if !d.list("messages") {
		return
	}
	for i := 0; d.r.Elem(); i++ {
		d.message, d.part = i, -1
		if d.r.Kind() != jsonscan.Object {
			d.refuse("", "an object")
			continue
		}
		var m wireMessage
		d.readMessage(&m)
		d.part = -1
		d.take(&m)
	}
	d.message = -1
	if d.err == nil && len(d.q.Messages) == 0 && len(d.q.System) == 0 {
		d.fail("messages", `"messages" is empty: at least one message is needed`)
	}
}

func (d *requestDecoder) readMessage(m *wireMessage) {
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "role":
			m.role = d.word("role", "user", "assistant", "tool", "system")
		case "name":
			m.name = d.text("name")
		case "content":
			d.content(m)
		case "refusal":
			m.refusal = d.text("refusal")
		case "tool_calls":
			d.toolCalls(m)
		case "function_call":
			d.functionCall(m)
		case "tool_call_id":
			m.callID = d.text("tool_call_id")
		case "reasoning_content", "reasoning", "reasoning_text":
			if d.r.Kind() != jsonscan.String {
				d.drop(llm.DropReasoning)
				continue
			}
			if s := d.text(string(key)); m.plain == "" {
				m.plain = s
			}
		case "reasoning_details", "thinking_blocks":
			d.thoughts(m, string(key))
		case "extra_content":
			m.extra, _ = readExtra(&d.r)
		case "audio":
			d.spoken(m)
		case "cache_control":
			m.cache = d.cache()
		case "annotations":
			d.drop(llm.DropCitations)
		case "id", "status", "index", "type": // says nothing to the model
			d.r.Skip()
		default:
			d.drop(string(key))
		}
	}
}

// take adds a message to the request.
func (d *requestDecoder) take(m *wireMessage) {
	switch m.role {
	case "system", "developer":
		d.takeSystem(m)
	case "user":
		if !m.hasContent {
			d.fail("content", `"`+d.where("content")+`" is missing`)
		}
		m.mark(m.content)
		d.append(llm.Message{Role: llm.User, Name: m.name, Content: m.content})
	case "assistant":
		d.takeAssistant(m)
	case "tool":
		if m.callID == "" {
			d.fail("tool_call_id", `"`+d.where("tool_call_id")+`" is missing: it says which call the result is of`)
		}
		d.takeResult(m, m.callID)
	case "function":
		d.takeResult(m, d.functionCallID(m.name))
	case "":
		d.fail("role", `"`+d.where("role")+`" is missing`)
	default:
		d.fail("role", `"`+d.where("role")+`" must be system, developer, user, assistant, tool or function, not "`+m.role+`"`)
	}
}

func (d *requestDecoder) append(m llm.Message) {
	d.q.Messages = append(d.q.Messages, m)
}

// mark puts the message's own cache marker on its last part.
func (m *wireMessage) mark(parts []llm.Part) {
	if n := len(parts); m.cache != nil && n > 0 {
		parts[n-1].Cache = m.cache
	}
}

func (d *requestDecoder) takeSystem(m *wireMessage) {
	m.mark(m.content)
	if len(d.q.Messages) > 0 {
		d.append(llm.Message{Role: llm.System, Name: m.name, Content: m.content})
		return
	}
	if m.name != "" {
		d.q.Dropped.Add(llm.DropNames)
	}
	d.q.System = append(d.q.System, m.content...)
}

func (d *requestDecoder) takeAssistant(m *wireMessage) {
	thoughts := m.thoughts.with(m.plain)
	for i := len(m.content) - 1; i >= 0 && m.extra != nil; i-- {
		if m.content[i].Kind == llm.Text {
			m.content[i].Signature, m.extra = m.extra, nil
		}
	}
	parts := m.content
	if len(thoughts) > 0 {
		parts = append(thoughts, m.content...)
	}
	if m.refusal != "" {
		parts = append(parts, llm.Part{Kind: llm.Refusal, Text: m.refusal})
	}
	if m.audio != "" {
		parts = append(parts, llm.Part{Kind: llm.Audio, Media: &llm.Media{FileID: m.audio, Vendor: llm.OpenAI}})
	}
	if m.extra != nil && len(m.calls) > 0 && m.calls[0].Signature == nil {
		m.calls[0].Signature = m.extra
	}
	parts = append(parts, m.calls...)
	for i := range m.calls {
		d.calls = append(d.calls, *m.calls[i].Call)
	}
	if c := m.oldCall; c != nil {
		c.ID = "function_call_" + strconv.Itoa(d.oldCalls)
		d.oldCalls++
		d.unclaimed = append(d.unclaimed, c.ID)
		d.calls = append(d.calls, *c)
		parts = append(parts, llm.Part{Kind: llm.ToolCall, Call: c})
	}
	if len(parts) == 0 {
		return // a turn in which nothing was said
	}
	m.mark(parts)
	d.append(llm.Message{Role: llm.Assistant, Name: m.name, Content: parts})
}

// takeResult adds a tool's result; those that follow each other are one message.
func (d *requestDecoder) takeResult(m *wireMessage, id string) {
	result := &llm.Result{CallID: id, Name: m.name, Content: m.content}
	for i := len(d.calls) - 1; i >= 0; i-- {
		if c := &d.calls[i]; c.ID == id {
			result.Custom = c.Custom
			if result.Name == "" {
				result.Name = c.Name
			}
			break
		}
	}
	part := llm.Part{Kind: llm.ToolResult, Result: result, Cache: m.cache}
	if n := len(d.q.Messages); n > 0 {
		last := &d.q.Messages[n-1]
		if k := len(last.Content); last.Role == llm.User && k > 0 && last.Content[k-1].Kind == llm.ToolResult {
			last.Content = append(last.Content, part)
			return
		}
	}
	d.append(llm.Message{Role: llm.User, Content: []llm.Part{part}})
}

// functionCallID is the id that was made for the call that a message of role function answers: the first of that name
// without an answer.
func (d *requestDecoder) functionCallID(name string) string {
	for i, id := range d.unclaimed {
		for j := range d.calls {
			if d.calls[j].ID == id && (d.calls[j].Name == name || name == "") {
				d.unclaimed = append(d.unclaimed[:i], d.unclaimed[i+1:]...)
				return id
			}
		}
	}
	d.fail("name", `"`+d.where("name")+`" names no function that was called before`)
	return ""
}

// toolCalls reads the calls of an assistant's message.
func (d *requestDecoder) toolCalls(m *wireMessage) {
	if !d.list("tool_calls") {
		return
	}
	for i := 0; d.r.Elem(); i++ {
		path := "tool_calls[" + strconv.Itoa(i) + "]"
		if d.r.Kind() != jsonscan.Object {
			d.refuse(path, "an object")
			continue
		}
		call := &llm.Call{}
		part := llm.Part{Kind: llm.ToolCall, Call: call}
		d.r.Object()
		for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
			switch string(key) {
			case "id":
				call.ID = d.text(path + ".id")
			case "type":
				call.Custom = call.Custom || d.text(path+".type") == "custom"
			case "function":
				d.callBody(call, path+".function")
			case "custom":
				call.Custom = true
				d.callBody(call, path+".custom")
			case "extra_content":
				part.Signature, _ = readExtra(&d.r)
			case "cache_control":
				part.Cache = d.cache()
			case "index":
				d.r.Skip()
			default:
				d.drop(string(key))
			}
		}
		switch {
		case call.Name == "":
			d.fail(path, `"`+d.where(path)+`" needs the name of the tool that was called`)
		case call.ID == "":
			d.fail(path+".id", `"`+d.where(path+".id")+`" is missing`)
		}
		m.calls = append(m.calls, part)
	}
}

// callBody reads a call's name and arguments, which some vendors and their clients say as an object.
func (d *requestDecoder) callBody(c *llm.Call, path string) {
	if !d.enter(path) {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "name":
			c.Name = d.text(path + ".name")
		case "arguments", "input":
			if d.r.Kind() == jsonscan.Object {
				c.Arguments = string(d.r.Raw())
				continue
			}
			c.Arguments = d.text(path + "." + string(key))
		default:
			d.drop(string(key))
		}
	}
}

func (d *requestDecoder) functionCall(m *wireMessage) {
	if d.r.Kind() != jsonscan.Object {
		d.text("function_call") // null, or a mistake
		return
	}
	m.oldCall = &llm.Call{}
	d.callBody(m.oldCall, "function_call")
	if m.oldCall.Name == "" {
		d.fail("function_call.name", `"`+d.where("function_call.name")+`" is missing`)
	}
}

func (d *requestDecoder) thoughts(m *wireMessage, member string) {
	if !d.list(member) {
		return
	}
	if len(m.thoughts.parts) > 0 { // the same in another form
		for d.r.Elem() {
			d.r.Skip()
		}
		return
	}
	for d.r.Elem() {
		t := readThought(&d.r)
		if member == "thinking_blocks" && len(t.format) == 0 {
			t.format = []byte(formatAnthropic)
		}
		m.thoughts.add(&t)
	}
}

// spoken reads what stands for the audio of an earlier answer: its id, or all of it, sent back as it came.
func (d *requestDecoder) spoken(m *wireMessage) {
	if !d.enter("audio") {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		if string(key) == "id" {
			m.audio = d.text("audio.id")
			continue
		}
		d.r.Skip()
	}
}
