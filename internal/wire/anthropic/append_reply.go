package anthropic

import (
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// AppendReply appends a message. The dialect knows one answer: of several the first is said.
func (Messages) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	var c llm.Choice
	if len(a.Choices) > 0 {
		c = a.Choices[0]
	}
	if len(a.Choices) > 1 {
		q.Dropped.Add("n")
	}
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendString(dst, messageID(a.ID))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = jsonscan.AppendString(dst, a.Model)
	dst = append(dst, `,"content":[`...)
	calls, refuses, blocks := false, false, 0
	for i := range c.Content {
		p := &c.Content[i]
		if p.Kind == llm.Reasoning && unasked(q) {
			if p = keptThought(c.Content[i:], q); p == nil {
				continue
			}
		}
		from := len(dst)
		if blocks > 0 {
			dst = append(dst, ',')
		}
		start := len(dst)
		if dst = appendReplyBlock(dst, p, q); len(dst) == start {
			dst = dst[:from]
			continue
		}
		blocks++
		calls = calls || p.Kind == llm.ToolCall
		refuses = refuses || p.Kind == llm.Refusal
	}
	dst = append(dst, `],"stop_reason":`...)
	reason := reasonOf(c.Stop, calls, refuses)
	if reason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsonscan.AppendString(dst, reason)
	}
	dst = append(dst, `,"stop_sequence":`...)
	if c.Stop == llm.StopSequence && c.StopText != "" {
		dst = jsonscan.AppendString(dst, c.StopText)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"stop_details":null,"container":null,"usage":`...)
	dst = appendUsage(dst, &a.Usage, a.ServiceTier)
	return append(dst, '}')
}

// unasked says that the client did not ask for thoughts. Anthropic's own API gives none then, and the commonest line of
// code there is, which reads the first block's text, would meet a thought: only what a tool call has to bring back goes out.
func unasked(q *llm.Request) bool { return q.Reasoning == nil || q.Reasoning.Off }

// keptSeal is the seal of a thought that was not asked for, as it comes back with the next turn; empty where it means
// nothing without the text beside it.
func keptSeal(s *llm.Seal) string {
	if s == nil || s.Kind == llm.Signed {
		return ""
	}
	return sealText(s, llm.Redacted)
}

// keptThought is what of a thought that was not asked for goes out, the first of rest: its seal, if a call needs it.
func keptThought(rest []llm.Part, q *llm.Request) *llm.Part {
	p := &rest[0]
	if p.Text != "" {
		q.Dropped.Add(llm.DropReasoning)
	}
	if len(rest) > 1 && rest[1].Kind == llm.ToolCall && keptSeal(p.Seal) != "" {
		return &llm.Part{Kind: llm.Reasoning, Seal: p.Seal}
	}
	return nil
}

// messageID is an upstream's id as this dialect's: they all begin with msg_.
func messageID(id string) string {
	switch {
	case strings.HasPrefix(id, "msg_"):
		return id
	case id == "":
		return "msg_evergate"
	}
	return "msg_" + id
}

// appendReplyBlock appends the block that a part of an answer is, or nothing.
func appendReplyBlock(dst []byte, p *llm.Part, q *llm.Request) []byte {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		if p.Text == "" {
			return dst
		}
		dst = append(dst, `{"type":"text","text":`...)
		dst = jsonscan.AppendString(dst, p.Text)
		dst = append(dst, `,"citations":`...)
		dst = appendCitations(dst, p.Citations, q)
		if p.Signature != nil {
			q.Dropped.Add(llm.DropSignatures)
		}
		return append(dst, '}')
	case llm.Reasoning:
		return appendThought(dst, p)
	case llm.ToolCall:
		dst = append(dst, `{"type":"tool_use","id":`...)
		dst = jsonscan.AppendString(dst, legalID(p.Call.ID))
		dst = append(dst, `,"name":`...)
		dst = jsonscan.AppendString(dst, p.Call.Name)
		dst = append(dst, `,"input":`...)
		dst = appendInput(dst, p.Call)
		dst = append(dst, `,"caller":{"type":"direct"}}`...)
		if p.Signature != nil {
			dst = append(dst, ',')
			dst = appendRedacted(dst, llm.Wrap(p.Signature))
		}
		return dst
	case llm.Opaque:
		if p.Opaque.Vendor == llm.Anthropic {
			return append(dst, p.Opaque.Raw...)
		}
	case llm.Audio: // what was spoken can be read
		dropReplyPart(p, q)
		return appendReplyBlock(dst, &llm.Part{Kind: llm.Text, Text: p.Spoken()}, q)
	case llm.Image, llm.Document, llm.Video, llm.ToolResult: // nothing that this dialect's answers hold
	}
	dropReplyPart(p, q)
	return dst
}

// dropReplyPart notes a part of an answer that cannot be said.
func dropReplyPart(p *llm.Part, q *llm.Request) {
	w := writing{q: q}
	w.dropKind(p)
}

// appendThought appends a thinking block, or a redacted_thinking one where there is nothing to read. A signature has to
// be there: that of another vendor is wrapped, so that it comes back; without one it is empty.
func appendThought(dst []byte, p *llm.Part) []byte {
	s := p.Seal
	if s != nil && (s.Kind == llm.Redacted || s.Kind == llm.Encrypted && p.Text == "") {
		if p.Text != "" {
			dst = append(dst, `{"type":"thinking","thinking":`...)
			dst = jsonscan.AppendString(dst, p.Text)
			dst = append(dst, `,"signature":""},`...)
		}
		return appendRedacted(dst, sealText(s, llm.Redacted))
	}
	if p.Text == "" && s == nil {
		return dst
	}
	dst = append(dst, `{"type":"thinking","thinking":`...)
	dst = jsonscan.AppendString(dst, p.Text)
	dst = append(dst, `,"signature":`...)
	if s == nil {
		dst = append(dst, `""`...)
	} else {
		dst = jsonscan.AppendString(dst, sealText(s, llm.Signed))
	}
	return append(dst, '}')
}

func appendRedacted(dst []byte, data string) []byte {
	dst = append(dst, `{"type":"redacted_thinking","data":`...)
	dst = jsonscan.AppendString(dst, data)
	return append(dst, '}')
}

// sealText is a seal as it stands in the dialect's field for seals of that kind: the vendor's own as it is, others
// wrapped.
func sealText(s *llm.Seal, kind llm.SealKind) string {
	if s.Vendor == llm.Anthropic && s.Kind == kind {
		return s.Data
	}
	return llm.Wrap(s)
}

// appendCitations appends those that have an address, as the dialect's web search says them. There is nothing that a
// foreign citation could be looked up by, so its encrypted_index is empty.
func appendCitations(dst []byte, list []llm.Citation, q *llm.Request) []byte {
	n := 0
	for i := range list {
		if list[i].URL == "" {
			q.Dropped.Add(llm.DropCitations)
			continue
		}
		if n++; n == 1 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = appendCitation(dst, &list[i])
	}
	if n == 0 {
		return append(dst, "null"...)
	}
	return append(dst, ']')
}

func appendCitation(dst []byte, c *llm.Citation) []byte {
	dst = append(dst, `{"type":"web_search_result_location","cited_text":`...)
	dst = jsonscan.AppendString(dst, c.Quote)
	dst = append(dst, `,"url":`...)
	dst = jsonscan.AppendString(dst, c.URL)
	dst = append(dst, `,"title":`...)
	if c.Title == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsonscan.AppendString(dst, c.Title)
	}
	return append(dst, `,"encrypted_index":""}`...)
}
