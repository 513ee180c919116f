package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/ledger"
)

// Expire takes one round trip for every 500 rows, and three for every 500 buckets.
func (l ledgerStore) Expire(ctx context.Context, keep ledger.Retention) error {
	now, err := l.now(ctx)
	if err != nil {
		return err
	}
	first := "" // that stays
	if keep.Age > 0 {
		first, _ = raw(ledger.RowsFrom(now.Add(-keep.Age)))
	}
	n := l.store.names
	if err := l.remove(ctx, []string{n.ledger(), n.ledgerIDs(), n.ledgerBytes()}, first, keep.Requests); err != nil {
		return err
	}
	if err := l.remove(ctx, []string{n.timeline()}, first, keep.Entries); err != nil {
		return err
	}
	for step, life := range lives {
		if err := l.removeBuckets(ctx, step, now.Add(-life)); err != nil {
			return err
		}
	}
	return nil
}

// removeBuckets takes away those that began before a time.
func (l ledgerStore) removeBuckets(ctx context.Context, step ledger.Step, before time.Time) error {
	n := l.store.names
	for {
		left, err := call(ctx, l.store, "expire the ledger", func(ctx context.Context, c rueidis.Client) (bool, error) {
			old := bucketName(step, before)
			found, err := c.Do(ctx, c.B().Zrangebylex().Key(n.sums()).Min("["+old[:1]).Max("("+old).Limit(0, expireAtOnce).Build()).AsStrSlice()
			if err != nil || len(found) == 0 {
				return false, err
			}
			keys := make([]string, len(found))
			for i, name := range found {
				keys[i] = n.bucket(name)
			}
			if err := c.Do(ctx, c.B().Unlink().Key(keys...).Build()).Error(); err != nil {
				return false, err
			}
			return len(found) == expireAtOnce, c.Do(ctx, c.B().Zrem().Key(n.sums()).Member(found...).Build()).Error()
		})
		if err != nil || !left {
			return err
		}
	}
}

// remove takes rows away until none is too old or too much.
func (l ledgerStore) remove(ctx context.Context, keys []string, first string, most int) error {
	stay := "-1"
	if most > 0 {
		stay = strconv.Itoa(most)
	}
	if first == "" && most <= 0 {
		return nil
	}
	for {
		more, err := call(ctx, l.store, "expire the ledger", func(ctx context.Context, c rueidis.Client) (int64, error) {
			return l.store.scripts.expire.Exec(ctx, c, keys, []string{first, stay, strconv.Itoa(expireAtOnce)}).AsInt64()
		})
		if err != nil || more == 0 {
			return err
		}
	}
}
