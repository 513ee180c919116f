package memory_test

import (
	"fmt"
	"testing"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/store/memory"
	"evergate/internal/store/storetest"
)

func TestLedgerContract(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	storetest.RunLedger(t, func(*testing.T) (one, peer ledger.Store) {
		s := memory.New(c.Now)
		return s.Ledger(), s.Peer().Ledger()
	}, storetest.LedgerOptions{Now: c.Now, Checks: 100})
}

// More groups in one hour than there is room for cost some of them, not all.
func TestLedgerManyGroups(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := memory.New(func() time.Time { return now }).Ledger()
	numbers := ledger.NewNumbers("a1")
	for n := range 21 {
		var b ledger.Batch
		for i := range 1000 {
			r := ledger.Request{Row: numbers.Row(now), Kind: ledger.KindRequest, Account: ledger.Account{OK: true}}
			r.Key = fmt.Sprint("key", n, "-", i)
			b.Requests = append(b.Requests, r)
		}
		if err := l.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Usage(t.Context(), ledger.UsageQuery{})
	if err != nil || len(got) != 1 || got[0].Requests < 15_000 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLedgerLargeSums(t *testing.T) {
	t.Parallel()
	storetest.LargeSums(t, memory.New(time.Now).Ledger())
}
