package config

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/resilience"
)

// The worked example: a global block, and two providers that override single fields of it.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/worked-example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := mustParse(t, string(data), map[string]string{"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"})
	for _, want := range []struct{ provider, maxRetries, failureThreshold, timeout string }{
		{"openai", "2 (global)", "3 (global)", "15s (global)"},
		{"anthropic", "5 (override)", "3 (global)", "15s (global)"},
		{"ollama", "2 (global)", "10 (override)", "5s (override)"},
	} {
		p := named(t, c, want.provider)
		got := []string{p.setting("retry.max_retries"), p.setting("circuit_breaker.failure_threshold"), p.setting("circuit_breaker.timeout")}
		if diff := cmp.Diff([]string{want.maxRetries, want.failureThreshold, want.timeout}, got); diff != "" {
			t.Errorf("%s: %s", want.provider, diff)
		}
	}
	global := resilience.Defaults()
	global.Retry.MaxRetries, global.Retry.InitialBackoff, global.Retry.MaxBackoff = 2, 500*time.Millisecond, 10*time.Second
	global.Retry.BackoffFactor, global.Retry.JitterFactor = 1.5, 0.05
	global.Breaker.FailureThreshold, global.Breaker.Timeout = 3, 15*time.Second
	if diff := cmp.Diff(global, named(t, c, "openai").Resilience); diff != "" {
		t.Error(diff)
	}
	ollama := global
	ollama.Breaker.FailureThreshold, ollama.Breaker.Timeout = 10, 5*time.Second
	if diff := cmp.Diff(ollama, named(t, c, "ollama").Resilience); diff != "" {
		t.Error(diff)
	}
	golden(t, "testdata/worked-example.txt", c.Effective())
}

