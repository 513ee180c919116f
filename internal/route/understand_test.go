package route

import (
	"slices"
	"testing"
)

// R72: what a name is said to stand for is what Resolve makes its list of: the same targets, without those that are turned off.
func TestUnderstandIsWhatResolveGoesBy(t *testing.T) {
	table := table()
	table.Virtual["drawn"] = &Virtual{
		Name: "drawn", Strategy: Weighted, Targets: []Target{{Provider: "groq", Model: "a"}, {Provider: "off", Model: "b"}, {Provider: "azure", Model: "c"}},
		On: []Target{{Provider: "openai", Model: "d", On: ContextLength}},
	}
	tests := []struct {
		name  string
		by    By
		order Order
		own   int
	}{
		{"fast", ByVirtual, AsDeclared, 2},
		{"half", ByVirtual, AsDeclared, 3},
		{"none", ByVirtual, AsDeclared, 1},
		{"drawn", ByVirtual, Drawn, 3},
		{"openai/own", ByVirtual, AsDeclared, 1},
		{"openai/gpt-4o", ByProvider, AsNamed, 1},
		{"azure/whatever", ByProvider, AsNamed, 1},
		{"shared", ByID, AsConfigured, 2},
		{"meta/llama:free", ByID, AsConfigured, 1},
		{"gone", ByID, NoOrder, 1},
		{"nobody", "", NoOrder, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u := table.Understand(inventory, tt.name)
			r, outcome := table.Resolve(inventory, tt.name)
			r.Arrange(&Circumstances{Random: func() float64 { return 0.9 }})
			if u.By != tt.by || u.Own != tt.own || r.Order != tt.order {
				t.Errorf("%q, own %d, order %v", u.By, u.Own, r.Order)
			}
			var want []string
			for i := range u.Targets {
				if !table.Disabled(&u.Targets[i]) {
					want = append(want, u.Targets[i].String()+u.Targets[i].On.String())
				}
			}
			var got []string
			for i := range r.Len() {
				got = append(got, r.At(i).String()+r.At(i).On.String())
			}
			slices.Sort(want)
			slices.Sort(got)
			if outcome == Found && !slices.Equal(got, want) || outcome != Found && len(want) > 0 {
				t.Errorf("%v, resolved to %v", want, got)
			}
		})
	}
}
