package mock

import (
	"fmt"
	"net/http"
	"slices"
)

// cohere is Cohere's v2 API.
type cohere struct{}

var _ dialect = cohere{}

func (cohere) read(q *request) *apiError {
	if e := q.parse("invalid request: the body is not a JSON object"); e != nil {
		return e
	}
	root := q.root
	if q.Model = root.at("model").str(); q.Model == "" {
		return badRequest("invalid request: model is required")
	}
	if q.op == opEmbed {
		q.readCohereEmbed()
		return nil
	}
	q.Stream = root.at("stream").yes()
	q.limit = root.at("max_tokens").whole()
	q.stops = root.at("stop_sequences").texts()
	for _, m := range root.at("messages").each() {
		t := chatContent(m.at("content"))
		switch m.at("role").str() {
		case "assistant":
			t.role = roleModel
		case "system", "developer":
			t.role = roleSystem
		case "tool":
			for _, p := range m.at("content").each() {
				t.text += p.at("document", "data").str()
			}
			t.results, t.text = []string{t.text}, ""
		}
		q.add(t)
	}
	for _, t := range root.at("tools").each() {
		q.tools = append(q.tools, tool{t.at("function", "name").str(), t.at("function", "parameters").raw()})
	}
	q.noCalls = root.at("tool_choice").str() == "NONE"
	if format := root.at("response_format"); format.at("type").str() == "json_object" {
		q.schema = chatFormat(format, node{})
		if s := format.at("json_schema").raw(); s != nil {
			q.schema = s
		}
	}
	q.think = root.at("thinking", "type").str() == "enabled"
	return nil
}

func (q *request) readCohereEmbed() {
	q.inputs = q.root.at("texts").texts()
	for _, i := range q.root.at("inputs").each() {
		q.inputs = append(q.inputs, joined(i.at("content")))
	}
	q.inputs = append(q.inputs, q.root.at("images").texts()...)
	q.size = q.root.at("output_dimension").whole()
}

func (cohere) answer(j *job) answer {
	a := j.cohereChat
	if j.op == opEmbed {
		a = j.cohereEmbeddings
	}
	out := a()
	out.framing = sse()
	out.late = func(e *apiError, _ int) event {
		_, message := cohereWords(e, j.Model)
		return opening("message-end", map[string]any{"type": "message-end", "delta": map[string]string{"error": message, "finish_reason": "ERROR"}})
	}
	return out
}

// failure is an error as Cohere says it.
func (cohere) failure(q *request, e *apiError) failure {
	kind, message := cohereWords(e, q.Model)
	body := map[string]string{"id": "err-mock", "message": message}
	if kind != "" {
		body["error_type"] = kind
	}
	return failure{body: encode(body)}
}

func cohereWords(e *apiError, model string) (kind, message string) {
	switch e.Status {
	case http.StatusUnauthorized:
		message = "invalid api token"
	case http.StatusNotFound:
		message = fmt.Sprintf("model '%s' not found, make sure the correct model ID was used and that you have access to the model.", model)
	case http.StatusTooManyRequests:
		message = "You are past the per minute request limit, please wait and try again later."
	case http.StatusServiceUnavailable, 529:
		message = "the service is overloaded, please try again later"
	default:
		if message = "internal server error"; e.Status < 500 {
			message = http.StatusText(e.Status)
		}
	}
	if e.Message != "" {
		message = e.Message
	}
	if kind = e.Type; kind == "" {
		kind = e.Code
	}
	return kind, message
}

func (c counts) cohere() map[string]any {
	n := map[string]int{"input_tokens": c.prompt, "output_tokens": c.spoken}
	return map[string]any{"billed_units": n, "tokens": n, "cached_tokens": c.read}
}

func cohereStop(s stop) string {
	switch s {
	case stopCalls:
		return "TOOL_CALL"
	case stopLimit:
		return "MAX_TOKENS"
	case stopSequence:
		return "STOP_SEQUENCE"
	case stopEnd, stopRefusal:
	}
	return "COMPLETE"
}

// coherePlan is what it says before it calls tools.
func coherePlan() []string { return []string{"I ", "will ", "call ", "what ", "I ", "was ", "given."} }

