package sqlite

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/testkit"
)

// pastRow is the n-th row of a ledger of so many, over a month: most went well, an hour of outage among them, a few of everything that is rare.
func pastRow(r *rand.Rand, numbers *ledger.Numbers, end time.Time, n, all int) ledger.Request {
	f := fact(r, n+1)
	at := end.Add(-30 * 24 * time.Hour / time.Duration(all) * time.Duration(all-n))
	f.Start = at.Add(-f.Duration)
	f.Key = fmt.Sprintf("team-%d", r.IntN(50))
	out := ledger.Request{Instance: "a1", Kind: ledger.KindRequest, Row: numbers.Row(at), Account: ledger.Account{OK: true}}
	outage := n > all/2 && n < all/2+all/700
	switch {
	case outage || r.IntN(500) == 0:
		f.Provider, f.Model, f.Status, f.Code = "", "", 502, "all_providers_failed"
		f.Trail[0].Status, f.Trail[0].Reason, f.Trail[0].Message = 503, "upstream_error", "the model is overloaded"
		out.Account = ledger.Account{Failed: true}
	case r.IntN(200) == 0:
		f.Status, f.Code = 400, "invalid_request"
		out.Account = ledger.Account{}
	case r.IntN(100) == 0:
		f.Trail = []journal.Step{f.Trail[0], f.Trail[0]}
		f.Trail[0].Status, f.Trail[0].Reason, f.Trail[0].Provider = 503, "upstream_error", "azure"
		out.Account.Rescued = true
	case r.IntN(10_000) == 0:
		f.Key, f.Route = "rare-key", "rare-model"
	}
	if n == all/3 {
		f.ID, f.Asked, f.Trail[0].Drill = "req_the_one", "a name that is there once", "d1"
	}
	out.Request = *f
	return out
}

// fill writes a ledger of so many rows.
func fill(t testing.TB, l *Ledger, all int) time.Time {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	end := time.Now().Truncate(time.Second)
	begin := time.Now()
	for n := 0; n < all; {
		var b ledger.Batch
		for ; n < all && len(b.Requests) < 2000; n++ {
			b.Requests = append(b.Requests, pastRow(r, numbers, end, n, all))
		}
		if err := l.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rows in %v", all, time.Since(begin).Round(time.Millisecond))
	return end
}

// skipUnderRace leaves out what takes minutes under the race detector and has but one goroutine; `make race` runs it without.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if testkit.Race {
		t.Skip("measures time: run without the race detector")
	}
}

