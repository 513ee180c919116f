package mock

import (
	"net/http"
	"slices"
	"strings"
)

func (anthropic) check(q *request) *apiError {
	if q.op != opGenerate && q.op != opCount {
		return nil
	}
	root := q.root
	known := "cache_control messages model output_config system thinking tool_choice tools"
	if q.op == opGenerate {
		known += " container inference_geo max_tokens metadata service_tier stop_sequences stream temperature top_k top_p"
	}
	if q.header.Get("Anthropic-Beta") != "" {
		known += " context_management mcp_servers output_format speed user_profile_id"
	}
	if strings.Contains(q.header.Get("Anthropic-Beta"), "message-threads-") {
		known += " thread"
	}
	if q.vertex {
		known += " anthropic_version anthropic_beta"
		if q.resource != "count-tokens" && q.op == opGenerate {
			known = strings.Replace(known, " model ", " ", 1)
		}
		if root.at("anthropic_version").str() == "" {
			return badRequest("anthropic_version: Field required")
		}
	} else if q.header.Get("Anthropic-Version") == "" {
		return badRequest("anthropic-version: header is required")
	}
	for _, check := range []func() *apiError{
		func() *apiError { return anthropicUnknown(root, known) },
		q.checkAnthropicThread,
		q.checkAnthropicLimits,
		q.checkAnthropicThinking,
		q.checkAnthropicTools,
		q.checkAnthropicMessages,
		q.checkAnthropicMarks,
	} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

// anthropicUnknown refuses a member that the API does not know.
func anthropicUnknown(n node, known string) *apiError {
	if m, ok := n.unknown(known); ok {
		return badRequest("%s: Extra inputs are not permitted", m.dots())
	}
	return nil
}

// checkAnthropicThread forgets each thread at once, as the real API may at any time: its clients must replay.
func (q *request) checkAnthropicThread() *apiError {
	if q.root.at("thread", "type").str() != "continue" {
		return nil
	}
	return &apiError{Status: http.StatusNotFound, Code: "thread_not_found", Message: "No thread state was found for the requested " +
		"`previous_message_id`. Replay the full conversation with thread: {\"type\": \"create\"} to start a new Thread."}
}

func (q *request) checkAnthropicLimits() *apiError {
	root := q.root
	if limit := root.at("max_tokens"); q.op == opGenerate {
		f, ok := limit.num()
		switch {
		case limit.v == nil:
			return badRequest("max_tokens: Field required")
		case !ok:
			return badRequest("max_tokens: Input should be a valid integer")
		case f < 1:
			return badRequest("max_tokens: Input should be greater than or equal to 1")
		}
	}
	for _, name := range []string{"temperature", "top_p"} {
		switch f, ok := root.at(name).num(); {
		case ok && f < 0:
			return badRequest("%s: Input should be greater than or equal to 0", name)
		case ok && f > 1:
			return badRequest("%s: Input should be less than or equal to 1", name)
		}
	}
	for _, s := range root.at("stop_sequences").each() {
		if strings.TrimSpace(s.str()) == "" {
			return badRequest("stop_sequences: each stop sequence must contain non-whitespace")
		}
	}
	for _, b := range root.at("system").each() {
		if b.at("text").str() == "" {
			return badRequest("system: text content blocks must be non-empty")
		}
	}
	return nil
}

func (q *request) checkAnthropicThinking() *apiError {
	root, thinking := q.root, q.root.at("thinking")
	if on := thinking.at("type").str(); on != "enabled" && on != "adaptive" {
		for _, edit := range root.at("context_management", "edits").each() {
			if kind := edit.at("type").str(); strings.HasPrefix(kind, "clear_thinking_") {
				return badRequest("`%s` strategy requires `thinking` to be enabled or adaptive", kind)
			}
		}
	}
	switch thinking.at("type").str() {
	case "enabled":
		budget := thinking.at("budget_tokens")
		switch {
		case budget.v == nil:
			return badRequest("thinking.enabled.budget_tokens: Field required")
		case budget.whole() < 1024:
			return badRequest("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		case q.op == opGenerate && budget.whole() >= q.limit:
			return badRequest("`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at " +
				"https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
	case "adaptive":
	case "disabled", "":
		if thinking.v != nil && thinking.at("type").str() == "" {
			return badRequest("thinking.type: Field required")
		}
		return nil
	default:
		return badRequest("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'",
			thinking.at("type").str())
	}
	if f, ok := root.at("temperature").num(); ok && f != 1 {
		return badRequest("`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at " +
			"https://docs.claude.com/en/docs/build-with-claude/extended-thinking")
	}
	if root.has("top_k") {
		return badRequest("`top_k` must be unset when thinking is enabled.")
	}
	if kind := root.at("tool_choice", "type").str(); kind == "any" || kind == "tool" {
		return badRequest("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (q *request) checkAnthropicTools() *apiError {
	tools, choice := q.root.at("tools"), q.root.at("tool_choice")
	var names []string
	for _, t := range tools.each() {
		name := t.at("name").str()
		if slices.Contains(names, name) {
			return badRequest("tools: Tool names must be unique.")
		}
		names = append(names, name)
		if kind := t.at("type").str(); kind != "" && kind != "custom" {
			if !matches(kind, `_[0-9]{8}$|^mcp_toolset$`) {
				return badRequest("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', "+
					"'text_editor_20250728', 'web_search_20250305'", t.dots(), kind)
			}
			continue // a tool of the server's own
		}
		where := t.dots() + ".custom"
		schema := t.at("input_schema")
		switch {
		case name == "":
			return badRequest("%s.name: Field required", where)
		case !matches(name, `^[a-zA-Z0-9_-]{1,128}$`):
			return badRequest("%s.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", where)
		case schema.v == nil:
			return badRequest("%s.input_schema: Field required", where)
		case schema.at("type").v == nil:
			return badRequest("%s.input_schema.type: Field required", where)
		case schema.at("type").str() != isObject:
			return badRequest("%s.input_schema.type: Input should be 'object'", where)
		}
		if m, ok := t.unknown("allowed_callers cache_control defer_loading description eager_input_streaming input_examples input_schema name strict type"); ok {
			return badRequest("%s.%s: Extra inputs are not permitted", where, strings.TrimPrefix(m.path, t.path+"/"))
		}
	}
	if choice.v == nil {
		return nil
	}
	kind := choice.at("type").str()
	switch {
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, kind):
		return badRequest("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'", kind)
	case len(names) == 0 && kind != "none":
		return badRequest("tool_choice: tool_choice may only be specified while providing tools")
	case kind == "none" && choice.at("disable_parallel_tool_use").there:
		return badRequest("tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted")
	case kind == "tool" && !slices.Contains(names, choice.at("name").str()):
		return badRequest("tool_choice: Tool '%s' not found in provided tools", choice.at("name").str())
	}
	return nil
}

// checkAnthropicMessages looks at turns, blocks, seals and the bond between calls and results.
func (q *request) checkAnthropicMessages() *apiError {
	messages := q.root.at("messages").each()
	if len(messages) == 0 {
		return badRequest("messages: at least one message is required")
	}
	var ids []string
	for i, m := range messages {
		role := m.at("role").str()
		if m.kind() != isObject {
			return badRequest("%s: Input does not match the expected shape.", m.dots())
		}
		if e := anthropicUnknown(m, "role content"); e != nil {
			return e
		}
		switch {
		case role == "system":
			return badRequest("messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
		case role != "user" && role != "assistant":
			return badRequest("%s: Input should be 'user' or 'assistant'", m.at("role").dots())
		case i == 0 && role != "user":
			return badRequest("messages: first message must use the \"user\" role")
		}
		content := m.at("content")
		final := i == len(messages)-1 && role == "assistant"
		switch {
		case content.v == nil:
			return badRequest("%s: Field required", content.dots())
		case (content.str() == "" && len(content.each()) == 0) && !final:
			return badRequest("%s: all messages must have non-empty content except for the optional final assistant message", m.dots())
		case final && strings.TrimRight(joined(content), " \n\t") != joined(content):
			return badRequest("messages: final assistant content cannot end with trailing whitespace")
		}
		var calls []string
		for _, b := range content.each() {
			if e := q.checkAnthropicBlock(b, role); e != nil {
				return e
			}
			if b.at("type").str() == "tool_use" {
				id := b.at("id").str()
				if slices.Contains(ids, id) {
					return badRequest("messages: `tool_use` ids must be unique")
				}
				ids, calls = append(ids, id), append(calls, id)
			}
		}
		if e := checkAnthropicBond(messages, i, calls); e != nil {
			return e
		}
	}
	return q.checkAnthropicThoughts(messages)
}

// checkAnthropicBond: every call has its result in the next message, and no result is without its call.
func checkAnthropicBond(messages []node, i int, calls []string) *apiError {
	if i+1 < len(messages) || len(calls) > 0 {
		var answered, missing []string
		if i+1 < len(messages) {
			for _, b := range messages[i+1].at("content").each() {
				if b.at("type").str() == "tool_result" {
					id := b.at("tool_use_id").str()
					if !slices.Contains(calls, id) {
						return badRequest("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a "+
							"corresponding `tool_use` block in the previous message.", b.dots(), id)
					}
					answered = append(answered, id)
				}
			}
		}
		for _, id := range calls {
			if !slices.Contains(answered, id) {
				missing = append(missing, id)
			}
		}
		if missing != nil {
			return badRequest("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must "+
				"have a corresponding `tool_result` block in the next message.", messages[i].dots(), strings.Join(missing, ", "))
		}
	}
	if i == 0 {
		for _, b := range messages[0].at("content").each() {
			if b.at("type").str() == "tool_result" {
				return badRequest("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a "+
					"corresponding `tool_use` block in the previous message.", b.dots(), b.at("tool_use_id").str())
			}
		}
	}
	return nil
}

// anthropicFields are the members of each kind of block that a client may send.
func anthropicFields(kind string) string {
	return map[string]string{
		"text": "cache_control citations text", "image": "cache_control source", "document": "cache_control citations context source title",
		"thinking": "signature thinking", "redacted_thinking": "data", "tool_use": "cache_control caller id input name",
		"tool_result":   "cache_control content is_error tool_use_id",
		"search_result": "cache_control citations content source title",
	}[kind]
}

func (q *request) checkAnthropicBlock(b node, role string) *apiError {
	kind := b.at("type").str()
	where := b.dots() + "." + kind
	switch kind {
	case "":
		return badRequest("%s.type: Field required", b.dots())
	case "text":
		if b.at("text").str() == "" {
			return badRequest("messages: text content blocks must be non-empty")
		}
	case "tool_use":
		switch {
		case role != "assistant":
			return badRequest("%s: `tool_use` blocks can only be in `assistant` messages", b.dots())
		case !matches(b.at("id").str(), `^[a-zA-Z0-9_-]+$`):
			return badRequest("%s.id: String should match pattern '^[a-zA-Z0-9_-]+$'", where)
		case b.at("name").str() == "":
			return badRequest("%s.name: Field required", where)
		case b.at("input").kind() != isObject:
			return badRequest("%s.input: Input should be a valid dictionary", where)
		case !q.root.has("tools"):
			return badRequest("Requests which include `tool_use` or `tool_result` blocks must define tools")
		}
	case "tool_result":
		switch {
		case role != "user":
			return badRequest("%s: `tool_result` blocks can only be in `user` messages", b.dots())
		case b.at("tool_use_id").str() == "":
			return badRequest("%s.tool_use_id: Field required", where)
		case !matches(b.at("tool_use_id").str(), `^[a-zA-Z0-9_-]+$`):
			return badRequest("%s.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", where)
		}
		for _, inner := range b.at("content").each() {
			if inner.at("type").str() == "text" && inner.at("text").str() == "" {
				return badRequest("messages: text content blocks must be non-empty")
			}
		}
	case "thinking":
		seal := b.at("signature")
		if seal.v == nil {
			return badRequest("%s.signature: Field required", where)
		}
		text, ok := openSeal(makerAnthropic, seal.str())
		if said := b.at("thinking").str(); !ok || said != "" && said != text {
			return badRequest("%s: Invalid `signature` in `thinking` block", b.dots())
		}
	case "redacted_thinking":
		if _, ok := openSeal(makerAnthropic, b.at("data").str()); !ok {
			return badRequest("%s: Invalid `data` in `redacted_thinking` block", b.dots())
		}
	}
	if known := anthropicFields(kind); known != "" {
		if m, ok := b.unknown("type " + known); ok {
			return badRequest("%s.%s: Extra inputs are not permitted", where, strings.TrimPrefix(m.path, b.path+"/"))
		}
	}
	return nil
}

// checkAnthropicThoughts: while thinking is enabled, the turn that calls tools must begin with its thoughts.
func (q *request) checkAnthropicThoughts(messages []node) *apiError {
	if q.root.at("thinking", "type").str() != "enabled" || len(q.last().results) == 0 {
		return nil
	}
	for i, m := range slices.Backward(messages) {
		if m.at("role").str() != "assistant" {
			if len(anthropicTurn(m).results) == 0 {
				return nil
			}
			continue
		}
		first := m.at("content", "0")
		if list := m.at("content").each(); len(list) > 0 {
			first = list[0]
		}
		if kind := first.at("type").str(); kind != "thinking" && kind != "redacted_thinking" {
			return badRequest("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, "+
				"a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).", i, kind)
		}
		return nil
	}
	return nil
}

// checkAnthropicMarks: four cache markers at most.
func (q *request) checkAnthropicMarks() *apiError {
	n := strings.Count(string(q.root.raw()), `"cache_control":{`)
	if n > 4 {
		return badRequest("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
	}
	return nil
}
