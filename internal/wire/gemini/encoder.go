package gemini

import (
	"bytes"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// NewEncoder makes the encoder of one stream that answers q.
func (Generate) NewEncoder(q *llm.Request) wire.Encoder {
	return &encoder{dropped: q.Dropped, said: wire.Said{Model: q.Model}}
}

// encoder writes one stream. Text goes out as it comes; a call is held until it is complete, because Gemini has no
// arguments in pieces; the finish is held to the end, where it goes out with the usage.
type encoder struct {
	dropped *llm.Dropped
	said    wire.Said
	usage   llm.Usage
	tier    string
	choices []*encoded
}

// encoded is the state of one candidate. Of the open part only what must be held is kept.
type encoded struct {
	number int
	part   llm.Part
	open   bool
	held   []byte // arguments, or the data of a file
	seal   *llm.Seal
	// reason is the finish reason, message what else is said of it.
	reason, message string
	grounding       sources
}

// Append writes what e says.
func (c *encoder) Append(dst []byte, e *llm.Event) []byte {
	switch e.Kind {
	case llm.Start:
		c.said.ID = e.ID
		if e.Model != "" {
			c.said.Model = e.Model
		}
		c.said.Created = e.Created
		c.setTier(e.ServiceTier)
		return dst
	case llm.Used:
		c.usage = e.Usage
		return dst
	case llm.Alive:
		return dst
	case llm.PartStart, llm.Delta, llm.Sealing, llm.Cited, llm.Probs, llm.PartStop, llm.Finish:
	}
	s := c.choice(e.Choice)
	switch e.Kind {
	case llm.PartStart:
		s.start(e.Head)
		if spoken := e.Head.Spoken(); spoken != "" {
			return c.text(dst, s, []byte(spoken), false)
		}
	case llm.Delta:
		return c.delta(dst, s, e.Text)
	case llm.Sealing:
		seal := *e.Seal
		s.seal = &seal
	case llm.Cited:
		s.grounding.add(e.Citation)
	case llm.Probs:
		out := c.begin(dst)
		out.raw("content", []byte(nothing))
		out.key("logprobsResult")
		out.dst = appendProbs(out.dst, e.LogProbs)
		return c.end(out, s)
	case llm.PartStop:
		return c.stop(dst, s)
	case llm.Finish:
		c.setTier(e.ServiceTier)
		s.reason = reasonOf(e.Stop, e.StopText)
		if e.Stop == llm.OtherStop {
			s.message = e.StopText
		}
	case llm.Start, llm.Used, llm.Alive:
	}
	return dst
}

func (c *encoder) setTier(tier string) {
	if tier != "" {
		c.tier = tier
	}
}

// nothing is content that says nothing: SDKs that keep the conversation throw a turn away that has an event without parts.
const nothing = `{"parts":[{"text":""}],"role":"model"}`

func (c *encoder) choice(n int) *encoded {
	for _, s := range c.choices {
		if s.number == n {
			return s
		}
	}
	s := &encoded{number: n}
	c.choices = append(c.choices, s)
	return s
}

func (s *encoded) start(head *llm.Part) {
	s.part, s.open = *head, true
	if head.Call != nil {
		call := *head.Call
		s.part.Call = &call
	}
	if head.Spoken() != "" { // is said at once
		media := *head.Media
		media.Transcript = ""
		s.part.Media = &media
	}
	s.held, s.seal = s.held[:0], nil
	if head.Kind == llm.Text {
		s.grounding.part()
	}
}

// delta writes a piece of text, or keeps a piece of what must be whole.
func (c *encoder) delta(dst []byte, s *encoded, text []byte) []byte {
	if !s.open || len(text) == 0 {
		return dst
	}
	switch s.part.Kind {
	case llm.Text, llm.Refusal:
		s.grounding.text(text)
		return c.text(dst, s, text, false)
	case llm.Reasoning:
		return c.text(dst, s, text, true)
	case llm.Audio: // each piece can be played
		m := llm.Media{}
		if s.part.Media != nil {
			m = *s.part.Media
		}
		m.Data = string(text)
		out := c.begin(dst)
		out.dst = append(out.dst, `"content":{"parts":[`...)
		out.dst = append(appendFile(out.dst, &m, ""), `],"role":"model"}`...)
		out.more = true
		return c.end(out, s)
	case llm.ToolCall, llm.Image, llm.Document, llm.Video:
		s.held = append(s.held, text...)
	case llm.ToolResult, llm.Opaque:
	}
	return dst
}

// text writes one event with a piece of text, which is the way of nearly all of them.
func (c *encoder) text(dst []byte, s *encoded, text []byte, thought bool) []byte {
	out := c.begin(dst)
	out.dst = append(out.dst, `"content":{"parts":[{"text":`...)
	out.dst = jsonscan.AppendText(out.dst, text)
	if thought {
		out.dst = append(out.dst, `,"thought":true`...)
	}
	out.dst = append(out.dst, `}],"role":"model"}`...)
	out.more = true
	return c.end(out, s)
}

// stop writes what was held of the open part.
func (c *encoder) stop(dst []byte, s *encoded) []byte {
	if !s.open {
		return dst
	}
	s.open = false
	switch s.part.Kind {
	case llm.ToolCall:
		s.part.Call.Arguments = string(s.held)
		s.part.Signature = s.seal
	case llm.Image, llm.Document, llm.Video:
		if s.part.Media == nil {
			s.part.Media = &llm.Media{}
		}
		media := *s.part.Media
		media.Data = string(s.held)
		s.part.Media, s.part.Signature = &media, s.seal
	case llm.Text, llm.Refusal:
		if s.seal == nil {
			return dst
		}
		s.part = llm.Part{Kind: llm.Text, Signature: s.seal}
	case llm.Reasoning:
		if s.seal == nil {
			return dst
		}
		s.part = llm.Part{Kind: llm.Reasoning, Seal: s.seal}
	case llm.Audio:
		if s.part.Media == nil || s.part.Media.Data == "" && s.part.Media.URL == "" {
			return dst
		}
	case llm.ToolResult, llm.Opaque:
	}
	out := c.begin(dst)
	out.dst = append(out.dst, `"content":{"parts":[`...)
	before := len(out.dst)
	out.dst = appendAnswerPart(out.dst, &s.part, c.dropped)
	if len(out.dst) == before {
		return dst
	}
	out.dst = append(out.dst, `],"role":"model"}`...)
	out.more = true
	return c.end(out, s)
}

// begin opens an event with one candidate, whose members the caller writes.
func (c *encoder) begin(dst []byte) list {
	return list{dst: append(dst, eventStart+`{"candidates":[{`...)}
}

// end closes the event.
func (c *encoder) end(out list, s *encoded) []byte {
	c.said.Begun = true
	out.number("index", int64(s.number))
	out.dst = append(out.dst, "}]"...)
	appendNames(&out, c.said.Model, c.said.ID)
	return append(out.dst, "}"+eventEnd...)
}

// AppendEnd writes the last event: the finish of each candidate and the usage.
func (c *encoder) AppendEnd(dst []byte) []byte {
	out := list{dst: append(dst, eventStart+"{"...)}
	out.open("candidates", '[')
	for _, s := range c.choices {
		out.next()
		one := list{dst: append(out.dst, '{')}
		one.raw("content", []byte(nothing))
		if s.reason != "" {
			one.text("finishReason", s.reason)
		}
		if s.message != "" && s.message != s.reason {
			one.text("finishMessage", s.message)
		}
		one.number("index", int64(s.number))
		if len(s.grounding.chunks) > 0 {
			s.grounding.resolve()
			one.key("groundingMetadata")
			one.dst = s.grounding.append(one.dst)
		}
		out.dst = append(one.dst, '}')
	}
	out.close(']')
	if c.usage.Known {
		out.key("usageMetadata")
		out.dst = appendUsage(out.dst, c.usage, c.tier)
	}
	appendNames(&out, c.said.Model, c.said.ID)
	return append(out.dst, "}"+eventEnd...)
}

// Said is what the client was told.
func (c *encoder) Said() wire.Said { return c.said }

// appendAnswerPart appends a whole part of an answer; nothing if Gemini cannot say it.
func appendAnswerPart(dst []byte, p *llm.Part, dropped *llm.Dropped) []byte {
	signature := ""
	if p.Signature != nil {
		signature = signatureOf(p.Signature)
	}
	switch p.Kind {
	case llm.Text, llm.Refusal, llm.Reasoning:
		if p.Seal != nil {
			signature = signatureOf(p.Seal)
		}
		if p.Text == "" && signature == "" {
			return dst
		}
		out := list{dst: append(dst, '{')}
		out.text("text", p.Text)
		if p.Kind == llm.Reasoning {
			out.raw("thought", []byte("true"))
		}
		if signature != "" {
			out.text("thoughtSignature", signature)
		}
		return append(out.dst, '}')
	case llm.ToolCall:
		out := list{dst: append(dst, '{')}
		out.key("functionCall")
		out.dst = appendCall(out.dst, p.Call, !isMade(p.Call.ID))
		if signature != "" {
			out.text("thoughtSignature", signature)
		}
		return append(out.dst, '}')
	case llm.Image, llm.Document, llm.Audio, llm.Video:
		spoken := p.Spoken()
		if spoken != "" {
			out := list{dst: append(dst, '{')}
			out.text("text", spoken)
			dst = append(out.dst, '}')
		}
		if p.Media == nil || p.Media.Data == "" && p.Media.URL == "" && p.Media.FileID == "" {
			return dst
		}
		if spoken != "" {
			dst = append(dst, ',')
		}
		return appendFile(dst, p.Media, signature)
	case llm.Opaque:
		if p.Opaque != nil && p.Opaque.Vendor == llm.Google && jsonscan.IsObject(p.Opaque.Raw) {
			return append(dst, jsonscan.OneLine(p.Opaque.Raw)...)
		}
		dropped.Add(llm.DropServerTools)
	case llm.ToolResult:
		dropped.Add(llm.DropServerTools)
	}
	return dst
}

// appendCall appends a functionCall. Its arguments must be an object; what is none goes in as its input.
func appendCall(dst []byte, c *llm.Call, withID bool) []byte {
	out := list{dst: append(dst, '{')}
	if withID && c.ID != "" {
		out.text("id", c.ID)
	}
	out.text("name", c.Name)
	out.key("args")
	out.dst = appendArguments(out.dst, c)
	return append(out.dst, '}')
}

func appendArguments(dst []byte, c *llm.Call) []byte {
	switch args := bytes.TrimSpace([]byte(c.Arguments)); {
	case len(args) == 0 && !c.Custom:
		return append(dst, "{}"...)
	case !c.Custom && args[0] == '{' && jsonscan.Valid(args) == nil:
		return append(dst, jsonscan.OneLine(args)...)
	}
	dst = append(dst, `{"input":`...)
	return append(jsonscan.AppendString(dst, c.Arguments), '}')
}

// appendFile appends a part that holds a file.
func appendFile(dst []byte, m *llm.Media, signature string) []byte {
	out := list{dst: append(dst, '{')}
	if m.Data != "" {
		out.open("inlineData", '{')
		kind := m.Type
		if kind == "" {
			kind = "application/octet-stream"
		}
		out.text("mimeType", kind)
		out.text("data", m.Data)
	} else {
		out.open("fileData", '{')
		kind := m.Type
		if kind == "" {
			kind = typeByName(m.URL + m.FileID)
		}
		if kind != "" {
			out.text("mimeType", kind)
		}
		out.text("fileUri", m.URL+m.FileID)
	}
	out.close('}')
	if signature != "" {
		out.text("thoughtSignature", signature)
	}
	return append(out.dst, '}')
}
