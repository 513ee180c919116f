package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"evergate/internal/explain"
	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/route"
)

// asking gives sources that explain, and remember the question that they were asked.
func asking(q *explain.Question) Sources {
	s := sources()
	s.Explain = func(_ context.Context, asked explain.Question) (*explain.Answer, error) {
		*q = asked
		switch err := q.Settle(); {
		case err != nil:
			return nil, err
		case q.Model == "bug":
			return nil, errors.New("a bug")
		}
		return &explain.Answer{Model: q.Model, Summary: "as it is", Candidates: []explain.Candidate{}}, nil
	}
	s.Request = func(_ context.Context, id string) (*ledger.Request, bool, error) {
		return &ledger.Request{Request: journal.Request{ID: id}}, id == "req_1", nil
	}
	s.Past = func(r *ledger.Request) *explain.Past { return &explain.Past{ID: r.ID} }
	return s
}

// R72: the question reaches who can answer it as it was asked, and what is wrong with one is said.
func TestExplain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, target, body string
		status                     int
		want                       string // in the reply
	}{
		{"a model", "POST", "/admin/v1/explain", `{"model":"m"}`, 200, `"model":"m"`},
		{"by parameters", "POST", "/admin/v1/explain?model=m&dialect=messages&stream=true&strict=true&key=k", ``, 200, `"model":"m"`},
		{"no JSON", "POST", "/admin/v1/explain", `{"model":`, 400, "not valid JSON"},
		{"no object", "POST", "/admin/v1/explain", `[1]`, 400, "must be a JSON object"},
		{"no model", "POST", "/admin/v1/explain", `{"messages":[]}`, 400, "model is missing"},
		{"a model of another kind", "POST", "/admin/v1/explain", `{"model":3}`, 400, `"param":"model"`},
		{"an unknown parameter", "POST", "/admin/v1/explain?dialct=chat", `{"model":"m"}`, 400, `did you mean \"dialect\"?`},
		{"no truth value", "POST", "/admin/v1/explain?stream=yes", `{"model":"m"}`, 400, `"param":"stream"`},
		{"too large", "POST", "/admin/v1/explain", `{"model":"m","messages":"` + strings.Repeat("x", 2000) + `"}`, 400, "larger than 1000 bytes"},
		{"a failure of ours", "POST", "/admin/v1/explain", `{"model":"bug"}`, 500, "a bug"},
		{"a GET", "GET", "/admin/v1/explain", ``, 405, "POST only"},
		{"the past", "GET", "/admin/v1/explain/req_1", ``, 200, `"id":"req_1"`},
		{"a past that is forgotten", "GET", "/admin/v1/explain/req_2", ``, 404, "no request of this id is kept"},
		{"the past is not written", "POST", "/admin/v1/explain/req_1", `{}`, 405, "GET, HEAD only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q explain.Question
			w := ask(New(asking(&q), Options{MaxBody: 1000}), tt.method, tt.target, body(tt.body))
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if tt.name == "by parameters" && (q.Dialect != "messages" || !q.Stream || !q.Strict || q.Key != "k" || !json.Valid(q.Body)) {
				t.Errorf("%+v", q)
			}
		})
	}
}

// A body that does not come in time is not one that ended, nor one that is too large.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	var q explain.Question
	h := New(asking(&q), Options{})
	for _, path := range []string{"explain", "simulate"} {
		w := ask(h, "POST", "/admin/v1/"+path, body("{}"), func(r *http.Request) { r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded)) })
		if w.Code != 400 || !strings.Contains(w.Body.String(), "too slowly") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Who may not ask about health may not ask for explanations.
