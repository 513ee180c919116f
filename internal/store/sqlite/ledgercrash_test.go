package sqlite

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// crashBatch is the n-th batch of the processes that are killed: its size and its tokens follow from n.
func crashBatch(n uint64) (rows []ledger.Request) {
	numbers := ledger.NewNumbers(fmt.Sprintf("batch %d", n)) // of each batch its own, so that a batch made again has the same rows
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	for i := range crashSize(n) {
		s := journal.Step{
			Provider: []string{"groq", "azure"}[i%2], Model: "m", Label: "m", Status: 200, Reason: "ok", Usage: journal.Usage{Known: true, Input: int64(n) + 1, Output: int64(i)},
			Cost: journal.Cost{Nano: int64(n * 10), Known: true}, Message: strings.Repeat("m", int(n%300)),
		}
		r := ledger.Request{
			Row: numbers.Row(at), Instance: "a1", Kind: ledger.KindRequest, Account: ledger.Account{OK: true},
			Request: journal.Request{ID: fmt.Sprintf("%d.%d", n, i), Start: at, Key: fmt.Sprintf("k%d", n%7), Route: "fast", Provider: s.Provider, Model: "m", Status: 200},
		}
		r.Trail = []journal.Step{s}
		if i%5 == 0 {
			r.Trail = append(r.Trail, s)
		}
		rows = append(rows, r)
	}
	return rows
}

func crashSize(n uint64) int { return int(n*7919%90) + 1 }

// writeLedgerForEver writes batches, some of them twice or together with the one before, and says the number of each once it is committed.
func writeLedgerForEver(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	l := db.Ledger()
	page, err := l.Requests(ctx, ledger.RequestQuery{Limit: 1})
	if err != nil {
		return err
	}
	n := uint64(0)
	if len(page.Requests) > 0 {
		if n, err = crashNumber(&page.Requests[0]); err != nil {
			return err
		}
	}
	for n++; ; n++ {
		rows := crashBatch(n)
		if n%3 == 0 { // one whose outcome was not known
			rows = append(crashBatch(n-1), rows...)
		}
		if err := l.Write(ctx, ledger.Batch{Requests: rows}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, n); err != nil {
			return err
		}
	}
}

func crashNumber(r *ledger.Request) (uint64, error) {
	batch, _, _ := strings.Cut(r.ID, ".")
	return strconv.ParseUint(batch, 10, 64)
}

// TestLedgerKilled ends a process that writes the ledger at random moments: each time the file opens, every batch that was said to be committed is there, each row
// once, none in part, and the sums are those of the rows. EVERGATE_CRASHES=200 takes longer.
func TestLedgerKilled(t *testing.T) {
	t.Parallel()
	rounds := 12
	if n, err := strconv.Atoi(os.Getenv("EVERGATE_CRASHES")); err == nil {
		rounds = n
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	dir := t.TempDir()
	var path string
	var last, committed uint64
	midway := 0
	for round := range rounds {
		if round%10 == 0 { // a new file now and then: it may be killed while it is made
			path, last = filepath.Join(dir, fmt.Sprintf("%d.db", round)), 0
		}
		life := time.Duration(random.Int63n(int64(300 * time.Millisecond)))
		said, err := untilKilled(t, "ledger", path, life, round%2 == 1)
		if err != nil {
			t.Fatalf("round %d, killed after %v: %v", round, life, err)
		}
		if said > last {
			committed += said - last
			last = said
		}
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatalf("round %d, killed after %v: %v", round, life, err)
		}
		there, err := wholeLedger(t.Context(), db)
		switch {
		case err != nil:
			t.Errorf("round %d: %v", round, err)
		case there < last:
			t.Errorf("round %d: batch %d was committed, %d is there", round, last, there)
		case there > last:
			midway++ // committed and not said
		}
		last = max(last, there)
		if err := sound(t.Context(), db); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d kills, %d batches committed, %d kills between a commit and its word", rounds, committed, midway)
	if committed == 0 {
		t.Error("no process came to write")
	}
}

// wholeLedger checks that the file has all rows of the batches 1 to some number, each once, and the sums of them; it gives the number.
func wholeLedger(ctx context.Context, db *DB) (last uint64, err error) {
	l := db.Ledger()
	seen := map[ledger.Row]bool{}
	var want ledger.Totals
	q, usage := ledger.RequestQuery{}, ledger.UsageQuery{ByKey: true, ByModel: true, ByProvider: true, ByRoute: true, Step: ledger.Hour}
	count := map[uint64]int{}
	for {
		page, err := l.Requests(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range page.Requests {
			r := &page.Requests[i]
			if seen[r.Row] {
				return 0, fmt.Errorf("the row of %s is there twice", r.ID)
			}
			seen[r.Row] = true
			n, err := crashNumber(r)
			if err != nil {
				return 0, err
			}
			last = max(last, n)
			count[n]++
			want.AnswerRow(&usage, r)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	for n := uint64(1); n <= last; n++ {
		if count[n] != crashSize(n) {
			return 0, fmt.Errorf("%d rows of batch %d of %d, want %d", count[n], n, last, crashSize(n))
		}
	}
	got, err := l.Usage(ctx, usage)
	if err != nil {
		return 0, err
	}
	sums := want.Rows()
	if len(got) != len(sums) {
		return 0, fmt.Errorf("%d sums, those of the rows are %d", len(got), len(sums))
	}
	for i := range got {
		if got[i] != sums[i] {
			return 0, fmt.Errorf("a sum is %+v, that of the rows %+v", got[i], sums[i])
		}
	}
	return last, nil
}
