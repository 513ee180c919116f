package mock

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxDepth ends the examples of schemas that contain themselves.
const maxDepth = 8

// schema is the part of JSON Schema that examples are made from.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	MinItems   *int                       `json:"minItems"`
	MinLength  int                        `json:"minLength"`
	MaxLength  *int                       `json:"maxLength"`
	Minimum    json.RawMessage            `json:"minimum"`
	Maximum    json.RawMessage            `json:"maximum"`
	Format     string                     `json:"format"`
	Ref        string                     `json:"$ref"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
}

// exampleOf is a value that fits a simple schema, required properties only; {} where there is no schema. It is the
// same for the same schema.
func exampleOf(raw json.RawMessage) json.RawMessage {
	return example{root: raw}.at(raw, "object", 0)
}

type example struct{ root json.RawMessage }

func (x example) at(raw json.RawMessage, fallback string, depth int) json.RawMessage {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		s = schema{}
	}
	switch {
	case len(s.Const) > 0:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case depth > maxDepth:
		return json.RawMessage("null")
	case s.Ref != "":
		return x.at(x.resolve(s.Ref), fallback, depth+1)
	}
	for _, alternatives := range [][]json.RawMessage{s.AnyOf, s.OneOf, s.AllOf} {
		if len(alternatives) > 0 && s.Properties == nil {
			return x.at(alternatives[0], fallback, depth+1)
		}
	}
	switch s.typeName(fallback) {
	case "object":
		out := map[string]json.RawMessage{}
		for _, name := range s.Required {
			out[name] = x.at(s.Properties[name], "string", depth+1)
		}
		return encode(out)
	case "array":
		n := 1
		if s.MinItems != nil {
			n = min(*s.MinItems, 16)
		}
		return encode(slices.Repeat([]json.RawMessage{x.at(s.Items, "string", depth+1)}, n))
	case "integer", "number":
		return s.number()
	case "boolean":
		return json.RawMessage("true")
	case "null":
		return json.RawMessage("null")
	default:
		return encode(s.text())
	}
}

// number is 1, or the bound that forbids it.
func (s *schema) number() json.RawMessage {
	var low, high float64
	if json.Unmarshal(s.Minimum, &low) == nil && low > 1 {
		return s.Minimum
	}
	if json.Unmarshal(s.Maximum, &high) == nil && high < 1 {
		return s.Maximum
	}
	return json.RawMessage("1")
}

func (s *schema) text() string {
	text := "example"
	switch s.Format {
	case "date":
		text = "2025-01-01"
	case "date-time":
		text = "2025-01-01T00:00:00Z"
	case "email":
		text = "someone@example.com"
	case "uri":
		text = "https://example.com/"
	case "uuid":
		text = "00000000-0000-4000-8000-000000000001"
	}
	if len(text) < s.MinLength {
		text += strings.Repeat("e", min(s.MinLength, 4096)-len(text))
	}
	if s.MaxLength != nil && *s.MaxLength >= 0 && len(text) > *s.MaxLength {
		text = text[:*s.MaxLength]
	}
	return text
}

// resolve follows a reference inside the document, such as #/$defs/city.
func (x example) resolve(ref string) json.RawMessage {
	at := x.root
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for name := range strings.SplitSeq(path, "/") {
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return at
}

// typeName is the type in small letters, the first of several, or what can be told without one.
func (s *schema) typeName(fallback string) string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		return strings.ToLower(one)
	}
	var many []string
	if json.Unmarshal(s.Type, &many) == nil && len(many) > 0 {
		return strings.ToLower(many[0])
	}
	if s.Properties != nil {
		return "object"
	}
	return fallback
}

// encode writes JSON as real providers do, without escapes for HTML.
func encode(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: mock answer does not encode: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