func TestExplainIsForOperators(t *testing.T) {
	t.Parallel()
	var q explain.Question
	h := New(asking(&q), Options{Token: "secret"})
	for _, target := range []string{"/admin/v1/explain", "/admin/v1/explain/req_1"} {
		method := http.MethodGet
		if target == "/admin/v1/explain" {
			method = http.MethodPost
		}
		if w := ask(h, method, target, body(`{"model":"m"}`)); w.Code != 401 || q.Model != "" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// explained is an answer with one of everything.
func explained() *explain.Answer {
	key := func(name, reason string, left time.Duration) explain.Credential {
		c := explain.Credential{Name: name, State: "ok"}
		if reason != "" {
			c.State, c.Blocked = "blocked", &explain.Block{Guard: "credential_cooldown", Reason: reason, Until: noon.Add(left)}
		}
		return c
	}
	return &explain.Answer{
		Model: "smart", Dialect: "chat", Stream: true, At: noon,
		Summary: `A request for "smart" goes to azure/gpt-4o with the key "east". openai/gpt-4o is passed over. Its circuit breaker is open (failures) for another 12s. If azure/gpt-4o fails, groq/llama-3.3 is asked.`,
		Name:    explain.Name{As: string(route.ByVirtual), Strategy: "ordered"},
		Policy:  &explain.Policy{Hedge: "auto", TotalMS: 600_000},
		Candidates: []explain.Candidate{
			{
				Position: 1, Declared: 2, Provider: "azure", Model: "gpt-4o", Why: "Asked first, as none before it can be: it is declared as number 2.",
				Dialect: "chat", Credential: "east", Credentials: []explain.Credential{key("east", "", 0), key("west", "rate_limited", 8*time.Second)},
				FirstContentMS: 412, Timeouts: &explain.Timeouts{FirstChunkMS: 60_000, IdleMS: 30_000},
			},
			{
				Position: 2, Declared: 4, Provider: "groq", Model: "llama-3.3", Why: "Asked if azure/gpt-4o fails: it is declared as number 4.", Forced: true,
				Blocked: &explain.Block{Guard: "circuit_breaker", Reason: "half_open", Until: noon.Add(time.Minute)}, Dialect: "chat", Credential: "default",
				Credentials: []explain.Credential{key("default", "", 0)}, Timeouts: &explain.Timeouts{FirstChunkMS: 60_000},
			},
			{
				Declared: 1, Provider: "openai", Model: "gpt-4o", Why: "Its circuit breaker is open (failures) for another 12s.",
				Blocked: &explain.Block{Guard: "circuit_breaker", Reason: "circuit_open", Until: noon.Add(11500 * time.Millisecond)}, Dialect: "chat",
				Credentials: []explain.Credential{key("default", "auth_failed", time.Minute)},
			},
			{
				Declared: 3, Provider: "cohere", Model: "command\x1b[2J", Why: "It cannot do what the request asks: no images\x1b[2J.",
				Blocked: &explain.Block{Guard: "capability", Reason: "unable"}, Dialect: "cohere",
			},
			{Declared: 5, Provider: "old", Model: "m", Why: "It is disabled in the configuration.", Blocked: &explain.Block{Guard: "disabled", Reason: "disabled"}},
			{Declared: 6, Provider: "openai", Model: "gpt-4.1", On: "context_length", Why: "Asked only where another target refuses the request for context_length.", Dialect: "chat"},
		},
		Notes: []string{"By the config alone: no guard blocks anything, and nothing was measured."},
	}
}

func remembered() *explain.Past {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &explain.Past{
		ID: "req_1", At: at, Model: "smart", Dialect: "chat", Status: 200, Answered: "azure/gpt-4o", DurationMS: 1412, Order: "declared",
		Summary: `The request for "smart" was answered by azure/gpt-4o after 1.4s. openai/gpt-4o: it failed: upstream_error, status 503 after 31 ms.`,
		Candidates: []explain.PastCandidate{
			{Provider: "openai", Model: "gpt-4o", Outcome: "failed", Why: "It failed: upstream_error, status 503 after 31 ms (overloaded\x1b[2J)."},
			{Provider: "azure", Model: "gpt-4o", Outcome: "answered", Why: "It answered at attempt 2."},
			{Provider: "groq", Model: "llama-3.3", Outcome: "passed_over", Why: "Passed over: circuit_open, for another 12s."},
			{Provider: "big", Model: "m", On: "context_length", Outcome: "not_reached", Why: "Nobody refused the request for context_length."},
		},
		Trail: []explain.PastStep{
			{Provider: "groq", Model: "llama-3.3", Skipped: true, Reason: "circuit_open", Guard: "circuit_breaker", Until: at.Add(12 * time.Second)},
			{Provider: "openai", Model: "gpt-4o", Credential: "default", Why: "first", Status: 503, Reason: "upstream_error", Message: "overloaded", DurationMS: 31},
			{Provider: "azure", Model: "gpt-4o", Credential: "east", Why: "next_candidate", Status: 200, Reason: "ok", AtMS: 31, DurationMS: 1381},
		},
	}
}

// R72: what `evergate explain` prints.
func TestRenderExplain(t *testing.T) {
	t.Parallel()
	for name, render := range map[string]func(*strings.Builder) error{
		"explain.txt":      func(w *strings.Builder) error { return RenderExplain(w, explained(), false) },
		"explain_past.txt": func(w *strings.Builder) error { return RenderPast(w, remembered(), false) },
		"explain_refused.txt": func(w *strings.Builder) error {
			return RenderExplain(w, &explain.Answer{Summary: "Nobody is asked; the client gets 404 model_not_found: the model \"smrt\" is not known here; did you mean smart?"}, false)
		},
	} {
		var w strings.Builder
		if err := render(&w); err != nil {
			t.Fatal(err)
		}
		golden(t, name, w.String())
		if strings.Contains(w.String(), "\x1b") {
			t.Errorf("%s has control characters", name)
		}
	}
	var w strings.Builder
	if err := RenderExplain(&w, explained(), true); err != nil || !strings.Contains(w.String(), string(bad)) {
		t.Errorf("%v, or no colors", err)
	}
}
