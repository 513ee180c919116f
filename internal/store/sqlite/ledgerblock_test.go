package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
	"evergate/internal/ledger"
)

// Ids that are cut short hide none: whoever asks for one, or for what one begins with, is told that it may be there. Most that are not there are told apart.
func TestPackedIDsHideNone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		id := rapid.StringOfN(rapid.RuneFrom([]rune("abä")), 0, 24, -1)
		ids := rapid.SliceOfN(id, 0, 40).Draw(r, "ids")
		packed := packIDs(slices.Clone(ids))
		for _, id := range ids {
			n := rapid.IntRange(0, len(id)).Draw(r, "beginning")
			if !mayHave(packed, id, true) || !mayHave(packed, id[:n], false) {
				r.Fatalf("%q, or %q, is not found among %q", id, id[:n], ids)
			}
		}
	})
	rnd := rand.New(rand.NewPCG(1, 2))
	ids := make([]string, 0, blockRows)
	for range blockRows {
		ids = append(ids, fmt.Sprintf("req_%016x", rnd.Uint64()))
	}
	packed := packIDs(ids)
	wrong := 0
	for range 10_000 {
		if mayHave(packed, fmt.Sprintf("req_%016x", rnd.Uint64()), true) {
			wrong++
		}
	}
	if wrong > 5 || len(packed) > 9*blockRows {
		t.Errorf("%d of 10000 ids are found that are not there, in %d bytes", wrong, len(packed))
	}
}

// What is kept of a posting says which rows it is of, however many they are.
func TestPostingsKeepTheirRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		rows := rapid.IntRange(1, blockRows).Draw(r, "rows")
		share := rapid.IntRange(1, 20).Draw(r, "share")
		b := &block{}
		index := map[[2]string]int{}
		want := rowSet{}
		for i := range rows {
			row := ledger.Request{Kind: ledger.KindRequest}
			if rapid.IntRange(1, share).Draw(r, "has") == 1 {
				row.Key, row.Provider = "k", "k"
				row.Trail = []journal.Step{{Provider: "k"}, {Provider: "k"}} // the same word again
				want[i/64] |= 1 << (i % 64)
			}
			b.post(index, &row)
			b.rows++
		}
		if len(b.words) == 0 {
			return
		}
		for _, word := range b.words {
			got := allOf(rows)
			which := word.which(rows)
			got.only(which)
			if got != want {
				r.Fatalf("%s: got %b, want %b", word.word, got, want)
			}
			if len(which) > 1+(rows+7)/8 {
				r.Fatalf("%d bytes for %d rows", len(which), rows)
			}
		}
	})
}

// FuzzBlock reads the parts of a block that are broken without harm.
func FuzzBlock(f *testing.F) {
	f.Add([]byte{0, 1, 2}, "a")
	f.Add([]byte{1, 0xff, 0xff}, "")
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "b")
	f.Add(packIDs([]string{"a", "ab", "abcdefghijkl", "b"}), "abc")
	f.Add([]byte{0, 0, 0, 1, 9, 0xff, 0, 0, 0}, "x")
	f.Fuzz(func(_ *testing.T, b []byte, id string) {
		s := allOf(blockRows)
		s.only(b)
		mayHave(b, id, true)
		mayHave(b, id, false)
		unpackWords(b)
		findName(b, []byte("0123456789abcdef"))
		eachRow(b, func(_ int, row []byte) bool {
			ledger.IDOf(row)
			return true
		})
		ledger.IDOf(b)
		o := opened{body: b, at: -1, rows: allOf(blockRows)}
		for w := (&walker{q: &ledger.RequestQuery{ID: id}, from: []byte{}, below: bytes.Repeat([]byte{0xff}, 8)}); ; {
			if o.advance(w); len(o.body) == 0 {
				break
			}
		}
	})
}

