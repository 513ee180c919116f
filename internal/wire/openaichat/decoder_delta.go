package openaichat

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// rawDelta is one delta or message. Values are raw, nil if absent or null.
type rawDelta struct {
	content, refusal, audio, images []byte
	plain, details, tools, oldCall  []byte
	annotations                     []byte
	seal                            *llm.Seal
	isThought                       bool
}

func (d *decoder) readDelta(c *decodedChoice, raw []byte) {
	var m rawDelta
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "content":
			m.content = value(&r)
		case "refusal":
			m.refusal = value(&r)
		case "reasoning_content", "reasoning", "reasoning_text", "thinking":
			if v := value(&r); len(v) > len(`""`) {
				m.plain = v
			}
		case "reasoning_details", "thinking_blocks":
			if v := value(&r); len(v) > len(`[]`) {
				m.details = v
			}
		case "tool_calls":
			m.tools = value(&r)
		case "function_call":
			m.oldCall = value(&r)
		case "audio":
			m.audio = value(&r)
		case "images":
			m.images = value(&r)
		case "annotations":
			m.annotations = value(&r)
		case "extra_content":
			m.seal, m.isThought = readExtra(&r)
		default:
			r.Skip()
		}
	}
	d.thoughts(c, &m)
	if m.isThought {
		d.taggedThought(c, m.content)
	} else {
		d.content(c, m.content)
	}
	d.texts(c, keyRefusal, m.refusal)
	d.audio(c, m.audio)
	d.images(c, m.images)
	d.annotations(c, m.annotations)
	d.tools(c, m.tools)
	d.functionCall(c, m.oldCall)
	if m.seal != nil {
		d.sealText(c, m.seal)
	}
}

// value is the next value raw, nil if it is null.
func value(r *jsonscan.Reader) []byte {
	if r.Null() {
		return nil
	}
	return r.Raw()
}

// begin emits the start of one of the parts of which a choice has one, unless it has begun.
func (d *decoder) begin(c *decodedChoice, key int) {
	if c.begun&(1<<key) != 0 {
		return
	}
	c.begun |= 1 << key
	kind := [...]llm.PartKind{
		keyText: llm.Text, keyRefusal: llm.Refusal, keyThought: llm.Reasoning, keyAudio: llm.Audio, keyOldCall: llm.ToolCall,
	}[key]
	d.head(c, key, &llm.Part{Kind: kind})
}

func (d *decoder) head(c *decodedChoice, key int, p *llm.Part) {
	d.next(llm.PartStart, c.index, key).Head = p
	d.put()
}

// delta emits more of a part that has begun.
func (d *decoder) delta(c *decodedChoice, key int, text []byte) {
	if len(text) == 0 {
		return
	}
	d.next(llm.Delta, c.index, key).Text = text
	d.put()
}

func (d *decoder) sealing(c *decodedChoice, key int, s *llm.Seal) {
	d.next(llm.Sealing, c.index, key).Seal = s
	d.put()
}

// unquoted is the text of a raw string, which holds until the next call; nil if it is none.
func (d *decoder) unquoted(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return jsonscan.Unescaped(&d.scratch, raw[1:len(raw)-1])
}

// say emits text of one of the parts of which a choice has one.
func (d *decoder) say(c *decodedChoice, key int, text []byte) {
	if len(text) == 0 {
		return
	}
	d.begin(c, key)
	d.delta(c, key, text)
}

// quoted says a raw string; see say.
func (d *decoder) quoted(c *decodedChoice, key int, raw []byte) {
	if text := d.unquoted(raw); len(text) > 0 {
		d.say(c, key, text)
		d.text = raw
	}
}

// texts says a value that is text, or parts with text.
func (d *decoder) texts(c *decodedChoice, key int, raw []byte) {
	if len(raw) == 0 {
		return
	}
	if raw[0] == '"' {
		d.quoted(c, key, raw)
		return
	}
	r := jsonscan.Again(raw)
	d.scratch = appendTexts(d.scratch[:0], &r)
	d.say(c, key, d.scratch)
}

// content says a content, which is text or typed parts.
func (d *decoder) content(c *decodedChoice, raw []byte) {
	switch {
	case len(raw) == 0:
	case raw[0] == '"':
		if !c.inTag {
			d.quoted(c, keyText, raw)
			return
		}
		text := bytes.TrimPrefix(d.unquoted(raw), []byte("</thought>"))
		c.inTag = len(text) == 0 && len(raw) == 2
		d.say(c, keyText, text)
	case raw[0] == '[':
		r := jsonscan.Again(raw)
		r.Array()
		for r.Elem() {
			d.contentPart(c, &r)
		}
	}
}

// contentPart says one part of a content: text, or Mistral's thinking.
func (d *decoder) contentPart(c *decodedChoice, r *jsonscan.Reader) {
	if r.Kind() == jsonscan.String {
		d.texts(c, keyText, r.Raw())
		return
	}
	var kind, text, image []byte
	if !r.Object() {
		return
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "text", "thinking", "refusal":
			text = value(r)
		case "image_url":
			image = value(r)
		default: // reference_ids and what else there may be
			r.Skip()
		}
	}
	switch string(kind) {
	case "text", "output_text":
		d.texts(c, keyText, text)
	case "thinking", "reasoning":
		d.texts(c, keyThought, text)
	case "refusal":
		d.texts(c, keyRefusal, text)
	case "image_url":
		d.image(c, image)
	}
}

// probs emits log probabilities: those of text, or of a refusal.
func (d *decoder) probs(c *decodedChoice, raw []byte) {
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if k := string(key); k != "content" && k != "refusal" {
			r.Skip()
			continue
		}
		if list := r.Raw(); len(list) > len("[]") && list[0] == '[' {
			d.next(llm.Probs, c.index, 0).LogProbs = list
			d.put()
		}
	}
}

// sealText emits the seal of what was said, where it came beside it.
func (d *decoder) sealText(c *decodedChoice, s *llm.Seal) {
	if n := len(c.calls); n > 0 {
		if call := &c.calls[n-1]; call.started {
			d.sealing(c, call.key, s)
		}
		return
	}
	d.begin(c, keyText)
	d.sealing(c, keyText, s)
}
