package feed

import (
	"context"
	"sync"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// quiet is the row of a request with two attempts.
var quiet = ledger.AppendRequest(nil, &ledger.Request{
	Row: ledger.RowsFrom(noon), Kind: ledger.KindRequest, Request: journal.Request{
		ID: "req_0123456789abcdef", Start: noon, Trail: []journal.Step{{Provider: "groq", Model: "llama-3.3"}, {Provider: "openai", Model: "gpt-4o"}},
	},
})

// What a request pays for the feed.
func BenchmarkHeardByNobody(b *testing.B) {
	f := New("a")
	b.ReportAllocs()
	for b.Loop() {
		f.Heard(ledger.KindRequest, quiet)
	}
}

func BenchmarkHeardByTen(b *testing.B) {
	f := New("a")
	ctx, cancel := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	for range 10 {
		r, err := f.Read(All, "")
		if err != nil {
			b.Fatal(err)
		}
		readers.Go(func() {
			defer r.Close()
			for {
				if _, _, err := r.Next(ctx, time.Second); err != nil {
					return
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		f.Heard(ledger.KindRequest, quiet)
	}
	cancel()
	readers.Wait()
}
