package llm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBudgetOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effort *Effort
		limit  int64
		want   int64
	}{
		"nothing said":              {nil, 0, 0},
		"off":                       {&Effort{Off: true, Budget: 5000}, 0, 0},
		"level none":                {&Effort{Level: "none"}, 0, 0},
		"a budget":                  {&Effort{Budget: 5000}, 0, 5000},
		"a small budget":            {&Effort{Budget: 10}, 0, MinBudget},
		"as the model likes":        {&Effort{Budget: -1}, 0, 8192},
		"low":                       {&Effort{Level: "low"}, 0, 2048},
		"max":                       {&Effort{Level: "max"}, 0, 65536},
		"an unknown word":           {&Effort{Level: "heroic"}, 0, 8192},
		"a limit":                   {&Effort{Level: "high"}, 10000, 8000},
		"a limit too small for any": {&Effort{Level: "high"}, 1000, MinBudget},
	} {
		if got := c.effort.BudgetOf(c.limit); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestLevelOf(t *testing.T) {
	t.Parallel()
	usual := []string{"low", "medium", "high"}
	for name, c := range map[string]struct {
		effort  *Effort
		allowed []string
		want    string
	}{
		"nothing said":                    {nil, usual, ""},
		"nothing allowed":                 {&Effort{Level: "low"}, nil, ""},
		"no word and no budget":           {&Effort{}, usual, ""},
		"as the model likes":              {&Effort{Budget: -1}, usual, ""},
		"an allowed word":                 {&Effort{Level: "medium"}, usual, "medium"},
		"a word above all":                {&Effort{Level: "max"}, usual, "high"},
		"a word below all":                {&Effort{Level: "minimal"}, usual, "low"},
		"off":                             {&Effort{Off: true}, usual, "low"},
		"off where there is a word":       {&Effort{Off: true, Level: "high"}, []string{"none", "low", "high"}, "none"},
		"a word between":                  {&Effort{Level: "medium"}, []string{"low", "high"}, "low"},
		"an unknown word":                 {&Effort{Level: "heroic"}, usual, "medium"},
		"a budget":                        {&Effort{Budget: 8000}, usual, "medium"},
		"a budget between":                {&Effort{Budget: 8193}, usual, "high"},
		"a budget above all":              {&Effort{Budget: 1 << 40}, usual, "high"},
		"a word leads, whatever a budget": {&Effort{Level: "low", Budget: 1 << 40}, usual, "low"},
	} {
		if got := c.effort.LevelOf(c.allowed...); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// More is never less, and only what is allowed is said.
func TestLevelOfAscends(t *testing.T) {
	t.Parallel()
	words := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	rapid.Check(t, func(t *rapid.T) {
		allowed := []string{}
		for _, w := range words {
			if rapid.Bool().Draw(t, w) {
				allowed = append(allowed, w)
			}
		}
		if len(allowed) == 0 {
			return
		}
		a, b := rapid.Int64Range(1, 1<<17).Draw(t, "a"), rapid.Int64Range(1, 1<<17).Draw(t, "b")
		if a > b {
			a, b = b, a
		}
		x, y := (&Effort{Budget: a}).LevelOf(allowed...), (&Effort{Budget: b}).LevelOf(allowed...)
		if !slices.Contains(allowed, x) || slices.Index(allowed, x) > slices.Index(allowed, y) {
			t.Fatalf("%d: %q, %d: %q", a, x, b, y)
		}
	})
}
