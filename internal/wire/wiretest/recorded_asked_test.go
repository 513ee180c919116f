package wiretest_test

import (
	"encoding/json"
	"strings"
)

// asked is what a request asks, in no vendor's words, read by hand.
type asked struct {
	texts   []string // of the system and of all turns
	tools   []string
	calls   []called
	results []any
	media   []string // data in base64, or addresses
}

func askedIn(dialect string, q object) *asked {
	a := &asked{}
	switch dialect {
	case "chat", "completions":
		a.chat(q)
	case "responses":
		a.responses(q)
	case "messages":
		a.messages(q)
	case "gemini":
		a.gemini(q)
	}
	return a
}

// content reads a text, or the texts of parts.
func (a *asked) content(v any) {
	if t, ok := v.(string); ok && t != "" {
		a.texts = append(a.texts, t)
	}
	list, _ := v.(array)
	for _, p := range list {
		if t := str(p, "text"); t != "" && at(p, "thought") != true {
			a.texts = append(a.texts, t)
		}
		a.content(at(p, "refusal"))
		for _, path := range [][]any{
			{"image_url"},
			{"image_url", "url"},
			{"input_audio", "data"},
			{"file", "file_data"},
			{"file_data"},
			{"source", "url"},
			{"inlineData", "data"},
			{"inline_data", "data"},
			{"fileData", "fileUri"},
		} {
			a.file(str(p, path...))
		}
		if str(p, "source", "type") == "base64" {
			a.file(str(p, "source", "data"))
		}
	}
}

func (a *asked) file(place string) {
	if _, data, ok := strings.Cut(place, ";base64,"); ok {
		place = data
	}
	if place != "" {
		a.media = append(a.media, place)
	}
}

func (a *asked) call(name string, arguments any) {
	if text, ok := arguments.(string); ok {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			arguments = v
		}
	}
	if arguments == nil {
		arguments = object{}
	}
	a.calls = append(a.calls, called{Name: name, Arguments: arguments})
}

// result reads what a tool gave back: a text, parts of text, or JSON.
func (a *asked) result(v any) {
	list, ok := v.(array)
	if !ok {
		if v != nil && v != "" {
			a.results = append(a.results, v)
		}
		return
	}
	for _, p := range list {
		if t := str(p, "text"); t != "" {
			a.results = append(a.results, t)
		}
	}
}

func (a *asked) chat(q object) {
	a.content(at(q, "prompt"))
	for _, m := range items(q, "messages") {
		switch str(m, "role") {
		case "tool", "function":
			a.result(at(m, "content"))
		default:
			a.content(at(m, "content"))
		}
		for _, c := range items(m, "tool_calls") {
			a.call(str(c, "function", "name"), at(c, "function", "arguments"))
		}
	}
	for _, t := range items(q, "tools") {
		if name := str(t, "function", "name") + str(t, "custom", "name"); name != "" { // else the provider's own
			a.tools = append(a.tools, name)
		}
	}
	for _, f := range items(q, "functions") {
		a.tools = append(a.tools, str(f, "name"))
	}
}

func (a *asked) responses(q object) {
	a.content(at(q, "instructions"))
	a.content(at(q, "input"))
	for _, item := range items(q, "input") {
		a.content(at(item, "content"))
		switch str(item, "type") {
		case "function_call":
			a.call(str(item, "name"), at(item, "arguments"))
		case "custom_tool_call":
			a.call(str(item, "name"), object{"input": str(item, "input")})
		case "function_call_output", "custom_tool_call_output":
			a.result(at(item, "output"))
		}
	}
	for _, t := range items(q, "tools") {
		if kind := str(t, "type"); kind == "function" || kind == "custom" {
			a.tools = append(a.tools, str(t, "name"))
		}
	}
}

func (a *asked) messages(q object) {
	a.content(at(q, "system"))
	for _, m := range items(q, "messages") {
		a.content(at(m, "content"))
		for _, b := range items(m, "content") {
			switch str(b, "type") {
			case "tool_use":
				a.call(str(b, "name"), at(b, "input"))
			case "tool_result":
				a.result(at(b, "content"))
			case "document":
				a.content(at(b, "source", "data"))
			}
		}
	}
	for _, t := range items(q, "tools") {
		if kind := str(t, "type"); kind == "" || kind == "custom" {
			a.tools = append(a.tools, str(t, "name"))
		}
	}
}

func (a *asked) gemini(q object) {
	for _, name := range []string{"systemInstruction", "system_instruction"} {
		a.content(at(q, name, "parts"))
	}
	for _, c := range items(q, "contents") {
		a.content(at(c, "parts"))
		for _, p := range items(c, "parts") {
			if call := at(p, "functionCall"); call != nil {
				a.call(str(call, "name"), at(call, "args"))
			}
			if r := at(p, "functionResponse"); r != nil {
				a.result(at(r, "response"))
			}
		}
	}
	for _, t := range items(q, "tools") {
		for _, name := range []string{"functionDeclarations", "function_declarations"} {
			for _, f := range items(t, name) {
				a.tools = append(a.tools, str(f, "name"))
			}
		}
	}
}
