package config

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evergate/internal/identity"
	"evergate/internal/quota"
)

func TestKeysAndTeams(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers: { a: { type: openai, api_key: sk-1 }, b: { type: openai, api_key: sk-2 } }
policies: { eu: { regions: [eu] }, none: { retention: none } }
guardrails: { secrets: { find: [secret] } }
auth:
  keys:
    - name: ci
      value: ${CI}
      owner: ada
      team: core
      labels: { cost-centre: "4711", app: build }
      models: [fast]
      providers: [b]
      routes: [chat, models]
      sources: [10.0.0.0/8, 192.0.2.7, "2001:db8::/32"]
      policy: eu
      policies: [none]
      guardrails: [secrets]
      limits: { requests_per_minute: 60, tokens_per_minute: 1000, concurrent: 4 }
      budget: { usd: 1.50 }
      budgets: [ { tokens: 1000000, per: month, zone: Europe/Berlin, warn: 0, mode: warn }, { usd: 0 } ]
      expires: 2027-01-31
    - { name: night, value: k-2, expires: "2027-01-31T18:00:00+01:00", team: cor }
  teams:
    core: { models: [fast, slow], policies: [none], limits: { concurrent: 10 }, budget: { usd: 100, per: week } }
`, map[string]string{"CI": "k-1"})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	want := Auth{
		Mode: AuthKeys,
		Keys: []ClientKey{
			{Value: "k-1", Principal: identity.Principal{
				Name: "ci", Owner: "ada", Team: "core", Labels: map[string]string{"cost-centre": "4711", "app": "build"}, Models: []string{"fast"},
				Providers: []string{"b"}, Routes: []string{"chat", "models"},
				Sources:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32")},
				Policies: []string{"eu", "none"}, Guardrails: []string{"secrets"},
				Limits: quota.Limits{RequestsPerMinute: 60, TokensPerMinute: 1000, Concurrent: 4},
				Budgets: []quota.Budget{
					{Nano: 1_500_000_000, Warn: 0.8},
					{Tokens: 1_000_000, Per: quota.Month, Zone: berlin, WarnOnly: true},
				},
				Expires: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC),
			}},
			{Value: "k-2", Principal: identity.Principal{Name: "night", Team: "cor", Expires: time.Date(2027, 1, 31, 17, 0, 0, 0, time.UTC)}},
		},
		Teams: []identity.Team{{
			Name: "core", Models: []string{"fast", "slow"}, Policies: []string{"none"}, Limits: quota.Limits{Concurrent: 10},
			Budgets: []quota.Budget{{Nano: 100_000_000_000, Per: quota.Week, Warn: 0.8}},
		}},
	}
	same := cmp.Options{
		cmpopts.IgnoreUnexported(identity.Principal{}), cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	}
	if diff := cmp.Diff(want, c.Auth, same); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(c.Warnings, func(p Problem) bool { return strings.Contains(p.String(), "did you mean core?") }) {
		t.Errorf("a team with a slip in its name is not pointed out: %v", c.Warnings)
	}
}

// Keys may all be made in the running gateway.
func TestModeKeysWithoutKeys(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "auth: { mode: keys }\nserver: { listen: 0.0.0.0:8080 }\nadmin: { token: t-1 }\nproviders: { openai: { type: openai, api_key: sk-1 } }\n", nil)
	if c.Auth.Mode != AuthKeys {
		t.Errorf("mode = %v", c.Auth.Mode)
	}
}

func TestIssuers(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers: { a: { type: openai, api_key: sk-1 } }
auth:
  jwt:
    - issuer: https://login.example.com
      audience: gateway
    - name: ci
      issuer: http://127.0.0.1:9000/realm
      audience: gateway
      jwks_url: https://keys.example.com/jwks
      name_claim: email
      team_claim: group
      owner_claim: boss
      models_claim: models
      require: { hd: example.com }
      allow: { models: [fast], limits: { concurrent: 2 }, team: core }
`, nil)
	want := []identity.Issuer{
		{Name: "login.example.com", URL: "https://login.example.com", Audience: "gateway", NameClaim: "sub"},
		{
			Name: "ci", URL: "http://127.0.0.1:9000/realm", Audience: "gateway", Keys: "https://keys.example.com/jwks", NameClaim: "email", TeamClaim: "group",
			OwnerClaim: "boss", ModelsClaim: "models", Require: map[string]string{"hd": "example.com"},
			Allow: identity.Principal{Models: []string{"fast"}, Limits: quota.Limits{Concurrent: 2}, Team: "core"},
		},
	}
	if diff := cmp.Diff(want, c.Auth.Issuers, cmpopts.IgnoreUnexported(identity.Principal{})); diff != "" || c.Auth.Mode != AuthKeys {
		t.Error(c.Auth.Mode, diff)
	}
}
