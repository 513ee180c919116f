package mock

import (
	"slices"
	"strings"
)

func (responses) check(q *request) *apiError {
	if q.op != opGenerate && q.op != opCount {
		return nil
	}
	root := q.root
	for _, moved := range [][2]string{
		{"messages", "input"},
		{"response_format", "text.format"},
		{"max_completion_tokens", "max_output_tokens"},
		{"max_tokens", "max_output_tokens"},
		{"reasoning_effort", "reasoning.effort"},
	} {
		if root.at(moved[0]).there {
			return openAIBad(moved[0], "unsupported_parameter",
				"Unsupported parameter: '%s'. In the Responses API, this parameter has moved to '%s'.", moved[0], moved[1])
		}
	}
	for _, check := range []func() *apiError{
		func() *apiError {
			return openAIUnknown(root, "background client_metadata context_management conversation include input instructions max_output_tokens max_tool_calls "+
				"metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options "+
				"prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text tool_choice tools "+
				"top_logprobs top_p truncation user")
		},
		func() *apiError { return openAIRange(root.at("temperature"), 0, 2) },
		func() *apiError { return openAIRange(root.at("top_p"), 0, 1) },
		q.checkResponsesOptions,
		q.checkResponsesTools,
	} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func (q *request) checkResponsesOptions() *apiError {
	root := q.root
	if !root.has("input") && !root.has("prompt") && !root.has("previous_response_id") && !root.has("conversation") {
		return openAIBad("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	}
	if limit := root.at("max_output_tokens"); limit.v != nil && limit.whole() < 16 {
		return openAIBad("max_output_tokens", "integer_below_min_value",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %v instead.", limit.v)
	}
	if isReasoningModel(q.Model) {
		if e := noTemperature(root); e != nil {
			return e
		}
	}
	format := root.at("text", "format")
	if format.at("type").str() == "json_schema" {
		return checkOpenAIFormat(format)
	}
	if e := openAIUnknown(root.at("reasoning"), "context effort generate_summary mode summary"); e != nil {
		return e
	}
	return openAIUnknown(root.at("text"), "format verbosity")
}

func (q *request) checkResponsesTools() *apiError {
	for _, t := range q.root.at("tools").each() {
		switch {
		case !t.has("type"):
			return openAIBad(t.brackets()+".type", "missing_required_parameter", "Missing required parameter: '%s.type'.", t.brackets())
		case t.at("type").str() == "function":
			if !t.has("name") {
				return openAIBad(t.brackets()+".name", "missing_required_parameter", "Missing required parameter: '%s.name'.", t.brackets())
			}
			if e := openAIUnknown(t, "allowed_callers defer_loading description name output_schema parameters strict type"); e != nil {
				return e
			}
			if e := checkFunction(t, 128); e != nil {
				return e
			}
		}
	}
	choice := q.root.at("tool_choice")
	switch choice.kind() {
	case isString:
		if len(q.root.at("tools").each()) == 0 && choice.str() == "required" {
			return openAIBad("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter.")
		}
		return openAIOneOf(choice, "none", "auto", "required")
	case isObject:
		if choice.at("type").str() == "function" && !slices.ContainsFunc(q.tools, func(t tool) bool { return t.name == q.forced }) {
			return openAIBad("tool_choice", "", "Tool choice 'function' not found in 'tools' parameter.")
		}
	}
	return nil
}

// checkResponsesItems looks at the items of a whole conversation, the first of which are our own.
func (q *request) checkResponsesItems(before, input []node) *apiError {
	items := slices.Concat(before, input)
	var open, known []string
	for i, item := range items {
		kind := itemType(item)
		switch kind {
		case "message":
			if e := checkResponsesMessage(item); e != nil {
				return e
			}
		case "function_call", "custom_tool_call":
			for _, name := range []string{"call_id", "name"} {
				if item.at(name).str() == "" {
					return openAIBad(item.at(name).brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", item.at(name).brackets())
				}
			}
			if len(item.at("call_id").str()) > 64 {
				return tooLong(item.at("call_id"), 64)
			}
			open, known = append(open, item.at("call_id").str()), append(known, item.at("call_id").str())
			if e := checkItemID(item, "fc", "ctc"); e != nil {
				return e
			}
		case "function_call_output", "custom_tool_call_output":
			id := item.at("call_id").str()
			if !slices.Contains(known, id) {
				return openAIBad("input", "", "No tool call found for function call output with call_id %s.", id)
			}
			if !item.has("output") {
				return openAIBad(item.at("output").brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", item.at("output").brackets())
			}
			open = slices.DeleteFunc(open, func(x string) bool { return x == id })
		case "reasoning":
			if i < len(before) {
				continue
			}
			if e := q.checkReasoning(items, i); e != nil {
				return e
			}
		case "":
			return openAIBad(item.brackets(), "invalid_value", "Invalid value: ''. Supported values are: 'message', 'function_call', 'function_call_output', and 'reasoning'.")
		default:
			if !slices.Contains(responsesItemTypes(), kind) {
				return openAIBad(item.at("type").brackets(), "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", kind,
					strings.Join(responsesItemTypes(), "', '"))
			}
		}
	}
	if len(open) > 0 {
		return openAIBad("input", "", "No tool output found for function call %s.", open[0])
	}
	return nil
}

func responsesItemTypes() []string {
	return strings.Fields("apply_patch_call apply_patch_call_output code_interpreter_call compaction computer_call computer_call_output " +
		"custom_tool_call custom_tool_call_output file_search_call function_call function_call_output image_generation_call item_reference " +
		"local_shell_call local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message reasoning " +
		"shell_call shell_call_output tool_search_call tool_search_output web_search_call")
}

func checkItemID(item node, prefixes ...string) *apiError {
	id := item.at("id").str()
	if id == "" || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(id, p) }) {
		return nil
	}
	return openAIBad(item.at("id").brackets(), "invalid_value", "Invalid '%s': '%s'. Expected an ID that begins with '%s'.",
		item.at("id").brackets(), id, prefixes[0])
}

func checkResponsesMessage(item node) *apiError {
	role := item.at("role")
	if e := openAIOneOf(role, "assistant", "system", "developer", "user"); e != nil {
		return e
	}
	if e := openAIUnknown(item, "content id phase role status type"); e != nil {
		return e
	}
	content := item.at("content")
	if content.v == nil {
		return openAIBad(content.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", content.brackets())
	}
	types := []string{"input_text", "input_image", "input_file", "input_audio"}
	if role.str() == "assistant" {
		types = []string{"output_text", "refusal"}
		if e := checkItemID(item, "msg"); e != nil {
			return e
		}
	}
	for _, p := range content.each() {
		if e := openAIOneOf(p.at("type"), types...); e != nil {
			return e
		}
		if e := openAIUnknown(p, "annotations detail file_data file_id file_url filename image_url input_audio logprobs prompt_cache_breakpoint refusal text type"); e != nil {
			return e
		}
	}
	return nil
}

// checkReasoning: a thought comes back whole, sealed by us or stored with us, and before what it led to.
func (q *request) checkReasoning(items []node, i int) *apiError {
	item := items[i]
	id, seal := item.at("id").str(), item.at("encrypted_content")
	if e := checkItemID(item, "rs"); e != nil {
		return e
	}
	if !item.at("summary").there {
		return openAIBad(item.at("summary").brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", item.at("summary").brackets())
	}
	if seal.v != nil {
		if _, ok := openSeal(makerOpenAI, seal.str()); !ok {
			return openAIBad("", "invalid_encrypted_content", "The encrypted content %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
				shortSeal(seal.str()))
		}
	} else if !strings.HasPrefix(id, "rs_mock") || q.root.at("store").no() {
		e := badRequest("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, "+
			"or remove this item from your input.", id)
		e.Status, e.Param = 404, "input"
		return e
	}
	if i+1 == len(items) || itemType(items[i+1]) == "message" && items[i+1].at("role").str() != "assistant" {
		return openAIBad("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
	}
	return nil
}

// shortSeal is a seal as errors show it.
func shortSeal(s string) string {
	if len(s) <= 8 {
		return s
	}
	return s[:4] + "..." + s[len(s)-4:]
}
