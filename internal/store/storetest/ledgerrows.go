package storetest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// ledgerRow draws a row that ended so long before the test began, as a gateway would write it. Few names come up often, so that filters find something.
func (t *entered) ledgerRow(r *rapid.T, ago time.Duration) ledger.Request {
	word := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(r, label) }
	some := func(label string, most int64) int64 { return rapid.Int64Range(0, most).Draw(r, label) }
	yes := func(label string) bool { return rapid.Bool().Draw(r, label) }
	span := func(label string) time.Duration { return time.Duration(some(label, 20_000_000)) * time.Microsecond }

	took := span("took")
	row := ledger.Request{
		Instance: word("instance", "a1", "b2"), Kind: word("kind", "request", "request", "request", "mirror", "probe"),
		Request: journal.Request{
			ID: word("id", "req_1", "req_12", "req_2", "x'y", `q"%_\`) + strconv.FormatInt(some("n", 3), 10), Dialect: "chat", Stream: yes("stream"),
			Key: word("key", "", "alice", "bob"), Asked: word("asked", "fast", "gpt-4o", "Ärger"), Route: word("route", "fast", "slow", "other"),
			Status: int(rapid.SampledFrom([]int64{200, 200, 400, 404, 429, 499, 502, 503}).Draw(r, "status")), Code: word("code", "", "", "all_providers_failed", "timeout"),
			Committed: yes("committed"), Duration: took, FirstContent: span("first") * time.Duration(some("answered", 1)), Upstream: span("upstream"), Waits: span("waits"),
			Overhead: span("overhead"), Estimated: yes("estimated"), Finish: word("finish", "", "stop"), Dropped: int(some("dropped", 3)), Order: word("order", "", "configured"),
			Affinity: word("affinity", "", "hit"), Cache: word("cache", "", "hit", "miss", "bypass"), UpstreamRequestID: word("upstream_id", "", "up-1"),
		},
		Account: ledger.Account{
			OK: yes("ok"), Failed: yes("failed"), Rescued: yes("rescued"), AddedTime: span("added"), AddedCost: journal.Cost{Nano: some("added_cost", 1e12), Known: yes("added_known")},
		},
	}
	row.Start = t.now.Add(-ago - took)
	row.Row = t.numbers.Row(row.Start.Add(took))
	for range some("steps", 3) {
		s := journal.Step{
			Provider: word("provider", "groq", "azure", "openai"), Model: word("model", "llama", "gpt-4o", "gpt-4o-mini"), Skipped: yes("skipped"),
			Reason: word("reason", "ok", "timeout", "circuit_open"), Status: int(some("step_status", 600)), Message: word("message", "", "<b>Over</b> capacity", "\x00\xff\u202e"),
		}
		if s.Skipped {
			s.Until = row.Start.Add(span("until"))
		} else {
			s.Label, s.Credential, s.Why, s.Start = s.Model, "default", "first", row.Start.Add(span("start"))
			s.Duration, s.FirstContent, s.Drill = span("step_took"), span("step_first"), word("drill", "", "", "d1", "d2")
			s.Usage, s.Estimated = drawUsage(r), yes("step_estimated")
			s.Cost = journal.Cost{Nano: some("cost", 1e12), Known: yes("cost_known")}
			if yes("traced") {
				s.Span = [8]byte{1, 2, 3}
			}
		}
		row.Trail = append(row.Trail, s)
		if !s.Skipped && yes("answers") {
			row.Provider, row.Model, row.Usage = s.Provider, s.Model, s.Usage
		}
	}
	row.Drill = journal.DrillOf(row.Trail)
	for range some("targets", 2) {
		row.Targets = append(row.Targets, journal.Candidate{Provider: "groq", Model: "llama", On: word("on", "", "content_filter")})
	}
	if yes("lossy") {
		row.Lost = []string{"seed", "logit_bias"}
	}
	if yes("in_trace") {
		row.Trace = journal.Trace{ID: [16]byte{9}, Span: [8]byte{8}, Parent: [8]byte{7}}
	}
	if yes("with_body") {
		row.Body = &ledger.Body{Request: `{"a":1}`, Response: strings.Repeat("r", int(some("body", 3000))), ResponseCut: yes("cut")}
	}
	return row
}

func drawUsage(r *rapid.T) journal.Usage {
	n := func() int64 { return rapid.Int64Range(0, 1e9).Draw(r, "tokens") }
	if !rapid.Bool().Draw(r, "usage") {
		return journal.Usage{}
	}
	return journal.Usage{Known: true, Input: n(), Output: n(), CachedInput: n(), CacheWrite: n(), Reasoning: n(), AudioInput: n(), AudioOutput: n()}
}

// drawRows draws rows, the newest first, that ended within the last of a span before the test.
func (t *entered) drawRows(r *rapid.T, most int, within time.Duration) []ledger.Request {
	n := rapid.IntRange(1, most).Draw(r, "rows")
	rows := make([]ledger.Request, 0, n)
	for range n {
		rows = append(rows, t.ledgerRow(r, time.Duration(rapid.Int64Range(0, within.Microseconds()).Draw(r, "ago"))*time.Microsecond))
	}
	newestFirst(rows)
	return rows
}

func newestFirst(rows []ledger.Request) {
	slices.SortFunc(rows, func(a, b ledger.Request) int { return strings.Compare(string(b.Row), string(a.Row)) })
}

// plainRow is a row that a test only counts.
func (t *entered) plainRow(ago time.Duration) ledger.Request {
	start := t.now.Add(-ago - time.Second)
	row := ledger.Request{
		Kind: ledger.KindRequest, Instance: "a1", Account: ledger.Account{OK: true},
		Request: journal.Request{
			ID: "req_plain", Start: start, Dialect: "chat", Key: "alice", Asked: "fast", Route: "fast", Provider: "groq", Model: "llama", Status: 200, Duration: time.Second,
			Trail: []journal.Step{{
				Provider: "groq", Model: "llama", Label: "llama", Credential: "default", Status: 200, Reason: "ok", Why: "first", Start: start, Duration: time.Second,
				Usage: journal.Usage{Known: true, Input: 10, Output: 5}, Cost: journal.Cost{Nano: 1000, Known: true},
			}},
		},
	}
	row.Row = t.numbers.Row(t.now.Add(-ago))
	return row
}
