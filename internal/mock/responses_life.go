package mock

import "fmt"

// life is the events of a response's life; each has the next number.
type life struct {
	*job
	events []event
}

func (l *life) emit(k kind, name string, members map[string]any) {
	members["sequence_number"] = len(l.events)
	l.events = append(l.events, typed(k, name, members))
}

// item tells the life of one item of the output, and gives it whole.
func (l *life) item(index int, p part, end stop) map[string]any {
	id := func(prefix string) string { return fmt.Sprintf("%s%s_%d", prefix, l.id(""), index) }
	at := func(members map[string]any, item string) map[string]any {
		members["output_index"], members["item_id"] = index, item
		return members
	}
	var whole map[string]any
	switch p.kind {
	case partThought, partRedacted:
		whole = l.reasoning(id("rs_"), p, index, at)
	case partCall:
		whole = map[string]any{
			"id": id("fc_"), "type": "function_call", "status": "completed", "arguments": p.whole(), "call_id": "call_" + p.id, "name": p.name,
		}
		l.begin(index, whole, map[string]any{"status": "in_progress", "arguments": ""})
		for _, piece := range p.pieces {
			l.emit(kindContent, "response.function_call_arguments.delta", at(map[string]any{"delta": piece}, id("fc_")))
		}
		l.emit(kindOpening, "response.function_call_arguments.done", at(map[string]any{"arguments": p.whole(), "name": p.name}, id("fc_")))
	case partText, partRefusal:
		whole = l.message(id("msg_"), p, index, at)
		if end == stopLimit {
			whole["status"] = "incomplete"
		}
	}
	l.emit(kindOpening, "response.output_item.done", map[string]any{"output_index": index, "item": whole})
	return whole
}

// begin says that an item was added: as it will be, but for what is still to come.
func (l *life) begin(index int, whole, before map[string]any) {
	item := map[string]any{}
	for k, v := range whole {
		item[k] = v
	}
	for k, v := range before {
		item[k] = v
	}
	l.emit(kindOpening, "response.output_item.added", map[string]any{"output_index": index, "item": item})
}

type placer func(members map[string]any, item string) map[string]any

func (l *life) message(id string, p part, index int, at placer) map[string]any {
	kind, field := "output_text", "text"
	if p.kind == partRefusal {
		kind, field = "refusal", "refusal"
	}
	content := func(text string) map[string]any {
		c := map[string]any{"type": kind, field: text}
		if kind == "output_text" {
			c["annotations"], c["logprobs"] = []any{}, []any{}
		}
		return c
	}
	within := func(members map[string]any) map[string]any {
		members["content_index"] = 0
		if kind == "output_text" {
			members["logprobs"] = []any{}
		}
		return at(members, id)
	}
	whole := map[string]any{"id": id, "type": "message", "status": "completed", "role": "assistant", "content": []any{content(p.whole())}}
	l.begin(index, whole, map[string]any{"status": "in_progress", "content": []any{}})
	l.emit(kindOpening, "response.content_part.added", at(map[string]any{"content_index": 0, "part": content("")}, id))
	for _, piece := range p.pieces {
		l.emit(kindContent, "response."+kind+".delta", within(map[string]any{"delta": piece}))
	}
	l.emit(kindOpening, "response."+kind+".done", within(map[string]any{field: p.whole()}))
	l.emit(kindOpening, "response.content_part.done", at(map[string]any{"content_index": 0, "part": content(p.whole())}, id))
	return whole
}

// reasoning is a thought: a summary if one is asked for, encrypted if that is.
func (l *life) reasoning(id string, p part, index int, at placer) map[string]any {
	whole := map[string]any{"id": id, "type": "reasoning", "summary": []any{}}
	for _, s := range l.root.at("include").texts() {
		if s == "reasoning.encrypted_content" {
			whole["encrypted_content"] = sealOf(makerOpenAI, p.whole())
		}
	}
	asked := l.root.at("reasoning", "summary").str()
	l.begin(index, whole, nil)
	if asked == "" || p.kind == partRedacted {
		return whole
	}
	summary := func(text string) map[string]any { return map[string]any{"type": "summary_text", "text": text} }
	within := func(members map[string]any) map[string]any {
		members["summary_index"] = 0
		return at(members, id)
	}
	l.emit(kindOpening, "response.reasoning_summary_part.added", within(map[string]any{"part": summary("")}))
	for _, piece := range p.pieces {
		l.emit(kindContent, "response.reasoning_summary_text.delta", within(map[string]any{"delta": piece}))
	}
	l.emit(kindOpening, "response.reasoning_summary_text.done", within(map[string]any{"text": p.whole()}))
	l.emit(kindOpening, "response.reasoning_summary_part.done", within(map[string]any{"part": summary(p.whole())}))
	whole["summary"] = []any{summary(p.whole())}
	return whole
}
