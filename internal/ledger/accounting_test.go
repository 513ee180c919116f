package ledger

import (
	"math"
	"testing"
	"time"

	"evergate/internal/journal"
)

// at is an attempt: when it began and ended, in seconds since the request's start, how it came out, and what it cost in nanodollars.
func at(from, to float64, reason string, cost int64, with ...func(*journal.Step)) journal.Step {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	s := journal.Step{
		Provider: "p", Model: "m", Reason: reason, Start: noon.Add(seconds(from)), Duration: seconds(to - from), Why: "first",
		Cost: journal.Cost{Nano: cost, Known: true},
	}
	for _, w := range with {
		w(&s)
	}
	return s
}

func as(why string) func(*journal.Step) { return func(s *journal.Step) { s.Why = why } }

func seam(bytes int) func(*journal.Step) {
	return func(s *journal.Step) { s.Seam, s.Why = bytes, "resume" }
}

func unpriced(s *journal.Step) {
	s.Cost, s.Usage = journal.Cost{}, journal.Usage{Known: true, Input: 10}
}

func unsent(s *journal.Step) { s.Cost, s.Usage = journal.Cost{}, journal.Usage{} }

var (
	noon    = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	skipped = journal.Step{Skipped: true, Provider: "p", Reason: "circuit_open", Start: noon}
)

// R77: what counts as answered, failed and rescued, and what failover, hedges and abandoned attempts added.
func TestAccount(t *testing.T) {
	t.Parallel()
	const ok, failed, neither, rescued = "ok", "failed", "neither", "rescued"
	for _, c := range []struct {
		name    string
		status  int
		code    string
		cut     bool // content reached the client
		trail   []journal.Step
		want    string
		added   float64 // seconds
		cost    int64
		unknown bool
	}{
		{name: "answered at once", status: 200, trail: []journal.Step{at(0, 2, "ok", 5)}, want: ok},
		{name: "answered by the next after a failure", status: 200, trail: []journal.Step{at(0, 1.5, "upstream_error", 0), at(1.5, 4, "ok", 5)}, want: rescued, added: 1.5},
		{name: "a wait in between is added, too", status: 200, trail: []journal.Step{at(0, 1, "rate_limited", 0), at(3, 4, "ok", 5, as("short_wait"))}, want: rescued, added: 3},
		{name: "the same target again", status: 200, trail: []journal.Step{at(0, 1, "reset", 2), at(1, 4, "ok", 5, as("same_target"))}, want: rescued, added: 1, cost: 2},
		{name: "another key", status: 200, trail: []journal.Step{at(0, 1, "quota", 0), at(1, 4, "ok", 5, as("sibling_credential"))}, want: rescued, added: 1},
		{name: "two failures that cost something", status: 200, trail: []journal.Step{at(0, 1, "timeout", 3), at(1, 2, "cut", 4), at(2, 9, "ok", 5)}, want: rescued, added: 2, cost: 7},
		{name: "a failure whose price is not known", status: 200, trail: []journal.Step{at(0, 1, "timeout", 0, unpriced), at(1, 2, "cut", 4), at(2, 9, "ok", 5)}, want: rescued, added: 2, cost: 4, unknown: true},
		{name: "a failure that reached nobody", status: 200, trail: []journal.Step{at(0, 1, "connect", 0, unsent), at(1, 2, "ok", 5)}, want: rescued, added: 1},
		{name: "past a guard: nothing of it failed", status: 200, trail: []journal.Step{skipped, at(0, 2, "ok", 5)}, want: ok},
		{name: "a hedge answers", status: 200, trail: []journal.Step{at(0, 11, "cancelled", 3), at(10, 11, "ok", 5, as("hedge"))}, want: rescued, added: 10, cost: 3},
		{name: "a hedge is outrun", status: 200, trail: []journal.Step{at(0, 11, "ok", 5), at(10, 11, "cancelled", 3, as("hedge"))}, want: ok, cost: 3},
		{name: "a hedge fails", status: 200, trail: []journal.Step{at(0, 12, "ok", 5), at(10, 11, "upstream_error", 3, as("hedge"))}, want: ok, cost: 3},
		{name: "the first fails, a hedge answers", status: 200, trail: []journal.Step{at(0, 11, "reset", 1), at(10, 13, "ok", 5, as("hedge"))}, want: rescued, added: 10, cost: 1},
		{name: "a stream is gone on with: what it gave is no loss, the gap is", status: 200, cut: true, trail: []journal.Step{
			at(0, 1, "upstream_error", 0), at(1, 31, "cut", 40), at(33, 50, "ok", 9, seam(2000)),
		}, want: rescued, added: 3, cost: 9},
		{name: "gone on with twice, once in vain", status: 200, cut: true, trail: []journal.Step{
			at(0, 10, "cut", 40), at(11, 12, "upstream_error", 2, seam(500)), at(12, 20, "cut", 7, seam(500)), at(21, 30, "ok", 9, seam(900)),
		}, want: rescued, added: 3, cost: 18},

		{name: "all failed", status: 502, code: "all_providers_failed", trail: []journal.Step{at(0, 1, "upstream_error", 0), at(1, 5, "timeout", 3)}, want: failed, added: 4, cost: 3},
		{name: "the only one failed", status: 502, code: "provider_error", trail: []journal.Step{at(0, 1, "upstream_error", 7)}, want: failed},
		{name: "all limited", status: 429, code: "all_providers_rate_limited", trail: []journal.Step{at(0, 1, "rate_limited", 0)}, want: failed},
		{name: "all blocked, none tried", status: 503, code: "circuit_open", trail: []journal.Step{skipped, skipped}, want: failed},
		{name: "out of time", status: 504, code: "deadline_exceeded", trail: []journal.Step{at(0, 1, "timeout", 0), at(1, 2, "timeout", 0)}, want: failed, added: 1},
		{name: "a bug of the gateway's own", status: 500, code: "internal_error", want: failed},
		{name: "the gateway stopped", status: 503, code: "shutting_down", trail: []journal.Step{at(0, 1, "client_gone", 1)}, want: failed},
		{name: "a stream that broke off", status: 200, code: "provider_error", cut: true, trail: []journal.Step{at(0, 1, "reset", 0), at(1, 9, "cut", 5)}, want: failed, added: 1},
		{name: "a stream that broke off and could not be gone on with", status: 200, code: "provider_error", cut: true, trail: []journal.Step{
			at(0, 9, "cut", 5), at(10, 12, "upstream_error", 2, seam(50)),
		}, want: failed, added: 1, cost: 2},
		{name: "a stream that broke off, which had outrun a hedge and another that failed", status: 200, code: "provider_error", cut: true, trail: []journal.Step{
			at(0, 1, "reset", 0), at(1, 20, "cut", 5), at(11, 12, "upstream_error", 2, as("hedge")), at(11, 13, "cancelled", 4, as("hedge")),
		}, want: failed, added: 1, cost: 6},
		{name: "a hedge's stream that broke off", status: 200, code: "provider_error", cut: true, trail: []journal.Step{
			at(0, 12, "cancelled", 3), at(10, 30, "cut", 5, as("hedge")),
		}, want: failed, added: 10, cost: 3},

		{name: "the client's mistake", status: 400, code: "invalid_request", want: neither},
		{name: "the provider says that it is the client's", status: 400, code: "content_filter", trail: []journal.Step{at(0, 1, "content_filter", 0)}, want: neither},
		{name: "no such model", status: 404, code: "model_not_found", want: neither},
		{name: "the caller's own key is limited", status: 429, code: "rate_limit_exceeded", trail: []journal.Step{at(0, 1, "rate_limited", 0)}, want: neither},
		{name: "the client left before an answer", status: 499, code: "client_gone", trail: []journal.Step{at(0, 1, "timeout", 0), at(1, 3, "client_gone", 4)}, want: neither, added: 2, cost: 4},
		{name: "the client left during the answer", status: 499, code: "client_gone", cut: true, trail: []journal.Step{at(0, 1, "timeout", 2), at(1, 3, "client_gone", 4)}, want: neither, added: 1, cost: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := AccountOf(&journal.Request{Status: c.status, Code: c.code, Committed: c.cut || c.status == 200, Trail: c.trail})
			word := neither
			switch {
			case got.OK && got.Failed, got.Rescued && !got.OK:
				word = "nonsense"
			case got.Rescued:
				word = rescued
			case got.OK:
				word = ok
			case got.Failed:
				word = failed
			}
			if word != c.want || got.AddedTime != time.Duration(c.added*float64(time.Second)) || got.AddedCost.Nano != c.cost || got.AddedCost.Known == c.unknown {
				t.Errorf("%s %+v, want %s, %vs and %d more", word, got, c.want, c.added, c.cost)
			}
		})
	}
}

