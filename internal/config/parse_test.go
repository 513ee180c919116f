package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evergate/internal/identity"
	"evergate/internal/provider"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

// mustParse parses a sound configuration.
func mustParse(t *testing.T, yaml string, vars map[string]string) *Config {
	t.Helper()
	c, err := Parse("evergate.yaml", []byte(yaml), lookup(vars))
	if err != nil {
		t.Fatalf("unexpected problems:\n%v", err)
	}
	return c
}

func named(t *testing.T, c *Config, name string) Provider {
	t.Helper()
	for _, p := range c.Providers {
		if p.Options.Name == name {
			return p
		}
	}
	t.Fatalf("no provider %s", name)
	return Provider{}
}

// Everything that a user may leave out has its value from the contract.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "providers: { openai: { type: openai, api_key: sk-1 } }", nil)
	want := Config{
		File:   "evergate.yaml",
		Server: Server{"127.0.0.1:8080", 32 << 20, 0, 30 * time.Second, 15 * time.Second, time.Minute, TLS{}, defaultFront()},
		Log:    Log{Level: "info"}, State: State{DefaultState, 5 * time.Second, true}, Ledger: Ledger{30 * 24 * time.Hour, 1_000_000}, Cache: Cache{64 << 20, 1 << 20, nil},
		Resilience: resilience.Defaults(), Timeouts: route.DefaultTimeouts(),
		RefreshInterval: time.Hour, RecheckInterval: time.Minute,
	}
	got := *c
	got.Providers, got.Table, got.Text = nil, route.Table{}, ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p := c.Providers[0]
	if p.Options.BaseURL.String() != "https://api.openai.com/v1" || p.Options.AuthHeader != "Authorization" || p.Options.AuthPrefix != "Bearer " || !p.Options.StreamUsage {
		t.Errorf("options = %v %q %q %v", p.Options.BaseURL, p.Options.AuthHeader, p.Options.AuthPrefix, p.Options.StreamUsage)
	}
	if p.Class != "api_key" || p.Resilience != resilience.Defaults() || p.Timeouts != route.DefaultTimeouts() || p.Options.ConnectTimeout != 5*time.Second {
		t.Errorf("provider = %+v", p)
	}
}

