package app

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

const placedGuards = `
server: {listen: "gateway:80"}
admin: {token: admin-token}
auth:
  keys:
    - {name: free, value: key-of-free}
    - {name: held, value: key-of-held, guardrails: [pii]}
    - {name: teamed, value: key-of-teamed, team: red}
  teams: {red: {guardrails: [pii]}}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [m], passthrough: on}
models:
  open: {targets: [a/m]}
  shut: {targets: [a/m], guardrails: [pii]}
  outer: {targets: [shut]}
guardrails:
  pii: {find: [email]}
`

// A guard holds by the model, also of one within another, by the key and by its team; a request names further models, whose guards hold too.
func TestGuardrailsAttach(t *testing.T) {
	for _, c := range []struct {
		name, key, model, more string
		held                   bool
	}{
		{"nothing", "free", "open", "", false},
		{"the model", "free", "shut", "", true},
		{"a model within", "free", "outer", "", true},
		{"a model to go on with", "free", "open", `,"models":["shut"]`, true},
		{"the key", "held", "open", "", true},
		{"the key, past the models", "held", "a/m", "", true},
		{"the team", "teamed", "open", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, placedGuards, map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: "Ask " + plantedMail + "!"}}})
				body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"I am %s"}]%s}`, c.model, plantedMail, c.more)
				a := s.raw("/v1/chat/completions", body, "Authorization", "Bearer key-of-"+c.key)
				if a.status != 200 || strings.Contains(a.body, "[EMAIL]") != c.held || strings.Contains(a.body, plantedMail) == c.held {
					t.Errorf("%d %s", a.status, a.body)
				}
				if seen := s.prompted("a"); len(seen) != 1 || strings.Contains(string(seen[0].Body), plantedMail) == c.held {
					t.Errorf("%s", seen[0].Body)
				}
			})
		})
	}
}

// What is not looked into does not pass where guards hold.
func TestGuardrailsAndPassthrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, placedGuards, map[string]mock.Script{"a": {}})
		for _, path := range []string{"/passthrough/a/chat/completions", "/v1/files", "/v1/batches"} {
			a := s.raw(path, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer key-of-held")
			if a.status != 403 || !strings.Contains(a.body, "route_not_allowed") || !strings.Contains(a.body, "guardrail") {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
		if n := len(s.prompted("a")); n != 0 {
			t.Errorf("%d were asked", n)
		}
		if a := s.raw("/passthrough/a/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer key-of-free"); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// An answer that the provider keeps as it was is kept here as it was let out: nobody gets around a guard by asking for it again. The conversation
// goes on with what the provider was told.
func TestGuardrailsAndKeptAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, everyVendor+guards, map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: "Ask " + plantedMail + "!"}}})
		a := s.raw("/v1/responses", `{"model":"responses/m","input":"I am `+plantedMail+`"}`)
		var first struct{ ID string }
		if err := json.Unmarshal([]byte(a.body), &first); err != nil || a.status != 200 || first.ID == "" {
			t.Fatalf("%d %v %s", a.status, err, a.body)
		}
		for _, path := range []string{"", "/input_items"} {
			res, err := s.client.Get("http://gateway/v1/responses/" + first.ID + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if res.StatusCode != 200 || strings.Contains(string(text), plantedMail) || !strings.Contains(string(text), "[EMAIL]") {
				t.Errorf("%s: %d %s", path, res.StatusCode, text)
			}
		}
		a = s.raw("/v1/responses", `{"model":"responses/m","input":"and I am `+plantedMail+`","previous_response_id":"`+first.ID+`"}`)
		var second struct{ ID string }
		if err := json.Unmarshal([]byte(a.body), &second); err != nil || a.status != 200 {
			t.Fatalf("%d %v %s", a.status, err, a.body)
		}
		if res, err := s.client.Get("http://gateway/v1/responses/" + second.ID + "/input_items"); err != nil {
			t.Error(err)
		} else if text, _ := io.ReadAll(res.Body); strings.Contains(string(text), plantedMail) || !strings.Contains(string(text), "and I am [EMAIL]") || res.Body.Close() != nil {
			t.Errorf("%s", text)
		}
		a = s.raw("/v1/responses", `{"model":"responses/m","input":"go on","previous_response_id":"`+second.ID+`"}`)
		seen := s.prompted("a")
		if a.status != 200 || len(seen) != 3 || strings.Count(string(seen[2].Body), "[EMAIL]") != 4 {
			t.Errorf("%d %s\n%s", a.status, a.body, seen[len(seen)-1].Body)
		}
		for _, r := range seen {
			if strings.Contains(string(r.Body), plantedMail) {
				t.Errorf("%s", r.Body)
			}
		}
		if a := s.raw("/v1/responses", `{"model":"responses/m","input":"x","background":true}`); a.status != 400 || !strings.Contains(a.body, "background") {
			t.Errorf("in the background: %d %s", a.status, a.body)
		}
	})
}

// R70: a stream that breaks is gone on with from what the client was told, so that what was masked reaches no second provider either.
func TestGuardrailsAndResume(t *testing.T) {
	text := "Ask " + plantedMail + " first. " + words(1, 60)
	for _, client := range dialectsOfClients {
		t.Run(client, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, resumed("chat", "messages")+guards, whole(mock.Behaviour{Text: text, Cut: mock.After(40)}, mock.Behaviour{Text: strings.ReplaceAll(text, plantedMail, "[EMAIL]"), Prefill: mock.Continue}, mock.Behaviour{}))
				sp := speakerOf(t, client)
				h := s.talk(sp, "demo", true, sp.body("demo", true, "hello", false))
				if h.status != 200 || h.failed != "" || !h.ended || h.text != strings.ReplaceAll(text, plantedMail, "[EMAIL]") {
					t.Errorf("%d %s ended %t: %s", h.status, h.failed, h.ended, h.text)
				}
				for _, r := range s.prompted("b") {
					if strings.Contains(string(r.Body), plantedMail) {
						t.Errorf("%s", r.Body)
					}
				}
			})
		})
	}
}

// A tool call's arguments are looked at when they are complete.
func TestGuardrailsAndCalls(t *testing.T) {
	for _, sp := range speakers() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", sp.name, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					config := everyVendor + "guardrails: {city: {patterns: [{name: city, pattern: '[A-Za-z]+', mask: X}], on: [response]}}\nguardrail_defaults: [city]\n"
					s := newStack(t, config, map[string]mock.Script{"a": {}})
					h := s.talk(&sp, "anthropic/m", stream, sp.body("anthropic/m", stream, "weather tool", true))
					if h.status != 200 || h.failed != "" || len(h.calls) != 1 || !strings.HasPrefix(h.calls[0], "get_weather {\"X\":\"X") {
						t.Errorf("%d %s %q: %s", h.status, h.failed, h.calls, h.raw)
					}
				})
			})
		}
	}
}

// A service of the operator's own is asked about both directions, may change or stop what it is shown, and is waited for no longer than it may take.
func TestGuardrailWebhook(t *testing.T) {
	const config = `
