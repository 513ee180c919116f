package wiretest_test

import (
	"errors"
	"fmt"
	"slices"
)

func readChat(reply object) meaning {
	var m meaning
	for _, c := range items(reply, "choices") {
		s := spoken{Refusal: str(c, "message", "refusal")}
		s.thought(str(c, "message", "reasoning_content"))
		s.text(str(c, "message", "content"))
		for _, call := range items(c, "message", "tool_calls") {
			s.call(str(call, "id"), str(call, "function", "name"), at(call, "function", "arguments"))
		}
		s.Finish = classOf(str(c, "finish_reason"), map[string]string{
			"stop": finishEnd, "length": finishLength, "tool_calls": finishTools, "content_filter": finishFilter,
		})
		if s.Finish == finishEnd && s.Refusal != "" {
			s.Finish = finishRefusal
		}
		s.probs(items(c, "logprobs", "content"), "token", "logprob")
		m.Choices = append(m.Choices, s)
	}
	m.Usage = counts{
		Input: number(reply, "usage", "prompt_tokens"), Output: number(reply, "usage", "completion_tokens"),
		Cached:    atLeast0(number(reply, "usage", "prompt_tokens_details", "cached_tokens")),
		Write:     number(reply, "usage", "prompt_tokens_details", "cache_write_tokens"),
		Reasoning: atLeast0(number(reply, "usage", "completion_tokens_details", "reasoning_tokens")),
	}
	return m
}

func gatherChat(events []happened) (object, error) {
	choices := map[int64]object{}
	out := object{"object": "chat.completion"}
	for i, e := range events {
		switch {
		case e.data == "[DONE]" && i == len(events)-1:
			var list array
			for n := range int64(len(choices)) {
				if choices[n]["finish_reason"] == nil {
					return nil, errors.New("a choice without a finish")
				}
				list = append(list, choices[n])
			}
			out["choices"] = list
			return out, nil
		case e.data == "[DONE]":
			return nil, errors.New("something comes after [DONE]")
		case e.body["error"] != nil:
			return nil, fmt.Errorf("%w: %v", errNoEnd, e.body["error"])
		}
		for _, name := range []string{"id", "model", "created", "service_tier"} {
			if v := e.body[name]; v != nil && v != "" && v != float64(0) {
				out[name] = v
			}
		}
		if u := e.body["usage"]; u != nil {
			out["usage"] = u
		}
		for _, c := range items(e.body, "choices") {
			n := number(c, "index")
			if choices[n] == nil {
				choices[n] = object{"index": float64(n), "message": object{"role": "assistant", "content": nil}}
			}
			if f := at(c, "finish_reason"); f != nil {
				choices[n]["finish_reason"] = f
			}
			if p := items(c, "logprobs", "content"); p != nil {
				choices[n]["logprobs"] = object{"content": append(items(choices[n], "logprobs", "content"), p...)}
			}
			addDelta(choices[n]["message"].(object), at(c, "delta"))
		}
	}
	return nil, errNoEnd
}

// addDelta adds the texts of a delta to a message, and the pieces of lists by their index, as OpenAI's SDKs do.
func addDelta(message object, delta any) {
	d, _ := delta.(object)
	for name, v := range d {
		switch v := v.(type) {
		case string:
			if name == "role" {
				continue
			}
			was, _ := message[name].(string)
			message[name] = was + v
		case array:
			list := items(message, name)
			for _, piece := range v {
				list = addPiece(list, piece)
			}
			message[name] = list
		case object:
			was, _ := message[name].(object)
			if was == nil {
				was = object{}
			}
			addObject(was, v)
			message[name] = was
		}
	}
}

func addPiece(list array, piece any) array {
	i := slices.IndexFunc(list, func(v any) bool {
		return at(v, "index") == at(piece, "index") && at(v, "type") == at(piece, "type") || at(piece, "type") == nil && at(v, "index") == at(piece, "index")
	})
	if i < 0 {
		list = append(list, object{})
		i = len(list) - 1
	}
	addObject(list[i].(object), piece.(object))
	return list
}

