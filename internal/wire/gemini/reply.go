package gemini

import "evergate/internal/llm"

// AppendReply appends a whole reply.
func (Generate) AppendReply(dst []byte, a *llm.Reply, q *llm.Request) []byte {
	out := list{dst: append(dst, '{')}
	out.open("candidates", '[')
	for i := range a.Choices {
		out.next()
		out.dst = appendCandidate(out.dst, &a.Choices[i], i, q.Dropped)
	}
	out.close(']')
	if a.Usage.Known {
		out.key("usageMetadata")
		out.dst = appendUsage(out.dst, a.Usage, a.ServiceTier)
	}
	model := a.Model
	if model == "" {
		model = q.Model
	}
	appendNames(&out, model, a.ID)
	return append(out.dst, '}')
}

func appendCandidate(dst []byte, c *llm.Choice, index int, dropped *llm.Dropped) []byte {
	var cited sources
	out := list{dst: append(dst, '{')}
	out.open("content", '{')
	out.open("parts", '[')
	written := 0
	for i := range c.Content {
		p := &c.Content[i]
		more := out.more
		before := len(out.dst)
		out.next()
		begin := len(out.dst)
		if out.dst = appendAnswerPart(out.dst, p, dropped); len(out.dst) == begin {
			out.dst, out.more = out.dst[:before], more
			continue
		}
		cited.addWhole(p, written)
		written++
	}
	if !out.more {
		out.dst = append(out.dst, `{"text":""}`...)
	}
	out.close(']')
	out.text("role", "model")
	out.close('}')
	if reason := reasonOf(c.Stop, c.StopText); reason != "" {
		out.text("finishReason", reason)
		if c.Stop == llm.OtherStop && c.StopText != "" && c.StopText != reason {
			out.text("finishMessage", c.StopText)
		}
	}
	out.number("index", int64(index))
	if len(cited.chunks) > 0 {
		out.key("groundingMetadata")
		out.dst = cited.append(out.dst)
	}
	if len(c.LogProbs) > 2 {
		out.key("logprobsResult")
		out.dst = appendProbs(out.dst, c.LogProbs)
	}
	return append(out.dst, '}')
}
