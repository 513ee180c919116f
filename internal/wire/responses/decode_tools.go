package responses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
	"evergate/internal/wire"
)

func number(raw []byte) (float64, error) { return strconv.ParseFloat(string(raw), 64) }

// tools reads the declared tools, or those that an item adds.
func (d *requestDecoder) tools(raw []byte) error {
	d.q.Tools = nil // of a member that comes twice the last one counts
	return appendToolsOf(d.q, raw)
}

func appendToolsOf(q *llm.Request, raw []byte) error {
	r := jsonscan.Again(raw)
	if r.Kind() != jsonscan.Array {
		return wire.WrongKind("tools", "an array", r.Kind())
	}
	r.Array()
	var grouped []*llm.Block
	for i := 0; r.Elem(); i++ {
		t, err := readTool(r.Raw(), i)
		if err == nil {
			err = callable(&t, i)
		}
		if err != nil {
			return err
		}
		if t.Opaque != nil && t.Opaque.Type == "namespace" {
			grouped = append(grouped, t.Opaque)
			continue
		}
		q.Tools = append(q.Tools, t)
	}
	for _, group := range grouped { // after the others, whose names are their own
		if err := appendGroup(q, group.Raw); err != nil {
			return err
		}
	}
	return nil
}

// appendGroup reads the tools of a namespace. Other dialects have no groups: each is a tool of its own there, and says what
// the group is for.
func appendGroup(q *llm.Request, raw []byte) error {
	var name, about string
	var tools []byte
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "name":
			name, _ = r.Text()
		case "description":
			about, _ = r.Text()
		case "tools":
			tools = r.Raw()
		default:
			r.Skip()
		}
	}
	var err error
	at := 0
	elements(tools, func(raw []byte) {
		t, bad := readTool(raw, at)
		if bad == nil {
			bad = callable(&t, at)
		}
		if at++; bad != nil {
			err = bad
			return
		}
		if t.Opaque == nil {
			t.Namespace, t.Within = name, t.Name
			t.Description = strings.TrimSpace(about + "\n\n" + t.Description)
			if hasTool(q, t.Name) {
				t.Name = name + "__" + t.Name
			}
		}
		q.Tools = append(q.Tools, t)
	})
	return err
}

func hasTool(q *llm.Request, name string) bool {
	return slices.ContainsFunc(q.Tools, func(t llm.Tool) bool { return t.Opaque == nil && t.Name == name })
}

// nameOf is the one name of a tool that a client calls by namespace and name; false: it declares no such tool.
func nameOf(q *llm.Request, namespace, within string) (name string, ok bool) {
	for i := range q.Tools {
		if t := &q.Tools[i]; t.Namespace == namespace && t.Within == within {
			return t.Name, true
		}
	}
	return within, false
}

// readTool reads one tool. What is neither a function nor a custom tool is one that the vendor runs.
func readTool(raw []byte, at int) (t llm.Tool, err error) {
	var kind []byte
	r := jsonscan.Again(raw)
	if !r.Object() {
		return t, wire.WrongKind(fmt.Sprintf("tools[%d]", at), "an object", r.Kind())
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Literal()
		case "name":
			t.Name, _ = r.Text()
		case "description":
			t.Description, _ = r.Text()
		case "parameters":
			if t.Schema = r.Raw(); string(t.Schema) == "null" {
				t.Schema = nil
			}
		case "strict":
			t.Strict = boolean(&r)
		case "format":
			t.Grammar = readGrammar(r.Raw())
		case "function": // as chat completions have it
			inner, err := readTool(r.Raw(), at)
			if err != nil {
				return t, err
			}
			t.Name, t.Description, t.Schema, t.Strict = inner.Name, inner.Description, inner.Schema, inner.Strict
		default:
			r.Skip()
		}
	}
	switch string(kind) {
	case "function", "":
		t.Grammar = nil
	case "custom":
		t.Custom = true
	default:
		return llm.Tool{Name: t.Name, Opaque: &llm.Block{Vendor: llm.OpenAI, Type: string(kind), Raw: raw}}, nil
	}
	return t, nil
}

// callable refuses a tool of the caller's own that has no name, or parameters that are no schema.
func callable(t *llm.Tool, at int) error {
	switch {
	case t.Opaque != nil:
	case t.Name == "":
		return &wire.RequestError{Param: fmt.Sprintf("tools[%d].name", at), Message: fmt.Sprintf("tools[%d] has no name", at)}
	case len(t.Schema) > 0 && t.Schema[0] != '{':
		return &wire.RequestError{Param: fmt.Sprintf("tools[%d].parameters", at), Message: fmt.Sprintf("tools[%d].parameters must be an object", at)}
	}
	return nil
}

// readGrammar gives what a custom tool's text must keep to; nil for free text.
func readGrammar(raw []byte) []byte {
	r := jsonscan.Again(raw)
	if !r.Object() {
		return nil
	}
	grammar := false
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if string(key) != "type" {
			r.Skip()
			continue
		}
		kind, _ := r.Literal()
		grammar = string(kind) == "grammar"
	}
	if !grammar {
		return nil
	}
	return raw
}

// choice reads which tools may or must be called.
func (d *requestDecoder) choice(raw []byte) error {
	if raw[0] == '"' {
		how, err := choosing(text(raw))
		d.q.Choice.How = how
		return err
	}
	var kind, mode, name string
	var only []string
	r := jsonscan.Again(raw)
	if !r.Object() {
		return wire.WrongKind("tool_choice", "a string or an object", r.Kind())
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "type":
			kind, _ = r.Text()
		case "mode":
			mode, _ = r.Text()
		case "name":
			name, _ = r.Text()
		case "function": // as chat completions have it
			it := readItem(r.Raw())
			name = text(it.name)
		case "tools":
			elements(r.Raw(), func(raw []byte) {
				it := readItem(raw)
				if n := text(it.name); n != "" {
					only = append(only, n)
				} else {
					d.q.Dropped.Add("tool_choice")
				}
			})
		default:
			r.Skip()
		}
	}
	switch kind {
	case "function", "custom":
		d.q.Choice = llm.ToolChoice{How: llm.Named, Name: name}
	case "allowed_tools":
		how, err := choosing(mode)
		d.q.Choice = llm.ToolChoice{How: how, Only: only}
		return err
	case "auto", "none", "required":
		how, err := choosing(kind)
		d.q.Choice.How = how
		return err
	default: // a server tool
		d.q.Dropped.Add("tool_choice")
	}
	return nil
}

func choosing(word string) (llm.Choosing, error) {
	switch word {
	case "auto", "":
		return llm.Auto, nil
	case "none":
		return llm.None, nil
	case "required":
		return llm.Required, nil
	}
	return llm.Unsaid, &wire.RequestError{Param: "tool_choice", Message: fmt.Sprintf("%q is no tool_choice: it is auto, none, required, or names a tool", word)}
}