// Every key that exists now, read into its value.
func TestAllKeys(t *testing.T) {
	t.Parallel()
	c := mustParse(t, allKeys, map[string]string{"TOKEN": "tok", "CI_KEY": "k-1"})
	if diff := cmp.Diff(Server{"127.0.0.1:9000", 10_000_000, 3 * time.Second, 0, 0, 90 * time.Second, TLS{}, defaultFront()}, c.Server); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Admin{"127.0.0.1:9001", TLS{}, "tok", true, true}, c.Admin); diff != "" {
		t.Error(diff)
	}
	auth := Auth{Mode: AuthKeys, Keys: []ClientKey{{Principal: identity.Principal{Name: "ci", Models: []string{"fast"}}, Value: "k-1"}}}
	if diff := cmp.Diff(auth, c.Auth, cmpopts.IgnoreUnexported(identity.Principal{})); diff != "" {
		t.Error(diff)
	}
	if l := c.Log; l.Format != "json" || l.Level != "debug" || l.Bodies != 2048 || len(l.Redact) != 1 || l.Redact[0].String() != "[0-9]{16}" {
		t.Errorf("%+v", l)
	}
	p := named(t, c, "openai")
	if diff := cmp.Diff([]provider.Credential{
		{Name: "key-1", Value: "sk-1"}, {Name: "batch", Value: "sk-2", Weight: 2, Models: []string{"gpt-4o-mini"}},
	}, p.Options.Credentials); diff != "" {
		t.Error(diff)
	}
	if got := []string{p.Options.API, named(t, c, "own").Options.API, named(t, c, "azure").Options.API, named(t, c, "claude").Options.API}; !slices.Equal(got, []string{"auto", "chat", "responses", ""}) {
		t.Errorf("APIs = %q", got)
	}
	az, rock, vert := named(t, c, "azure").Options, named(t, c, "rock").Options, named(t, c, "vert").Options
	if az.APIVersion != "2024-10-21" || az.Entra != (provider.Entra{TenantID: "ten", ClientID: "cli", ClientSecret: "sec"}) || az.AuthHeader != "" {
		t.Errorf("azure = %+v", az)
	}
	if rock.Region != "eu-central-1" || rock.AWS != (provider.AWS{AccessKeyID: "AKIA", SecretAccessKey: "shh", SessionToken: "ses"}) {
		t.Errorf("bedrock = %+v", rock)
	}
	if vert.Project != "proj" || vert.Location != "eu" || vert.CredentialsFile != "key.json" || vert.BaseURL.String() != "https://aiplatform.eu.rep.googleapis.com/v1" {
		t.Errorf("vertex = %+v", vert)
	}
	if p.Class != "oauth" || !p.Disabled || p.KeyStrategy != resilience.LeastUsed || p.Options.Proxy.String() != "socks5://proxy:1080" {
		t.Errorf("provider = %+v, proxy %v", p, p.Options.Proxy)
	}
	if diff := cmp.Diff(provider.TLS{CAFile: "ca.pem", CertFile: "c.pem", KeyFile: "k.pem"}, p.Options.TLS); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]provider.Secret{"X-Team": "a"}, p.Options.Headers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]provider.Rule{
		{Provider: "openai", Status: 418, As: "next"}, {Code: "overloaded", Message: "^busy", Kind: "invalid", As: "failure"},
	}, p.Options.Classify); diff != "" {
		t.Error(diff)
	}
	if got := named(t, c, "own").Options.Classify; len(got) != 1 {
		t.Errorf("the rule of provider openai reached another one: %v", got)
	}
	want := resilience.Settings{
		WhenAllBlocked: resilience.FailFast, PassStatus: true,
		Retry:              resilience.Retry{MaxRetries: 1, InitialBackoff: 2 * time.Second, MaxBackoff: 3 * time.Second, BackoffFactor: 1.5, JitterFactor: 0.5, SameTarget: 0, MaxWait: 0, Budget: 0.1, Streams: false},
		Breaker:            resilience.Breaker{FailureThreshold: 7, SuccessThreshold: 2, Timeout: 8 * time.Second, HalfOpenMaxProbes: 0, Scope: resilience.Auto, Ramp: 12 * time.Second},
		Cooldown:           resilience.Cooldown{Failures: 3, Explicit: true, Window: 9 * time.Second, MinFailureRatio: 0, Base: 10 * time.Second, Factor: 3, Max: 11 * time.Minute},
		CredentialCooldown: resilience.CredentialCooldown{Base: 0, Max: time.Minute, AuthBase: 2 * time.Minute, QuotaBase: 3 * time.Minute},
		ModelLockout:       resilience.ModelLockout{Base: 0, Max: 2 * time.Hour},
	}
	if diff := cmp.Diff(want, p.Resilience); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, c.Resilience); diff != "" {
		t.Error(diff)
	}
	fast := c.Table.Virtual["fast"]
	limits := route.Timeouts{Connect: 1 * time.Second, Attempt: 2 * time.Second, FirstChunk: 3 * time.Second, Idle: 4 * time.Second, ContentIdle: 5 * time.Second, Total: 6 * time.Second, StreamTotal: 7 * time.Second}
	if diff := cmp.Diff(&route.Virtual{Name: "fast", Strategy: route.Weighted, Hedge: route.Hedge{Max: 3, Percentile: 95, Budget: 0.5}, Resume: true, Targets: []route.Target{
		{Provider: "openai", Model: "gpt-4o-mini", Timeouts: limits, Facts: c.Table.Facts.Facts("openai", "gpt-4o-mini")},
		{
			Provider: "own", Model: "org/qwen:7b", Weight: 2.5, Disabled: true, Timeouts: limits,
			Params: []wire.Param{{Name: "stop", Value: []byte(`["a",null]`)}, {Name: "temperature", Value: []byte(`0.2`)}},
		},
		{Provider: "azure", Model: "mine", Timeouts: limits, BaseModel: "gpt-5-mini", Facts: c.Table.Facts.Facts("azure", "gpt-5-mini"), MaxTokensField: "max_completion_tokens", DeveloperRole: new(bool)},
	}}, fast); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]route.Target{
		"openai/gpt-4o": {{Provider: "own", Model: "qwen", Timeouts: limits}}, "gpt-4o": {{Provider: "own", Model: "qwen", Timeouts: limits}},
	}, c.Table.Failover); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]route.Provider{
		{Name: "openai", Disabled: true, Timeouts: limits, Thinking: limits, Models: []string{"gpt-4o-mini"}, BYOK: route.RefuseKeys},
		{Name: "own", Timeouts: limits, Thinking: limits},
		{Name: "claude", Timeouts: limits, Thinking: limits},
		{Name: "azure", Timeouts: limits, Thinking: limits},
		{Name: "rock", Timeouts: limits, Thinking: limits},
		{Name: "roll", Timeouts: limits, Thinking: limits},
		{Name: "vert", Timeouts: limits, Thinking: limits},
	}, c.Table.Providers); diff != "" {
		t.Error(diff)
	}
}

