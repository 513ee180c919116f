package redis

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/ledger"
)

// Expire takes one round trip for every 500 rows, and three for every 500 buckets that go; and one for every 500 that stay, to see how many groups they have.
func (l ledgerStore) Expire(ctx context.Context, keep ledger.Retention) error {
	now, err := l.now(ctx)
	if err != nil {
		return err
	}
	first := "" // that stays
	if keep.Age > 0 && !keep.ByNumber {
		first, _ = raw(ledger.RowsFrom(now.Add(-keep.Age)))
	}
	n := l.store.names
	if err := l.remove(ctx, []string{n.ledger(), n.ledgerIDs(), n.ledgerBytes()}, first, keep.Requests); err != nil {
		return err
	}
	if err := l.remove(ctx, []string{n.timeline()}, first, keep.Entries); err != nil {
		return err
	}
	for i := range series {
		from := now.Add(-series[i].life)
		if keep.ByNumber {
			from = time.Time{}
		}
		before, err := l.tooMany(ctx, &series[i], from)
		if err != nil {
			return err
		}
		if err := l.removeBuckets(ctx, &series[i], before); err != nil {
			return err
		}
	}
	return nil
}

// tooMany is the time whose buckets, and those of later ones, have as many groups as they may, but no earlier one than from.
func (l ledgerStore) tooMany(ctx context.Context, of *sumSeries, from time.Time) (time.Time, error) {
	names, err := l.buckets(ctx, of, from, time.Time{})
	if err != nil {
		return from, err
	}
	most := int64(of.most)
	if l.groups > 0 {
		most = int64(l.groups)
	}
	for groups, newest := int64(0), len(names); len(names) > 0; {
		some := names[max(len(names)-expireAtOnce, 0):]
		counts, err := call(ctx, l.store, "expire the ledger", func(ctx context.Context, c rueidis.Client) (out []int64, err error) {
			commands := make(rueidis.Commands, len(some))
			for i, name := range some {
				commands[i] = c.B().Hlen().Key(l.store.names.bucket(name)).Build()
			}
			for _, said := range c.DoMulti(ctx, commands...) {
				n, err := said.AsInt64()
				if err != nil {
					return nil, err
				}
				out = append(out, n)
			}
			return out, nil
		})
		if err != nil {
			return from, err
		}
		for i := len(some) - 1; i >= 0; i-- {
			if groups += counts[i]; groups > most && len(names)-len(some)+i+1 < newest { // the newest one stays, however large it is
				at, err := bucketTime(some[i])
				return at.Add(time.Second), err
			}
		}
		names = names[:len(names)-len(some)]
	}
	return from, nil
}

// removeBuckets takes away those that began before a time.
func (l ledgerStore) removeBuckets(ctx context.Context, of *sumSeries, before time.Time) error {
	n := l.store.names
	for {
		left, err := call(ctx, l.store, "expire the ledger", func(ctx context.Context, c rueidis.Client) (bool, error) {
			old := bucketName(of, before)
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
