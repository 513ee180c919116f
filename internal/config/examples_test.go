package config

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Every example loads without a doubt once its variables are set.
func TestExamples(t *testing.T) {
	t.Parallel()
	env := lookup(map[string]string{"OPENAI_API_KEY": "a", "GROQ_API_KEY": "b", "MISTRAL_API_KEY": "c", "OPENAI_KEY_2": "d", "CI_KEY": "e", "DEV_KEY": "f", "ANTHROPIC_API_KEY": "g", "GEMINI_API_KEY": "h", "AZURE_OPENAI_API_KEY": "i", "BEDROCK_API_KEY": "j"})
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, f := range files {
		c, err := Load(f, env)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if len(c.Warnings) > 0 {
			t.Errorf("%s: %v", f, c.Warnings)
		}
	}
}

// The schema beside the examples, which editors read, is the one of this version.
func TestExampleSchema(t *testing.T) {
	t.Parallel()
	const file = "../../examples/evergate.schema.json"
	if *update {
		if err := os.WriteFile(file, Schema(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, Schema()) {
		t.Errorf("%s is out of date; run the tests of this package with -update", file)
	}
}
