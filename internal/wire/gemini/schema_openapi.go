package gemini

import (
	"strings"

	"evergate/internal/jsonscan"
)

// openAPI writes JSON Schema as the subset of OpenAPI that parameters and responseSchema take: an allow-list of
// members, one type in upper case, nullable, references written out.
type openAPI struct {
	defs  map[string][]byte // by reference
	nodes int
	lossy bool
}

// maxSchemaNodes bounds what references may blow a schema up to.
const maxSchemaNodes = 2000

// appendOpenAPI appends a JSON Schema as Google's OpenAPI subset. lossy says that a constraint had no counterpart.
func appendOpenAPI(dst, raw []byte) (out []byte, lossy bool) {
	o := openAPI{defs: map[string][]byte{}}
	for _, m := range members(raw) {
		if m.key == "$defs" || m.key == "definitions" {
			for _, d := range members(m.raw) {
				o.defs["#/"+m.key+"/"+d.key] = d.raw
			}
		}
	}
	return o.append(dst, raw, 0), o.lossy
}

// resolve follows references, and allOf of one; nil if it leads nowhere.
func (o *openAPI) resolve(raw []byte) []byte {
	for range maxSchemaDepth {
		next := []byte(nil)
		for _, m := range members(raw) {
			switch {
			case m.key == "$ref":
				next = o.defs[textOf(m.raw)]
				o.lossy = o.lossy || next == nil
			case m.key == "allOf" && len(elements(m.raw)) == 1:
				next = elements(m.raw)[0]
			}
		}
		if next == nil {
			return raw
		}
		raw = next
	}
	return nil
}

func (o *openAPI) append(dst, raw []byte, level int) []byte {
	o.nodes++
	described := description(raw)
	raw = o.resolve(raw)
	if raw == nil || level > maxSchemaDepth || o.nodes > maxSchemaNodes || raw[0] != '{' {
		o.lossy = o.lossy || raw == nil || raw[0] == '{'
		return append(dst, `{"type":"OBJECT"}`...) // anything
	}
	all := members(raw)
	kind, nullable := kindOfSchema(all)
	out := list{dst: append(dst, '{')}
	if kind != "" {
		out.text("type", strings.ToUpper(kind))
	}
	if described == nil {
		described = description(raw)
	}
	if described != nil {
		out.raw("description", described)
	}
	for _, m := range all {
		switch m.key {
		case "type", "description", "$ref", "$defs", "definitions", "$schema", "$id", "$comment", "additionalProperties":
		case "title", "pattern", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minimum",
			"maximum", "propertyOrdering", "default":
			out.raw(m.key, m.raw)
		case "exclusiveMinimum", "exclusiveMaximum":
			o.bound(&out, all, m, kind)
		case "format":
			switch f := textOf(m.raw); {
			case kind == "string" && f != "date-time" && f != "enum":
				o.lossy = true
			default:
				out.raw(m.key, m.raw)
			}
		case "enum":
			o.enum(&out, elements(m.raw), kind)
		case "const":
			if !has(all, "enum") {
				o.enum(&out, [][]byte{m.raw}, kind)
			}
		case "items":
			out.anyKey(m.key)
			out.dst = o.append(out.dst, m.raw, level+1)
		case "properties":
			o.properties(&out, m.raw, level)
		case "required":
			o.required(&out, m.raw, all)
		case "anyOf", "oneOf":
			nullable = o.anyOf(&out, all, m.raw, level) || nullable
		default: // uniqueItems, not, patternProperties, …
			o.lossy = true
		}
	}
	if kind == "array" && !has(all, "items") {
		out.raw("items", []byte(`{"type":"STRING"}`))
	}
	if nullable {
		out.raw("nullable", []byte("true"))
	}
	return append(out.dst, '}')
}

func description(raw []byte) []byte {
	for _, m := range members(raw) {
		if m.key == "description" && m.raw[0] == '"' {
			return m.raw
		}
	}
	return nil
}

// kindOfSchema is the one type of a schema, and whether null is one too.
func kindOfSchema(all []member) (kind string, nullable bool) {
	for _, m := range all {
		switch m.key {
		case "type":
			if m.raw[0] == '"' {
				kind = textOf(m.raw)
				continue
			}
			for _, e := range elements(m.raw) {
				if word := textOf(e); word == "null" {
					nullable = true
				} else if kind == "" {
					kind = word
				}
			}
		case "nullable":
			nullable = nullable || string(m.raw) == "true"
		}
	}
	if kind == "" {
		switch {
		case has(all, "properties"):
			kind = "object"
		case has(all, "items"):
			kind = "array"
		case has(all, "enum"), has(all, "const"):
			kind = "string"
		}
	}
	return kind, nullable
}

// bound writes an exclusive bound of a whole number as the next one.
func (o *openAPI) bound(out *list, all []member, m member, kind string) {
	name := strings.ToLower(strings.TrimPrefix(m.key, "exclusive"))
	n, ok := whole(m.raw)
	if kind != "integer" || !ok || has(all, name) {
		o.lossy = true
		return
	}
	if name == "minimum" {
		n++
	} else {
		n--
	}
	out.number(name, n)
}

// enum writes the values of an enum, which must be text.
func (o *openAPI) enum(out *list, values [][]byte, kind string) {
	if kind != "string" && kind != "" {
		o.lossy = true
		return
	}
	out.open("enum", '[')
	for _, v := range values {
		if string(v) == "null" || string(v) == `""` {
			continue
		}
		out.next()
		if v[0] == '"' {
			out.dst = append(out.dst, v...)
		} else {
			out.dst = jsonscan.AppendText(out.dst, v)
		}
	}
	out.close(']')
}

func (o *openAPI) properties(out *list, raw []byte, level int) {
	out.open("properties", '{')
	for _, p := range members(raw) {
		out.anyKey(p.key)
		out.dst = o.append(out.dst, p.raw, level+1)
	}
	out.close('}')
}

// required writes those of the required names that there are.
func (o *openAPI) required(out *list, raw []byte, all []member) {
	var props []member
	for _, m := range all {
		if m.key == "properties" {
			props = members(m.raw)
		}
	}
	out.open("required", '[')
	for _, e := range elements(raw) {
		if has(props, textOf(e)) {
			out.next()
			out.dst = append(out.dst, e...)
		}
	}
	out.close(']')
}

// anyOf writes alternatives but null, and says whether null is one. Of a single one the members come up.
func (o *openAPI) anyOf(out *list, outer []member, raw []byte, level int) (nullable bool) {
	var rest [][]byte
	for _, e := range elements(raw) {
		if r := members(o.resolve(e)); len(r) == 1 && r[0].key == "type" && textOf(r[0].raw) == "null" {
			nullable = true
			continue
		}
		rest = append(rest, e)
	}
	if len(rest) == 1 {
		for _, m := range members(o.append(nil, rest[0], level+1)) {
			if m.key == "nullable" {
				nullable = true
			} else if !has(outer, m.key) {
				out.raw(m.key, m.raw)
			}
		}
		return nullable
	}
	out.open("anyOf", '[')
	for _, e := range rest {
		out.next()
		out.dst = o.append(out.dst, e, level+1)
	}
	out.close(']')
	return nullable
}
