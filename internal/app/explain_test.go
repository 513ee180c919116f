package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/mock"
)

// admin asks the admin API and reads its reply.
func (s *stack) admin(method, path, body string, into any) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://gateway/admin/v1/"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if strings.Contains(string(text), "sk-key") {
		s.t.Errorf("a key is told: %s", text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		s.t.Fatalf("%s: %s", res.Status, text)
	}
	return res.StatusCode
}

// R72 in an incident: the first provider goes down, and whoever is on call asks where requests go and why, and what became of
// one; asking opens no connection and counts for nothing.
func TestExplainInAnIncident(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": do(mock.Behaviour{Status: 500}), "b": answers()})
		body := `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
		var a explain.Answer
		if s.admin("POST", "explain", body, &a); len(a.Candidates) != 2 || a.Candidates[0].Provider != "a" || a.Candidates[1].Position != 2 || a.Candidates[0].Credential != "default" {
			t.Errorf("%+v", a)
		}
		for range 5 {
			s.post(t.Context(), "/v1/chat/completions", body)
		}
		time.Sleep(18 * time.Second)
		asked, requests := len(s.chats("a"))+len(s.chats("b")), len(s.facts.requests)
		for range 3 {
			a = explain.Answer{}
			s.admin("POST", "explain", body, &a)
		}
		want := `A request for "demo" goes to b/m2. a/m is passed over. Its circuit breaker is open (failures) for another 12s.`
		if first := a.Candidates[0]; a.Summary != want || first.Provider != "b" || first.FirstContentMS == 0 {
			t.Errorf("%s\n%+v", a.Summary, first)
		}
		if down := a.Candidates[1]; down.Position != 0 || down.Blocked.Guard != "circuit_breaker" || down.Blocked.Reason != "circuit_open" || down.Blocked.Until.Sub(a.At).Round(time.Second) != 12*time.Second {
			t.Errorf("%+v", down)
		}
		if n := len(s.chats("a")) + len(s.chats("b")); n != asked || len(s.facts.requests) != requests {
			t.Errorf("asked %d times, %d facts", n-asked, len(s.facts.requests)-requests)
		}

		got := s.post(t.Context(), "/v1/chat/completions", body, "X-Request-Id", "incident-7")
		var p explain.Past
		if status := s.admin("GET", "explain/incident-7", "", &p); status != 200 || got.status != 200 || p.Answered != "b/m2" || p.Order != "declared" || len(p.Trail) != 2 {
			t.Errorf("%d %+v", status, p)
		}
		if c := p.Candidates; len(c) != 2 || c[0].Outcome != "passed_over" || c[0].Why != "Passed over: circuit_open, for another 12s." || c[1].Outcome != "answered" {
			t.Errorf("%+v", c)
		}
		var none struct{ Error struct{ Code string } }
		if status := s.admin("GET", "explain/incident-8", "", &none); status != 404 || none.Error.Code != "not_found" {
			t.Errorf("%d %+v", status, none)
		}

		// R22: an open period that is over is nobody's to end by asking: the next request is the probe.
		time.Sleep(13 * time.Second)
		a = explain.Answer{}
		s.admin("POST", "explain", body, &a)
		if a.Candidates[0].Provider != "a" {
			t.Errorf("%+v", a.Candidates)
		}
		if a := s.post(t.Context(), "/v1/chat/completions", body); trailOf(s, &a) != "a/m=500, b/m2=200" {
			t.Errorf("[%s]", trailOf(s, &a))
		}
	})
}

// R72: what the gateway would refuse is explained in the words that a client gets, whatever the dialect.
func TestExplainRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		tests := []struct{ path, dialect, body string }{
			{"/v1/chat/completions", "chat", `{"model":"dmo","messages":[{"role":"user","content":"hi"}]}`},
			{"/v1/chat/completions", "chat", `{"model":"demo","messages":3}`},
			{"/v1/chat/completions", "chat", `{"model":"c/m","messages":[]}`},
			{"/v1/messages", "messages", `{"model":"dmo","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`},
			{"/v1/responses", "responses", `{"model":"demo","input":3}`},
		}
		for _, tt := range tests {
			var want struct{ Error struct{ Message string } }
			a := s.post(t.Context(), tt.path, tt.body)
			_ = json.Unmarshal([]byte(a.body), &want)
			var got explain.Answer
			if s.admin("POST", "explain?dialect="+tt.dialect, tt.body, &got); got.Refused == nil || got.Refused.Status != a.status || got.Refused.Message != want.Error.Message || got.Refused.Message == "" {
				t.Errorf("%s: %d %s, explained as %+v", tt.body, a.status, a.body, got.Refused)
			}
		}
	})
}

