package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/sim"
)

const scenario = `
duration: 2m
config:
  providers: { a: { type: openai, api_key: "${SOME_KEY_NOT_SET}" }, b: { type: groq, api_key: "${SOME_KEY_NOT_SET_2}" } }
  models: { chat: { targets: [a/m, b/m] } }
traffic: [{ model: chat, rate: 5/s }]
weather: [{ kind: outage, provider: a, from: 1m }]
`

// R73: the command plays a scenario in every form; the same seed prints the same bytes, and mistakes end in exit code 1 with
// their place.
func TestSimulate(t *testing.T) {
	t.Parallel()
	play := func(text string, args ...string) (out, errs string, code int, page string) {
		c := program(t, append([]string{"simulate", "s.yaml", "--html", "page.html"}, args...)...)
		if err := os.WriteFile(filepath.Join(c.Dir, "s.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		_ = c.Run() // its exit code tells
		html, _ := os.ReadFile(filepath.Join(c.Dir, "page.html"))
		return stdout.String(), stderr.String(), c.ProcessState.ExitCode(), string(html)
	}
	first, errs, code, page := play(scenario, "--json")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var r sim.Report
	if err := json.Unmarshal([]byte(first), &r); err != nil || r.Seed != 1 || r.Overall.Requests < 500 || r.Overall.Failed != 0 || r.Overall.Rescued == 0 {
		t.Errorf("%v: %+v", err, r.Overall)
	}
	again, _, _, pageAgain := play(scenario, "--format", "json")
	if first != again || page != pageAgain || !strings.HasPrefix(page, "<!doctype html>") {
		t.Error("the same seed gave two reports")
	}
	if other, _, _, _ := play(scenario, "--json", "--seed", "2"); other == first {
		t.Error("another seed gave the same report")
	}
	if table, _, _, _ := play(scenario); !strings.Contains(table, "BEST ACHIEVABLE") {
		t.Errorf("no table:\n%s", table)
	}
	out, errs, code, _ := play(strings.Replace(scenario, "weather", "wether", 1))
	if code != 1 || out != "" || !strings.Contains(errs, "s.yaml:7:1: wether: unknown key; did you mean weather?") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
