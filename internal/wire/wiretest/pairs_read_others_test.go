package wiretest_test

import (
	"errors"
	"fmt"
)

func readMessages(reply object) meaning {
	var s spoken
	for _, b := range items(reply, "content") {
		switch str(b, "type") {
		case "text":
			s.text(str(b, "text"))
		case "thinking":
			s.thought(str(b, "thinking"))
		case "tool_use":
			s.call(str(b, "id"), str(b, "name"), at(b, "input"))
		}
	}
	s.Finish = classOf(str(reply, "stop_reason"), map[string]string{
		"end_turn": finishEnd, "max_tokens": finishLength, "tool_use": finishTools, "stop_sequence": finishStop, "refusal": finishRefusal,
	})
	u := at(reply, "usage")
	cached, write := atLeast0(number(u, "cache_read_input_tokens")), atLeast0(number(u, "cache_creation_input_tokens"))
	return meaning{[]spoken{s}, counts{number(u, "input_tokens") + cached + write, number(u, "output_tokens"), cached, write, number(u, "output_tokens_details", "thinking_tokens")}}
}

func gatherMessages(events []happened) (object, error) {
	var reply object
	var content array
	open, arguments := -1, ""
	for i, e := range events {
		if e.name != str(e.body, "type") {
			return nil, fmt.Errorf("the event %s is called %s", str(e.body, "type"), e.name)
		}
		if n := number(e.body, "index"); n >= 0 && e.name != "content_block_start" && int(n) != open {
			return nil, fmt.Errorf("%s of block %d while %d is open", e.name, n, open)
		}
		switch e.name {
		case "message_start":
			if i != 0 {
				return nil, errors.New("a second start")
			}
			reply = at(e.body, "message").(object)
		case "content_block_start":
			if n := int(number(e.body, "index")); open != -1 || n != len(content) {
				return nil, fmt.Errorf("block %d starts while %d is open", n, open)
			}
			open, arguments = len(content), ""
			content = append(content, at(e.body, "content_block"))
		case "content_block_delta":
			b := content[open].(object)
			for _, name := range []string{"text", "thinking", "signature"} {
				if t := str(e.body, "delta", name); t != "" {
					b[name] = str(b, name) + t
				}
			}
			arguments += str(e.body, "delta", "partial_json")
		case "content_block_stop":
			if arguments != "" {
				input, err := parse([]byte(arguments))
				if err != nil {
					return nil, err
				}
				content[open].(object)["input"] = input
			}
			open = -1
		case "message_delta":
			reply["stop_reason"], reply["stop_sequence"] = at(e.body, "delta", "stop_reason"), at(e.body, "delta", "stop_sequence")
			u := at(e.body, "usage").(object)
			for name, v := range u {
				reply["usage"].(object)[name] = v
			}
		case "message_stop":
			if i != len(events)-1 || open != -1 || reply["stop_reason"] == nil {
				return nil, errors.New("an end too early")
			}
			reply["content"] = content
			return reply, nil
		case "error":
			return nil, fmt.Errorf("%w: %s", errNoEnd, e.data)
		}
	}
	return nil, errNoEnd
}

func readGemini(reply object) meaning {
	var m meaning
	for _, c := range items(reply, "candidates") {
		var s spoken
		for _, p := range items(c, "content", "parts") {
			switch t := str(p, "text"); {
			case at(p, "thought") == true:
				s.thought(t)
			case at(p, "functionCall") != nil:
				arguments := at(p, "functionCall", "args")
				if arguments == nil {
					arguments = object{}
				}
				s.call(str(p, "functionCall", "id"), str(p, "functionCall", "name"), arguments)
			default:
				s.text(t)
			}
		}
		s.Finish = classOf(str(c, "finishReason"), map[string]string{"STOP": finishEnd, "MAX_TOKENS": finishLength, "SAFETY": finishFilter, "PROHIBITED_CONTENT": finishFilter})
		if s.Finish == finishEnd && len(s.Calls) > 0 {
			s.Finish = finishTools
		}
		s.probs(items(c, "logprobsResult", "chosenCandidates"), "token", "logProbability")
		m.Choices = append(m.Choices, s)
	}
	u := at(reply, "usageMetadata")
	thoughts := atLeast0(number(u, "thoughtsTokenCount"))
	m.Usage = counts{number(u, "promptTokenCount"), atLeast0(number(u, "candidatesTokenCount")) + thoughts, atLeast0(number(u, "cachedContentTokenCount")), -1, thoughts}
	if total := number(u, "totalTokenCount"); total != m.Usage.Input+m.Usage.Output {
		m.Usage.Output = -2 // the sum is wrong
	}
	return m
}

func gatherGemini(events []happened) (object, error) {
	out := object{}
	var list array
	finished := 0
	for _, e := range events {
		if e.body["error"] != nil {
			return nil, fmt.Errorf("%w: %s", errNoEnd, e.data)
		}
		for _, name := range []string{"usageMetadata", "modelVersion", "responseId"} {
			if v := e.body[name]; v != nil {
				out[name] = v
			}
		}
		for _, c := range items(e.body, "candidates") {
			n := int(atLeast0(number(c, "index")))
			for len(list) <= n {
				list = append(list, object{"content": object{"role": "model", "parts": array{}}})
			}
			to := list[n].(object)
			content := to["content"].(object)
			content["parts"] = append(items(content, "parts"), items(c, "content", "parts")...)
			if p := items(c, "logprobsResult", "chosenCandidates"); p != nil {
				to["logprobsResult"] = object{"chosenCandidates": append(items(to, "logprobsResult", "chosenCandidates"), p...)}
			}
			if r := at(c, "finishReason"); r != nil {
				to["finishReason"] = r
				finished++
			}
		}
	}
	out["candidates"] = list
	if finished == 0 || finished != len(list) {
		return nil, errNoEnd
	}
	return out, nil
}

