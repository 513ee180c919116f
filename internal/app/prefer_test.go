package app

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/mock"
)

// oneOfEach is a request in every dialect that clients speak: %s is for a model and for more members.
var oneOfEach = map[string]struct{ path, body string }{
	"chat":         {"/v1/chat/completions", `{"model":"%s","messages":[{"role":"user","content":"hi"}]%s}`},
	"completions":  {"/v1/completions", `{"model":"%s","prompt":"hi"%s}`},
	"embeddings":   {"/v1/embeddings", `{"model":"%s","input":"hi"%s}`},
	"messages":     {"/v1/messages", `{"model":"%s","max_tokens":9,"messages":[{"role":"user","content":"hi"}]%s}`},
	"count_tokens": {"/v1/messages/count_tokens", `{"model":"%s","messages":[{"role":"user","content":"hi"}]%s}`},
	"responses":    {"/v1/responses", `{"model":"%s","input":"hi"%s}`},
	"gemini":       {"/v1beta/models/%s:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]%[2]s}`},
}

func (s *stack) askIn(dialect, model, more string, headers ...string) answer {
	d := oneOfEach[dialect]
	path, body := d.path, ""
	if dialect == "gemini" {
		path, body = fmt.Sprintf(d.path, model), strings.ReplaceAll(d.body, "%[2]s", more)
	} else {
		body = fmt.Sprintf(d.body, model, more)
	}
	return s.post(s.t.(*testing.T).Context(), path, body, headers...)
}

// CONTRACT §3 "Request control": in every dialect preferences are taken out before a provider sees the request, in the provider's own
// dialect and in translation, and decide who is asked.
func TestPreferencesInEveryDialect(t *testing.T) {
	for dialect := range oneOfEach {
		for _, tt := range []struct {
			name, more, header, want string
		}{
			{"none", "", "", "a"},
			{"the body's order", `,"provider":{"order":["b"]}`, "", "b"},
			{"the header's order", "", "order=b", "b"},
			{"both", `,"provider":{"order":["a"]}`, "order=b", "b"},
			{"only", `,"provider":{"only":["B"]},"models":[]`, "", "b"},
			{"ignored", "", "ignore=a", "b"},
		} {
			t.Run(dialect+", "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, strings.Replace(twoProviders, "b/m2", "b/m", 1), map[string]mock.Script{"a": answers(), "b": answers()})
					a := s.askIn(dialect, "demo", tt.more, "x-evergate-prefer", tt.header)
					if dialect == "count_tokens" { // nobody has it: the gateway answers, which needs the same reading
						if a.status != 200 || !strings.Contains(a.body, "input_tokens") {
							t.Errorf("%d %s", a.status, a.body)
						}
						return
					}
					if a.status != 200 || a.header.Get("X-Evergate-Provider") != tt.want {
						t.Fatalf("%d from %q: %s", a.status, a.header.Get("X-Evergate-Provider"), a.body)
					}
					for _, q := range s.chats(tt.want) {
						for _, word := range []string{`"provider"`, `"models"`, `"order"`} {
							if strings.Contains(string(q.Body), word) {
								t.Errorf("the provider was sent %s", q.Body)
							}
						}
						for name := range q.Header {
							if strings.HasPrefix(name, "X-Evergate-") {
								t.Errorf("the provider was sent the header %s", name)
							}
						}
					}
				})
			})
		}
	}
}

const threeTargets = `
server: {listen: "gateway:80"}
auth: {allow_anonymous: true}
admin: {token: admin-token}
resilience: {retry: {max_retries: 0}}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m, m3], attributes: {region: us, retention: 30d, training: false}}
  b: {type: openai, base_url: "http://b/v1", api_key: sk-key-of-b, models: [m2], attributes: {region: eu, retention: none, training: false}}
  c: {type: openai, base_url: "http://c/v1", api_key: sk-key-of-c, models: [m3]}
models:
  demo: {targets: [a/m, b/m2]}
  other: {targets: [c/m3, a/m]}
`

