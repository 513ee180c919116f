package redis

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// Claim takes one round trip.
func (s *Store) Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error) {
	return call(ctx, s, "claim", func(ctx context.Context, c rueidis.Client) (bool, error) {
		n, err := s.scripts.claim.Exec(ctx, c, []string{s.names.lease(lease)}, []string{holder, millis(life)}).AsInt64()
		return n == 1, err
	})
}

// Yield takes one round trip.
func (s *Store) Yield(ctx context.Context, lease, holder string) error {
	_, err := call(ctx, s, "yield", func(ctx context.Context, c rueidis.Client) (int64, error) {
		return s.scripts.yield.Exec(ctx, c, []string{s.names.lease(lease)}, []string{holder}).AsInt64()
	})
	return err
}
