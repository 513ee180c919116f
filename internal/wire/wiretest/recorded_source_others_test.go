package wiretest_test

import (
	"fmt"
	"strings"
)

// sourceMessages reads a message, or the events of one.
func sourceMessages(events []object) meaning {
	var s spoken
	usage := object{}
	var open *grown
	shut := func() {
		if open != nil {
			if open.arguments == "" {
				open.arguments = "{}"
			}
			s.call(open.id, open.name, open.arguments)
			open = nil
		}
	}
	block := func(b any) {
		shut()
		switch str(b, "type") {
		case "text":
			s.text(str(b, "text"))
		case "thinking":
			s.thought(str(b, "thinking"))
		case "tool_use":
			if input, _ := at(b, "input").(object); len(input) > 0 || len(events) == 1 {
				s.call(str(b, "id"), str(b, "name"), at(b, "input"))
			} else {
				open = &grown{str(b, "id"), str(b, "name"), ""}
			}
		}
	}
	tool := false // the open block is a call of the client's
	for _, e := range events {
		message := at(e, "message")
		if len(events) == 1 {
			message = e
		}
		for _, b := range items(message, "content") {
			block(b)
		}
		for _, u := range []any{at(message, "usage"), at(e, "usage")} {
			fields, _ := u.(object)
			for name, v := range fields {
				if v != nil {
					usage[name] = v
				}
			}
		}
		if b := at(e, "content_block"); b != nil {
			block(b)
			tool = str(b, "type") == "tool_use"
		}
		s.text(str(e, "delta", "text"))
		s.thought(str(e, "delta", "thinking"))
		if tool && open != nil {
			open.arguments += str(e, "delta", "partial_json")
		}
		for _, word := range []string{str(e, "delta", "stop_reason"), str(message, "stop_reason")} {
			if word != "" {
				s.Finish = classOf(word, map[string]string{
					"end_turn": finishEnd, "max_tokens": finishLength, "tool_use": finishTools, "stop_sequence": finishStop, "refusal": finishRefusal,
				})
			}
		}
	}
	shut()
	cached, write := atLeast0(number(usage, "cache_read_input_tokens")), atLeast0(number(usage, "cache_creation_input_tokens"))
	return meaning{[]spoken{s}, counts{
		number(usage, "input_tokens") + cached + write, number(usage, "output_tokens"), cached, write, number(usage, "output_tokens_details", "thinking_tokens"),
	}}
}

// sourceGemini reads answers of generateContent, each of which is a piece of a stream.
func sourceGemini(events []object) meaning {
	var m meaning
	m.Usage = counts{-1, -1, 0, -1, 0}
	for _, e := range events {
		for place, c := range items(e, "candidates") {
			n := place
			if i := number(c, "index"); i >= 0 {
				n = int(i)
			}
			for len(m.Choices) <= n {
				m.Choices = append(m.Choices, spoken{})
			}
			s := &m.Choices[n]
			for _, p := range items(c, "content", "parts") {
				switch call := at(p, "functionCall"); {
				case at(p, "thought") == true:
					s.thought(str(p, "text"))
				case call != nil:
					arguments := at(call, "args")
					if arguments == nil {
						arguments = object{}
					}
					s.call(str(call, "id"), str(call, "name"), arguments)
				default:
					s.text(str(p, "text"))
				}
			}
			for _, p := range items(c, "logprobsResult", "chosenCandidates") {
				s.Probs = append(s.Probs, fmt.Sprint(at(p, "token"), " ", at(p, "logProbability")))
			}
			if word := str(c, "finishReason"); word != "" {
				s.Finish = classOf(word, map[string]string{"STOP": finishEnd, "MAX_TOKENS": finishLength})
			}
			if s.Finish == finishEnd && len(s.Calls) > 0 {
				s.Finish = finishTools
			}
		}
		if u := at(e, "usageMetadata"); number(u, "promptTokenCount") >= 0 {
			thoughts := atLeast0(number(u, "thoughtsTokenCount"))
			m.Usage = counts{
				number(u, "promptTokenCount") + atLeast0(number(u, "toolUsePromptTokenCount")), atLeast0(number(u, "candidatesTokenCount")) + thoughts,
				atLeast0(number(u, "cachedContentTokenCount")), -1, thoughts,
			}
		}
	}
	return m
}

