package openaichat

import (
	"strconv"

	"evergate/internal/jsonscan"
	"evergate/internal/llm"
)

// tools reads the tools: functions, tools that take free text, and names of what a vendor runs itself, which is lost.
func (d *requestDecoder) tools() {
	if d.tooled { // see messages
		d.q.Tools = nil
	}
	d.tooled = true
	if !d.list("tools") {
		return
	}
	for i := 0; d.r.Elem(); i++ {
		path := "tools[" + strconv.Itoa(i) + "]"
		if d.r.Kind() != jsonscan.Object {
			d.refuse(path, "an object")
			continue
		}
		d.tool(path)
	}
}

func (d *requestDecoder) tool(path string) {
	var t llm.Tool
	var kind string
	var lost []string
	known := false
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "type":
			kind = d.text(path + ".type")
		case "function":
			known = true
			d.function(&t, path+".function")
		case "custom":
			known = true
			t.Custom = true
			d.customTool(&t, path+".custom")
		case "cache_control":
			t.Cache = d.cache()
		default:
			lost = append(lost, string(key))
			d.r.Skip()
		}
	}
	if known { // else it is a vendor's own tool, which is lost whole
		d.q.Dropped.Add(lost...)
	}
	switch {
	case !known && (kind == "" || kind == "function" || kind == "custom"):
		d.fail(path, `"`+path+`" must be {"type": "function", "function": {"name": …}}`)
	case !known:
		d.q.Dropped.Add(llm.DropServerTools)
	case t.Name == "":
		d.fail(path, `"`+path+`" needs a name`)
	default:
		d.q.Tools = append(d.q.Tools, t)
	}
}

// function reads what a function is called and takes.
func (d *requestDecoder) function(t *llm.Tool, path string) {
	if !d.enter(path) {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "name":
			t.Name = d.text(path + ".name")
		case "description":
			t.Description = d.text(path + ".description")
		case "parameters":
			t.Schema = d.object(path + ".parameters")
		case "strict":
			t.Strict = d.boolean(path + ".strict")
		case "cache_control":
			t.Cache = d.cache()
		default:
			d.drop(string(key))
		}
	}
}

func (d *requestDecoder) customTool(t *llm.Tool, path string) {
	if !d.enter(path) {
		return
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "name":
			t.Name = d.text(path + ".name")
		case "description":
			t.Description = d.text(path + ".description")
		case "format":
			t.Grammar = flatGrammar(d.object(path + ".format"))
		default:
			d.drop(string(key))
		}
	}
}

// flatGrammar turns chat's {"type":"grammar","grammar":{…}} into the form without the inner object; free text is none.
func flatGrammar(format []byte) []byte {
	r := jsonscan.New(format)
	if !r.Object() {
		return nil
	}
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "grammar":
			inner := r.Raw()
			if len(inner) < 2 || inner[0] != '{' || isEmptyObject(inner) {
				return nil
			}
			return append([]byte(`{"type":"grammar",`), inner[1:]...)
		case "definition":
			return format // it is flat already
		default:
			r.Skip()
		}
	}
	return nil
}

// functions reads the form that tools had before they were tools.
func (d *requestDecoder) functions() {
	if !d.list("functions") {
		return
	}
	for i := 0; d.r.Elem(); i++ {
		path := "functions[" + strconv.Itoa(i) + "]"
		var t llm.Tool
		d.function(&t, path)
		if t.Name == "" {
			d.fail(path, `"`+path+`" needs a name`)
			continue
		}
		d.q.Tools = append(d.q.Tools, t)
		d.q.OldFunctions = true
	}
	if d.q.OldFunctions && d.q.Parallel == nil {
		one := false
		d.q.Parallel = &one // the old form has room for one call
	}
}

// toolChoice reads a word, a name, or the list of what is allowed.
func (d *requestDecoder) toolChoice() {
	switch d.r.Kind() {
	case jsonscan.String:
		word := d.str()
		d.q.Choice.How = d.choosing("tool_choice", word)
	case jsonscan.Object:
		d.namedChoice()
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Array, jsonscan.Number, jsonscan.Bool:
		d.refuse("tool_choice", "a string or an object")
	}
}

func (d *requestDecoder) choosing(path, word string) llm.Choosing {
	switch word {
	case "auto":
		return llm.Auto
	case "none":
		return llm.None
	case "required", "any":
		return llm.Required
	}
	d.fail(path, `"`+path+`" must be none, auto, required, or an object that names a tool`)
	return llm.Unsaid
}

func (d *requestDecoder) namedChoice() {
	c := &d.q.Choice
	var kind string
	d.r.Object()
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "type":
			kind = d.text("tool_choice.type")
		case "function", "custom":
			c.Name = d.name("tool_choice." + string(key))
		case "name": // as the Responses API says it
			c.Name = d.text("tool_choice.name")
		case "allowed_tools":
			d.allowedTools()
		case "mode":
			c.How = d.choosing("tool_choice.mode", d.text("tool_choice.mode"))
		case "tools":
			c.Only = d.toolNames("tool_choice.tools")
		default:
			d.drop("tool_choice." + string(key))
		}
	}
	switch {
	case kind == "allowed_tools" || len(c.Only) > 0:
		if c.How == llm.Unsaid {
			c.How = llm.Auto
		}
	case c.Name != "":
		c.How = llm.Named
	case kind == "auto", kind == "none", kind == "required", kind == "any":
		c.How = d.choosing("tool_choice.type", kind)
	default:
		d.fail("tool_choice", `"tool_choice" must name a tool: {"type": "function", "function": {"name": …}}`)
	}
}

func (d *requestDecoder) allowedTools() {
	if !d.enter("tool_choice.allowed_tools") {
		return
	}
	c := &d.q.Choice
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "mode":
			c.How = d.choosing("tool_choice.allowed_tools.mode", d.text("tool_choice.allowed_tools.mode"))
		case "tools":
			c.Only = d.toolNames("tool_choice.allowed_tools.tools")
		default:
			d.drop("tool_choice." + string(key))
		}
	}
}

// toolNames reads the names of tools that are given as objects.
func (d *requestDecoder) toolNames(path string) (names []string) {
	if !d.list(path) {
		return nil
	}
	for d.r.Elem() {
		if n := d.name(path); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// name reads the name in an object, or in the function or custom object inside it.
func (d *requestDecoder) name(path string) (name string) {
	if !d.enter(path) {
		return ""
	}
	for key, ok := d.r.Key(); ok; key, ok = d.r.Key() {
		switch string(key) {
		case "name":
			name = d.text(path + ".name")
		case "function", "custom":
			if n := d.name(path + "." + string(key)); n != "" {
				name = n
			}
		default:
			d.r.Skip()
		}
	}
	return name
}

// functionChoice reads tool_choice's older form.
func (d *requestDecoder) functionChoice() {
	c := &d.q.Choice
	switch d.r.Kind() {
	case jsonscan.String:
		word := d.str()
		c.How = d.choosing("function_call", word)
	case jsonscan.Object:
		if c.Name = d.name("function_call"); c.Name == "" {
			d.fail("function_call", `"function_call" must name a function: {"name": …}`)
			return
		}
		c.How = llm.Named
	case jsonscan.Null, jsonscan.None:
		d.r.Skip()
	case jsonscan.Array, jsonscan.Number, jsonscan.Bool:
		d.refuse("function_call", "a string or an object")
	}
}
