package wiretest_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// specification is the schemas of one API. Not safe for concurrent use until it was used for each root.
type specification struct {
	compiler *jsonschema.Compiler
	roots    map[string]*jsonschema.Schema
	schemas  object
	// extras are members that are said on purpose although the spec does not know them.
	extras []string
}

// newSpecification closes all objects: a member that the schema does not name is a mistake, of the encoder's mostly. extras are
// those that are none: a name, wherever it stands, or after the schema or the member that it is a member of.
func newSpecification(t testing.TB, schemas object, extras ...string) *specification {
	t.Helper()
	s := &specification{compiler: jsonschema.NewCompiler(), roots: map[string]*jsonschema.Schema{}, schemas: schemas, extras: extras}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	joined := map[string]bool{} // parts of an allOf cannot be closed
	for _, v := range schemas {
		eachJoined(v, func(ref string) { joined[strings.TrimPrefix(ref, schemasPlace)] = true })
	}
	closed := object{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		closed[name] = s.closed(name, schemas[name], joined[name])
	}
	if err := s.compiler.AddResource("spec.json", object{"components": object{"schemas": closed}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func eachJoined(v any, f func(ref string)) {
	switch v := v.(type) {
	case object:
		for _, e := range items(v, "allOf") {
			if ref := str(e, "$ref"); ref != "" {
				f(ref)
			}
		}
		for _, e := range v {
			eachJoined(e, f)
		}
	case array:
		for _, e := range v {
			eachJoined(e, f)
		}
	}
}

// closed is a schema whose objects have no members but those they name. It is the one of that name, or of a member of it.
func (s *specification) closed(name string, v any, open bool) any {
	in, ok := v.(object)
	if !ok {
		return v
	}
	out := object{}
	for k, v := range in {
		switch k {
		case "properties", "patternProperties":
			members := object{}
			for k, v := range v.(object) {
				members[k] = s.closed(k, v, false)
			}
			out[k] = members
		case "items", "additionalProperties", "not":
			out[k] = s.closed(name, v, false)
		case "anyOf":
			var list array
			for _, e := range v.(array) {
				list = append(list, s.closed(name, e, open))
			}
			if told := s.told(v.(array)); told != nil {
				out["allOf"] = append(told, items(out, "allOf")...)
			} else {
				out[k] = list
			}
		case "allOf":
			for _, e := range v.(array) {
				out[k] = append(items(out, k), s.closed(name, e, true))
			}
		default:
			out[k] = v
		}
	}
	properties, named := out["properties"].(object)
	if named {
		for _, extra := range s.extras {
			if of, member, ok := strings.Cut(extra, "."); ok && of == name {
				extra = member
			}
			if properties[extra] == nil {
				properties[extra] = true
			}
		}
	}
	if (named || in["allOf"] != nil) && !open && out["additionalProperties"] == nil {
		out["unevaluatedProperties"] = false
	}
	return out
}

// told is a union whose members are told apart by their "type", as the rule which of them must fit; nil if they are not.
func (s *specification) told(union array) array {
	var rules, all array
	for _, m := range union {
		ref := str(m, "$ref")
		kinds, required := s.kindsOf(m)
		for _, k := range kinds {
			if slices.Contains(all, k) {
				return nil
			}
		}
		if ref == "" || kinds == nil || !required {
			return nil
		}
		all = append(all, kinds...)
		is := object{"properties": object{"type": object{"enum": kinds}}, "required": array{"type"}}
		rules = append(rules, object{"if": is, "then": m})
	}
	return append(rules, object{"type": "object", "properties": object{"type": object{"enum": all}}, "required": array{"type"}})
}

// kindsOf are the words that a schema allows as "type", and whether it must be there.
func (s *specification) kindsOf(schema any) (kinds array, required bool) {
	if ref := str(schema, "$ref"); ref != "" {
		return s.kindsOf(at(s.schemas, strings.TrimPrefix(ref, schemasPlace)))
	}
	for _, part := range items(schema, "allOf") {
		more, must := s.kindsOf(part)
		kinds, required = append(kinds, more...), required || must
	}
	t := at(schema, "properties", "type")
	if ref := str(t, "$ref"); ref != "" {
		t = at(s.schemas, strings.TrimPrefix(ref, schemasPlace))
	}
	if c := at(t, "const"); c != nil {
		kinds = append(kinds, c)
	}
	return append(kinds, items(t, "enum")...), required || slices.Contains(items(schema, "required"), any("type"))
}

// check holds a JSON value against a schema by its name.
func (s *specification) check(root string, data []byte) error {
	schema := s.roots[root]
	if schema == nil {
		var err error
		if schema, err = s.compiler.Compile("spec.json#/components/schemas/" + root); err != nil {
			return err
		}
		s.roots[root] = schema
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// oneOf finds, among the schemas that a union names, the one whose member "type" is kind; empty if there is none.
func (s *specification) oneOf(union, kind string) string {
	for _, m := range items(s.schemas, union, "anyOf") {
		name := strings.TrimPrefix(str(m, "$ref"), schemasPlace)
		if kinds, _ := s.kindsOf(m); slices.Contains(kinds, any(kind)) {
			return name
		}
	}
	return ""
}

// shipped reads a file of testdata/specs.
func shipped(t testing.TB, file string) object {
	t.Helper()
	v, err := parse(read(t, filepath.Join("testdata", "specs", file)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// mismatch shows what is wrong, and where.
func mismatch(err error, data []byte) string {
	return fmt.Sprintf("%v\n%.3000s", err, data)
}
