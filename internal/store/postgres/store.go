package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/replica"
	"evergate/internal/store"
)

var (
	errClosed = errors.New("the store was closed")
	errMute   = fmt.Errorf("the server did not answer within %v", patience)
)

// Store is a replica.Store in PostgreSQL. Its methods are safe for concurrent use, end with their contexts, and connect when they have
// to: a server that is down or comes back, without its tables or on the next host of the URL, needs no other Store.
type Store struct {
	address *address
	pool    *pgxpool.Pool

	ctx   context.Context // ends with Close
	close context.CancelCauseFunc

	counts      counts
	ledgerTurns chan struct{} // a token for each of the ledger's calls that runs

	preparing chan struct{}       // holds one token while somebody looks after the schema
	sql       atomic.Pointer[sql] // nil: nobody has, or it went away
}

var _ replica.Store = (*Store)(nil)

// Open reads a URL: postgres://user:password@host:port,host:port/database, with the options of libpq (sslmode=verify-full, sslrootcert,
// target_session_attrs, connect_timeout, …) and two more: schema, and pooler=true if a pooler stands between. Of several hosts the one that takes writes is used,
// unless target_session_attrs says otherwise. An error says what is malformed. It connects to nothing: a server that is down makes calls fail.
func Open(raw string) (*Store, error) {
	a, err := parse(raw)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), a.pool)
	if err != nil {
		return nil, store.Hide(err, a.hidden...)
	}
	s := &Store{address: a, pool: pool, preparing: make(chan struct{}, 1), ledgerTurns: make(chan struct{}, ledgerCalls)}
	s.counts.store = s
	s.ctx, s.close = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends calls and watches under way with an error, and all connections. For a server that does not see them off it waits a
// moment only; the connections then end by themselves, within 15 s.
func (s *Store) Close() error {
	s.close(errClosed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.pool.Close()
	}()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return nil
}

// bounded is ctx, ended also by Close and by the server's patience.
func (s *Store) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errMute)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// call runs do on a connection with the schema looked after. What did not reach the server at all is tried once more: a connection that waited in the pool may
// have ended there.
func call[T any](ctx context.Context, s *Store, what string, do func(context.Context, *pgxpool.Conn, *sql) (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil {
		return zero, fmt.Errorf("%s: %w", what, err)
	}
	inner, cancel := s.bounded(ctx)
	defer cancel()
	once := func() (T, error) {
		conn, err := s.pool.Acquire(inner)
		if err != nil {
			return zero, err
		}
		defer conn.Release()
		q, err := s.prepared(inner, conn.Conn())
		if err != nil {
			return zero, err
		}
		return do(inner, conn, q)
	}
	value, err := once()
	if err != nil && s.judge(err) && inner.Err() == nil && pgconn.SafeToRetry(err) {
		value, err = once()
	}
	if err != nil {
		return zero, s.fail(ctx, inner, what, err)
	}
	return value, nil
}

// fail says what ended a call: its own context, Close, the server's patience, or what the server said.
func (s *Store) fail(ctx, inner context.Context, what string, err error) error {
	switch {
	case s.ctx.Err() != nil:
		err = errClosed
	case ctx.Err() != nil:
		err = ctx.Err()
	case inner.Err() != nil:
		err = errMute
	}
	return fmt.Errorf("%s: %w", what, store.Hide(err, s.address.hidden...))
}

// judge lets go of what a failure shows to be of no use: the connections if one broke or its server takes no writes (any more), what is known of the schema if
// tables are missing. It says whether the connections were let go.
func (s *Store) judge(err error) bool {
	var said *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case !errors.As(err, &said):
		s.pool.Reset()
		return true
	case said.Code == "42P01", said.Code == "3F000": // undefined table, invalid schema
		s.sql.Store(nil)
	case said.Code == "25006", strings.HasPrefix(said.Code, "57P"): // read-only transaction, the server stops
		s.pool.Reset()
		return true
	}
	return false
}

// exec runs one statement that gives nothing but how many rows it changed.
func (s *Store) exec(ctx context.Context, what string, statement func(*sql) string, args ...any) (int64, error) {
	return call(ctx, s, what, func(ctx context.Context, conn *pgxpool.Conn, q *sql) (int64, error) {
		tag, err := conn.Exec(ctx, statement(q), args...)
		return tag.RowsAffected(), err
	})
}

// rows runs one statement and reads each row of its result.
func rows[T any](ctx context.Context, s *Store, what string, statement func(*sql) string, read pgx.RowToFunc[T], args ...any) ([]T, error) {
	return call(ctx, s, what, func(ctx context.Context, conn *pgxpool.Conn, q *sql) ([]T, error) {
		found, err := conn.Query(ctx, statement(q), args...)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(found, read)
	})
}
