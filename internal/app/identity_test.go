package app

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

const callers = `
server: {listen: "gateway:80"}
admin: {token: admin-token}
resilience: {retry: {max_retries: 0}}
policies: { eu: {regions: [eu]} }
auth:
  keys:
    - {name: free, value: key-free}
    - {name: chats, value: key-chats, routes: [chat, models]}
    - {name: office, value: key-office, sources: [10.0.0.0/8, "2001:db8::/32"]}
    - {name: one, value: key-one, providers: [b]}
    - {name: bound, value: key-bound, policies: [eu]}
    - {name: lost, value: key-lost, policies: [eu], providers: [b]}
    - {name: old, value: key-old, expires: 1999-01-02}
    - {name: member, value: key-member, team: core}
    - {name: narrow, value: key-narrow, team: core, models: [demo, a/m]}
  teams:
    core: {models: [demo], providers: [a]}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], attributes: {region: eu}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m], attributes: {region: us}}
models:
  demo: {targets: [a/m, b/m]}
`

// call sends a request right to the data plane, from an address.
func (s *stack) call(method, path, from, body string, headers ...string) (int, http.Header, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = from
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.app.ingress.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

const (
	here     = "10.1.2.3:4000"
	chatDemo = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
)

func TestWhatACallerMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, callers, map[string]mock.Script{"a": {}, "b": {}})
		for _, tt := range []struct {
			name, key, method, path, from, body string
			status                              int
			says                                string // or by whom it was answered
		}{
			{"anything", "free", "POST", "/v1/chat/completions", here, chatDemo, 200, "a"},
			{"a route of its own", "chats", "POST", "/v1/chat/completions", here, chatDemo, 200, "a"},
			{"the list of models", "chats", "GET", "/v1/models", here, "", 200, ""},
			{"another route", "chats", "POST", "/v1/messages", here, chatDemo, 403, `"route_not_allowed"`},
			{"another route, without a body that is right", "chats", "POST", "/v1/embeddings", here, "", 403, `\"chats\" may not use the route embeddings; it may use chat, models`},
			{"a count", "chats", "POST", "/v1/messages/count_tokens", here, "", 403, "the route messages"},
			{"Google's", "chats", "POST", "/v1beta/models/demo:generateContent", here, "", 403, "the route gemini"},
			{"files", "chats", "GET", "/v1/files", here, "", 403, "the route files"},
			{"uploads", "chats", "POST", "/v1/uploads", here, "", 403, "the route files"},
			{"batches", "chats", "GET", "/v1/batches/x", here, "", 403, "the route batches"},
			{"an answer that is kept", "chats", "GET", "/v1/responses/resp_1", here, "", 403, "the route responses"},
			{"passthrough", "chats", "GET", "/passthrough/a/x", here, "", 403, "the route passthrough"},
			{"speech", "chats", "POST", "/v1/audio/speech", here, "", 403, "the route audio"},
			{"images", "chats", "POST", "/v1/images/edits", here, "", 403, "the route images"},
			{"moderations", "chats", "POST", "/v1/moderations", here, "", 403, "the route moderations"},
			{"rerank", "chats", "POST", "/v1/rerank", here, "", 403, "the route rerank"},
			{"completions", "chats", "POST", "/v1/completions", here, "", 403, "the route completions"},
			{"from where it may", "office", "POST", "/v1/chat/completions", here, chatDemo, 200, "a"},
			{"from where it may, in IPv6", "office", "POST", "/v1/chat/completions", "[2001:db8::7]:1", chatDemo, 200, "a"},
			{"from elsewhere", "office", "POST", "/v1/chat/completions", "192.0.2.1:1", chatDemo, 403, `"source_not_allowed"`},
			{"from elsewhere, the list of models", "office", "GET", "/v1/models", "192.0.2.1:1", "", 403, "source_not_allowed"},
			{"from nowhere", "office", "POST", "/v1/chat/completions", "@", chatDemo, 403, "source_not_allowed"},
			{"a provider of its own", "one", "POST", "/v1/chat/completions", here, chatDemo, 200, "b"},
			{"another provider", "one", "POST", "/v1/chat/completions", here, strings.Replace(chatDemo, "demo", "a/m", 1), 403, `a/m: the key \"one\" may not be served by it`},
			{"another provider's passthrough", "one", "GET", "/passthrough/a/x", here, "", 403, `the key \"one\" may not be served by it`},
			{"a policy", "bound", "POST", "/v1/chat/completions", here, strings.Replace(chatDemo, "demo", "b/m", 1), 403, `the policy \"eu\" refuses it`},
			{"a policy and a provider that fit nobody", "lost", "POST", "/v1/chat/completions", here, chatDemo, 403, `"policy_denied"`},
			{"after its end", "old", "POST", "/v1/chat/completions", here, chatDemo, 401, "has expired"},
			{"a team's model", "member", "POST", "/v1/chat/completions", here, chatDemo, 200, "a"},
			{"none of the team's models", "narrow", "POST", "/v1/chat/completions", here, strings.Replace(chatDemo, "demo", "a/m", 1), 403, "model_not_allowed"},
			{"a team's list and passthrough", "member", "GET", "/passthrough/a/x", here, "", 403, "limited to some models"},
			{"no key", "", "POST", "/v1/chat/completions", here, chatDemo, 401, "is missing"},
			{"a slip", "eg_", "POST", "/v1/chat/completions", here, chatDemo, 401, "checksum"},
		} {
			headers := []string{"Content-Type", "application/json"}
			if tt.key == "eg_" {
				headers = append(headers, "Authorization", "Bearer eg_0123456789_x")
			} else if tt.key != "" {
				headers = append(headers, "Authorization", "Bearer key-"+tt.key)
			}
			status, h, body := s.call(tt.method, tt.path, tt.from, tt.body, headers...)
			if status != tt.status || tt.status != 200 && !strings.Contains(body, tt.says) || tt.status == 200 && h.Get("X-Evergate-Provider") != tt.says {
				t.Errorf("%s: %d %s %s", tt.name, status, h.Get("X-Evergate-Provider"), body)
			}
		}
	})
}