func addObject(to, from object) {
	for name, v := range from {
		switch v := v.(type) {
		case string:
			was, _ := to[name].(string)
			if name == "id" || name == "type" || name == "format" {
				was = ""
			}
			to[name] = was + v
		case object:
			was, _ := to[name].(object)
			if was == nil {
				was = object{}
			}
			addObject(was, v)
			to[name] = was
		default:
			to[name] = v
		}
	}
}

func readResponses(reply object) meaning {
	var s spoken
	called := false
	for _, item := range items(reply, "output") {
		switch str(item, "type") {
		case "reasoning":
			for _, t := range items(item, "summary") {
				s.thought(str(t, "text"))
			}
			for _, t := range items(item, "content") {
				s.thought(str(t, "text"))
			}
		case "message":
			for _, p := range items(item, "content") {
				s.text(str(p, "text"))
				s.Refusal += str(p, "refusal")
				s.probs(items(p, "logprobs"), "token", "logprob")
			}
		case "function_call":
			called = true
			s.call(str(item, "call_id"), str(item, "name"), at(item, "arguments"))
		}
	}
	switch status, reason := str(reply, "status"), str(reply, "incomplete_details", "reason"); {
	case status == "completed" && called:
		s.Finish = finishTools
	case status == "completed" && s.Refusal != "":
		s.Finish = finishRefusal
	case status == "completed":
		s.Finish = finishEnd
	case status == "incomplete" && reason == "max_output_tokens":
		s.Finish = finishLength
	case status == "incomplete" && reason == "content_filter":
		s.Finish = finishFilter
	default:
		s.Finish = finishUnknown + status + " " + reason
	}
	return meaning{[]spoken{s}, counts{
		Input: number(reply, "usage", "input_tokens"), Output: number(reply, "usage", "output_tokens"),
		Cached:    atLeast0(number(reply, "usage", "input_tokens_details", "cached_tokens")),
		Write:     number(reply, "usage", "input_tokens_details", "cache_write_tokens"),
		Reasoning: atLeast0(number(reply, "usage", "output_tokens_details", "reasoning_tokens")),
	}}
}

// gatherResponses takes the response of the last event, as the SDK does, and holds against it what the events before it
// said.
func gatherResponses(events []happened) (object, error) {
	var output array
	texts := map[string]string{}
	for i, e := range events {
		if e.name != str(e.body, "type") {
			return nil, fmt.Errorf("the event %s is called %s", str(e.body, "type"), e.name)
		}
		if n := number(e.body, "sequence_number"); n != int64(i) {
			return nil, fmt.Errorf("event %d has number %d", i, n)
		}
		id := str(e.body, "item_id")
		switch e.name {
		case "response.output_item.added":
			if n := number(e.body, "output_index"); n != int64(len(output)) {
				return nil, fmt.Errorf("item %d comes as number %d", len(output), n)
			}
			output = append(output, at(e.body, "item"))
		case "response.output_text.delta", "response.refusal.delta", "response.function_call_arguments.delta", "response.reasoning_summary_text.delta":
			if id != str(output[len(output)-1], "id") {
				return nil, fmt.Errorf("a piece of %s while %v is open", id, output[len(output)-1])
			}
			texts[id] += str(e.body, "delta")
		case "response.output_text.done", "response.reasoning_summary_text.done":
			if texts[id] != str(e.body, "text") {
				return nil, fmt.Errorf("%s: %q became %q", id, texts[id], str(e.body, "text"))
			}
		case "response.function_call_arguments.done":
			if texts[id] != str(e.body, "arguments") {
				return nil, fmt.Errorf("%s: %q became %q", id, texts[id], str(e.body, "arguments"))
			}
		case "response.output_item.done":
			output[len(output)-1] = at(e.body, "item")
		case "response.failed", "error":
			return nil, fmt.Errorf("%w: %s", errNoEnd, e.data)
		case "response.completed", "response.incomplete":
			if i != len(events)-1 {
				return nil, errors.New("something comes after the end")
			}
			last := at(e.body, "response").(object)
			if a, b := fmt.Sprint(last["output"]), fmt.Sprint(output); a != b && len(output) > 0 {
				return nil, fmt.Errorf("the output at the end is not what came:\n%s\n%s", a, b)
			}
			return last, nil
		}
	}
	return nil, errNoEnd
}
