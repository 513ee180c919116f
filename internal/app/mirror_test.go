package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/journal"
	"evergate/internal/mock"
)

// mirrored is a model with a mirror at c, which every request is copied to.
const mirrored = `
server: {listen: "gateway:80", shutdown_grace: 30s}
auth: {allow_anonymous: true}
admin: {token: admin-token}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2]}
  c: {type: %s, base_url: "http://c/v1", api_key: sk-key-of-c, models: [new]}
models:
  demo: {targets: [a/m, b/m2], mirror: {target: c/new, share: 1%s}}
`

func mirroredAt(vendor, more string) string { return fmt.Sprintf(mirrored, vendor, more) }

// copies are the facts of the copies so far.
func (s *stack) copies() []journal.Mirror {
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	return append([]journal.Mirror(nil), s.facts.mirrors...)
}

// outcomes are the words of the copies so far.
func (s *stack) outcomes() string {
	var words []string
	for _, m := range s.copies() {
		words = append(words, m.Outcome)
	}
	return strings.Join(words, " ")
}

// A copy is said in the mirror's dialect, plain or as a stream, with the mirror's model and key. It is recorded, and its answer
// reaches nobody: what the user gets, and when, is what it would be without a mirror.
func TestMirrorInEveryDialect(t *testing.T) {
	for _, vendor := range []string{"openai", "anthropic"} {
		for dialect := range oneOfEach {
			for _, stream := range []string{"", `,"stream":true`} {
				if dialect == "gemini" && stream != "" || dialect == "embeddings" || dialect == "count_tokens" {
					continue
				}
				t.Run(dialect+stream+" to "+vendor, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						scripts := map[string]mock.Script{"a": answers(), "b": answers(), "c": {Defaults: mock.Behaviour{Latency: 3 * time.Second, Text: "a new voice"}}}
						plain := newStack(t, strings.Replace(mirroredAt(vendor, ""), "share: 1", "share: 0", 1), scripts)
						want := plain.askIn(dialect, "demo", stream)
						s := newStack(t, mirroredAt(vendor, ""), scripts)
						got := s.askIn(dialect, "demo", stream)
						if got.status != 200 || got.text != want.text || got.took != want.took || got.first != want.first || got.finish != want.finish || len(got.body) != len(want.body) {
							t.Errorf("with a mirror the user has\n%d %q after %s, %d bytes, and without\n%d %q after %s, %d bytes", got.status, got.text, got.took, len(got.body), want.status, want.text, want.took, len(want.body))
						}
						if trail := got.header.Get("X-Evergate-Trail"); trail != want.header.Get("X-Evergate-Trail") {
							t.Errorf("the trail is %q", trail)
						}
						time.Sleep(10 * time.Second)
						seen := s.chats("c")
						if len(seen) != 1 || len(plain.chats("c")) != 0 {
							t.Fatalf("the mirror saw %d requests, and without a share %d", len(seen), len(plain.chats("c")))
						}
						q, body := &seen[0], string(seen[0].Body)
						if q.Model != "new" || q.Key != "of-c" || !strings.Contains(body, `"hi"`) || q.Stream != (stream != "") || strings.Contains(body, "demo") {
							t.Errorf("the mirror was asked %s with the key %q for %q: %s", q.Path, q.Key, q.Model, body)
						}
						if native := vendor == "anthropic"; native != strings.HasSuffix(q.Path, "/messages") {
							t.Errorf("the mirror was asked at %s", q.Path)
						}
						copies := s.copies()
						if len(copies) != 1 {
							t.Fatalf("%d copies recorded", len(copies))
						}
						m := copies[0]
						if m.Outcome != "ok" || m.Status != 200 || m.Route != "demo" || m.Provider != "c" || m.Model != "new" || m.Dialect != dialect || m.Stream != q.Stream ||
							m.RequestID != got.header.Get("X-Evergate-Request-Id") && m.RequestID != got.header.Get("X-Request-Id") ||
							m.Duration < 3*time.Second || m.FirstContent < 3*time.Second || !m.Usage.Known || m.Usage.Output == 0 || m.Finish == "" {
							t.Errorf("recorded: %+v", m)
						}
						if n := len(s.facts.requests); n != 1 || s.facts.last().Provider != "a" {
							t.Errorf("%d requests recorded, the last by %q", n, s.facts.last().Provider)
						}
						var past explain.Past
						s.admin("GET", "explain/"+m.RequestID, "", &past)
						if past.Mirror == nil || past.Mirror.Outcome != "ok" || past.Mirror.Provider != "c" || !strings.Contains(past.Summary, "A copy went to the mirror c/new: ok after 3s.") {
							t.Errorf("of the past: %+v %s", past.Mirror, past.Summary)
						}
						why := map[string]string{}
						for _, f := range s.facts.attempts {
							why[f.Provider] += f.Why + " "
						}
						if why["a"] != "first " || why["c"] != "mirror " || why["b"] != "" {
							t.Errorf("attempts: %v", why)
						}
					})
				})
			}
		}
	}
}

