package converse

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// StreamFromReply turns a whole reply into the events of a stream (R17). The usage always goes along: the dialect has no
// stream without it. The error is a *fault.Fault.
func (d Converse) StreamFromReply(body []byte, _ bool) ([]byte, error) {
	if _, f := d.Judge(body); f != nil {
		return nil, f
	}
	a, err := d.DecodeReply(body)
	if err != nil {
		return nil, wire.Invalid(err.Error())
	}
	var out, data []byte
	llm.Unfold(a, func(e *llm.Event) {
		name := ""
		if name, data = appendEvent(data[:0], e, &a.Choices[0]); name != "" {
			out = append(out, "event: "...)
			out = append(out, name...)
			out = sse.AppendData(append(out, '\n'), data)
		}
	})
	return out, nil
}

// appendEvent appends what one event of an unfolded reply says, and names its type; empty: it says nothing here.
func appendEvent(dst []byte, e *llm.Event, c *llm.Choice) (name string, out []byte) {
	begin := func(event string) []byte {
		return append(member(append(dst, '{'), event), '{')
	}
	switch e.Kind {
	case llm.Start:
		return "messageStart", append(begin("messageStart"), `"role":"assistant"}}`...)
	case llm.PartStart:
		if e.Head.Call == nil {
			return "", dst
		}
		dst = intMember(begin("contentBlockStart"), "contentBlockIndex", int64(e.Part))
		dst = append(member(dst, "start"), `{"toolUse":{`...)
		dst = stringMember(dst, "toolUseId", e.Head.Call.ID)
		dst = stringMember(dst, "name", e.Head.Call.Name)
		return "contentBlockStart", append(dst, "}}}}"...)
	case llm.Delta, llm.Sealing, llm.Cited:
		dst = intMember(begin("contentBlockDelta"), "contentBlockIndex", int64(e.Part))
		dst = append(member(dst, "delta"), '{')
		dst = appendDelta(dst, e, c.Content[e.Part].Kind)
		return "contentBlockDelta", append(dst, "}}}"...)
	case llm.PartStop:
		dst = intMember(begin("contentBlockStop"), "contentBlockIndex", int64(e.Part))
		return "contentBlockStop", append(dst, "}}"...)
	case llm.Finish:
		dst = stringMember(begin("messageStop"), "stopReason", stopWord(e.Stop, e.StopText))
		if e.Stop == llm.StopSequence && e.StopText != "" {
			dst = append(member(dst, "additionalModelResponseFields"), '{')
			dst = append(stringMember(dst, "stop_sequence", e.StopText), '}')
		}
		return "messageStop", append(dst, "}}"...)
	case llm.Used:
		dst = appendUsage(member(begin("metadata"), "usage"), e.Usage)
		return "metadata", append(dst, "}}"...)
	case llm.Probs, llm.Alive:
	}
	return "", dst
}

func appendDelta(dst []byte, e *llm.Event, kind llm.PartKind) []byte {
	switch {
	case e.Kind == llm.Cited:
		return appendCitation(member(dst, "citation"), e.Citation)
	case e.Kind == llm.Sealing && e.Seal.Kind == llm.Redacted:
		dst = append(member(dst, "reasoningContent"), '{')
		return append(stringMember(dst, "redactedContent", blobOf(e.Seal.Data)), '}')
	case e.Kind == llm.Sealing:
		dst = append(member(dst, "reasoningContent"), '{')
		return append(stringMember(dst, "signature", e.Seal.Data), '}')
	case kind == llm.Reasoning:
		dst = append(member(dst, "reasoningContent"), '{')
		return append(stringMember(dst, "text", string(e.Text)), '}')
	case kind == llm.ToolCall:
		dst = append(member(dst, "toolUse"), '{')
		return append(stringMember(dst, "input", string(e.Text)), '}')
	case kind == llm.Image:
		dst = append(member(dst, "image"), `{"source":{`...)
		return append(stringMember(dst, "bytes", string(e.Text)), "}}"...)
	}
	return stringMember(dst, "text", string(e.Text))
}

