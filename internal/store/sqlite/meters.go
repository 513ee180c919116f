package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"evergate/internal/quota/meters"
)

// counts are what instances have counted of limits and budgets. Safe for concurrent use.
type counts struct {
	db     *DB
	tidied atomic.Int64 // when what has ended was last taken away, in µs
}

// Meters gives the counts of the same file.
func (p *Pages) Meters() meters.Store { return &p.counts }

// tidyCounts is how often what has ended is taken away, in µs.
const tidyCounts = int64(time.Minute / time.Microsecond)

// Exchange is one transaction.
func (c *counts) Exchange(ctx context.Context, own []meters.Tally, wanted []string) (found []meters.Tally, err error) {
	for i := range own {
		if err := own[i].Check(); err != nil {
			return nil, err
		}
	}
	if len(own) == 0 && len(wanted) == 0 {
		return nil, ctx.Err()
	}
	err = c.db.write(ctx, func(tx *sql.Tx) error {
		found = found[:0]
		now := c.db.clock()
		if last := c.tidied.Load(); now-last > tidyCounts || last > now {
			if _, err := tx.ExecContext(ctx, `DELETE FROM tallies WHERE until < ?`, now); err != nil {
				return err
			}
			c.tidied.Store(now)
		}
		if err := layTallies(ctx, tx, now, own); err != nil {
			return err
		}
		found, err = readTallies(ctx, tx, now, wanted, found)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func layTallies(ctx context.Context, tx *sql.Tx, now int64, own []meters.Tally) (err error) {
	if len(own) == 0 {
		return nil
	}
	put, err := tx.PrepareContext(ctx, `INSERT INTO tallies (meter, instance, version, at, until, body) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (meter, instance) DO UPDATE SET version = excluded.version, at = excluded.at, until = excluded.until, body = excluded.body
		WHERE version <= excluded.version`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, put.Close()) }()
	for i := range own {
		t := &own[i]
		body := t.Body
		if body == nil {
			body = []byte{} // not NULL
		}
		if _, err := put.ExecContext(ctx, t.Meter, t.Instance, int64(t.Version), now, now+t.Life.Microseconds(), body); err != nil { //nolint:gosec // below 1 << 63
			return err
		}
	}
	return nil
}

func readTallies(ctx context.Context, tx *sql.Tx, now int64, wanted []string, found []meters.Tally) (_ []meters.Tally, err error) {
	if len(wanted) == 0 {
		return found, nil
	}
	get, err := tx.PrepareContext(ctx, `SELECT instance, version, at, body FROM tallies WHERE meter = ? AND until >= ?`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, get.Close()) }()
	for _, meter := range wanted {
		if found, err = readMeter(ctx, get, now, meter, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func readMeter(ctx context.Context, get *sql.Stmt, now int64, meter string, found []meters.Tally) (_ []meters.Tally, err error) {
	rows, err := get.QueryContext(ctx, meter, now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		t := meters.Tally{Meter: meter}
		var version, at int64
		if err := rows.Scan(&t.Instance, &version, &at, &t.Body); err != nil {
			return nil, err
		}
		t.Version, t.Age = uint64(version), time.Duration(max(now-at, 0))*time.Microsecond //nolint:gosec // it was laid down from one
		found = append(found, t)
	}
	return found, rows.Err()
}
