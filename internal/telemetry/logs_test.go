package telemetry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

func sampleRequest() *journal.Request {
	return &journal.Request{
		ID: "req_0123456789abcdef", Dialect: "chat", Stream: true, Key: "ci", Asked: "fast", Route: "fast",
		Provider: "openai", Model: "gpt-4o-mini", Status: 200, Committed: true,
		Duration: 1234567 * time.Microsecond, FirstContent: 234500 * time.Microsecond, Overhead: 123 * time.Microsecond,
		Usage: journal.Usage{Known: true, Input: 123, Output: 456}, Finish: "stop", UpstreamRequestID: "req_abc", Affinity: "hit",
		Trail: []journal.Step{
			{Provider: "groq", Model: "llama-3.3", Status: 503, Reason: "upstream_error", Message: "overloaded"},
			{Provider: "openai", Model: "gpt-4o-mini", Status: 200, Reason: "ok"},
		},
	}
}

// everyFact tells a sink one of every kind of fact that makes a line.
func everyFact(s journal.Sink) {
	until := time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC)
	s.RequestEnded(sampleRequest())

	failed := &journal.Request{
		ID: "req_2", Dialect: "embeddings", Asked: "nope", Route: "other", Status: 502, Code: "all_providers_failed",
		Duration: 3 * time.Second, Overhead: time.Millisecond,
		Trail: []journal.Step{
			{Provider: "b", Model: "m", Status: 500, Reason: "upstream_error", Message: "first words"},
			{Provider: "c", Model: "m", Reason: "reset", Message: "last words"},
			{Provider: "d", Model: "m", Reason: "timeout"},
			{Provider: "a", Model: "m", Skipped: true, Reason: "circuit_open", Message: "not this one"},
		},
	}
	s.RequestEnded(failed)

	cutOff := sampleRequest()
	cutOff.Code, cutOff.Dropped, cutOff.Usage.Known = "provider_error", 2, false
	s.RequestEnded(cutOff)

	refused := &journal.Request{ID: "req_4", Dialect: "chat", Status: 404, Code: "model_not_found"}
	s.RequestEnded(refused)
	s.RequestEnded(&journal.Request{ID: "req_5", Dialect: "chat", Status: 499})

	s.AttemptEnded(sampleAttempt())
	for _, g := range []journal.Guard{
		{Provider: "a", Guard: "circuit_breaker", From: "closed", To: "open", Trip: "failures", Reason: "circuit_open", Until: until, RequestID: "req_2"},
		{Provider: "a", Guard: "circuit_breaker", From: "open", To: "half_open", Reason: "half_open"},
		{Provider: "a", Guard: "circuit_breaker", From: "half_open", To: "closed"},
		{Provider: "a", Guard: "credential_cooldown", Credential: "batch", From: "ok", To: "blocked", Reason: "rate_limited", Until: until, Level: 2, Heard: true},
		{Provider: "a", Guard: "model_lockout", Model: "m", From: "blocked", To: "ok"},
	} {
		s.GuardChanged(&g)
	}
	for _, d := range []journal.Discovery{
		{Provider: "a", To: "healthy", Models: 12},
		{Provider: "a", From: "healthy", To: "degraded", Models: 12, Message: "status 503: overloaded"},
		{Provider: "a", From: "", To: "unhealthy", Message: "connect"},
	} {
		s.DiscoveryChanged(&d)
	}
	sent := journal.Mirror{
		RequestID: "req_6", Route: "fast", Dialect: "chat", Stream: true, Provider: "new", Model: "m-2", Credential: "default", Outcome: "ok", Status: 200,
		Duration: 3 * time.Second, FirstContent: 1500 * time.Millisecond, Usage: journal.Usage{Known: true, Input: 12, Output: 34}, Finish: "stop",
	}
	broken := sent
	broken.Outcome, broken.Status, broken.Message, broken.FirstContent, broken.Finish, broken.Usage = "upstream_error", 503, "overloaded", 0, "", journal.Usage{}
	unsent := journal.Mirror{RequestID: "req_7", Route: "fast", Dialect: "chat", Provider: "new", Model: "m-2", Outcome: "dropped"}
	for _, m := range []journal.Mirror{sent, broken, unsent} {
		s.MirrorEnded(&m)
	}
}

// The lines are read by people and by machines: each one as a file that a review sees change.
func TestLines(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // for the time of the lines
				var out bytes.Buffer
				everyFact(NewLogs(logger(t, &out, format)))
				golden := "testdata/lines." + format
				if *update {
					if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, golden, out.String(), string(want))
			})
		})
	}
}

// Any handler will do: slog's own gives the same fields.
func TestLogsThroughAnotherHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parsed := func(l *slog.Logger, out *bytes.Buffer) (lines []map[string]any) {
			everyFact(NewLogs(l))
			for line := range bytes.Lines(out.Bytes()) {
				var m map[string]any
				if err := json.Unmarshal(line, &m); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				delete(m, slog.TimeKey)
				delete(m, "until") // slog writes times with other precision
				lines = append(lines, m)
			}
			return lines
		}
		var ours, theirs bytes.Buffer
		got := parsed(logger(t, &ours, "json"), &ours)
		want := parsed(slog.New(slog.NewJSONHandler(&theirs, &slog.HandlerOptions{Level: slog.LevelDebug})), &theirs)
		equal(t, "lines", got, want)
	})
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]int{slog.LevelDebug: 17, slog.LevelInfo: 15, slog.LevelWarn: 7, slog.LevelError: 0} {
		var out bytes.Buffer
		l, err := NewLogger(&out, "text", level)
		if err != nil {
			t.Fatal(err)
		}
		everyFact(NewLogs(l))
		equal(t, level.String(), strings.Count(out.String(), "\n"), want)
	}
}

