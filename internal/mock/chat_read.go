package mock

import (
	"strings"
)

// readChat reads what a chat completion asks for.
func (q *request) readChat() *apiError {
	root := q.root
	if len(root.at("messages").each()) == 0 {
		return openAIBad("messages", "", "Missing required parameter: 'messages'.")
	}
	for _, m := range root.at("messages").each() {
		t := chatContent(m.at("content"))
		switch m.at("role").str() {
		case "assistant":
			t.role = roleModel
		case "system", "developer":
			t.role = roleSystem
		case "tool", "function":
			t.results, t.text = []string{t.text}, ""
		}
		q.add(t)
	}
	if root.has("prompt_cache_key") {
		q.cacheTurns = len(q.turns) - 1
	}
	for _, t := range root.at("tools").each() {
		if f := t.at("function"); f.there {
			q.tools = append(q.tools, tool{f.at("name").str(), f.at("parameters").raw()})
		}
	}
	choice := root.at("tool_choice")
	q.noCalls = choice.str() == "none"
	q.forced = choice.at("function", "name").str()
	q.oneCall = root.at("parallel_tool_calls").no()
	q.schema = chatFormat(root.at("response_format"), root.at("response_format", "json_schema", "schema"))
	effort := root.at("reasoning_effort").str()
	q.think = effort != "none" && (effort != "" || isReasoningModel(q.Model))
	return nil
}

// chatFormat is the schema of a response format: any object if it only asks for JSON.
func chatFormat(format, schema node) []byte {
	switch format.at("type").str() {
	case "json_schema":
		if s := schema.raw(); s != nil {
			return s
		}
		return []byte(`{}`)
	case "json_object":
		return []byte(`{"type":"object","required":["answer"],"properties":{"answer":{"type":"string"}}}`)
	}
	return nil
}

// chatContent is a message's content: a string, or the parts of a list.
func chatContent(n node) turn {
	t := turn{text: n.str()}
	for _, p := range n.each() {
		t.text += p.at("text").str()
		switch p.at("type").str() {
		case "image_url":
			t.images++
		case "file", "input_audio":
			t.files++
		}
	}
	return t
}

// checkChat refuses what OpenAI refuses of a chat completion.
func (q *request) checkChat() *apiError {
	root := q.root
	checks := []func() *apiError{
		func() *apiError {
			return openAIUnknown(root, "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens "+
				"messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "+
				"prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop "+
				"store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options")
		},
		func() *apiError { return openAIRange(root.at("temperature"), 0, 2) },
		func() *apiError { return openAIRange(root.at("top_p"), 0, 1) },
		func() *apiError { return openAIRange(root.at("frequency_penalty"), -2, 2) },
		func() *apiError { return openAIRange(root.at("presence_penalty"), -2, 2) },
		q.checkChatOptions,
		q.checkChatModel,
		q.checkChatTools,
		q.checkChatMessages,
	}
	for _, check := range checks {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func (q *request) checkChatOptions() *apiError {
	root := q.root
	if root.has("max_tokens") && root.has("max_completion_tokens") {
		return openAIBad("max_tokens", "invalid_parameter_combination",
			"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	if root.has("stream_options") && !q.Stream {
		return openAIBad("stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if n := len(root.at("stop").each()); n > 4 {
		return openAIBad("stop", "array_above_max_length",
			"Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length %d instead.", n)
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if f, ok := root.at(name).num(); ok && f < 1 {
			return openAIBad(name, "integer_below_min_value",
				"Invalid '%s': integer below minimum value. Expected a value >= 1, but got %v instead.", name, root.at(name).v)
		}
	}
	format := root.at("response_format")
	switch format.at("type").str() {
	case "json_object":
		if !strings.Contains(strings.ToLower(string(root.at("messages").raw())), "json") {
			return openAIBad("messages", "",
				"'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
		}
	case "json_schema":
		return checkOpenAIFormat(format.at("json_schema"))
	}
	return nil
}

// checkOpenAIFormat looks at a structured output's name and schema.
func checkOpenAIFormat(n node) *apiError {
	for _, name := range []string{"name", "schema"} {
		if m := n.at(name); m.v == nil {
			return openAIBad(m.brackets(), "missing_required_parameter", "Missing required parameter: '%s'.", m.brackets())
		}
	}
	if n.at("strict").yes() {
		if where, what := notStrict(n.at("schema")); what != "" {
			return openAIBad("response_format", "", "Invalid schema for response_format '%s': In context=%s, %s", n.at("name").str(), where, what)
		}
	}
	return nil
}

// notStrict finds what a strict schema may not be without: every object closed, every property required.
func notStrict(n node) (context, problem string) {
	if !n.there {
		return "", ""
	}
	properties := n.at("properties")
	if n.at("type").str() == isObject || properties.there {
		if !n.at("additionalProperties").no() {
			return inContext(n), "'additionalProperties' is required to be supplied and to be false."
		}
		required := " " + strings.Join(n.at("required").texts(), " ") + " "
		for _, name := range properties.names() {
			if !strings.Contains(required, " "+name+" ") {
				return inContext(n), "'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'."
			}
		}
	}
	inner := append(n.at("anyOf").each(), n.at("items"))
	for _, of := range []node{properties, n.at("$defs")} {
		for _, name := range of.names() {
			inner = append(inner, of.at(name))
		}
	}
	for _, m := range inner {
		if context, problem = notStrict(m); problem != "" {
			return context, problem
		}
	}
	return "", ""
}

// inContext is where a schema stands within the whole one, in the words of the API: ('properties', 'city').
func inContext(n node) string {
	_, below, ok := strings.Cut(n.path+"/", "/schema/")
	if !ok {
		_, below, _ = strings.Cut(n.path+"/", "/parameters/")
	}
	if below = strings.Trim(below, "/"); below == "" {
		return "()"
	}
	return "('" + strings.ReplaceAll(below, "/", "', '") + "')"
}

// checkChatModel refuses what reasoning models do not take.
func (q *request) checkChatModel() *apiError {
	if !isReasoningModel(q.Model) {
		return nil
	}
	if q.root.has("max_tokens") {
		return openAIBad("max_tokens", "unsupported_parameter",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	return noTemperature(q.root)
}

func noTemperature(root node) *apiError {
	for _, name := range []string{"temperature", "top_p"} {
		if f, ok := root.at(name).num(); ok && f != 1 {
			return openAIBad(name, "unsupported_value",
				"Unsupported value: '%s' does not support %v with this model. Only the default (1) value is supported.", name, root.at(name).v)
		}
	}
	return nil
}

// isReasoningModel goes by the names of OpenAI's reasoning models.
func isReasoningModel(name string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && (rest == "" || rest[0] == '-') && !strings.Contains(rest, "chat") {
			return true
		}
	}
	return false
}