// R72: the dialect is found out from the body, and every dialect is explained, also of a question about a model alone.
func TestExplainDialects(t *testing.T) {
	cfg := parse(t, twoProviders)
	for body, want := range map[string]string{
		`{"model":"demo"}`: "chat",
		`{"model":"demo","messages":[{"role":"user","content":"hi"}]}`:                                    "chat",
		`{"model":"demo","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"hi"}]}`: "messages",
		`{"model":"demo","input":"hi"}`:                           "responses",
		`{"model":"demo","input":"hi","dimensions":256}`:          "embeddings",
		`{"model":"demo","prompt":"hi"}`:                          "completions",
		`{"model":"demo","contents":[{"parts":[{"text":"hi"}]}]}`: "gemini",
		`{"model":"demo","content":{"parts":[{"text":"hi"}]}}`:    "gemini_embed",
	} {
		a, err := Explain(cfg, explain.Question{Body: []byte(body)})
		if err != nil || a.Dialect != want || a.Refused != nil || len(a.Candidates) != 2 {
			t.Errorf("%s: %v %+v", body, err, a)
		}
	}
	var known []string
	for _, d := range routes().Dialects {
		known = append(known, d.Name())
	}
	for _, v := range routes().Verbs {
		known = append(known, v.Dialect.Name())
	}
	for _, dialect := range known {
		a, err := Explain(cfg, explain.Question{Model: "demo", Dialect: dialect})
		if err != nil || a.Dialect != dialect || a.Refused != nil {
			t.Errorf("%s: %v %+v", dialect, err, a)
		}
	}
}

// R72: by a config alone nothing is blocked; what only a running gateway can know is said to be missing.
func TestExplainByConfig(t *testing.T) {
	cfg := parse(t, strings.Replace(twoProviders, ", models: [m]", "", 1))
	a, err := Explain(cfg, explain.Question{Model: "demo"})
	if err != nil || len(a.Candidates) != 2 || a.Candidates[0].Position != 1 || len(a.Notes) != 1 {
		t.Errorf("%v %+v", err, a)
	}
	if a, err = Explain(cfg, explain.Question{Model: "m"}); err != nil || a.Refused == nil || len(a.Notes) != 2 || !strings.Contains(a.Notes[1], "asks a for the list of models") {
		t.Errorf("%v %+v", err, a)
	}
	keys := parse(t, strings.Replace(twoProviders, "auth: {allow_anonymous: true}", "auth: {keys: [{name: ops, value: sk-key-of-ops, models: [a/m]}]}", 1))
	if a, err = Explain(keys, explain.Question{Model: "demo", Key: "ops"}); err != nil || a.Refused == nil || a.Refused.Code != "model_not_allowed" {
		t.Errorf("%v %+v", err, a)
	}
	if a, err = Explain(keys, explain.Question{Model: "demo"}); err != nil || a.Refused != nil {
		t.Errorf("%v %+v", err, a)
	}
	var wrong *explain.QuestionError
	if _, err = Explain(cfg, explain.Question{Model: "demo", Key: "nobody"}); !errors.As(err, &wrong) || wrong.Param != "key" {
		t.Error(err)
	}
}
