package app

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/mock"
)

// halves is a model whose targets have the same weight, and the same two in order, or by chance without affinity.
const halves = `
server: {listen: "gateway:80"}
auth: {mode: keys, keys: [{name: one, value: key-one}, {name: two, value: key-two}]}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m]}
models:
  demo: {strategy: weighted, targets: [a/m, b/m], affinity: {ttl: 10m}}
  free: {strategy: weighted, targets: [a/m, b/m], affinity: off}
  row: {strategy: ordered, targets: [a/m, b/m]}
` + oneTry

// converse is one request of a caller; said are further members of its body, and headers come in pairs.
func (s *stack) converse(model, said string, headers ...string) (provider string) {
	s.t.Helper()
	if !slices.Contains(headers, "Authorization") {
		headers = append(headers, "Authorization", "Bearer key-one")
	}
	a := s.post(s.t.Context(), "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]%s}`, model, said), headers...)
	if a.status != http.StatusOK {
		s.t.Errorf("%d %s", a.status, a.body)
	}
	return s.facts.last().Provider
}

// many asks n times and counts who answered.
func (s *stack) many(n int, model, said string, headers ...string) map[string]int {
	s.t.Helper()
	out := map[string]int{}
	for range n {
		out[s.converse(model, said, headers...)]++
	}
	return out
}

// R47: a conversation stays where it is for fifty requests, moves when a guard blocks its target, and stays there.
func TestConversationStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, halves, map[string]mock.Script{"a": answers(), "b": answers()})
		const said = `,"prompt_cache_key":"k1"`
		first := s.converse("demo", said)
		if got := s.facts.last().Affinity; got != "miss" {
			t.Errorf("the first request is a %q", got)
		}
		if got := s.many(50, "demo", said); got[first] != 50 || s.facts.last().Affinity != "hit" {
			t.Errorf("first %s, then %v, the last a %q", first, got, s.facts.last().Affinity)
		}
		other := map[string]string{"a": "b", "b": "a"}[first]

		s.operate(first, `{"action":"open","reason":"maintenance","for":"1m"}`)
		if got := s.converse("demo", said); got != other || s.facts.last().Affinity != "moved" {
			t.Errorf("while %s is blocked: %s, a %q", first, got, s.facts.last().Affinity)
		}
		time.Sleep(3 * time.Minute)
		if got := s.many(20, "demo", said); got[other] != 20 {
			t.Errorf("after it moved to %s: %v", other, got)
		}
		// A failure moves it as a guard does.
		s.set(other, do(mock.Behaviour{Status: 500}))
		if got := s.converse("demo", said); got != first {
			t.Errorf("when %s fails: %s", other, got)
		}
		s.set(other, answers())
		if got := s.many(20, "demo", said); got[first] != 20 {
			t.Errorf("after it moved to %s: %v", first, got)
		}
	})
}

// R47: where nothing says that two requests belong together, the weights hold: for other conversations, other callers, other
// models, after the time, and without affinity. An order always does.
func TestConversationsApart(t *testing.T) {
	spread := func(t *testing.T, what string, got map[string]int) {
		t.Helper()
		n := float64(got["a"] + got["b"])
		if off := math.Abs(float64(got["a"]) - n/2); off > 6*math.Sqrt(n)/2 { // six standard deviations
			t.Errorf("%s: %v", what, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, halves, map[string]mock.Script{"a": answers(), "b": answers()})
		got := map[string]int{}
		for i := range 200 {
			got[s.converse("demo", fmt.Sprintf(`,"prompt_cache_key":"k%d"`, i))]++
		}
		spread(t, "200 conversations", got)
		spread(t, "openings that nothing follows", s.many(200, "demo", ""))
		spread(t, "affinity: off", s.many(200, "free", `,"prompt_cache_key":"k"`))

		// One caller's requests tell nothing about another's.
		same := 0
		for i := range 100 {
			said := fmt.Sprintf(`,"user":"u%d"`, i)
			if s.converse("demo", said) == s.converse("demo", said, "Authorization", "Bearer key-two") {
				same++
			}
		}
		spread(t, "two callers", map[string]int{"a": same, "b": 100 - same})

		forgotten := map[string]int{}
		for range 100 {
			before := s.converse("demo", `,"prompt_cache_key":"slow"`)
			time.Sleep(10 * time.Minute)
			forgotten[map[bool]string{true: "a", false: "b"}[s.converse("demo", `,"prompt_cache_key":"slow"`) == before]]++
			time.Sleep(10 * time.Minute)
		}
		spread(t, "after ttl", forgotten)

		s.operate("a", `{"action":"open","reason":"maintenance","for":"1m"}`)
		s.converse("row", "", "X-Session-Id", "s1")
		time.Sleep(3 * time.Minute)
		if got := s.many(10, "row", "", "X-Session-Id", "s1"); got["a"] != 10 || s.facts.last().Affinity != "" {
			t.Errorf("strategy ordered: %v, a %q", got, s.facts.last().Affinity)
		}
	})
}

