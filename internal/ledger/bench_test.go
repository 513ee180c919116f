package ledger

import (
	"context"
	"testing"
	"time"

	"evergate/internal/journal"
)

// nowhere is a store that takes everything and keeps nothing.
type nowhere struct{ Store }

func (nowhere) Write(context.Context, Batch) error      { return nil }
func (nowhere) Expire(context.Context, Retention) error { return nil }

func benchFact() *journal.Request {
	start := time.Now()
	step := journal.Step{
		Provider: "openai", Model: "gpt-4o-mini", Label: "gpt-4o-mini", Credential: "default", Status: 200, Reason: "ok", Why: "first", Start: start,
		Duration: time.Second, FirstContent: 300 * time.Millisecond, Usage: journal.Usage{Known: true, Input: 1200, Output: 340}, Cost: journal.Cost{Nano: 412_000, Known: true},
	}
	return &journal.Request{
		ID: "req_0123456789abcdef", Start: start, Dialect: "chat", Key: "team-1", Asked: "fast", Route: "fast", Provider: "openai", Model: "gpt-4o-mini", Status: 200,
		Duration: time.Second, FirstContent: 310 * time.Millisecond, Upstream: time.Second, Overhead: 150 * time.Microsecond, Usage: step.Usage, Cost: step.Cost,
		Finish: "stop", Order: "configured", Trail: []journal.Step{step}, UpstreamRequestID: "up_12345678",
	}
}

// BenchmarkFact is what a fact costs its caller. Allocations are also those of who writes, on another core.
func BenchmarkFact(b *testing.B) {
	w := NewWriter(Options{Store: func() Store { return nowhere{} }, Instance: "a1"})
	w.Start()
	f := benchFact()
	b.ReportAllocs()
	for b.Loop() {
		w.RequestEnded(f)
	}
	b.StopTimer()
	_ = w.Stop(b.Context())
}

// BenchmarkFactUnwritten is a fact while the store is lost and the queue is full: the oldest one goes.
func BenchmarkFactUnwritten(b *testing.B) {
	w := NewWriter(Options{Store: func() Store { return nil }, Instance: "a1"})
	f := benchFact()
	for range maxWaiting {
		w.RequestEnded(f)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.RequestEnded(f)
	}
}
