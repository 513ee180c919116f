package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// fact is a request as most are, one in a hundred with a failover.
func fact(r *rand.Rand, n int) *journal.Request {
	start := time.Now().Add(-time.Second)
	ok := journal.Step{
		Provider: []string{"openai", "anthropic", "groq"}[n%3], Model: []string{"gpt-4o-mini", "claude-sonnet-4-5", "llama-3.3-70b"}[n%3], Credential: "default", Status: 200,
		Reason: "ok", Why: "first", Start: start, Duration: time.Second, FirstContent: 300 * time.Millisecond,
		Usage: journal.Usage{Known: true, Input: 1200, Output: 340, CachedInput: 800}, Cost: journal.Cost{Nano: 412_000, Known: true},
	}
	ok.Label = ok.Model
	f := &journal.Request{
		ID: fmt.Sprintf("req_%016x", r.Uint64()), Start: start, Dialect: "chat", Stream: n%2 == 0, Key: fmt.Sprintf("team-%d", n%20), Asked: "fast", Route: "fast",
		Provider: ok.Provider, Model: ok.Model, Status: 200, Committed: true, Duration: time.Second, FirstContent: 310 * time.Millisecond, Upstream: time.Second,
		Overhead: 150 * time.Microsecond, Usage: ok.Usage, Cost: ok.Cost, Finish: "stop", Order: "configured", Trail: []journal.Step{ok},
		UpstreamRequestID: fmt.Sprintf("up_%08x", r.Uint32()),
	}
	if n%100 == 0 {
		bad := ok
		bad.Status, bad.Reason, bad.Message, bad.Provider = 503, "upstream_error", "the model is overloaded", "azure"
		f.Trail = []journal.Step{bad, ok}
	}
	return f
}

// BenchmarkLedgerFact is what a fact costs its caller while SQLite takes 10,000 of them a second.
func BenchmarkLedgerFact(b *testing.B) {
	db := openDB(b, newPath(b), defaults(b))
	store := db.Ledger()
	w := ledger.NewWriter(ledger.Options{Store: func() ledger.Store { return store }, Instance: "a1"})
	w.Start()
	r := rand.New(rand.NewPCG(1, 2))
	facts := make([]*journal.Request, 4096)
	for i := range facts {
		facts[i] = fact(r, i)
	}
	took := make([]time.Duration, 0, 1<<17)
	b.ReportAllocs()
	b.ResetTimer()
	begin := time.Now()
	var spent time.Duration
	for i := 0; b.Loop(); i++ {
		if i%100 == 0 {
			<-time.NewTimer(time.Until(begin.Add(time.Duration(i) * 100 * time.Microsecond))).C
		}
		f := facts[i%len(facts)]
		t0 := time.Now()
		w.RequestEnded(f)
		d := time.Since(t0)
		spent += d
		if len(took) < cap(took) {
			took = append(took, d)
		}
	}
	b.StopTimer()
	n := len(took)
	if err := w.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(spent.Nanoseconds())/float64(n), "ns/fact")
	b.ReportMetric(float64(took[n*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(w.Stats().Dropped), "dropped")
	b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "facts/s")
}

// BenchmarkLedgerWrite is one batch of 500 in a file that has rows already.
func BenchmarkLedgerWrite(b *testing.B) {
	db := openDB(b, newPath(b), defaults(b))
	store := db.Ledger()
	numbers := ledger.NewNumbers("a1")
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		batch := ledger.Batch{}
		for i := range 500 {
			f := fact(r, i)
			batch.Requests = append(batch.Requests, ledger.Request{Row: numbers.Row(time.Now()), Instance: "a1", Kind: ledger.KindRequest, Request: *f})
		}
		b.StartTimer()
		if err := store.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if info, err := os.Stat(db.Path()); err == nil {
		b.ReportMetric(float64(info.Size())/float64(b.N*500), "B/row")
	}
}