// R47: a conversation is known by its opening in each dialect that clients speak, once it goes on.
func TestConversationByItsOpening(t *testing.T) {
	turns := []struct{ name, path, first, next string }{
		{
			"chat", "/v1/chat/completions", `{"model":"demo","messages":[{"role":"system","content":"S"},{"role":"user","content":"hi %d"}]}`,
			`{"model":"demo","messages":[{"role":"system","content":"S"},{"role":"user","content":"hi %d"},{"role":"assistant","content":"x"},{"role":"user","content":"go on"}]}`,
		},
		{
			"messages", "/v1/messages", `{"model":"demo","max_tokens":9,"system":"S","messages":[{"role":"user","content":"hi %d"}]}`,
			`{"model":"demo","max_tokens":9,"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"hi %d"}]},{"role":"assistant","content":"x"},{"role":"user","content":"go on"}]}`,
		},
		{
			"responses", "/v1/responses", `{"model":"demo","store":false,"instructions":"S","input":"hi %d"}`,
			`{"model":"demo","store":false,"instructions":"S","input":[{"role":"user","content":[{"type":"input_text","text":"hi %d"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]},{"role":"user","content":"go on"}]}`,
		},
		{
			"gemini", "/v1beta/models/demo:generateContent", `{"system_instruction":{"parts":[{"text":"S"}]},"contents":[{"parts":[{"text":"hi %d"}]}]}`,
			`{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"role":"user","parts":[{"text":"hi %d"}]},{"role":"model","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":"go on"}]}]}`,
		},
	}
	for _, turn := range turns {
		t.Run(turn.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, halves, map[string]mock.Script{"a": answers(), "b": answers()})
				both := map[string]bool{}
				for i := range 20 {
					ask := func(body string) (provider, affinity string) {
						a := s.post(t.Context(), turn.path, fmt.Sprintf(body, i), "Authorization", "Bearer key-one")
						if a.status != http.StatusOK {
							t.Fatalf("%d %s", a.status, a.body)
						}
						f := s.facts.last()
						return f.Provider, f.Affinity
					}
					first, how := ask(turn.first)
					both[first] = true
					if how != "miss" {
						t.Errorf("the first turn is a %q", how)
					}
					for range 3 {
						if next, how := ask(turn.next); next != first || how != "hit" {
							t.Fatalf("conversation %d began at %s and went to %s, a %q", i, first, next, how)
						}
					}
				}
				if len(both) != 2 {
					t.Errorf("all twenty went to %v", both)
				}
			})
		})
	}
}

// R47: caches are an account's, so a conversation keeps to the key, too, until that is blocked.
func TestConversationKeepsItsKey(t *testing.T) {
	const keys = `
    keys: [{name: k1, value: sk-key-1}, {name: k2, value: sk-key-2}, {name: k3, value: sk-key-3}]`
	for strategy, stays := range map[string]bool{"round_robin": true, "weighted": true, "least_used": true, "fill_first": false} {
		t.Run(strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := strings.Replace(halves, `  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}`,
					"  a:\n    type: openai\n    base_url: \"http://a/v1\"\n    models: [m]\n    key_strategy: "+strategy+keys, 1)
				text = strings.Replace(text, "[a/m, b/m], affinity: {ttl", "[a/m, {target: b/m, weight: 0.000001}], affinity: {ttl", 1)
				s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers()})
				used := func() (key string) {
					s.converse("demo", `,"prompt_cache_key":"k"`)
					trail := s.facts.last().Trail
					return trail[len(trail)-1].Credential
				}
				first := used()
				for range 20 {
					if key := used(); key != first {
						t.Fatalf("%s, then %s", first, key)
					}
				}
				s.set("a", mock.Script{Defaults: steady(), Rules: []mock.Rule{{Key: "sk-key-" + first[1:], Do: mock.Behaviour{Status: 429, RetryAfter: "60"}}}})
				second := used()
				if second == first || second == "default" {
					t.Fatalf("%s is limited, and %s was used", first, second)
				}
				s.set("a", answers())
				time.Sleep(3 * time.Minute)
				for range 20 {
					if key := used(); (key == second) != stays {
						t.Fatalf("%s, then %s, then %s", first, second, key)
					}
				}
			})
		})
	}
}

