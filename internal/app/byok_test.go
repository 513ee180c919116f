package app

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/mock"
)

const callersKey = "sk-callers-own-0123456789abcdef"

const withCallersKeys = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
resilience: {retry: {max_retries: 0}}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m]}
  b: {type: anthropic, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m]}
  c: {type: openai, base_url: "http://c/v1", models: [m], byok: require}
  d: {type: openai, base_url: "http://d/v1", api_key: sk-key-of-d, models: [m], byok: off}
models:
  demo: {targets: [a/m, b/m, c/m, d/m]}
`

func fourOf(script mock.Script) map[string]mock.Script {
	return map[string]mock.Script{"a": script, "b": script, "c": script, "d": script}
}

// CONTRACT §3 "BYOK": a caller's key is used for its provider alone, in that provider's way, and no provider sees the header.
func TestCallersKeys(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers []string
		keys    string // the last four characters that a, b, c and d saw
		trail   string
	}{
		{"none", nil, "of-a of-b - of-d", "a/m=500, b/m=500, d/m=500"},
		{"one", []string{"x-evergate-key-a", callersKey}, "cdef of-b - of-d", "a/m=500, b/m=500, d/m=500"},
		{"in another dialect's header", []string{"x-evergate-key-b", callersKey}, "of-a cdef - of-d", "a/m=500, b/m=500, d/m=500"},
		{"with its scheme", []string{"X-Evergate-Key-B", "Bearer " + callersKey}, "of-a cdef - of-d", "a/m=500, b/m=500, d/m=500"},
		{"where one is needed", []string{"x-evergate-key-c", callersKey}, "of-a of-b cdef of-d", "a/m=500, b/m=500, c/m=500, d/m=500"},
		{"where none is taken", []string{"x-evergate-key-d", callersKey}, "of-a of-b - -", "a/m=500, b/m=500"},
		{"of nobody", []string{"x-evergate-key-e", callersKey}, "of-a of-b - of-d", "a/m=500, b/m=500, d/m=500"},
		{"empty", []string{"x-evergate-key-a", ""}, "of-a of-b - of-d", "a/m=500, b/m=500, d/m=500"},
	} {
		for _, dialect := range []string{"chat", "messages"} {
			t.Run(tt.name+", "+dialect, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, withCallersKeys, fourOf(do(mock.Behaviour{Status: 500})))
					a := s.askIn(dialect, "demo", "", tt.headers...)
					if trail := a.header.Get("X-Evergate-Trail"); trail != tt.trail {
						t.Errorf("[%s] %s", trail, a.body)
					}
					var keys []string
					for _, name := range []string{"a", "b", "c", "d"} {
						key := "-"
						for _, q := range s.chats(name) {
							key = q.Key
							for header := range q.Header {
								if strings.HasPrefix(header, "X-Evergate-") {
									t.Errorf("%s was sent the header %s", name, header)
								}
							}
						}
						keys = append(keys, key)
					}
					if got := strings.Join(keys, " "); got != tt.keys {
						t.Errorf("the keys were %s, want %s", got, tt.keys)
					}
				})
			})
		}
	}
}

// R8, R18: what is wrong with the caller's own key is between its owner and the provider. A refused one is answered as the
// provider answered it; a limit sends the request on; and nobody else's request finds anything blocked after it.
func TestWhatComesOfCallersKeys(t *testing.T) {
	for _, tt := range []struct {
		name   string
		does   mock.Behaviour
		status int
		trail  string
		counts int // of a's consecutive failures
	}{
		{"refused", mock.Behaviour{Status: 401, Message: "Incorrect API key provided: " + callersKey}, 401, "a/m=401", 0},
		{"forbidden", mock.Behaviour{Status: 403, Message: "no access"}, 403, "a/m=403", 0},
		{"forbidden for the model", mock.Behaviour{Status: 403, Message: "Project does not have access to model `m`", Code: "model_not_found"}, 403, "a/m=403", 0},
		{"limited", mock.Behaviour{Status: 429, RetryAfter: "600"}, 200, "a/m=429, b/m=200", 0},
		{"exhausted", mock.Behaviour{Status: 429, Code: "insufficient_quota", Message: "You exceeded your current quota"}, 200, "a/m=429, b/m=200", 0},
		{"without the model", mock.Behaviour{Status: 404, Code: "model_not_found", Message: "The model `m` does not exist or you do not have access to it."}, 200, "a/m=404, b/m=200", 0},
		{"a failure as any", mock.Behaviour{Status: 500}, 200, "a/m=500, b/m=200", 1},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(tt.name+", stream "+stream, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					script := mock.Script{Defaults: steady(), Rules: []mock.Rule{{Key: callersKey, Do: tt.does}}}
					var log bytes.Buffer
					s := newStackWith(t, parse(t, withCallersKeys), map[string]mock.Script{"a": script, "b": answers(), "c": answers(), "d": answers()}, slog.New(slog.NewJSONHandler(&log, nil)))
					a := s.askIn("chat", "demo", `,"stream":`+stream, "x-evergate-key-a", callersKey)
					if trail := a.header.Get("X-Evergate-Trail"); a.status != tt.status || trail != tt.trail {
						t.Errorf("%d [%s] %s", a.status, trail, a.body)
					}
					if tt.status >= 400 && tt.does.Message != "" && !strings.Contains(a.body, strings.SplitN(tt.does.Message, callersKey, 2)[0]) {
						t.Errorf("the provider's own words are lost: %s", a.body)
					}
					s.breaker("a", "closed")
					view := s.app.health.Provider("a").Snapshot(time.Now()).Guards
					if s.app.health.Provider("a").ConsecutiveFailures() != tt.counts || view.Credentials[0].State != "ok" || len(view.Lockouts) > 0 {
						t.Errorf("the guards learned of it: %+v", view)
					}
					again := s.askIn("chat", "demo", `,"stream":`+stream)
					if trail := again.header.Get("X-Evergate-Trail"); again.status != 200 || trail != "a/m=200" {
						t.Errorf("who brings no key got %d [%s]", again.status, trail)
					}
					synctest.Wait()
					for i := range s.facts.requests {
						s.facts.requests[i].Candidates = nil // the request itself, which lives no longer than it
					}
					facts, _ := json.Marshal(s.facts.requests)
					attempts, _ := json.Marshal(s.facts.attempts)
					for what, text := range map[string]string{
						"the answer": a.body + a.text, "the log": log.String(), "the journal": string(facts) + string(attempts), "the admin API": s.adminPages(),
					} {
						if strings.Contains(text, callersKey[:12]) {
							t.Errorf("%s has the key: %s", what, text)
						}
					}
				})
			})
		}
	}
}

// adminPages is what the admin API tells of requests.
func (s *stack) adminPages() (all string) {
	for _, path := range []string{"/admin/v1/requests", "/admin/v1/health", "/metrics"} {
		req, err := http.NewRequestWithContext(s.t.(*testing.T).Context(), http.MethodGet, "http://gateway"+path, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer admin-token")
		res, err := s.client.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil || len(text) == 0 {
			s.t.Fatal(path, err)
		}
		_ = res.Body.Close()
		all += string(text)
	}
	return all
}

// A provider whose own keys all rest is no such to a caller with a key; an open breaker holds for both (R8, R20).
func TestCallersKeysAndGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := mock.Script{Defaults: steady(), Rules: []mock.Rule{{Key: "sk-key-of-a", Do: mock.Behaviour{Status: 429, RetryAfter: "600"}}}}
		s := newStack(t, withCallersKeys, map[string]mock.Script{"a": script, "b": answers(), "c": answers(), "d": answers()})
		s.askIn("chat", "demo", "")
		if a := s.askIn("chat", "demo", ""); a.header.Get("X-Evergate-Provider") != "b" {
			t.Fatalf("a's key does not rest: [%s]", a.header.Get("X-Evergate-Trail"))
		}
		if a := s.askIn("chat", "demo", "", "x-evergate-key-a", callersKey); a.header.Get("X-Evergate-Provider") != "a" {
			t.Errorf("the caller's key was not used: [%s]", a.header.Get("X-Evergate-Trail"))
		}
		if _, code := s.operate("a", `{"action":"open","reason":"test"}`); code != "" {
			t.Fatal(code)
		}
		if a := s.askIn("chat", "demo", "", "x-evergate-key-a", callersKey); a.header.Get("X-Evergate-Provider") != "b" {
			t.Errorf("an open breaker does not hold: [%s]", a.header.Get("X-Evergate-Trail"))
		}
	})
}

// R72: an explanation knows of keys that a caller would bring, and says who falls without one.
func TestCallersKeysExplained(t *testing.T) {
	cfg := parse(t, withCallersKeys)
	for _, tt := range []struct {
		brings []string
		why    map[string]string // provider to a part of it
		picked map[string]string
	}{
		{nil, map[string]string{"c": "it needs the caller's own key (byok: require); send the header x-evergate-key-c"}, map[string]string{"a": "default", "d": "default"}},
		{[]string{"a", "c", "d"}, map[string]string{"d": "it takes no callers' keys (byok: off)"}, map[string]string{"a": "caller", "b": "default", "c": "caller"}},
	} {
		a, err := Explain(cfg, explain.Question{Model: "demo", Brings: tt.brings})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range a.Candidates {
			if want := tt.why[c.Provider]; want != "" && (!strings.Contains(c.Why, want) || c.Blocked == nil || c.Blocked.Guard != "byok") {
				t.Errorf("%s: %s %+v", c.Provider, c.Why, c.Blocked)
			}
			if want := tt.picked[c.Provider]; want != "" && c.Credential != want {
				t.Errorf("%s is asked with %q", c.Provider, c.Credential)
			}
		}
	}
}

// A passthrough request can bring its key, too, and has to where one is needed.
func TestCallersKeysInPassthrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, withCallersKeys, fourOf(answers()))
		const body = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
		if a := s.post(t.Context(), "/passthrough/c/chat/completions", body); a.status != 400 || !strings.Contains(a.body, "x-evergate-key-c") {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := s.post(t.Context(), "/passthrough/c/chat/completions", body, "x-evergate-key-c", callersKey); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, q := range s.chats("c") {
			if q.Key != "cdef" || q.Header.Get("X-Evergate-Key-C") != "" {
				t.Errorf("it was sent %q and %v", q.Key, q.Header)
			}
		}
		s.mocks["a"].SetScript(mock.Script{Defaults: mock.Behaviour{Status: 401, Message: "Incorrect API key provided: " + callersKey}})
		a := s.post(t.Context(), "/passthrough/a/chat/completions", body, "x-evergate-key-a", callersKey)
		if a.status != 401 || strings.Contains(a.body, callersKey) {
			t.Errorf("%d %s", a.status, a.body)
		}
		if v := s.app.health.Provider("a").Snapshot(time.Now()).Guards; v.Credentials[0].State != "ok" {
			t.Errorf("the gateway's key rests: %+v", v)
		}
	})
}

// Nor does a provider that takes no callers' keys see one when it is asked for an answer that it keeps.
func TestCallersKeysAndKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, withCallersKeys, fourOf(answers()))
		var kept struct{ ID string }
		a := s.post(t.Context(), "/v1/responses", `{"model":"d/m","input":"hi"}`)
		if err := json.Unmarshal([]byte(a.body), &kept); err != nil || kept.ID == "" {
			t.Fatalf("%v %d %s", err, a.status, a.body)
		}
		if res, text := s.do("GET", "/v1/responses/"+kept.ID, nil, "X-Evergate-Key-D", callersKey); res.StatusCode != 400 || !strings.Contains(text, "byok: off") {
			t.Errorf("%d %s", res.StatusCode, text)
		}
		for _, q := range s.mocks["d"].Requests() {
			if q.Key != "of-d" {
				t.Errorf("it was sent %q", q.Key)
			}
		}
	})
}
