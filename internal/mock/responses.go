package mock

import (
	"net/http"
	"slices"
)

// responses is OpenAI's Responses API.
type responses struct{}

var _ dialect = responses{}

func (responses) read(q *request) *apiError {
	if q.op == opCancel {
		return nil
	}
	if e := q.parse("We could not parse the JSON body of your request."); e != nil {
		return e
	}
	root := q.root
	if e := openAITypes(root, map[string]string{
		"model": isString, "stream": isBool, "tools": isList, "max_output_tokens": isNumber, "instructions": isString, "store": isBool,
		"previous_response_id": isString,
	}); e != nil {
		return e
	}
	if q.Model = root.at("model").str(); q.Model == "" {
		return openAIBad("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	}
	q.Stream = root.at("stream").yes()
	q.limit = root.at("max_output_tokens").whole()
	for _, t := range root.at("tools").each() {
		if t.at("type").str() == "function" {
			q.tools = append(q.tools, tool{t.at("name").str(), t.at("parameters").raw()})
		}
	}
	choice := root.at("tool_choice")
	q.noCalls = choice.str() == "none"
	q.forced = choice.at("name").str()
	q.oneCall = root.at("parallel_tool_calls").no()
	format := root.at("text", "format")
	q.schema = chatFormat(format, format.at("schema"))
	effort := root.at("reasoning", "effort").str()
	q.think = effort != "none" && (root.has("reasoning") || isReasoningModel(q.Model))
	return nil
}

// readInput adds the turns of a response: its instructions, what came before it, and its input.
func (q *request) readInput(before []node) {
	q.turns = nil
	if s := q.root.at("instructions").str(); s != "" {
		q.add(turn{role: roleSystem, text: s})
	}
	for _, item := range slices.Concat(before, inputItems(q.root.at("input"))) {
		q.add(responsesTurn(item))
	}
	if q.root.has("prompt_cache_key") {
		q.cacheTurns = len(q.turns) - 1
	}
}

// inputItems are the items of an input; a string is a user's message.
func inputItems(n node) []node {
	if n.kind() == isString {
		return []node{{v: map[string]any{"type": "message", "role": "user", "content": n.v}, path: n.path, there: true}}
	}
	return n.each()
}

func responsesTurn(item node) turn {
	switch itemType(item) {
	case "function_call_output", "custom_tool_call_output":
		out := item.at("output")
		return turn{results: []string{joined(out)}}
	case "message":
		t := turn{text: joined(item.at("content"))}
		switch item.at("role").str() {
		case "assistant":
			t.role = roleModel
		case "system", "developer":
			t.role = roleSystem
		}
		for _, p := range item.at("content").each() {
			t.text += p.at("refusal").str()
			switch p.at("type").str() {
			case "input_image":
				t.images++
			case "input_file", "input_audio":
				t.files++
			}
		}
		return t
	}
	return turn{role: roleModel}
}

// itemType is an item's type; a message may go without.
func itemType(item node) string {
	if t := item.at("type").str(); t != "" || !item.there {
		return t
	}
	if item.at("role").there {
		return "message"
	}
	return ""
}

func (responses) answer(j *job) answer {
	var a answer
	switch j.op {
	case opGenerate, opCount:
		before, ok := j.p.stored.conversation(j.root.at("previous_response_id").str())
		if !ok {
			return refused(openAIBad("previous_response_id", "previous_response_not_found",
				"Previous response with id '%s' not found.", j.root.at("previous_response_id").str()))
		}
		j.readInput(before)
		if e := j.refusesPrefill(); e != nil { // only now is it known how the conversation ends
			return refused(e)
		}
		if !j.s.Lenient {
			if e := j.checkResponsesItems(before, inputItems(j.root.at("input"))); e != nil {
				return refused(e)
			}
		}
		if j.op == opCount {
			return answered(map[string]any{"object": "response.input_tokens", "input_tokens": j.promptTokens()})
		}
		a = j.respond()
	case opStored, opCancel:
		return j.storedResponse()
	case opModels:
		return j.openAIModels()
	case opNone, opComplete, opEmbed:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.header = http.Header{"X-Request-Id": {j.id("req_")}}
	a.framing = sse()
	return a
}

func (responses) failure(q *request, e *apiError) failure { return openAI{}.failure(q, e) }

// response is the object that plain replies are and that the events of a stream's life carry.
func (j *job) response(status string, output []any) map[string]any {
	root := j.root
	or := func(n node, fallback any) any {
		if n.v == nil {
			return fallback
		}
		return n.v
	}
	return map[string]any{
		"id": j.id("resp_"), "object": "response", "created_at": j.now.Unix(), "status": status, "background": false, "error": nil,
		"incomplete_details": nil, "instructions": root.at("instructions").v, "max_output_tokens": root.at("max_output_tokens").v,
		"max_tool_calls": nil, "model": j.Model, "output": output, "parallel_tool_calls": !j.oneCall,
		"previous_response_id": root.at("previous_response_id").v, "prompt_cache_key": root.at("prompt_cache_key").v,
		"reasoning":         or(root.at("reasoning"), map[string]any{"effort": nil, "summary": nil}),
		"safety_identifier": nil, "service_tier": "default", "store": !root.at("store").no(), "temperature": or(root.at("temperature"), 1.0),
		"text":        or(root.at("text"), map[string]any{"format": map[string]any{"type": "text"}, "verbosity": "medium"}),
		"tool_choice": or(root.at("tool_choice"), "auto"), "tools": or(root.at("tools"), []any{}), "top_logprobs": 0,
		"top_p": or(root.at("top_p"), 1.0), "truncation": or(root.at("truncation"), "disabled"), "usage": nil, "user": root.at("user").v,
		"metadata": or(root.at("metadata"), map[string]any{}),
	}
}

func (c counts) responses() map[string]any {
	return map[string]any{
		"input_tokens": c.prompt, "input_tokens_details": map[string]int{"cached_tokens": c.read},
		"output_tokens": c.spoken, "output_tokens_details": map[string]int{"reasoning_tokens": c.thought},
		"total_tokens": c.prompt + c.spoken,
	}
}

// respond answers with a response.
func (j *job) respond() answer {
	s := j.say()
	life := &life{job: j}
	started := j.response("in_progress", []any{})
	life.emit(kindOpening, "response.created", map[string]any{"response": started})
	life.emit(kindOpening, "response.in_progress", map[string]any{"response": started})
	output := []any{}
	for _, p := range s.parts {
		output = append(output, life.item(len(output), p, s.stop))
	}
	status, name := "completed", "response.completed"
	whole := j.response(status, output)
	if s.stop == stopLimit {
		status, name = "incomplete", "response.incomplete"
		whole["incomplete_details"] = map[string]string{"reason": "max_output_tokens"}
	}
	whole["status"], whole["usage"] = status, s.responses()
	life.emit(kindEnd, name, map[string]any{"response": whole})
	if whole["store"] == true {
		j.p.stored.put(j.id("resp_"), j.root.at("previous_response_id").str(), inputItems(j.root.at("input")), whole)
	}
	plain := encode(whole)
	if j.b.NoFinish {
		whole["status"] = nil
		plain = encode(whole)
	}
	late := func(e *apiError, sent int) event { return j.responseFailed(e, sent) }
	return answer{status: http.StatusOK, plain: plain, events: life.events, late: late}
}

// responseFailed is an error in the stream: an error event where no response was created yet, else the response's end.
func (j *job) responseFailed(e *apiError, sent int) event {
	message, code := openAIWords(e.Status, j.Model)
	if e.Message != "" {
		message = e.Message
	}
	switch {
	case e.Code != "":
		code = e.Code
	case e.Type != "":
		code = e.Type
	case code == "":
		code = "server_error"
	}
	if sent == 0 {
		return typed(kindOpening, "error", map[string]any{"code": code, "message": message, "param": nil, "sequence_number": 0})
	}
	failed := j.response("failed", []any{})
	failed["error"] = map[string]string{"code": code, "message": message}
	return typed(kindOpening, "response.failed", map[string]any{"sequence_number": sent, "response": failed})
}