// cohereChat answers a chat. Cohere has no words for a refusal: it is a text like any other.
func (j *job) cohereChat() answer {
	s := j.say()
	whole := map[string]any{"role": "assistant"}
	events := []event{opening("message-start", map[string]any{
		"id": j.id(""), "type": "message-start",
		"delta": map[string]any{"message": map[string]any{"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{}}},
	})}
	say := func(k kind, name string, index int, message any) {
		e := opening(name, map[string]any{"type": name, "index": index, "delta": map[string]any{"message": message}})
		e.kind = k
		events = append(events, e)
	}
	end := func(name string, index int) {
		events = append(events, opening(name, map[string]any{"type": name, "index": index}))
	}
	var content, calls []any
	for _, p := range s.parts {
		switch p.kind {
		case partCall:
			if len(calls) == 0 {
				whole["tool_plan"] = "I will call what I was given."
				for _, piece := range coherePlan() {
					say(kindOpening, "tool-plan-delta", 0, map[string]string{"tool_plan": piece})
				}
			}
			call := func(args string) map[string]any {
				return map[string]any{"id": p.name + "_" + p.id, "type": "function", "function": map[string]string{"name": p.name, "arguments": args}}
			}
			say(kindOpening, "tool-call-start", len(calls), map[string]any{"tool_calls": call("")})
			for _, piece := range p.pieces {
				say(kindContent, "tool-call-delta", len(calls), map[string]any{"tool_calls": map[string]any{"function": map[string]string{"arguments": piece}}})
			}
			end("tool-call-end", len(calls))
			calls = append(calls, call(p.whole()))
		case partThought, partRedacted, partText, partRefusal:
			kind := "text"
			if p.kind == partThought || p.kind == partRedacted {
				kind = "thinking"
			}
			say(kindOpening, "content-start", len(content), map[string]any{"content": map[string]string{"type": kind, kind: ""}})
			for _, piece := range p.pieces {
				say(kindContent, "content-delta", len(content), map[string]any{"content": map[string]string{kind: piece}})
			}
			end("content-end", len(content))
			content = append(content, map[string]string{"type": kind, kind: p.whole()})
		}
	}
	if content != nil {
		whole["content"] = content
	}
	if calls != nil {
		whole["tool_calls"] = calls
	}
	reply := map[string]any{"id": j.id(""), "message": whole, "usage": s.cohere()}
	if !j.b.NoFinish {
		reply["finish_reason"] = cohereStop(s.stop)
	}
	events = append(events,
		event{kind: kindFinish, name: "message-end", data: encode(map[string]any{
			"type": "message-end", "delta": map[string]any{"finish_reason": cohereStop(s.stop), "usage": s.cohere()},
		})},
		event{kind: kindDone, data: []byte("[DONE]")})
	return answer{status: http.StatusOK, plain: encode(reply), events: events}
}

func (j *job) cohereEmbeddings() answer {
	types := j.root.at("embedding_types").texts()
	if len(types) == 0 {
		types = []string{"float"}
	}
	out := map[string][]any{}
	for _, v := range j.vectors() {
		for _, kind := range types {
			out[kind] = append(out[kind], cohereVector(v, kind))
		}
	}
	meta := map[string]any{"api_version": map[string]string{"version": "2"}, "billed_units": map[string]int{"input_tokens": j.promptTokens()}}
	return answered(map[string]any{"id": j.id(""), "embeddings": out, "texts": j.root.at("texts").v, "meta": meta, "response_type": "embeddings_by_type"})
}

// cohereVector is a vector in one of the types that can be asked for.
func cohereVector(v []float32, kind string) any {
	switch kind {
	case "base64":
		return packed(v)
	case "int8", "uint8":
		out := make([]int, len(v))
		for i, f := range v {
			out[i] = int(f * 127)
			if kind == "uint8" {
				out[i] += 128
			}
		}
		return out
	case "binary", "ubinary":
		out := make([]int, (len(v)+7)/8)
		for i, f := range v {
			if f > 0 {
				out[i/8] |= 1 << (7 - i%8)
			}
		}
		if kind == "binary" {
			for i := range out {
				out[i] -= 128
			}
		}
		return out
	}
	return v
}

func (cohere) check(q *request) *apiError {
	if q.op == opEmbed {
		return q.checkCohereEmbed()
	}
	root := q.root
	for _, check := range []func() *apiError{
		func() *apiError {
			return cohereUnknown(root, "citation_options documents frequency_penalty k logprobs max_tokens messages model p presence_penalty "+
				"priority raw_prompting response_format safety_mode seed stop_sequences stream strict_tools temperature thinking tool_choice tools")
		},
		func() *apiError { return cohereRange(root.at("temperature"), 0, 2) },
		func() *apiError { return cohereRange(root.at("p"), 0.01, 0.99) },
		func() *apiError { return cohereRange(root.at("frequency_penalty"), 0, 1) },
		func() *apiError { return cohereRange(root.at("presence_penalty"), 0, 1) },
		q.checkCohereTools,
		q.checkCohereMessages,
	} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

// cohereUnknown refuses a field that the API does not know; the status is its own.
func cohereUnknown(n node, known string) *apiError {
	m, ok := n.unknown(known)
	if !ok {
		return nil
	}
	name := m.path[len(n.path):]
	if n.path != "" {
		name = name[1:]
	}
	return &apiError{Status: http.StatusUnprocessableEntity, Message: fmt.Sprintf(
		"unknown field: parameter '%s' is not a valid field. For proper usage, please refer to https://docs.cohere.com/reference/chat", name)}
}

func cohereRange(n node, low, high float64) *apiError {
	if f, ok := n.num(); ok && (f < low || f > high) {
		return badRequest("invalid request: %s must be between %v and %v inclusive", n.path, low, high)
	}
	return nil
}

func (q *request) checkCohereTools() *apiError {
	choice := q.root.at("tool_choice")
	if choice.v != nil && !slices.Contains([]string{"REQUIRED", "NONE"}, choice.str()) {
		return badRequest("invalid request: tool_choice must be one of REQUIRED, NONE")
	}
	if choice.v != nil && len(q.tools) == 0 {
		return badRequest("invalid request: tool_choice requires tools to be specified")
	}
	for _, t := range q.root.at("tools").each() {
		if e := cohereUnknown(t, "type function"); e != nil {
			return e
		}
		if e := cohereUnknown(t.at("function"), "name description parameters"); e != nil {
			return e
		}
		if !matches(t.at("function", "name").str(), `^[a-zA-Z_][a-zA-Z0-9_-]*$`) {
			return badRequest("invalid request: %s is not a valid tool name", t.at("function", "name").raw())
		}
	}
	if len(q.tools) > 0 && q.schema != nil {
		return badRequest("invalid request: cannot specify both response_format type json_object and tools")
	}
	return nil
}

func (q *request) checkCohereMessages() *apiError {
	messages := q.root.at("messages").each()
	if len(messages) == 0 {
		return badRequest("invalid request: messages must be at least 1 message long")
	}
	var open []string
	for i, m := range messages {
		role := m.at("role").str()
		known := map[string]string{
			"user": "role content", "system": "role content", "developer": "role content", "tool": "role content tool_call_id",
			"assistant": "role content tool_calls tool_plan citations",
		}[role]
		if known == "" {
			return badRequest("invalid request: message at index %d has the invalid role '%s': must be one of 'user', 'assistant', 'system', 'tool'", i, role)
		}
		if e := cohereUnknown(m, known); e != nil {
			return e
		}
		calls := m.at("tool_calls").each()
		if text := chatContent(m.at("content")); role != "tool" && len(calls) == 0 && text.text == "" && text.images == 0 && len(m.at("content").each()) == 0 {
			return badRequest("invalid request: all elements in messages must have content: message at index %d has none", i)
		}
		if role == "tool" {
			id := m.at("tool_call_id").str()
			at := slices.Index(open, id)
			if at < 0 {
				return badRequest("invalid request: tool message at index %d has the tool_call_id '%s', which is in no preceding assistant message", i, id)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return badRequest("invalid request: the tool call '%s' has no tool message after it", open[0])
		}
		for _, c := range calls {
			open = append(open, c.at("id").str())
		}
	}
	if len(open) > 0 {
		return badRequest("invalid request: the tool call '%s' has no tool message after it", open[0])
	}
	return nil
}

func (q *request) checkCohereEmbed() *apiError {
	root := q.root
	if e := cohereUnknown(root, "embedding_types images input_type inputs max_tokens model output_dimension priority texts truncate"); e != nil {
		return e
	}
	switch {
	case len(q.inputs) == 0:
		return badRequest("invalid request: at least one of texts, images or inputs must be specified")
	case len(q.inputs) > 96:
		return badRequest("invalid request: total number of texts must be at most 96 - received %d", len(q.inputs))
	case !root.has("input_type"):
		return badRequest("invalid request: valid input_type must be provided with the provided model")
	}
	for _, kind := range root.at("embedding_types").texts() {
		if !slices.Contains([]string{"float", "int8", "uint8", "binary", "ubinary", "base64"}, kind) {
			return badRequest("invalid request: embedding_types must be one of float, int8, uint8, binary, ubinary, base64")
		}
	}
	return nil
}
