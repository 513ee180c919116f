package wiretest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// understand reads what a client got, as its SDK does; a stream must keep to the dialect's grammar.
func understand(t testing.TB, c *client, out []byte, streamed bool) (meaning, error) {
	t.Helper()
	r := readerOf(c)
	reply, err := parse(out)
	if streamed {
		reply, err = r.wholeOf(out)
	}
	if err != nil {
		return meaning{}, err
	}
	m := r.read(reply)
	switch c.name { // free-text tools, as calls whose one argument is the text
	case "chat":
		for i, choice := range items(reply, "choices") {
			m.Choices[i].text(str(choice, "message", "audio", "transcript"))
			for j, call := range items(choice, "message", "tool_calls") {
				if custom := at(call, "custom"); custom != nil {
					m.Choices[i].Calls[j] = called{str(call, "id"), str(custom, "name"), object{"input": str(custom, "input")}}
				}
			}
		}
	case "responses":
		s := &m.Choices[0]
		for _, item := range items(reply, "output") {
			if str(item, "type") == "custom_tool_call" {
				s.call(str(item, "call_id"), str(item, "name"), object{"input": str(item, "input")})
				s.Finish = finishTools
			}
		}
	}
	return m, nil
}

// readerOf is a client's SDK.
func readerOf(c *client) reader {
	r := readers()[c.name]
	if c.name == "responses" {
		r.gather = gatherItems
	}
	return r
}

// gatherItems makes the response of a stream's events: each piece must belong to a part of an item that was added and is
// not done, each part's end must say what its pieces said, each item's end what its parts said, and the response at the end
// what the items said.
func gatherItems(events []happened) (object, error) {
	var output array
	var texts map[string]string // of the open item, by part
	open := ""                  // the open item
	for i, e := range events {
		if e.name != str(e.body, "type") {
			return nil, fmt.Errorf("the event %s is called %s", str(e.body, "type"), e.name)
		}
		if n := number(e.body, "sequence_number"); n != int64(i) && e.name != "error" {
			return nil, fmt.Errorf("event %d has number %d", i, n)
		}
		if id := str(e.body, "item_id"); id != "" && id != open {
			return nil, fmt.Errorf("%s is of %s while %q is open", e.name, id, open)
		}
		if n := number(e.body, "output_index"); n >= 0 && e.name != "response.output_item.added" && int(n) != len(output)-1 {
			return nil, fmt.Errorf("%s is of item %d of %d", e.name, n, len(output))
		}
		part := fmt.Sprint(number(e.body, "content_index"), number(e.body, "summary_index"))
		switch e.name {
		case "response.output_item.added":
			if n := number(e.body, "output_index"); n != int64(len(output)) || open != "" {
				return nil, fmt.Errorf("item %d comes as number %d while %q is open", len(output), n, open)
			}
			output = append(output, at(e.body, "item"))
			open, texts = str(e.body, "item", "id"), map[string]string{}
		case "response.output_text.done", "response.reasoning_summary_text.done", "response.reasoning_text.done", "response.refusal.done",
			"response.function_call_arguments.done", "response.custom_tool_call_input.done":
			said := str(e.body, "text") + str(e.body, "refusal") + str(e.body, "arguments") + str(e.body, "input")
			if said != texts[part] {
				return nil, fmt.Errorf("%s: %q became %q", open, texts[part], said)
			}
		case "response.output_item.done":
			if str(e.body, "item", "id") != open {
				return nil, fmt.Errorf("%s is done while %s is open", str(e.body, "item", "id"), open)
			}
			if a, b := allTexts(at(e.body, "item")), joined(texts); a != b {
				return nil, fmt.Errorf("%s: %q became %q", open, b, a)
			}
			output[len(output)-1], open = at(e.body, "item"), ""
		case "response.failed", "error":
			return nil, fmt.Errorf("%w: %s", errNoEnd, e.data)
		case "response.completed", "response.incomplete":
			last := at(e.body, "response").(object)
			switch {
			case i != len(events)-1:
				return nil, fmt.Errorf("%s comes after the end", events[i+1].name)
			case open != "":
				return nil, fmt.Errorf("%s is open at the end", open)
			case fmt.Sprint(items(last, "output")) != fmt.Sprint(output):
				return nil, fmt.Errorf("the output at the end is not what came:\n%v\n%v", last["output"], output)
			}
			return last, nil
		default:
			if strings.HasSuffix(e.name, ".delta") {
				texts[part] += str(e.body, "delta")
			}
		}
	}
	return nil, errNoEnd
}

// allTexts are the texts of an item's parts.
func allTexts(item any) string {
	var out strings.Builder
	for _, list := range []string{"summary", "content"} {
		for _, p := range items(item, list) {
			out.WriteString(str(p, "text") + str(p, "refusal"))
		}
	}
	return out.String() + str(item, "arguments") + str(item, "input")
}

func joined(texts map[string]string) string {
	var keys []string
	for k := range texts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var out strings.Builder
	for _, k := range keys {
		out.WriteString(texts[k])
	}
	return out.String()
}
