package postgres

import (
	"context"
	"time"
)

// Claim takes one round trip.
func (s *Store) Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error) {
	n, err := s.exec(ctx, "claim", func(q *sql) string { return q.claim }, text(lease), text(holder), life.Microseconds())
	return n == 1, err
}

// Yield takes one round trip.
func (s *Store) Yield(ctx context.Context, lease, holder string) error {
	_, err := s.exec(ctx, "yield", func(q *sql) string { return q.yield }, text(lease), text(holder))
	return err
}
