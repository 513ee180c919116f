package storetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"evergate/internal/ledger"
)

// LedgerOptions say in what a ledger differs from others.
type LedgerOptions struct {
	// Now is the store's clock; nil: the machine's.
	Now func() time.Time
	// Checks is how many random ledgers are made; 0: 20.
	Checks int
}

// entered is one test of one ledger.
type entered struct {
	*testing.T
	LedgerOptions

	store, peer ledger.Store
	numbers     *ledger.Numbers
	now         time.Time // of the store when the test began, to the second
}

// RunLedger holds a ledger to its promises. open gives one that is empty, for each call another, and a second handle to the same rows (it may be the same one);
// what it opens it closes when t ends.
func RunLedger(t *testing.T, open func(t *testing.T) (one, peer ledger.Store), options LedgerOptions) {
	t.Helper()
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Checks == 0 {
		options.Checks = 20
	}
	for _, group := range []struct {
		name  string
		tests []ledgerTest
	}{
		{"rows", ledgerRowTests}, {"filters", ledgerFilterTests}, {"sums", ledgerSumTests}, {"timeline", ledgerTimelineTests}, {"expire", ledgerExpireTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					one, peer := open(t)
					c.run(&entered{
						T: t, LedgerOptions: options, store: one, peer: peer, numbers: ledger.NewNumbers("a1"), now: options.Now().UTC().Truncate(time.Second),
					})
				})
			}
		})
	}
}

type ledgerTest struct {
	name string
	run  func(t *entered)
}

func (t *entered) ctx() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

func (t *entered) write(rows ...ledger.Request) {
	t.Helper()
	t.lay(ledger.Batch{Requests: rows})
}

func (t *entered) lay(b ledger.Batch) {
	t.Helper()
	if err := t.store.Write(t.ctx(), b); err != nil {
		t.Fatalf("write: %v", err)
	}
}

// list gives all that a query wants, page by page.
func (t *entered) list(q ledger.RequestQuery) (all []ledger.Request) {
	t.Helper()
	for range 10_000 {
		page, err := t.peer.Requests(t.ctx(), q)
		if err != nil {
			t.Fatalf("requests: %v", err)
		}
		if len(page.Requests) > q.Size() {
			t.Fatalf("a page of %d rows, %d were wanted", len(page.Requests), q.Size())
		}
		all = append(all, page.Requests...)
		if page.Next == "" {
			return all
		}
		if q.Cursor != "" && page.Next >= q.Cursor {
			t.Fatalf("the cursor %s does not go on from %s", page.Next, q.Cursor)
		}
		q.Cursor = page.Next
	}
	t.Fatal("the pages have no end")
	return nil
}

func (t *entered) entries(q ledger.TimelineQuery) (all []ledger.Entry) {
	t.Helper()
	for range 10_000 {
		page, err := t.peer.Timeline(t.ctx(), q)
		if err != nil {
			t.Fatalf("timeline: %v", err)
		}
		if len(page.Entries) > q.Size() {
			t.Fatalf("a page of %d entries, %d were wanted", len(page.Entries), q.Size())
		}
		all = append(all, page.Entries...)
		if page.Next == "" {
			return all
		}
		q.Cursor = page.Next
	}
	t.Fatal("the pages have no end")
	return nil
}

func (t *entered) usage(q ledger.UsageQuery) []ledger.UsageRow {
	t.Helper()
	rows, err := t.peer.Usage(t.ctx(), q)
	if err != nil {
		t.Fatalf("usage: %v", err)
	}
	out := rows[:0]
	for _, r := range rows {
		if r.Sums != (ledger.Sums{}) {
			out = append(out, r)
		}
	}
	return out
}

// total is the one row of a query that tells nothing apart.
func (t *entered) total(q ledger.UsageQuery) ledger.Sums {
	t.Helper()
	rows := t.usage(q)
	switch len(rows) {
	case 0:
		return ledger.Sums{}
	case 1:
		return rows[0].Sums
	}
	t.Fatalf("%d rows of one total", len(rows))
	return ledger.Sums{}
}

// same holds what came back in a list against what was written: lists have no bodies.
func (t *entered) same(got, want []ledger.Request) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d\ngot  %v\nwant %v", len(got), len(want), rowsOf(got), rowsOf(want))
	}
	for i := range got {
		want := want[i]
		want.Body = nil
		if !reflect.DeepEqual(got[i], want) {
			t.Fatalf("row %d differs:\ngot  %+v\nwant %+v", i, got[i], want)
		}
	}
}

func rowsOf(rows []ledger.Request) (out []ledger.Row) {
	for i := range rows {
		out = append(out, rows[i].Row)
	}
	return out
}
