package gemini

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// readPartOf reads a part that stands alone.
func readPartOf(raw []byte) part {
	r := jsonscan.Again(raw)
	return readPart(raw, &r)
}

// thought reads a thought, or a signature alone: what was signed is the text before it, as streams bring it, else
// thoughts that were not shown.
func thought(p *part, before []llm.Part) llm.Part {
	seal := sealOf(p.signature)
	if n := len(before); !p.thought && seal.Vendor == llm.Google && (n == 0 || before[n-1].Kind == llm.Text) {
		return llm.Part{Kind: llm.Text, Signature: seal} // joined with the text before it, if there is any
	}
	return llm.Part{Kind: llm.Reasoning, Text: jsonscan.TextOf(p.text), Seal: seal}
}

func (d *reader) call(p *part) llm.Part {
	c := readCall(p.call)
	if c.id == "" {
		c.id = madeID("", d.made)
		d.made++
	}
	d.calls = append(d.calls, asked{id: c.id, name: c.name})
	return llm.Part{
		Kind: llm.ToolCall, Signature: sealOf(p.signature),
		Call: &llm.Call{ID: c.id, Name: c.name, Arguments: string(c.args)},
	}
}

// result reads a functionResponse. One that names no call answers the first of its name that has no answer yet.
func (d *reader) result(raw []byte) llm.Part {
	r := &llm.Result{}
	var response, parts []byte
	for _, m := range members(raw) {
		switch string(camel([]byte(m.key))) {
		case "id":
			r.CallID = textOf(m.raw)
		case "name":
			r.Name = textOf(m.raw)
		case "response":
			response = m.raw
		case "parts":
			parts = m.raw
		default: // willContinue, scheduling
			d.lose(string(camel([]byte(m.key))), m.raw)
		}
	}
	r.CallID = d.answer(r.CallID, r.Name)
	text, failed := outcome(response)
	r.Error = failed
	if text != "" {
		r.Content = append(r.Content, llm.Part{Kind: llm.Text, Text: text})
	}
	for _, e := range elements(parts) {
		p := readPartOf(e)
		switch {
		case p.inline != nil:
			r.Content = append(r.Content, d.file(p.inline, &p))
		case p.file != nil:
			r.Content = append(r.Content, d.file(p.file, &p))
		}
	}
	return llm.Part{Kind: llm.ToolResult, Result: r}
}

// answer is the id of the call that a result answers.
func (d *reader) answer(id, name string) string {
	for i := range d.calls {
		if id != "" && d.calls[i].id == id {
			d.calls[i].answered = true
			return id
		}
	}
	for i := range d.calls {
		if c := &d.calls[i]; c.name == name && !c.answered {
			c.answered = true
			return c.id
		}
	}
	if id == "" {
		id = madeID("", d.made)
		d.made++
	}
	return id
}

// outcome is what a function gave back, as text. SDKs wrap what is no object as result, output or error.
func outcome(response []byte) (text string, failed bool) {
	all := members(response)
	switch {
	case len(all) == 0:
		if empty(response) {
			return "", false
		}
	case len(all) == 1:
		switch m := all[0]; m.key {
		case "error":
			return plain(m.raw), true
		case "result", "output":
			return plain(m.raw), false
		}
	}
	return string(response), false
}

func plain(raw []byte) string {
	if raw[0] == '"' {
		return textOf(raw)
	}
	return string(raw)
}

func (d *reader) file(raw []byte, p *part) llm.Part {
	m := readMedia(raw)
	return llm.Part{Kind: kindOf(m), Media: m, Signature: sealOf(p.signature)}
}
