package config

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/probing"
)

// R75: what a provider's probe says, what it comes to, and what cannot be.
func TestProbe(t *testing.T) {
	t.Parallel()
	const (
		openai = "type: openai, api_key: k"
		listed = openai + ", models: [a, b]"
		azure  = `type: azure-openai, base_url: "https://it.openai.azure.com", api_key: k`
		models = "resilience: {circuit_breaker: {scope: model}}"
	)
	for _, c := range []struct {
		name, say string
		want      probing.Settings
		wrong     string
	}{
		{"nothing said", openai, probing.Settings{}, ""},
		{"nothing in it", openai + ", probe: {}", probing.Settings{}, ""},
		{"off", openai + ", probe: off", probing.Settings{}, ""},
		{"off, with an interval", openai + ", probe: {kind: off, interval: 5s}", probing.Settings{}, ""},
		{"off in YAML 1.1", openai + ", probe: false", probing.Settings{}, ""},
		{"a word", openai + ", probe: models", probing.Settings{Kind: probing.Models, Interval: 10 * time.Second}, ""},
		{"an interval", openai + ", probe: {kind: models, interval: 1m}", probing.Settings{Kind: probing.Models, Interval: time.Minute}, ""},
		{"the first listed model", listed + ", probe: completion", probing.Settings{Kind: probing.Completion, Interval: 10 * time.Second, Model: "a"}, ""},
		{"a model", openai + ", probe: {kind: completion, model: c}", probing.Settings{Kind: probing.Completion, Interval: 10 * time.Second, Model: "c"}, ""},
		{"the model whose breaker it is", openai + ", probe: completion, " + models, probing.Settings{Kind: probing.Completion, Interval: 10 * time.Second}, ""},
		{"a deployment", azure + ", probe: {kind: completion, model: mine}", probing.Settings{Kind: probing.Completion, Interval: 10 * time.Second, Model: "mine"}, ""},

		{"another word", openai + ", probe: on", probing.Settings{}, "must be off, models or completion"},
		{"another kind", openai + ", probe: {kind: chat}", probing.Settings{}, "must be off, models or completion"},
		{"no kind", openai + ", probe: {interval: 5s}", probing.Settings{}, "has no kind"},
		{"too often", openai + ", probe: {kind: models, interval: 10ms}", probing.Settings{}, "too short"},
		{"no model", openai + ", probe: completion", probing.Settings{}, "not known which model to ask"},
		{"a model for the list", openai + ", probe: {kind: models, model: a}", probing.Settings{}, "kind: completion alone"},
		{"no list", azure + ", probe: models", probing.Settings{}, "have no list of models"},
		{"a list for one model", openai + ", probe: models, " + models, probing.Settings{}, "circuit_breaker.scope is model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := Parse("f.yaml", []byte("providers: {p: {"+c.say+"}}\n"), func(string) (string, bool) { return "", false })
			switch {
			case c.wrong != "":
				if err == nil || !strings.Contains(err.Error(), "providers.p.probe") || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("%v, want %q", err, c.wrong)
				}
			case err != nil:
				t.Error(err)
			case cfg.Providers[0].Probe != c.want:
				t.Errorf("%+v", cfg.Providers[0].Probe)
			}
		})
	}
}