// R47, R72: explain says that a conversation is why a target comes first, and moves nothing; past requests say so, too.
func TestExplainAffinity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, strings.Replace(halves, "auth: {mode: keys, keys: [{name: one, value: key-one}, {name: two, value: key-two}]}", "auth: {allow_anonymous: true}", 1),
			map[string]mock.Script{"a": answers(), "b": answers()})
		first := s.converse("demo", `,"prompt_cache_key":"k"`)
		body := `{"model":"demo","messages":[{"role":"user","content":"hi"}],"prompt_cache_key":"k"}`
		for range 20 {
			var a explain.Answer
			s.admin("POST", "explain", body, &a)
			if k := a.Candidates[0]; k.Provider != first || k.Why != "Asked first: it served this conversation last (affinity)." {
				t.Fatalf("%s: %+v", first, k)
			}
		}
		s.converse("demo", `,"prompt_cache_key":"k"`, "X-Request-Id", "r1")
		var p explain.Past
		if s.admin("GET", "explain/r1", "", &p); p.Order != "affinity" {
			t.Errorf("order %q", p.Order)
		}
	})
}

// metrics gives the lines of the metrics that begin so.
func (s *stack) metrics(prefix string) (out []string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://gateway/metrics", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			out = append(out, lines.Text())
		}
	}
	return out
}

// R47: what affinity does for prompt caches is counted.
func TestAffinityMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, strings.ReplaceAll(halves, "type: openai", "type: anthropic"), map[string]mock.Script{"a": answers(), "b": answers()})
		for range 4 {
			a := s.post(t.Context(), "/v1/messages", `{"model":"demo","max_tokens":9,"system":[{"type":"text","text":"A long story.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"u1"}}`, "Authorization", "Bearer key-one")
			if a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		got := s.metrics("evergate_affinity")
		u := s.facts.last().Usage
		want := []string{
			fmt.Sprintf(`evergate_affinity_prompt_tokens_total{kind="cached_input",model="demo",result="hit"} %d`, 3*u.CachedInput),
			`evergate_affinity_prompt_tokens_total{kind="cached_input",model="demo",result="miss"} 0`,
			fmt.Sprintf(`evergate_affinity_prompt_tokens_total{kind="input",model="demo",result="hit"} %d`, 3*u.Input),
			fmt.Sprintf(`evergate_affinity_prompt_tokens_total{kind="input",model="demo",result="miss"} %d`, u.Input),
			`evergate_affinity_total{model="demo",result="hit"} 3`,
			`evergate_affinity_total{model="demo",result="miss"} 1`,
		}
		if !slices.Equal(got, want) || u.CachedInput == 0 {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// R47: a client that leaves amid an answer has had its conversation read: the next request goes there. One that leaves before there was
// any tells nothing.
func TestConversationOfOneWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := mock.Script{Defaults: mock.Behaviour{FirstToken: 2 * time.Second, ChunkDelay: time.Second, Chunks: 10}}
		s := newStack(t, halves, map[string]mock.Script{"a": slow, "b": slow})
		leave := func(key string, after time.Duration) (provider, affinity string) {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			s.post(ctx, "/v1/chat/completions", fmt.Sprintf(`{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}],"prompt_cache_key":%q}`, key), "Authorization", "Bearer key-one")
			time.Sleep(time.Second)
			f := s.facts.last()
			return f.Provider, f.Affinity
		}
		for i := range 10 {
			key := fmt.Sprint("k", i)
			if _, how := leave(key, time.Second); how != "" {
				t.Errorf("before any content: a %q", how)
			}
			first, how := leave(key, 4500*time.Millisecond)
			if first == "" || how != "miss" {
				t.Errorf("amid the answer: %q, a %q", first, how)
			}
			if next, how := leave(key, 4500*time.Millisecond); next != first || how != "hit" {
				t.Errorf("after %s: %s, a %q", first, next, how)
			}
		}
	})
}
