package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/ledger"
)

// random runs check on random rows. Each run has a day of its own, the later ones before the earlier: the store is the same.
func (t *entered) random(check func(r *rapid.T)) {
	t.Helper()
	runs, failed := 0, false
	now := t.now
	rapid.Check(t.T, func(r *rapid.T) {
		if runs >= t.Checks && !failed { // each costs a store some round trips
			return
		}
		defer func() { failed = failed || r.Failed() }()
		runs++
		t.now = now.Add(-time.Duration(runs) * 24 * time.Hour)
		check(r)
	})
	t.now = now
}

// day is the time of the rows of one run of random.
func (t *entered) day() (from, to time.Time) {
	return t.now.Add(-12 * time.Hour), t.now.Add(time.Second)
}

var ledgerRowTests = []ledgerTest{
	{"nothing is there", func(t *entered) {
		if got := t.list(ledger.RequestQuery{}); len(got) != 0 {
			t.Errorf("%d rows", len(got))
		}
		if _, found, err := t.store.Request(t.ctx(), "req_1"); found || err != nil {
			t.Errorf("found %v, %v", found, err)
		}
		if got := t.usage(ledger.UsageQuery{}); len(got) != 0 {
			t.Errorf("%d sums", len(got))
		}
		t.lay(ledger.Batch{})
	}},
	{"what was written reads the same", func(t *entered) {
		t.random(func(r *rapid.T) {
			rows := t.drawRows(r, 20, time.Hour)
			t.write(rows...)
			from, to := t.day()
			t.same(t.list(ledger.RequestQuery{From: from, To: to, Kind: ledger.AnyKind}), rows)
			for i := range rows {
				got, found, err := t.peer.Request(t.ctx(), string(rows[i].Row))
				if err != nil || !found || !reflect.DeepEqual(*got, rows[i]) {
					r.Fatalf("by its row: found %v, %v\ngot  %+v\nwant %+v", found, err, got, rows[i])
				}
			}
		})
	}},
	{"by id it is the newest", func(t *entered) {
		old, young := t.plainRow(time.Hour), t.plainRow(time.Minute)
		other := t.plainRow(time.Second)
		other.ID = "req_plain2"
		t.write(young)
		t.write(other, old)
		got, found, err := t.peer.Request(t.ctx(), "req_plain")
		if err != nil || !found || got.Row != young.Row {
			t.Errorf("found %v, %v: %+v", found, err, got)
		}
	}},
	{"a call whose context is over says so", func(t *entered) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		row := t.plainRow(0)
		if err := t.store.Write(ctx, ledger.Batch{Requests: []ledger.Request{row}}); err == nil {
			t.Error("written")
		}
		if _, err := t.store.Requests(ctx, ledger.RequestQuery{}); err == nil {
			t.Error("listed")
		}
		if _, err := t.store.Usage(ctx, ledger.UsageQuery{}); err == nil {
			t.Error("summed")
		}
	}},
}

