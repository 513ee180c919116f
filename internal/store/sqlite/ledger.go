package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evergate/internal/ledger"
)

// Ledger are the tables of the ledger. Safe for concurrent use.
type Ledger struct{ db *DB }

var _ ledger.Store = (*Ledger)(nil)

// Ledger gives the ledger of the file, which ends with it.
func (db *DB) Ledger() *Ledger { return &Ledger{db} }

// Ledger gives the ledger of the same file.
func (p *Pages) Ledger() ledger.Store { return p.db.Ledger() }

// lump is how many rows one statement inserts: each has a price of its own.
const lump = 50

// sumTables are where sums are kept, and how long a bucket of each is. Days are there so that the sums of months need not be read by the hour.
var sumTables = [...]struct {
	name         string
	length, keep time.Duration
}{{"minutes", time.Minute, ledger.KeepMinutes}, {"hours", time.Hour, ledger.KeepHours}, {"days", 24 * time.Hour, ledger.KeepHours}}

// Write implements ledger.Store.
func (l *Ledger) Write(ctx context.Context, b ledger.Batch) error {
	if len(b.Requests) == 0 && len(b.Entries) == 0 {
		return ctx.Err()
	}
	return l.db.write(ctx, func(tx *sql.Tx) error {
		w := writing{ctx: ctx, tx: tx}
		defer w.close()
		if err := w.requests(b.Requests); err != nil {
			return err
		}
		return w.entries(b.Entries)
	})
}

// writing is one transaction that adds rows.
type writing struct {
	ctx    context.Context //nolint:containedctx // of one call of Write
	tx     *sql.Tx
	totals [len(sumTables)]ledger.Totals
	stmts  map[string]*sql.Stmt
	args   []any
}

func (w *writing) close() {
	for _, s := range w.stmts {
		_ = s.Close() // the transaction's end says whether all went well
	}
}

// prepare gives a statement that comes again in the same transaction.
func (w *writing) prepare(statement string) (*sql.Stmt, error) {
	if s := w.stmts[statement]; s != nil {
		return s, nil
	}
	s, err := w.tx.PrepareContext(w.ctx, statement)
	if err != nil {
		return nil, err
	}
	if w.stmts == nil {
		w.stmts = map[string]*sql.Stmt{}
	}
	w.stmts[statement] = s
	return s, nil
}

func (w *writing) do(statement string, args ...any) error {
	s, err := w.prepare(statement)
	if err == nil {
		_, err = s.ExecContext(w.ctx, args...)
	}
	return err
}

// values is a list of so many rows of so many values.
func values(rows, columns int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, rows-1)
}

// requests adds those that are not there, what they are found by, and their sums.
func (w *writing) requests(rows []ledger.Request) error {
	var found []finding
	for len(rows) > 0 {
		n := min(len(rows), lump)
		fresh, err := w.fresh(rows[:n])
		if err == nil {
			err = w.insert(fresh)
		}
		if err != nil {
			return err
		}
		for _, f := range fresh {
			for _, word := range f.Words() {
				found = append(found, finding{word, f.row})
			}
			end := f.End()
			ledger.Fold(f.Request, func(g ledger.Group, s *ledger.Sums) {
				for i := range sumTables {
					w.totals[i].Add(end.Truncate(sumTables[i].length), g, s)
				}
			})
		}
		rows = rows[n:]
	}
	if err := w.index(found); err != nil {
		return err
	}
	for i := range sumTables {
		if err := w.sums(sumTables[i].name, &w.totals[i]); err != nil {
			return err
		}
	}
	return nil
}

// freshRow is a request that is not there.
type freshRow struct {
	*ledger.Request

	row []byte
}