// The client's leave does not end a copy.
func TestMirrorOutlivesTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, mirroredAt("openai", ""), map[string]mock.Script{
			"a": do(mock.Behaviour{Hang: mock.BeforeHeaders}), "b": answers(), "c": {Defaults: mock.Behaviour{Latency: 5 * time.Second}},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.post(ctx, "/v1/chat/completions", `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		time.Sleep(10 * time.Second)
		if got := s.facts.last().Status; got != statusGone {
			t.Errorf("the client's request ended with %d", got)
		}
		if got := s.outcomes(); got != "ok" {
			t.Errorf("the copy ended %q", got)
		}
	})
}

// Whatever the mirror does is its own affair: one attempt, and no failover, retry or wait. Its guards learn of it as of any
// attempt (and R13 holds for a copy that was given up), and what they block is not asked, not even as a last resort (R51).
func TestMirrorInTrouble(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c        mock.Behaviour
		outcomes string // of seven copies, one every other second
		asked    int
		counted  string
	}{
		{"down", mock.Behaviour{Status: 500}, "upstream_error upstream_error upstream_error upstream_error upstream_error blocked blocked", 5, " failures=5"},
		{"limited", mock.Behaviour{Status: 429, RetryAfter: "600"}, "rate_limited blocked blocked blocked blocked blocked blocked", 1, ""},
		{"refuses", mock.Behaviour{Status: 400, Message: "no"}, "rejected rejected rejected rejected rejected rejected rejected", 7, ""},
		{"cuts", mock.Behaviour{Cut: mock.After(2), Chunks: 4, ChunkSize: 4}, "cut cut cut cut cut blocked blocked", 5, " failures=5"},
		{"talks on", mock.Behaviour{ChunkDelay: 2 * time.Second, Chunks: 100, ChunkSize: 1, Text: strings.Repeat("x", 200)}, "late late late late late late late", 7, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, mirroredAt("openai", ", timeout: 20s"), map[string]mock.Script{"a": answers(), "b": answers(), "c": {Defaults: tt.c}})
				for range 7 {
					if a := s.ask("demo", true); a.status != 200 || a.header.Get("X-Evergate-Trail") != "a/m=200" || !a.done {
						t.Errorf("the user got %d %s", a.status, a.body)
					}
					time.Sleep(2 * time.Second)
				}
				time.Sleep(time.Minute)
				if got := s.outcomes(); got != tt.outcomes {
					t.Errorf("outcomes: %s", got)
				}
				if n := len(s.chats("c")); n != tt.asked {
					t.Errorf("the mirror was asked %d times", n)
				}
				if got := s.counted("c"); tt.counted != "" && got != tt.counted || tt.outcomes[0] == 'l' && got != "" {
					t.Errorf("its guards have%s", got)
				}
				for _, line := range s.metrics("evergate_requests_total") {
					if !strings.Contains(line, `provider="a"`) || !strings.HasSuffix(line, " 7") {
						t.Error(line)
					}
				}
				if lines := s.metrics("evergate_retries_total"); strings.Contains(strings.Join(lines, " "), "} 1") {
					t.Error(lines)
				}
			})
		})
	}
}

// What there is no room for is not copied, and is counted; nobody waits for it. A place that is free again is used.
func TestMirrorWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, mirroredAt("openai", ", max_in_flight: 2"), map[string]mock.Script{
			"a": answers(), "b": answers(), "c": {Defaults: mock.Behaviour{Latency: 10 * time.Second}},
		})
		for _, a := range s.together(5, func(int) answer { return s.ask("demo", false) }) {
			if a.status != 200 || a.took > time.Second {
				t.Errorf("%d after %s", a.status, a.took)
			}
		}
		if got := s.outcomes(); got != "dropped dropped dropped" {
			t.Errorf("while two are under way: %s", got)
		}
		time.Sleep(time.Minute)
		_ = s.ask("demo", false)
		time.Sleep(time.Minute)
		if got := s.outcomes(); got != "dropped dropped dropped ok ok ok" {
			t.Errorf("at the end: %s", got)
		}
		want := `evergate_mirrors_total{model="demo",outcome="dropped",provider="c"} 3 evergate_mirrors_total{model="demo",outcome="ok",provider="c"} 3`
		if got := strings.Join(s.metrics("evergate_mirrors_total"), " "); got != want {
			t.Errorf("%s", got)
		}
		if got := strings.Join(s.metrics("evergate_mirror_duration_seconds_count"), " "); got != `evergate_mirror_duration_seconds_count{model="demo",provider="c"} 3` {
			t.Errorf("%s", got)
		}
	})
}

// A stop waits for copies as for requests, cuts them off at the end of the grace period, and leaves nothing behind.
func TestMirrorAtTheStop(t *testing.T) {
	for _, tt := range []struct {
		takes   time.Duration
		outcome string
		stop    time.Duration
	}{{5 * time.Second, "ok", 5 * time.Second}, {50 * time.Second, "stopped", 10 * time.Second}} {
		t.Run(tt.outcome, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails where a goroutine is left
				s := newStack(t, mirroredAt("openai", ""), map[string]mock.Script{"a": {}, "b": {}, "c": {Defaults: mock.Behaviour{Latency: tt.takes}}})
				_ = s.ask("demo", false)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				_ = s.app.Stop(ctx)
				if took := time.Since(start).Round(time.Second); took != tt.stop {
					t.Errorf("it took %s to stop", took)
				}
				if got := s.outcomes(); got != tt.outcome {
					t.Errorf("the copy ended %q", got)
				}
			})
		})
	}
}

// A reload's limits hold for new copies; those under way count.
func TestMirrorAfterAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, mirroredAt("openai", ", max_in_flight: 1"), map[string]mock.Script{
			"a": answers(), "b": answers(), "c": {Defaults: mock.Behaviour{Latency: 30 * time.Second}},
		})
		reload := func(text string) {
			t.Helper()
			if s.next = parse(t, text); s.app.Reload() != nil {
				t.Fatal("refused")
			}
		}
		ask := func() { _ = s.ask("demo", false) }
		ask()
		ask() // no room
		reload(mirroredAt("openai", ", max_in_flight: 2, timeout: 2s"))
		ask()
		ask() // no room
		time.Sleep(time.Minute)
		reload(strings.Replace(mirroredAt("openai", ""), "share: 1", "share: 0", 1))
		ask()
		time.Sleep(time.Minute)
		if got := s.outcomes(); got != "dropped dropped late ok" {
			t.Errorf("%s", got)
		}
	})
}

// Only what asks for a model's words and does nothing else is copied; what a provider keeps, or does for a request, is not
// done twice.
func TestMirrorCopiesNoEffects(t *testing.T) {
	for _, tt := range []struct {
		name, dialect, more string
		copied              bool
		says, saysNot       string // the copy
	}{
		{"a chat", "chat", ``, true, "", "store"},
		{"a chat to be kept", "chat", `,"store":true`, true, `"store":false`, `"store":true`},
		{"an answer that is kept", "responses", ``, true, `"store":false`, ""},
		{"an answer to be kept", "responses", `,"store":true`, true, `"store":false`, `"store":true`},
		{"in the background", "responses", `,"background":true`, false, "", ""},
		{"a conversation of the provider's", "responses", `,"conversation":"conv_1"`, false, "", ""},
		{"an answer of the provider's", "responses", `,"previous_response_id":"resp_1"`, false, "", ""},
		{"a remote server's tools", "responses", `,"tools":[{"type":"web_search"},{"type":"mcp","server_label":"x","server_url":"https://x"}]`, false, "", ""},
		{"other tools", "responses", `,"tools":[{"type":"function","name":"mcp","parameters":{}}]`, true, "mcp", ""},
		{"a search", "messages", `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`, true, "", ""},
		{"code that a provider runs", "messages", `,"tools":[{"type":"code_execution_20250522","name":"code_execution"}]`, false, "", ""},
		{"an answer to be kept, in a translation", "gemini", `,"store":true`, true, "", `"store":true`},
		{"an Anthropic MCP server", "messages", `,"mcp_servers":[{"type":"url","url":"https://x","name":"x"}]`, false, "", ""},
		{"no MCP server", "messages", `,"mcp_servers":[]`, true, "", ""},
		{"a container", "messages", `,"container":"container_1"`, false, "", ""},
		{"embeddings", "embeddings", ``, false, "", ""},
		{"a count", "count_tokens", ``, false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, mirroredAt("openai", ""), map[string]mock.Script{"a": {}, "b": {}, "c": {}})
				d := oneOfEach[tt.dialect]
				body := fmt.Sprintf(d.body, "demo", tt.more)
				said, err := s.app.ingress.Explain(t.Context(), explain.Question{Body: []byte(body), Dialect: tt.dialect, Model: "demo"})
				if err != nil || said.Mirror != nil && said.Mirror.Copied != tt.copied || said.Mirror == nil && tt.dialect != "count_tokens" {
					t.Errorf("%v, and the explanation has %+v", err, said)
				}
				_ = s.askIn(tt.dialect, "demo", tt.more, "Idempotency-Key", "once")
				time.Sleep(time.Second)
				seen := s.chats("c")
				if len(seen) > 0 != tt.copied {
					t.Fatalf("copied: %t (%s)", len(seen) > 0, s.outcomes())
				}
				if !tt.copied {
					return
				}
				if body = string(seen[0].Body); !strings.Contains(body, tt.says) || tt.saysNot != "" && strings.Contains(body, tt.saysNot) {
					t.Errorf("the copy: %s", body)
				}
				if key := seen[0].Header.Get("Idempotency-Key"); key == "once" {
					t.Error("the copy has the request's idempotency key")
				}
			})
		})
	}
}

// A conversation that the gateway keeps is copied whole.
func TestMirrorOfAKeptConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(mirroredAt("openai", ""), "a: {type: openai,", "a: {type: anthropic,", 1)
		s := newStack(t, text, map[string]mock.Script{"a": {}, "b": {}, "c": {}})
		var kept struct{ ID string }
		a := s.askIn("responses", "demo", "")
		if err := json.Unmarshal([]byte(a.body), &kept); err != nil || kept.ID == "" {
			t.Fatalf("%d %s", a.status, a.body)
		}
		time.Sleep(time.Second)
		a = s.post(t.Context(), "/v1/responses", `{"model":"demo","input":"and then?","previous_response_id":"`+kept.ID+`"}`)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		time.Sleep(time.Second)
		seen := s.chats("c")
		if len(seen) != 2 {
			t.Fatalf("%d copies", len(seen))
		}
		if body := string(seen[1].Body); !strings.Contains(body, "and then?") || !strings.Contains(body, `hi`) || strings.Contains(body, kept.ID) {
			t.Errorf("the copy: %s", body)
		}
	})
}

const mirroredAndGoverned = `
server: {listen: "gateway:80"}
admin: {token: admin-token}
policies:
  quiet: {training: false}
  eu-only: {regions: [eu]}
auth:
  mode: keys
  keys: [ {name: free, value: key-free}, {name: bound, value: key-bound, policy: eu-only} ]
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], attributes: {region: eu, retention: none, training: false}}
  c: {type: openai, base_url: "http://c/v1", api_key: sk-key-of-c, models: [new], attributes: {region: us, training: true}}
  d: {type: openai, base_url: "http://d/v1", models: [m], byok: require, attributes: {region: eu}}
