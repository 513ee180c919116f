package wiretest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evergate/internal/testkit"
)

// specsFolder is the environment variable that names a folder with the whole specs, which are too large, or not ours, to
// ship; testdata/specs/README.md says which files it must hold.
const specsFolder = "EVERGATE_SPECS"

// wholeSpec reads one of them; the test is skipped, loudly, where there are none.
func wholeSpec(t testing.TB, file string) object {
	t.Helper()
	dir := os.Getenv(specsFolder)
	if dir == "" {
		t.Skipf("SKIPPED: nothing was validated against %s; set %s to a folder that has it (testdata/specs/README.md)", file, specsFolder)
	}
	data := read(t, filepath.Join(dir, file))
	if strings.HasSuffix(file, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	v, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What is shipped of the specs is what trimming the whole ones gives. With UPDATE_GOLDEN=1 it is written.
func TestSpecsAreTrimmed(t *testing.T) {
	t.Parallel()
	for file, trimmed := range map[string]func(t *testing.T) any{
		"openai.json": func(t *testing.T) any {
			return object{"components": object{"schemas": trimOpenAPI(wholeSpec(t, "openai.openapi.json.gz"), openAIRoots()...)}}
		},
		"bedrock.json": func(t *testing.T) any {
			return object{"shapes": trimShapes(wholeSpec(t, "bedrock-runtime.api-2.json"), "ConverseRequest")}
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			e := json.NewEncoder(&out)
			e.SetEscapeHTML(false)
			e.SetIndent("", " ")
			if err := e.Encode(trimmed(t)); err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, filepath.Join("specs", file), out.Bytes())
		})
	}
}

// openAIRoots are what of the OpenAI API is said here.
func openAIRoots() []string {
	return []string{
		"CreateChatCompletionRequest", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", "CreateResponse", "Response",
		"ResponseStreamEvent", "CreateEmbeddingRequest", "CreateEmbeddingResponse", "ErrorResponse",
	}
}

const schemasPlace = "#/components/schemas/"

// trimOpenAPI takes the schemas of an OpenAPI document that the roots need, as plain JSON Schemas.
func trimOpenAPI(whole object, roots ...string) object {
	all := at(whole, "components", "schemas").(object)
	out := object{}
	for todo := slices.Clone(roots); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if out[name] != nil {
			continue
		}
		s := plainSchema(name, all[name])
		out[name] = s
		eachRef(s, func(ref string) { todo = append(todo, strings.TrimPrefix(ref, schemasPlace)) })
	}
	return out
}

func eachRef(v any, f func(ref string)) {
	switch v := v.(type) {
	case object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if ref, ok := v[k].(string); ok && k == "$ref" {
				f(ref)
			} else {
				eachRef(v[k], f)
			}
		}
	case array:
		for _, e := range v {
			eachRef(e, f)
		}
	}
}

// plainSchema turns a schema of OpenAPI into one of JSON Schema, without what is for people. A oneOf becomes an anyOf: OpenAPI
// tells its members apart by their discriminator, and to a validator that looks at shapes alone several may fit.
func plainSchema(name string, v any) any {
	s, ok := v.(object)
	if !ok {
		return v // true or false
	}
	out := object{}
	for k, v := range s {
		switch k {
		case "type", "enum", "const", "required", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "$ref",
			"maxProperties", "minProperties", "exclusiveMinimum", "exclusiveMaximum", "pattern":
			out[k] = v
		case "items", "additionalProperties", "propertyNames", "not":
			out[k] = plainSchema(name, v)
		case "oneOf", "anyOf", "allOf":
			var list array
			for _, e := range v.(array) {
				list = append(list, plainSchema(name, e))
			}
			if k == "oneOf" {
				k = "anyOf"
			}
			out[k] = list
		case "properties", "patternProperties":
			members := object{}
			for k, v := range v.(object) {
				members[k] = plainSchema(name, v)
			}
			out[k] = members
		case "$recursiveRef":
			out["$ref"] = schemasPlace + name
		}
	}
	if s["format"] == "int64" && s["type"] == "string" { // protobuf's JSON takes both
		out["type"] = array{"string", "integer"}
	}
	if s["nullable"] == true {
		return object{"anyOf": array{out, object{"type": "null"}}}
	}
	return out
}

// trimShapes takes the shapes of one of AWS's service models that the roots need.
func trimShapes(whole object, roots ...string) object {
	all := at(whole, "shapes").(object)
	out := object{}
	for todo := slices.Clone(roots); len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if out[name] != nil {
			continue
		}
		shape := maps.Clone(all[name].(object))
		delete(shape, "documentation")
		out[name] = shape
		members, _ := shape["members"].(object)
		for _, m := range []any{shape["member"], shape["key"], shape["value"]} {
			if ref := str(m, "shape"); ref != "" {
				todo = append(todo, ref)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(members)) {
			todo = append(todo, str(members[k], "shape"))
		}
	}
	return out
}

func TestPlainSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"words for people":         {`{"type":"string","description":"d","title":"t","x-a":1}`, `{"type":"string"}`},
		"members called like them": {`{"properties":{"title":{"type":"string","title":"t"},"description":{}}}`, `{"properties":{"title":{"type":"string"},"description":{}}}`},
		"nullable":                 {`{"type":"string","nullable":true}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		"discriminated":            {`{"oneOf":[{"$ref":"#/components/schemas/A"}],"discriminator":{}}`, `{"anyOf":[{"$ref":"#/components/schemas/A"}]}`},
		"itself":                   {`{"items":{"$recursiveRef":"#"}}`, `{"items":{"$ref":"#/components/schemas/Self"}}`},
		"long numbers":             {`{"type":"string","format":"int64"}`, `{"type":["string","integer"]}`},
		"anything":                 {`{"additionalProperties":true}`, `{"additionalProperties":true}`},
	} {
		var in, want any
		if err := json.Unmarshal([]byte(c.in), &in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if got := plainSchema("Self", in); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
