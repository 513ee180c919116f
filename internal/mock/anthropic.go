package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropic is the Messages API, of Anthropic and of Vertex AI.
type anthropic struct{}

var _ dialect = anthropic{}

func (anthropic) read(q *request) *apiError {
	if e := q.parse("The request body is not valid JSON: expected an object."); e != nil {
		return e
	}
	root := q.root
	if !q.vertex {
		if root.at("model").str() == "" {
			return badRequest("model: Field required")
		}
	}
	if m := root.at("model").str(); m != "" {
		q.Model = m
	}
	if s := root.at("stream"); s.v != nil && s.kind() != isBool {
		return badRequest("stream: Input should be a valid boolean")
	}
	if m := root.at("messages"); m.kind() != isList {
		return badRequest("messages: %s", map[bool]string{true: "Input should be a valid list", false: "Field required"}[m.there])
	}
	q.Stream = root.at("stream").yes()
	q.limit = root.at("max_tokens").whole()
	q.stops = root.at("stop_sequences").texts()
	q.readAnthropicTools(root)
	if root.has("system") {
		q.add(turn{role: roleSystem, text: joined(root.at("system"))})
	}
	if marked(root.at("system")) || marked(root.at("tools")) || root.has("cache_control") {
		q.mark()
	}
	for _, m := range root.at("messages").each() {
		q.add(anthropicTurn(m))
		if marked(m.at("content")) {
			q.mark()
		}
	}
	if root.has("cache_control") {
		q.mark()
	}
	format := root.at("output_config", "format")
	if !format.there {
		format = root.at("output_format")
	}
	q.schema = chatFormat(format, format.at("schema"))
	switch root.at("thinking", "type").str() {
	case "enabled", "adaptive":
		q.think = true
	}
	return nil
}

func (q *request) readAnthropicTools(root node) {
	for _, t := range root.at("tools").each() {
		if t.at("input_schema").there {
			q.tools = append(q.tools, tool{t.at("name").str(), t.at("input_schema").raw()})
		}
	}
	choice := root.at("tool_choice")
	q.forced = choice.at("name").str()
	q.noCalls = choice.at("type").str() == "none"
	q.oneCall = choice.at("disable_parallel_tool_use").yes()
}

func anthropicTurn(m node) turn {
	content := m.at("content")
	t := turn{text: content.str()}
	if m.at("role").str() == "assistant" {
		t.role = roleModel
	}
	for _, b := range content.each() {
		switch b.at("type").str() {
		case "text":
			t.text += b.at("text").str()
		case "image":
			t.images++
		case "document":
			t.files++
		case "tool_result":
			t.results = append(t.results, joined(b.at("content")))
		}
	}
	return t
}

// joined is the text of a string or of a list's blocks.
func joined(n node) string {
	text := n.str()
	for _, b := range n.each() {
		text += b.at("text").str()
	}
	return text
}

// marked says whether a block of a list has a cache marker.
func marked(n node) bool {
	for _, b := range n.each() {
		if b.has("cache_control") {
			return true
		}
	}
	return false
}

func (anthropic) answer(j *job) answer {
	var a answer
	switch j.op {
	case opGenerate:
		a = j.message()
	case opCount:
		a = answered(map[string]int{"input_tokens": j.promptTokens()})
	case opModels:
		a = j.anthropicModels()
	case opNone, opComplete, opEmbed, opStored, opCancel:
		return refused(&apiError{Status: http.StatusNotFound})
	}
	a.header = http.Header{"Request-Id": {j.id("req_")}}
	a.late = func(e *apiError, _ int) event {
		return event{name: "error", data: anthropic{}.failure(j.request, e).body}
	}
	return a
}

// failure is an error as Anthropic says it. What Vertex AI refuses itself, it refuses in Google's words.
func (anthropic) failure(q *request, e *apiError) failure {
	if q.vertex && e.scripted && e.Status < 500 && e.Type == "" {
		return gemini{}.failure(q, e)
	}
	kind, message := anthropicWords(e.Status, q.Model)
	type problem struct {
		Type    string            `json:"type"`
		Message string            `json:"message"`
		Details map[string]string `json:"details,omitempty"`
	}
	p := problem{Type: e.Type, Message: e.Message}
	if e.Code == "thread_not_found" {
		p.Details = map[string]string{"error_code": e.Code}
	}
	if p.Type == "" {
		p.Type = kind
	}
	if p.Message == "" {
		p.Message = message
	}
	return failure{body: encode(struct {
		Type  string  `json:"type"`
		Error problem `json:"error"`
		ID    any     `json:"request_id"`
	}{"error", p, "req_mock"})}
}

// anthropicWords are the type and message of an error with this status.
func anthropicWords(status int, model string) (kind, message string) {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error", "invalid x-api-key"
	case http.StatusPaymentRequired:
		return "billing_error", "Your credit balance is too low to access the Anthropic API."
	case http.StatusForbidden:
		return "permission_error", "Your API key does not have permission to use the specified resource."
	case http.StatusNotFound:
		return "not_found_error", "model: " + model
	case http.StatusRequestEntityTooLarge:
		return "request_too_large", "Request exceeds the maximum size"
	case http.StatusTooManyRequests:
		return "rate_limit_error", "This request would exceed the rate limit for your simulated organization."
	case http.StatusGatewayTimeout:
		return "timeout_error", "Request timed out"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error", "Overloaded"
	}
	if status < 500 {
		return "invalid_request_error", http.StatusText(status)
	}
	return "api_error", "Internal server error"
}

