package mock

import (
	"regexp"
	"slices"
	"strings"
)

func (q *request) checkChatTools() *apiError {
	root := q.root
	tools := root.at("tools")
	if tools.v == nil {
		for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
			if root.has(name) && root.at(name).str() != "none" {
				return openAIBad(name, "", "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", name, name)
			}
		}
		return nil
	}
	if len(tools.each()) == 0 {
		return emptyList(tools)
	}
	for _, t := range tools.each() {
		if e := openAIOneOf(t.at("type"), "function", "custom"); e != nil {
			return e
		}
		if t.at("type").str() == "custom" {
			continue
		}
		if e := openAIUnknown(t, "type function"); e != nil {
			return e
		}
		if e := openAIUnknown(t.at("function"), "name description parameters strict"); e != nil {
			return e
		}
		if e := checkFunction(t.at("function"), 64); e != nil {
			return e
		}
	}
	return q.checkChatChoice()
}

func (q *request) checkChatChoice() *apiError {
	choice := q.root.at("tool_choice")
	switch choice.kind() {
	case isString:
		return openAIOneOf(choice, "none", "auto", "required")
	case isObject:
		if choice.at("type").str() != "function" {
			return nil
		}
		name := choice.at("function", "name")
		if name.str() == "" {
			return openAIBad(name.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", name.brackets())
		}
		if !slices.ContainsFunc(q.tools, func(t tool) bool { return t.name == name.str() }) {
			return openAIBad("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", name.str())
		}
	}
	return nil
}

func emptyList(n node) *apiError {
	return openAIBad(n.brackets(), "empty_array",
		"Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", n.brackets())
}

// checkFunction looks at a function's name and, if it is strict, at its schema.
func checkFunction(f node, maxName int) *apiError {
	name := f.at("name")
	switch {
	case name.str() == "":
		return openAIBad(name.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", name.brackets())
	case !matches(name.str(), `^[a-zA-Z0-9_-]+$`):
		return openAIBad(name.brackets(), "invalid_value",
			"Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", name.brackets())
	case len(name.str()) > maxName:
		return tooLong(name, maxName)
	}
	parameters := f.at("parameters")
	if parameters.v != nil && parameters.at("type").str() != isObject && len(parameters.names()) > 0 {
		return openAIBad(parameters.brackets(), "invalid_function_parameters",
			"Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: %s'.",
			name.str(), strings.ReplaceAll(string(parameters.at("type").raw()), "null", `"None"`))
	}
	if f.at("strict").yes() {
		if where, what := notStrict(parameters); what != "" {
			return openAIBad(parameters.brackets(), "invalid_function_parameters", "Invalid schema for function '%s': In context=%s, %s", name.str(), where, what)
		}
	}
	return nil
}

func tooLong(n node, limit int) *apiError {
	return openAIBad(n.brackets(), "string_above_max_length",
		"Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.",
		n.brackets(), limit, len(n.str()))
}

func matches(s, pattern string) bool { return regexp.MustCompile(pattern).MatchString(s) }

// checkChatMessages looks at roles, contents and the bond between calls and results.
func (q *request) checkChatMessages() *apiError {
	var open []string // calls that have no result yet
	for _, m := range q.root.at("messages").each() {
		role := m.at("role")
		if !role.there {
			return openAIBad(role.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", role.brackets())
		}
		if e := openAIOneOf(role, "system", "assistant", "user", "function", "tool", "developer"); e != nil {
			return e
		}
		if role.str() == "tool" {
			id := m.at("tool_call_id").str()
			i := slices.Index(open, id)
			if i < 0 {
				return openAIBad(strings.Replace(m.brackets(), "messages[", "messages.[", 1)+".role", "",
					"Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
			}
			open = slices.Delete(open, i, i+1)
		} else if len(open) > 0 {
			return openCalls(open)
		}
		if e := checkChatMessage(m, role.str()); e != nil {
			return e
		}
		for _, c := range m.at("tool_calls").each() {
			open = append(open, c.at("id").str())
		}
	}
	if len(open) > 0 {
		return openCalls(open)
	}
	return nil
}

func openCalls(ids []string) *apiError {
	return openAIBad("messages", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
		"'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func checkChatMessage(m node, role string) *apiError {
	known := map[string]string{
		"assistant": "role content name refusal audio tool_calls function_call annotations", "tool": "role content tool_call_id name",
	}[role]
	if known == "" {
		known = "role content name"
	}
	if e := openAIUnknown(m, known); e != nil {
		return e
	}
	calls, content := m.at("tool_calls"), m.at("content")
	if calls.kind() == isList && len(calls.each()) == 0 {
		return emptyList(calls)
	}
	for _, c := range calls.each() {
		if e := checkChatCall(c); e != nil {
			return e
		}
	}
	if content.v == nil {
		if role == "assistant" && (calls.v != nil || m.has("function_call") || m.has("refusal") || m.has("audio")) {
			return nil
		}
		return openAIBad(content.brackets(), "", "Invalid value for 'content': expected a string, got null.")
	}
	if content.kind() == isList && len(content.each()) == 0 {
		return emptyList(content)
	}
	for _, p := range content.each() {
		if e := checkChatPart(p, role); e != nil {
			return e
		}
	}
	return nil
}

func checkChatCall(c node) *apiError {
	for _, n := range []node{c.at("id"), c.at("type")} {
		if n.str() == "" {
			return openAIBad(n.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", n.brackets())
		}
	}
	if e := openAIUnknown(c, "id type function custom"); e != nil {
		return e
	}
	if len(c.at("id").str()) > 40 {
		return tooLong(c.at("id"), 40)
	}
	f := c.at("function")
	if args := f.at("arguments"); f.there && args.kind() != isString {
		return openAIBad(args.brackets(), "invalid_type", "Invalid type for '%s': expected a string, but got an %s instead.", args.brackets(), args.kind())
	}
	return nil
}

func checkChatPart(p node, role string) *apiError {
	types := []string{"text"}
	switch role {
	case "user":
		types = []string{"text", "image_url", "input_audio", "refusal", "audio", "file"}
	case "assistant":
		types = []string{"text", "refusal"}
	}
	kind := p.at("type")
	if len(types) == 1 && kind.str() != "text" {
		return openAIBad(kind.brackets(), "invalid_value", "Invalid value: '%s'. Supported values are: 'text'.", kind.str())
	}
	if len(types) > 1 {
		if e := openAIOneOf(kind, types...); e != nil {
			return e
		}
	}
	need := p.at(kind.str())
	if need.v == nil {
		return openAIBad(need.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", need.brackets())
	}
	if kind.str() == "image_url" {
		if u := need.at("url").str(); !matches(u, `^(https?://|data:image/)`) {
			return openAIBad(need.brackets(), "invalid_image_url", "Invalid image URL: '%s'. Expected a valid URL or a base64-encoded data URL.", need.brackets())
		}
	}
	return openAIUnknown(p, "type prompt_cache_breakpoint "+kind.str())
}
