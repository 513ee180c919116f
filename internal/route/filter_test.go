package route

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evergate/internal/modelfacts"
)

const day = 24 * time.Hour

func governed() *Table {
	return &Table{
		Providers: []Provider{
			{Name: "home", Attributes: Attributes{Region: "EU", Retention: Retention{Known: true}, Training: No, Certifications: []string{"soc2", "iso27001"}}},
			{Name: "keeps", Attributes: Attributes{Region: "eu", Retention: Retention{Known: true, For: 30 * day}, Training: No}},
			{Name: "trains", Attributes: Attributes{Region: "us", Retention: Retention{Known: true}, Training: Yes}},
			{Name: "silent"},
			{Name: "closed", BYOK: RefuseKeys},
			{Name: "own", BYOK: RequireKeys},
		},
		Virtual: map[string]*Virtual{"inner": {Name: "inner", Policy: "quiet"}},
		Policies: map[string]*Policy{
			"quiet": {Name: "quiet", Retention: Retention{Known: true}},
		},
	}
}

func everybody(t *Table) (r Resolution) {
	for i := range t.Providers {
		r.Targets = append(r.Targets, Target{Provider: t.Providers[i].Name, Model: "m"})
	}
	r.On = []Target{{Provider: "trains", Model: "long", On: ContextLength}, {Provider: "home", Model: "long", On: ContextLength}}
	return r
}

func listed(targets []Target) string {
	var out []string
	for i := range targets {
		out = append(out, targets[i].Provider)
	}
	return strings.Join(out, " ")
}

// A policy that is not in the configuration, which checks that, refuses everybody: a request must not go where it may not because a
// name is wrong.
func TestUnknownPoliciesRefuseEverybody(t *testing.T) {
	t.Parallel()
	for name, attach := range map[string]func(*Table) []*Policy{
		"of all":      func(t *Table) []*Policy { t.Policy = "quite"; return t.PoliciesOf(nil) },
		"of a model":  func(t *Table) []*Policy { t.Virtual["inner"].Policy = "quite"; return t.PoliciesOf([]string{"inner"}) },
		"of a key":    func(t *Table) []*Policy { return t.PoliciesOf([]string{"inner"}, "quite", "") },
		"of a copy":   func(t *Table) []*Policy { return t.PoliciesOfCopies([]string{"inner"}, "quite", "") },
		"beside none": func(t *Table) []*Policy { t.Policies, t.Policy = nil, "quite"; return t.PoliciesOf(nil) },
	} {
		table := governed()
		r := everybody(table)
		f := Filter{Policies: attach(table)}
		if f.Apply(table, &r); len(r.Targets) > 0 || r.Dropped[0].Guard != PolicyGuard {
			t.Errorf("%s: left are %s", name, listed(r.Targets))
		}
	}
	if got := governed().PoliciesOf([]string{"other"}, "", ""); len(got) > 0 {
		t.Errorf("where none are named there are %d", len(got))
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	price := func(targets []Target) {
		for i := range targets {
			if p, ok := map[string]Price{"home": {5, 10}, "keeps": {1, 20}, "trains": {1, 2}}[targets[i].Provider]; ok {
				in, out := modelfacts.Price{USD: p.Prompt, Known: true}, modelfacts.Price{USD: p.Completion, Known: true}
				targets[i].Facts = &modelfacts.Facts{Prices: modelfacts.Prices{Input: in, Output: out}}
			}
		}
	}
	for _, tt := range []struct {
		name     string
		policies []Policy
		wishes   *Preferences
		brings   string
		want, on string
		why      string // of the first that fell
	}{
		{name: "nothing asked", want: "home keeps trains silent closed", on: "trains home", why: `it needs the caller's own key (byok: require); send the header x-evergate-key-own`},
		{name: "a key of one's own", brings: "own closed", want: "home keeps trains silent own", on: "trains home", why: "it takes no callers' keys (byok: off)"},
		{
			name: "a region, whatever its case", policies: []Policy{{Name: "p", Regions: []string{"eu"}}}, want: "home keeps", on: "home",
			why: `the policy "p" refuses it by regions: its region is us, allowed is eu`,
		},
		{name: "nothing kept", policies: []Policy{{Retention: Retention{Known: true}}}, want: "home trains", on: "trains home", why: `the policy "" refuses it by retention: its retention is 30d, allowed is none`},
		{name: "kept for a while", policies: []Policy{{Retention: Retention{Known: true, For: 30 * day}}}, want: "home keeps trains", on: "trains home"},
		{name: "no training, and what is unknown counts as a breach", policies: []Policy{{NoTraining: true}}, want: "home keeps", on: "home", why: "it trains on what it is sent"},
		{name: "certifications, all of them", policies: []Policy{{Certifications: []string{"SOC2", "iso27001"}}}, want: "home", on: "home", why: "it is not known to have SOC2"},
		{name: "a list of those allowed", policies: []Policy{{Allow: []string{"silent", "home"}}}, want: "home silent", on: "home", why: "not among those allowed"},
		{name: "a list of those denied", policies: []Policy{{Deny: []string{"home"}}}, want: "keeps trains silent closed", on: "trains", why: "the provider is denied"},
		{name: "all policies at once", policies: []Policy{{Regions: []string{"eu", "us"}}, {NoTraining: true}, {Retention: Retention{Known: true}}}, want: "home", on: "home"},
		{name: "nobody", policies: []Policy{{Regions: []string{"mars"}}}},
		{name: "ignored", wishes: &Preferences{Ignore: []string{"home", "silent"}}, want: "keeps trains closed", on: "trains", why: "the request ignores the provider"},
		{name: "only", wishes: &Preferences{Only: []string{"silent"}}, want: "silent", why: "not in the request's only"},
		{name: "an order without fallbacks", wishes: &Preferences{Order: []string{"trains", "home"}, NoFallbacks: true}, want: "home trains", on: "trains home", why: "it wants no fallbacks"},
		{name: "private", wishes: &Preferences{Private: true}, want: "home", on: "home", why: "it is not known to keep nothing of what it is sent"},
		{name: "a price", wishes: &Preferences{MaxPrice: Price{Prompt: 4}}, want: "keeps trains", on: "trains", why: "a million tokens of prompt cost $5 there, and the request allows $4"},
		{name: "the other price", wishes: &Preferences{MaxPrice: Price{Completion: 10.5}}, want: "home trains", on: "trains home", why: "a million tokens of completion cost $20 there, and the request allows $10.5"},
		{name: "an unknown price", wishes: &Preferences{MaxPrice: Price{Prompt: 100}, Only: []string{"silent"}}, why: "not in the request's only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := governed()
			r := everybody(table)
			price(r.Targets)
			price(r.On)
			before := slices.Clone(r.Targets)
			f := Filter{Wishes: tt.wishes, Brings: func(p string) bool { return slices.Contains(strings.Fields(tt.brings), p) }}
			for i := range tt.policies {
				f.Policies = append(f.Policies, &tt.policies[i])
			}
			all := r.Targets
			f.Apply(table, &r)
			if got := listed(r.Targets); got != tt.want {
				t.Errorf("left are %q, want %q", got, tt.want)
			}
			if got := listed(r.On); got != tt.on {
				t.Errorf("left for refusals are %q, want %q", got, tt.on)
			}
			if len(r.Dropped)+len(r.Targets)+len(r.On) != len(before)+2 {
				t.Errorf("%d fell", len(r.Dropped))
			}
			if listed(all) != listed(before) {
				t.Error("the table's own list was changed")
			}
			if tt.why != "" && !slices.ContainsFunc(r.Dropped, func(d Drop) bool { return strings.Contains(d.Why, tt.why) }) {
				t.Errorf("nobody fell because of %q: %+v", tt.why, r.Dropped)
			}
		})
	}
}