// sourceConverse reads an answer of Bedrock's, or the events of one.
func sourceConverse(events []object) meaning {
	var s spoken
	m := meaning{}
	calls := map[int]*grown{}
	var order []int
	for _, e := range events {
		for _, b := range items(e, "output", "message", "content") {
			s.thought(str(b, "reasoningContent", "reasoningText", "text"))
			s.text(str(b, "text"))
			for _, p := range items(b, "citationsContent", "content") {
				s.text(str(p, "text"))
			}
			if call := at(b, "toolUse"); call != nil {
				s.call(str(call, "toolUseId"), str(call, "name"), at(call, "input"))
			}
		}
		if call := at(e, "contentBlockStart", "start", "toolUse"); call != nil {
			n := int(number(e, "contentBlockStart", "contentBlockIndex"))
			calls[n] = &grown{str(call, "toolUseId"), str(call, "name"), ""}
			order = append(order, n)
			s.came("call")
		}
		d := at(e, "contentBlockDelta", "delta")
		s.thought(str(d, "reasoningContent", "text"))
		s.text(str(d, "text"))
		if g := calls[int(number(e, "contentBlockDelta", "contentBlockIndex"))]; g != nil {
			g.arguments += str(d, "toolUse", "input")
		}
		if word := str(e, "stopReason") + str(e, "messageStop", "stopReason"); word != "" {
			s.Finish = classOf(word, map[string]string{
				"end_turn": finishEnd, "max_tokens": finishLength, "tool_use": finishTools, "stop_sequence": finishStop, "guardrail_intervened": finishFilter, "content_filtered": finishFilter,
			})
		}
		for _, u := range []any{at(e, "usage"), at(e, "metadata", "usage")} {
			if u != nil {
				cached, write := atLeast0(number(u, "cacheReadInputTokens")), atLeast0(number(u, "cacheWriteInputTokens"))
				m.Usage = counts{number(u, "inputTokens") + cached + write, number(u, "outputTokens"), cached, write, -1}
			}
		}
	}
	for _, n := range order {
		g := calls[n]
		if strings.TrimSpace(g.arguments) == "" {
			g.arguments = "{}"
		}
		was := s.Order
		s.call(g.id, g.name, g.arguments)
		s.Order = was
	}
	m.Choices = []spoken{s}
	return m
}

// sourceCohere reads an answer of Cohere's, or the events of one.
func sourceCohere(events []object) meaning {
	var s spoken
	m := meaning{}
	var calls []*grown
	for _, e := range events {
		delta := at(e, "delta", "message")
		for _, message := range []any{at(e, "message"), delta} {
			if message == nil {
				continue
			}
			s.thought(str(message, "tool_plan"))
			for _, p := range items(message, "content") {
				s.thought(str(p, "thinking"))
				s.text(str(p, "text"))
			}
			s.text(str(message, "content", "text"))
			for _, c := range items(message, "tool_calls") {
				calls = append(calls, &grown{str(c, "id"), str(c, "function", "name"), str(c, "function", "arguments")})
				s.came("call")
			}
			switch c := at(message, "tool_calls", "function"); str(e, "type") {
			case "tool-call-start":
				calls = append(calls, &grown{str(message, "tool_calls", "id"), str(c, "name"), str(c, "arguments")})
				s.came("call")
			case "tool-call-delta":
				calls[len(calls)-1].arguments += str(c, "arguments")
			}
		}
		for _, end := range []any{e, at(e, "delta")} {
			if word := str(end, "finish_reason"); word != "" {
				s.Finish = classOf(word, map[string]string{
					"COMPLETE": finishEnd, "MAX_TOKENS": finishLength, "TOOL_CALL": finishTools, "STOP_SEQUENCE": finishStop,
				})
			}
			if u := at(end, "usage"); u != nil {
				m.Usage = counts{number(u, "tokens", "input_tokens"), number(u, "tokens", "output_tokens"), atLeast0(number(u, "cached_tokens")), -1, -1}
			}
		}
	}
	for _, g := range calls {
		was := s.Order
		s.call(g.id, g.name, g.arguments)
		s.Order = was
	}
	m.Choices = []spoken{s}
	return m
}
