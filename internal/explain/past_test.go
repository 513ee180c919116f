package explain

import (
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
)

// R72: a trail says of each candidate what came of it, and of the request how it ended.
func TestThePastIsTold(t *testing.T) {
	skip := func(provider, reason string, left time.Duration) journal.Step {
		s := journal.Step{Provider: provider, Model: "m", Skipped: true, Reason: reason, Start: noon}
		if left > 0 {
			s.Until = noon.Add(left)
		}
		return s
	}
	attempt := func(provider, reason string, status int) journal.Step {
		return journal.Step{Provider: provider, Model: "m", Credential: "k", Why: "first", Reason: reason, Status: status, Start: noon.Add(time.Second), Duration: 1440 * time.Millisecond}
	}
	unable := skip("a", "unable", 0)
	unable.Message = "no images"
	tests := []struct {
		name    string
		fact    journal.Request
		want    []string // outcome and why, by candidate a, b, c
		guard   string   // of the first step
		summary string
	}{
		{
			name: "failed over", fact: journal.Request{Status: 200, Provider: "b", Model: "m", Trail: []journal.Step{attempt("a", "timeout", 0), attempt("a", "upstream_error", 503), attempt("b", "ok", 200)}},
			want:    []string{"failed It failed twice; the last time: upstream_error, status 503 after 1.4s.", "answered It answered at attempt 3.", "not_reached Another one answered before its turn."},
			summary: `was answered by b/m after 2.5s. a/m: it failed twice`,
		},
		{
			name: "passed over", fact: journal.Request{Status: 200, Provider: "b", Model: "m", Trail: []journal.Step{skip("a", "circuit_open", 12*time.Second), attempt("b", "ok", 200)}},
			want: []string{"passed_over Passed over: circuit_open, for another 12s.", "answered It answered at the first attempt."}, guard: "circuit_breaker",
			summary: "a/m: passed over: circuit_open, for another 12s.",
		},
		{
			name: "tried all the same", fact: journal.Request{Status: 502, Code: "all_providers_failed", Trail: []journal.Step{skip("a", "operator_open", 0), skip("b", "rate_limited", time.Minute), attempt("b", "rate_limited", 429)}},
			want: []string{"passed_over Passed over: operator_open.", "failed It failed: rate_limited, status 429 after 1.4s.", "not_reached The request ended before its turn."}, guard: "operator",
			summary: "ended with 502 all_providers_failed after 2.5s.",
		},
		{
			name: "unable", fact: journal.Request{Status: 400, Code: "invalid_request", Trail: []journal.Step{unable}},
			want: []string{"passed_over Passed over: unable (no images)."}, guard: "capability",
			summary: "a/m: passed over: unable (no images).",
		},
		{
			name: "refused", fact: journal.Request{Status: 404, Code: "model_not_found"},
			summary: `The request for "smart" was answered with 404 model_not_found, and nobody was asked.`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.fact.Asked, tt.fact.Start, tt.fact.Duration = "smart", noon, 2480*time.Millisecond
			p := Tell(&tt.fact, []journal.Candidate{{Provider: "a", Model: "m"}, {Provider: "b", Model: "m"}, {Provider: "c", Model: "m"}}, 0)
			for i, want := range tt.want {
				if got := p.Candidates[i].Outcome + " " + p.Candidates[i].Why; got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if len(p.Trail) > 0 && p.Trail[0].Guard != tt.guard || !strings.Contains(p.Summary, tt.summary) {
				t.Errorf("%q %+v", p.Summary, p.Trail)
			}
		})
	}
}

// R74: an attempt that failed in a drill is said to have.
func TestTellOfADrill(t *testing.T) {
	t.Parallel()
	p := Tell(&journal.Request{Trail: []journal.Step{
		{Provider: "a", Model: "m", Status: 503, Reason: "upstream_error", Drill: "drill_1"}, {Provider: "b", Model: "m", Status: 200, Reason: "ok"},
	}}, []journal.Candidate{{Provider: "a", Model: "m"}, {Provider: "b", Model: "m"}}, 0)
	if p.Trail[0].Drill != "drill_1" || p.Trail[1].Drill != "" || !strings.HasSuffix(p.Candidates[0].Why, ", in the drill drill_1.") {
		t.Errorf("%+v", p)
	}
}
