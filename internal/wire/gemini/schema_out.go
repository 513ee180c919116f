package gemini

import (
	"bytes"
	"strings"

	"evergate/internal/jsonscan"
)

// appendJSONSchema appends a JSON Schema for parametersJsonSchema or responseJsonSchema. Google takes all of JSON Schema
// there but honours a part of it; what it would overlook or refuse is said in words that it knows: const as an enum of
// one, definitions as $defs, an allOf of one as that one, nothing beside a $ref; $schema is left out. A schema without
// any of these keeps its bytes.
func appendJSONSchema(dst, raw []byte) []byte {
	for _, word := range [...]string{`"$schema"`, `"const"`, `"definitions"`, `"$ref"`, `"allOf"`} {
		if bytes.Contains(raw, []byte(word)) {
			return known(dst, raw, 0)
		}
	}
	return append(dst, raw...)
}

// appendParameters is appendJSONSchema for the parameters of a function, which must be an object's.
func appendParameters(dst, raw []byte) []byte {
	if raw[0] == '{' {
		typed := false
		for _, m := range members(raw) {
			switch m.key {
			case "type", "$ref", "anyOf", "oneOf", "allOf":
				typed = true
			}
		}
		if !typed {
			with := append([]byte(`{"type":"object"`), ',')
			if rest := bytes.TrimSpace(raw[1:]); rest[0] == '}' {
				with = append(with, `"properties":{}`...)
			}
			raw = append(with, raw[1:]...)
		}
	}
	return appendJSONSchema(dst, raw)
}

func known(dst, raw []byte, level int) []byte {
	if len(raw) == 0 || raw[0] != '{' || level > maxSchemaDepth {
		return append(dst, raw...)
	}
	all := members(raw)
	ref := false
	for _, m := range all {
		ref = ref || m.key == "$ref" && m.raw[0] == '"'
	}
	out := list{dst: append(dst, '{')}
	for _, m := range all {
		switch {
		case m.key == "$schema":
		case m.key == "definitions" && m.raw[0] == '{':
			out.key("$defs")
			out.dst = knownEach(out.dst, m.raw, level)
		case m.key == "$ref":
			out.key("$ref")
			out.dst = jsonscan.AppendString(out.dst, strings.Replace(textOf(m.raw), "#/definitions/", "#/$defs/", 1))
		case ref && !strings.HasPrefix(m.key, "$"):
		case m.key == "const":
			if !has(all, "enum") {
				out.key("enum")
				out.dst = append(append(append(out.dst, '['), m.raw...), ']')
			}
		case m.key == "allOf" && len(elements(m.raw)) == 1 && onlyWords(all):
			inner := known(nil, elements(m.raw)[0], level+1)
			for _, n := range members(inner) {
				if n.key == "$ref" || !has(all, n.key) {
					out.anyKey(n.key)
					out.dst = append(out.dst, n.raw...)
				}
			}
		case m.key == "properties" || m.key == "$defs" || m.key == "patternProperties":
			out.anyKey(m.key)
			out.dst = knownEach(out.dst, m.raw, level)
		case m.key == "anyOf" || m.key == "oneOf" || m.key == "allOf" || m.key == "prefixItems":
			out.anyKey(m.key)
			out.dst = knownList(out.dst, m.raw, level)
		case m.key == "items" || m.key == "additionalProperties" || m.key == "not":
			out.anyKey(m.key)
			out.dst = known(out.dst, m.raw, level+1)
		default:
			if wrapsRef(all) && words(m.key) {
				continue // nothing may stand beside the $ref that is pulled up
			}
			out.anyKey(m.key)
			out.dst = append(out.dst, m.raw...)
		}
	}
	return append(out.dst, '}')
}

// onlyWords says that nothing stands beside an allOf but words for people.
func onlyWords(all []member) bool {
	for _, m := range all {
		if m.key != "allOf" && !words(m.key) {
			return false
		}
	}
	return true
}

func words(key string) bool {
	return key == "description" || key == "title" || key == "default" || key == "examples"
}

// wrapsRef says that a schema is an allOf of one $ref with words beside it.
func wrapsRef(all []member) bool {
	for _, m := range all {
		if m.key != "allOf" {
			continue
		}
		inner := elements(m.raw)
		return len(inner) == 1 && onlyWords(all) && has(members(inner[0]), "$ref")
	}
	return false
}

func has(all []member, key string) bool {
	for _, m := range all {
		if m.key == key {
			return true
		}
	}
	return false
}

func knownEach(dst, raw []byte, level int) []byte {
	if raw[0] != '{' {
		return append(dst, raw...)
	}
	out := list{dst: append(dst, '{')}
	for _, m := range members(raw) {
		out.anyKey(m.key)
		out.dst = known(out.dst, m.raw, level+1)
	}
	return append(out.dst, '}')
}

func knownList(dst, raw []byte, level int) []byte {
	if raw[0] != '[' {
		return append(dst, raw...)
	}
	out := list{dst: append(dst, '[')}
	for _, e := range elements(raw) {
		out.next()
		out.dst = known(out.dst, e, level+1)
	}
	return append(out.dst, ']')
}
