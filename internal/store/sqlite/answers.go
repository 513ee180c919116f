package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"evergate/internal/threads"
)

// Answers are the table of kept answers. Safe for concurrent use.
type Answers struct {
	db   *DB
	room threads.Room
	// added is how much was put since it was last looked at how much there is in all.
	added  atomic.Int64
	looked atomic.Int64 // when that was, by the clock
}

// lookEvery is how often it is looked what has ended.
const lookEvery = time.Hour

var _ threads.Archive = (*Answers)(nil)

// Answers gives the kept answers of the file, which end with it: at most so many.
func (db *DB) Answers(room threads.Room) *Answers {
	a := &Answers{db: db, room: room}
	a.added.Store(room.Bytes) // nobody knows yet
	return a
}

// Answers gives the kept answers of the same file.
func (p *Pages) Answers(room threads.Room) threads.Archive { return p.db.Answers(room) }

// Put implements threads.Archive: all answers come to stand at once, or none.
func (a *Answers) Put(ctx context.Context, life time.Duration, answers []threads.Record) error {
	if len(answers) == 0 {
		return a.makeRoom(ctx)
	}
	size := int64(0)
	for i := range answers {
		if n := len(answers[i].Body); n > threads.MaxRecord {
			return explain(ctx, a.db.path, fmt.Errorf("an answer has %d bytes, the limit is %d", n, threads.MaxRecord))
		}
		size += answers[i].Size()
	}
	// An eighth of the room may come to it between two looks: counting reads an index of all rows.
	look := a.added.Add(size) > a.room.Bytes/8 || a.db.clock()-a.looked.Load() > lookEvery.Microseconds()
	err := a.db.write(ctx, func(tx *sql.Tx) error {
		put, err := tx.PrepareContext(ctx, `
			INSERT INTO answers (owner, id, previous, at, until, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, id) DO UPDATE SET
				previous = excluded.previous, at = excluded.at, until = excluded.until, size = excluded.size, body = excluded.body`)
		if err != nil {
			return err
		}
		defer func() { _ = put.Close() }() // the transaction's end says whether all went well
		now := a.db.clock()
		for i := range answers {
			r := &answers[i]
			body := r.Body
			if body == nil {
				body = []byte{} // nil would be NULL
			}
			if _, err := put.ExecContext(ctx, r.Owner, r.ID, r.Previous, now, now+life.Microseconds(), r.Size(), body); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && look {
		_ = a.makeRoom(ctx) // the answers stand anyway, and the next one looks again
	}
	return err
}

// chunk is how many answers one transaction deletes: others write in between.
const chunk = 500

// makeRoom takes away what has ended, and of the rest the oldest that are too many.
func (a *Answers) makeRoom(ctx context.Context) error {
	for gone := int64(chunk); gone == chunk; {
		err := a.db.write(ctx, func(tx *sql.Tx) error {
			result, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE until <= ? LIMIT ?)`, a.db.clock(), chunk)
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
	var total int64
	if err := a.db.reader.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM answers`).Scan(&total); err != nil {
		return explain(ctx, a.db.path, err)
	}
	for over := total - a.room.Bytes*7/8; over > 0; {
		freed, err := a.dropOldest(ctx, over)
		if err != nil || freed == 0 {
			return err
		}
		over -= freed
	}
	a.added.Store(0)
	a.looked.Store(a.db.clock())
	return nil
}

// dropOldest deletes the oldest answers until so many bytes are free, or a chunk is gone.
func (a *Answers) dropOldest(ctx context.Context, over int64) (freed int64, err error) {
	err = a.db.write(ctx, func(tx *sql.Tx) error {
		freed = 0
		rows, err := tx.QueryContext(ctx, `SELECT rowid, size FROM answers ORDER BY at, rowid LIMIT ?`, chunk)
		if err != nil {
			return err
		}
		var gone []int64
		for freed < over && rows.Next() {
			var row, size int64
			if err := rows.Scan(&row, &size); err != nil {
				return errors.Join(err, rows.Close())
			}
			gone = append(gone, row)
			freed += size
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		for _, row := range gone {
			if _, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE rowid = ?`, row); err != nil {
				return err
			}
		}
		return nil
	})
	return freed, err
}

// Get implements threads.Archive.
func (a *Answers) Get(ctx context.Context, owner, id string, turns, size int) (found []threads.Record, err error) {
	defer func() { err = explain(ctx, a.db.path, err) }()
	rows, err := a.db.reader.QueryContext(ctx, `
		WITH RECURSIVE chain (row, n, previous, total) AS (
			SELECT rowid, 1, previous, length(body) FROM answers WHERE owner = ?1 AND id = ?2 AND until > ?5
			UNION ALL
			SELECT a.rowid, c.n + 1, a.previous, c.total + length(a.body)
			FROM chain c JOIN answers a ON a.owner = ?1 AND a.id = c.previous AND a.until > ?5
			WHERE c.previous <> '' AND c.n < ?3 AND c.total < ?4)
		SELECT a.id, a.previous, a.body FROM chain c JOIN answers a ON a.rowid = c.row ORDER BY c.n`,
		owner, id, turns, size, a.db.clock())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := threads.Record{Owner: owner}
		if err := rows.Scan(&r.ID, &r.Previous, &r.Body); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// Delete implements threads.Archive.
func (a *Answers) Delete(ctx context.Context, owner, id string) error {
	return a.db.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE owner = ? AND id = ?`, owner, id)
		return err
	})
}
