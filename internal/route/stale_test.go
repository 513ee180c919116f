package route

import (
	"fmt"
	"testing"
)

// Reference 003: a virtual model leaves targets with stale models to the last.
func TestStaleLast(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stale string // providers
		order Order
		want  string
		last  int
	}{
		{"none is", "", AsDeclared, "a/m b/m c/m", 0},
		{"the first", "a", AsDeclared, "b/m c/m a/m", 1},
		{"two keep their order", "ab", AsDeclared, "c/m a/m b/m", 2},
		{"all are", "abc", AsDeclared, "a/m b/m c/m", 0},
		{"whatever the strategy", "a", Scored, "b/m c/m a/m", 1},
		{"the name says the provider", "a", AsNamed, "a/m b/m c/m", 0},
		{"the name says the id", "a", AsConfigured, "a/m b/m c/m", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv := &Inventory{}
			declared := []Target{}
			for _, p := range "abc" {
				stale := false
				for _, s := range tt.stale {
					stale = stale || s == p
				}
				inv.AnyStale = inv.AnyStale || stale
				inv.Providers = append(inv.Providers, ProviderModels{Name: string(p), Stale: stale})
				declared = append(declared, Target{Provider: string(p), Model: "m"})
			}
			r := Resolution{Targets: declared, Order: tt.order}
			r.StaleLast(inv)
			got, last := "", 0
			for _, target := range r.Targets {
				got += " " + target.String()
				if target.Stale {
					last++
				}
			}
			if got[1:] != tt.want || last != tt.last {
				t.Errorf("got%s, %d put last", got, last)
			}
			if fmt.Sprint(declared[0], declared[1], declared[2]) != "a/m b/m c/m" {
				t.Error("the table's own list was changed")
			}
		})
	}
	r := Resolution{Targets: []Target{{Provider: "a"}}, Order: AsDeclared}
	r.StaleLast(nil) // there is no discovery
}
