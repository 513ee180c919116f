package openaichat

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"evergate/internal/fault"
	"evergate/internal/wire"
)

// object is a JSON object with what is known of it left to be found out; numbers are json.Number.
type object = map[string]any

// replyFromStream folds a stream into the reply that it would have been. The stream must be whole: one that has an
// error in it, was cut, or brings no content is an error (R14). The error is a *fault.Fault.
func replyFromStream(stream []byte, d wire.Dialect, s shape) ([]byte, error) {
	f := folded{shape: s, reply: object{}, choices: map[int64]*foldedChoice{}}
	var p wire.Progress
	err := wire.EachEvent(stream, d, &p, func(data []byte, _ *wire.Event) error {
		f.add(data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.json()
}

// folded is a reply in the making.
type folded struct {
	shape   shape
	reply   object
	choices map[int64]*foldedChoice
}

type foldedChoice struct {
	fields  object // all but the message
	message object
	tools   []object
	byIndex map[string]int // places in tools
}

// add folds one event, which is a valid JSON object, in.
func (f *folded) add(data []byte) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var event object
	if d.Decode(&event) != nil {
		return
	}
	for key, value := range event {
		switch key {
		case "choices":
			list, _ := value.([]any)
			for _, c := range list {
				if c, ok := c.(object); ok {
					f.addChoice(c)
				}
			}
		case "object", "obfuscation":
		case "x_groq":
			if groq, ok := value.(object); ok && groq["usage"] != nil {
				f.reply["usage"] = either(event["usage"], groq["usage"])
			}
			set(f.reply, key, value)
		default:
			set(f.reply, key, value)
		}
	}
}

func (f *folded) addChoice(c object) {
	index := int64(0)
	if n, ok := c["index"].(json.Number); ok {
		index, _ = n.Int64()
	}
	to := f.choices[index]
	if to == nil {
		to = &foldedChoice{fields: object{}, message: object{}, byIndex: map[string]int{}}
		f.choices[index] = to
	}
	message, ok := c["delta"].(object)
	if !ok {
		message, _ = c["message"].(object)
	}
	for key, value := range c {
		switch {
		case key == "index":
		case key == "finish_reason" && value == "":
		case key == "text" && f.shape == textShape:
			to.fields[key] = join(to.fields[key], value)
		case (key == "delta" || key == "message") && f.shape == chatShape: // below
		case key == "logprobs":
			to.fields[key] = joinLists(to.fields[key], value)
		default:
			set(to.fields, key, value)
		}
	}
	if f.shape == chatShape {
		to.addDelta(message)
	}
}

func (c *foldedChoice) addDelta(delta object) {
	for key, value := range delta {
		switch key {
		case "role", "id":
			set(c.message, key, value)
		case "tool_calls":
			calls, _ := value.([]any)
			for _, call := range calls {
				if call, ok := call.(object); ok {
					c.addTool(call)
				}
			}
		case "function_call":
			call, _ := c.message[key].(object)
			if part, ok := value.(object); ok {
				c.message[key] = joinCall(call, part)
			} else {
				set(c.message, key, value)
			}
		case "audio":
			c.message[key] = joinAudio(c.message[key], value)
		case "content", "refusal", "reasoning", "reasoning_content", "reasoning_text", "thinking":
			c.message[key] = join(c.message[key], value)
		default:
			if _, ok := value.([]any); ok {
				c.message[key] = join(c.message[key], value)
			} else {
				set(c.message, key, value)
			}
		}
	}
}

// addTool folds one part of a tool call in. Parts belong together by index; a vendor without indexes means the id, and
// a part with neither goes on with the last call. A part with another id than its index had before starts a call:
// some vendors number every call 0.
func (c *foldedChoice) addTool(part object) {
	id, _ := part["id"].(string)
	name := id
	if n, ok := part["index"].(json.Number); ok {
		name = "#" + n.String()
	}
	at, known := c.byIndex[name]
	if known && id != "" {
		was, _ := c.tools[at]["id"].(string)
		known = was == "" || was == id
	}
	switch {
	case known:
	case name == "" && len(c.tools) > 0:
		at = len(c.tools) - 1
	default:
		at = len(c.tools)
		c.tools = append(c.tools, object{})
		c.byIndex[name] = at
	}
	call := c.tools[at]
	for key, value := range part {
		switch key {
		case "index":
		case "function", "custom":
			known, _ := call[key].(object)
			if more, ok := value.(object); ok {
				call[key] = joinCall(known, more)
			}
		default:
			if value != "" {
				set(call, key, value)
			}
		}
	}
}

// json writes the reply. Members are in the order of their names.
func (f *folded) json() ([]byte, error) {
	f.reply["object"] = json.RawMessage(f.shape.object(false))
	var choices []any
	for _, index := range slices.Sorted(maps.Keys(f.choices)) {
		c := f.choices[index]
		out := c.fields
		out["index"] = index
		if out["finish_reason"] == nil {
			out["finish_reason"] = f.shape.finishWithout(len(c.tools) > 0)
		}
		if f.shape == chatShape {
			set(c.message, "role", nil)
			if c.message["role"] == nil {
				c.message["role"] = "assistant"
			}
			set(c.message, "content", nil)
			if len(c.tools) > 0 {
				c.message["tool_calls"] = c.tools
			}
			out["message"] = c.message
		}
		choices = append(choices, out)
	}
	f.reply["choices"] = choices
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(f.reply); err != nil {
		return nil, &fault.Fault{Class: fault.Invalid, Message: "the upstream's stream makes no reply", Cause: err}
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
