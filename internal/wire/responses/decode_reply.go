package responses

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

// decodeReply reads a whole response object.
func decodeReply(body []byte) (*llm.Reply, error) {
	var h head
	r := jsonscan.New(body)
	h.read(&r)
	if !r.End() {
		return nil, wire.BrokenAnswer(r.Err())
	}
	if f := h.fault(); f != nil {
		return nil, f
	}
	var c llm.Choice
	called := false
	elements(h.output, func(raw []byte) {
		it := readItem(raw)
		parts, probs := partsOf(&it)
		for i := range parts {
			called = called || parts[i].Kind == llm.ToolCall
		}
		c.Content = append(c.Content, parts...)
		c.LogProbs = joinArrays(c.LogProbs, probs)
	})
	c.Stop, c.StopText = h.stop(called)
	return &llm.Reply{
		ID: string(h.id), Model: string(h.model), Created: h.created, ServiceTier: string(h.tier),
		Choices: []llm.Choice{c}, Usage: h.usage,
	}, nil
}

// stop says why an answer ended; text is the upstream's word where nobody knows it.
func (h *head) stop(called bool) (stop llm.Stop, text string) {
	switch reason := string(h.reason); {
	case reason == "max_output_tokens":
		return llm.Length, ""
	case reason == "content_filter":
		return llm.ContentFilter, ""
	case reason != "":
		return llm.OtherStop, reason
	case string(h.status) == "incomplete":
		return llm.OtherStop, "incomplete"
	case called:
		return llm.ToolUse, ""
	}
	return llm.EndTurn, ""
}

// partsOf gives what an output item says, and its log probabilities. Empty texts and thoughts are left out.
func partsOf(it *item) (out []llm.Part, probs []byte) {
	switch it.shape() {
	case messageShape:
		elements(it.content, func(raw []byte) {
			p := readPart(raw)
			part := llm.Part{Kind: llm.Text, Text: text(p.text), Citations: citations(p.annotations)}
			if string(p.kind) == "refusal" {
				part = llm.Part{Kind: llm.Refusal, Text: text(p.refusal)}
			}
			if part.Text != "" {
				out = append(out, part)
				probs = joinArrays(probs, p.logprobs)
			}
		})
	case reasoningShape:
		p := llm.Part{Kind: llm.Reasoning, Text: thought(it), Seal: sealOf(it)}
		if p.Text != "" || p.Seal != nil {
			out = append(out, p)
		}
	case callShape:
		out = append(out, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: it.call(), Name: text(it.name), Arguments: written(it.arguments)}})
	case customShape:
		out = append(out, llm.Part{Kind: llm.ToolCall, Call: &llm.Call{ID: it.call(), Name: text(it.name), Arguments: written(it.input), Custom: true}})
	case otherShape, callOutput, customOutput, referenceShape, moreTools:
		if len(it.kind) > 0 {
			out = append(out, llm.Part{Kind: llm.Opaque, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: string(it.kind), Raw: it.raw}})
		}
	}
	return out, probs
}

// joinArrays joins two raw JSON arrays; what is no array, or empty, adds nothing. It may change a.
func joinArrays(a, b []byte) []byte {
	if len(b) <= len("[]") || b[0] != '[' {
		return a
	}
	if len(a) <= len("[]") {
		return append([]byte(nil), b...)
	}
	a = append(a[:len(a)-1], ',')
	return append(a, b[1:]...)
}
