package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the file holds: no panic; either a config or problems; every problem has a message and, in the file, a place.
func FuzzParse(f *testing.F) {
	for _, glob := range []string{"testdata/problems/*.yaml", "testdata/*.yaml", "../../examples/*.yaml"} {
		files, err := filepath.Glob(glob)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(allKeys))
	f.Add([]byte("? [a]\n: b"))
	f.Add([]byte("a: &x [*x]"))
	f.Add([]byte("\xff\xfe"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f.yaml", data, lookup(map[string]string{"A": "x", "EMPTY": ""}))
		if err == nil {
			if c == nil || len(c.Providers) == 0 || len(c.Providers) != len(c.Table.Providers) {
				t.Fatalf("an incomplete config: %+v", c)
			}
			if _, err := json.Marshal(c); err != nil {
				t.Fatal(err)
			}
			_ = c.Effective()
			return
		}
		var problems Problems
		if !errors.As(err, &problems) || len(problems) == 0 || c != nil {
			t.Fatalf("Parse = %v, %v", c, err)
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		for _, p := range problems {
			if p.Message == "" || p.File != "f.yaml" || p.Line < 1 || p.Column < 1 || p.Line > lines+1 {
				t.Fatalf("a problem without a place: %+v (of %d lines)", p, lines)
			}
		}
	})
}
