package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"

	"evergate/internal/ledger"
)

// How much one transaction takes away: others write in between.
const (
	expireStep   = 200 // entries
	expireBlocks = 4   // blocks of requests, and those that overlap them
)

// Expire implements ledger.Store. Each step is a transaction of its own.
func (l *Ledger) Expire(ctx context.Context, keep ledger.Retention) error {
	if keep.ByNumber {
		keep.Age = 0
	}
	if err := l.change(ctx, func(w *writing) error {
		if err := w.tidy(); err != nil {
			return err
		}
		return w.foldSums()
	}); err != nil {
		return err
	}
	if err := l.expireRequests(ctx, keep); err != nil {
		return err
	}
	if err := l.expireEntries(ctx, keep); err != nil {
		return err
	}
	if err := l.shrink(ctx, keep.Bytes); err != nil {
		return err
	}
	if keep.ByNumber {
		return nil
	}
	now := l.db.now()
	for i := range sumTables {
		if err := l.change(ctx, func(w *writing) error {
			return w.do(`DELETE FROM `+sumTables[i].name+` WHERE at < ?`, now.Add(-sumTables[i].keep).UnixMicro())
		}); err != nil {
			return err
		}
	}
	return nil
}

// change is one transaction that writes.
func (l *Ledger) change(ctx context.Context, work func(w *writing) error) error {
	return l.db.write(ctx, func(tx *sql.Tx) error {
		w := writing{ctx: ctx, tx: tx}
		defer w.close()
		return work(&w)
	})
}

func (l *Ledger) expireRequests(ctx context.Context, keep ledger.Retention) error {
	if keep.Age > 0 {
		before := l.db.now().Add(-keep.Age).UnixMicro()
		for gone := expireBlocks; gone == expireBlocks; {
			if err := l.change(ctx, func(w *writing) (err error) {
				gone, err = w.dropBefore(before)
				return err
			}); err != nil {
				return err
			}
		}
	}
	for keep.Requests > 0 {
		n, err := l.requests(ctx)
		if err != nil || n <= keep.Requests {
			return err
		}
		if err := l.dropOldest(ctx, n-keep.Requests); err != nil {
			return err
		}
	}
	return nil
}

// requests is how many there are.
func (l *Ledger) requests(ctx context.Context) (n int, err error) {
	err = l.db.reader.QueryRowContext(ctx, `SELECT coalesce(sum(rows), 0) FROM blocks`).Scan(&n)
	return n, explain(ctx, l.db.path, err)
}