models:
  demo: {targets: [a/m], mirror: {target: c/new, share: 1}}
  strict: {targets: [a/m], mirror: {target: c/new, share: 1}, policy: quiet}
  inner: {targets: [a/m], policy: quiet}
  outer: {targets: [inner, a/m], mirror: {target: c/new, share: 1}}
  plain: {targets: [demo]}
  keyless: {targets: [a/m], mirror: {target: d/m, share: 1}}
  at-home: {targets: [a/m], mirror: {target: {target: a/m, params: {temperature: 0}}, share: 1}}
`

// A copy goes where any candidate of the request might, and nowhere else: policies, preferences and keys hold for it (RESILIENCE
// §5); and an explanation says so beforehand.
func TestMirrorWithinThePolicies(t *testing.T) {
	for _, tt := range []struct {
		name, global, key, model, header string
		brings                           string
		to                               string // empty: nowhere
		why                              string
	}{
		{"nothing in the way", "", "free", "demo", "", "", "c", "100 % of such requests are copied to c/new, and its answers are thrown away."},
		{"the policy of all requests", "quiet", "free", "demo", "", "", "", `No copy goes to the mirror c/new: the policy "quiet" refuses it by training: it trains on what it is sent.`},
		{"the key's policy", "", "bound", "demo", "", "", "", `by regions: its region is us, allowed is eu`},
		{"the model's policy", "", "free", "strict", "", "", "", `by training`},
		{"the policy of a model within it", "", "free", "outer", "", "", "", `by training`},
		{"the request's policy", "", "free", "demo", "policy=quiet", "", "", `by training`},
		{"the policy of a model after it", "", "free", "demo", "models=strict", "", "", `by training`},
		{"only", "", "free", "demo", "only=a", "", "", "the provider is not in the request's only"},
		{"ignore", "", "free", "demo", "ignore=c", "", "", "the request ignores the provider"},
		{"data_collection", "", "free", "demo", "data_collection=deny", "", "", "it is not known not to train"},
		{"no fallbacks", "", "free", "demo", "fallbacks=no", "", "", "the request wants no fallbacks"},
		{"no fallbacks but these", "", "free", "demo", "order=a+c;fallbacks=no", "", "c", "are copied"},
		{"the caller's own key for it", "", "free", "demo", "", "c", "", "the caller brought its own key for the provider, which no copy carries"},
		{"the caller's own key for another", "", "free", "demo", "", "a", "c", "are copied"},
		{"a provider that needs the caller's own", "", "free", "keyless", "", "", "", "it needs the caller's own key (byok: require), which no copy carries"},
		{"one that the caller brought", "", "free", "keyless", "", "d", "", "which no copy carries"},
		{"a model within the one asked for", "", "free", "plain", "", "", "", ""},
		{"the same target with other parameters", "", "free", "at-home", "", "", "a", "copied to a/m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, "policy: \""+tt.global+"\"\n"+mirroredAndGoverned, map[string]mock.Script{"a": {}, "c": {}, "d": {}})
				header := strings.ReplaceAll(tt.header, "+", ",")
				headers := []string{"x-evergate-prefer", header, "Authorization", "Bearer key-" + tt.key}
				q := explain.Question{Model: tt.model, Key: tt.key, Prefer: header}
				if tt.brings != "" {
					headers = append(headers, "x-evergate-key-"+tt.brings, "sk-callers-own")
					q.Brings = []string{tt.brings}
				}
				said, err := s.app.ingress.Explain(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if a := s.askIn("chat", tt.model, "", headers...); a.status != http.StatusOK {
					t.Fatalf("%d %s", a.status, a.body)
				}
				time.Sleep(time.Second)
				got := ""
				if copies := s.copies(); len(copies) > 0 {
					got = copies[0].Provider
				}
				if got != tt.to {
					t.Errorf("a copy went to %q", got)
				}
				for _, name := range []string{"c", "d"} {
					if seen := s.chats(name); len(seen) > 0 && (name != tt.to || seen[0].Key != "of-"+name) {
						t.Errorf("%s was asked with the key %q", name, seen[0].Key)
					}
				}
				switch m := said.Mirror; {
				case tt.why == "":
					if m != nil {
						t.Errorf("the explanation has %+v", m)
					}
				case m == nil || m.Copied != (tt.to != "") || !strings.Contains(m.Why, tt.why) || m.Share != 1 || !strings.Contains(said.Summary, m.Why):
					t.Errorf("the explanation has %+v: %s", m, said.Summary)
				}
			})
		})
	}
}

// The same with copies beside half of the requests, at a mirror that fails, breaks off and is slow: they leave nothing behind, and
// no client has anything of them.
func TestMirrorsLeakNothing(t *testing.T) {
	usual := mock.Behaviour{Latency: time.Millisecond, ChunkDelay: 100 * time.Microsecond, Chunks: 10}
	slow := usual
	slow.Latency = 20 * time.Millisecond
	c := &crowd{
		config: `
providers:
  a: {type: openai, base_url: "%s", api_key: sk-key-of-a, models: [m]}
  c: {type: anthropic, base_url: "%s", api_key: sk-key-of-c, models: [new]}
models: {demo: {targets: [a/m], mirror: {target: c/new, share: 0.5, max_in_flight: 20, timeout: 25ms}}}
`,
		scripts: []mock.Script{{Defaults: usual}, {
			Defaults: slow,
			Rules:    []mock.Rule{{Probability: 0.2, Do: mock.Behaviour{Status: 500}}, {Probability: 0.2, Do: mock.Behaviour{Reset: mock.After(2)}}, {Probability: 0.3, Do: usual}},
		}},
		ask: func(n int) request {
			return request{path: "/v1/chat/completions", body: fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, n%2 == 0)}
		},
	}
	c.run(t, 2000)
	if n := c.mocks[1].Counts().Requests; n < 20 {
		t.Errorf("%d copies are too few to tell anything", n)
	}
}