// allKeys sets every key that this version accepts to something that is not its default.
const allKeys = `
x-note: anything
server: { listen: "127.0.0.1:9000", max_request_body: 10MB, shutdown_delay: 3s, shutdown_grace: 0, keepalive_interval: 0s, write_timeout: 1m30s }
admin: { listen: "127.0.0.1:9001", token: "${TOKEN}", pprof: true, drills: false }
auth: { mode: keys, allow_anonymous: false, keys: [ { name: ci, value: "${CI_KEY}", models: [fast] } ] }
log: { bodies: true, max_body: 2KiB, redact: ['[0-9]{16}'], format: json, level: debug }
state: { url: "redis://:pw@store:6379/2", sync_interval: 1s, keep_answers: false }
detect: false
providers:
  openai:
    type: openai
    api: auto
    disabled: true
    base_url: https://api.openai.com
    class: oauth
    key_strategy: least_used
    api_key: ""
    byok: off
    adaptive_concurrency: off
    probe: { kind: completion, interval: 1m, model: gpt-4o-mini }
    keys: [ sk-1, { name: batch, value: sk-2, weight: 2, models: [gpt-4o-mini] } ]
    headers: { X-Team: a }
    tls: { ca_file: ca.pem, cert_file: c.pem, key_file: k.pem }
    proxy: socks5://proxy:1080
    models: [gpt-4o-mini]
    timeouts: {}
    resilience: {}
  own: { type: openai-compatible, base_url: "http://gpu:8000", api: chat }
  claude: { type: anthropic, api_key: sk-ant }
  azure: { type: azure-openai, base_url: "https://it.openai.azure.com", api: responses, api_version: "2024-10-21", entra: { tenant_id: ten, client_id: cli, client_secret: sec } }
  rock: { type: bedrock, region: eu-central-1, aws: { access_key_id: AKIA, secret_access_key: shh, session_token: ses } }
  roll: { type: bedrock, region: eu-central-1, aws: { profile: team } }
  vert: { type: vertex, project: proj, location: eu, credentials_file: key.json }
models:
  fast:
    strategy: weighted
    targets:
      - openai/gpt-4o-mini
      - { target: "own/org/qwen:7b", weight: 2.5, params: { temperature: 0.2, stop: [a, ~] }, disabled: true, timeouts: {} }
      - { target: azure/mine, base_model: gpt-5-mini, quirks: { max_tokens_field: max_completion_tokens, developer_role: false } }
    timeouts: {}
    hedge: { after: p95, max: 3, budget: 0.5 }
    affinity: off
    resume: continue
    hold_down: 0
failover:
  openai/gpt-4o: [own/qwen]
  gpt-4o: [own/qwen]
resilience:
  when_all_blocked: fail_fast
  pass_status: true
  retry: { max_retries: 1, initial_backoff: 2s, max_backoff: 3s, backoff_factor: 1.5, jitter_factor: 0.5, same_target: 0, max_wait: 0, budget: 0.1, streams: false }
  circuit_breaker: { failure_threshold: 7, success_threshold: 2, timeout: 8s, half_open_max_probes: 0, scope: auto, ramp: 12s }
  cooldown: { failures: 3, window: 9s, min_failure_ratio: 0, base: 10s, factor: 3, max: 11m }
  credential_cooldown: { base: 0, max: 1m, auth_base: 2m, quota_base: 3m }
  model_lockout: { base: 0, max: 2h }
  classify:
    - { match: { provider: openai, status: 418 }, as: next }
    - { match: { code: overloaded, message: "^busy", kind: invalid }, as: failure }
  classes: { oauth: {}, api_key: {}, local: { timeouts: {} } }
timeouts: { connect: 1s, attempt: 2s, first_chunk: 3s, idle: 4s, content_idle: 5s, total: 6s, stream_total: 7s }
catalog:
  a-model: { context_window: 1, output_limit: 2, input: [text], output: [text], tools: true, structured_output: true, reasoning: false, prefill: true,
    input_price: 1, output_price: 2, cache_read_price: 0.1, cache_write_price: 1.25, batch_input_price: 0.5, batch_output_price: 1 }
`

