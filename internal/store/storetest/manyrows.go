package storetest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
	"evergate/internal/testkit"
)

// ManyQueries are one for each filter, and some for several at once, by what they are called.
func ManyQueries(now time.Time) map[string]ledger.RequestQuery {
	return map[string]ledger.RequestQuery{
		"none": {}, "a time": {From: now.Add(-90 * time.Minute), To: now.Add(-80 * time.Minute)},
		"key": {Key: "key-3"}, "rare key": {Key: "carol"}, "no such key": {Key: "nobody"},
		"route": {Route: "route-2"}, "rare route": {Route: "rare"},
		"provider": {Provider: "provider-1"}, "rare provider": {Provider: "nowhere"}, "no such provider": {Provider: "nobody"},
		"model": {Model: "model-2"}, "rare model": {Model: "model-rare"}, "provider and model": {Provider: "nowhere", Model: "model-rare"},
		"provider that failed": {Provider: "provider-failing"}, "provider that failed and key": {Provider: "provider-failing", Key: "key-3"},
		"code": {Code: "all_providers_failed"}, "rare code": {Code: "timeout"}, "code and key": {Code: "all_providers_failed", Key: "carol"},
		"status": {Status: 503}, "class": {Status: 5}, "another class": {Status: 4}, "most": {Status: 2},
		"failed": {Failed: true}, "failed and rare": {Failed: true, Key: "carol"}, "rescued": {Rescued: true}, "rescued and model": {Rescued: true, Model: "model-2"},
		"drill": {Drill: "rule-1"}, "any drill": {Drilled: true}, "no such drill": {Drill: "rule-2"},
		"kind": {Kind: ledger.KindMirror}, "id": {ID: "req_0000000000000000"}, "short id": {ID: "req_00000000000"}, "no such id": {ID: "req_x"},
		"rare text": {Text: "NEEDLE"}, "no such text": {Text: "hay"}, "text and key": {Text: "needle", Key: "carol"},
	}
}

// ManyRows is how many rows are made where nobody asks for more: more than a store looks at for one page.
func ManyRows() int {
	if testkit.Race {
		return ledger.MaxLooked + 1500
	}
	return 20_000
}

// ManyWithin is how long a page of them may take, on a machine that does much else: it shows what takes seconds, no more.
func ManyWithin() time.Duration {
	if testkit.Race {
		return 20 * time.Second
	}
	return 2 * time.Second
}

// rarely is how many rows there are for each that is rare.
const rarely = 7000

// manyRow is the i-th of many rows, the oldest first.
func (t *entered) manyRow(i, n int) ledger.Request {
	row := t.plainRow(time.Duration(n-i) * time.Second)
	r := &row.Request
	r.ID = fmt.Sprintf("req_%016x", i)
	r.Key, r.Route = fmt.Sprintf("key-%d", i%10), fmt.Sprintf("route-%d", i%5)
	r.Provider, r.Model = fmt.Sprintf("provider-%d", i%4), fmt.Sprintf("model-%d", i%6)
	s := r.Trail[0]
	s.Provider, s.Model, s.Label = r.Provider, r.Model, r.Model
	r.Trail = []journal.Step{s}
	before := func(provider string) {
		lost := s
		lost.Provider, lost.Status, lost.Reason, lost.Message = provider, 503, "server_error", "Overloaded, try again"
		r.Trail = []journal.Step{lost, s}
		row.Account.Rescued = true
	}
	switch {
	case i%rarely == 17:
		r.Key, r.Route = "carol", "rare"
		before("nowhere")
		r.Trail[0].Model, r.Trail[0].Drill = "model-rare", "rule-1"
		r.Trail[0].Message, r.Drill = "a needle", "rule-1"
	case i%rarely == 18:
		r.Status, r.Code = 504, "timeout"
		row.Account = ledger.Account{Failed: true}
	case i%97 == 0:
		r.Status, r.Code, r.Provider, r.Model = 503, "all_providers_failed", "", ""
		r.Trail[0].Status, r.Trail[0].Reason = 503, "server_error"
		row.Account = ledger.Account{Failed: true}
	case i%53 == 0:
		r.Status, r.Code = 429, "rate_limited"
	case i%31 == 0:
		before("provider-failing")
	case i%1999 == 0:
		row.Kind = ledger.KindMirror
	}
	return row
}

