package mock

import (
	"encoding/json"
	"slices"
)

// toolToCall is the tool that the simulated model calls: the one that tool_choice names, else the first. It calls none
// unless the user spoke last.
func (q *request) toolToCall() (tool, bool) {
	if len(q.Tools) == 0 || q.last().Role != "user" {
		return tool{}, false
	}
	var word string
	if json.Unmarshal(q.ToolChoice, &word) == nil && word == "none" {
		return tool{}, false
	}
	var named tool
	if json.Unmarshal(q.ToolChoice, &named) == nil && named.Function.Name != "" {
		if i := slices.IndexFunc(q.Tools, func(t tool) bool { return t.Function.Name == named.Function.Name }); i >= 0 {
			return q.Tools[i], true
		}
	}
	return q.Tools[0], true
}

// schema is the part of JSON Schema that examples are made from.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
}

// exampleOf is a value that fits a simple schema, required properties only; {} where there is no schema. It is the
// same for the same schema.
func exampleOf(raw json.RawMessage) json.RawMessage { return exampleAt(raw, "object", 0) }

func exampleAt(raw json.RawMessage, fallback string, depth int) json.RawMessage {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		s = schema{}
	}
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth > 8:
		return json.RawMessage("null")
	}
	switch s.typeName(fallback) {
	case "object":
		out := map[string]json.RawMessage{}
		for _, name := range s.Required {
			out[name] = exampleAt(s.Properties[name], "string", depth+1)
		}
		return encode(out)
	case "array":
		return encode([]json.RawMessage{exampleAt(s.Items, "string", depth+1)})
	case "integer", "number":
		return json.RawMessage("1")
	case "boolean":
		return json.RawMessage("true")
	case "null":
		return json.RawMessage("null")
	default:
		return json.RawMessage(`"example"`)
	}
}

// typeName is the type, the first of several, or what can be told without one.
func (s *schema) typeName(fallback string) string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return one
	}
	var many []string
	if json.Unmarshal(s.Type, &many) == nil && len(many) > 0 {
		return many[0]
	}
	if s.Properties != nil {
		return "object"
	}
	return fallback
}
