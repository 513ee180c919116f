package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"evergate/internal/sim"
)

const scenarioHead = `config:
  providers:
    blue: { type: openai, keys: [{ name: k1, value: "${KEY_1}" }, { name: k2, value: "${KEY_2}" }] }
    green: { type: groq, api_key: "${KEY_3:-spare}", models: [llama] }
  models:
    chat: { targets: [blue/gpt-4o-mini, green/llama] }
`

const scenarioTraffic = "traffic: [{ model: chat, rate: 1/s }]\n"

func parseScenario(text string) (*Scenario, error) {
	return ParseScenario("s.yaml", "", []byte(text), lookup(nil))
}

func TestScenario(t *testing.T) {
	t.Parallel()
	s, err := parseScenario(scenarioHead + `
name: all of it
seed: 7
duration: 2h
step: 30s
providers:
  blue: { first_token: { p50: 1s, p99: 2s }, tokens_per_second: 10, errors: 0.1, cuts: 0.2, tags: [eu] }
  green: { first_token: 100ms..300ms }
traffic:
  - { model: chat, rate: 90/m, spikes: [{ at: 1m, for: 10s, times: 3 }], streams: 1, tokens: 10..20, patience: 5s, from: 1m, to: 1h }
  - { model: blue/other, clients: 3, think: 2s }
  - { model: llama, rate: { from: 1/s, to: 3600/h } }
  - { model: chat, rate: { low: 1/s, high: 2/s, period: 1h } }
weather:
  - { kind: outage, provider: blue, with: hang, from: 1m, to: 2m }
  - { kind: outage, tag: eu }
  - { kind: flapping, provider: [blue, green], with: 502, every: 1m, down: 10s, retry_after: 3s }
  - { kind: brownout, errors: 0.5 }
  - { kind: rate_limit, provider: blue, key: k2, requests: 5, model: gpt-4o-mini }
  - { kind: quota, requests: 0, retry_after: told }
  - { kind: cuts, errors: 0.1 }
`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Seed != 7 || s.Name != "all of it" || s.Duration != 2*time.Hour || s.Step != 30*time.Second {
		t.Errorf("%+v", s)
	}
	g := s.Gateway
	if len(g.Providers) != 2 || len(g.Providers[0].Credentials) != 2 || g.Providers[0].Credentials[1].Name != "k2" {
		t.Errorf("providers %+v", g.Providers)
	}
	if got := g.Inventory.ByModel["llama"]; len(got) != 1 || got[0] != "green" || !g.Inventory.Has("blue", "gpt-4o-mini") {
		t.Errorf("inventory %+v", g.Inventory)
	}
	want := []sim.Traffic{
		{
			Model: "chat", Rate: sim.Rate{Low: 1.5, Spikes: []sim.Spike{{At: time.Minute, For: 10 * time.Second, Times: 3}}}, Streams: 1,
			Tokens: sim.Uniform(10, 20), Patience: 5 * time.Second, From: time.Minute, To: time.Hour, Think: sim.Uniform(5e9, 15e9),
		},
		{Model: "blue/other", Clients: 3, Think: sim.Fixed(2e9), Streams: 0.5, Tokens: sim.Fixed(200)},
		{Model: "llama", Rate: sim.Rate{Shape: sim.Ramp, Low: 1, High: 1}, Think: sim.Uniform(5e9, 15e9), Streams: 0.5, Tokens: sim.Fixed(200)},
		{Model: "chat", Rate: sim.Rate{Shape: sim.Day, Low: 1, High: 2, Period: time.Hour}, Think: sim.Uniform(5e9, 15e9), Streams: 0.5, Tokens: sim.Fixed(200)},
	}
	equal(t, "traffic", s.Traffic, want)
	equal(t, "weather", s.Weather, []sim.Weather{
		{Kind: sim.Outage, Providers: []string{"blue"}, With: sim.Hang, From: time.Minute, To: 2 * time.Minute, Latency: 1},
		{Kind: sim.Outage, Tags: []string{"eu"}, Status: 503, Latency: 1},
		{Kind: sim.Flapping, Providers: []string{"blue", "green"}, Status: 502, Every: time.Minute, Down: 10 * time.Second, Told: true, RetryAfter: 3 * time.Second, Latency: 1},
		{Kind: sim.Brownout, Status: 500, Errors: 0.5, Latency: 1},
		{Kind: sim.RateLimit, Providers: []string{"blue"}, Key: "k2", Model: "gpt-4o-mini", Status: 503, Limit: 5, Per: time.Minute, Told: true, Latency: 1},
		{Kind: sim.Quota, Status: 503, Told: true, Latency: 1},
		{Kind: sim.Cuts, Status: 503, Errors: 0.1, Latency: 1},
	})
}

func equal[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s %d of %d, want %d:\n%+v\n%+v", what, i, len(got), len(want), got[min(i, len(got)-1)], want[min(i, len(want)-1)])
		}
	}
}