// Whatever clients and upstreams write, one fact is one line of bounded length without a control character.
func TestNobodyCanForgeALine(t *testing.T) {
	t.Parallel()
	evil := "x\" }\n{\"level\":\"INFO\"}\r\x1b]0;title\x07\u202e\u0085\xff" + strings.Repeat("long", 10_000)
	r := sampleRequest()
	r.ID, r.Asked, r.Model, r.UpstreamRequestID, r.Code = evil, evil, evil, evil, "provider_error"
	r.Trail = slices.Repeat([]journal.Step{{Provider: "p", Model: evil, Reason: evil, Message: evil}}, 100)
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		l := NewLogs(logger(t, &out, format))
		l.RequestEnded(r)
		l.AttemptEnded(&journal.Attempt{Model: evil})
		l.GuardChanged(&journal.Guard{Model: evil})
		l.DiscoveryChanged(&journal.Discovery{Message: evil})
		l.MirrorEnded(&journal.Mirror{RequestID: evil, Model: evil, Message: evil})
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		equal(t, "lines", len(lines), 5)
		for _, line := range lines {
			if len(line) > 6000 {
				t.Errorf("%d bytes", len(line))
			}
			for _, c := range line {
				if c < ' ' || c == 0x7f || c == 0x85 || c == 0x202e {
					t.Errorf("%U in %q", c, line)
				}
			}
			if format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("not JSON: %s", line)
			}
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	equal(t, "short", cut("abcdef", 6), "abcdef")
	equal(t, "long", cut("abcdefg", 6), "abc...")
	equal(t, "within a character", cut("aéüöxyz", 6), "aé...")
	equal(t, "just before one", cut("aéüöxyz", 7), "aé...")
}

func TestFanTellsEverySinkInOrder(t *testing.T) {
	t.Parallel()
	var heard []string
	everyFact(Fan(&teller{"a", &heard}, &teller{"b", &heard}))
	var want []string
	for range 5 {
		want = append(want, "a request", "b request")
	}
	want = append(want, "a attempt", "b attempt")
	for range 5 {
		want = append(want, "a guard", "b guard")
	}
	for range 3 {
		want = append(want, "a discovery", "b discovery")
	}
	for range 3 {
		want = append(want, "a mirror", "b mirror")
	}
	equal(t, "heard", heard, want)

	one := &teller{"c", &heard}
	if Fan(one) != journal.Sink(one) {
		t.Error("a fan of one is not the one")
	}
	everyFact(Fan()) // of none
}

type teller struct {
	name  string
	heard *[]string
}

func (s *teller) RequestEnded(*journal.Request) { *s.heard = append(*s.heard, s.name+" request") }
func (s *teller) AttemptEnded(*journal.Attempt) { *s.heard = append(*s.heard, s.name+" attempt") }
func (s *teller) GuardChanged(*journal.Guard)   { *s.heard = append(*s.heard, s.name+" guard") }
func (s *teller) DiscoveryChanged(*journal.Discovery) {
	*s.heard = append(*s.heard, s.name+" discovery")
}
func (s *teller) BreakerOperated(*journal.Order) { *s.heard = append(*s.heard, s.name+" order") }
func (s *teller) ProbeEnded(*journal.Probe)      { *s.heard = append(*s.heard, s.name+" probe") }
func (s *teller) Changed(*journal.Change)        { *s.heard = append(*s.heard, s.name+" change") }
func (s *teller) MirrorEnded(*journal.Mirror)    { *s.heard = append(*s.heard, s.name+" mirror") }

// Many requests at once through the whole of it: logger, batches, metrics.
func TestConcurrentFacts(t *testing.T) {
	t.Parallel()
	for _, batched := range []bool{true, false} {
		var out bytes.Buffer // not locked: the race detector sees two writes at once
		var to io.Writer = &out
		w := NewLineWriter(&out)
		if batched {
			to = w
		}
		l, err := NewLogger(to, "json", slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		logs := NewLogs(l)
		var work sync.WaitGroup
		for g := range 8 {
			work.Go(func() {
				for i := range 200 {
					r := sampleRequest()
					r.ID, r.Status = fmt.Sprintf("%d-%d", g, i), 200+300*(i%2)
					logs.RequestEnded(r)
				}
			})
		}
		work.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range bytes.Lines(out.Bytes()) {
			var m struct {
				ID string `json:"request_id"`
			}
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			seen[m.ID] = true
		}
		equal(t, "requests", len(seen), 1600)
	}
}

func TestARequestLineCostsOneAllocation(t *testing.T) {
	var out bytes.Buffer
	out.Grow(1 << 20)
	logs, r := NewLogs(logger(t, &out, "json")), sampleRequest()
	if n := testing.AllocsPerRun(100, func() { logs.RequestEnded(r) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequestLine(b *testing.B) {
	for _, f := range []string{"json", "text"} {
		b.Run(f, func(b *testing.B) {
			w := NewLineWriter(io.Discard)
			defer func() { _ = w.Close() }()
			logger, err := NewLogger(w, f, slog.LevelInfo)
			if err != nil {
				b.Fatal(err)
			}
			logs, r := NewLogs(logger), sampleRequest()
			b.ReportAllocs()
			for b.Loop() {
				logs.RequestEnded(r)
			}
		})
	}
	b.Run("slog's own json", func(b *testing.B) {
		w := NewLineWriter(io.Discard)
		defer func() { _ = w.Close() }()
		logs, r := NewLogs(slog.New(slog.NewJSONHandler(w, nil))), sampleRequest()
		b.ReportAllocs()
		for b.Loop() {
			logs.RequestEnded(r)
		}
	})
}
