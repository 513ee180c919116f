package openaichat

import (
	"slices"
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// tools writes the tools and how free the model is to call them.
func (e *requestEncoder) tools() {
	q := e.q
	begun := false
	for i := range q.Tools {
		t := &q.Tools[i]
		if t.Cache != nil {
			q.Dropped.Add(llm.DropCache)
		}
		switch {
		case t.Opaque != nil:
			q.Dropped.Add(llm.DropServerTools)
			continue
		case len(q.Choice.Only) > 0 && !slices.Contains(q.Choice.Only, t.Name):
			continue // few targets know a list of what is allowed; what is not there cannot be called
		case !begun && !e.field("tools"):
			return
		case !begun:
			e.raw("[")
			begun = true
		default:
			e.raw(",")
		}
		e.tool(t)
	}
	if !begun {
		return
	}
	e.raw("]")
	e.choice()
	if q.Parallel != nil && e.field("parallel_tool_calls") {
		e.dst = strconv.AppendBool(e.dst, *q.Parallel)
	}
}

// inputSchema is what a tool takes that takes free text, where only functions are known.
const inputSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`

func (e *requestEncoder) tool(t *llm.Tool) {
	if t.Custom && e.t.Quirks.CustomTools {
		e.raw(`{"type":"custom","custom":{"name":`)
		e.str(t.Name)
		if t.Description != "" {
			e.key("description")
			e.str(t.Description)
		}
		if g := nestedGrammar(t.Grammar); g != nil {
			e.key("format")
			e.dst = append(e.dst, g...)
		}
		e.raw("}}")
		return
	}
	e.raw(`{"type":"function","function":{"name":`)
	e.str(t.Name)
	if t.Description != "" {
		e.key("description")
		e.str(t.Description)
	}
	e.key("parameters")
	switch {
	case t.Custom:
		e.q.Dropped.Add(llm.DropCustomTools)
		e.raw(inputSchema)
	case len(t.Schema) == 0:
		e.raw(`{"type":"object","properties":{}}`) // none is not taken everywhere
	default:
		e.dst = append(e.dst, t.Schema...)
	}
	if t.Strict != nil {
		if slices.Contains(e.t.Quirks.Refuses, "strict") {
			if *t.Strict {
				e.q.Dropped.Add(llm.DropStrict)
			}
		} else {
			e.key("strict")
			e.dst = strconv.AppendBool(e.dst, *t.Strict)
		}
	}
	e.raw("}}")
}

// nestedGrammar is flatGrammar's way back; nil for none.
func nestedGrammar(flat []byte) []byte {
	r := jsonscan.New(flat)
	if !r.Object() {
		return nil
	}
	out := []byte(`{"type":"grammar","grammar":{`)
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "grammar":
			return flat // it is nested already
		case "type":
			r.Skip()
		default:
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = appendMember(out, key, r.Raw())
		}
	}
	if out[len(out)-1] == '{' {
		return nil
	}
	return append(out, "}}"...)
}

func (e *requestEncoder) choice() {
	c := &e.q.Choice
	switch c.How {
	case llm.Auto:
		e.strField("tool_choice", "auto")
	case llm.None:
		e.strField("tool_choice", "none")
	case llm.Required:
		word := e.t.Quirks.RequiredWord
		if word == "" {
			word = "required"
		}
		e.strField("tool_choice", word)
	case llm.Named:
		if !e.field("tool_choice") {
			return
		}
		if e.isCustom(c.Name) && e.t.Quirks.CustomTools {
			e.raw(`{"type":"custom","custom":{"name":`)
		} else {
			e.raw(`{"type":"function","function":{"name":`)
		}
		e.str(c.Name)
		e.raw("}}")
	case llm.Unsaid:
	}
}

func (e *requestEncoder) isCustom(name string) bool { return isCustom(e.q, name) }

// isCustom says whether the request declares the tool of that name as one that takes free text.
func isCustom(q *llm.Request, name string) bool {
	for i := range q.Tools {
		if q.Tools[i].Name == name {
			return q.Tools[i].Custom
		}
	}
	return false
}
