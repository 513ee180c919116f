package mock

import (
	"fmt"
	"net/http"
	"strings"
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
	var a answer
	switch j.op {
	case opGenerate:
		a = j.cohereChat()
	case opEmbed:
		a = j.cohereEmbeddings()
	case opModels:
		a = j.cohereModels()
	case opNone, opComplete, opCount, opStored, opCancel:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.framing = sse()
	a.late = func(e *apiError, _ int) event {
		_, message := cohereWords(e, j.Model)
		return typed(kindOpening, "message-end", map[string]any{"delta": map[string]string{"error": message, "finish_reason": "ERROR"}})
	}
	return a
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
	empty := map[string]any{"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{}}
	events := []event{typed(kindOpening, "message-start", map[string]any{"id": j.id(""), "delta": map[string]any{"message": empty}})}
	say := func(k kind, name string, index int, message any) {
		events = append(events, typed(k, name, map[string]any{"index": index, "delta": map[string]any{"message": message}}))
	}
	end := func(name string, index int) {
		events = append(events, typed(kindOpening, name, map[string]any{"index": index}))
	}
	var content, calls []any
	for _, p := range s.parts {
		switch p.kind {
		case partCall:
			if len(calls) == 0 {
				whole["tool_plan"] = strings.Join(coherePlan(), "")
				for _, piece := range coherePlan() {
					plan := map[string]any{"message": map[string]string{"tool_plan": piece}}
					events = append(events, typed(kindOpening, "tool-plan-delta", map[string]any{"delta": plan}))
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
		typed(kindFinish, "message-end", map[string]any{"delta": map[string]any{"finish_reason": cohereStop(s.stop), "usage": s.cohere()}}),
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

// cohereModels is the list of models, each of which can do everything.
func (j *job) cohereModels() answer {
	var list []any
	for _, name := range j.s.modelNames() {
		list = append(list, map[string]any{"name": name, "endpoints": []string{"chat", "embed"}, "finetuned": false, "context_length": 256000})
	}
	return answered(map[string]any{"models": list})
}
