package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/replica"
)

const (
	batchBytes = 1 << 20 // of bodies in one statement
	batchPages = 500
)

// Put lays down pages in one statement and round trip as long as they have together less than a megabyte.
func (s *Store) Put(ctx context.Context, pages []replica.Page) error {
	for _, p := range pages {
		if len(p.Body) > replica.MaxBody {
			return fmt.Errorf("put: a page of %d bytes, the limit is %d", len(p.Body), replica.MaxBody)
		}
	}
	pages = highest(pages)
	for from := 0; from < len(pages); {
		to, size := from, 0
		for to < len(pages) && to-from < batchPages && (to == from || size+len(pages[to].Body) <= batchBytes) {
			size += len(pages[to].Body)
			to++
		}
		if err := s.putBatch(ctx, pages[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// highest leaves of each page the version with the highest sequence: a statement puts a row once.
func highest(pages []replica.Page) []replica.Page {
	type name struct {
		instance string
		topic    replica.Topic
		key      string
	}
	at := make(map[name]int, len(pages))
	out := make([]replica.Page, 0, len(pages))
	for _, p := range pages {
		n := name{p.Instance, p.Topic, p.Key}
		i, twice := at[n]
		switch {
		case !twice:
			at[n] = len(out)
			out = append(out, p)
		case p.Sequence > out[i].Sequence:
			out[i] = p
		}
	}
	return out
}

func (s *Store) putBatch(ctx context.Context, batch []replica.Page) error {
	n := len(batch)
	instances, topics, keys := make([]string, n), make([]string, n), make([]string, n)
	sequences, bodies, notices := make([]string, n), make([][]byte, n), make([]string, n)
	for i, p := range batch {
		instances[i], topics[i], keys[i] = text(p.Instance), text(string(p.Topic)), text(p.Key)
		sequences[i], bodies[i] = strconv.FormatUint(p.Sequence, 10), p.Body
		if p.Body == nil {
			bodies[i] = []byte{} // not NULL
		}
		if !p.Quiet {
			notices[i] = notice(p)
		}
	}
	_, err := call(ctx, s, "put", func(ctx context.Context, conn *pgxpool.Conn, q *sql) (bool, error) {
		_, err := conn.Exec(ctx, q.put, instances, topics, keys, sequences, bodies, notices)
		if untold(err) {
			_, err = conn.Exec(ctx, q.put, instances, topics, keys, sequences, bodies, make([]string, n))
		}
		return err == nil, err
	})
	return err
}

// untold says that the server's queue of NOTIFY is full, since some session of the database does not take from it. Pages are found by reading then.
func untold(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && said.Code == "54000" // program_limit_exceeded
}

// Read takes one round trip.
func (s *Store) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) ([]replica.Page, error) {
	var most *int64 // NULL: all
	if limit > 0 {
		n := int64(limit)
		most = &n
	}
	return rows(ctx, s, "read", func(q *sql) string { return q.read }, of(topic), text(string(topic)), micros(since), most)
}

// one reads a page by its name; none if it was dropped.
func (s *Store) one(ctx context.Context, p replica.Page) ([]replica.Page, error) {
	return rows(ctx, s, "read", func(q *sql) string { return q.one }, of(p.Topic), text(p.Instance), text(string(p.Topic)), text(p.Key))
}

// of reads a row of a topic.
func of(topic replica.Topic) pgx.RowToFunc[replica.Page] {
	return func(row pgx.CollectableRow) (replica.Page, error) {
		p := replica.Page{Topic: topic}
		var instance, key, sequence string
		var at int64
		err := row.Scan(&instance, &key, &sequence, &at, &p.Body)
		if err != nil {
			return p, err
		}
		if p.Sequence, err = strconv.ParseUint(sequence, 10, 64); err != nil {
			return p, fmt.Errorf("a sequence: %w", err)
		}
		if p.Instance, err = untext(instance); err != nil {
			return p, fmt.Errorf("an instance: %w", err)
		}
		if p.Key, err = untext(key); err != nil {
			return p, fmt.Errorf("a key: %w", err)
		}
		p.At = time.UnixMicro(at).UTC()
		return p, nil
	}
}

// micros is the first µs that is not before t.
func micros(t time.Time) int64 {
	n := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		n++
	}
	return n
}
