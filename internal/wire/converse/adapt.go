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
		return append(jsonscan.AppendKey(append(dst, '{'), event), '{')
	}
	switch e.Kind {
	case llm.Start:
		return "messageStart", append(begin("messageStart"), `"role":"assistant"}}`...)
	case llm.PartStart:
		if e.Head.Call == nil {
			return "", dst
		}
		dst = jsonscan.AppendIntMember(begin("contentBlockStart"), "contentBlockIndex", int64(e.Part))
		dst = append(jsonscan.AppendKey(dst, "start"), `{"toolUse":{`...)
		dst = jsonscan.AppendStringMember(dst, "toolUseId", e.Head.Call.ID)
		dst = jsonscan.AppendStringMember(dst, "name", e.Head.Call.Name)
		return "contentBlockStart", append(dst, "}}}}"...)
	case llm.Delta, llm.Sealing, llm.Cited:
		dst = jsonscan.AppendIntMember(begin("contentBlockDelta"), "contentBlockIndex", int64(e.Part))
		dst = append(jsonscan.AppendKey(dst, "delta"), '{')
		dst = appendDelta(dst, e, c.Content[e.Part].Kind)
		return "contentBlockDelta", append(dst, "}}}"...)
	case llm.PartStop:
		dst = jsonscan.AppendIntMember(begin("contentBlockStop"), "contentBlockIndex", int64(e.Part))
		return "contentBlockStop", append(dst, "}}"...)
	case llm.Finish:
		dst = jsonscan.AppendStringMember(begin("messageStop"), "stopReason", stopWord(e.Stop, e.StopText))
		if e.Stop == llm.StopSequence && e.StopText != "" {
			dst = append(jsonscan.AppendKey(dst, "additionalModelResponseFields"), '{')
			dst = append(jsonscan.AppendStringMember(dst, "stop_sequence", e.StopText), '}')
		}
		return "messageStop", append(dst, "}}"...)
	case llm.Used:
		dst = appendUsage(jsonscan.AppendKey(begin("metadata"), "usage"), e.Usage)
		return "metadata", append(dst, "}}"...)
	case llm.Probs, llm.Alive:
	}
	return "", dst
}

func appendDelta(dst []byte, e *llm.Event, kind llm.PartKind) []byte {
	switch {
	case e.Kind == llm.Cited:
		return appendCitation(jsonscan.AppendKey(dst, "citation"), e.Citation)
	case e.Kind == llm.Sealing && e.Seal.Kind == llm.Redacted:
		dst = append(jsonscan.AppendKey(dst, "reasoningContent"), '{')
		return append(jsonscan.AppendStringMember(dst, "redactedContent", blobOf(e.Seal.Data)), '}')
	case e.Kind == llm.Sealing:
		dst = append(jsonscan.AppendKey(dst, "reasoningContent"), '{')
		return append(jsonscan.AppendStringMember(dst, "signature", e.Seal.Data), '}')
	case kind == llm.Reasoning:
		dst = append(jsonscan.AppendKey(dst, "reasoningContent"), '{')
		return append(jsonscan.AppendStringMember(dst, "text", string(e.Text)), '}')
	case kind == llm.ToolCall:
		dst = append(jsonscan.AppendKey(dst, "toolUse"), '{')
		return append(jsonscan.AppendStringMember(dst, "input", string(e.Text)), '}')
	case kind == llm.Image:
		dst = append(jsonscan.AppendKey(dst, "image"), `{"source":{`...)
		return append(jsonscan.AppendStringMember(dst, "bytes", string(e.Text)), "}}"...)
	}
	return jsonscan.AppendStringMember(dst, "text", string(e.Text))
}

func appendCitation(dst []byte, c *llm.Citation) []byte {
	dst = append(dst, '{')
	if c.URL != "" {
		dst = append(jsonscan.AppendKey(dst, "location"), `{"web":{`...)
		dst = append(jsonscan.AppendStringMember(dst, "url", c.URL), "}}"...)
	}
	if c.Title != "" {
		dst = jsonscan.AppendStringMember(dst, "title", c.Title)
	}
	if c.Quote != "" {
		dst = append(jsonscan.AppendKey(dst, "sourceContent"), "[{"...)
		dst = append(jsonscan.AppendStringMember(dst, "text", c.Quote), "}]"...)
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
		dst = appendBlock(jsonscan.AppendComma(dst), &c.Content[i])
	}
	dst = append(dst, "]}}"...)
	dst = jsonscan.AppendStringMember(dst, "stopReason", stopWord(c.Stop, c.StopText))
	if c.Stop == llm.StopSequence && c.StopText != "" {
		dst = append(jsonscan.AppendKey(dst, "additionalModelResponseFields"), '{')
		dst = append(jsonscan.AppendStringMember(dst, "stop_sequence", c.StopText), '}')
	}
	if a.Usage.Known {
		dst = appendUsage(jsonscan.AppendKey(dst, "usage"), a.Usage)
	}
	return append(dst, '}')
}

func appendBlock(dst []byte, p *llm.Part) []byte {
	dst = append(dst, '{')
	switch {
	case p.Call != nil:
		dst = append(jsonscan.AppendKey(dst, "toolUse"), '{')
		dst = jsonscan.AppendStringMember(dst, "toolUseId", p.Call.ID)
		dst = jsonscan.AppendStringMember(dst, "name", p.Call.Name)
		dst = jsonscan.AppendKey(dst, "input")
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
		dst = append(jsonscan.AppendKey(dst, "reasoningContent"), '{')
		dst = append(jsonscan.AppendStringMember(dst, "redactedContent", blobOf(p.Seal.Data)), '}')
	case p.Kind == llm.Reasoning:
		dst = append(jsonscan.AppendKey(dst, "reasoningContent"), `{"reasoningText":{`...)
		dst = jsonscan.AppendStringMember(dst, "text", p.Text)
		if p.Seal != nil {
			dst = jsonscan.AppendStringMember(dst, "signature", p.Seal.Data)
		}
		dst = append(dst, "}}"...)
	case p.Media != nil:
		dst = append(jsonscan.AppendKey(dst, "image"), '{')
		dst = append(jsonscan.AppendKey(dst, "source"), '{')
		dst = append(jsonscan.AppendStringMember(dst, "bytes", p.Media.Data), "}}"...)
	case len(p.Citations) > 0:
		dst = append(jsonscan.AppendKey(dst, "citationsContent"), `{"content":[{`...)
		dst = append(jsonscan.AppendStringMember(dst, "text", p.Text), `}],"citations":[`...)
		for i := range p.Citations {
			dst = appendCitation(jsonscan.AppendComma(dst), &p.Citations[i])
		}
		dst = append(dst, "]}"...)
	default:
		dst = jsonscan.AppendStringMember(dst, "text", p.Text)
	}
	return append(dst, '}')
}
