package gemini

import (
	"strings"

	"evergate/internal/jsonscan"
)

// maxSchemaDepth is how deep schemas are rewritten; what is deeper stays as it is.
const maxSchemaDepth = 32

// appendFromOpenAPI appends an OpenAPI-like schema of Google's as JSON Schema: types in lower case, nullable as a type,
// counts as numbers. What is no such schema stays as it is.
func appendFromOpenAPI(dst, raw []byte) []byte { return fromOpenAPI(dst, raw, 0) }

func fromOpenAPI(dst, raw []byte, level int) []byte {
	if raw[0] != '{' || level > maxSchemaDepth {
		return append(dst, raw...)
	}
	all := members(raw)
	nullable := false
	for _, m := range all {
		nullable = nullable || m.key == "nullable" && string(m.raw) == "true"
	}
	out := list{dst: append(dst, '{')}
	for _, m := range all {
		name := string(camel([]byte(m.key)))
		switch name {
		case "nullable", "propertyOrdering", "example":
		case "type":
			if word := strings.ToLower(textOf(m.raw)); word != "type_unspecified" && word != "" {
				out.key(name)
				out.dst = appendType(out.dst, word, nullable)
			} else if m.raw[0] == '[' { // JSON Schema already
				out.raw(name, m.raw)
			}
		case "enum":
			out.key(name)
			out.dst = appendEnum(out.dst, m.raw, nullable)
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			if n := number(m.raw); n != "" && n != "null" {
				out.raw(name, []byte(n))
			}
		case "items", "additionalProperties":
			out.key(name)
			out.dst = fromOpenAPI(out.dst, m.raw, level+1)
		case "anyOf":
			out.key(name)
			out.dst = appendAnyOf(out.dst, m.raw, nullable, level)
		case "properties":
			out.key(name)
			out.dst = appendEach(out.dst, m.raw, level)
		default:
			out.raw(name, m.raw)
		}
	}
	return append(out.dst, '}')
}

func appendType(dst []byte, word string, nullable bool) []byte {
	if !nullable || word == "null" {
		return jsonscan.AppendString(dst, word)
	}
	dst = jsonscan.AppendString(append(dst, '['), word)
	return append(dst, `,"null"]`...)
}

func appendEnum(dst, raw []byte, nullable bool) []byte {
	if !nullable || raw[0] != '[' || len(elements(raw)) == 0 {
		return append(dst, raw...)
	}
	dst = append(dst, strings.TrimRight(string(raw[:len(raw)-1]), " \t\r\n")...)
	return append(dst, ",null]"...)
}

func appendAnyOf(dst, raw []byte, nullable bool, level int) []byte {
	if raw[0] != '[' {
		return append(dst, raw...)
	}
	out := list{dst: append(dst, '[')}
	for _, e := range elements(raw) {
		out.next()
		out.dst = fromOpenAPI(out.dst, e, level+1)
	}
	if nullable {
		out.next()
		out.dst = append(out.dst, `{"type":"null"}`...)
	}
	return append(out.dst, ']')
}

func appendEach(dst, raw []byte, level int) []byte {
	if raw[0] != '{' {
		return append(dst, raw...)
	}
	out := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		out.anyKey(m.key)
		out.dst = fromOpenAPI(out.dst, m.raw, level+1)
	}
	return append(out.dst, '}')
}
