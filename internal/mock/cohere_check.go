package mock

import (
	"fmt"
	"net/http"
	"slices"
)

func (cohere) check(q *request) *apiError {
	switch q.op {
	case opEmbed:
		return q.checkCohereEmbed()
	case opGenerate:
	case opNone, opComplete, opCount, opModels, opStored, opCancel:
		return nil
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