func TestExpand(t *testing.T) {
	t.Parallel()
	env := lookup(map[string]string{"A": "1", "EMPTY": "", "ODD": "sk-a$HOME$$b{c}", "NEST": "${A}", "YAML": "x: [y # z"})
	for _, tc := range []struct{ in, want, wrong string }{
		{"plain", "plain", ""},
		{"${A}", "1", ""},
		{"<${A}${A}>", "<11>", ""},
		{"${B:-2}", "2", ""},
		{"${EMPTY:-2}", "2", ""},
		{"${EMPTY}", "", ""},
		{"${B:-}", "", ""},
		{"${B:-http://localhost:11434/v1}", "http://localhost:11434/v1", ""},
		{"pa$$w0rd$1", "pa$$w0rd$1", ""},
		{"$A $", "$A $", ""},
		{"$${A}", "${A}", ""},
		{"$${A}${A}", "${A}1", ""},
		{"a$$$${A}", "a$$${A}", ""},
		{"${ODD}", "sk-a$HOME$$b{c}", ""}, // what a variable holds is not expanded again
		{"${NEST}", "${A}", ""},
		{"$${A", "${A", ""},
		{"${YAML}", "x: [y # z", ""},
		{"${B}", "", "B is not set"},
		{"${B} ${C}", "", "C is not set"},
		{"${A", "", "not closed"},
		{"${}", "", "not the name"},
		{"${A B}", "", "not the name"},
		{"${A-x}", "", "not the name"},
		{"${B:-${A}}", "", "cannot hold"},
	} {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			got, _, err := expand(tc.in, env)
			if (tc.wrong == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), tc.wrong)) {
				t.Fatalf("expand: %v, want %q", err, tc.wrong)
			}
			if err == nil && got != tc.want {
				t.Errorf("expand = %q, want %q", got, tc.want)
			}
		})
	}
}

// Variables go into values after YAML was read: no value can break the document, and each gets the type of its place.
func TestExpandInPlace(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers:
  openai:
    type: openai
    api_key: ${ODD}
    resilience: { retry: { max_retries: "${N:-2}", streams: "${S}" } }
    headers: { X-Note: "${YAML}" }
  groq: { type: groq, api_key: 'pa$$w0rd$1' }
`, map[string]string{"ODD": "sk-a$HOME$$b{c}", "YAML": "x: [y # z", "S": "false"})
	p := named(t, c, "openai")
	if got := p.Options.Credentials[0].Value.Reveal(); got != "sk-a$HOME$$b{c}" {
		t.Errorf("key = %q", got)
	}
	if got := named(t, c, "groq").Options.Credentials[0].Value.Reveal(); got != "pa$$w0rd$1" {
		t.Errorf("literal key = %q", got)
	}
	if p.Resilience.Retry.MaxRetries != 2 || p.Resilience.Retry.Streams {
		t.Errorf("retry = %+v", p.Resilience.Retry)
	}
	if p.Options.Headers["X-Note"] != "x: [y # z" {
		t.Errorf("headers = %v", p.Options.Headers)
	}
}

// Anchors, aliases and merge keys save repetition; a mapping's own keys stand before merged ones.
func TestAnchors(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
x-slow: &slow { timeouts: { attempt: 5m, idle: 1m } }
providers:
  a: &a { <<: *slow, type: openai, api_key: sk-1 }
  b: { <<: [*a, *slow], api_key: sk-2, timeouts: { attempt: 1m } }
`, nil)
	if got := named(t, c, "a").Timeouts; got.Attempt != 5*time.Minute || got.Idle != time.Minute {
		t.Errorf("a = %+v", got)
	}
	b := named(t, c, "b")
	if b.Timeouts.Attempt != time.Minute || b.Timeouts.Idle != 30*time.Second || b.Options.Type != "openai" || b.Options.Credentials[0].Value != "sk-2" {
		t.Errorf("b = %+v %+v", b, b.Timeouts)
	}
}

// A thousandfold alias is refused, not unfolded.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("x-0: &l0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "x-%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	b.WriteString("providers: { o: { type: openai, api_key: sk-1 } }\nmodels: { m: { targets: [ { target: o/x, params: { stop: *l8 } } ] } }\n")
	_, err := Parse("evergate.yaml", []byte(b.String()), lookup(nil))
	if err == nil || !strings.Contains(err.Error(), "unfolds to more than") {
		t.Errorf("Parse = %.200v", err)
	}
}

