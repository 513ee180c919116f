package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sort"
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

// Write implements ledger.Store.
func (l *Ledger) Write(ctx context.Context, b ledger.Batch) error {
	if len(b.Requests) == 0 && len(b.Entries) == 0 {
		return ctx.Err()
	}
	rows, err := lay(b.Requests)
	if err != nil {
		return err
	}
	ready := prepareRows(rows) // before the file is locked
	return l.db.write(ctx, func(tx *sql.Tx) error {
		w := writing{ctx: ctx, tx: tx}
		defer w.close()
		if err := w.requests(rows, ready); err != nil {
			return err
		}
		return w.entries(b.Entries)
	})
}

// lay puts requests in order.
func lay(requests []ledger.Request) ([]laid, error) {
	rows := make([]laid, len(requests))
	for i := range requests {
		row, ok := requests[i].Row.Bytes()
		if !ok {
			return nil, fmt.Errorf("BUG: %q is no row", requests[i].Row)
		}
		rows[i] = laid{name: row, r: &requests[i]}
	}
	return newestFirst(rows), nil
}

// readyRows are rows as they are written.
type readyRows struct {
	blocks  []*block
	minutes map[int64]ledger.Bundle
}

func prepareRows(rows []laid) readyRows {
	ready := readyRows{seal(rows), map[int64]ledger.Bundle{}}
	for i := range rows {
		const minute = int64(time.Minute / time.Microsecond)
		at := micros(rows[i].name[:])
		at -= at % minute
		sums := ready.minutes[at]
		if sums == nil {
			sums = ledger.Bundle{}
			ready.minutes[at] = sums
		}
		sums.Fold(rows[i].r)
	}
	return ready
}

// writing is one transaction that writes rows.
type writing struct {
	ctx   context.Context //nolint:containedctx // of one call
	tx    *sql.Tx
	stmts map[string]*sql.Stmt
	args  []any
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

// each reads the rows of a statement.
func (w *writing) each(statement string, args []any, read func(scan func(...any) error) error) (err error) {
	rows, err := w.tx.QueryContext(w.ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// values is a list of so many rows of so many values.
func values(rows, columns int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, rows-1)
}

// requests adds those that are not there, and their sums. The transaction has the file's lock: no other one adds them in between.
func (w *writing) requests(rows []laid, ready readyRows) error {
	if len(rows) == 0 {
		return nil
	}
	there, err := w.there(rows)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		rows = slices.DeleteFunc(slices.Clone(rows), func(l laid) bool { return there[l.name] })
		ready = prepareRows(rows)
	}
	for _, b := range ready.blocks {
		if err := w.insert(b); err != nil {
			return err
		}
	}
	return w.freshSums(ready.minutes)
}

// there gives the names of those rows that the file has.
func (w *writing) there(rows []laid) (map[name]bool, error) {
	var out map[name]bool
	newest, oldest := micros(rows[0].name[:]), micros(rows[len(rows)-1].name[:])
	err := w.each(`SELECT d.names FROM blocks b CROSS JOIN block_bodies d ON d.id = b.id WHERE b.id >= ? AND b.oldest <= ?`, []any{oldest << 8, newest},
		func(scan func(...any) error) error {
			var names sql.RawBytes
			if err := scan(&names); err != nil {
				return err
			}
			for i := range rows {
				if findName(names, rows[i].name[:]) >= 0 {
					if out == nil {
						out = map[name]bool{}
					}
					out[rows[i].name] = true
				}
			}
			return nil
		})
	return out, err
}

// findName says where in a block a row is, by the names of its rows; -1: nowhere.
func findName(names, row []byte) int {
	n := len(names) / 16
	if n == 0 || bytes.Compare(row, names[:16]) > 0 || bytes.Compare(row, names[16*(n-1):]) < 0 {
		return -1
	}
	at := sort.Search(n, func(i int) bool { return bytes.Compare(names[16*i:16*i+16], row) <= 0 })
	if at < n && bytes.Equal(names[16*at:16*at+16], row) {
		return at
	}
	return -1
}

// insert adds a block, and what its rows are found by.
func (w *writing) insert(b *block) error {
	id := b.newest << 8
	if err := w.each(`SELECT id FROM blocks WHERE id >= ? ORDER BY id LIMIT 10000`, []any{id}, func(scan func(...any) error) error {
		var taken int64
		err := scan(&taken)
		if taken == id { // the first that is free
			id++
		}
		return err
	}); err != nil {
		return err
	}
	if err := w.do(`INSERT INTO blocks (id, oldest, rows, bytes) VALUES (?, ?, ?, ?)`, id, b.oldest, b.rows, len(b.body)); err != nil {
		return err
	}
	if err := w.do(`INSERT INTO block_bodies (id, ids, names, words, body) VALUES (?, ?, ?, ?, ?)`, id, b.ids, b.names, append([]byte{}, packWords(b.words)...), b.body); err != nil {
		return err
	}
	for some := range slices.Chunk(b.words, lump) {
		w.args = w.args[:0]
		for i := range some {
			w.args = append(w.args, some[i].word, id, some[i].which(b.rows))
		}
		if err := w.do(`INSERT INTO block_words (word, block, which) VALUES `+values(len(some), 3), w.args...); err != nil {
			return err
		}
	}
	return nil
}

// remove takes a block away.
func (w *writing) remove(id int64) error {
	var words []byte
	if err := w.tx.QueryRowContext(w.ctx, `SELECT words FROM block_bodies WHERE id = ?`, id).Scan(&words); err != nil {
		return err
	}
	for _, word := range unpackWords(words) {
		if err := w.do(`DELETE FROM block_words WHERE word = ? AND block = ?`, word, id); err != nil {
			return err
		}
	}
	if err := w.do(`DELETE FROM block_bodies WHERE id = ?`, id); err != nil {
		return err
	}
	return w.do(`DELETE FROM blocks WHERE id = ?`, id)
}

// rowsOf reads the rows of a block, so that they can be laid into another one.
func (w *writing) rowsOf(id int64) (rows []laid, err error) {
	var names, body []byte
	if err := w.tx.QueryRowContext(w.ctx, `SELECT names, body FROM block_bodies WHERE id = ?`, id).Scan(&names, &body); err != nil {
		return nil, err
	}
	eachRow(body, func(at int, row []byte) bool {
		if 16*at+16 > len(names) {
			return false
		}
		l := laid{body: row}
		copy(l.name[:], names[16*at:])
		if r, err := ledger.DecodeListed(row); err == nil { // else nobody finds it any more, and it goes with the others
			l.r = r
		}
		rows = append(rows, l)
		return true
	})
	return rows, nil
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
