package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/route"
)

func TestPolicies(t *testing.T) {
	t.Parallel()
	c, err := Parse("evergate.yaml", []byte(`
policy: careful
policies:
  careful: { training: false, retention: 30d }
  eu-only: { regions: [eu, ch], certifications: [soc2], training: true, providers: { allow: [a, b], deny: [b] } }
  nobody: { regions: [mars] }
  none: {}
providers:
  a: { type: openai, api_key: sk-a, models: [m], byok: require, attributes: { region: eu, retention: none, training: false, certifications: [soc2, iso27001] } }
  b: { type: openai, api_key: sk-b, models: [m], byok: off, attributes: { retention: 12h, training: true } }
  c: { type: openai, byok: require }
models:
  fast: { targets: [a/m, b/m], policy: eu-only }
  lost: { targets: [b/m] }
auth: { keys: [ { name: ci, value: k-1, policy: eu-only } ] }
`), lookup(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]*route.Policy{
		"careful": {Name: "careful", NoTraining: true, Retention: route.Retention{Known: true, For: 30 * 24 * time.Hour}},
		"eu-only": {Name: "eu-only", Regions: []string{"eu", "ch"}, Certifications: []string{"soc2"}, Allow: []string{"a", "b"}, Deny: []string{"b"}},
		"nobody":  {Name: "nobody", Regions: []string{"mars"}},
		"none":    {Name: "none"},
	}, c.Table.Policies); diff != "" {
		t.Error(diff)
	}
	if c.Table.Policy != "careful" || c.Table.Virtual["fast"].Policy != "eu-only" || c.Auth.Keys[0].Policies[0] != "eu-only" || !c.Table.BYOK {
		t.Errorf("policies are attached as %q, %q, %q", c.Table.Policy, c.Table.Virtual["fast"].Policy, c.Auth.Keys[0].Policies[0])
	}
	want := []route.Provider{
		{BYOK: route.RequireKeys, Attributes: route.Attributes{Region: "eu", Retention: route.Retention{Known: true}, Training: route.No, Certifications: []string{"soc2", "iso27001"}}},
		{BYOK: route.RefuseKeys, Attributes: route.Attributes{Retention: route.Retention{Known: true, For: 12 * time.Hour}, Training: route.Yes}},
		{BYOK: route.RequireKeys},
	}
	for i := range want {
		got := &c.Table.Providers[i]
		if diff := cmp.Diff(want[i].Attributes, got.Attributes); diff != "" || got.BYOK != want[i].BYOK {
			t.Errorf("%s: %v %s", got.Name, got.BYOK, diff)
		}
	}
	var warnings []string
	for _, w := range c.Warnings {
		warnings = append(warnings, w.String())
	}
	for _, want := range []string{
		"providers.c: has no key, without which its models cannot be discovered; list them under models",
		"policies.nobody: is satisfied by no provider: see their attributes",
		`models.lost: has no target that its policies allow: b/m: the policy "careful" refuses it by training: it trains on what it is sent`,
	} {
		if text := strings.Join(warnings, "\n"); !strings.Contains(text, want) {
			t.Errorf("no warning says %q:\n%s", want, text)
		}
	}
}

// Headers do not know case, so that two such providers would get each other's callers' keys.
func TestProvidersDifferByMoreThanCase(t *testing.T) {
	t.Parallel()
	_, err := Parse("evergate.yaml", []byte("providers: { acme: { type: openai, api_key: a }, Acme: { type: openai, api_key: b } }"), lookup(nil))
	if err == nil || !strings.Contains(err.Error(), "differs from") {
		t.Errorf("got %v", err)
	}
}
