package anthropic

import (
	"fmt"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

func (d *reading) tools(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Array() {
		d.wrong("tools", "an array of tools", kind)
		return
	}
	d.q.Tools = nil // see system
	for i := 0; r.Elem(); i++ {
		param := fmt.Sprintf("tools.%d", i)
		if kind := r.Kind(); kind != jsonscan.Object {
			d.wrong(param, "an object", kind)
			return
		}
		d.q.Tools = append(d.q.Tools, d.tool(r.Raw(), param))
		if d.err != nil {
			return
		}
	}
}

// tool reads one tool: the caller's own, or by its type one that the vendor runs, or whose form only the vendor knows.
func (d *reading) tool(raw []byte, param string) (t llm.Tool) {
	kind, schema := "", jsonscan.None
	r := jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "type":
			kind = d.text(&r, param+".type")
		case "name":
			t.Name = d.text(&r, param+".name")
		case "description":
			t.Description = d.text(&r, param+".description")
		case "input_schema":
			schema = r.Kind()
			t.Schema = r.Raw()
		case "strict":
			if strict, ok := r.Bool(); ok {
				t.Strict = &strict
			}
		case "cache_control":
			t.Cache = readCache(&r)
		default:
			r.Skip()
		}
	}
	if kind != "" && kind != "custom" {
		return llm.Tool{Name: t.Name, Opaque: &llm.Block{Vendor: llm.Anthropic, Type: kind, Raw: raw}, Cache: t.Cache}
	}
	switch {
	case t.Name == "":
		d.fail(param+".name", fmt.Sprintf("%q is missing", param+".name"))
	case schema != jsonscan.Object && schema != jsonscan.None:
		d.wrong(param+".input_schema", "an object", schema)
	}
	// What else a tool of the caller's can say is for this vendor's models alone: eager_input_streaming,
	// defer_loading, allowed_callers, input_examples.
	r = jsonscan.Again(raw)
	r.Object()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		value := r.Raw()
		switch string(key) {
		case "type", "name", "description", "input_schema", "strict", "cache_control":
		case "allowed_callers":
			if string(value) != `["direct"]` && !empty(value) {
				d.q.Dropped.Add(string(key))
			}
		default:
			if !empty(value) {
				d.q.Dropped.Add(string(key))
			}
		}
	}
	return t
}

func (d *reading) toolChoice(r *jsonscan.Reader) {
	if kind := r.Kind(); !r.Object() {
		d.wrong("tool_choice", "an object", kind)
		return
	}
	var how, name string
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		if r.Null() {
			continue
		}
		switch string(key) {
		case "type":
			how = d.text(r, "tool_choice.type")
		case "name":
			name = d.text(r, "tool_choice.name")
		case "disable_parallel_tool_use":
			if off, ok := r.Bool(); ok {
				on := !off
				d.q.Parallel = &on
			}
		default:
			d.q.Dropped.Add("tool_choice." + string(key))
			r.Skip()
		}
	}
	switch how {
	case "auto":
		d.q.Choice.How = llm.Auto
	case "any":
		d.q.Choice.How = llm.Required
	case "none":
		d.q.Choice.How = llm.None
	case "tool":
		d.q.Choice = llm.ToolChoice{How: llm.Named, Name: name}
		if name == "" {
			d.fail("tool_choice.name", `"tool_choice.name" is missing: name the tool that must be called`)
		}
	default:
		d.fail("tool_choice.type", fmt.Sprintf(`"tool_choice.type" must be auto, any, tool or none, not %q`, how))
	}
}