var ledgerFilterTests = []ledgerTest{
	{"pages give each row once, the newest first", func(t *entered) {
		var rows []ledger.Request
		for i := range 57 {
			rows = append(rows, t.plainRow(time.Duration(i%19)*time.Second)) // three at the same moment
		}
		t.write(rows...)
		newestFirst(rows)
		for _, limit := range []int{1, 2, 19, 56, 57, 58, 0} {
			t.same(t.list(ledger.RequestQuery{Limit: limit}), rows)
		}
	}},
	{"the end of a time is not in it", func(t *entered) {
		a, b, c := t.plainRow(3*time.Second), t.plainRow(2*time.Second), t.plainRow(time.Second)
		t.write(a, b, c)
		t.same(t.list(ledger.RequestQuery{From: a.End(), To: c.End()}), []ledger.Request{b, a})
	}},
	{"every filter agrees with Matches", func(t *entered) {
		t.random(func(r *rapid.T) {
			rows := t.drawRows(r, 40, time.Hour)
			t.write(rows...)
			for range 4 {
				q := drawQuery(r, t.now)
				from, to := t.day()
				if q.From.IsZero() {
					q.From = from
				}
				if q.To.IsZero() {
					q.To = to
				}
				want := []ledger.Request{}
				for i := range rows {
					if q.Matches(&rows[i]) {
						want = append(want, rows[i])
					}
				}
				t.same(t.list(q), want)
			}
		})
	}},
	{"each filter alone finds what is rare", func(t *entered) {
		var rows []ledger.Request
		for i := range 300 {
			rows = append(rows, t.plainRow(time.Duration(300-i)*time.Second))
		}
		odd := &rows[7]
		odd.ID, odd.Key, odd.Route, odd.Code, odd.Status, odd.Asked = "odd", "carol", "rare", "timeout", 504, "Näin"
		odd.Account = ledger.Account{Failed: true, Rescued: true}
		odd.Trail[0].Provider, odd.Trail[0].Model, odd.Trail[0].Drill = "azure", "gpt-4o", "d9"
		odd.Drill = "d9"
		t.write(rows...)
		for name, q := range map[string]ledger.RequestQuery{
			"key": {Key: "carol"}, "route": {Route: "rare"}, "provider": {Provider: "azure"}, "model": {Model: "gpt-4o"}, "both": {Provider: "azure", Model: "gpt-4o"},
			"code": {Code: "timeout"}, "status": {Status: 504}, "class": {Status: 5}, "failed": {Failed: true}, "rescued": {Rescued: true}, "drill": {Drill: "d9"},
			"drilled": {Drilled: true}, "id": {ID: "od"}, "whole id": {ID: "odd"}, "text": {Text: "NÄIN"},
		} {
			if got := t.list(q); len(got) != 1 || got[0].Row != odd.Row {
				t.Errorf("%s: %v", name, rowsOf(got))
			}
		}
		for name, q := range map[string]ledger.RequestQuery{
			"key": {Key: "carol%"}, "id": {ID: "%"}, "id_": {ID: "o_d"}, "text": {Text: "n_in"}, "both": {Provider: "azure", Model: "llama"}, "kind": {Kind: ledger.KindMirror},
			"quotes": {Key: `' OR 1=1 --`}, "zero": {Text: "\x00"}, "broken": {Code: "\xff"},
		} {
			if got := t.list(q); len(got) != 0 {
				t.Errorf("%s finds %v", name, rowsOf(got))
			}
		}
	}},
}

func drawQuery(r *rapid.T, now time.Time) (q ledger.RequestQuery) {
	word := func(label string, of ...string) string {
		if rapid.IntRange(0, 3).Draw(r, label+"?") > 0 {
			return ""
		}
		return rapid.SampledFrom(of).Draw(r, label)
	}
	q.Key, q.Route, q.Code, q.Drill = word("q_key", "alice", "bob"), word("q_route", "fast", "slow"), word("q_code", "timeout"), word("q_drill", "d1")
	q.Provider, q.Model = word("q_provider", "groq", "azure"), word("q_model", "llama", "gpt-4o")
	q.ID, q.Text, q.Kind = word("q_id", "req_1", "x'", `q"%`), word("q_text", "OVER", "Är", "_"), word("q_kind", ledger.AnyKind, ledger.KindMirror, ledger.KindProbe)
	if rapid.IntRange(0, 3).Draw(r, "q_status?") == 0 {
		q.Status = rapid.SampledFrom([]int{2, 4, 5, 429, 200, 503}).Draw(r, "q_status")
	}
	switch rapid.IntRange(0, 9).Draw(r, "q_marks") {
	case 0:
		q.Failed = true
	case 1:
		q.Rescued = true
	case 2:
		q.Drilled = true
	}
	if rapid.Bool().Draw(r, "q_from") {
		q.From = now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(r, "from")) * time.Second)
	}
	if rapid.Bool().Draw(r, "q_to") {
		q.To = now.Add(-time.Duration(rapid.IntRange(0, 3600).Draw(r, "to")) * time.Second)
	}
	q.Limit = rapid.IntRange(1, 7).Draw(r, "limit")
	return q
}

