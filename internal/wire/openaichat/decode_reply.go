package openaichat

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/openaiwords"
)

// DecodeReply reads a whole chat completion that Judge found good.
func (Chat) DecodeReply(body []byte) (*llm.Reply, error) {
	var fold llm.Fold
	var order llm.Order
	put := func(e *llm.Event) { order.Put(e, fold.Put) }
	d := decoder{whole: true, emit: put}
	if err := d.read(body); err != nil {
		return nil, err
	}
	order.End(fold.Put)
	return fold.Reply(), nil
}

// canonicalUsage is [openaiwords.ReadUsage] with reasoning as a part of the output. A vendor that does not count it so (xAI)
// shows in the sum.
func canonicalUsage(r *jsonscan.Reader) llm.Usage {
	raw := r.Raw()
	in := jsonscan.Again(raw)
	u := openaiwords.ReadUsage(&in)
	if u.Reasoning == 0 {
		return u
	}
	in = jsonscan.Again(raw)
	in.Object()
	for key, ok := in.Key(); ok; key, ok = in.Key() {
		if string(key) != "total_tokens" {
			in.Skip()
			continue
		}
		if total, ok := in.Int(); ok && total == u.Input+u.Output+u.Reasoning {
			u.Output += u.Reasoning
		}
	}
	return u
}
