package mock

import (
	"slices"
	"strings"
)

func (bedrock) check(q *request) *apiError {
	if q.op != opGenerate {
		return nil
	}
	for _, check := range []func() *apiError{q.checkConverseConfig, q.checkConverseTools, q.checkConverseMessages} {
		if e := check(); e != nil {
			return e
		}
	}
	return nil
}

func constraint(n node, format string, args ...any) *apiError {
	e := badRequest(format, args...)
	value := strings.Trim(string(n.raw()), `"`)
	e.Message = "1 validation error detected: Value '" + value + "' at '" + member(n) + "' failed to satisfy constraint: " + e.Message
	return e
}

// member is a path as AWS's validation names it: messages.1.member.content.
func member(n node) string {
	var out []string
	for s := range strings.SplitSeq(n.path, "/") {
		out = append(out, s)
		if matches(s, `^[0-9]+$`) {
			out = append(out, "member")
		}
	}
	return strings.Join(out, ".")
}

func (q *request) checkConverseConfig() *apiError {
	config := q.root.at("inferenceConfig")
	if limit := config.at("maxTokens"); limit.v != nil && limit.whole() < 1 {
		return constraint(limit, "Member must have value greater than or equal to 1")
	}
	for _, name := range []string{"temperature", "topP"} {
		n := config.at(name)
		switch f, ok := n.num(); {
		case n.v != nil && !ok:
			return badRequest("%s can not be converted to a Float", strings.ToUpper(n.kind()))
		case ok && f < 0:
			return constraint(n, "Member must have value greater than or equal to 0")
		case ok && f > 1:
			return constraint(n, "Member must have value less than or equal to 1")
		}
	}
	for _, s := range q.root.at("system").each() {
		if s.at("text").there && strings.TrimSpace(s.at("text").str()) == "" {
			return badRequest("The text field in the SystemContentBlock object at %s is blank. Add text to the text field, and try again.", s.dots())
		}
	}
	return nil
}

