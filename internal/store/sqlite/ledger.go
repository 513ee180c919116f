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
	if b.Len() == 0 {
		return ctx.Err()
	}
	ready, err := prepareRows(&b, nil) // before the file is locked
	if err != nil {
		return err
	}
	return l.db.write(ctx, func(tx *sql.Tx) error {
		w := writing{ctx: ctx, tx: tx}
		defer w.close()
		if err := w.requests(&b, ready); err != nil {
			return err
		}
		return w.entries(b.Entries)
	})
}

// readyRows are rows as they are written.
type readyRows struct {
	blocks  []*block
	minutes map[int64]ledger.Bundle
}

// prepareRows makes blocks and sums of a batch's rows, but for those that are there.
func prepareRows(b *ledger.Batch, there map[name]bool) (readyRows, error) {
	s, minutes := sealer{rows: b.Len()}, map[int64]ledger.Bundle{}
	err := b.Each(func(r *ledger.Request) error {
		row, ok := r.Row.Bytes()
		if !ok {
			return fmt.Errorf("BUG: %q is no row", r.Row)
		}
		if there[row] {
			return nil
		}
		s.add(&laid{name: row, r: r})
		const minute = int64(time.Minute / time.Microsecond)
		at := micros(row[:])
		bundleAt(minutes, at-at%minute).Fold(r)
		return nil
	})
	return readyRows{s.done(), minutes}, err
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
func (w *writing) requests(b *ledger.Batch, ready readyRows) error {
	if len(ready.blocks) == 0 {
		return nil
	}
	there, err := w.there(ready.blocks)
	if err != nil {
		return err
	}
	if len(there) > 0 {
		if ready, err = prepareRows(b, there); err != nil {
			return err
		}
	}
	for _, b := range ready.blocks {
		if err := w.insert(b); err != nil {
			return err
		}
	}
	return w.freshSums(ready.minutes)
}

// there gives the names of those rows of blocks, which are in order, that the file has.
func (w *writing) there(blocks []*block) (map[name]bool, error) {
	var out map[name]bool
	newest, oldest := blocks[0].newest, blocks[len(blocks)-1].oldest
	err := w.each(`SELECT d.names FROM blocks b CROSS JOIN block_bodies d ON d.id = b.id WHERE b.id >= ? AND b.oldest <= ?`, []any{oldest << 8, newest},
		func(scan func(...any) error) error {
			var names sql.RawBytes
			if err := scan(&names); err != nil {
				return err
			}
			for _, b := range blocks {
				for row := range slices.Chunk(b.names, len(name{})) {
					if findName(names, row) < 0 {
						continue
					}
					if out == nil {
						out = map[name]bool{}
					}
					out[name(row)] = true
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
