package anthropic

import (
	"slices"

	"evergate/internal/jsonscan"
)

// strictSchema is a schema as the dialect takes it where the model is held to it: every object says that it has no
// other members, and the keywords that are refused are left out and named. A schema that is in order already is given
// back as it is, byte for byte.
func strictSchema(schema []byte) (out []byte, lost []string) {
	s := schemaWriter{}
	out = s.append(make([]byte, 0, len(schema)+64), schema)
	if !s.changed {
		return schema, nil
	}
	return out, s.lost
}

// isStrict says that strictSchema has nothing to change.
func isStrict(schema []byte) bool {
	s := schemaWriter{}
	s.append(nil, schema)
	return !s.changed
}

type schemaWriter struct {
	changed bool
	lost    []string
}

func (s *schemaWriter) lose(keyword string) {
	s.changed = true
	if name := "schema." + keyword; !slices.Contains(s.lost, name) {
		s.lost = append(s.lost, name)
	}
}

// append appends one schema; true and false, and what is no schema at all, go as they are.
func (s *schemaWriter) append(dst, raw []byte) []byte {
	list := membersOf(raw)
	if list == nil {
		return append(dst, raw...)
	}
	object := string(valueOf(list, "type")) == `"object"` || valueOf(list, "properties") != nil
	dst = append(dst, '{')
	empty := true
	for _, m := range list {
		from := len(dst)
		if !empty {
			dst = append(dst, ',')
		}
		name := m.key
		if name == "oneOf" { // the dialect knows its weaker sister alone
			name = "anyOf"
			s.changed = true
		}
		dst = jsonscan.AppendString(dst, name)
		dst = append(dst, ':')
		switch m.key {
		case "properties", "$defs", "definitions":
			dst = s.appendEach(dst, m.raw)
		case "items", "anyOf", "oneOf", "allOf":
			dst = s.appendAny(dst, m.raw)
		case "additionalProperties":
			if string(m.raw) != "false" {
				s.lose(m.key)
				dst = append(dst, "false"...)
			} else {
				dst = append(dst, m.raw...)
			}
		default:
			if !keeps(m) {
				s.lose(m.key)
				dst = dst[:from]
				continue
			}
			dst = append(dst, m.raw...)
		}
		empty = false
	}
	if object && valueOf(list, "additionalProperties") == nil {
		s.changed = true
		if !empty {
			dst = append(dst, ',')
		}
		dst = append(dst, `"additionalProperties":false`...)
	}
	return append(dst, '}')
}

// appendEach appends an object of schemas.
func (s *schemaWriter) appendEach(dst, raw []byte) []byte {
	list := membersOf(raw)
	if list == nil {
		return append(dst, raw...)
	}
	dst = append(dst, '{')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonscan.AppendString(dst, m.key)
		dst = append(dst, ':')
		dst = s.append(dst, m.raw)
	}
	return append(dst, '}')
}

// appendAny appends a schema or an array of schemas.
func (s *schemaWriter) appendAny(dst, raw []byte) []byte {
	r := jsonscan.New(raw)
	if r.Kind() != jsonscan.Array {
		return s.append(dst, raw)
	}
	r.Array()
	dst = append(dst, '[')
	for i := 0; r.Elem(); i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.append(dst, r.Raw())
	}
	return append(dst, ']')
}

// keeps says whether a keyword that holds no schema is taken: numbers' and strings' bounds are not, and of arrays' only
// minItems of 0 and 1.
func keeps(m member) bool {
	switch m.key {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems",
		"minProperties", "maxProperties", "patternProperties", "propertyNames", "unevaluatedProperties",
		"dependentRequired", "dependentSchemas", "if", "then", "else", "not":
		return false
	case "minItems":
		return string(m.raw) == "0" || string(m.raw) == "1"
	case "format":
		switch textOf(m.raw) {
		case "date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid":
			return true
		}
		return false
	}
	return true
}