// What preferences come to, through the whole gateway: who is asked, in which order, and what is said where nobody is left.
func TestPreferences(t *testing.T) {
	down := do(mock.Behaviour{Status: 500})
	for _, tt := range []struct {
		name, more, header string
		a, b, c            mock.Script
		status             int
		trail, says        string
	}{
		{"an order is one of preference", "", "order=b", down, down, down, 502, "b/m2=500, a/m=500", ""},
		{"no fallbacks", "", "fallbacks=no", down, answers(), answers(), 502, "a/m=500", ""},
		{"no fallbacks but the order", `,"provider":{"order":["b","a"],"allow_fallbacks":false}`, "", answers(), down, answers(), 200, "b/m2=500, a/m=200", ""},
		{"more models, each target once", `,"models":["other","demo","other"]`, "", down, down, answers(), 200, "a/m=500, b/m2=500, c/m3=200", ""},
		{"more models by their own names", `,"models":["c/m3"]`, "", down, down, answers(), 200, "a/m=500, b/m2=500, c/m3=200", ""},
		{"no fallbacks within each model", `,"models":["other"],"provider":{"allow_fallbacks":false}`, "", down, answers(), answers(), 200, "a/m=500, c/m3=200", ""},
		{"private", "", "data_collection=deny", answers(), answers(), answers(), 200, "b/m2=200", ""},
		{
			"nobody is left", `,"provider":{"only":["c"]}`, "", answers(), answers(), answers(), 400, "",
			`no target of the model \"demo\" is left by what the request asks for: a/m: the provider is not in the request's only; b/m2: the provider is not in the request's only`,
		},
		{"an unknown model", `,"models":["othr"]`, "", answers(), answers(), answers(), 404, "", `did you mean other?`},
		{"an unknown word", `,"provider":{"ordr":["a"]}`, "", answers(), answers(), answers(), 400, "", `did you mean order?`},
		{"an unknown provider", `,"provider":{"ignore":["aa"]}`, "", answers(), answers(), answers(), 400, "", `provider.ignore: \"aa\" is not known here`},
		{"a body that is no object", `,"provider":"a"`, "", answers(), answers(), answers(), 400, "", `must be an object`},
		{"prices that nobody knows", `,"provider":{"max_price":{"prompt":1}}`, "", answers(), answers(), answers(), 400, "", `a/m: its price is not known`},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(tt.name+", stream "+stream, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, threeTargets, map[string]mock.Script{"a": tt.a, "b": tt.b, "c": tt.c})
					a := s.askIn("chat", "demo", tt.more+`,"stream":`+stream, "x-evergate-prefer", tt.header)
					if got := a.header.Get("X-Evergate-Trail"); a.status != tt.status || got != tt.trail || !strings.Contains(a.body, tt.says) {
						t.Errorf("%d [%s] %s", a.status, got, a.body)
					}
				})
			})
		}
	}
}

// R13, R54, R55: a caller's own deadline ends the request in time, and no provider's guard learns of it.
func TestCallersTimeout(t *testing.T) {
	slow := mock.Script{Defaults: mock.Behaviour{FirstToken: 30 * time.Second, Chunks: 1}}
	for _, stream := range []string{"false", "true"} {
		t.Run("stream "+stream, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": slow, "b": slow})
				for range 6 {
					a := s.askIn("chat", "demo", `,"stream":`+stream, "x-evergate-prefer", "timeout=4s")
					if a.status != 504 || a.errCode != "deadline_exceeded" || a.took != 4*time.Second || trailOf(s, &a) != "a/m=timeout, b/m2=timeout" {
						t.Fatalf("%s after %v [%s]", a.story(), a.took, trailOf(s, &a))
					}
				}
				s.breaker("a", "closed")
				if n := s.app.health.Provider("a").ConsecutiveFailures(); n != 0 {
					t.Errorf("%d failures were counted", n)
				}
			})
		})
	}
}

// A caller's deadline is no excuse: what runs out of its provider's own time is a failure as ever (R2).
func TestCallersTimeoutBesideTheProvidersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+"timeouts: {attempt: 2s}\n", map[string]mock.Script{"a": {Defaults: mock.Behaviour{Latency: time.Minute}}, "b": answers()})
		if a := s.askIn("chat", "demo", "", "x-evergate-prefer", "timeout=20s"); a.status != 200 || a.took < 2*time.Second || a.took > 3*time.Second {
			t.Fatalf("%s after %v", a.story(), a.took)
		}
		if n := s.app.health.Provider("a").ConsecutiveFailures(); n != 1 {
			t.Errorf("%d failures were counted", n)
		}
	})
}

