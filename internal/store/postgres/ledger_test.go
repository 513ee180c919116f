package postgres_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/store/storetest"
	"evergate/internal/testkit/servers"
)

// ledgers runs the suite; each ledger has a schema of its own, and an address with more options.
func ledgers(t *testing.T, p *servers.Postgres, addr, options string, o storetest.LedgerOptions) {
	t.Helper()
	n := 0
	storetest.RunLedger(t, func(t *testing.T) (one, peer ledger.Store) {
		n++
		schema := fmt.Sprintf("l%d", n)
		p.Exec("gate", `DROP SCHEMA IF EXISTS `+schema+` CASCADE; CREATE SCHEMA `+schema+` AUTHORIZATION gate`)
		u := address("gate", addr, options+"schema="+schema)
		return open(t, u).Ledger(), open(t, u).Ledger()
	}, o)
}

func TestLedger(t *testing.T) {
	p := servers.StartPostgres(t)
	p.Database("gate")
	ledgers(t, p, p.Addr(), "", storetest.LedgerOptions{})
}

// Nothing of the ledger needs a session: a pooler may give each transaction another connection.
func TestLedgerThroughAPooler(t *testing.T) {
	bouncer := pgbouncer(t)
	p, _ := start(t)
	ledgers(t, p, p.Pooler(bouncer, "gate"), "pooler=true&", storetest.LedgerOptions{Checks: 3})
}

// Each filter answers from many rows within a time that a page may take (EVERGATE_MILLION=1: a million of them, else 20,000 with room for slow machines), and by an index.
func TestLedgerOfManyRows(t *testing.T) {
	p, u := start(t)
	s := open(t, u)
	rows, within := storetest.ManyRows(), storetest.ManyWithin()
	if os.Getenv("EVERGATE_MILLION") != "" {
		rows, within = 1_000_000, 200*time.Millisecond
	}
	storetest.RunManyRows(t, s.Ledger(), rows, within)
	numbers := ledger.NewNumbers("a1")
	for range 10 {
		var b ledger.Batch
		for i := range 500 {
			at := time.Now()
			b.Entries = append(b.Entries, ledger.Entry{
				Row: numbers.Row(at), At: at, Kind: []string{ledger.EntryGuard, ledger.EntryGuard, ledger.EntryProbe, ledger.EntryOrder}[i%4], Provider: fmt.Sprint("p", i%7), RequestID: fmt.Sprint("req_", i),
			})
		}
		if err := s.Ledger().Write(storetest.Within(t, callBound), b); err != nil {
			t.Fatal(err)
		}
	}
	p.Exec("gate", "ANALYZE")
	size := p.Exec("gate", "SELECT sum(pg_total_relation_size(c.oid)) / "+fmt.Sprint(rows)+" FROM pg_class c WHERE relname IN ('evergate_requests', 'evergate_request_words')")
	t.Logf("%s bytes a row, with indexes", strings.TrimSpace(size))
	for name, q := range storetest.ManyQueries(time.Now()) {
		plan, err := s.ExplainRequests(storetest.Within(t, callBound), q)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index") {
			t.Errorf("%s reads more than an index leads to:\n%s", name, plan)
		}
	}
	for name, q := range map[string]ledger.TimelineQuery{
		"all": {}, "audit": {Kinds: []string{ledger.EntryOrder, ledger.EntryChange}}, "provider": {Provider: "groq"}, "request": {RequestID: "req_1"},
	} {
		plan, err := s.ExplainTimeline(storetest.Within(t, callBound), q)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index") {
			t.Errorf("timeline by %s reads more than an index leads to:\n%s", name, plan)
		}
	}
}

// Instances that add to the same sums, each in its own order, wait for each other but never in a circle, and nothing is lost.
func TestLedgerOfAFleet(t *testing.T) {
	_, u := start(t)
	const instances, batches, rows = 8, 12, 40
	var all sync.WaitGroup
	began := time.Now()
	for i := range instances {
		l := open(t, u).Ledger()
		numbers := ledger.NewNumbers(fmt.Sprint("i", i))
		all.Go(func() {
			for b := range batches {
				var batch ledger.Batch
				for n := range rows {
					end := time.Now()
					r := ledger.Request{Row: numbers.Row(end), Kind: ledger.KindRequest}
					r.Start, r.Key, r.Route, r.Provider = end.UTC().Truncate(time.Microsecond), fmt.Sprint("key", (n*7+i+b)%10), "fast", fmt.Sprint("p", (n+i)%3)
					r.Account.OK = true
					batch.Requests = append(batch.Requests, r)
				}
				if err := l.Write(storetest.Within(t, 20*time.Second), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := open(t, u).Ledger().Usage(storetest.Within(t, callBound), ledger.UsageQuery{})
	if err != nil || len(got) != 1 || got[0].Requests != instances*batches*rows || got[0].OK != got[0].Requests {
		t.Errorf("%+v, %v", got, err)
	}
	t.Logf("%d batches of %d rows in %v", instances*batches, rows, time.Since(began).Round(time.Millisecond))
}

// Numbers that do not fit stay at the largest one, and do not keep the batch from being written.
func TestLedgerSumsStayWithinTheirColumns(t *testing.T) {
	_, u := start(t)
	l := open(t, u).Ledger()
	storetest.LargeSums(t, l)
}

// Rows and entries that cannot be read, since a newer program wrote them, hide none of the others, however many they are.
func TestLedgerRowsOfANewerProgram(t *testing.T) {
	p, u := start(t)
	l := open(t, u).Ledger()
	numbers := ledger.NewNumbers("a1")
	var b ledger.Batch
	for range 40 {
		at := time.Now()
		r := ledger.Request{Row: numbers.Row(at), Kind: ledger.KindRequest}
		r.Start = at
		b.Requests = append(b.Requests, r)
		b.Entries = append(b.Entries, ledger.Entry{Row: numbers.Row(at), Kind: ledger.EntryGuard})
	}
	if err := l.Write(storetest.Within(t, callBound), b); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"gate.evergate_requests", "gate.evergate_timeline"} {
		p.Exec("gate", `UPDATE `+table+` SET body = '\x63' WHERE row_id IN (SELECT row_id FROM `+table+` ORDER BY row_id DESC LIMIT 30)`)
	}
	requests, entries := 0, 0
	for next, pages := ledger.Row(""), 0; pages == 0 || next != ""; pages++ {
		page, err := l.Requests(storetest.Within(t, callBound), ledger.RequestQuery{Limit: 10, Cursor: next})
		if err != nil || pages > 10 {
			t.Fatalf("after %d pages: %v", pages, err)
		}
		requests, next = requests+len(page.Requests), page.Next
	}
	for next, pages := ledger.Row(""), 0; pages == 0 || next != ""; pages++ {
		page, err := l.Timeline(storetest.Within(t, callBound), ledger.TimelineQuery{Limit: 10, Cursor: next})
		if err != nil || pages > 10 {
			t.Fatalf("after %d pages: %v", pages, err)
		}
		entries, next = entries+len(page.Entries), page.Next
	}
	if requests != 10 || entries != 10 {
		t.Errorf("%d requests and %d entries are found, want 10 of each", requests, entries)
	}
}