// A virtual model keeps its policy where it is a target of another, and only its own targets have to keep to it.
func TestFilterWithinGroups(t *testing.T) {
	t.Parallel()
	table := governed()
	r := Resolution{Groups: []Group{{Name: "inner"}, {Name: "deeper", Within: 1}}, Targets: []Target{
		{Provider: "keeps", Model: "m", Group: 1}, {Provider: "home", Model: "m", Group: 1}, {Provider: "silent", Model: "m", Group: 2}, {Provider: "keeps", Model: "m2"},
	}}
	if !table.Governs("outer", &r) {
		t.Error("nothing governs it")
	}
	(&Filter{}).Apply(table, &r)
	if got := listed(r.Targets); got != "home keeps" {
		t.Errorf("left are %q", got)
	}
}

// R50: the request's order comes first, and that of the strategy stands among the rest.
func TestPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		p        Preferences
		want, on string
		order    Order
	}{
		{"nothing", Preferences{}, "home keeps trains silent closed own", "trains home", NoOrder},
		{"an order", Preferences{Order: []string{"silent", "keeps"}}, "silent keeps home trains closed own", "trains home", Preferred},
		{"as it is", Preferences{Order: []string{"home"}}, "home keeps trains silent closed own", "trains home", NoOrder},
		{"no fallbacks", Preferences{NoFallbacks: true}, "home", "", NoOrder},
		{"no fallbacks but these", Preferences{NoFallbacks: true, Order: []string{"keeps", "home"}}, "keeps home trains silent closed own", "", Preferred},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := everybody(governed())
			all := r.Targets
			tt.p.Place(&r)
			if listed(r.Targets) != tt.want || listed(r.On) != tt.on || r.Order != tt.order {
				t.Errorf("%q, %q, %v", listed(r.Targets), listed(r.On), r.Order)
			}
			if listed(all) != "home keeps trains silent closed own" {
				t.Error("the table's own list was changed")
			}
		})
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	table := governed()
	r := everybody(table)
	r.Targets = r.Targets[:2:3]
	next := everybody(table)
	next.On = []Target{{Provider: "home", Model: "long", On: ContextLength}, {Provider: "home", Model: "long", On: ContentFilter}}
	r.Join(&next)
	if got := listed(r.Targets); got != "home keeps trains silent closed own" || len(r.On) != 3 {
		t.Errorf("%q, %d", got, len(r.On))
	}
	for i := range r.Targets {
		if r.Targets[i].Rule {
			t.Error("a target of another model is no failover rule's")
		}
	}
}

