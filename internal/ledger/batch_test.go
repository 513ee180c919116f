package ledger

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/journal"
)

// A batch gives its rows the newest first and each once, whoever made it, and all of what each of them is: nothing of one row is in another one, though they
// come in the same room.
func TestBatchGivesItsRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		numbers := NewNumbers("a1")
		var plain, queued Batch
		var want []Request
		var items []*item
		for n := range rapid.IntRange(0, 9).Draw(r, "rows") {
			row := *drawRow(r)
			row.Start = time.UnixMicro(int64(n)).UTC()
			row.Row = numbers.Row(time.UnixMicro(rapid.Int64Range(1, 5).Draw(r, "at")))
			row.Instance, row.Kind, row.ID = "a1", KindRequest, string(rune('a'+n))
			row.Duration, row.FirstContent, row.Overhead = time.Duration(n)*time.Second, 0, 0
			for range rapid.IntRange(0, 3).Draw(r, "targets") {
				row.Targets = append(row.Targets, journal.Candidate{Provider: "p", Model: row.ID})
			}
			row.Account = AccountOf(&row.Request)
			bytes := AppendRequest(nil, &row)
			kept, err := DecodeRequest(bytes)
			if err != nil {
				r.Fatal(err)
			}
			want = append(want, *kept)
			name, _ := row.Row.Bytes()
			i := &item{}
			c := coder{}
			c.head(&name, row.Instance, row.Kind)
			c.fact(&row.Request, (*targets)(&row.Targets), 0)
			c.noAccount()
			i.bytes = c.b
			items = append(items, i)
		}
		plain.Requests = append(slices.Clone(want), want...) // each twice
		slices.Reverse(plain.Requests)
		queued.add(items)
		slices.SortFunc(want, func(a, b Request) int { return cmp.Compare(b.Row, a.Row) })
		for name, b := range map[string]*Batch{"of rows": &plain, "of a queue": &queued} {
			for range 2 { // a write that is repeated
				all, err := b.All()
				if err != nil || len(all) != len(want) {
					r.Fatalf("%s: %d rows, %v, want %d", name, len(all), err, len(want))
				}
				for i := range all {
					got := all[i]
					got.fact = ""
					if len(got.Trail) == 0 {
						got.Trail = nil
					}
					if len(got.Targets) == 0 {
						got.Targets = nil
					}
					if !reflect.DeepEqual(got, want[i]) {
						r.Fatalf("%s, row %d:\n%+v, want\n%+v", name, i, got, want[i])
					}
				}
			}
		}
	})
}

func TestBatchEnds(t *testing.T) {
	t.Parallel()
	row := wholeRow()
	stop := errors.New("enough")
	for name, b := range map[string]Batch{
		"of rows":           {Requests: []Request{*row, {Row: NewNumbers("a1").Row(row.End().Add(time.Second))}}},
		"of a queue":        {waiting: []*item{{bytes: AppendRequest(nil, wholeRow())}, {bytes: AppendRequest(nil, wholeRow())}}},
		"of what is no row": {waiting: []*item{{bytes: []byte{codecVersion}}}},
	} {
		visits := 0
		err := b.Each(func(*Request) error { visits++; return stop })
		if err == nil || visits > 1 || errors.Is(err, stop) != (visits == 1) {
			t.Errorf("%s: %d visits, %v", name, visits, err)
		}
	}
}