guardrails:
  judge: {kind: webhook, url: "http://judge/check", secret: s3cret, timeout: 2s, fail: %s, every: %d}
guardrail_defaults: [judge]
`
	judge := func(t *testing.T, calls *atomic.Int64) func(*stack) {
		return func(s *stack) {
			s.net.Serve(t, "judge:80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				var q struct {
					Phase string
					Parts []struct{ Kind, Text string }
				}
				if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Evergate-Signature") == "" {
					t.Errorf("%v, signature %q", err, r.Header.Get("Evergate-Signature"))
				}
				action := "replace"
				for i, p := range q.Parts {
					switch {
					case strings.Contains(p.Text, "slow"):
						select {
						case <-time.After(time.Minute):
						case <-r.Context().Done():
						}
					case strings.Contains(p.Text, "forbidden"):
						action = "block"
					}
					q.Parts[i].Text = strings.ReplaceAll(p.Text, "Ada", "A.")
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"action": action, "reason": "not here", "parts": q.Parts})
			}))
		}
	}
	for _, every := range []int{0, 10} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("every %d, stream %t", every, stream), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var calls atomic.Int64
					cfg := parse(t, everyVendor+fmt.Sprintf(config, "closed", every))
					s := newStackWith(t, cfg, map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: "Ada wrote, Ada said.", ChunkSize: 10}}}, slog.New(slog.DiscardHandler), judge(t, &calls))
					sp := speakerOf(t, "chat")
					h := s.talk(sp, "chat/m", stream, sp.body("chat/m", stream, "Who is Ada?", false))
					if h.status != 200 || h.text != "A. wrote, A. said." || !strings.Contains(string(s.prompted("a")[0].Body), "Who is A.?") {
						t.Errorf("%d %q %s\n%s", h.status, h.text, h.raw, s.prompted("a")[0].Body)
					}
					if n := calls.Load(); every == 0 && n != 2 || every > 0 && stream && n < 3 {
						t.Errorf("%d calls", n)
					}
					if h = s.talk(sp, "chat/m", stream, sp.body("chat/m", stream, "forbidden", false)); h.status != 400 || !strings.Contains(h.raw, "not here") {
						t.Errorf("%d %s", h.status, h.raw)
					}
					if h = s.talk(sp, "chat/m", stream, sp.body("chat/m", stream, "slow", false)); h.status != 503 || !strings.Contains(h.raw, "guardrail_unavailable") {
						t.Errorf("%d %s", h.status, h.raw)
					}
					if n := len(s.prompted("a")); n != 1 {
						t.Errorf("%d were asked", n)
					}
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		cfg := parse(t, everyVendor+fmt.Sprintf(config, "open", 0))
		s := newStackWith(t, cfg, map[string]mock.Script{"a": {Defaults: mock.Behaviour{Text: "a slow forbidden answer"}}}, slog.New(slog.DiscardHandler), judge(t, &calls))
		sp := speakerOf(t, "chat")
		h := s.talk(sp, "chat/m", true, sp.body("chat/m", true, "slow", false))
		if got := fmt.Sprint(s.facts.last().Guardrails); h.status != 200 || h.text != "a slow forbidden answer" || got != "[{judge request failed_open} {judge response failed_open}]" {
			t.Errorf("%d %q %s", h.status, h.text, got)
		}
	})
}
