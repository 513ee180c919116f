package sqlite

import (
	"context"
	"database/sql"
	"math"
	"time"

	"evergate/internal/ledger"
)

// sumTables are where sums are kept, how long a bucket of each is and how long it is kept. Days are there so that the sums of months need not be read by the hour.
var sumTables = [...]struct {
	name         string
	length, keep time.Duration
}{{"minutes", time.Minute, ledger.KeepMinutes}, {"hours", time.Hour, ledger.KeepHours}, {"days", 24 * time.Hour, ledger.KeepHours}}

// How sums come into their tables. Each batch adds its own as a line of fresh_sums, which queries read too. Now and then those are added to the minutes, hours and
// days: a bucket of thousands of groups is not written again for every row.
const (
	leastFresh = 32  // lines, before they are added
	mostFresh  = 512 // lines, or as many as have an eighth of the bytes of a day
	tidyEvery  = 32  // lines, before small blocks are laid together
)

// freshSums adds the sums of a batch.
func (w *writing) freshSums(minutes map[int64]ledger.Bundle) error {
	add, err := w.prepare(`INSERT INTO fresh_sums (at, body) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	var last, n int64
	for at, sums := range minutes {
		done, err := add.ExecContext(w.ctx, at, sums.Append(nil))
		if err != nil {
			return err
		}
		if last, err = done.LastInsertId(); err != nil { // all go at once, so it counts them
			return err
		}
		n++
	}
	if last/tidyEvery != (last-n)/tidyEvery {
		if err := w.tidy(); err != nil {
			return err
		}
	}
	if last < leastFresh {
		return nil
	}
	if last < mostFresh {
		var fresh, day int
		if err := w.tx.QueryRowContext(w.ctx, `SELECT (SELECT sum(length(body)) FROM fresh_sums), coalesce((SELECT length(body) FROM days ORDER BY at DESC LIMIT 1), 0)`).
			Scan(&fresh, &day); err != nil {
			return err
		}
		if 8*fresh < day {
			return nil
		}
	}
	return w.foldSums()
}

// foldSums adds fresh sums to the tables.
func (w *writing) foldSums() error {
	var buckets [len(sumTables)]map[int64]ledger.Bundle
	for i := range buckets {
		buckets[i] = map[int64]ledger.Bundle{}
	}
	if err := w.each(`SELECT at, body FROM fresh_sums`, nil, func(scan func(...any) error) error {
		var at int64
		var body sql.RawBytes
		if err := scan(&at, &body); err != nil {
			return err
		}
		_ = bundleAt(buckets[0], at).AddPacked(body) // what is broken is lost, and keeps nothing from being written
		return nil
	}); err != nil {
		return err
	}
	for at, minute := range buckets[0] {
		for i := 1; i < len(buckets); i++ {
			of := bundleAt(buckets[i], at-at%sumTables[i].length.Microseconds())
			for g, s := range minute {
				of.Add(g, s)
			}
		}
	}
	for i := range buckets {
		for at, sums := range buckets[i] {
			var body sql.RawBytes
			if err := w.each(`SELECT body FROM `+sumTables[i].name+` WHERE at = ?`, []any{at}, func(scan func(...any) error) error {
				if err := scan(&body); err != nil {
					return err
				}
				_ = sums.AddPacked(body) // as above
				return nil
			}); err != nil {
				return err
			}
			if err := w.do(`INSERT INTO `+sumTables[i].name+` (at, body) VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`, at, sums.Append(nil)); err != nil {
				return err
			}
		}
	}
	return w.do(`DELETE FROM fresh_sums`)
}

func bundleAt(all map[int64]ledger.Bundle, at int64) ledger.Bundle {
	b := all[at]
	if b == nil {
		b = ledger.Bundle{}
		all[at] = b
	}
	return b
}

// Usage implements ledger.Store.
func (l *Ledger) Usage(ctx context.Context, q ledger.UsageQuery) (out []ledger.UsageRow, err error) {
	defer func() { err = explain(ctx, l.db.path, err) }()
	var totals ledger.Totals
	err = l.read(ctx, func(r *reading) error {
		if q.Drill != "" {
			return r.drilled(&q, &totals)
		}
		for _, s := range l.buckets(&q) {
			for _, of := range [...]string{s.table, "fresh_sums"} {
				err := r.each(`SELECT at, body FROM `+of+` WHERE at >= ? AND at < ?`, []any{s.from, s.below}, func(scan func(...any) error) error {
					var at int64
					var body sql.RawBytes
					if err := scan(&at, &body); err != nil {
						return err
					}
					_ = totals.AnswerPacked(&q, moment(at), body) // what is broken is left out
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return totals.Rows(), nil
}

// stretch is a time for which one table has the sums.
type stretch struct {
	table       string
	from, below int64
}

// buckets says which tables have the sums that a query wants: of a long time the days, and hours for what of a day is wanted at its ends.
func (l *Ledger) buckets(q *ledger.UsageQuery) []stretch {
	step, from, below := q.Buckets(l.db.now())
	whole := stretch{"minutes", -1, math.MaxInt64}
	if !from.IsZero() {
		whole.from = from.UnixMicro()
	}
	if !below.IsZero() {
		whole.below = below.UnixMicro()
	}
	if step == ledger.Minute {
		return []stretch{whole}
	}
	whole.table = "hours"
	if q.Step != ledger.Whole {
		return []stretch{whole}
	}
	const day = int64(24 * time.Hour / time.Microsecond)
	days := stretch{"days", whole.from, whole.below}
	if whole.from > 0 {
		days.from = (whole.from + day - 1) / day * day
	}
	if whole.below < math.MaxInt64 {
		days.below = max(whole.below, 0) / day * day
	}
	if days.from >= days.below {
		return []stretch{whole}
	}
	return []stretch{{"hours", whole.from, days.from}, days, {"hours", days.below, whole.below}}
}

// drilled sums rows.
func (r *reading) drilled(q *ledger.UsageQuery, totals *ledger.Totals) error {
	wanted := ledger.RequestQuery{From: q.From, To: q.To, Drill: q.Drill, Kind: ledger.AnyKind}
	n := 0
	_, err := r.walk(&wanted, func(row *ledger.Request) bool {
		if wanted.Matches(row) {
			totals.AnswerRow(q, row)
			n++
		}
		return n < ledger.MaxDrilled
	})
	return err
}
