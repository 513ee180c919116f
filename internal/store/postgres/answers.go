package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"evergate/internal/threads"
)

// answers are the kept answers. Safe for concurrent use.
type answers struct {
	store *Store
	room  threads.Room
	// added is how much was put from here since it was last looked at how much there is in all.
	added  atomic.Int64
	looked atomic.Int64 // when that was, in Unix seconds by the local clock
}

// lookEvery is how often it is looked what has ended, in seconds.
const lookEvery = 3600

// Answers gives the kept answers of the same schema: at most so many. Of instances that put at once each may add an eighth more.
func (s *Store) Answers(room threads.Room) threads.Archive {
	a := &answers{store: s, room: room}
	a.added.Store(room.Bytes) // nobody knows yet
	return a
}

// Put takes one round trip, and two more when it looks whether there is room.
func (a *answers) Put(ctx context.Context, life time.Duration, put []threads.Record) error {
	last := make(map[[2]string]int, len(put)) // a statement puts a row once
	size := int64(0)
	for i := range put {
		if n := len(put[i].Body); n > threads.MaxRecord {
			return fmt.Errorf("put: an answer of %d bytes, the limit is %d", n, threads.MaxRecord)
		}
		last[[2]string{put[i].Owner, put[i].ID}] = i
		size += put[i].Size()
	}
	var owners, ids, before []string
	var bodies [][]byte
	for i := range put {
		r := &put[i]
		if last[[2]string{r.Owner, r.ID}] != i {
			continue
		}
		owners, ids, before = append(owners, text(r.Owner)), append(ids, text(r.ID)), append(before, text(r.Previous))
		body := r.Body
		if body == nil {
			body = []byte{} // not NULL
		}
		bodies = append(bodies, body)
	}
	if len(put) == 0 {
		return a.makeRoom(ctx)
	}
	s := a.store
	if _, err := s.exec(ctx, "put answers", func(q *sql) string { return q.keep }, owners, ids, before, bodies, life.Microseconds(), threads.RecordCost); err != nil {
		return err
	}
	// Counting reads an index of all rows, so it is not done each time.
	if a.added.Add(size) > a.room.Bytes/8 || time.Now().Unix()-a.looked.Load() > lookEvery {
		_ = a.makeRoom(ctx) // the answers stand anyway, and the next one looks again
	}
	return nil
}

// makeRoom takes away what has ended, and of the rest the oldest that are too many.
func (a *answers) makeRoom(ctx context.Context) error {
	for ended := int64(endedAtOnce); ended == endedAtOnce; {
		var err error
		if ended, err = a.store.exec(ctx, "end answers", func(q *sql) string { return q.ended }, endedAtOnce); err != nil {
			return err
		}
	}
	if _, err := a.store.exec(ctx, "make room for answers", func(q *sql) string { return q.makeRoom }, a.room.Bytes*7/8); err != nil {
		return err
	}
	a.added.Store(0)
	a.looked.Store(time.Now().Unix())
	return nil
}

// endedAtOnce is how many rows one statement takes away that have ended.
const endedAtOnce = 5000

// Get takes one round trip.
func (a *answers) Get(ctx context.Context, owner, id string, turns, size int) ([]threads.Record, error) {
	return rows(ctx, a.store, "get answers", func(q *sql) string { return q.chain }, func(row pgx.CollectableRow) (threads.Record, error) {
		r := threads.Record{Owner: owner}
		var id, previous string
		err := row.Scan(&id, &previous, &r.Body)
		if err != nil {
			return r, err
		}
		if r.ID, err = untext(id); err != nil {
			return r, fmt.Errorf("an id: %w", err)
		}
		if r.Previous, err = untext(previous); err != nil {
			return r, fmt.Errorf("an id: %w", err)
		}
		return r, nil
	}, text(owner), text(id), turns, int64(size))
}

// Delete takes one round trip.
func (a *answers) Delete(ctx context.Context, owner, id string) error {
	_, err := a.store.exec(ctx, "delete an answer", func(q *sql) string { return q.forget }, text(owner), text(id))
	return err
}
