package anthropic

import (
	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// sends says whether a tool goes out: the caller's own, unless the choice leaves it out, and the vendor's own.
func (w *writing) sends(t *llm.Tool) bool {
	if t.Opaque != nil {
		return t.Opaque.Vendor == llm.Anthropic
	}
	if len(w.q.Choice.Only) == 0 {
		return true
	}
	if w.only == nil {
		w.only = make(map[string]bool, len(w.q.Choice.Only))
		for _, name := range w.q.Choice.Only {
			w.only[name] = true
		}
	}
	return w.only[t.Name]
}

func (w *writing) appendTools() {
	n := 0
	open := func() {
		if n++; n == 1 {
			w.dst = append(w.dst, `,"tools":[`...)
		} else {
			w.dst = append(w.dst, ',')
		}
	}
	for i := range w.q.Tools {
		t := &w.q.Tools[i]
		if !w.sends(t) {
			if t.Opaque != nil {
				w.drop(llm.DropServerTools)
			}
			continue
		}
		open()
		w.appendTool(t)
	}
	if n == 0 {
		// A history of calls needs tools beside it, whether they may be called again or not.
		for _, name := range w.ids.names {
			open()
			w.dst = append(w.dst, `{"name":`...)
			w.dst = jsonscan.AppendString(w.dst, name)
			w.dst = append(w.dst, `,"input_schema":{"type":"object"}}`...)
		}
		if w.tools = false; n > 0 {
			w.dst = append(w.dst, `],"tool_choice":{"type":"none"}`...)
		}
		return
	}
	w.dst = append(w.dst, ']')
}

func (w *writing) appendTool(t *llm.Tool) {
	if t.Opaque != nil {
		w.dst = append(w.dst, t.Opaque.Raw...)
		return
	}
	w.dst = append(w.dst, `{"name":`...)
	w.dst = jsonscan.AppendString(w.dst, t.Name)
	if t.Description != "" {
		w.dst = append(w.dst, `,"description":`...)
		w.dst = jsonscan.AppendString(w.dst, t.Description)
	}
	w.dst = append(w.dst, `,"input_schema":`...)
	if t.Custom {
		w.drop(llm.DropCustomTools)
		w.dst = append(w.dst, `{"type":"object","properties":{"`+customInput+`":{"type":"string"}},"required":["`+customInput+`"]}`...)
	} else {
		w.dst = appendInputSchema(w.dst, t.Schema)
	}
	if t.Strict != nil && *t.Strict {
		if _, lost := strictSchema(t.Schema); w.traits.schemas && len(lost) == 0 && isStrict(t.Schema) && w.allows("strict") {
			w.dst = append(w.dst, `,"strict":true`...)
		} else {
			w.drop(llm.DropStrict)
		}
	}
	w.closeBlock(t.Cache)
}

// appendInputSchema appends a schema as it is, but for the type object that the dialect insists on.
func appendInputSchema(dst, schema []byte) []byte {
	list := membersOf(schema)
	if kind := valueOf(list, "type"); list != nil && string(kind) == `"object"` {
		return append(dst, schema...)
	}
	if len(list) == 0 {
		return append(dst, `{"type":"object","properties":{}}`...)
	}
	return appendObject(dst, put(list, "type", []byte(`"object"`)))
}

// appendChoice appends tool_choice, which the dialect takes only beside tools.
func (w *writing) appendChoice() {
	if !w.tools {
		return
	}
	c := &w.q.Choice
	single := w.q.Parallel != nil && !*w.q.Parallel
	word := ""
	switch c.How {
	case llm.Required:
		word = "any"
	case llm.Named:
		word = "tool"
	case llm.None:
		word = "none"
		single = false // there is nothing to call at once
	case llm.Auto:
		word = "auto"
	case llm.Unsaid:
		if !single {
			return
		}
		word = "auto"
	}
	if !w.allows("tool_choice") {
		return
	}
	w.dst = append(w.dst, `,"tool_choice":{"type":"`...)
	w.dst = append(w.dst, word...)
	w.dst = append(w.dst, '"')
	if c.How == llm.Named {
		w.dst = append(w.dst, `,"name":`...)
		w.dst = jsonscan.AppendString(w.dst, c.Name)
	}
	if single {
		w.dst = append(w.dst, `,"disable_parallel_tool_use":true`...)
	}
	w.dst = append(w.dst, '}')
}