// A field is taken from the first that sets it: provider, class, environment, global, the class's numbers, built in.
func TestFieldByField(t *testing.T) { // R30
	t.Parallel()
	const override = "resilience: { circuit_breaker: { failure_threshold: 91 } }"
	const class = "classes: { local: { circuit_breaker: { failure_threshold: 92 } } }"
	const otherClass = "classes: { oauth: { circuit_breaker: { failure_threshold: 99 } } }"
	const global = "circuit_breaker: { failure_threshold: 94 }"
	env := map[string]string{"CIRCUIT_BREAKER_FAILURE_THRESHOLD": "93"}
	for _, tc := range []struct {
		name, provider string
		resilience     []string
		env            map[string]string
		want           string
	}{
		{"provider first", "class: local, " + override, []string{class, global}, env, "91 (override)"},
		{"then its class", "class: local", []string{class, global}, env, "92 (class)"},
		{"another class says nothing", "class: local", []string{otherClass, global}, nil, "94 (global)"},
		{"environment before the file's global", "class: local", []string{global}, env, "93 (env)"},
		{"then global", "class: local", []string{global}, nil, "94 (global)"},
		{"then the class's numbers", "class: local", nil, nil, "2 (class default)"},
		{"oauth's numbers", "class: oauth, api_key: x", nil, nil, "3 (class default)"},
		{"api_key's numbers are the built-in ones", "class: api_key, api_key: x", nil, nil, "5 (built in)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := mustParse(t, "providers: { o: { type: openai, "+tc.provider+" } }\nresilience: { "+strings.Join(tc.resilience, ", ")+" }\n", tc.env)
			if got := c.Providers[0].setting("circuit_breaker.failure_threshold"); got != tc.want {
				t.Errorf("failure_threshold = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestClassNumbers(t *testing.T) { // R30
	t.Parallel()
	for class, want := range map[string]resilience.Breaker{
		"oauth":   {FailureThreshold: 3, SuccessThreshold: 1, Timeout: 60 * time.Second, HalfOpenMaxProbes: 1},
		"api_key": {FailureThreshold: 5, SuccessThreshold: 1, Timeout: 30 * time.Second, HalfOpenMaxProbes: 1},
		"local":   {FailureThreshold: 2, SuccessThreshold: 1, Timeout: 15 * time.Second, HalfOpenMaxProbes: 1},
	} {
		c := mustParse(t, "providers: { o: { type: openai, api_key: x, class: "+class+" } }", nil)
		if got := c.Providers[0].Resilience.Breaker; got != want {
			t.Errorf("%s: %+v, want %+v", class, got, want)
		}
		if got := c.Resilience.Breaker; got != resilience.Defaults().Breaker {
			t.Errorf("%s: the class reached the global settings: %+v", class, got)
		}
	}
}

// All variables of the environment, over the file's global settings and under a provider's own.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers:
  plain: { type: openai, api_key: x }
  own: { type: openai, api_key: x, resilience: { retry: { max_retries: 0 } } }
resilience: { retry: { max_retries: 7, same_target: 0 } }
`, map[string]string{
		"RETRY_MAX_RETRIES": "8", "RETRY_INITIAL_BACKOFF": "250ms", "RETRY_MAX_BACKOFF": "9s", "RETRY_BACKOFF_FACTOR": "3",
		"RETRY_JITTER_FACTOR": "0", "CIRCUIT_BREAKER_FAILURE_THRESHOLD": "0", "CIRCUIT_BREAKER_SUCCESS_THRESHOLD": "4",
		"CIRCUIT_BREAKER_TIMEOUT": "1m", "CACHE_REFRESH_INTERVAL": "120", "PROVIDER_RECHECK_INTERVAL": "0",
	})
	want := resilience.Defaults()
	want.Retry = resilience.Retry{MaxRetries: 8, InitialBackoff: 250 * time.Millisecond, MaxBackoff: 9 * time.Second, BackoffFactor: 3, MaxWait: 3 * time.Second, Budget: 0.2, Streams: true}
	want.Breaker = resilience.Breaker{FailureThreshold: 0, SuccessThreshold: 4, Timeout: time.Minute, HalfOpenMaxProbes: 1}
	if diff := cmp.Diff(want, named(t, c, "plain").Resilience); diff != "" {
		t.Error(diff)
	}
	want.Retry.MaxRetries = 0
	if diff := cmp.Diff(want, named(t, c, "own").Resilience); diff != "" {
		t.Error(diff)
	}
	if c.RefreshInterval != 2*time.Minute || c.RecheckInterval != 0 {
		t.Errorf("refresh %v, recheck %v", c.RefreshInterval, c.RecheckInterval)
	}
}

// Only a cooldown.failures that somebody wrote stands when the breaker is turned off.
func TestCooldownExplicit(t *testing.T) { // R28
	t.Parallel()
	for where, yaml := range map[string]string{
		"provider": "providers: { o: { type: openai, api_key: x, resilience: { cooldown: { failures: 10 } } } }",
		"class":    "providers: { o: { type: openai, api_key: x } }\nresilience: { classes: { api_key: { cooldown: { failures: 10 } } } }",
		"global":   "providers: { o: { type: openai, api_key: x } }\nresilience: { cooldown: { failures: 10 } }",
		"nobody":   "providers: { o: { type: openai, api_key: x, resilience: { cooldown: { window: 10s } } } }",
	} {
		if got, want := mustParse(t, yaml, nil).Providers[0].Resilience.Cooldown.Explicit, where != "nobody"; got != want {
			t.Errorf("set by %s: Explicit = %v", where, got)
		}
	}
}

// A classify list is one field: a provider's own takes the place of the global one.
func TestClassifyIsOneField(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers:
  plain: { type: openai, api_key: x }
  own: { type: openai, api_key: x, resilience: { classify: [ { match: { status: 418 }, as: client } ] } }
  none: { type: openai, api_key: x, resilience: { classify: [] } }
resilience: { classify: [ { match: { status: 409 }, as: next }, { match: { kind: timeout }, as: client } ] }
`, nil)
	for name, want := range map[string]int{"plain": 2, "own": 1, "none": 0} {
		if got := named(t, c, name).Options.Classify; len(got) != want {
			t.Errorf("%s has %v, want %d rules", name, got, want)
		}
	}
}

// Target before virtual model before provider before class before global.
func TestTimeouts(t *testing.T) { // R56
	t.Parallel()
	c := mustParse(t, `
providers:
  o: { type: openai, api_key: x, timeouts: { attempt: 3s, idle: 3s, total: 3s } }
models:
  m:
    timeouts: { attempt: 2s, idle: 2s }
    targets: [ { target: o/a, timeouts: { attempt: 1s, stream_total: 0 } }, o/b ]
failover: { o/c: [o/d] }
resilience: { classes: { api_key: { timeouts: { attempt: 4s, idle: 4s, total: 4s, connect: 4s } } } }
timeouts: { attempt: 5s, connect: 5s, content_idle: 0 }
`, nil)
	m := c.Table.Virtual["m"]
	if got := m.Targets[0].Timeouts; got.Attempt != time.Second || got.Idle != 2*time.Second || got.Total != 3*time.Second || got.Connect != 4*time.Second || got.ContentIdle != 0 || got.FirstChunk != time.Minute {
		t.Errorf("first target: %+v", got)
	}
	if got := m.Targets[1].Timeouts; got.Attempt != 2*time.Second {
		t.Errorf("second target: %+v", got)
	}
	p := c.Providers[0]
	if p.Timeouts.Attempt != 3*time.Second || c.Table.Failover["o/c"][0].Timeouts != p.Timeouts || c.Table.Providers[0].Timeouts != p.Timeouts {
		t.Errorf("provider: %+v; failover: %+v", p.Timeouts, c.Table.Failover)
	}
	if p.Options.ConnectTimeout != 4*time.Second || c.Timeouts.Connect != 5*time.Second {
		t.Errorf("connect: %v, global %v", p.Options.ConnectTimeout, c.Timeouts.Connect)
	}
}
