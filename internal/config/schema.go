package config

import (
	"encoding/json"
	"maps"
)

// Schema is the JSON Schema (draft 2020-12) of the configuration file, for editors. It comes from the same shapes that
// read the file.
func Schema() []byte {
	s := &schemas{defs: map[string]any{}, defaults: defaults()}
	root := fileShape().schema(s)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "evergate.yaml"
	root["$defs"] = s.defs
	out, _ := json.MarshalIndent(root, "", "  ") // maps of plain values always encode
	return append(out, '\n')
}

// schemas collects the definitions while the schema is made.
type schemas struct {
	defs map[string]any
	// defaults are the built-in values by definition and key, such as retry.max_retries.
	defaults map[string]string
}

// define puts an object among the definitions, once, and refers to it.
func (s *schemas) define(name string, make func() map[string]any) map[string]any {
	if _, done := s.defs[name]; !done {
		s.defs[name] = true // stands in while its parts are made
		s.defs[name] = make()
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// describe adds a description, which names the built-in value where there is one, to a schema that others may share.
func (s *schemas) describe(schema map[string]any, key, doc string) map[string]any {
	out := maps.Clone(schema)
	if d, ok := s.defaults[key]; ok {
		doc += " Default: " + d + "."
	}
	out["description"] = doc
	return out
}