func appendCitation(dst []byte, c *llm.Citation) []byte {
	dst = append(dst, '{')
	if c.URL != "" {
		dst = append(member(dst, "location"), `{"web":{`...)
		dst = append(stringMember(dst, "url", c.URL), "}}"...)
	}
	if c.Title != "" {
		dst = stringMember(dst, "title", c.Title)
	}
	if c.Quote != "" {
		dst = append(member(dst, "sourceContent"), "[{"...)
		dst = append(stringMember(dst, "text", c.Quote), "}]"...)
	}
	return append(dst, '}')
}

// ReplyFromStream folds a whole stream into a ConverseResponse (R17). The error is a *fault.Fault: the stream's own, or
// that it ended without a finish.
func (d Converse) ReplyFromStream(stream []byte) ([]byte, error) {
	decoder := d.NewDecoder()
	var p wire.Progress
	var order llm.Order
	var fold llm.Fold
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	err := wire.EachEvent(stream, d, &p, func(data []byte, _ *wire.Event) error {
		if err := decoder.Decode(data, put); err != nil {
			return wire.Invalid("the upstream sent an event that cannot be read: " + err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	decoder.End(put)
	order.End(fold.Put)
	return appendReply(nil, fold.Reply()), nil
}

// appendReply is DecodeReply backwards.
func appendReply(dst []byte, a *llm.Reply) []byte {
	var c llm.Choice
	if len(a.Choices) > 0 {
		c = a.Choices[0]
	}
	dst = append(dst, `{"output":{"message":{"role":"assistant","content":[`...)
	for i := range c.Content {
		dst = appendBlock(comma(dst), &c.Content[i])
	}
	dst = append(dst, "]}}"...)
	dst = stringMember(dst, "stopReason", stopWord(c.Stop, c.StopText))
	if c.Stop == llm.StopSequence && c.StopText != "" {
		dst = append(member(dst, "additionalModelResponseFields"), '{')
		dst = append(stringMember(dst, "stop_sequence", c.StopText), '}')
	}
	if a.Usage.Known {
		dst = appendUsage(member(dst, "usage"), a.Usage)
	}
	return append(dst, '}')
}

func appendBlock(dst []byte, p *llm.Part) []byte {
	dst = append(dst, '{')
	switch {
	case p.Call != nil:
		dst = append(member(dst, "toolUse"), '{')
		dst = stringMember(dst, "toolUseId", p.Call.ID)
		dst = stringMember(dst, "name", p.Call.Name)
		dst = member(dst, "input")
		switch args := p.Call.Arguments; {
		case isBlank(args):
			dst = append(dst, "{}"...)
		case jsonscan.Valid([]byte(args)) == nil:
			dst = append(dst, args...)
		default: // cut off by the token limit: kept, as text
			dst = jsonscan.AppendString(dst, args)
		}
		dst = append(dst, '}')
	case p.Kind == llm.Reasoning && p.Seal != nil && p.Seal.Kind == llm.Redacted:
		dst = append(member(dst, "reasoningContent"), '{')
		dst = append(stringMember(dst, "redactedContent", blobOf(p.Seal.Data)), '}')
	case p.Kind == llm.Reasoning:
		dst = append(member(dst, "reasoningContent"), `{"reasoningText":{`...)
		dst = stringMember(dst, "text", p.Text)
		if p.Seal != nil {
			dst = stringMember(dst, "signature", p.Seal.Data)
		}
		dst = append(dst, "}}"...)
	case p.Media != nil:
		dst = append(member(dst, "image"), '{')
		dst = append(member(dst, "source"), '{')
		dst = append(stringMember(dst, "bytes", p.Media.Data), "}}"...)
	case len(p.Citations) > 0:
		dst = append(member(dst, "citationsContent"), `{"content":[{`...)
		dst = append(stringMember(dst, "text", p.Text), `}],"citations":[`...)
		for i := range p.Citations {
			dst = appendCitation(comma(dst), &p.Citations[i])
		}
		dst = append(dst, "]}"...)
	default:
		dst = stringMember(dst, "text", p.Text)
	}
	return append(dst, '}')
}
