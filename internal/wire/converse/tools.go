package converse

import (
	"bytes"
	"slices"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// customInput is the one argument of a tool that takes free text, which goes as a function.
const customInput = "input"

const (
	customSchema = `{"type":"object","properties":{"` + customInput + `":{"type":"string"}},"required":["` + customInput + `"]}`
	anySchema    = `{"type":"object","properties":{}}`
)

// tool is a tool as it goes out.
type tool struct {
	name, description string
	schema            []byte
	strict            bool
	cache             *llm.Cache
}

// declared are the tools to declare. Bedrock refuses a history with tools' calls and results in it where none are
// declared: the ones that it calls are declared then, by name alone. Where the client forbids all tools, and
// nothing in the history needs them, none are.
func (w *writer) declared() (out []tool) {
	q := w.q
	if q.Choice.How == llm.None && len(w.used) == 0 {
		return nil
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		if t.Opaque != nil {
			w.drop.Add(llm.DropServerTools)
			continue
		}
		if len(q.Choice.Only) > 0 && !slices.Contains(q.Choice.Only, t.Name) {
			continue
		}
		made := tool{name: t.Name, description: t.Description, schema: t.Schema, cache: t.Cache}
		if t.Custom {
			w.drop.Add(llm.DropCustomTools)
			made.schema = []byte(customSchema)
		}
		if t.Strict != nil && *t.Strict && !t.Custom {
			made.strict = w.structured()
			if !made.strict || w.refuses("strict", llm.DropStrict) {
				w.drop.Add(llm.DropStrict)
				made.strict = false
			}
		}
		out = append(out, made)
	}
	if len(out) > 0 {
		return out
	}
	for _, name := range w.used {
		if !slices.ContainsFunc(out, func(t tool) bool { return t.name == name }) {
			out = append(out, tool{name: name})
		}
	}
	return out
}

// forced says that the answer must be a tool's call.
func (w *writer) forced() bool {
	return len(w.tools) > 0 && (w.q.Choice.How == llm.Required || w.q.Choice.How == llm.Named)
}

// serial says that the model must be told to call one tool at a time, which only Claude can be.
func (w *writer) serial() bool {
	return w.claude && len(w.tools) > 0 && w.q.Choice.How != llm.None && w.q.Parallel != nil && !*w.q.Parallel
}

// appendTools appends toolConfig.
func (w *writer) appendTools(dst []byte) []byte {
	q := w.q
	if q.Parallel != nil && !*q.Parallel && !w.serial() && len(w.tools) > 0 && q.Choice.How != llm.None {
		w.drop.Add("parallel_tool_calls")
	}
	if len(w.tools) == 0 {
		if q.Choice.How == llm.Required || q.Choice.How == llm.Named {
			w.drop.Add("tool_choice")
		}
		return dst
	}
	dst = append(jsonscan.AppendKey(dst, "toolConfig"), `{"tools":[`...)
	for i := range w.tools {
		dst = w.appendTool(jsonscan.AppendComma(dst), &w.tools[i])
	}
	dst = append(dst, ']')
	if !w.serial() { // else it goes with that: said twice it is refused
		dst = w.appendChoice(dst)
	}
	return append(dst, '}')
}

func (w *writer) appendTool(dst []byte, t *tool) []byte {
	dst = append(dst, `{"toolSpec":{`...)
	dst = jsonscan.AppendStringMember(dst, "name", t.name)
	if !isBlank(t.description) {
		dst = jsonscan.AppendStringMember(dst, "description", t.description)
	}
	dst = append(jsonscan.AppendKey(dst, "inputSchema"), '{')
	dst = appendSchema(jsonscan.AppendKey(dst, "json"), t.schema)
	dst = append(dst, '}')
	if t.strict {
		dst = append(jsonscan.AppendKey(dst, "strict"), "true"...)
	}
	dst = append(dst, "}}"...)
	if t.cache != nil {
		if w.t.Vendor == llm.Amazon { // Nova has cache points, but not among tools
			w.drop.Add(llm.DropCache)
		} else if w.caches() {
			dst = appendCachePoint(append(dst, ','), w.ttl(t.cache))
		}
	}
	return dst
}

// appendSchema appends the schema of a tool's arguments as it came. Bedrock wants it to say that it is of an object.
func appendSchema(dst, schema []byte) []byte {
	if !jsonscan.IsObject(schema) {
		return append(dst, anySchema...)
	}
	r := jsonscan.New(schema)
	r.Object()
	at, members, typed := r.Offset(), 0, false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		members++
		typed = typed || string(key) == "type"
		r.Skip()
	}
	if typed {
		return append(dst, schema...)
	}
	dst = append(dst, `{"type":"object"`...)
	if members > 0 {
		dst = append(dst, ',')
	}
	return append(dst, bytes.TrimLeft(schema[at:], " \t\r\n")...)
}

func (w *writer) appendChoice(dst []byte) []byte {
	switch w.q.Choice.How {
	case llm.Unsaid:
		return dst
	case llm.None: // there is no word for it
		w.drop.Add("tool_choice")
		return dst
	case llm.Auto, llm.Required, llm.Named:
	}
	if w.refuses("toolChoice", "tool_choice") {
		return dst
	}
	dst = append(jsonscan.AppendKey(dst, "toolChoice"), '{')
	switch w.q.Choice.How {
	case llm.Required:
		dst = append(dst, `"any":{}`...)
	case llm.Named:
		dst = append(jsonscan.AppendStringMember(append(dst, `"tool":{`...), "name", w.q.Choice.Name), '}')
	case llm.Auto, llm.Unsaid, llm.None:
		dst = append(dst, `"auto":{}`...)
	}
	return append(dst, '}')
}