// RunManyRows fills a ledger that is empty with n rows, and holds it to find all that each filter wants, with every page within a time.
func RunManyRows(t *testing.T, store ledger.Store, n int, within time.Duration) {
	t.Helper()
	e := &entered{T: t, LedgerOptions: LedgerOptions{Now: time.Now}, store: store, peer: store, numbers: ledger.NewNumbers("a1"), now: time.Now().UTC().Truncate(time.Second)}
	queries := ManyQueries(e.now)
	want := map[string]int{}
	var sums ledger.Totals
	began := time.Now()
	for from := 0; from < n; from += 500 {
		rows := make([]ledger.Request, 0, 500)
		for i := from; i < min(from+500, n); i++ {
			row := e.manyRow(i, n)
			for name, q := range queries {
				if q.Matches(&row) {
					want[name]++
				}
			}
			sums.AnswerRow(&ledger.UsageQuery{ByProvider: true}, &row)
			rows = append(rows, row)
		}
		e.write(rows...)
	}
	t.Logf("%d rows written in %v", n, time.Since(began).Round(time.Millisecond))
	for name, q := range queries {
		t.Run(name, func(t *testing.T) {
			e := *e
			e.T = t
			e.findMany(q, want[name], within)
		})
	}
	began = time.Now()
	got := e.usage(ledger.UsageQuery{ByProvider: true})
	t.Logf("sums of all by provider in %v", time.Since(began).Round(time.Millisecond))
	if all := sums.Rows(); len(got) != len(all) {
		t.Fatalf("%d sums, want %d", len(got), len(all))
	} else {
		for i := range all {
			if got[i] != all[i] {
				t.Errorf("sums\ngot  %+v\nwant %+v", got[i], all[i])
			}
		}
	}
}

// findMany turns pages until all is found, or more than anybody reads.
func (t *entered) findMany(q ledger.RequestQuery, want int, within time.Duration) {
	t.Helper()
	found, pages, longest := 0, 0, time.Duration(0)
	last := ledger.Row("")
	q.Limit = 100
	for found < 3000 {
		began := time.Now()
		page, err := t.store.Requests(t.ctx(), q)
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
		pages++
		for i := range page.Requests {
			r := &page.Requests[i]
			if !q.Matches(r) || last != "" && r.Row >= last {
				t.Fatalf("a row that is not wanted, or twice: %+v", r)
			}
			last = r.Row
		}
		found += len(page.Requests)
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	t.Logf("%d rows on %d pages, the longest took %v", found, pages, longest.Round(10*time.Microsecond))
	if found != want && (want < 3000 || found < 3000) {
		t.Errorf("%d rows found, want %d", found, want)
	}
	if q.Text != "" {
		within *= 2 // each row is read
	}
	if longest > within {
		t.Errorf("a page took %v, the bound is %v", longest, within)
	}
}

// LargeSums has rows come to more than a store's numbers may hold. They stay at the largest one, and are exact before that.
func LargeSums(t *testing.T, store ledger.Store) {
	t.Helper()
	e := &entered{T: t, store: store, peer: store, numbers: ledger.NewNumbers("a1"), now: time.Now().UTC().Truncate(time.Second)}
	var want ledger.Sums
	for i, tokens := range []int64{1, 999_999_999_999, 1, 1 << 53, 1, math.MaxInt64 - 1<<60, 1 << 58, 1 << 59, math.MaxInt64 / 2, 5, math.MaxInt64, 1} {
		row := e.plainRow(0)
		row.Trail[0].Usage.Input, row.Trail[0].Usage.Output = tokens, math.MaxInt64
		e.write(row)
		ledger.Fold(&row, func(_ ledger.Group, s *ledger.Sums) { want.Add(s) })
		if got := e.total(ledger.UsageQuery{ByKey: true, Key: "alice", From: e.now.Add(-time.Hour)}); got != want {
			t.Fatalf("after %d rows\ngot  %+v\nwant %+v", i+1, got, want)
		}
	}
	// Money that only a lying upstream could ask for, in two hours: each bucket, and what they come to together, stays at the largest number.
	for i := range 80 {
		row := e.plainRow(time.Duration(i%2) * 2 * time.Hour)
		row.Trail[0].Cost.Nano = math.MaxInt64
		for len(row.Trail) < 256 {
			row.Trail = append(row.Trail, row.Trail[0])
		}
		e.write(row)
		ledger.Fold(&row, func(_ ledger.Group, s *ledger.Sums) { want.Add(s) })
	}
	for name, q := range map[string]ledger.UsageQuery{
		"of minutes": {From: e.now.Add(-3 * time.Hour)}, "of hours": {From: e.now.Add(-100 * time.Hour)}, "of all": {}, "of a key": {ByKey: true, Key: "alice"},
	} {
		if got := e.total(q); want.CostNano != math.MaxInt64 || got.CostNano != want.CostNano || got.Attempts != want.Attempts {
			t.Errorf("%s: %d for %d attempts, want %d for %d", name, got.CostNano, got.Attempts, want.CostNano, want.Attempts)
		}
	}
}
