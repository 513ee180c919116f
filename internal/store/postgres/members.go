package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"evergate/internal/replica"
)

// Beat takes one round trip.
func (s *Store) Beat(ctx context.Context, self replica.Member) (time.Time, error) {
	return call(ctx, s, "beat", func(ctx context.Context, conn *pgxpool.Conn, q *sql) (time.Time, error) {
		var seen int64
		err := conn.QueryRow(ctx, q.beat, text(self.ID), text(self.Version), self.Started.UnixMicro(), self.Left).Scan(&seen)
		return time.UnixMicro(seen).UTC(), err
	})
}

// Members takes one round trip.
func (s *Store) Members(ctx context.Context) ([]replica.Member, error) {
	return rows(ctx, s, "members", func(q *sql) string { return q.members }, func(row pgx.CollectableRow) (replica.Member, error) {
		var m replica.Member
		var id, version string
		var started, seen int64
		if err := row.Scan(&id, &version, &started, &seen, &m.Left); err != nil {
			return m, err
		}
		var err1, err2 error
		m.ID, err1 = untext(id)
		m.Version, err2 = untext(version)
		m.Started, m.Seen = time.UnixMicro(started).UTC(), time.UnixMicro(seen).UTC()
		return m, errors.Join(err1, err2)
	})
}

// Drop takes one round trip.
func (s *Store) Drop(ctx context.Context, instance string) error {
	if instance == "" {
		return errors.New("drop: no instance is named")
	}
	_, err := s.exec(ctx, "drop", func(q *sql) string { return q.drop }, text(instance))
	return err
}
