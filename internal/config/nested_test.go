package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evergate/internal/route"
)

const twoProviders = "providers: {p: {type: openai, api_key: k}, q: {type: groq, api_key: k}}\nmodels:\n"

func nobody(string) (string, bool) { return "", false }

// R50: a model within a model is its targets in the place of its name, as a group.
func TestNestedModels(t *testing.T) {
	t.Parallel()
	cfg, err := Parse("f.yaml", []byte(twoProviders+`
  outer: { strategy: weighted, targets: [ p/a, { target: middle, weight: 3, params: { temperature: 0, top_p: 1 } }, { target: inner, disabled: true, timeouts: { attempt: 3s } } ], timeouts: { total: 20s } }
  middle: { strategy: least_cost, targets: [ inner, q/c ], hold_down: 1m, hedge: { max: 3 } }
  inner: { strategy: auto, auto: { health: 1, cost: 0 }, targets: [ { target: p/a, params: { temperature: 1, seed: 7 } }, { target: q/b, base_model: x } ], timeouts: { total: 50s, attempt: 5s } }
  q/c: { targets: [ q/c ] }
`), nobody)
	if err != nil {
		t.Fatal(err)
	}
	v := cfg.Table.Virtual["outer"]
	var got []string
	for i := range v.Targets {
		o := &v.Targets[i]
		text := fmt.Sprintf("%s %d %s %s", o, o.Group, o.Timeouts.Total, o.Timeouts.Attempt)
		if o.Disabled {
			text += " off"
		}
		for _, p := range o.Params {
			text += fmt.Sprintf(" %s=%s", p.Name, p.Value)
		}
		got = append(got, text)
	}
	want := []string{
		"p/a 0 20s 1m0s",
		"p/a 2 20s 5s seed=7 temperature=0 top_p=1",
		"q/b 2 20s 5s temperature=0 top_p=1",
		"q/c 1 20s 1m0s temperature=0 top_p=1",
		"p/a 3 20s 3s off seed=7 temperature=1",
		"q/b 3 20s 3s off",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("targets\n%s\nwant\n%s", g, w)
	}
	weights := route.Weights{Health: 1, Latency: 3, Headroom: 1}
	groups := []route.Group{
		{Name: "middle", Strategy: route.LeastCost, Weight: 3},
		{Name: "inner", Strategy: route.Auto, Auto: weights, Within: 1},
		{Name: "inner", Strategy: route.Auto, Auto: weights},
	}
	if fmt.Sprint(v.Groups) != fmt.Sprint(groups) {
		t.Errorf("groups\n%+v\nwant\n%+v", v.Groups, groups)
	}
	if v.HoldDown != 0 || v.Hedge != route.DefaultHedge() {
		t.Errorf("it took more than targets from the models in it: %+v", v)
	}
	inner := cfg.Table.Virtual["inner"]
	if len(inner.Groups) != 0 || inner.Targets[0].Group != 0 || inner.Targets[0].Timeouts.Total != 50*time.Second || len(inner.Targets[0].Params) != 2 {
		t.Errorf("the inner model was changed: %+v", inner)
	}
	if own := cfg.Table.Virtual["q/c"]; len(own.Targets) != 1 || own.Targets[0].Provider != "q" || own.Groups != nil {
		t.Errorf("q/c is no more the provider's: %+v", own)
	}
}

// R50: what models within models, and their strategies, cannot be.
func TestNestedProblems(t *testing.T) {
	t.Parallel()
	many, wide := "", ""
	for i := range 40 {
		many += fmt.Sprintf("  m%d: { targets: [ {target: m%d}, p/x%d ] }\n", i, i+1, i)
		wide += fmt.Sprintf("  w%d: { targets: [ w%d, w%d-b ] }\n  w%d-b: { targets: [ w%d ] }\n", i, i+1, i, i, i+1)
	}
	for _, tt := range []struct{ name, models, wrong string }{
		{"itself", "  a: { targets: [ a, p/x ] }", "models.a.targets[0]: leads back to where it came from (a → a); take one of these out"},
		{"a circle", "  a: { targets: [ p/x, b ] }\n  b: { targets: [ c ] }\n  c: { targets: [ p/x, a ] }", "(a → b → c → a)"},
		{"a circle aside", "  a: { targets: [ b ] }\n  b: { targets: [ c, p/x ] }\n  c: { targets: [ b ] }", "(b → c → b)"},
		{"twice", "  a: { targets: [ b, p/x, b ] }\n  b: { targets: [ p/y ] }", "is listed twice"},
		{"facts of a group", "  a: { targets: [ { target: b, base_model: gpt-4o } ] }\n  b: { targets: [ p/y ] }", "whose targets say base_model and quirks themselves"},
		{"a refusal", "  a: { targets: [ p/x ], on: { context_length: [ b ] } }\n  b: { targets: [ p/y ] }", "refusals are sent to providers' models alone"},
		{"nobody", "  a: { targets: [ bb ] }\n  b: { targets: [ p/y ] }", `"bb" is not a target`},
		{"no weight", "  a: { strategy: weighted, targets: [ { target: b, weight: 0 }, p/x ] }\n  b: { targets: [ p/y ] }", "must be more than 0"},
		{"more than anyone means", wide + "  w40: { targets: [ p/x ] }", "makes more than 256"},
		{"no strategy", "  a: { strategy: least_latncy, targets: [ p/x ] }", "least_latency"},
		{"no weights", "  a: { strategy: auto, auto: { health: 0, latency: 0, cost: 0, headroom: 0 }, targets: [ p/x ] }", "has no weight above 0"},
		{"a negative weight", "  a: { strategy: auto, auto: { health: -1 }, targets: [ p/x ] }", "must be a number from 0"},
		{"deep is no problem", many + "  m40: { targets: [ p/x ] }", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f.yaml", []byte(twoProviders+tt.models+"\n"), nobody)
			if tt.wrong == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%v, want %q", err, tt.wrong)
			}
		})
	}
}

// R50: every strategy has its word, and its default weights.
func TestStrategies(t *testing.T) {
	t.Parallel()
	for s := route.Ordered; s <= route.Auto; s++ {
		cfg, err := Parse("f.yaml", []byte(twoProviders+"  a: { strategy: "+s.String()+", targets: [ p/x ] }\n"), nobody)
		if err != nil {
			t.Fatal(err)
		}
		v := cfg.Table.Virtual["a"]
		weights := route.Weights{}
		if s == route.Auto {
			weights = route.DefaultWeights()
		}
		if v.Strategy != s || v.Auto != weights {
			t.Errorf("%v: %+v", s, v)
		}
		if back, ok := route.StrategyOf(s.String()); back != s || !ok {
			t.Errorf("%v is %v", s, back)
		}
	}
	if _, ok := route.StrategyOf("fastest"); ok {
		t.Error("there is a strategy fastest")
	}
	cfg, err := Parse("f.yaml", []byte(twoProviders+"  a: { auto: { cost: 1 }, targets: [ p/x ] }\n"), nobody)
	if err != nil || len(cfg.Warnings) != 1 || !strings.Contains(fmt.Sprint(cfg.Warnings[0]), "strategy: auto") {
		t.Errorf("weights that do nothing: %v, %v", cfg.Warnings, err)
	}
}
