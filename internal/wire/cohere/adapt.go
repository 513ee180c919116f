package cohere

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/sse"
	"evergate/internal/wire"
)

// StreamFromReply turns a whole reply into the events of a stream, its end marker included (R17). The usage always goes
// along: it is part of the finish. The error is a *fault.Fault.
func (d Chat) StreamFromReply(body []byte, _ bool) ([]byte, error) {
	if _, f := d.Judge(body); f != nil {
		return nil, f
	}
	a, err := d.DecodeReply(body)
	if err != nil {
		return nil, wire.Invalid(err.Error())
	}
	s := unfolding{reply: a}
	llm.Unfold(a, s.put)
	return d.AppendEnd(s.out, nil), nil
}

// unfolding writes the events of an unfolded reply.
type unfolding struct {
	out, data []byte
	reply     *llm.Reply
	// contents and calls number the parts of each sort.
	contents, calls int
}

func (s *unfolding) event(kind string, body func(dst []byte) []byte) {
	s.data = jsonscan.AppendStringMember(append(s.data[:0], '{'), "type", kind)
	s.data = append(body(s.data), '}')
	s.out = append(s.out, "event: "...)
	s.out = append(s.out, kind...)
	s.out = sse.AppendData(append(s.out, '\n'), s.data)
}

// aMessage is the body of an event with a delta of the message in it.
func aMessage(index int, piece string) func([]byte) []byte {
	return func(dst []byte) []byte {
		if index >= 0 {
			dst = jsonscan.AppendIntMember(dst, "index", int64(index))
		}
		dst = append(jsonscan.AppendKey(dst, "delta"), `{"message":{`...)
		return append(append(dst, piece...), "}}"...)
	}
}

func quoted(s string) string { return string(jsonscan.AppendString(nil, s)) }

func (s *unfolding) put(e *llm.Event) {
	part := func() *llm.Part { return &s.reply.Choices[0].Content[e.Part] }
	switch e.Kind {
	case llm.Start:
		s.event("message-start", func(dst []byte) []byte {
			if e.ID != "" {
				dst = jsonscan.AppendStringMember(dst, "id", e.ID)
			}
			return aMessage(-1, `"role":"assistant"`)(dst)
		})
	case llm.PartStart:
		switch {
		case e.Head.Call != nil:
			s.event("tool-call-start", aMessage(s.calls, `"tool_calls":{"id":`+quoted(e.Head.Call.ID)+`,"type":"function","function":{"name":`+
				quoted(e.Head.Call.Name)+`,"arguments":""}}`))
		case e.Head.Kind == llm.Reasoning:
			s.event("content-start", aMessage(s.contents, `"content":{"type":"thinking","thinking":""}`))
		default:
			s.event("content-start", aMessage(s.contents, `"content":{"type":"text","text":""}`))
		}
	case llm.Delta:
		switch text := quoted(string(e.Text)); part().Kind {
		case llm.ToolCall:
			s.event("tool-call-delta", aMessage(s.calls, `"tool_calls":{"function":{"arguments":`+text+`}}`))
		case llm.Reasoning:
			s.event("content-delta", aMessage(s.contents, `"content":{"thinking":`+text+`}`))
		default:
			s.event("content-delta", aMessage(s.contents, `"content":{"text":`+text+`}`))
		}
	case llm.Cited:
		s.event("citation-start", aMessage(s.contents, `"citations":`+string(appendCitation(nil, e.Citation, s.contents))))
	case llm.PartStop:
		if part().Kind == llm.ToolCall {
			s.event("tool-call-end", func(dst []byte) []byte { return jsonscan.AppendIntMember(dst, "index", int64(s.calls)) })
			s.calls++
		} else {
			s.event("content-end", func(dst []byte) []byte { return jsonscan.AppendIntMember(dst, "index", int64(s.contents)) })
			s.contents++
		}
	case llm.Finish:
		s.event("message-end", func(dst []byte) []byte {
			dst = append(jsonscan.AppendKey(dst, "delta"), '{')
			dst = jsonscan.AppendStringMember(dst, "finish_reason", stopWord(e.Stop, e.StopText))
			if s.reply.Usage.Known {
				dst = appendUsage(jsonscan.AppendKey(dst, "usage"), s.reply.Usage)
			}
			return append(dst, '}')
		})
	case llm.Used, llm.Sealing, llm.Probs, llm.Alive: // usage goes with the finish
	}
}

func appendCitation(dst []byte, c *llm.Citation, content int) []byte {
	dst = jsonscan.AppendIntMember(append(dst, '{'), "start", int64(c.Start))
	dst = jsonscan.AppendIntMember(dst, "end", int64(c.End))
	dst = jsonscan.AppendIntMember(dst, "content_index", int64(content))
	dst = append(jsonscan.AppendKey(dst, "sources"), `[{"type":"document","document":{`...)
	for _, f := range [...]struct{ name, value string }{{"title", c.Title}, {"url", c.URL}, {"text", c.Quote}} {
		if f.value != "" {
			dst = jsonscan.AppendStringMember(dst, f.name, f.value)
		}
	}
	return append(dst, "}}]}"...)
}

// ReplyFromStream folds a whole stream into a reply (R17). The error is a *fault.Fault: the stream's own, or that it ended
// without a finish.
func (d Chat) ReplyFromStream(stream []byte) ([]byte, error) {
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

// appendReply is DecodeReply backwards; a plan becomes a thought.
func appendReply(dst []byte, a *llm.Reply) []byte {
	var c llm.Choice
	if len(a.Choices) > 0 {
		c = a.Choices[0]
	}
	dst = append(dst, '{')
	if a.ID != "" {
		dst = jsonscan.AppendStringMember(dst, "id", a.ID)
	}
	dst = append(jsonscan.AppendKey(dst, "message"), `{"role":"assistant","content":[`...)
	var calls, citations []byte
	contents := 0
	for i := range c.Content {
		p := &c.Content[i]
		switch {
		case p.Call != nil:
			if calls == nil {
				calls = []byte{'['}
			}
			calls = jsonscan.AppendStringMember(append(jsonscan.AppendComma(calls), '{'), "id", p.Call.ID)
			calls = append(jsonscan.AppendKey(calls, "type"), `"function","function":{`...)
			calls = jsonscan.AppendStringMember(calls, "name", p.Call.Name)
			calls = append(jsonscan.AppendStringMember(calls, "arguments", p.Call.Arguments), "}}"...)
			continue
		case p.Kind == llm.Reasoning:
			dst = append(jsonscan.AppendComma(dst), `{"type":"thinking"`...)
			dst = append(jsonscan.AppendStringMember(dst, "thinking", p.Text), '}')
		default:
			dst = append(jsonscan.AppendComma(dst), `{"type":"text"`...)
			dst = append(jsonscan.AppendStringMember(dst, "text", p.Text), '}')
		}
		for j := range p.Citations {
			if citations == nil {
				citations = []byte{'['}
			}
			citations = appendCitation(jsonscan.AppendComma(citations), &p.Citations[j], contents)
		}
		contents++
	}
	dst = append(dst, ']')
	if calls != nil {
		dst = append(append(jsonscan.AppendKey(dst, "tool_calls"), calls...), ']')
	}
	if citations != nil {
		dst = append(append(jsonscan.AppendKey(dst, "citations"), citations...), ']')
	}
	dst = append(dst, '}')
	dst = jsonscan.AppendStringMember(dst, "finish_reason", stopWord(c.Stop, c.StopText))
	if a.Usage.Known {
		dst = appendUsage(jsonscan.AppendKey(dst, "usage"), a.Usage)
	}
	return append(dst, '}')
}
