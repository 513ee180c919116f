package telemetry

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"evergate/internal/journal"
)

// scrape gives the lines of /metrics that start with one of the prefixes.
func scrape(t *testing.T, m *Metrics, prefixes ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				out = append(out, strings.TrimSpace(line))
				break
			}
		}
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func sampleAttempt() *journal.Attempt {
	return &journal.Attempt{
		RequestID: "req_0123456789abcdef", Provider: "openai", Model: "gpt-4o-mini", Credential: "default", ModelLabel: "gpt-4o-mini", Outcome: "ok",
		Why: "next_candidate", Status: 200, Duration: time.Second, FirstContent: 200 * time.Millisecond,
		FromProvider: "groq", FromReason: "upstream_error",
		Usage: journal.Usage{Known: true, Input: 123, Output: 456, CachedInput: 100},
	}
}

// The names are a contract with dashboards: each family, its type and its labels, as a file that a review sees change.
func TestFamilies(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{
		InFlight:   func() int { return 3 },
		LogDropped: func() uint64 { return 7 },
		Providers: func() []ProviderState {
			return []ProviderState{
				{Name: "groq", Breaker: "open", CredentialsCooling: 1, ModelsLocked: 2, Health: "degraded"},
				{Name: "openai", Breaker: "half_open", Health: "healthy"},
				{Name: "local", Breaker: "closed"},
			}
		},
	})
	m.RequestEnded(sampleRequest())
	m.AttemptEnded(sampleAttempt())
	m.AttemptEnded(&journal.Attempt{Provider: "groq", ModelLabel: "other", Outcome: "timeout", Why: "same_target", FromProvider: "groq", FromReason: "reset"})
	m.GuardChanged(&journal.Guard{Provider: "groq", Guard: "circuit_breaker", To: "open"})
	m.GuardChanged(&journal.Guard{Provider: "groq", Guard: "model_lockout", To: "blocked"})
	m.DiscoveryChanged(&journal.Discovery{Provider: "groq", To: "degraded"})
	m.MirrorEnded(&journal.Mirror{Route: "fast", Provider: "new", Outcome: "ok", Duration: 3 * time.Second, FirstContent: time.Second})
	m.MirrorEnded(&journal.Mirror{Route: "fast", Provider: "new", Outcome: "dropped"})
	got := strings.Join(scrape(t, m, "evergate_", "# TYPE evergate_"), "\n") + "\n"
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, golden, got, string(want))
	if n := len(scrape(t, m, "go_goroutines ", "process_open_fds ")); n != 2 {
		t.Errorf("%d of the runtime's and the process's metrics", n)
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	move := func(why, from, to, reason string) *journal.Attempt {
		return &journal.Attempt{Provider: to, ModelLabel: "m", Outcome: "ok", Why: why, FromProvider: from, FromReason: reason}
	}
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	for _, a := range []*journal.Attempt{
		move("first", "", "a", ""),
		move("next_candidate", "a", "b", "timeout"),
		move("next_candidate", "a", "b", "timeout"),
		move("sibling_credential", "a", "a", "rate_limited"),
		move("all_blocked", "", "a", ""),
		move("all_blocked", "a", "b", "reset"),
		move("same_target", "a", "a", "reset"),
		move("short_wait", "a", "a", "rate_limited"),
		move("round", "b", "a", "upstream_error"),
		move("round", "a", "b", "upstream_error"),
	} {
		m.AttemptEnded(a)
	}
	equal(t, "failovers and retries", scrape(t, m, "evergate_failovers_total", "evergate_retries_total"), []string{
		`evergate_failovers_total{from="a",reason="rate_limited",to="a"} 1`,
		`evergate_failovers_total{from="a",reason="reset",to="b"} 1`,
		`evergate_failovers_total{from="a",reason="timeout",to="b"} 2`,
		`evergate_retries_total{why="round"} 2`,
		`evergate_retries_total{why="same_target"} 1`,
		`evergate_retries_total{why="short_wait"} 1`,
	})
}