// Rows that were written in any order, by several at once and some of them twice, a few at a time and many at once, come in the order of their times and
// once; small batches end up in few blocks.
func TestBlocksThatOverlap(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	r := rand.New(rand.NewPCG(1, 2))
	a, b := ledger.NewNumbers("a1"), ledger.NewNumbers("b2")
	start := time.Now().Add(-time.Hour).Truncate(time.Second)
	var all []ledger.Request
	batches := 0
	for second := range 300 {
		for _, n := range []*ledger.Numbers{a, b} {
			var batch ledger.Batch
			for range 1 + r.IntN(3)*r.IntN(4) {
				row := pastRow(r, n, start, 1, 2)
				row.Row = n.Row(start.Add(time.Duration(second)*time.Second + time.Duration(r.IntN(1_500_000))*time.Microsecond))
				row.Key = fmt.Sprintf("key-%d", len(all)%7)
				batch.Requests = append(batch.Requests, row)
			}
			all = append(all, batch.Requests...)
			if second%10 == 0 && len(all) > 5 { // some again
				batch.Requests = append(batch.Requests, all[len(all)-5:]...)
			}
			r.Shuffle(len(batch.Requests), func(i, j int) {
				batch.Requests[i], batch.Requests[j] = batch.Requests[j], batch.Requests[i]
			})
			if err := l.Write(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batches++
		}
	}
	slices.SortFunc(all, func(a, b ledger.Request) int { return strings.Compare(string(b.Row), string(a.Row)) })
	for _, q := range []ledger.RequestQuery{{}, {Limit: 7}, {Key: "key-3", Limit: 11}, {From: start.Add(time.Minute), To: start.Add(2 * time.Minute), Limit: 13}} {
		var got, want []ledger.Row
		for i := range all {
			if q.Matches(&all[i]) {
				want = append(want, all[i].Row)
			}
		}
		for {
			page, err := l.Requests(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Requests {
				got = append(got, page.Requests[i].Row)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d rows in another order than the %d that were written", q, len(got), len(want))
		}
	}
	for i := 0; i < len(all); i += 97 {
		for _, id := range []string{string(all[i].Row), all[i].ID} {
			if got, ok, err := l.Request(t.Context(), id); err != nil || !ok || got.ID != all[i].ID {
				t.Errorf("%s: %v, %v", id, ok, err)
			}
		}
	}
	var blocks int
	if err := db.reader.QueryRow(`SELECT count(*) FROM blocks`).Scan(&blocks); err != nil || blocks > len(all)/blockRows+tidyEvery+8 {
		t.Errorf("%d rows of %d batches are in %d blocks, %v", len(all), batches, blocks, err)
	}
	if got, err := l.Usage(t.Context(), ledger.UsageQuery{}); err != nil || len(got) != 1 || got[0].Requests != int64(len(all)) {
		t.Errorf("the sums are %+v, %v; want those of %d", got, err, len(all))
	}
	// A few at a time, of those that overlap.
	for _, n := range []int{len(all) - 3, len(all) / 2, 700, 699, 1} {
		if err := l.Expire(t.Context(), ledger.Retention{Requests: n}); err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.reader.QueryRow(`SELECT sum(rows) FROM blocks`).Scan(&rows); err != nil || rows != n {
			t.Errorf("%d rows are left, want %d, %v", rows, n, err)
		}
		for i := max(n-40, 0); i < min(n+40, len(all)); i++ {
			if _, ok, err := l.Request(t.Context(), string(all[i].Row)); err != nil || ok != (i < n) {
				t.Fatalf("%d are to stay, of which the one that is number %d is there: %v, %v", n, i, ok, err)
			}
		}
	}
}

// Of blocks that lie over each other from end to end the oldest rows go first, whichever block they are in.
func TestOldestOfSeveralBlocks(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	l := db.Ledger()
	numbers := ledger.NewNumbers("a1")
	start := time.Now().Add(-time.Hour)
	var batches [3]ledger.Batch
	var all []ledger.Row // the oldest first
	for i := range 600 {
		row := ledger.Request{Row: numbers.Row(start.Add(time.Duration(i) * time.Second)), Kind: ledger.KindRequest}
		b := &batches[i%3]
		b.Requests, all = append(b.Requests, row), append(all, row.Row)
	}
	for _, b := range batches {
		if err := l.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{599, 450, 399, 200, 5} {
		if err := l.Expire(t.Context(), ledger.Retention{Requests: n}); err != nil {
			t.Fatal(err)
		}
		page, err := l.Requests(t.Context(), ledger.RequestQuery{Cursor: all[len(all)-n+3]})
		if got := len(page.Requests); err != nil || got != 3 || page.Requests[2].Row != all[len(all)-n] {
			t.Errorf("of %d that are to stay %d are older than the fourth; %v", n, got, err)
		}
	}
}