func (q *request) checkConverseTools() *apiError {
	config := q.root.at("toolConfig")
	if config.there && len(config.at("tools").each()) == 0 {
		return constraint(config.at("tools"), "Member must have length greater than or equal to 1")
	}
	var names []string
	for _, t := range config.at("tools").each() {
		if e := oneMember(t, "toolSpec", "cachePoint", "systemTool"); e != nil {
			return e
		}
		if !t.has("toolSpec") {
			continue
		}
		name := t.at("toolSpec", "name")
		switch {
		case !matches(name.str(), `^[a-zA-Z0-9_-]+$`):
			return constraint(name, "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		case len(name.str()) > 64:
			return constraint(name, "Member must have length less than or equal to 64")
		case slices.Contains(names, name.str()):
			return badRequest("The tool %s is already defined at toolConfig.tools.%d.", name.str(), slices.Index(names, name.str()))
		case t.at("toolSpec", "description").there && t.at("toolSpec", "description").str() == "":
			return constraint(t.at("toolSpec", "description"), "Member must have length greater than or equal to 1")
		}
		names = append(names, name.str())
		schema := t.at("toolSpec", "inputSchema", "json")
		if schema.at("type").str() != isObject {
			return badRequest("The value at %s.type must be one of the following: object.", schema.dots())
		}
	}
	if forced := config.at("toolChoice", "tool", "name").str(); forced != "" && !slices.Contains(names, forced) {
		return badRequest("The tool %s in toolConfig.toolChoice is not defined in toolConfig.tools.", forced)
	}
	if choice := config.at("toolChoice"); choice.v != nil {
		return oneMember(choice, "auto", "any", "tool")
	}
	return nil
}

// oneMember: a union has exactly one of its members.
func oneMember(n node, known ...string) *apiError {
	names := n.names()
	switch {
	case len(names) == 0:
		return badRequest("The union at %s has no member set. Set one of %s.", n.dots(), strings.Join(known, ", "))
	case len(names) > 1:
		return badRequest("The union at %s has more than one member set.", n.dots())
	case !slices.Contains(known, names[0]):
		return badRequest("The union at %s has the unknown member %s.", n.dots(), names[0])
	}
	return nil
}

func (q *request) checkConverseMessages() *apiError {
	messages := q.root.at("messages").each()
	if len(messages) == 0 {
		return badRequest("The value at messages is empty. Add a message and try again.")
	}
	var calls []string
	previous := ""
	for i, m := range messages {
		role := m.at("role")
		switch {
		case role.str() != "user" && role.str() != "assistant":
			return constraint(role, "Member must satisfy enum value set: [user, assistant]")
		case i == 0 && role.str() != "user":
			return badRequest("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		case role.str() == previous:
			return badRequest("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and " +
				"assistant roles and try again.")
		case len(m.at("content").each()) == 0:
			return badRequest("The content field in the Message object at %s is empty. Add a ContentBlock object to the content field and try again.", m.dots())
		}
		previous = role.str()
		var made, returned []string
		for _, b := range m.at("content").each() {
			if e := q.checkConverseBlock(b); e != nil {
				return e
			}
			if id := b.at("toolUse", "toolUseId").str(); id != "" {
				made = append(made, id)
			}
			if id := b.at("toolResult", "toolUseId").str(); id != "" {
				returned = append(returned, id)
			}
		}
		if e := checkConverseBond(m, calls, returned); e != nil {
			return e
		}
		calls = made
	}
	if len(calls) > 0 {
		return badRequest("Expected toolResult blocks at messages.%d.content for the following Ids: %s", len(messages), strings.Join(calls, ", "))
	}
	return nil
}

func checkConverseBond(m node, calls, returned []string) *apiError {
	var missing []string
	for _, id := range calls {
		if !slices.Contains(returned, id) {
			missing = append(missing, id)
		}
	}
	if missing != nil {
		return badRequest("Expected toolResult blocks at %s.content for the following Ids: %s", m.dots(), strings.Join(missing, ", "))
	}
	if len(returned) > len(calls) {
		return badRequest("The number of toolResult blocks at %s.content exceeds the number of toolUse blocks of previous turn.", m.dots())
	}
	return nil
}

func (q *request) checkConverseBlock(b node) *apiError {
	if e := oneMember(b, "text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint", "reasoningContent",
		"citationsContent", "searchResult"); e != nil {
		return e
	}
	use, result, thought := b.at("toolUse"), b.at("toolResult"), b.at("reasoningContent")
	switch {
	case b.at("text").there && strings.TrimSpace(b.at("text").str()) == "":
		return badRequest("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", b.dots())
	case (use.there || result.there) && !q.root.has("toolConfig"):
		return badRequest("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	case use.there:
		return checkToolUse(use)
	case result.there:
		return checkToolResult(result)
	case thought.has("reasoningText"):
		text := thought.at("reasoningText", "text").str()
		if sealed, ok := openSeal(makerAnthropic, thought.at("reasoningText", "signature").str()); !ok || sealed != text {
			return badRequest("The model returned the following errors: %s: Invalid `signature` in `thinking` block", b.dots())
		}
	case thought.has("redactedContent"):
		if _, ok := openSeal(makerAnthropic, thought.at("redactedContent").str()); !ok {
			return badRequest("The model returned the following errors: %s: Invalid `data` in `redacted_thinking` block", b.dots())
		}
	}
	return nil
}

func checkToolUse(use node) *apiError {
	id := use.at("toolUseId")
	switch {
	case !matches(id.str(), `^[a-zA-Z0-9_.:-]+$`):
		return constraint(id, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+")
	case len(id.str()) > 64:
		return constraint(id, "Member must have length less than or equal to 64")
	case !matches(use.at("name").str(), `^[a-zA-Z0-9_-]+$`):
		return constraint(use.at("name"), "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	case use.at("input").kind() != isObject:
		return badRequest("The format of the value at %s.input is invalid. Provide a json object for the field and try again.", use.dots())
	}
	return nil
}

func checkToolResult(result node) *apiError {
	content := result.at("content")
	if len(content.each()) == 0 && result.at("status").str() == "error" {
		return badRequest("The content field at %s cannot be empty when status value is error.", result.dots())
	}
	for _, c := range content.each() {
		if e := oneMember(c, "text", "json", "image", "document", "video", "searchResult"); e != nil {
			return e
		}
		if c.at("text").there && strings.TrimSpace(c.at("text").str()) == "" {
			return badRequest("The model returned the following errors: messages: text content blocks must contain non-whitespace text")
		}
		if c.has("json") && c.at("json").kind() != isObject {
			return badRequest("The format of the value at %s.json is invalid. Provide a json object for the field and try again.", c.dots())
		}
	}
	return nil
}