// fresh gives those of a few requests that are not there, each once. The transaction has the file's lock: no other one adds them in between.
func (w *writing) fresh(rows []ledger.Request) (fresh []freshRow, err error) {
	w.args = w.args[:0]
	place := make(map[string]int, len(rows))
	for i := range rows {
		row, ok := rows[i].Row.Bytes()
		if !ok {
			return nil, fmt.Errorf("BUG: %q is no row", rows[i].Row)
		}
		if _, twice := place[string(row[:])]; !twice {
			place[string(row[:])] = i
			w.args = append(w.args, row[:])
		}
	}
	there, err := w.prepare("SELECT row FROM requests WHERE row IN (?" + strings.Repeat(", ?", len(w.args)-1) + ")")
	if err != nil {
		return nil, err
	}
	found, err := there.QueryContext(w.ctx, w.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		var row sql.RawBytes
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		delete(place, string(row))
	}
	for i := range rows {
		row, _ := rows[i].Row.Bytes()
		if at, ok := place[string(row[:])]; ok && at == i {
			fresh = append(fresh, freshRow{&rows[i], row[:]})
		}
	}
	return fresh, found.Err()
}

func (w *writing) insert(rows []freshRow) error {
	if len(rows) == 0 {
		return nil
	}
	w.args = w.args[:0]
	size := 0
	for i := range rows {
		size += 512 + 96*len(rows[i].Trail)
	}
	buf := make([]byte, 0, size)
	for i := range rows {
		from := len(buf)
		buf = ledger.AppendRequest(buf, rows[i].Request)
		w.args = append(w.args, rows[i].row, buf[from:len(buf):len(buf)])
	}
	return w.do("INSERT INTO requests (row, body) VALUES "+values(len(rows), 2), w.args...)
}

// finding is a word by which a row is found.
type finding struct {
	word string
	row  []byte
}

// inOrder puts words in the order of their index, so that no page of it is needed again and again.
func inOrder(found []finding) {
	slices.SortFunc(found, func(a, b finding) int { return cmp.Or(strings.Compare(a.word, b.word), bytes.Compare(a.row, b.row)) })
}

// index enters what requests are found by.
func (w *writing) index(found []finding) error {
	inOrder(found)
	for some := range slices.Chunk(found, 2*lump) {
		w.args = w.args[:0]
		for i := range some {
			w.args = append(w.args, some[i].word, some[i].row)
		}
		if err := w.do("INSERT INTO request_words (word, row) VALUES "+values(len(some), 2), w.args...); err != nil {
			return err
		}
	}
	return nil
}

// sums adds totals to a table of them.
func (w *writing) sums(table string, totals *ledger.Totals) error {
	statement := upsert(table)
	for _, row := range totals.Rows() {
		if row.Sums == (ledger.Sums{}) {
			continue
		}
		w.args = append(w.args[:0], row.At.UnixMicro(), row.Key, row.Route, row.Model, row.Provider)
		for _, n := range row.Sums.Numbers() {
			w.args = append(w.args, *n)
		}
		if err := w.do(statement, w.args...); err != nil {
			return err
		}
	}
	return nil
}

// largest is what a column holds at most. A sum stays there: an upstream may say any number, and SQLite would go on in floating point.
const largest = "9223372036854775807"

func upsert(table string) string {
	names := ledger.SumNames()
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (at, key, route, model, provider, " + strings.Join(names[:], ", ") + ") VALUES " +
		values(1, 5+len(names)) + " ON CONFLICT DO UPDATE SET ")
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n + " = min(" + n + ", " + largest + " - excluded." + n + ") + excluded." + n)
	}
	return b.String()
}

func (w *writing) entries(entries []ledger.Entry) error {
	for i := range entries {
		e := &entries[i]
		row, ok := e.Row.Bytes()
		if !ok {
			return fmt.Errorf("BUG: %q is no row", e.Row)
		}
		if err := w.do("INSERT INTO entries (row, kind, provider, request, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			row[:], e.Kind, e.Provider, e.RequestID, ledger.AppendEntry(nil, e)); err != nil {
			return err
		}
	}
	return nil
}