// The key is where each SDK sends it, and two that differ are not guessed between.
func TestWhereKeysAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, callers, map[string]mock.Script{"a": {}, "b": {}})
		const chat, gemini = "/v1/chat/completions", "/v1beta/models/demo:generateContent"
		for _, tt := range []struct {
			name, path string
			headers    []string
			status     int
		}{
			{"OpenAI's", chat, []string{"Authorization", "Bearer key-free"}, 200},
			{"Anthropic's", chat, []string{"X-Api-Key", "key-free"}, 200},
			{"Azure's", chat, []string{"Api-Key", "key-free"}, 200},
			{"Google's", gemini, []string{"X-Goog-Api-Key", "key-free"}, 200},
			{"Google's in the query", gemini + "?key=key-free", nil, 200},
			{"in the query of others", chat + "?key=key-free", nil, 401},
			{"the same twice", gemini + "?key=key-free", []string{"X-Goog-Api-Key", "key-free", "Authorization", "Bearer key-free"}, 200},
			{"two", chat, []string{"X-Api-Key", "key-free", "Authorization", "Bearer key-one"}, 401},
			{"a good one and another", chat, []string{"X-Api-Key", "key-free", "Authorization", "Bearer nobody's"}, 401},
			{"two lines", chat, []string{"Authorization", "Bearer key-free", "Authorization", "Bearer key-one"}, 401},
			{"a header and the query", gemini + "?key=key-one", []string{"X-Goog-Api-Key", "key-free"}, 401},
			{"for a proxy, and one", chat, []string{"Authorization", "Basic eDp5", "X-Api-Key", "key-free"}, 200},
		} {
			body := chatDemo
			if strings.HasPrefix(tt.path, gemini) {
				body = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
			}
			status, _, reply := s.call("POST", tt.path, here, body, append(tt.headers, "Content-Type", "application/json")...)
			if status != tt.status {
				t.Errorf("%s: %d %s", tt.name, status, reply)
			}
			if strings.Contains(reply, "key-free") || strings.Contains(reply, "key-one") {
				t.Errorf("%s: the reply has the key: %s", tt.name, reply)
			}
		}
	})
}

// A key that is made at run time serves at once, survives a reload, is known by name in facts, and nothing shows it.
func TestMadeKeyServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, callers, map[string]mock.Script{"a": {}, "b": {}})
		var made struct{ ID, Key, Name string }
		if status, text := s.keyAPI("POST", "keys", `{"name":"night","routes":["chat"],"providers":["b"]}`, &made); status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
		chat := func(key string) (int, http.Header, string) {
			return s.call("POST", "/v1/chat/completions", here, chatDemo, "Authorization", "Bearer "+key, "Content-Type", "application/json")
		}
		if status, h, body := chat(made.Key); status != 200 || h.Get("X-Evergate-Provider") != "b" {
			t.Fatalf("%d %s", status, body)
		}
		if last := s.facts.last(); last.Key != "night" {
			t.Errorf("the fact names %q", last.Key)
		}
		s.next = parse(t, callers)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if status, _, body := chat(made.Key); status != 200 {
			t.Errorf("after a reload: %d %s", status, body)
		}
		if _, text := s.keyAPI("POST", "explain?model=demo&dialect=messages&key=night", "", nil); !strings.Contains(text, "route_not_allowed") {
			t.Errorf("explained as %s", text)
		}
		if all := s.adminPages(); strings.Contains(all, made.Key) || strings.Contains(all, made.Key[14:50]) {
			t.Error("a page shows the key")
		}
		var turned struct{ Key string }
		s.keyAPI("POST", "keys/night/rotate", `{"overlap":"1m"}`, &turned)
		time.Sleep(time.Minute)
		if status, _, body := chat(made.Key); status != 401 || !strings.Contains(body, "was replaced") {
			t.Errorf("the old key, later: %d %s", status, body)
		}
		s.keyAPI("DELETE", "keys/"+made.ID, "", nil)
		if status, _, body := chat(turned.Key); status != 401 {
			t.Errorf("the revoked key: %d %s", status, body)
		}
		if status, text := s.keyAPI("POST", "keys", `{"name":"x","policies":["uk"]}`, nil); status != 400 || !strings.Contains(text, "no policy") {
			t.Errorf("a policy that is none: %d %s", status, text)
		}
	})
}

// keyAPI asks the admin API, also where the reply has a key in it.
func (s *stack) keyAPI(method, path, body string, into any) (int, string) {
	s.t.Helper()
	res := s.adminOpen(s.t.(*testing.T).Context(), method, "/admin/v1/"+path, body)
	defer res.Body.Close()
	var text json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&text); err != nil {
		s.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatal(err)
		}
	}
	return res.StatusCode, string(text)
}
