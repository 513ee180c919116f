package gemini

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// DecodeRequest reads the whole request.
func (Generate) DecodeRequest(r *wire.Request) (*llm.Request, error) {
	q := &llm.Request{Model: r.Model, Stream: r.Stream, StreamUsage: true, Dropped: &llm.Dropped{}}
	d := reader{q: q}
	for _, m := range members(r.Body) {
		if err := d.member(string(camel([]byte(m.key))), m.raw); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// reader is the state of reading one request.
type reader struct {
	q     *llm.Request
	calls []asked
	made  int
	// instructed: there was a systemInstruction.
	instructed bool
}

// asked is a function call that was made, and whether its result was seen.
type asked struct {
	id, name string
	answered bool
}

func (d *reader) member(name string, raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	switch name {
	case "model":
	case "contents":
		return d.contents(raw)
	case "systemInstruction":
		return d.system(raw)
	case "tools":
		return d.tools(raw)
	case "toolConfig":
		d.toolConfig(raw)
	case "generationConfig":
		return d.config(raw)
	case "serviceTier":
		if tier := tierOf([]byte(strings.ToLower(textOf(raw)))); tier != "unspecified" {
			d.q.ServiceTier = tier
		}
	case "store":
		store := string(raw) == "true"
		d.q.Store = &store
	case "labels":
		if raw[0] == '{' && !empty(raw) {
			d.q.Metadata = raw
		}
	case "cachedContent":
		// What it holds is the prompt's beginning: an answer without it would be one to another question.
		if !empty(raw) {
			return &wire.RequestError{
				Param:   name,
				Message: `"cachedContent" is kept by Google and cannot be read by another provider: send its content, or ask a Gemini model`,
			}
		}
	default: // safetySettings, modelArmorConfig, …
		d.lose(name, raw)
	}
	return nil
}

// lose notes that a member is left out, unless leaving it out says the same.
func (d *reader) lose(name string, raw []byte) {
	if !empty(raw) {
		d.q.Dropped.Add(name)
	}
}

func (d *reader) system(raw []byte) error {
	if d.instructed { // of a member that comes twice the last one counts
		d.q.System = nil
	}
	d.instructed = true
	if raw[0] == '"' {
		d.q.System = append(d.q.System, llm.Part{Kind: llm.Text, Text: textOf(raw)})
		return nil
	}
	parts, err := d.parts(partsOf(raw), llm.User)
	if err != nil {
		return err
	}
	for i := range parts {
		if parts[i].Kind == llm.Text {
			d.q.System = append(d.q.System, parts[i])
		} else {
			d.q.Dropped.Add("systemInstruction")
		}
	}
	return nil
}

func partsOf(content []byte) []byte {
	for _, m := range members(content) {
		if m.key == "parts" {
			return m.raw
		}
	}
	return nil
}

func (d *reader) contents(raw []byte) error {
	d.q.Messages, d.calls = nil, nil // of a member that comes twice the last one counts
	for _, c := range elements(raw) {
		role := llm.User
		var parts []byte
		for _, m := range members(c) {
			switch m.key {
			case "role":
				switch word := textOf(m.raw); word {
				case "", "user", "function", "tool":
				case "model", "assistant":
					role = llm.Assistant
				case "system":
					role = llm.System
				default:
					return &wire.RequestError{Param: "contents", Message: `the role "` + word + `" is not known: use user or model`}
				}
			case "parts":
				parts = m.raw
			}
		}
		content, err := d.parts(parts, role)
		if err != nil {
			return err
		}
		d.add(role, content)
	}
	return nil
}

// add adds a turn. SDKs keep each event of a stream as a content of its own: of the model's turns, neighbours are one, and
// so are pieces of text and thoughts, up to a signature.
func (d *reader) add(role llm.Role, content []llm.Part) {
	if len(content) == 0 {
		return
	}
	n := len(d.q.Messages)
	if role != llm.Assistant || n == 0 || d.q.Messages[n-1].Role != llm.Assistant {
		d.q.Messages = append(d.q.Messages, llm.Message{Role: role})
		n++
	}
	to := &d.q.Messages[n-1]
	if role != llm.Assistant {
		to.Content = content
		return
	}
	for i := range content {
		to.Content = joinPart(to.Content, &content[i])
	}
}

func joinPart(parts []llm.Part, p *llm.Part) []llm.Part {
	if n := len(parts); n > 0 && parts[n-1].Kind == p.Kind {
		last := &parts[n-1]
		redacted := p.Seal != nil && p.Seal.Kind == llm.Redacted
		switch {
		case p.Kind == llm.Text && last.Signature == nil:
			last.Text += p.Text
			last.Signature = p.Signature
			return parts
		case p.Kind == llm.Reasoning && last.Seal == nil && !redacted:
			last.Text += p.Text
			last.Seal = p.Seal
			return parts
		}
	}
	if p.Kind == llm.Text && p.Text == "" { // a signature with nothing before it
		return append(parts, llm.Part{Kind: llm.Reasoning, Seal: p.Signature})
	}
	return append(parts, *p)
}

// parts reads the parts of a turn. The error is a *wire.RequestError.
func (d *reader) parts(raw []byte, role llm.Role) (out []llm.Part, err error) {
	if len(raw) > 0 && raw[0] == '{' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	r := jsonscan.Again(raw)
	if !r.Array() {
		return nil, nil
	}
	for r.Elem() {
		p := readPart(raw, &r)
		for _, name := range p.lost {
			d.q.Dropped.Add(name)
		}
		switch {
		case p.call != nil:
			call := d.call(&p)
			if call.Call.Name == "" {
				return nil, &wire.RequestError{Param: "contents", Message: "a functionCall has no name"}
			}
			out = append(out, call)
		case p.result != nil:
			out = append(out, d.result(p.result))
		case p.opaque != "":
			out = append(out, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.Google, Type: p.opaque, Raw: p.raw}})
		case p.inline != nil:
			out = append(out, d.file(p.inline, &p))
		case p.file != nil:
			out = append(out, d.file(p.file, &p))
		case role == llm.Assistant && (p.thought || len(p.text) == 0 && len(p.signature) > 0):
			if len(p.text) > 0 || len(p.signature) > 0 {
				out = append(out, thought(&p, out))
			}
		case len(p.text) > 0:
			out = append(out, llm.Part{Kind: llm.Text, Text: jsonscan.TextOf(p.text), Signature: sealOf(p.signature)})
		}
	}
	return out, nil
}
