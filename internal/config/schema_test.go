package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("evergate.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("evergate.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document is a YAML text as the JSON value that an editor validates.
func document(t *testing.T, text string) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// What the reader takes, the schema takes: every example, the worked example, and a file with every key.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	texts := map[string]string{"all keys": allKeys}
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, f := range append(files, "testdata/worked-example.yaml") {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[f] = string(data)
	}
	for name, text := range texts {
		if err := s.Validate(document(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the reader refuses for its keys, types or words, an editor marks too.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, name := range []string{"unknown-key", "wrong-types", "numbers", "words", "not-built-yet", "classify", "keys", "not-a-mapping"} {
		data, err := os.ReadFile("testdata/problems/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		if name == "keys" {
			data = []byte("providers: { o: { type: openai, keys: [ { nme: a, value: b } ] } }")
		}
		text := strings.ReplaceAll(string(data), ".inf", "99") // which JSON cannot say
		if err := s.Validate(document(t, text)); err == nil {
			t.Errorf("%s: the schema finds nothing wrong", name)
		}
	}
	for _, text := range []string{
		"servers: {}", "providers: { o: { type: nonesuch } }", "providers: { o: { resilience: { retry: { max_retries: 101 } } } }",
		"timeouts: { idle: 30 }", "timeouts: { idle: soon }", "models: { m: { targets: [ { target: a/b, weigt: 1 } ] } }",
		"log: { bodies: maybe }", "log: { redact: [7] }", "policies: { p: { training: maybe } }", "detect: 1", "providers: { o: { byok: maybe } }",
		"models: { m: { targets: [ { target: a/b, params: { model: x } } ] } }",
	} {
		if err := s.Validate(document(t, text)); err == nil {
			t.Errorf("%s: the schema finds nothing wrong", text)
		}
	}
}

// The schema says what each key is for and what it is without being set.
func TestSchemaDescribes(t *testing.T) {
	t.Parallel()
	var doc struct {
		Schema string `json:"$schema"`
		Defs   map[string]struct {
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema = %s", doc.Schema)
	}
	for def, d := range doc.Defs {
		for key, p := range d.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", def, key)
			}
		}
	}
	for at, want := range map[[2]string]string{
		{"retry", "max_retries"}: "Default: 3.", {"circuit_breaker", "timeout"}: "Default: 30s.", {"timeouts", "stream_total"}: "Default: 0.",
		{"server", "listen"}: "Default: 127.0.0.1:8080.", {"resilience", "when_all_blocked"}: "Default: try_all.",
	} {
		if got := doc.Defs[at[0]].Properties[at[1]].Description; !strings.HasSuffix(got, want) {
			t.Errorf("%v: %q, want %q at its end", at, got, want)
		}
	}
	if !bytes.Equal(Schema(), Schema()) {
		t.Error("two schemas differ")
	}
}