var ledgerSumTests = []ledgerTest{
	{"sums are those of the rows", func(t *entered) {
		t.random(func(r *rapid.T) {
			rows := t.drawRows(r, 30, 3*time.Hour)
			t.write(rows...)
			from, to := t.now.Add(-5*time.Hour).Truncate(time.Hour), t.now.Add(2*time.Hour).Truncate(time.Hour)
			for range 4 {
				q := ledger.UsageQuery{
					From: from, To: to, ByKey: rapid.Bool().Draw(r, "key"), ByRoute: rapid.Bool().Draw(r, "route"), ByModel: rapid.Bool().Draw(r, "model"),
					ByProvider: rapid.Bool().Draw(r, "provider"), Step: ledger.Step(rapid.IntRange(0, 2).Draw(r, "step")),
				}
				if rapid.IntRange(0, 2).Draw(r, "one key") == 0 {
					q.Key = "alice"
				}
				if rapid.IntRange(0, 2).Draw(r, "drilled") == 0 {
					q.Drill = "d1"
				}
				var want ledger.Totals
				picked := ledger.RequestQuery{From: q.From, To: q.To, Drill: q.Drill, Kind: ledger.AnyKind}
				for i := range rows {
					if picked.Matches(&rows[i]) {
						want.AnswerRow(&q, &rows[i])
					}
				}
				sameSums(r, t.usage(q), slices.DeleteFunc(want.Rows(), func(u ledger.UsageRow) bool { return u.Sums == ledger.Sums{} }))
			}
		})
	}},
	{"what is written twice, or in part, adds nothing", func(t *entered) {
		t.random(func(r *rapid.T) {
			rows := t.drawRows(r, 20, time.Hour)
			half := rows[:rapid.IntRange(0, len(rows)).Draw(r, "half")]
			t.write(slices.Concat(half, half)...) // twice in one batch, of which nothing is there yet
			t.write(rows...)
			t.write(slices.Concat(rows, rows[:1])...) // and twice in one batch
			from, to := t.day()
			t.same(t.list(ledger.RequestQuery{From: from, To: to, Kind: ledger.AnyKind}), rows)
			var want ledger.Totals
			q := ledger.UsageQuery{From: from.Truncate(time.Hour), To: to}
			for i := range rows {
				want.AnswerRow(&q, &rows[i])
			}
			sameSums(r, t.usage(q), slices.DeleteFunc(want.Rows(), func(u ledger.UsageRow) bool { return u.Sums == ledger.Sums{} }))
		})
	}},
	{"several at once write the same rows once", func(t *entered) {
		var rows []ledger.Request
		for i := range 40 {
			rows = append(rows, t.plainRow(time.Duration(i)*time.Second))
		}
		var group sync.WaitGroup
		fail := make(chan error, 8)
		for i := range 8 {
			store := t.store
			if i%2 == 1 {
				store = t.peer
			}
			group.Go(func() { fail <- store.Write(t.ctx(), ledger.Batch{Requests: rows[i*4 : i*4+12]}) })
		}
		group.Wait()
		for range 8 {
			if err := <-fail; err != nil {
				t.Fatal(err)
			}
		}
		if got := t.total(ledger.UsageQuery{}); got.Requests != 40 || got.Attempts != 40 || got.Input != 400 || got.CostNano != 40_000 {
			t.Errorf("40 rows came to %+v", got)
		}
	}},
	{"steps are whole buckets", func(t *entered) {
		row := t.plainRow(90 * time.Minute)
		t.write(row, t.plainRow(0))
		for _, step := range []ledger.Step{ledger.Minute, ledger.Hour} {
			got := t.usage(ledger.UsageQuery{From: row.End(), To: row.End().Add(time.Second), Step: step, ByProvider: true})
			if len(got) != 1 || !got[0].At.Equal(step.Of(row.End())) || got[0].Provider != "groq" || got[0].Requests != 1 || got[0].Attempts != 1 {
				t.Errorf("step %d: %+v", step, got)
			}
		}
	}},
	{"a long time that begins and ends within a day", func(t *entered) {
		var rows []ledger.Request
		for i := range 60 {
			rows = append(rows, t.plainRow(time.Duration(i)*7*time.Hour))
		}
		t.write(rows...)
		hour := t.now.Truncate(time.Hour)
		for _, span := range [][2]int{{400, 0}, {399, 11}, {250, 226}, {240, 239}, {100, 70}, {72, 48}, {60, 24}, {420, 300}} {
			q := ledger.UsageQuery{From: hour.Add(-time.Duration(span[0]) * time.Hour), To: hour.Add(-time.Duration(span[1]) * time.Hour), ByProvider: true}
			var want ledger.Totals
			for i := range rows {
				if end := rows[i].End(); !end.Before(q.From) && end.Before(q.To) {
					want.AnswerRow(&q, &rows[i])
				}
			}
			if got := t.usage(q); !slices.Equal(got, want.Rows()) {
				t.Errorf("from %d to %d hours ago:\ngot  %+v\nwant %+v", span[0], span[1], got, want.Rows())
			}
		}
	}},
	{"a large batch counts whole", func(t *entered) {
		rows := make([]ledger.Request, 500)
		for i := range rows {
			rows[i] = t.plainRow(time.Duration(i) * time.Second)
			rows[i].Route = fmt.Sprintf("route-%d", i%70)
		}
		t.write(rows...)
		if got := t.total(ledger.UsageQuery{}); got.Requests != 500 || got.Output != 2500 {
			t.Errorf("500 rows came to %+v", got)
		}
		if got := t.usage(ledger.UsageQuery{ByRoute: true}); len(got) != 70 {
			t.Errorf("%d routes, want 70", len(got))
		}
	}},
}