// CONTRACT §4: a model's name that a client has invented never becomes a label, and one that is disabled gives way to those after it.
func TestFurtherModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, threeTargets+"  off: {targets: [{target: a/m, disabled: true}]}\n", map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": do(mock.Behaviour{Status: 500}), "c": answers()})
		if a := s.askIn("chat", "demo", `,"models":["c/invented"]`); a.status != 200 || a.header.Get("X-Evergate-Model") != "c/invented" {
			t.Errorf("%s", a.story())
		}
		synctest.Wait()
		if label := s.facts.attempts[len(s.facts.attempts)-1].ModelLabel; label != "other" {
			t.Errorf("the label is %q", label)
		}
		if a := s.askIn("chat", "off", `,"models":["c/m3"]`); a.status != 200 || trailOf(s, &a) != "c/m3=200" {
			t.Errorf("%s [%s]", a.story(), trailOf(s, &a))
		}
		if a := s.askIn("chat", "off", `,"models":["off"]`); a.status != 404 || !strings.Contains(a.body, "disabled") {
			t.Errorf("%s", a.body)
		}
	})
}

// CONTRACT §3 "Request control": where a request names no model, the first of its "models" is the model, in every dialect and in
// translation; explain tells the same.
func TestModelsAreTheModel(t *testing.T) {
	down := do(mock.Behaviour{Status: 500})
	for dialect := range oneOfEach {
		if dialect == "gemini" || dialect == "count_tokens" { // one has its model in the path, the other asks nobody here
			continue
		}
		for _, tt := range []struct {
			name, more, header string
			status             int
			trail, says        string
		}{
			{"one", `,"models":["c/m3"]`, "", 200, "c/m3=200", ""},
			{"the others after it", `,"models":["a/m3","c/m3"]`, "", 200, "a/m3=500, c/m3=200", ""},
			{"beside null", `,"model":null,"models":["a/m3","c/m3"]`, "", 200, "a/m3=500, c/m3=200", ""},
			{"with a provider", `,"models":["demo","c/m3"],"provider":{"ignore":["a","b"]}`, "", 200, "c/m3=200", ""},
			{"the header's win", `,"models":["demo"]`, "models=c/m3,demo", 200, "c/m3=200", ""},
			{"none", "", "", 400, "", `\"model\" is missing, and so is \"models\"`},
			{"null", `,"models":null`, "", 400, "", `\"model\" is missing, and so is \"models\"`},
			{"an empty list", `,"models":[]`, "", 400, "", `\"model\" is missing, and so is \"models\"`},
			{"no list", `,"models":"demo"`, "", 400, "", `models: must be an array`},
			{"an unknown one", `,"models":["othr"]`, "", 404, "", `did you mean other?`},
		} {
			t.Run(dialect+", "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, threeTargets, map[string]mock.Script{"a": down, "b": down, "c": answers()})
					d := oneOfEach[dialect]
					body := strings.Replace(fmt.Sprintf(d.body, "", tt.more), `"model":"",`, "", 1)
					a := s.post(t.Context(), d.path, body, "x-evergate-prefer", tt.header)
					if got := a.header.Get("X-Evergate-Trail"); a.status != tt.status || got != tt.trail || !strings.Contains(a.body, tt.says) {
						t.Errorf("%d [%s] %s", a.status, got, a.body)
					}
					for _, q := range s.chats("c") {
						if text := string(q.Body); strings.Count(text, `"model"`) != 1 || !strings.Contains(text, `"model":"m3"`) || strings.Contains(text, `"models"`) {
							t.Errorf("the provider was sent %s", text)
						}
					}
					if tt.name != "the others after it" {
						return
					}
					var told explain.Answer
					if s.admin("POST", "explain", body, &told); len(told.Candidates) != 2 || told.Model != "a/m3" || told.Candidates[1].Provider != "c" {
						t.Errorf("explain tells %+v", told)
					}
				})
			})
		}
	}
}