func TestAccountAllocatesNothing(t *testing.T) {
	r := &journal.Request{Status: 200, Trail: []journal.Step{at(0, 1, "reset", 0), at(1, 2, "ok", 1)}}
	if n := testing.AllocsPerRun(100, func() { _ = AccountOf(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// R77: a target of 99 % allows one of a hundred requests to fail.
func TestBurnRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		ok, failed int64
		target     float64
		share      float64
		rate       float64
		known      bool
	}{
		{"nothing failed", 1000, 0, 0.99, 1, 0, true},
		{"as much as is allowed", 990, 10, 0.99, 0.99, 1, true},
		{"half of it", 995, 5, 0.99, 0.995, 0.5, true},
		{"twice", 980, 20, 0.99, 0.98, 2, true},
		{"all failed", 0, 10, 0.999, 0, 1000, true},
		{"nobody asked", 0, 0, 0.99, 0, 0, false},
		{"no failure is allowed", 5, 5, 1, 0.5, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Sums{Requests: 1 << 20, OK: c.ok, Failed: c.failed} // the client's own mistakes count for nothing
			share, any := s.Availability()
			rate, known := s.BurnRate(c.target)
			if share != c.share || any != (c.ok+c.failed > 0) || math.Abs(rate-c.rate) > 1e-9 || known != c.known {
				t.Errorf("availability %v %t, burn rate %v %t", share, any, rate, known)
			}
		})
	}
}
