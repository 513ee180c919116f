package responses

import (
	"fmt"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// conversation makes turns of input items. What the model said (messages, thoughts, calls) in a row is one turn, and so are
// the results of calls in a row.
type conversation struct {
	q     *llm.Request
	texts wire.Texts
	begun bool // something other than a system message came
	// open is the role of the last message if more may be put into it.
	open  llm.Role
	calls map[string]made
}

// made is a call that the model made.
type made struct {
	name   string
	custom bool
}

// read reads the whole input: a text, or items.
func (c *conversation) read(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' {
		c.add(llm.User, false, c.texts.Part(inside(raw)))
		return nil
	}
	r := jsonscan.Again(raw)
	r.Array()
	for i := 0; r.Elem(); i++ {
		switch kind := r.Kind(); kind {
		case jsonscan.Object:
		case jsonscan.String: // a text among the items
			said, _ := r.RawString()
			c.add(llm.User, false, c.texts.Part(said))
			continue
		case jsonscan.None, jsonscan.Array, jsonscan.Number, jsonscan.Bool, jsonscan.Null:
			return wire.WrongKind(fmt.Sprintf("input[%d]", i), "an object", kind)
		}
		it := nextItem(&r, raw)
		if err := c.item(&it, i); err != nil {
			return err
		}
	}
	return nil
}

// item adds one item.
func (c *conversation) item(it *item, at int) error {
	switch it.shape() {
	case messageShape:
		return c.message(it, at)
	case reasoningShape:
		c.reasoning(it)
	case callShape, customShape:
		call := llm.Call{ID: it.call(), Name: text(it.name), Arguments: written(it.arguments)}
		if it.shape() == customShape {
			call.Custom, call.Arguments = true, written(it.input)
		}
		if call.Name == "" {
			return &wire.RequestError{Param: fmt.Sprintf("input[%d].name", at), Message: fmt.Sprintf("input[%d] is a call of a tool without a name", at)}
		}
		if it.namespace != nil {
			name, known := nameOf(c.q, text(it.namespace), call.Name)
			if call.Name = name; !known {
				c.q.Dropped.Add("namespace")
			}
		}
		if c.calls == nil {
			c.calls = map[string]made{}
		}
		c.calls[call.ID] = made{call.Name, call.Custom}
		c.add(llm.Assistant, true, llm.Part{Kind: llm.ToolCall, Call: &call})
	case callOutput, customOutput:
		id := it.call()
		call := c.calls[id]
		c.add(llm.User, true, llm.Part{Kind: llm.ToolResult, Result: &llm.Result{
			CallID: id, Name: call.name, Custom: call.custom || it.shape() == customOutput,
			Content: c.parts(it.output),
		}})
	case referenceShape:
		return &wire.RequestError{
			Param:   fmt.Sprintf("input[%d]", at),
			Message: fmt.Sprintf("input[%d] refers to a stored item, which this model's provider does not have: send the item itself", at),
		}
	case moreTools:
		return appendToolsOf(c.q, it.tools)
	case otherShape:
		role := llm.Assistant
		if kind := string(it.kind); strings.HasSuffix(kind, "_output") || kind == "mcp_approval_response" || kind == "compaction_trigger" {
			role = llm.User
		}
		c.add(role, role == llm.Assistant, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: string(it.kind), Raw: it.raw}})
	}
	return nil
}

// message adds a message. System messages before all others belong to the system prompt.
func (c *conversation) message(it *item, at int) error {
	parts := c.parts(it.content)
	if it.phase != nil {
		c.q.Dropped.Add("phase")
	}
	switch role := jsonscan.WordOf(inside(it.role), "user", "assistant"); role {
	case "user":
		if len(parts) == 0 {
			parts = []llm.Part{{Kind: llm.Text}}
		}
		c.add(llm.User, false, parts...)
	case "assistant":
		c.add(llm.Assistant, true, parts...)
	case "system", "developer":
		if !c.begun {
			c.q.System = append(c.q.System, parts...)
			return nil
		}
		c.add(llm.System, false, parts...)
	default:
		return &wire.RequestError{
			Param:   fmt.Sprintf("input[%d].role", at),
			Message: fmt.Sprintf("input[%d] has the role %q: it must be user, assistant, system or developer", at, role),
		}
	}
	return nil
}

// add adds parts to the conversation: to the last message if that is of the same role and both are of the kind that
// goes together, else as a new one.
func (c *conversation) add(role llm.Role, together bool, parts ...llm.Part) {
	c.begun = true
	if len(parts) == 0 {
		return
	}
	if together && c.open == role {
		last := &c.q.Messages[len(c.q.Messages)-1]
		last.Content = append(last.Content, parts...)
		return
	}
	c.q.Messages = append(c.q.Messages, llm.Message{Role: role, Content: parts})
	c.open = 0
	if together {
		c.open = role
	}
}

// reasoning adds a thought. One that was made to carry another part's signature gives it back to that part.
func (c *conversation) reasoning(it *item) {
	p := llm.Part{Kind: llm.Reasoning, Text: thought(it), Seal: sealOf(it)}
	if p.Seal != nil && strings.HasPrefix(p.Seal.ID, signatureOf) {
		call := strings.TrimPrefix(p.Seal.ID, signatureOf)
		p.Seal.ID = ""
		if to := c.signed(call); to != nil {
			to.Signature = p.Seal
		}
		return
	}
	if p.Text == "" && p.Seal == nil {
		return
	}
	c.add(llm.Assistant, true, p)
}

// signed finds the part that a signature belongs to: the call of that id, or the last part of the turn that is no thought.
func (c *conversation) signed(call string) *llm.Part {
	for i := len(c.q.Messages) - 1; i >= 0 && (call != "" || c.open == llm.Assistant); i-- {
		content := c.q.Messages[i].Content
		for j := len(content) - 1; j >= 0; j-- {
			p := &content[j]
			if p.Kind == llm.ToolCall && p.Call.ID == call || call == "" && p.Kind != llm.Reasoning {
				return p
			}
		}
		if call == "" {
			break
		}
	}
	return nil
}

// signatureOf begins the id of a seal that belongs to the part before it: the id of a call follows, or nothing.
const signatureOf = "for:"

// thought is the text of a reasoning item: its summary, or, where models show all that they think, its content.
func thought(it *item) string {
	if s := joined(it.summary); s != "" {
		return s
	}
	return joined(it.content)
}

func joined(raw []byte) string {
	var out string
	elements(raw, func(raw []byte) {
		p := readPart(raw)
		s := text(p.text)
		if out != "" && s != "" {
			out += "\n\n"
		}
		out += s
	})
	return out
}

// sealOf is the seal of a reasoning item: OpenAI's, or another vendor's that was wrapped; nil without one.
func sealOf(it *item) *llm.Seal {
	data := text(it.encrypted)
	if data == "" {
		return nil
	}
	if s, ok := llm.Unwrap(data); ok {
		return &s
	}
	return &llm.Seal{Vendor: llm.OpenAI, Kind: llm.Encrypted, Data: data, ID: text(it.id)}
}