// dropBefore takes rows of before a time away, of a few blocks; it gives how many blocks it found.
func (w *writing) dropBefore(before int64) (found int, err error) {
	var ids []int64
	if err := w.each(`SELECT id FROM blocks WHERE oldest < ? ORDER BY oldest LIMIT ?`, []any{before, expireBlocks}, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return 0, err
	}
	for _, id := range ids {
		if id>>8 < before {
			err = w.remove(id)
		} else {
			err = w.leave(id, func(l *laid) bool { return micros(l.name[:]) >= before })
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// leave leaves some of a block's rows.
func (w *writing) leave(id int64, stays func(*laid) bool) error {
	rows, err := w.rowsOf(id)
	if err != nil {
		return err
	}
	if err := w.remove(id); err != nil {
		return err
	}
	for _, b := range seal(slices.DeleteFunc(rows, func(l laid) bool { return !stays(&l) })) {
		if err := w.insert(b); err != nil {
			return err
		}
	}
	return nil
}

// dropOldest takes the oldest rows away, so many of all, but no more than a few blocks have.
func (l *Ledger) dropOldest(ctx context.Context, n int) error {
	return l.change(ctx, func(w *writing) error {
		type old struct {
			id    int64
			names [][]byte
		}
		var blocks []old
		var broken []int64 // whose names are lost: nobody finds their rows, so they go first
		var names [][]byte // of all of them, sorted
		enough := errors.New("enough")
		err := w.each(`SELECT b.id, b.oldest, d.names FROM blocks b CROSS JOIN block_bodies d ON d.id = b.id ORDER BY b.oldest, b.id`, nil, func(scan func(...any) error) error {
			var id, oldest int64
			var packed []byte
			if err := scan(&id, &oldest, &packed); err != nil {
				return err
			}
			if len(packed) < 16 {
				broken = append(broken, id)
				return nil
			}
			if len(blocks) >= expireBlocks {
				n = min(n, len(names))
			}
			if n <= len(names) && oldest > micros(names[n-1]) {
				return enough // all that follow are newer
			}
			b := old{id: id}
			for ; len(packed) >= 16; packed = packed[16:] {
				b.names = append(b.names, packed[:16])
			}
			blocks, names = append(blocks, b), append(names, b.names...)
			slices.SortFunc(names, bytes.Compare)
			return nil
		})
		if errors.Is(err, enough) {
			err = nil
		}
		for _, id := range broken {
			err = errors.Join(err, w.remove(id))
		}
		if err != nil || len(broken) > 0 || len(names) == 0 {
			return err // who wants more to go asks again
		}
		last := names[min(n, len(names))-1]
		for _, b := range blocks {
			switch {
			case bytes.Compare(b.names[0], last) <= 0: // the newest
				err = w.remove(b.id)
			case bytes.Compare(b.names[len(b.names)-1], last) > 0:
			default:
				err = w.leave(b.id, func(l *laid) bool { return bytes.Compare(l.name[:], last) > 0 })
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Ledger) expireEntries(ctx context.Context, keep ledger.Retention) error {
	if keep.Age > 0 {
		oldest, _ := span(ledger.RowsFrom(l.db.now().Add(-keep.Age)), "")
		if err := l.dropEntries(ctx, `row < ?`, oldest, -1); err != nil {
			return err
		}
	}
	if keep.Entries == 0 {
		return nil
	}
	var n int
	if err := l.db.reader.QueryRowContext(ctx, `SELECT count(*) FROM entries`).Scan(&n); err != nil {
		return explain(ctx, l.db.path, err)
	}
	return l.dropEntries(ctx, `row >= ?`, []byte{}, max(n-keep.Entries, 0))
}

// dropEntries deletes the oldest entries that a condition has, so many at most; -1: all.
func (l *Ledger) dropEntries(ctx context.Context, condition string, arg []byte, most int) error {
	for most != 0 {
		n := expireStep
		if most > 0 {
			n = min(most, expireStep)
		}
		var gone int64
		err := l.db.write(ctx, func(tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE row IN (SELECT row FROM entries WHERE `+condition+` ORDER BY row LIMIT ?)`, arg, n) //nolint:gosec // conditions of ours
			if err != nil {
				return err
			}
			gone, err = result.RowsAffected()
			return err
		})
		if err != nil || gone < int64(n) {
			return err
		}
		if most > 0 {
			most -= n
		}
	}
	return nil
}

// leastRows of requests and of entries stay, whatever else takes the room of the file.
const leastRows = 1000

// shrink takes the oldest rows away while the file has more bytes in use than it may; 0: it may. The file keeps its length: what is free in it is written to next.
func (l *Ledger) shrink(ctx context.Context, most int64) error {
	for most > 0 {
		var used int64
		var oldest sql.NullInt64 // request
		var entry, stays []byte  // the oldest entry, and the oldest of those that stay
		err := l.db.reader.QueryRowContext(ctx, `
			SELECT (page_count - freelist_count) * page_size, (SELECT min(oldest) FROM blocks), (SELECT row FROM entries ORDER BY row LIMIT 1),
				(SELECT row FROM entries ORDER BY row DESC LIMIT 1 OFFSET ?)
			FROM pragma_page_count, pragma_freelist_count, pragma_page_size`, leastRows-1).Scan(&used, &oldest, &entry, &stays)
		if err != nil {
			return explain(ctx, l.db.path, err)
		}
		if used <= most {
			return nil
		}
		n, err := l.requests(ctx)
		if err != nil {
			return err
		}
		entries := bytes.Compare(entry, stays) < 0
		switch {
		case n > leastRows && (!entries || oldest.Int64 <= micros(entry)):
			err = l.dropOldest(ctx, min(n-leastRows, blockRows))
		case entries:
			err = l.dropEntries(ctx, `row < ?`, stays, expireStep)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
