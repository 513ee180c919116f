package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"evergate/internal/ledger"
)

// expireStep is how many rows one transaction takes away: each has several words in the index, and others write in between.
const expireStep = 200

// Expire implements ledger.Store. Each step is a transaction of its own.
func (l *Ledger) Expire(ctx context.Context, keep ledger.Retention) error {
	oldest := []byte{}
	if keep.Age > 0 {
		oldest, _ = span(ledger.RowsFrom(l.db.now().Add(-keep.Age)), "")
	}
	for _, of := range [...]struct {
		table string
		most  int
		drop  func(context.Context, *sql.Tx, []oldRow) error
	}{{"requests", keep.Requests, unword}, {"entries", keep.Entries, nil}} {
		if err := l.steps(ctx, of.table, `row < ?`, oldest, -1, of.drop); err != nil {
			return err
		}
		if of.most == 0 {
			continue
		}
		var n int
		if err := l.db.reader.QueryRowContext(ctx, `SELECT count(*) FROM `+of.table).Scan(&n); err != nil {
			return explain(ctx, l.db.path, err)
		}
		if n > of.most {
			if err := l.steps(ctx, of.table, `row >= ?`, []byte{}, n-of.most, of.drop); err != nil {
				return err
			}
		}
	}
	if err := l.shrink(ctx, keep.Bytes); err != nil {
		return err
	}
	now := l.db.now()
	for i := range sumTables {
		if err := l.forget(ctx, sumTables[i].name, now.Add(-sumTables[i].keep).UnixMicro()); err != nil {
			return err
		}
	}
	return nil
}

// leastRows of each table stay, whatever else takes the room of the file.
const leastRows = 1000

// shrink takes the oldest rows away while the file has more bytes in use than it may; 0: it may. The file keeps its length: what is free in it is written to next.
func (l *Ledger) shrink(ctx context.Context, most int64) error {
	for most > 0 {
		var used int64
		err := l.db.reader.QueryRowContext(ctx, `
			SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&used)
		if err != nil {
			return explain(ctx, l.db.path, err)
		}
		if used <= most {
			return nil
		}
		var table string
		var first, stays []byte // of the table whose rows go back the furthest
		for _, t := range [...]string{"requests", "entries"} {
			var oldest, floor []byte
			err := l.db.reader.QueryRowContext(ctx, `SELECT (SELECT row FROM `+t+` ORDER BY row LIMIT 1), (SELECT row FROM `+t+` ORDER BY row DESC LIMIT 1 OFFSET ?)`,
				leastRows-1).Scan(&oldest, &floor)
			if err != nil {
				return explain(ctx, l.db.path, err)
			}
			if bytes.Compare(oldest, floor) < 0 && (table == "" || bytes.Compare(oldest, first) < 0) {
				table, first, stays = t, oldest, floor
			}
		}
		switch table {
		case "":
			return nil
		case "requests":
			err = l.steps(ctx, table, `row < ?`, stays, expireStep, unword)
		default:
			err = l.steps(ctx, table, `row < ?`, stays, expireStep, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unword takes away what requests are found by.
func unword(ctx context.Context, tx *sql.Tx, rows []oldRow) error {
	var found []finding
	for _, o := range rows {
		r, err := ledger.DecodeListed(o.body)
		if err != nil {
			continue // nobody can read it any more, and so it goes
		}
		for _, w := range r.Words() {
			found = append(found, finding{w, o.row})
		}
	}
	inOrder(found)
	gone, err := tx.PrepareContext(ctx, `DELETE FROM request_words WHERE word = ? AND row = ?`)
	if err != nil {
		return err
	}
	defer func() { _ = gone.Close() }() // the transaction's end says whether all went well
	for _, f := range found {
		if _, err := gone.ExecContext(ctx, f.word, f.row); err != nil {
			return err
		}
	}
	return nil
}

// steps deletes the oldest rows of a table that a condition has, so many at most; -1: all.
func (l *Ledger) steps(ctx context.Context, table, condition string, arg []byte, most int, drop func(context.Context, *sql.Tx, []oldRow) error) error {
	for most != 0 {
		n := expireStep
		if most > 0 {
			n = min(most, expireStep)
		}
		gone := 0
		err := l.db.write(ctx, func(tx *sql.Tx) error {
			gone = 0
			old, err := oldestRows(ctx, tx, table, condition, arg, n)
			if err != nil || len(old) == 0 {
				return err
			}
			if drop != nil {
				if err := drop(ctx, tx, old); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE row <= ?`, old[len(old)-1].row); err != nil { //nolint:gosec // names of ours
				return err
			}
			gone = len(old)
			return nil
		})
		if err != nil || gone < n {
			return err
		}
		if most > 0 {
			most -= gone
		}
	}
	return nil
}

type oldRow struct{ row, body []byte }

func oldestRows(ctx context.Context, tx *sql.Tx, table, condition string, arg []byte, n int) (out []oldRow, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT row, body FROM `+table+` WHERE `+condition+` ORDER BY row LIMIT ?`, arg, n) //nolint:gosec // names of ours
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var o oldRow
		if err := rows.Scan(&o.row, &o.body); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// forget deletes sums of before a time.
func (l *Ledger) forget(ctx context.Context, table string, before int64) error {
	for gone := int64(chunk); gone == chunk; {
		err := l.db.write(ctx, func(tx *sql.Tx) error {
			some := `(SELECT at, key, route, model, provider FROM ` + table + ` WHERE at < ? LIMIT ?)`
			result, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE (at, key, route, model, provider) IN `+some, before, chunk) //nolint:gosec // names of ours
			if err != nil {
				return err
			}
			gone, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