// A key that differs from "model" in the case of its letters alone could have an upstream answer with a model that the caller's key
// may not use: Go's encoding/json takes the last of them. It is refused; escapes and repetitions mean "model" itself.
func TestModelInOtherLetters(t *testing.T) {
	text := strings.Replace(threeTargets, "{allow_anonymous: true}", "{keys: [{name: ci, value: key-of-ci-0123456789, models: [a/m]}]}", 1)
	for dialect := range oneOfEach {
		for _, tt := range []struct {
			name, more string
			status     int
			says       string
		}{
			{"capitals", `,"MODEL":"m3"`, 400, `\"MODEL\" is not known`},
			{"one capital", `,"Model":"m3"`, 400, `\"Model\" is not known`},
			{"escaped", `,"m\u004fdel":"m3"`, 400, `\"mOdel\" is not known`},
			{"escaped, and the same", `,"mod\u0065l":"c/m3"`, 403, "may not use the model"},
			{"twice", `,"model":"c/m3"`, 403, "may not use the model"},
			{"the one allowed twice", `,"model":"c/m3","mod\u0065l":"a/m"`, 200, ""},
			{"further in", `,"metadata":{"Model":"m3"}`, 200, ""},
		} {
			if tt.name == "further in" && (dialect == "completions" || dialect == "embeddings") { // they have no such member
				continue
			}
			if dialect == "gemini" && tt.status == 403 { // its model stands in the path, and one in the body is written anew
				tt.status, tt.says = 200, ""
			}
			t.Run(dialect+", "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers(), "c": answers()})
					a := s.askIn(dialect, "a/m", tt.more, "Authorization", "Bearer key-of-ci-0123456789")
					if a.status != tt.status || !strings.Contains(a.body, tt.says) {
						t.Errorf("%d %s", a.status, a.body)
					}
					for _, q := range s.chats("a") {
						if text := string(q.Body); strings.Contains(text, "c/m3") {
							t.Errorf("the provider was sent %s", text)
						}
					}
				})
			})
		}
	}
}

// R50: a request may choose the strategy, whatever its model's own is, and each of them has its turn.
func TestStrategyOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		first := func(more, header string) map[string]int {
			count := map[string]int{}
			for range 20 {
				count[s.askIn("chat", "demo", more, "x-evergate-prefer", header).header.Get("X-Evergate-Provider")]++
			}
			return count
		}
		if n := first("", ""); n["a"] != 20 {
			t.Errorf("as the model has it: %v", n)
		}
		if n := first("", "strategy=round_robin"); n["a"] != 10 || n["b"] != 10 {
			t.Errorf("in turn: %v", n)
		}
		if n := first(`,"provider":{"sort":"throughput"}`, ""); n["a"] == 0 || n["b"] == 0 {
			t.Errorf("the idlest: %v", n)
		}
		if n := first(`,"provider":{"sort":"throughput"}`, "strategy=ordered"); n["a"] != 20 {
			t.Errorf("the header's: %v", n)
		}
	})
}

// A limit of the price goes by what the catalogue knows, and what the configuration says.
func TestMaxPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, strings.NewReplacer("a/m, b/m2", "a/gpt-4o, b/own", "[m, m3]", "[gpt-4o]", "[m2]", "[own]").Replace(threeTargets)+`
catalog: { own: { input_price: 0.5, output_price: 12 } }
`, map[string]mock.Script{"a": answers(), "b": answers(), "c": answers()})
		for header, want := range map[string]string{
			"max_price=3/20": "a", "max_price=1/20": "b", "max_price=3/11": "a", "max_price=0.1": "",
		} {
			a := s.askIn("chat", "demo", "", "x-evergate-prefer", header)
			if a.header.Get("X-Evergate-Provider") != want || want == "" && (a.status != 400 || !strings.Contains(a.body, "a million tokens of prompt cost $0.5 there, and the request allows $0.1")) {
				t.Errorf("%s: %q %s", header, a.header.Get("X-Evergate-Provider"), a.body)
			}
		}
	})
}
