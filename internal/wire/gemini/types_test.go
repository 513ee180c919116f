package gemini

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// checkType checks every member of a text against the API's description: its name, its kind, and the words of enums.
func checkType(t testing.TB, name string, text []byte) {
	t.Helper()
	types := map[string]map[string]string{}
	if err := json.Unmarshal(read(t, "types.json"), &types); err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	checkValue(t, types, name, "$", value)
}

func checkValue(t testing.TB, types map[string]map[string]string, kind, path string, value any) {
	t.Helper()
	bad := func() { t.Errorf("%s: %v is no %s", path, value, kind) }
	if element, ok := strings.CutPrefix(kind, "[]"); ok {
		all, ok := value.([]any)
		if !ok {
			bad()
		}
		for _, e := range all {
			checkValue(t, types, element, path+"[]", e)
		}
		return
	}
	if words, ok := strings.CutPrefix(kind, "enum:"); ok {
		if word, _ := value.(string); !slices.Contains(strings.Split(words, "|"), word) {
			bad()
		}
		return
	}
	switch kind {
	case "any", "null":
	case "string":
		if _, ok := value.(string); !ok {
			if _, ok := value.(float64); !ok || !strings.Contains(path, ".m") { // counts of schemas are text on the wire
				bad()
			}
		}
	case "number", "integer":
		if _, ok := value.(float64); !ok {
			bad()
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			bad()
		}
	case "object":
		if _, ok := value.(map[string]any); !ok {
			bad()
		}
	default:
		fields, ok := types[kind]
		if !ok {
			t.Fatalf("%s: the type %s is not described", path, kind)
		}
		object, ok := value.(map[string]any)
		if !ok {
			bad()
		}
		for key, v := range object {
			if fields[key] == "" {
				t.Errorf("%s: %s has no member %q", path, kind, key)
				continue
			}
			checkValue(t, types, fields[key], path+"."+key, v)
		}
	}
}
