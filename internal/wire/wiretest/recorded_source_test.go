package wiretest_test

import (
	"fmt"
	"slices"
	"testing"
)

// The readers here read what providers send, by hand: they know each vendor's spelling, forgive its faults, and know
// nothing of the codecs. What a provider of one dialect never does they need not understand.

// source is what a recorded answer means.
func (r *recording) source(t testing.TB) meaning {
	t.Helper()
	var events []object
	if r.streamed() {
		for _, data := range r.events(t) {
			if string(data) == "[DONE]" {
				continue
			}
			e, err := parse(data)
			if err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			events = append(events, e)
		}
	} else {
		body := r.body(t)
		if body[0] == '[' { // a stream of Gemini's that is one array
			body = slices.Concat([]byte(`{"list":`), body, []byte(`}`))
		}
		v, err := parse(body)
		if err != nil {
			t.Fatal(err)
		}
		events = []object{v}
		if list := items(v, "list"); list != nil {
			events = nil
			for _, e := range list {
				events = append(events, e.(object))
			}
		}
	}
	switch r.dialect.Name() {
	case "chat":
		return sourceChat(events)
	case "responses":
		return sourceResponses(events)
	case "messages":
		return sourceMessages(events)
	case "gemini":
		return sourceGemini(events)
	case "converse":
		return sourceConverse(events)
	case "cohere":
		return sourceCohere(events)
	}
	t.Fatalf("nobody reads %s", r.dialect.Name())
	return meaning{}
}

// grown is a call whose arguments come in pieces.
type grown struct{ id, name, arguments string }

// sourceChat reads chat completions, and their chunks, of every vendor.
func sourceChat(events []object) meaning {
	var m meaning
	m.Usage = counts{-1, -1, 0, -1, 0}
	calls := map[int][]*grown{}
	first := ""
	for _, e := range events {
		list := items(e, "choices")
		if id := str(e, "id"); m.ended() && id != first {
			list = nil // another answer
		} else if id != "" {
			first = id
		}
		for place, c := range list {
			n := place
			if i := number(c, "index"); i >= 0 {
				n = int(i)
			}
			for len(m.Choices) <= n {
				m.Choices = append(m.Choices, spoken{})
			}
			said := at(c, "delta")
			if said == nil {
				said = at(c, "message")
			}
			s := &m.Choices[n]
			chatThought(s, said)
			if parts := items(said, "content"); parts != nil { // Mistral's parts
				for _, p := range parts {
					for _, th := range items(p, "thinking") {
						s.thought(str(th, "text"))
					}
					s.text(str(p, "text"))
				}
			} else {
				s.text(str(said, "content"))
			}
			s.text(str(said, "audio", "transcript"))
			for _, p := range items(c, "logprobs", "content") {
				s.Probs = append(s.Probs, fmt.Sprint(at(p, "token"), " ", at(p, "logprob")))
			}
			s.Refusal += str(said, "refusal")
			for k, call := range items(said, "tool_calls") {
				index := k
				if i := number(call, "index"); i >= 0 {
					index = int(i)
				}
				for len(calls[n]) <= index {
					calls[n] = append(calls[n], &grown{})
					s.came("call")
				}
				g := calls[n][index]
				g.id, g.name = g.id+str(call, "id"), g.name+str(call, "function", "name")
				g.arguments += str(call, "function", "arguments")
			}
			if f := at(said, "function_call"); f != nil { // before there were tools
				calls[n] = append(calls[n], &grown{"", str(f, "name"), str(f, "arguments")})
				s.came("call")
			}
			if word := str(c, "finish_reason"); word != "" {
				s.Finish = classOf(word, map[string]string{
					"stop": finishEnd, "eos": finishEnd, "length": finishLength, "tool_calls": finishTools, "function_call": finishTools, "content_filter": finishFilter,
				})
			}
		}
		for _, u := range []any{at(e, "usage"), at(e, "x_groq", "usage")} {
			if u != nil {
				m.Usage = chatUsage(u)
			}
		}
	}
	for n := range m.Choices {
		s := &m.Choices[n]
		order := s.Order
		for _, g := range calls[n] {
			s.call(g.id, g.name, g.arguments)
		}
		s.Order = order
		if s.Finish == finishEnd && len(s.Calls) > 0 {
			s.Finish = finishTools
		}
		if s.Finish == finishEnd && s.Refusal != "" {
			s.Finish = finishRefusal
		}
	}
	return m
}

// ended says that every choice has its finish.
func (m *meaning) ended() bool {
	for i := range m.Choices {
		if m.Choices[i].Finish == "" {
			return false
		}
	}
	return len(m.Choices) > 0
}

// chatThought reads a thought, which vendors call by several names, some by two at once.
func chatThought(s *spoken, said any) {
	t := str(said, "reasoning_content")
	if t == "" {
		t = str(said, "reasoning")
	}
	if t == "" {
		for _, d := range items(said, "reasoning_details") {
			t += str(d, "text") + str(d, "summary")
		}
	}
	s.thought(t)
}

func chatUsage(u any) counts {
	c := counts{
		Input: number(u, "prompt_tokens"), Output: number(u, "completion_tokens"), Cached: number(u, "prompt_tokens_details", "cached_tokens"),
		Write: number(u, "prompt_tokens_details", "cache_write_tokens"), Reasoning: atLeast0(number(u, "completion_tokens_details", "reasoning_tokens")),
	}
	if c.Cached < 0 {
		c.Cached = atLeast0(number(u, "prompt_cache_hit_tokens"))
	}
	if number(u, "total_tokens") == c.Input+c.Output+c.Reasoning {
		c.Output += c.Reasoning // xAI counts thoughts apart
	}
	return c
}

// sourceResponses reads a response, or the one that a stream ends with; what a stream said before is held against it by
// the dialect's own tests.
func sourceResponses(events []object) meaning {
	reply := any(events[len(events)-1])
	if r := at(reply, "response"); r != nil {
		reply = r
	}
	var s spoken
	for _, item := range items(reply, "output") {
		switch str(item, "type") {
		case "reasoning":
			thought := ""
			for i, p := range items(item, "summary") {
				if i > 0 {
					thought += "\n\n"
				}
				thought += str(p, "text")
			}
			for _, p := range items(item, "content") {
				thought += str(p, "text")
			}
			s.thought(thought)
		case "message":
			for _, p := range items(item, "content") {
				s.text(str(p, "text"))
				s.Refusal += str(p, "refusal")
			}
		case "function_call":
			s.call(str(item, "call_id"), str(item, "name"), str(item, "arguments"))
		case "custom_tool_call":
			s.call(str(item, "call_id"), str(item, "name"), object{"input": str(item, "input")})
		}
	}
	s.Finish = finishEnd
	switch reason := str(reply, "incomplete_details", "reason"); {
	case reason == "max_output_tokens":
		s.Finish = finishLength
	case reason != "":
		s.Finish = finishUnknown + reason
	case len(s.Calls) > 0:
		s.Finish = finishTools
	case s.Refusal != "":
		s.Finish = finishRefusal
	}
	u := at(reply, "usage")
	return meaning{[]spoken{s}, counts{
		number(u, "input_tokens"), number(u, "output_tokens"), atLeast0(number(u, "input_tokens_details", "cached_tokens")),
		number(u, "input_tokens_details", "cache_write_tokens"), atLeast0(number(u, "output_tokens_details", "reasoning_tokens")),
	}}
}