// Mistakes are named with their line, and what was probably meant.
func TestScenarioProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"no config", scenarioTraffic, "s.yaml:1:1: has no config"},
		{"no traffic", scenarioHead, "has no traffic"},
		{"unknown key", scenarioHead + scenarioTraffic + "wether: []\n", "s.yaml:8:1: wether: unknown key; did you mean weather?"},
		{"unknown key of the config", "config:\n  provders: {}\n" + scenarioTraffic, "s.yaml:2:3: config.provders: unknown key; did you mean providers?"},
		{"unknown provider", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, provider: blu }]\n", `s.yaml:8:37: weather[0].provider: there is no provider "blu"; did you mean blue?`},
		{"unknown climate", scenarioHead + scenarioTraffic + "providers: { gren: {} }\n", "did you mean green?"},
		{"unknown model", scenarioHead + "traffic: [{ model: cht, rate: 1/s }]\n", `there is no model "cht"; did you mean chat?`},
		{"unknown upstream model", scenarioHead + scenarioTraffic + "weather: [{ kind: model_missing, model: lama }]\n", "did you mean llama?"},
		{"unknown key of a provider", scenarioHead + scenarioTraffic + "weather: [{ kind: bad_key, provider: blue, key: k3 }]\n", `there is no key "k3"`},
		{"unknown tag", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, tag: eu }]\n", `there is no tag "eu"`},
		{"no kind", scenarioHead + scenarioTraffic + "weather: [{ provider: blue }]\n", "has no kind"},
		{"wrong kind", scenarioHead + scenarioTraffic + "weather: [{ kind: outige }]\n", "did you mean outage?"},
		{"lacks something", scenarioHead + scenarioTraffic + "weather: [{ kind: flapping, every: 1m }]\n", "flapping needs down"},
		{"means nothing", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, every: 1m }]\n", "weather[0].every: means nothing for outage"},
		{"always down", scenarioHead + scenarioTraffic + "weather: [{ kind: flapping, every: 1m, down: 1m }]\n", "must be shorter than every"},
		{"a brownout of nothing", scenarioHead + scenarioTraffic + "weather: [{ kind: brownout }]\n", "needs errors or latency"},
		{"a brownout that hangs", scenarioHead + scenarioTraffic + "weather: [{ kind: brownout, errors: 0.1, with: hang }]\n", "must be a status"},
		{"ends before it begins", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, from: 2m, to: 1m }]\n", "is not after from"},
		{"after the end", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, from: 2h }]\n", "is after the end of the scenario (duration: 1h)"},
		{"rate and clients", scenarioHead + "traffic: [{ model: chat, rate: 1/s, clients: 3 }]\n", "needs either a rate or a number of clients"},
		{"neither", scenarioHead + "traffic: [{ model: chat }]\n", "needs either a rate or a number of clients"},
		{"no model", scenarioHead + "traffic: [{ rate: 1/s }]\n", "has no model"},
		{"rate without unit", scenarioHead + "traffic: [{ model: chat, rate: 5 }]\n", "did you mean 5/s?"},
		{"half a ramp", scenarioHead + "traffic: [{ model: chat, rate: { from: 1/s } }]\n", "must have from and to"},
		{"half a distribution", scenarioHead + scenarioTraffic + "providers: { blue: { first_token: { p50: 1s } } }\n", "needs p50 and a p99"},
		{"a range turned round", scenarioHead + "traffic: [{ model: chat, rate: 1/s, tokens: 20..10 }]\n", "did you mean 10..20?"},
		{"thinking arrivals", scenarioHead + "traffic: [{ model: chat, rate: 1/s, think: 1s }]\n", "is for clients"},
		{"a spike of clients", scenarioHead + "traffic: [{ model: chat, clients: 1, spikes: [{ at: 1s, for: 1s, times: 2 }] }]\n", "is for a rate"},
		{"half a spike", scenarioHead + "traffic: [{ model: chat, rate: 1/s, spikes: [{ at: 1s }] }]\n", "needs at, for and times"},
		{"a look that is none", scenarioHead + scenarioTraffic + "weather: [{ kind: outage, with: 404 }]\n", "must be refuse, hang, or a status"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := parseScenario(tt.text)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v, want problems", err)
			}
			if !strings.Contains(problems.Error(), tt.want) {
				t.Errorf("%s\nwant: %s", problems.Error(), tt.want)
			}
		})
	}
}

// The config may be a file beside the scenario, or be given with the call; secrets need not be there, and are never made up
// where a default stands.
func TestScenarioConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("gateway.yaml", "providers: { own: { type: openai, api_key: \"${KEY}\" } }\nmodels: { chat: { targets: [own/m] } }\n")
	other := write("other.yaml", "providers: { other: { type: openai, api_key: \"${KEY}\", base_url: \"${BASE:-https://other.example/v1}\" } }\nmodels: { chat: { targets: [other/m] } }\n")
	scenario := write("s.yaml", "config: gateway.yaml\n"+scenarioTraffic)
	for given, want := range map[string]string{"": "own", other: "other"} {
		s, err := LoadScenario(scenario, given, lookup(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Gateway.Providers[0].Name; got != want {
			t.Errorf("config %q: provider %s, want %s", given, got, want)
		}
	}
	if _, err := LoadScenario(scenario, filepath.Join(dir, "none.yaml"), lookup(nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a config that is not there: %v", err)
	}
	if _, err := LoadScenario(filepath.Join(dir, "none.yaml"), "", lookup(nil)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a scenario that is not there: %v", err)
	}
}
