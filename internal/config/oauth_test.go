package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evergate/internal/provider"
)

const grant = "token_url: 'https://login.example/token', client_id: c"

// R30, R32: an OAuth grant is a key like others, or short for the only one, and makes the provider's class oauth.
func TestOAuthKeys(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SECRET": "s", "REFRESH": "r"}
	whole := provider.OAuth{TokenURL: "https://login.example/token", ClientID: "c", ClientSecret: "s", RefreshToken: "r", Scopes: []string{"x", "y"}}
	const written = grant + ", client_secret: '${SECRET}', refresh_token: '${REFRESH}', scopes: [x, y]"
	for _, tt := range []struct {
		yaml, class, threshold string
		want                   []provider.OAuth // empty: a key
		keys                   string
	}{
		{"type: openai, oauth: { " + written + " }", "oauth", "3 (class default)", []provider.OAuth{whole}, "default"},
		{"type: openai, keys: [ { oauth: { " + written + " } } ]", "oauth", "3 (class default)", []provider.OAuth{whole}, "default"},
		{"type: openai, class: api_key, oauth: { " + written + " }", "api_key", "5 (built in)", []provider.OAuth{whole}, "default"},
		{
			"type: openai, keys: [ one, { name: two, oauth: { " + written + " } }, { oauth: { " + grant + ", refresh_token: other } } ]", "oauth", "3 (class default)",
			[]provider.OAuth{{}, whole, {TokenURL: whole.TokenURL, ClientID: "c", RefreshToken: "other"}},
			"key-1 two key-3",
		},
		{
			"type: openai-compatible, base_url: 'http://127.0.0.1:9', oauth: { token_url: 'http://127.0.0.1:8/token?tenant=1', client_id: c, client_secret: s }", "oauth", "3 (class default)",
			[]provider.OAuth{{TokenURL: "http://127.0.0.1:8/token?tenant=1", ClientID: "c", ClientSecret: "s"}},
			"default",
		},
		{"type: vertex, project: p, location: global, oauth: { " + written + " }", "oauth", "3 (class default)", []provider.OAuth{whole}, "default"},
		{"type: bedrock, region: us-east-1, oauth: { " + written + " }", "oauth", "3 (class default)", []provider.OAuth{whole}, "default"},
		{"type: openai, disabled: true, oauth: { " + grant + ", refresh_token: '${REFRESH_NOT:-}' }", "oauth", "3 (class default)", []provider.OAuth{{}}, "default"},
	} {
		c := mustParse(t, "providers: { it: { "+tt.yaml+" } }", env)
		p := c.Providers[0]
		var names []string
		for i, k := range p.Options.Credentials {
			names = append(names, k.Name)
			switch want := tt.want[i]; {
			case want.TokenURL == "":
				if k.OAuth != nil {
					t.Errorf("%s: %s has a grant", tt.yaml, k.Name)
				}
			case k.OAuth == nil || k.Value != "" || !slices.Equal(k.OAuth.Scopes, want.Scopes) || k.OAuth.TokenURL != want.TokenURL ||
				k.OAuth.ClientID != want.ClientID || k.OAuth.ClientSecret != want.ClientSecret || k.OAuth.RefreshToken != want.RefreshToken:
				t.Errorf("%s: %s: %+v", tt.yaml, k.Name, k.OAuth)
			}
		}
		if got := strings.Join(names, " "); got != tt.keys || p.Class != tt.class || p.setting("circuit_breaker.failure_threshold") != tt.threshold {
			t.Errorf("%s: keys %s, class %s, failures %s", tt.yaml, got, p.Class, p.setting("circuit_breaker.failure_threshold"))
		}
		if shown := c.Effective() + fmt.Sprintf("%v %+v", p, p.Options.Credentials); strings.Contains(shown, "ClientSecret:s") || strings.Contains(shown, "RefreshToken:r") {
			t.Errorf("%s: shows a secret: %s", tt.yaml, shown)
		}
	}
}

func TestOAuthMistakes(t *testing.T) {
	t.Parallel()
	env := map[string]string{"EMPTY": ""}
	for yaml, want := range map[string]string{
		"oauth: { client_id: c, refresh_token: r }":                                                                 "oauth: needs both of token_url and client_id",
		"oauth: { " + grant + " }":                                                                                  "oauth: needs a refresh_token, or a client_secret with which the client asks for itself",
		"oauth: { " + grant + ", refresh_token: '${EMPTY}' }":                                                       "refresh_token: is empty; set the variable, or remove it if the client asks for itself",
		"oauth: { " + grant + ", client_secret: '${EMPTY}', refresh_token: r }":                                     "client_secret: is empty; set the variable, or remove it if the client has none",
		"oauth: { " + grant + ", refresh_token: r }, api_key: k":                                                    "oauth: stands beside a key; put it into keys as { oauth: … }, or remove one of the two",
		"oauth: { " + grant + ", refresh_token: r }, keys: [k]":                                                     "oauth: stands beside a key",
		"keys: [ { value: k, oauth: { " + grant + ", refresh_token: r } } ]":                                        "keys[0].oauth: stands beside a value; a key has one of the two",
		"keys: [ { name: n } ]":                                                                                     "keys[0]: has no value; add value: ${…}, or oauth",
		"keys: [ { oauth: { " + grant + ", refresh_token: r } }, { oauth: { " + grant + ", refresh_token: r } } ]":  "is the same grant as that of the key on line 1; remove one",
		"keys: [ { oauth: { " + grant + ", refresh_token: r } }, { oauth: { " + grant + "x, refresh_token: r } } ]": "keys[1].oauth.refresh_token: is also that of the key on line 1: whichever asks first can make it useless to the other",
		"oauth: { token_url: 'http://login.example/token', client_id: c, refresh_token: r }":                        "token_url: must begin with https://, since secrets are sent there; http is for this machine alone",
		"oauth: { token_url: 'https://u:p@login.example/token', client_id: c, refresh_token: r }":                   "token_url: must not hold a user or password",
		"oauth: { token_url: 'https://login.example/token#x', client_id: c, refresh_token: r }":                     "token_url: must not have a fragment",
		"oauth: { token_url: login.example, client_id: c, refresh_token: r }":                                       "token_url: must begin with https://",
		"oauth: { " + grant + ", refresh_token: r, scope: x }":                                                      "oauth.scope: unknown key",
		"oauth: token": "oauth: must be a mapping",
		"entra: { tenant_id: t, client_id: c, client_secret: s }, oauth: { " + grant + ", refresh_token: r }": "entra: stands beside a key; remove one of the two",
		"aws: { profile: p }, oauth: { " + grant + ", refresh_token: r }":                                     "aws: stands beside a key",
		"keys: [ k, { oauth: { " + grant + ", refresh_token: r } } ]":                                         "has API keys and oauth side by side",
		"credentials_file: f, oauth: { " + grant + ", refresh_token: r }":                                     "credentials_file: stands beside oauth",
	} {
		typ := "openai"
		switch {
		case strings.HasPrefix(yaml, "entra"):
			typ = "azure-openai, base_url: 'https://it.example'"
		case strings.HasPrefix(yaml, "aws"):
			typ = "bedrock, region: us-east-1"
		case strings.HasPrefix(yaml, "keys: [ k,"), strings.HasPrefix(yaml, "credentials"):
			typ = "vertex, project: p, location: global"
		}
		_, err := Parse("t.yaml", []byte("providers: { it: { type: "+typ+", "+yaml+" } }"), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", yaml, err, want)
		}
	}
}