// anthropicUsage counts as Anthropic does: what came from the cache is no input.
func (c counts) anthropic() map[string]any {
	return map[string]any{
		"input_tokens": c.prompt - c.read - c.written, "cache_read_input_tokens": c.read, "cache_creation_input_tokens": c.written,
		"cache_creation": map[string]int{"ephemeral_5m_input_tokens": c.written, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  c.spoken, "service_tier": "standard",
	}
}

func anthropicStop(s stop) string {
	switch s {
	case stopCalls:
		return "tool_use"
	case stopLimit:
		return "max_tokens"
	case stopSequence:
		return "stop_sequence"
	case stopRefusal:
		return "refusal"
	case stopEnd:
	}
	return "end_turn"
}

// anthropicBlock is a part as a content block.
func anthropicBlock(p part) map[string]any {
	switch p.kind {
	case partThought:
		return map[string]any{"type": "thinking", "thinking": p.whole(), "signature": sealOf(makerAnthropic, p.whole())}
	case partRedacted:
		return map[string]any{"type": "redacted_thinking", "data": sealOf(makerAnthropic, p.whole())}
	case partCall:
		return map[string]any{"type": "tool_use", "id": "toolu_" + p.id, "name": p.name, "input": json.RawMessage(p.whole())}
	case partText, partRefusal:
	}
	return map[string]any{"type": "text", "text": p.whole()}
}

// message answers with a message.
func (j *job) message() answer {
	s := j.say()
	whole := map[string]any{
		"id": j.id("msg_"), "type": "message", "role": "assistant", "model": j.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": orNull(s.sequence), "usage": s.anthropic(),
	}
	end := map[string]any{"stop_reason": anthropicStop(s.stop), "stop_sequence": orNull(s.sequence)}
	if s.stop == stopRefusal {
		details := map[string]any{"type": "refusal", "category": nil, "explanation": refusalText}
		end["stop_details"], whole["stop_details"] = details, details
	}
	start := s.counts
	start.spoken = 1
	whole["usage"], whole["stop_sequence"] = start.anthropic(), nil
	events := []event{typed(kindOpening, "message_start", map[string]any{"message": whole})}
	var blocks []any
	for _, p := range s.parts {
		if p.kind == partRefusal {
			continue // it is the stop reason
		}
		events = append(events, anthropicEvents(len(blocks), p)...)
		blocks = append(blocks, anthropicBlock(p))
	}
	last := typed(kindFinish, "message_delta", map[string]any{"delta": end, "usage": s.anthropic()})
	done := typed(kindDone, "message_stop", nil)

	whole["usage"], whole["stop_sequence"] = s.anthropic(), orNull(s.sequence)
	if blocks != nil {
		whole["content"] = blocks
	}
	if !j.b.NoFinish {
		whole["stop_reason"] = end["stop_reason"]
	}
	f := sse()
	f.beat = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	return answer{status: http.StatusOK, plain: encode(whole), events: append(events, last, done), framing: f}
}

// anthropicEvents is a part as a stream's events, with a ping after the first block has begun, as the API sends it.
func anthropicEvents(index int, p part) []event {
	empty, deltas := anthropicBlock(p), []map[string]any{}
	delta := func(kind, field, text string) {
		deltas = append(deltas, map[string]any{"type": kind, field: text})
	}
	switch p.kind {
	case partThought:
		empty["thinking"], empty["signature"] = "", ""
		for _, piece := range p.pieces {
			delta("thinking_delta", "thinking", piece)
		}
		delta("signature_delta", "signature", sealOf(makerAnthropic, p.whole()))
	case partCall:
		empty["input"] = struct{}{}
		delta("input_json_delta", "partial_json", "")
		for _, piece := range p.pieces {
			delta("input_json_delta", "partial_json", piece)
		}
	case partText, partRefusal:
		empty["text"] = ""
		for _, piece := range p.pieces {
			delta("text_delta", "text", piece)
		}
	case partRedacted:
	}
	events := []event{typed(kindOpening, "content_block_start", map[string]any{"index": index, "content_block": empty})}
	if index == 0 {
		events = append(events, event{name: "ping", data: []byte(`{"type": "ping"}`)})
	}
	for _, d := range deltas {
		k := kindContent
		if d["partial_json"] == "" || d["signature"] != nil {
			k = kindOpening
		}
		events = append(events, typed(k, "content_block_delta", map[string]any{"index": index, "delta": d}))
	}
	return append(events, typed(kindOpening, "content_block_stop", map[string]any{"index": index}))
}

// anthropicModels is the list of models, or one of them.
func (j *job) anthropicModels() answer {
	type model struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
	}
	var list []model
	for _, name := range j.s.modelNames() {
		m := model{"model", name, name, "2025-01-01T00:00:00Z"}
		if name == j.resource {
			return answered(m)
		}
		list = append(list, m)
	}
	if j.resource != "" {
		return refused(&apiError{Status: http.StatusNotFound, Message: fmt.Sprintf("model: %s", j.resource)})
	}
	return answered(map[string]any{"data": list, "has_more": false, "first_id": list[0].ID, "last_id": list[len(list)-1].ID})
}
