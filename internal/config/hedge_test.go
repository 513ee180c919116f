package config

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/route"
)

// R70, R71: what a model's hedge and resume say, and what is not said.
func TestHedgeAndResume(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		say    string
		hedge  route.Hedge
		resume bool
		wrong  string
	}{
		{"", route.Hedge{Max: 1, Budget: 0.05}, false, ""},
		{"hedge: {after: auto}", route.Hedge{Max: 1, Budget: 0.05}, false, ""},
		{"hedge: {max: 0}", route.Hedge{Budget: 0.05}, false, ""},
		{"hedge: {after: 800ms, budget: 0}", route.Hedge{Max: 1, After: 800 * time.Millisecond}, false, ""},
		{"hedge: {after: p99, max: 2}", route.Hedge{Max: 2, Percentile: 99, Budget: 0.05}, false, ""},
		{"resume: continue", route.Hedge{Max: 1, Budget: 0.05}, true, ""},
		{"resume: off", route.Hedge{Max: 1, Budget: 0.05}, false, ""},
		{"resume: on", route.Hedge{}, false, "must be off or continue"},
		{"hedge: {after: 10}", route.Hedge{}, false, "has no unit"},
		{"hedge: {after: p100}", route.Hedge{}, false, "p50 to p99"},
		{"hedge: {after: soon}", route.Hedge{}, false, "must be auto"},
		{"hedge: {after: 0s}", route.Hedge{}, false, "too short"},
		{"hedge: {budget: 2}", route.Hedge{}, false, "budget"},
	} {
		t.Run(c.say, func(t *testing.T) {
			t.Parallel()
			text := "providers: {p: {type: openai, api_key: k}}\nmodels: {m: {targets: [p/x], " + c.say + "}}\n"
			cfg, err := Parse("f.yaml", []byte(text), func(string) (string, bool) { return "", false })
			switch {
			case c.wrong != "":
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v, want %q", err, c.wrong)
				}
			case err != nil:
				t.Error(err)
			default:
				if v := cfg.Table.Virtual["m"]; v.Hedge != c.hedge || v.Resume != c.resume {
					t.Errorf("%+v, %t", v.Hedge, v.Resume)
				}
			}
		})
	}
}