func readConverse(reply object) meaning {
	var s spoken
	for _, b := range items(reply, "output", "message", "content") {
		s.thought(str(b, "reasoningContent", "reasoningText", "text"))
		s.text(str(b, "text"))
		if call := at(b, "toolUse"); call != nil {
			s.call(str(call, "toolUseId"), str(call, "name"), at(call, "input"))
		}
	}
	s.Finish = classOf(str(reply, "stopReason"), map[string]string{
		"end_turn": finishEnd, "max_tokens": finishLength, "tool_use": finishTools, "stop_sequence": finishStop, "guardrail_intervened": finishFilter,
	})
	u := at(reply, "usage")
	cached, write := atLeast0(number(u, "cacheReadInputTokens")), atLeast0(number(u, "cacheWriteInputTokens"))
	return meaning{[]spoken{s}, counts{number(u, "inputTokens") + cached + write, number(u, "outputTokens"), cached, write, -1}}
}

func gatherConverse(events []happened) (object, error) {
	var content array
	out := object{"output": object{"message": object{}}}
	arguments := map[int]string{}
	for _, e := range events {
		n := int(number(e.body, e.name, "contentBlockIndex"))
		for len(content) <= n {
			content = append(content, object{})
		}
		switch v := at(e.body, e.name); e.name {
		case "contentBlockStart":
			content[n].(object)["toolUse"] = at(v, "start", "toolUse")
		case "contentBlockDelta":
			b := content[n].(object)
			if t := str(v, "delta", "text"); t != "" {
				b["text"] = str(b, "text") + t
			}
			if t := str(v, "delta", "reasoningContent", "text"); t != "" {
				b["reasoningContent"] = object{"reasoningText": object{"text": str(b, "reasoningContent", "reasoningText", "text") + t}}
			}
			arguments[n] += str(v, "delta", "toolUse", "input")
		case "messageStop":
			out["stopReason"] = at(v, "stopReason")
		case "metadata":
			out["usage"] = at(v, "usage")
		}
	}
	for n, b := range content {
		if call, ok := at(b, "toolUse").(object); ok {
			input := object{}
			if arguments[n] != "" {
				var err error
				if input, err = parse([]byte(arguments[n])); err != nil {
					return nil, err
				}
			}
			call["input"] = input
		}
	}
	out["output"].(object)["message"].(object)["content"] = content
	if out["stopReason"] == nil {
		return nil, errNoEnd
	}
	return out, nil
}

func readCohere(reply object) meaning {
	var s spoken
	for _, p := range items(reply, "message", "content") {
		s.thought(str(p, "thinking"))
		s.text(str(p, "text"))
	}
	s.thought(str(reply, "message", "tool_plan"))
	for _, c := range items(reply, "message", "tool_calls") {
		s.call(str(c, "id"), str(c, "function", "name"), at(c, "function", "arguments"))
	}
	s.Finish = classOf(str(reply, "finish_reason"), map[string]string{
		"COMPLETE": finishEnd, "MAX_TOKENS": finishLength, "TOOL_CALL": finishTools, "STOP_SEQUENCE": finishStop,
	})
	for _, p := range items(reply, "logprobs") {
		s.Probs = append(s.Probs, fmt.Sprint(at(p, "text"), " ", at(p, "logprobs", 0)))
	}
	u := at(reply, "usage")
	return meaning{[]spoken{s}, counts{number(u, "tokens", "input_tokens"), number(u, "tokens", "output_tokens"), atLeast0(number(u, "cached_tokens")), -1, -1}}
}

func gatherCohere(events []happened) (object, error) {
	message := object{}
	var probs array
	for _, e := range events {
		d := at(e.body, "delta", "message")
		n := int(number(e.body, "index"))
		switch e.name {
		case "content-start":
			message["content"] = append(items(message, "content"), at(d, "content"))
		case "content-delta":
			if l := at(e.body, "logprobs"); l != nil {
				probs = append(probs, l)
			}
			p := items(message, "content")[n].(object)
			for _, name := range []string{"text", "thinking"} {
				if t := str(d, "content", name); t != "" {
					p[name] = str(p, name) + t
				}
			}
		case "tool-plan-delta":
			message["tool_plan"] = str(message, "tool_plan") + str(d, "tool_plan")
		case "tool-call-start":
			message["tool_calls"] = append(items(message, "tool_calls"), at(d, "tool_calls"))
		case "tool-call-delta":
			f := at(items(message, "tool_calls")[n], "function").(object)
			f["arguments"] = str(f, "arguments") + str(d, "tool_calls", "function", "arguments")
		case "message-end":
			return object{"message": message, "finish_reason": at(e.body, "delta", "finish_reason"), "usage": at(e.body, "delta", "usage"), "logprobs": probs}, nil
		}
	}
	return nil, errNoEnd
}
