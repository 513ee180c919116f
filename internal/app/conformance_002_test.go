package app

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/mock"
)

// three is a model that three providers serve, in that order, also under the bare id that they share.
const three = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [shared]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [shared]}
  c: {type: openai, base_url: "http://c/v1", api_key: sk-key-of-c, models: [shared]}
models:
  demo: {strategy: ordered, targets: [a/shared, b/shared, c/shared]}
`

// Reference 002: every request has an ordered list, primary and fallbacks, without those that are cooled down; if all are, the whole list
// (R50, R51). A name resolves to every provider that has the model.
func TestReference002Sequence(t *testing.T) {
	broken := do(mock.Behaviour{Status: 500})
	for _, model := range []string{"demo", "shared"} {
		t.Run(model, func(t *testing.T) {
			conform(t, "002", three, map[string]mock.Script{"a": broken, "b": broken, "c": answers()}, func(t *testing.T, s *stack) {
				for i := range 3 {
					if a := s.ask(model, i%2 == 0); a.status != 200 || trailOf(s, &a) != "a/shared=500, b/shared=500, c/shared=200" {
						t.Errorf("request %d: %s [%s]", i, a.story(), trailOf(s, &a))
					}
				}
				if a := s.ask(model, false); trailOf(s, &a) != "a/shared=circuit_open, b/shared=circuit_open, c/shared=200" {
					t.Errorf("two cooled down: [%s]", trailOf(s, &a))
				}
				s.set("c", broken)
				for range 3 {
					s.ask(model, false)
				}
				s.set("b", answers())
				if a := s.ask(model, false); a.status != 200 || !strings.HasSuffix(trailOf(s, &a), "a/shared=500, b/shared=200") {
					t.Errorf("all cooled down: %s [%s]", a.story(), trailOf(s, &a))
				}
			})
		})
	}
}

// Three failures within a minute trip the cooldown, whatever succeeded between them; spread wider they do not (R29).
func TestReference002Window(t *testing.T) {
	for _, tt := range []struct {
		name  string
		every time.Duration
		state string
	}{{"within a minute", 20 * time.Second, "open"}, {"spread wider", 31 * time.Second, "closed"}} {
		t.Run(tt.name, func(t *testing.T) {
			conform(t, "002", twoProviders, map[string]mock.Script{"a": answers(), "b": answers()}, func(t *testing.T, s *stack) {
				for range 3 {
					s.set("a", do(mock.Behaviour{Status: 500}))
					s.ask("demo", false)
					s.set("a", answers())
					if state, _ := s.state("a"); state == "closed" {
						s.ask("demo", false)
					}
					pass(tt.every - 450*time.Millisecond)
				}
				if b := s.look("a").Breaker; b.State != tt.state || tt.state == "open" && (b.Trip != "cooldown" || lasting(b) != time.Minute) {
					t.Errorf("%+v", b)
				}
			})
		})
	}
}

// Each repeated offence doubles the time, from 60 s up to 10 min (R29).
func TestReference002Doubles(t *testing.T) {
	conform(t, "002", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for range 2 {
			s.ask("demo", false)
		}
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
			s.ask("demo", false)
			b := s.look("a").Breaker
			if b.State != "open" || b.Trip != "cooldown" || lasting(b) != want {
				t.Errorf("offence %d: %s by %q for %v, want %v", i+1, b.State, b.Trip, lasting(b), want)
			}
			pass(want + time.Second) // not at the moment at which the gateway closes idle connections
		}
	})
}

// A tripped provider costs a request nothing, and when its time is over a few probes at a time are let through (R23, R50).
func TestReference002Probes(t *testing.T) {
	conform(t, "002", twoProviders, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()}, func(t *testing.T, s *stack) {
		for range 3 {
			s.ask("demo", false)
		}
		if a := s.ask("demo", false); a.took != 150*time.Millisecond {
			t.Errorf("skipping took %v", a.took)
		}
		pass(time.Minute)
		slow := steady()
		slow.Latency = time.Second
		s.set("a", mock.Script{Defaults: slow})
		s.together(10, func(int) answer { return s.ask("demo", false) })
		if n := len(s.chats("a")) - 3; n != 3 {
			t.Errorf("%d probes at a time, want 3", n)
		}
	})
}

// Streams are passed on as they come, translated or not: the first word is with the caller when it is there (decision 1 of
// ARCHITECTURE.md, R15).
func TestReference002StreamsAreNotHeldBack(t *testing.T) {
	for _, kind := range []string{"openai", "anthropic", "gemini"} {
		t.Run(kind, func(t *testing.T) {
			text := strings.Replace(twoProviders, `a: {type: openai, base_url: "http://a/v1"`, "a: {type: "+kind+`, base_url: "http://a"`, 1)
			conform(t, "002", text, map[string]mock.Script{"a": {Defaults: steady()}, "b": answers()}, func(t *testing.T, s *stack) {
				if a := s.ask("demo", true); a.first != 150*time.Millisecond || a.took != 220*time.Millisecond || a.status != 200 {
					t.Errorf("first content after %v, the end after %v", a.first, a.took)
				}
			})
		})
	}
}

// All upstreams failed: an error that says so (R55).
func TestReference002AllFailed(t *testing.T) {
	broken := do(mock.Behaviour{Status: 500})
	conform(t, "002", three, map[string]mock.Script{"a": broken, "b": broken, "c": broken}, func(t *testing.T, s *stack) {
		if a := s.ask("demo", false); a.status != 502 || a.errCode != "all_providers_failed" || strings.Count(a.body, `"target"`) != 3 {
			t.Errorf("%s %s", a.story(), a.body)
		}
	})
}

// The selection sequence, step by step: before a single byte goes to an upstream, every request has its list.
func TestReference002SelectionSequence(t *testing.T) {
	const text = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
policies: {at-home: {regions: [eu]}}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [shared], attributes: {region: us}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [shared], attributes: {region: eu}}
  c: {type: openai, base_url: "http://c/v1", api_key: sk-key-of-c, models: [shared], attributes: {region: eu}}
  d: {type: openai, base_url: "http://d/v1", byok: require, models: [shared], attributes: {region: eu}}
models:
  demo: {strategy: ordered, targets: [a/shared, b/shared, c/shared, d/shared]}
`
	broken := do(mock.Behaviour{Status: 500})
	all := func(script mock.Script) map[string]mock.Script {
		return map[string]mock.Script{"a": script, "b": script, "c": script, "d": script}
	}
	ask := func(s *stack, headers ...string) string {
		a := s.post(s.t.Context(), "/v1/chat/completions", `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`, headers...)
		return trailOf(s, &a)
	}
	const prefer = "X-Evergate-Prefer"
	for _, tt := range []struct {
		step    string
		headers []string
		want    string // with every upstream failing
	}{
		{"1, 2: the primary of the strategy, then every other upstream of the model", nil, "a/shared=500, b/shared=500, c/shared=500"},
		{"3: the request's own order", []string{prefer, "order=c,b"}, "c/shared=500, b/shared=500, a/shared=500"},
		{"3: only some of them", []string{prefer, "only=b,c"}, "b/shared=500, c/shared=500"},
		{"3: no fallbacks", []string{prefer, "fallbacks=no"}, "a/shared=500"},
		{"3: an upstream that wants the caller's own key, with it", []string{"X-Evergate-Key-D", "sk-mine"}, "a/shared=500, b/shared=500, c/shared=500, d/shared=500"},
		{"3: compliance policy", []string{prefer, "policy=at-home"}, "b/shared=500, c/shared=500"},
	} {
		t.Run(tt.step, func(t *testing.T) {
			conform(t, "002", text, all(broken), func(t *testing.T, s *stack) {
				if got := ask(s, tt.headers...); got != tt.want {
					t.Errorf("[%s], want [%s]", got, tt.want)
				}
			})
		})
	}
	t.Run("the strategy, for each request", func(t *testing.T) {
		conform(t, "002", text, all(answers()), func(t *testing.T, s *stack) {
			for range 30 {
				ask(s, prefer, "strategy=round_robin")
			}
			for _, name := range []string{"a", "b", "c"} {
				if n := len(s.chats(name)); n != 10 {
					t.Errorf("%s was asked %d times of 30", name, n)
				}
			}
		})
	})
	t.Run("4, 5, 6: what is in cooldown is removed, what is left is in order, and if nothing is left all of it comes back", func(t *testing.T) {
		scripts := all(answers())
		scripts["a"] = broken
		conform(t, "002", text, scripts, func(t *testing.T, s *stack) {
			for range 3 {
				ask(s)
			}
			if got := ask(s); got != "a/shared=circuit_open, b/shared=200" {
				t.Errorf("one is cooled down: [%s]", got)
			}
			s.set("b", broken)
			s.set("c", broken)
			for range 3 {
				ask(s)
			}
			s.set("a", answers())
			if got := ask(s); !strings.HasSuffix(got, "a/shared=200") {
				t.Errorf("all are: [%s]", got)
			}
			// The policy holds for the last resort, too.
			if got := ask(s, prefer, "policy=at-home"); strings.Contains(got, "a/shared") {
				t.Errorf("all are, with a policy: [%s]", got)
			}
		})
	})
}