func TestTimeToFirstTokenIsOfStreams(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	plain, silent := sampleRequest(), sampleRequest()
	plain.Stream, silent.FirstContent = false, 0
	m.RequestEnded(plain)
	m.RequestEnded(silent)
	m.RequestEnded(sampleRequest())
	equal(t, "count", scrape(t, m, "evergate_time_to_first_token_seconds_count", "evergate_overhead_seconds_count"), []string{
		"evergate_overhead_seconds_count 3", "evergate_time_to_first_token_seconds_count 1",
	})
}

func TestLabelsNeverComeFromAClient(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	r := sampleRequest()
	r.Asked, r.Route, r.Model, r.ID, r.Key, r.UpstreamRequestID = "planted-1", "other", "planted-2", "planted-3", "planted-4", "planted-5"
	a := sampleAttempt()
	a.Model, a.ModelLabel, a.Credential = "planted-6", "other", "planted-7"
	m.RequestEnded(r)
	m.AttemptEnded(a)
	for _, line := range scrape(t, m, "evergate_") {
		if strings.Contains(line, "planted") {
			t.Error(line)
		}
	}
}

func TestAFamilyHasABoundedNumberOfSeries(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	total := maxSeries + 500
	for i := range total {
		m.AttemptEnded(&journal.Attempt{Provider: "p", ModelLabel: fmt.Sprint("m", i), Outcome: "ok"})
	}
	lines := scrape(t, m, "evergate_attempts_total")
	if len(lines) != maxSeries+1 {
		t.Errorf("%d series", len(lines))
	}
	equal(t, "the rest", scrape(t, m, `evergate_attempts_total{model="other"`), []string{
		`evergate_attempts_total{model="other",outcome="ok",provider="p"} 500`,
	})
}

func TestOddValuesDoNotPanic(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{Providers: func() []ProviderState { return []ProviderState{{Name: "p", Breaker: "?"}} }})
	m.RequestEnded(&journal.Request{Route: "bad\xff", Provider: "\xfe", Status: -1, Dialect: "\xff", Duration: -1, Dropped: -1})
	m.AttemptEnded(&journal.Attempt{
		Provider: "\xff", ModelLabel: "\xff\xfe", Outcome: "\xff", FromProvider: "\xff", FromReason: "\xff",
		Usage: journal.Usage{Known: true, Input: -5, Output: 7},
	})
	m.GuardChanged(&journal.Guard{Guard: "circuit_breaker", Provider: "\xff", To: "\xff"})
	equal(t, "tokens", scrape(t, m, "evergate_tokens_total"), []string{`evergate_tokens_total{kind="output",model="?",provider="?"} 7`})
}

func TestConcurrentCountsAreExact(t *testing.T) {
	t.Parallel()
	m := NewMetrics(prometheus.NewRegistry(), Live{})
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for i := range 1000 {
				m.AttemptEnded(&journal.Attempt{Provider: "p", ModelLabel: fmt.Sprint("m", (i+g)%50), Outcome: "ok"})
				if i%250 == 0 {
					scrape(t, m, "evergate_")
				}
			}
		})
	}
	work.Wait()
	lines := scrape(t, m, "evergate_attempts_total")
	if len(lines) != 50 {
		t.Fatalf("%d series", len(lines))
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, " 160") {
			t.Error(line)
		}
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	m, r, a := NewMetrics(prometheus.NewRegistry(), Live{}), sampleRequest(), sampleAttempt()
	if n := testing.AllocsPerRun(100, func() { m.AttemptEnded(a); m.RequestEnded(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecordRequestAndAttempt(b *testing.B) {
	m, r, a := NewMetrics(prometheus.NewRegistry(), Live{}), sampleRequest(), sampleAttempt()
	b.ReportAllocs()
	for b.Loop() {
		m.AttemptEnded(a)
		m.RequestEnded(r)
	}
}
