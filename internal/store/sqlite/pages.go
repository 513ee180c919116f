package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"evergate/internal/replica"
)

// Pages are the tables of replication. Safe for concurrent use.
type Pages struct {
	db   *DB
	owns bool // closing it closes the file

	counts counts
}

var _ replica.Store = (*Pages)(nil)

// OpenPages is Open for those who need nothing but pages: Close of what it gives closes the file.
func OpenPages(ctx context.Context, path string) (*Pages, error) {
	db, err := Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &Pages{db: db, owns: true, counts: counts{db: db}}, nil
}

// Pages gives the pages of a file that has other users too: they end with the file, and their own Close is nothing.
func (db *DB) Pages() *Pages { return &Pages{db: db, counts: counts{db: db}} }

// Close implements replica.Store.
func (p *Pages) Close() error {
	if !p.owns {
		return nil
	}
	return p.db.Close()
}

// Beat implements replica.Store.
func (p *Pages) Beat(ctx context.Context, self replica.Member) (time.Time, error) {
	var now int64
	err := p.db.write(ctx, func(tx *sql.Tx) error {
		now = p.db.clock() // with the lock: what is seen later is written later
		_, err := tx.ExecContext(ctx, `
			INSERT INTO members (id, version, started, seen, gone) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (id) DO UPDATE SET version = ?2, started = ?3, seen = ?4, gone = ?5`,
			self.ID, self.Version, self.Started.UnixMicro(), now, self.Left)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return moment(now), nil
}

// Members implements replica.Store.
func (p *Pages) Members(ctx context.Context) (members []replica.Member, err error) {
	defer func() { err = explain(ctx, p.db.path, err) }()
	rows, err := p.db.reader.QueryContext(ctx, `SELECT id, version, started, seen, gone FROM members ORDER BY seen, id`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m replica.Member
		var started, seen int64
		if err := rows.Scan(&m.ID, &m.Version, &started, &seen, &m.Left); err != nil {
			return nil, err
		}
		m.Started, m.Seen = moment(started), moment(seen)
		members = append(members, m)
	}
	return members, rows.Err()
}

// Put implements replica.Store: all pages come to stand at once, or none.
func (p *Pages) Put(ctx context.Context, pages []replica.Page) error {
	if len(pages) == 0 {
		return explain(ctx, p.db.path, ctx.Err())
	}
	for i := range pages {
		if n := len(pages[i].Body); n > replica.MaxBody {
			return explain(ctx, p.db.path, fmt.Errorf("page %q of topic %q has %d bytes, the limit is %d", pages[i].Key, pages[i].Topic, n, replica.MaxBody))
		}
	}
	return p.db.write(ctx, func(tx *sql.Tx) error {
		// Sequences are compared as numbers without a sign: those with the highest bit, negative here, come after all others.
		put, err := tx.PrepareContext(ctx, `
			INSERT INTO pages (instance, topic, key, sequence, at, body) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (instance, topic, key) DO UPDATE SET sequence = excluded.sequence, at = excluded.at, body = excluded.body
			WHERE (excluded.sequence < 0, excluded.sequence) > (pages.sequence < 0, pages.sequence)`)
		if err != nil {
			return err
		}
		defer func() { _ = put.Close() }() // the transaction's end says whether all went well
		at := p.db.clock()                 // with the lock: who has read up to a time misses nothing that is put later
		for i := range pages {
			page := &pages[i]
			body := page.Body
			if body == nil {
				body = []byte{} // nil would be NULL
			}
			if _, err := put.ExecContext(ctx, page.Instance, string(page.Topic), page.Key, int64(page.Sequence), at, body); err != nil { //nolint:gosec // the bits are kept, see above
				return err
			}
		}
		return nil
	})
}

// Read implements replica.Store.
func (p *Pages) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) (pages []replica.Page, err error) {
	defer func() { err = explain(ctx, p.db.path, err) }()
	if limit <= 0 {
		limit = -1
	}
	rows, err := p.db.reader.QueryContext(ctx, `
		SELECT instance, key, sequence, at, body FROM pages WHERE topic = ? AND at >= ? ORDER BY at DESC LIMIT ?`,
		string(topic), since.UnixMicro(), limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		page := replica.Page{Topic: topic}
		var sequence, at int64
		if err := rows.Scan(&page.Instance, &page.Key, &sequence, &at, &page.Body); err != nil {
			return nil, err
		}
		page.Sequence, page.At = uint64(sequence), moment(at) //nolint:gosec // the bits are kept, see Put
		pages = append(pages, page)
	}
	return pages, rows.Err()
}

// Watch implements replica.Store, for a file that one process writes: it hears nothing and waits for its end. While two processes
// share the file for the moment of an upgrade, Read finds what the other one put.
func (p *Pages) Watch(ctx context.Context, ready func(), _ func(replica.Page)) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a watch ends with its context, and that is no error
	}
	select {
	case <-p.db.closed:
		return explain(ctx, p.db.path, errClosed)
	default:
	}
	ready()
	select {
	case <-ctx.Done():
		return nil
	case <-p.db.closed:
		return explain(ctx, p.db.path, errClosed)
	}
}

// Drop implements replica.Store.
func (p *Pages) Drop(ctx context.Context, instance string) error {
	return p.db.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM members WHERE id = ?`, instance); err != nil {
			return err
		}
		if instance == "" { // the fleet's pages outlive every instance
			return nil
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM pages WHERE instance = ?`, instance)
		return err
	})
}

// Claim implements replica.Store.
func (p *Pages) Claim(ctx context.Context, lease, holder string, life time.Duration) (got bool, err error) {
	err = p.db.write(ctx, func(tx *sql.Tx) error {
		now := p.db.clock()
		// One that ends too far in the future is of a clock that was set back since.
		const ended = `DELETE FROM leases WHERE until <= ?1 OR name = ?2 AND until > ?1 + ?3`
		if _, err := tx.ExecContext(ctx, ended, now, lease, (life + 24*time.Hour).Microseconds()); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `
			INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE holder = excluded.holder`,
			lease, holder, now+life.Microseconds())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		got = n == 1
		return err
	})
	return got && err == nil, err
}

// Yield implements replica.Store.
func (p *Pages) Yield(ctx context.Context, lease, holder string) error {
	return p.db.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, lease, holder)
		return err
	})
}
