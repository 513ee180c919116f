package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/quota/meters"
)

// counts are what instances have counted of limits and budgets. Safe for concurrent use.
type counts struct {
	store  *Store
	tidied atomic.Int64 // when what has ended was last taken away, in Unix seconds by the local clock
}

// Meters gives the counts of the same schema.
func (s *Store) Meters() meters.Store { return &s.counts }

// tidyCounts is how often what has ended is taken away, in seconds.
const tidyCounts = 60

// Exchange takes one round trip: both statements are one transaction, and the second sees what the first laid down.
func (c *counts) Exchange(ctx context.Context, own []meters.Tally, wanted []string) ([]meters.Tally, error) {
	for i := range own {
		if err := own[i].Check(); err != nil {
			return nil, err
		}
	}
	if len(own) == 0 && len(wanted) == 0 {
		return nil, ctx.Err()
	}
	own = slices.Clone(own) // in the order of the key, so that two of them never wait for each other
	slices.SortStableFunc(own, func(a, b meters.Tally) int { return strings.Compare(text(a.Meter), text(b.Meter)) })
	var names, instances []string
	var versions, lives []int64
	var bodies [][]byte
	for i := range own {
		t := &own[i]
		body := t.Body
		if body == nil {
			body = []byte{} // not NULL
		}
		names, instances, bodies = append(names, text(t.Meter)), append(instances, text(t.Instance)), append(bodies, body)
		versions, lives = append(versions, int64(t.Version)), append(lives, t.Life.Microseconds()) //nolint:gosec // below 1 << 63
	}
	ask := make([]string, len(wanted))
	for i, m := range wanted {
		ask[i] = text(m)
	}
	now := time.Now().Unix()
	last := c.tidied.Load()
	tidy := (now-last > tidyCounts || last > now) && c.tidied.CompareAndSwap(last, now) // later than now: the clock was set back
	return call(ctx, c.store, "exchange counts", func(ctx context.Context, conn *pgxpool.Conn, q *sql) ([]meters.Tally, error) {
		var batch pgx.Batch
		if len(own) > 0 {
			batch.Queue(q.layTallies, names, instances, versions, lives, bodies)
		}
		if tidy {
			batch.Queue(q.endTallies)
		}
		batch.Queue(q.tallies, ask)
		return exchanged(conn.SendBatch(ctx, &batch), batch.Len())
	})
}

// exchanged reads the results of so many statements, of which the last gives rows.
func exchanged(results pgx.BatchResults, n int) (found []meters.Tally, err error) {
	defer func() {
		if closing := results.Close(); err == nil {
			err = closing // the commit's
		}
	}()
	for range n - 1 {
		if _, err := results.Exec(); err != nil {
			return nil, err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, tallyOf)
}

func tallyOf(row pgx.CollectableRow) (t meters.Tally, err error) {
	var meter, instance string
	var version, age int64
	if err := row.Scan(&meter, &instance, &version, &age, &t.Body); err != nil {
		return t, err
	}
	if t.Meter, err = untext(meter); err == nil {
		t.Instance, err = untext(instance)
	}
	if err != nil {
		return t, fmt.Errorf("a tally's name: %w", err)
	}
	t.Version, t.Age = uint64(version), time.Duration(max(age, 0))*time.Microsecond //nolint:gosec // it was laid down from one
	return t, nil
}
