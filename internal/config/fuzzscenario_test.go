package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever somebody sends to be simulated: no panic; a scenario that can be played, or problems with words.
func FuzzParseScenarioText(f *testing.F) {
	files, err := filepath.Glob("../../examples/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("config: nowhere.yaml"))
	f.Add([]byte("duration: 1h\nclients: [{ model: m, rate: 1e308 }]"))
	c, err := Parse("c.yaml", []byte("providers: { openai: { type: openai, api_key: sk-1, models: [m] } }"), lookup(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScenarioText(data, c)
		if err == nil && (s == nil || s.Config == nil) {
			t.Fatalf("%q: half a scenario: %+v", data, s)
		}
		if err != nil && err.Error() == "" {
			t.Fatalf("%q: a problem without words", data)
		}
	})
}
