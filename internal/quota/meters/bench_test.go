package meters

import (
	"context"
	"testing"
	"time"

	"evergate/internal/quota"
)

// away is a store that is never reached.
func away() Store { return nil }

// BenchmarkRequest is what limits and budgets of a key, its team and a model cost one request.
func BenchmarkRequest(b *testing.B) {
	for _, c := range []struct {
		name string
		o    Options
	}{{"alone", Options{}}, {"fleet", Options{Store: away, Instances: func() int { return 3 }}}} {
		b.Run(c.name, func(b *testing.B) {
			m := New(c.o)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go m.Run(ctx, time.Millisecond)
			l := quota.Limits{RequestsPerMinute: 1 << 40, TokensPerMinute: 1 << 50, Concurrent: 1 << 20}
			budgets := []quota.Budget{{Nano: 1 << 58, Tokens: 1 << 55, Per: quota.Month, Warn: 0.8}, {Nano: 1 << 58, Per: quota.Day}}
			bounds := []Bound{{Kind: Key, Name: "ci", Limits: l, Budgets: budgets}, {Kind: Team, Name: "web", Limits: l, Budgets: budgets}, {Kind: Model, Name: "m", Limits: l}}
			b.ReportAllocs()
			for b.Loop() {
				h, _, r := m.Reserve(time.Now(), Amount{Tokens: 1000, Nano: 1e6}, bounds)
				if r != nil {
					b.Fatalf("%+v", *r)
				}
				h.Settle(time.Now(), Amount{Tokens: 900, Nano: 9e5})
			}
		})
	}
}