func sameSums(r *rapid.T, got, want []ledger.UsageRow) {
	if len(got) != len(want) {
		r.Fatalf("%d sums, want %d\ngot  %+v\nwant %+v", len(got), len(want), got, want)
	}
	for i := range got {
		if !got[i].At.Equal(want[i].At) || got[i].Group != want[i].Group || got[i].Sums != want[i].Sums {
			r.Fatalf("sum %d\ngot  %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

var ledgerTimelineTests = []ledgerTest{
	{"entries come back, the newest first, by kind, provider, request and time", func(t *entered) {
		kinds := []string{ledger.EntryGuard, ledger.EntryOrder, ledger.EntryDiscovery, ledger.EntryChange, ledger.EntryProbe}
		var all []ledger.Entry
		for i := range 60 {
			at := t.now.Add(-time.Duration(i) * time.Second)
			all = append(all, ledger.Entry{
				Row: t.numbers.Row(at), At: at, Instance: "a1", Kind: kinds[i%5], Provider: []string{"groq", "azure", ""}[i%3], Model: "m", Credential: "default", Guard: "circuit_breaker",
				From: "closed", To: "open", Trip: "failures", Reason: "'; DROP TABLE entries; --", By: "token", RequestID: fmt.Sprintf("req_%d", i%7), Message: "\x00\xff<b>",
			})
			if i%2 == 0 {
				all[i].Until = at.Add(time.Minute)
			}
		}
		t.lay(ledger.Batch{Entries: all[30:]})
		t.lay(ledger.Batch{Entries: all}) // some of them again
		for name, q := range map[string]ledger.TimelineQuery{
			"all": {}, "small pages": {Limit: 7}, "kinds": {Kinds: []string{"order", "change"}}, "provider": {Provider: "azure"}, "both": {Kinds: []string{"guard"}, Provider: "groq", Limit: 1},
			"request": {RequestID: "req_3"}, "time": {From: t.now.Add(-40 * time.Second), To: t.now.Add(-20 * time.Second), Limit: 3}, "none": {Provider: "nobody"},
			"no such kind": {Kinds: []string{"x"}},
		} {
			var want []ledger.Entry
			for i := range all {
				if q.Matches(&all[i]) {
					want = append(want, all[i])
				}
			}
			if got := t.entries(q); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d entries, want %d\n%+v\n%+v", name, len(got), len(want), got, want)
			}
		}
	}},
}

var ledgerExpireTests = []ledgerTest{
	{"what is too old goes, its sums stay", func(t *entered) {
		t.write(t.plainRow(50*time.Hour), t.plainRow(49*time.Hour), t.plainRow(time.Hour), t.plainRow(time.Minute))
		t.lay(ledger.Batch{Entries: []ledger.Entry{
			{Row: t.numbers.Row(t.now.Add(-50 * time.Hour)), Kind: "guard", Instance: "a1"}, {Row: t.numbers.Row(t.now), Kind: "guard", Instance: "a1"},
		}})
		t.expire(ledger.Retention{Age: 24 * time.Hour})
		if got := t.list(ledger.RequestQuery{}); len(got) != 2 {
			t.Errorf("%d rows are left, want 2", len(got))
		}
		if got := t.list(ledger.RequestQuery{Provider: "groq", Model: "llama"}); len(got) != 2 {
			t.Errorf("%d rows are found by provider, want 2", len(got))
		}
		if got := t.entries(ledger.TimelineQuery{}); len(got) != 1 {
			t.Errorf("%d entries are left, want 1", len(got))
		}
		if got := t.total(ledger.UsageQuery{}); got.Requests != 4 {
			t.Errorf("the sums have %d requests, want 4", got.Requests)
		}
		got := t.usage(ledger.UsageQuery{From: t.now.Add(-60 * time.Hour), Step: ledger.Minute})
		if len(got) != 2 {
			t.Errorf("%d minutes are left, want 2: those of %v are over", len(got), ledger.KeepMinutes)
		}
	}},
	{"without a clock nothing goes for its age", func(t *entered) {
		t.write(t.plainRow(50*time.Hour), t.plainRow(time.Minute))
		t.lay(ledger.Batch{Entries: []ledger.Entry{{Row: t.numbers.Row(t.now.Add(-50 * time.Hour)), Kind: "guard", Instance: "a1"}}})
		t.expire(ledger.Retention{Age: 24 * time.Hour, ByNumber: true})
		if rows, entries := t.list(ledger.RequestQuery{}), t.entries(ledger.TimelineQuery{}); len(rows) != 2 || len(entries) != 1 {
			t.Errorf("%d rows and %d entries are left, want 2 and 1", len(rows), len(entries))
		}
		if got := t.usage(ledger.UsageQuery{From: t.now.Add(-60 * time.Hour), Step: ledger.Minute}); len(got) != 2 {
			t.Errorf("%d minutes are left, want 2", len(got))
		}
		t.expire(ledger.Retention{Age: 24 * time.Hour, ByNumber: true, Requests: 1})
		if rows := t.list(ledger.RequestQuery{}); len(rows) != 1 {
			t.Errorf("%d rows are left, want 1", len(rows))
		}
	}},
	{"of too many the oldest go", func(t *entered) {
		var rows []ledger.Request
		for i := range 1300 { // more than a step takes
			rows = append(rows, t.plainRow(time.Duration(i)*time.Second))
		}
		slices.Reverse(rows)
		t.write(rows...)
		t.expire(ledger.Retention{Requests: 10})
		newestFirst(rows)
		t.same(t.list(ledger.RequestQuery{}), rows[:10])
		t.expire(ledger.Retention{Requests: 10})
		t.same(t.list(ledger.RequestQuery{}), rows[:10])
		if got := t.total(ledger.UsageQuery{}); got.Requests != 1300 {
			t.Errorf("the sums have %d requests", got.Requests)
		}
	}},
	{"what went is found by no filter", func(t *entered) {
		row := t.plainRow(50 * time.Hour)
		row.ID = strings.Repeat("i", 128)
		t.write(row, t.plainRow(0))
		t.expire(ledger.Retention{Requests: 1})
		if got := t.list(ledger.RequestQuery{ID: "iii"}); len(got) != 0 {
			t.Errorf("%d rows", len(got))
		}
	}},
}

func (t *entered) expire(keep ledger.Retention) {
	t.Helper()
	if err := t.store.Expire(t.ctx(), keep); err != nil {
		t.Fatalf("expire: %v", err)
	}
}
