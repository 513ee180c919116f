// Package openapi checks replies against an OpenAPI document, for tests.
package openapi

import (
	"bytes"
	"mime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI document. It is safe for concurrent use.
type Document struct {
	root     map[string]any
	mu       sync.Mutex // the compiler is for one at a time
	compiler *jsonschema.Compiler
}

const url = "https://evergate.test/openapi.json"

// Load reads a document in YAML.
func Load(t testing.TB, text []byte) *Document {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	d := &Document{compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(url, tree); err != nil {
		t.Fatal(err)
	}
	d.root = tree.(map[string]any)
	return d
}

// Operation is one method of one path.
type Operation struct {
	Method, Path string
	Query        []string // the names of its parameters
}

//nolint:gochecknoglobals // a table
var methods = map[string]bool{"get": true, "post": true, "patch": true, "put": true, "delete": true}

// Operations are all of them.
func (d *Document) Operations() (out []Operation) {
	for path, item := range d.object("paths") {
		all := item.(map[string]any)
		shared, _ := all["parameters"].([]any)
		for method, op := range all {
			if !methods[method] {
				continue
			}
			o := Operation{Method: strings.ToUpper(method), Path: path}
			parameters, _ := op.(map[string]any)["parameters"].([]any)
			for _, p := range append(parameters, shared...) {
				one := d.follow(p)
				if one["in"] == "query" {
					o.Query = append(o.Query, one["name"].(string))
				}
			}
			out = append(out, o)
		}
	}
	return out
}

func (d *Document) object(path ...string) map[string]any {
	at := d.root
	for _, p := range path {
		next, ok := at[p].(map[string]any)
		if !ok {
			return nil
		}
		at = next
	}
	return at
}

// follow resolves a reference.
func (d *Document) follow(v any) map[string]any {
	m, _ := v.(map[string]any)
	ref, ok := m["$ref"].(string)
	if !ok {
		return m
	}
	return d.object(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

// Check says by an error of the test where a reply is not as the document has it. path is as in the document.
func (d *Document) Check(t testing.TB, method, path string, status int, contentType string, body []byte) {
	t.Helper()
	responses := d.object("paths", path, strings.ToLower(method), "responses")
	if responses == nil {
		t.Errorf("%s %s is not in the document", method, path)
		return
	}
	at := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	found, ok := responses[at[4]]
	if !ok {
		if at[4] = "default"; status < 400 || responses["default"] == nil {
			t.Errorf("%s %s: the document has no answer of status %d", method, path, status)
			return
		}
		found = responses["default"]
	}
	if ref, ok := found.(map[string]any)["$ref"].(string); ok {
		at = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	}
	kind, _, _ := mime.ParseMediaType(contentType)
	content, ok := d.object(at...)["content"].(map[string]any)
	if _, has := content[kind]; !ok || !has {
		t.Errorf("%s %s, status %d: the document has no body of type %q", method, path, status, kind)
		return
	}
	if kind != "application/json" {
		return
	}
	d.validate(t, method+" "+path, append(at, "content", kind, "schema"), body)
}

// CheckSchema checks a JSON text by one of the document's schemas.
func (d *Document) CheckSchema(t testing.TB, name string, text []byte) {
	t.Helper()
	d.validate(t, name, []string{"components", "schemas", name}, text)
}

func (d *Document) validate(t testing.TB, what string, at []string, text []byte) {
	t.Helper()
	pointer := url + "#"
	for _, part := range at {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(part)
	}
	d.mu.Lock()
	schema, err := d.compiler.Compile(pointer)
	d.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v: %.300s", what, err, text)
		return
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v\n%.2000s", what, err, text)
	}
}

// Sound says where the document itself is not: what has no value, references that lead nowhere, operations that lack a part.
func (d *Document) Sound(t testing.TB) {
	t.Helper()
	d.walk(t, "", d.root)
	seen := map[any]bool{}
	for path, item := range d.object("paths") {
		for method, op := range item.(map[string]any) {
			if !methods[method] {
				continue
			}
			o := op.(map[string]any)
			if seen[o["operationId"]] || o["operationId"] == nil || o["summary"] == nil || o["responses"] == nil {
				t.Errorf("%s %s needs an operationId of its own, a summary and responses", method, path)
			}
			seen[o["operationId"]] = true
		}
	}
	for name := range d.object("components", "schemas") {
		if _, err := d.compiler.Compile(url + "#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

func (d *Document) walk(t testing.TB, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok && d.follow(v) == nil {
			t.Errorf("%s: %s leads nowhere", at, ref)
		}
		for k, child := range v {
			d.walk(t, at+"/"+k, child)
		}
	case []any:
		for _, child := range v {
			d.walk(t, at, child)
		}
	case nil:
		t.Errorf("%s has no value: is there a comma in a text without quotes?", at)
	}
}
