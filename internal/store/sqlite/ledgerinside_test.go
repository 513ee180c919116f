package sqlite

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evergate/internal/ledger"
)

// Nothing is left of a row that expired, neither in the index of words.
func TestExpiredRowsLeaveNothing(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	var b ledger.Batch
	words := map[string]bool{}
	for n := range 1100 {
		row := pastRow(r, numbers, time.Now(), n, 1100)
		if n >= 1000 {
			for _, word := range row.Words() {
				words[word] = true
			}
		}
		b.Requests = append(b.Requests, row)
	}
	if err := l.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := l.Expire(t.Context(), ledger.Retention{Requests: 100}); err != nil {
		t.Fatal(err)
	}
	var requests, found int
	if err := db.reader.QueryRow(`SELECT (SELECT sum(rows) FROM blocks), (SELECT count(*) FROM block_words)`).Scan(&requests, &found); err != nil {
		t.Fatal(err)
	}
	if requests != 100 || found != len(words) {
		t.Errorf("%d rows and %d words are left, want 100 and %d", requests, found, len(words))
	}
	if err := l.Expire(t.Context(), ledger.Retention{Age: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if err := db.reader.QueryRow(`SELECT (SELECT count(*) FROM blocks) + (SELECT count(*) FROM block_bodies), (SELECT count(*) FROM block_words)`).Scan(&requests, &found); err != nil || requests+found != 0 {
		t.Errorf("%d blocks and %d words of no row are left, %v", requests, found, err)
	}
}

// Every query goes by an index: none reads a table from end to end.
func TestLedgerQueriesUseIndexes(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	for _, query := range []string{
		(&reading{}).walker(&ledger.RequestQuery{}, false).statement,
		(&reading{}).walker(&ledger.RequestQuery{ID: "a"}, false).statement,
		(&reading{}).walker(&ledger.RequestQuery{ID: "a", Key: "b", Drill: "c", Failed: true, Status: 400, Route: "d", Provider: "e"}, false).statement,
		`SELECT id FROM blocks WHERE oldest < 5 ORDER BY oldest LIMIT 4`,
		`SELECT row, body FROM entries WHERE row >= x'00' AND row < x'ff' ORDER BY row DESC`,
		`SELECT row, body FROM entries WHERE row >= x'00' AND row < x'ff' AND kind = 'guard' ORDER BY row DESC`,
		`SELECT row, body FROM entries WHERE row >= x'00' AND row < x'ff' AND provider = 'a' AND provider <> '' ORDER BY row DESC`,
		`SELECT row, body FROM entries WHERE row >= x'00' AND row < x'ff' AND request = 'a' AND request <> '' ORDER BY row DESC`,
		`SELECT at, body FROM hours WHERE at >= 1 AND at < 2`,
	} {
		rows, err := db.reader.Query("EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN") || strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s:\n%s", query, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// However large rows are, the file stays as large as it may be, and the newest of them stay.
func TestLedgerFileHasBounds(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	const bound = 8 << 20
	var longest int
	for range 3 {
		var newest ledger.Row
		for range 6 {
			var b ledger.Batch
			for n := range 500 {
				row := pastRow(r, numbers, time.Now(), n, 500)
				row.Row = numbers.Row(time.Now())
				row.Body = &ledger.Body{Response: strings.Repeat("x", 4000)}
				b.Requests, newest = append(b.Requests, row), row.Row
			}
			if err := l.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Expire(t.Context(), ledger.Retention{Bytes: bound}); err != nil {
			t.Fatal(err)
		}
		var used, length, rows int
		if err := db.reader.QueryRow(`SELECT (page_count - freelist_count) * 4096, page_count * 4096, (SELECT sum(rows) FROM blocks)
			FROM pragma_page_count, pragma_freelist_count`).Scan(&used, &length, &rows); err != nil {
			t.Fatal(err)
		}
		if _, there, err := l.Request(t.Context(), string(newest)); used > bound || rows < leastRows || rows >= 3000 || !there || err != nil {
			t.Errorf("%d bytes and %d rows are left; the newest %v, %v", used, rows, there, err)
		}
		if longest = max(longest, length); length > 24<<20 { // the bound, and what came since it was looked at
			t.Errorf("a file of %d bytes", length)
		}
	}
	if err := l.Expire(t.Context(), ledger.Retention{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := db.reader.QueryRow(`SELECT sum(rows) FROM blocks`).Scan(&rows); err != nil || rows != leastRows {
		t.Errorf("%d rows, %v", rows, err)
	}
	t.Logf("the file had %d bytes", longest)
}

// A row that cannot be read, of a newer program or a broken one, hides no other.
func TestUnreadableRowsHideNothing(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	var b ledger.Batch
	for n := range 20 {
		row := pastRow(r, numbers, time.Now(), n, 20)
		row.Row, row.Kind, row.Key = numbers.Row(time.Now()), ledger.KindRequest, "alice"
		b.Requests = append(b.Requests, row)
		b.Entries = append(b.Entries, ledger.Entry{Row: row.Row, Kind: ledger.EntryOrder})
	}
	if err := l.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := db.writer.Exec(`UPDATE entries SET body = x'ff' WHERE row IN (SELECT row FROM entries ORDER BY row DESC LIMIT 5)`); err != nil {
		t.Fatal(err)
	}
	var body []byte
	if err := db.reader.QueryRow(`SELECT body FROM block_bodies`).Scan(&body); err != nil {
		t.Fatal(err)
	}
	eachRow(body, func(at int, row []byte) bool {
		if at >= 15 {
			row[0] = 0xff
		}
		return true
	})
	if _, err := db.writer.Exec(`UPDATE block_bodies SET body = ?`, body); err != nil {
		t.Fatal(err)
	}
	for _, q := range []ledger.RequestQuery{{}, {Key: "alice"}, {Key: "alice", Limit: 3}} {
		found := 0
		for {
			page, err := l.Requests(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			found += len(page.Requests)
			if q.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		if found != 15 {
			t.Errorf("%+v: %d rows, want 15", q, found)
		}
	}
	for _, limit := range []int{0, 3} {
		found, q := 0, ledger.TimelineQuery{Limit: limit}
		for pages := 0; pages == 0 || q.Cursor != ""; pages++ {
			page, err := l.Timeline(t.Context(), q)
			if err != nil || pages > 10 {
				t.Fatalf("after %d pages: %v", pages, err)
			}
			found, q.Cursor = found+len(page.Entries), page.Next
		}
		if found != 15 {
			t.Errorf("%d entries by %d, want 15", found, limit)
		}
	}
}

// A file of before the ledger gets its tables; the program of before goes on with it, and the ledger stays.
func TestLedgerInAnOlderFile(t *testing.T) {
	t.Parallel()
	path, s := newPath(t), defaults(t)
	before := s
	before.migrate = s.migrate[:slices.IndexFunc(s.migrate, func(m migration) bool { return m.version == 1003 })]
	row := pastRow(rand.New(rand.NewPCG(1, 2)), ledger.NewNumbers("a1"), time.Now(), 0, 1)
	for i, version := range []settings{before, s, before, s} {
		db, err := open(t.Context(), path, version)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if len(version.migrate) == len(s.migrate) {
			if err := db.Ledger().Write(t.Context(), ledger.Batch{Requests: []ledger.Request{row}}); err != nil {
				t.Errorf("%d: %v", i, err)
			}
			got, err := db.Ledger().Usage(t.Context(), ledger.UsageQuery{})
			if err != nil || len(got) != 1 || got[0].Requests != 1 {
				t.Errorf("%d: %+v, %v", i, got, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Of requests and entries those go that are the oldest.
func TestLedgerFileDropsOldEntriesFirst(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	var b ledger.Batch
	for range 5000 {
		b.Entries = append(b.Entries, ledger.Entry{Row: numbers.Row(time.Now().Add(-time.Hour)), Kind: ledger.EntryProbe, Provider: "groq", Message: strings.Repeat("m", 300)})
	}
	for n := range 1200 {
		row := pastRow(r, numbers, time.Now(), n, 1200)
		row.Row = numbers.Row(time.Now())
		b.Requests = append(b.Requests, row)
	}
	if err := l.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := l.Expire(t.Context(), ledger.Retention{Bytes: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	var used, requests, entries int
	if err := db.reader.QueryRow(`SELECT (page_count - freelist_count) * 4096, (SELECT sum(rows) FROM blocks), (SELECT count(*) FROM entries)
		FROM pragma_page_count, pragma_freelist_count`).Scan(&used, &requests, &entries); err != nil {
		t.Fatal(err)
	}
	if used > 2<<20 || requests != 1200 || entries < leastRows || entries >= 5000 {
		t.Errorf("%d bytes, %d requests, %d entries", used, requests, entries)
	}
}

// TestBrokenBlockExpires: a block whose names are lost holds nothing up, and nobody.
func TestBrokenBlockExpires(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := ledger.NewNumbers("a1")
	for n := range 3 {
		if err := l.Write(t.Context(), ledger.Batch{Requests: []ledger.Request{pastRow(r, numbers, time.Now(), n, 3)}}); err != nil {
			t.Fatal(err)
		}
		if n < 2 {
			if _, err := db.writer.Exec([]string{`UPDATE block_bodies SET names = x''`, `UPDATE block_bodies SET names = x'01' WHERE id = (SELECT max(id) FROM blocks)`}[n]); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := l.Expire(ctx, ledger.Retention{Requests: 1}); err != nil {
		t.Fatal(err)
	}
	if n, err := l.requests(t.Context()); n != 1 || err != nil {
		t.Errorf("%d rows are left, %v", n, err)
	}
}