// The targets of another model keep their groups, and the table's lists stay as they are.
func TestJoinGroups(t *testing.T) {
	t.Parallel()
	r := Resolution{Targets: []Target{{Provider: "a", Group: 1}, {Provider: "b"}}, Groups: []Group{{Name: "own"}}}
	theirs := []Target{{Provider: "c"}, {Provider: "d", Group: 1}, {Provider: "e", Group: 2}, {Provider: "b", Group: 2}}
	groups := []Group{{Name: "outer"}, {Name: "inner", Within: 1}}
	next := Resolution{Targets: theirs, Groups: groups}
	r.Join(&next)
	in := func(t *Target) (names string) {
		for g := t.Group; g != 0; g = r.Groups[g-1].Within {
			names += " " + r.Groups[g-1].Name
		}
		return t.Provider + names
	}
	var got []string
	for i := range r.Targets {
		got = append(got, in(&r.Targets[i]))
	}
	if text := strings.Join(got, ", "); text != "a own, b, c, d outer, e inner outer" {
		t.Error(text)
	}
	if theirs[1].Group != 1 || groups[1].Within != 1 {
		t.Error("the table was changed")
	}
}

// Whatever is asked, nothing is left that a policy refuses, nothing falls that everything allows, and both keep their order.
func TestFilterHolds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10_000) {
		rnd := rand.New(rand.NewPCG(4, seed))
		table := &Table{}
		for i := range 1 + rnd.IntN(5) {
			table.Providers = append(table.Providers, Provider{Name: string(rune('a' + i)), Attributes: drawAttributes(rnd), BYOK: BYOK(rnd.IntN(6) / 4)})
		}
		r := everybody(table)
		r.On = nil
		f := Filter{}
		for range rnd.IntN(4) {
			f.Policies = append(f.Policies, drawPolicy(rnd))
		}
		all := slices.Clone(r.Targets)
		f.Apply(table, &r)
		var left []string
		for i := range all {
			p := table.provider(all[i].Provider)
			if p.BYOK != RequireKeys && !slices.ContainsFunc(f.Policies, func(q *Policy) bool { return breaks(q, p) }) {
				left = append(left, p.Name)
			}
		}
		if got := listed(r.Targets); got != strings.Join(left, " ") {
			t.Fatalf("case %d: left are %q, want %q", seed, got, left)
		}
	}
}

// breaks is Policy.Refuses said in another way.
func breaks(q *Policy, p *Provider) bool {
	has := func(list []string, s string) bool { return slices.Contains(list, strings.ToLower(s)) }
	a := p.Attributes
	ok := !slices.Contains(q.Deny, p.Name) && (q.Allow == nil || slices.Contains(q.Allow, p.Name))
	ok = ok && (q.Regions == nil || has(q.Regions, a.Region)) && (!q.NoTraining || a.Training == No)
	ok = ok && (!q.Retention.Known || a.Retention.Known && a.Retention.For <= q.Retention.For)
	for _, c := range q.Certifications {
		ok = ok && slices.Contains(a.Certifications, c)
	}
	return !ok
}

func drawAttributes(rnd *rand.Rand) Attributes {
	return Attributes{
		Region: []string{"", "eu", "EU", "us"}[rnd.IntN(4)], Retention: drawRetention(rnd), Training: Answer(rnd.IntN(3)),
		Certifications: [][]string{nil, {"soc2"}, {"soc2", "hipaa"}}[rnd.IntN(3)],
	}
}

func drawRetention(rnd *rand.Rand) Retention {
	return []Retention{{}, {Known: true}, {Known: true, For: 30 * day}, {Known: true, For: 90 * day}}[rnd.IntN(4)]
}

func drawPolicy(rnd *rand.Rand) *Policy {
	some := func(list ...string) []string {
		if rnd.IntN(3) > 0 {
			return nil
		}
		return list[:1+rnd.IntN(len(list))]
	}
	return &Policy{
		Name: "p", Regions: some("eu", "us"), Retention: drawRetention(rnd), NoTraining: rnd.IntN(3) == 0, Certifications: some("soc2", "hipaa"),
		Allow: some("a", "b", "c"), Deny: some("b", "a"),
	}
}

func TestRetentionIsWrittenAsInTheConfig(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Retention{
		"unknown": {}, "none": {Known: true}, "30d": {Known: true, For: 30 * day}, "12h0m0s": {Known: true, For: 12 * time.Hour},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