// TestLedgerLarge holds the filters of a requests page to their time: 200 ms with a million rows (EVERGATE_MILLION=1), a second with 20,000 on a busy machine.
func TestLedgerLarge(t *testing.T) {
	skipUnderRace(t)
	rows, limit := 20_000, time.Second
	if os.Getenv("EVERGATE_MILLION") != "" {
		rows, limit = 1_000_000, 200*time.Millisecond
	} else {
		t.Parallel()
	}
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	end := fill(t, l, rows)
	if info, err := os.Stat(db.Path()); err == nil {
		t.Logf("%d KiB for 1,000 rows", info.Size()/int64(rows)*1000>>10)
	}
	hour := end.Add(-15 * 24 * time.Hour)
	queries := []struct {
		name string
		q    ledger.RequestQuery
		some bool // it finds something
	}{
		{"nothing but newest", ledger.RequestQuery{}, true},
		{"a time", ledger.RequestQuery{From: hour.Add(-time.Hour), To: hour}, true},
		{"key", ledger.RequestQuery{Key: "team-7"}, true},
		{"rare key", ledger.RequestQuery{Key: "rare-key"}, true},
		{"no such key", ledger.RequestQuery{Key: "nobody"}, false},
		{"route", ledger.RequestQuery{Route: "fast"}, true},
		{"provider", ledger.RequestQuery{Provider: "groq"}, true},
		{"failed provider", ledger.RequestQuery{Provider: "azure"}, true},
		{"model", ledger.RequestQuery{Model: "gpt-4o-mini"}, true},
		{"code", ledger.RequestQuery{Code: "invalid_request"}, true},
		{"2xx", ledger.RequestQuery{Status: 2}, true},
		{"4xx", ledger.RequestQuery{Status: 4}, true},
		{"5xx", ledger.RequestQuery{Status: 5}, true},
		{"429", ledger.RequestQuery{Status: 429}, false},
		{"failed", ledger.RequestQuery{Failed: true}, true},
		{"rescued", ledger.RequestQuery{Rescued: true}, true},
		{"drill", ledger.RequestQuery{Drilled: true}, true},
		{"this drill", ledger.RequestQuery{Drill: "d1"}, true},
		{"id", ledger.RequestQuery{ID: "req_the_one"}, true},
		{"some ids", ledger.RequestQuery{ID: "req_00"}, true},
		{"all ids", ledger.RequestQuery{ID: "req_"}, true},
		{"a text that many have", ledger.RequestQuery{Text: "GROQ"}, true},
		{"a text that none has", ledger.RequestQuery{Text: "nowhere"}, false},
		{"key and failed", ledger.RequestQuery{Key: "team-3", Failed: true}, true},
		{"key and 5xx and provider", ledger.RequestQuery{Key: "team-3", Status: 5, Provider: "groq"}, true},
		{"rare key and rescued", ledger.RequestQuery{Key: "rare-key", Rescued: true}, false},
		{"common and common", ledger.RequestQuery{Provider: "groq", Key: "team-7", Model: "llama-3.3-70b"}, true},
		{"common and never together", ledger.RequestQuery{Provider: "groq", Model: "gpt-4o-mini"}, false},
		{"far back", ledger.RequestQuery{To: hour, Key: "team-7", Failed: true}, true},
	}
	for _, c := range queries {
		c.q.Limit = 50
		var best time.Duration
		for try := range 3 {
			begin := time.Now()
			page, err := l.Requests(t.Context(), c.q)
			took := time.Since(begin)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if c.some != (len(page.Requests) > 0) {
				t.Errorf("%s: %d rows", c.name, len(page.Requests))
			}
			if try == 0 || took < best {
				best = took
			}
		}
		t.Logf("%-28s %v", c.name, best.Round(10*time.Microsecond))
		if best > limit {
			t.Errorf("%s took %v", c.name, best)
		}
	}
	for name, q := range map[string]ledger.UsageQuery{
		"all by model": {ByModel: true}, "a day by key": {From: end.Add(-24 * time.Hour), ByKey: true}, "hours": {Step: ledger.Hour}, "a day in minutes": {From: end.Add(-24 * time.Hour), Step: ledger.Minute},
	} {
		begin := time.Now()
		if got, err := l.Usage(t.Context(), q); err != nil || len(got) == 0 {
			t.Errorf("%s: %d sums, %v", name, len(got), err)
		}
		took := time.Since(begin)
		t.Logf("usage: %-21s %v", name, took.Round(10*time.Microsecond))
		if took > 5*limit {
			t.Errorf("usage: %s took %v", name, took)
		}
	}
	expireBesideWrites(t, l, rows, limit)
}

// expireBesideWrites takes a tenth of the rows away while others are written.
func expireBesideWrites(t *testing.T, l *Ledger, rows int, limit time.Duration) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	numbers := ledger.NewNumbers("b2")
	var over atomic.Bool
	waits := make(chan []time.Duration)
	go func() {
		var took []time.Duration
		for !over.Load() {
			f := fact(r, 1)
			row := ledger.Request{Kind: ledger.KindRequest, Row: numbers.Row(time.Now()), Request: *f}
			begin := time.Now()
			if err := l.Write(t.Context(), ledger.Batch{Requests: []ledger.Request{row}}); err != nil {
				t.Error(err)
			}
			took = append(took, time.Since(begin))
		}
		waits <- took
	}()
	begin := time.Now()
	if err := l.Expire(t.Context(), ledger.Retention{Requests: rows - rows/10}); err != nil {
		t.Error(err)
	}
	all := time.Since(begin)
	over.Store(true)
	took := <-waits
	slices.Sort(took)
	worst := took[len(took)-1]
	t.Logf("%d rows expired in %v; of %d writes beside it the slowest took %v, the median %v", rows/10, all.Round(time.Millisecond), len(took), worst, took[len(took)/2])
	if worst > 5*limit {
		t.Errorf("a write waited for %v", worst)
	}
	page, err := l.Requests(t.Context(), ledger.RequestQuery{ID: "req_the_one"})
	if err != nil || len(page.Requests) != 1 {
		t.Errorf("%d rows of an id that is kept, %v", len(page.Requests), err)
	}
}
