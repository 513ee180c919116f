package route

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func table() *Table {
	return &Table{
		Providers: []Provider{{Name: "openai"}, {Name: "azure"}, {Name: "groq"}, {Name: "off", Disabled: true}},
		Virtual: map[string]*Virtual{
			"fast":       {Name: "fast", Targets: []Target{{Provider: "groq", Model: "llama"}, {Provider: "openai", Model: "gpt-4o-mini"}}},
			"half":       {Name: "half", Targets: []Target{{Provider: "groq", Model: "x", Disabled: true}, {Provider: "off", Model: "x"}, {Provider: "azure", Model: "x"}}},
			"none":       {Name: "none", Targets: []Target{{Provider: "off", Model: "x"}}},
			"openai/own": {Name: "openai/own", Targets: []Target{{Provider: "azure", Model: "deployment"}}},
		},
		Failover: map[string][]Target{
			"openai/gpt-4o": {{Provider: "azure", Model: "gpt-4o"}, {Provider: "openai", Model: "gpt-4o"}},
			"azure/gpt-4o":  {{Provider: "groq", Model: "never"}},
			"shared":        {{Provider: "groq", Model: "llama"}},
		},
	}
}

var inventory = &Inventory{
	ByModel: map[string][]string{"gpt-4o": {"openai"}, "shared": {"openai", "azure"}, "meta/llama:free": {"groq"}, "gone": {"off"}},
	Providers: []ProviderModels{
		{Name: "openai", Models: []string{"gpt-4o", "shared"}},
		{Name: "azure", Models: []string{"shared"}},
		{Name: "groq", Models: []string{"meta/llama:free"}},
	},
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name, model string
		want        string
		label       string
		outcome     Outcome
	}{
		{"virtual model, ordered", "fast", "groq/llama openai/gpt-4o-mini", "fast", Found},
		{"a virtual model wins over provider/model", "openai/own", "azure/deployment", "openai/own", Found},
		{"disabled targets and providers are left out", "half", "azure/x", "half", Found},
		{"everything disabled", "none", "", "", AllDisabled},
		{"provider/model, known, with its failover rule, no target twice, not transitive", "openai/gpt-4o", "openai/gpt-4o azure/gpt-4o", "openai/gpt-4o", Found},
		{"provider/model that nobody listed goes out all the same, under a bounded label", "openai/new", "openai/new", OtherLabel, Found},
		{"the first segment is a provider only if configured", "meta/llama:free", "groq/meta/llama:free", "meta/llama:free", Found},
		{"slashes and colons after the provider are the model's", "groq/meta/llama:free", "groq/meta/llama:free", "groq/meta/llama:free", Found},
		{"bare id at every provider that has it, in config order, with its failover rule", "shared", "openai/shared azure/shared groq/llama", "shared", Found},
		{"a bare id gets the rule of the provider/model it resolved to", "gpt-4o", "openai/gpt-4o azure/gpt-4o", "gpt-4o", Found},
		{"a disabled provider", "off/x", "", "", AllDisabled},
		{"unknown", "gpt-5", "", "", NotFound},
		{"provider and nothing", "openai/", "", "", NotFound},
		{"empty", "", "", "", NotFound},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, outcome := table().Resolve(inventory, tt.model)
			var got []string
			for _, tg := range r.Targets {
				got = append(got, tg.String())
			}
			if outcome != tt.outcome || strings.Join(got, " ") != tt.want {
				t.Fatalf("%v %q, want %v %q", outcome, got, tt.outcome, tt.want)
			}
			if outcome == Found && r.Label != tt.label {
				t.Errorf("label %q, want %q", r.Label, tt.label)
			}
		})
	}
}

func TestResolveWithoutInventory(t *testing.T) {
	if _, outcome := table().Resolve(nil, "gpt-4o"); outcome != NotFound {
		t.Errorf("bare id: %v, want not found", outcome)
	}
	if r, outcome := table().Resolve(nil, "openai/gpt-4o"); outcome != Found || r.Label != OtherLabel {
		t.Errorf("provider/model: %v %q", outcome, r.Label)
	}
}

// R50: weighted draws the primary by weight, and the rest by the same rule without replacement.
func TestWeighted(t *testing.T) {
	v := &Virtual{Strategy: Weighted, Targets: []Target{{Model: "a", Weight: 6}, {Model: "b", Weight: 3}, {Model: "c"}}}
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 60000
	first := map[string]float64{}
	second := map[string]float64{} // given that a came first
	c := Circumstances{Random: rng.Float64}
	for range n {
		r := Resolution{Targets: v.Targets, Strategy: v.Strategy}
		r.Arrange(&c)
		o := r.Targets
		if seen := fmt.Sprint(o[0].Model, o[1].Model, o[2].Model); len(seen) != 3 || o[0].Model == o[1].Model || o[1].Model == o[2].Model || o[0].Model == o[2].Model {
			t.Fatalf("not a permutation: %s", seen)
		}
		first[o[0].Model]++
		if o[0].Model == "a" {
			second[o[1].Model]++
		}
	}
	for m, want := range map[string]float64{"a": 0.6, "b": 0.3, "c": 0.1} {
		if got := first[m] / n; math.Abs(got-want) > 0.01 {
			t.Errorf("%s first in %.3f, want %.2f", m, got, want)
		}
	}
	if got := second["b"] / first["a"]; math.Abs(got-0.75) > 0.01 {
		t.Errorf("b second after a in %.3f, want 0.75", got)
	}
	if v.Targets[0].Model != "a" || v.Targets[1].Model != "b" {
		t.Error("the table was changed")
	}
}

func TestNames(t *testing.T) {
	got := strings.Join(table().Names(inventory), " ")
	for _, want := range []string{"fast", "gpt-4o", "openai/gpt-4o", "azure/shared"} {
		if !strings.Contains(" "+got+" ", " "+want+" ") {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}
