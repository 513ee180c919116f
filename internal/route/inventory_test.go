package route

import "testing"

func TestInventoryLookups(t *testing.T) {
	t.Parallel()
	inv := &Inventory{Providers: []ProviderModels{{Name: "a", Models: []string{"m1", "m3"}}, {Name: "b"}}}
	if p := inv.Provider("b"); p == nil || p.Name != "b" {
		t.Errorf("b is %+v", p)
	}
	if p := inv.Provider("c"); p != nil {
		t.Errorf("c is %+v", p)
	}
	var none *Inventory
	if none.Provider("a") != nil || none.Has("a", "m1") {
		t.Error("a nil inventory has something")
	}
	cases := []struct {
		provider, model string
		want            bool
	}{
		{"a", "m1", true}, {"a", "m3", true}, {"a", "m2", false}, {"a", "", false}, {"b", "m1", false}, {"c", "m1", false},
	}
	for _, c := range cases {
		if got := inv.Has(c.provider, c.model); got != c.want {
			t.Errorf("Has(%q, %q) = %v", c.provider, c.model, got)
		}
	}
}
