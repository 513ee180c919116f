package show_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"evergate/internal/config"
	"evergate/internal/sim"
	"evergate/internal/sim/show"
	"evergate/internal/testkit"
)

// play plays a scenario as the program does.
func play(s *config.Scenario) *sim.Report {
	r := sim.New(&s.Scenario, func(stream uint64) func() float64 { return rand.New(rand.NewPCG(s.Seed, stream)).Float64 }).Finish()
	r.Seed = s.Seed
	return r
}

func example(t *testing.T, file string) *config.Scenario {
	t.Helper()
	s, err := config.LoadScenario(file, "", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Config.Warnings) > 0 {
		t.Errorf("warnings: %v", s.Config.Warnings)
	}
	return s
}

func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../examples/scenarios/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d example scenarios, want 8 at least (%v)", len(files), err)
	}
	return files
}

// R73: what each example scenario shows.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, file := range examples(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := show.Table(&out, play(example(t, file))); err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, name+".txt", out.Bytes())
		})
	}
}
