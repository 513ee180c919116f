package route

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/modelfacts"
)

// A copy goes where a candidate might, and never where a key of the caller's would be needed, or was brought.
func TestMirrors(t *testing.T) {
	t.Parallel()
	table := &Table{
		Providers: []Provider{
			{Name: "eu", Attributes: Attributes{Region: "eu", Retention: Retention{Known: true}, Training: No}},
			{Name: "us", Attributes: Attributes{Region: "us", Training: Yes}},
			{Name: "theirs", BYOK: RequireKeys},
			{Name: "ours", BYOK: RefuseKeys},
			{Name: "off", Disabled: true},
		},
		Virtual:  map[string]*Virtual{"m": {Name: "m", Groups: []Group{{Name: "inner"}}}, "inner": {Name: "inner", Policy: "near"}, "other": {Name: "other", Policy: "near"}},
		Policies: map[string]*Policy{"near": {Name: "near", Regions: []string{"eu"}}, "all": {Name: "all", Deny: []string{"nobody"}}},
	}
	near := []*Policy{table.Policies["near"]}
	cheap := &modelfacts.Facts{}
	cheap.Prices.Input, cheap.Prices.Output = modelfacts.Price{USD: 1, Known: true}, modelfacts.Price{USD: 2, Known: true}
	for _, c := range []struct {
		name   string
		to     Target
		filter Filter
		brings string
		reason string // empty: it may
	}{
		{"anywhere", Target{Provider: "us"}, Filter{}, "", ""},
		{"within the policy", Target{Provider: "eu"}, Filter{Policies: near}, "", ""},
		{"outside of it", Target{Provider: "us"}, Filter{Policies: near}, "", "near.regions"},
		{"ignored", Target{Provider: "eu"}, Filter{Wishes: &Preferences{Ignore: []string{"eu"}}}, "", "ignore"},
		{"not among the only ones", Target{Provider: "eu"}, Filter{Wishes: &Preferences{Only: []string{"us"}}}, "", "only"},
		{"private", Target{Provider: "eu"}, Filter{Wishes: &Preferences{Private: true}}, "", ""},
		{"not private", Target{Provider: "us"}, Filter{Wishes: &Preferences{Private: true}}, "", "data_collection"},
		{"within the price", Target{Provider: "eu", Facts: cheap}, Filter{Wishes: &Preferences{MaxPrice: Price{Prompt: 1}}}, "", ""},
		{"dear", Target{Provider: "eu", Facts: cheap}, Filter{Wishes: &Preferences{MaxPrice: Price{Completion: 1}}}, "", "max_price"},
		{"of no known price", Target{Provider: "eu"}, Filter{Wishes: &Preferences{MaxPrice: Price{Completion: 1}}}, "", "max_price"},
		{"no fallbacks", Target{Provider: "eu"}, Filter{Wishes: &Preferences{NoFallbacks: true}}, "", "fallbacks"},
		{"no fallbacks but this one", Target{Provider: "eu"}, Filter{Wishes: &Preferences{NoFallbacks: true, Order: []string{"us", "eu"}}}, "", ""},
		{"no fallbacks but others", Target{Provider: "eu"}, Filter{Wishes: &Preferences{NoFallbacks: true, Order: []string{"us"}}}, "", "fallbacks"},
		{"a key was brought for it", Target{Provider: "eu"}, Filter{}, "eu", "brought"},
		{"a key was brought for another", Target{Provider: "eu"}, Filter{}, "us", ""},
		{"it needs callers' keys", Target{Provider: "theirs"}, Filter{}, "", "require"},
		{"it needs callers' keys, and one was brought", Target{Provider: "theirs"}, Filter{}, "theirs", "brought"},
		{"it takes no callers' keys", Target{Provider: "ours"}, Filter{}, "", ""},
		{"it takes no callers' keys, and one was brought", Target{Provider: "ours"}, Filter{}, "ours", "off"},
		{"a provider that is off", Target{Provider: "off"}, Filter{}, "", "disabled"},
		{"a target that is off", Target{Provider: "eu", Disabled: true}, Filter{}, "", "disabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.filter.Brings = func(p string) bool { return p == c.brings }
			d, ok := c.filter.Mirrors(table, &Mirror{Target: c.to, Share: 1, MaxInFlight: 1, Timeout: time.Second})
			if ok != (c.reason == "") || d.Reason != c.reason || !ok && (d.Why == "" || strings.HasSuffix(d.Why, ".")) {
				t.Errorf("%t %+v", ok, d)
			}
		})
	}
	for _, c := range []struct {
		models []string
		want   int
	}{{[]string{"m"}, 1}, {[]string{"other"}, 1}, {[]string{"m", "other"}, 1}, {[]string{"eu/x"}, 0}} {
		if got := table.PoliciesOfCopies(c.models); len(got) != c.want || len(c.models) == 1 && c.want == 1 && got[0].Name != "near" {
			t.Errorf("%v: %v", c.models, got)
		}
	}
	if got := table.PoliciesOfCopies([]string{"m"}, "all"); len(got) != 2 {
		t.Errorf("with that of the key: %v", got)
	}
}