func TestCredentialNames(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string][]string{
		"api_key: sk-1":                              {"default"},
		"keys: [sk-1]":                               {"default"},
		"keys: [{value: sk-1}]":                      {"default"},
		"keys: [{name: a, value: b}]":                {"a"},
		"keys: [sk-1, sk-2, sk-3]":                   {"key-1", "key-2", "key-3"},
		"keys: [sk-1, {name: a, value: sk-2}, sk-3]": {"key-1", "a", "key-3"},
		"class: local":                               {"default"},
		`{ class: local, keys: ["${EMPTY}"] }`:       {"default"},
	} {
		if strings.HasPrefix(yaml, "{") {
			yaml = strings.Trim(yaml, "{} ")
		}
		c := mustParse(t, "providers: { o: { type: openai, "+yaml+" } }", map[string]string{"EMPTY": ""})
		var got []string
		for _, k := range c.Providers[0].Options.Credentials {
			got = append(got, k.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", yaml, diff)
		}
	}
}

// Without a class, an openai-compatible server near by is local, and needs no key wherever it is.
func TestCompatibleClass(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:1": "local", "http://localhost:1": "local", "http://[::1]:1": "local", "http://10.1.2.3": "local",
		"http://192.168.1.2": "local", "http://172.16.0.1": "local", "http://[fd00::1]": "local", "http://gpu-box:8000": "local",
		"http://host.docker.internal:1": "local", "https://api.example.com": "api_key", "https://8.8.8.8": "api_key", "http://172.32.0.1": "api_key",
	} {
		c := mustParse(t, `providers: { o: { type: openai-compatible, base_url: "`+url+`" } }`, nil)
		p := c.Providers[0]
		if p.Class != want {
			t.Errorf("%s: class %s, want %s", url, p.Class, want)
		}
		if p.Options.StreamUsage != (want == "local") {
			t.Errorf("%s: stream usage %v", url, p.Options.StreamUsage)
		}
		if plain := want == "api_key" && strings.HasPrefix(url, "http:"); plain != (len(c.Warnings) == 1) {
			t.Errorf("%s: warnings %v", url, c.Warnings)
		}
	}
}

// No way of printing a configuration shows what is secret in it.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
server: { listen: "0.0.0.0:8080" }
admin: { token: plant-admin }
auth: { keys: [ { name: ci, value: plant-client } ] }
providers:
  a: { type: openai, api_key: plant-key, headers: { X-Gate: plant-header }, proxy: "http://me:plant-proxy@squid:3128" }
  c: { type: bedrock, region: us-east-1, aws: { access_key_id: plant-id, secret_access_key: plant-secret, session_token: plant-token } }
  d: { type: azure-openai, base_url: "https://it.example", entra: { tenant_id: t, client_id: c, client_secret: plant-entra } }
  b: { type: openai, keys: [ plant-first, { name: n, value: "${K}" } ] }
models: { fast: { targets: [a/gpt-4o] } }
`, map[string]string{"K": "plant-env"})
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for how, text := range map[string]string{
		"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c), "%s": fmt.Sprintf("%s", c.Providers),
		"%q": fmt.Sprintf("%q", c.Providers), "%d": fmt.Sprintf("%d", c.Providers), "JSON": string(asJSON), "Effective": c.Effective(),
		"a provider": fmt.Sprintf("%+v %#v", c.Providers[0], &c.Providers[0]),
	} {
		if strings.Contains(text, "plant") {
			t.Errorf("%s shows a secret: %s", how, text)
		}
	}
	if c.Providers[0].Options.Credentials[0].Value.Reveal() != "plant-key" || c.Admin.Token.Reveal() != "plant-admin" {
		t.Error("the secrets are not there at all: the test proves nothing")
	}
}

// Doubts are warnings: they keep nothing from starting.
func TestWarnings(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
detect: true
providers: { openai: { type: openai, api_key: sk-1, models: [gpt-4o-mini] } }
models:
  fast: { targets: [openai/gpt-4o-mni] }
  openai/own: { targets: [openai/gpt-4o-mini] }
`, map[string]string{"AZURE_OPENAI_API_KEY": "x", "AWS_BEARER_TOKEN_BEDROCK": "y"})
	want := strings.Join([]string{
		`evergate.yaml:5:21: models.fast.targets[0]: providers.openai.models does not list gpt-4o-mni; did you mean openai/gpt-4o-mini?`,
		`evergate.yaml:6:3: models."openai/own": hides the model of that name at provider openai`,
		`environment: AZURE_OPENAI_API_KEY: is set, but a provider of type azure-openai needs AZURE_OPENAI_ENDPOINT too; it is left out`,
		`environment: AWS_BEARER_TOKEN_BEDROCK: is set, but a provider of type bedrock needs AWS_REGION too; it is left out`,
	}, "\n")
	if diff := cmp.Diff(want, c.Warnings.Error()); diff != "" {
		t.Error(diff)
	}
}
