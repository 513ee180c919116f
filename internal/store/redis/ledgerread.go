package redis

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"evergate/internal/ledger"
)

// rowBytes is how long a row is at the beginning of a member.
const rowBytes = 16

// walk reads members of a sorted set between two rows, the newest first, until visit says that it is enough. last is the row that was looked at last; ended says that
// there are no more.
func (l ledgerStore) walk(ctx context.Context, key string, from, below ledger.Row, visit func(member string) (bool, error)) (last ledger.Row, ended bool, err error) {
	lowest, highest := "-", "+"
	if b, ok := raw(from); ok {
		lowest = "[" + b
	}
	if b, ok := raw(below); ok {
		highest = "(" + b
	}
	rows := int64(100)
	for looked := 0; looked < ledger.MaxLooked; {
		rows = min(rows, int64(ledger.MaxLooked-looked))
		members, err := call(ctx, l.store, "read the ledger", func(ctx context.Context, c rueidis.Client) ([]string, error) {
			return c.Do(ctx, c.B().Zrevrangebylex().Key(key).Max(highest).Min(lowest).Limit(0, rows).Build()).AsStrSlice()
		})
		if err != nil {
			return last, false, err
		}
		size := int64(1)
		for _, m := range members {
			if len(m) < rowBytes {
				return last, false, errMalformed
			}
			enough, err := visit(m)
			if err != nil || enough {
				return last, false, err
			}
			last = ledger.RowOf([]byte(m[:rowBytes]))
			highest = "(" + m[:rowBytes]
			size += int64(len(m))
		}
		if looked += len(members); int64(len(members)) < rows {
			return last, true, nil
		}
		// The server does nothing else while it reads, and rows may have bodies.
		rows = max(10, min(1000, ledgerRead*rows/size))
	}
	return last, false, nil
}

// Requests takes a round trip for each megabyte of rows that are looked at.
func (l ledgerStore) Requests(ctx context.Context, q ledger.RequestQuery) (page ledger.RequestPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	from, below := q.Bounds()
	last, ended, err := l.walk(ctx, l.store.names.ledger(), from, below, func(member string) (bool, error) {
		if len(page.Requests) == q.Size() {
			return true, nil
		}
		r, err := request(member, ledger.DecodeListed)
		if err == nil && q.Matches(r) { // one of a newer program, or broken, must not hide the others
			page.Requests = append(page.Requests, *r)
		}
		return false, nil
	})
	if !ended && err == nil {
		page.Next = last
	}
	return page, err
}

// request reads a member, with its body or without.
func request(member string, decode func([]byte) (*ledger.Request, error)) (*ledger.Request, error) {
	if len(member) < rowBytes {
		return nil, errMalformed
	}
	_, body, ok := cut(member[rowBytes:])
	if !ok {
		return nil, errMalformed
	}
	return decode([]byte(body))
}

// Request takes one round trip for a row, and two for an id.
func (l ledgerStore) Request(ctx context.Context, id string) (*ledger.Request, bool, error) {
	n := l.store.names
	r, err := call(ctx, l.store, "read a request", func(ctx context.Context, c rueidis.Client) (*ledger.Request, error) {
		one := func(row string) (*ledger.Request, error) {
			found, err := c.Do(ctx, c.B().Zrangebylex().Key(n.ledger()).Min("["+row).Max("("+row+"\xff").Limit(0, 1).Build()).AsStrSlice()
			if err != nil || len(found) == 0 {
				return nil, err
			}
			return request(found[0], ledger.DecodeRequest)
		}
		if row, ok := raw(ledger.Row(id)); ok {
			if r, err := one(row); err != nil || r != nil {
				return r, err
			}
		}
		newest, err := c.Do(ctx, c.B().Zrevrangebylex().Key(n.ledgerIDs()).Max("("+id+"\x01").Min("["+id+"\x00").Limit(0, 1).Build()).AsStrSlice()
		if err != nil || len(newest) == 0 {
			return nil, err
		}
		return one(newest[0][max(len(newest[0])-rowBytes, 0):])
	})
	return r, r != nil, err
}

// Timeline takes a round trip for each megabyte of entries that are looked at.
func (l ledgerStore) Timeline(ctx context.Context, q ledger.TimelineQuery) (page ledger.TimelinePage, err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	from, below := q.Bounds()
	last, ended, err := l.walk(ctx, l.store.names.timeline(), from, below, func(member string) (bool, error) {
		if len(page.Entries) == q.Size() {
			return true, nil
		}
		e, err := ledger.DecodeEntry([]byte(member[rowBytes:]))
		if err == nil && q.Matches(e) { // else as above
			page.Entries = append(page.Entries, *e)
		}
		return false, nil
	})
	if !ended && err == nil {
		page.Next = last
	}
	return page, err
}

const (
	bucketsAtOnce = 60
	expireAtOnce  = 500
)

// Usage takes two round trips, and one more for every 60 buckets; for a drill those of its pages.
func (l ledgerStore) Usage(ctx context.Context, q ledger.UsageQuery) ([]ledger.UsageRow, error) {
	var totals ledger.Totals
	if q.Drill != "" {
		err := l.drilled(ctx, &q, &totals)
		return totals.Rows(), err
	}
	now, err := l.now(ctx)
	if err != nil {
		return nil, err
	}
	step, from, below := q.Buckets(now)
	names, err := l.buckets(ctx, seriesOf(&q, step), from, below)
	if err != nil {
		return nil, err
	}
	for len(names) > 0 {
		n := min(len(names), bucketsAtOnce)
		if err := l.addBuckets(ctx, &q, names[:n], &totals); err != nil {
			return nil, err
		}
		names = names[n:]
	}
	return totals.Rows(), nil
}

// now is the server's time.
func (l ledgerStore) now(ctx context.Context) (time.Time, error) {
	return call(ctx, l.store, "read the time", func(ctx context.Context, c rueidis.Client) (time.Time, error) {
		said, err := c.Do(ctx, c.B().Time().Build()).AsIntSlice()
		if err != nil {
			return time.Time{}, err
		}
		if len(said) != 2 {
			return time.Time{}, errMalformed
		}
		return time.Unix(said[0], said[1]*1000).UTC(), nil
	})
}

// buckets are the names of those between two times.
func (l ledgerStore) buckets(ctx context.Context, of *sumSeries, from, below time.Time) ([]string, error) {
	lowest, highest := "["+bucketName(of, from), "("+bucketName(of, below)
	if below.IsZero() {
		highest = "(" + of.letter + ":" // after the digits
	}
	return call(ctx, l.store, "read the sums", func(ctx context.Context, c rueidis.Client) ([]string, error) {
		return c.Do(ctx, c.B().Zrangebylex().Key(l.store.names.sums()).Min(lowest).Max(highest).Build()).AsStrSlice()
	})
}

func (l ledgerStore) addBuckets(ctx context.Context, q *ledger.UsageQuery, names []string, totals *ledger.Totals) error {
	_, err := call(ctx, l.store, "read the sums", func(ctx context.Context, c rueidis.Client) (bool, error) {
		commands := make(rueidis.Commands, 0, len(names))
		for _, name := range names {
			commands = append(commands, c.B().Hgetall().Key(l.store.names.bucket(name)).Build())
		}
		for i, said := range c.DoMulti(ctx, commands...) {
			groups, err := said.AsStrMap()
			if err != nil {
				return false, err
			}
			at, err := bucketTime(names[i])
			if err != nil {
				return false, err
			}
			for packed, said := range groups {
				g, err := group(packed)
				if err != nil {
					return false, err
				}
				sums, err := readNumbers(said)
				if err != nil {
					return false, err
				}
				totals.Answer(q, at, g, &sums)
			}
		}
		return true, nil
	})
	return err
}

func bucketTime(name string) (time.Time, error) {
	var seconds int64
	for _, d := range name[1:] {
		if d < '0' || d > '9' {
			return time.Time{}, errMalformed
		}
		seconds = seconds*10 + int64(d-'0')
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func group(packed string) (g ledger.Group, err error) {
	for _, to := range []*string{&g.Key, &g.Route, &g.Model, &g.Provider} {
		var ok bool
		if *to, packed, ok = cut(packed); !ok {
			return g, errMalformed
		}
	}
	return g, nil
}

// drilled sums the rows of a drill.
func (l ledgerStore) drilled(ctx context.Context, w *ledger.UsageQuery, totals *ledger.Totals) error {
	q := ledger.RequestQuery{From: w.From, To: w.To, Drill: w.Drill, Kind: ledger.AnyKind}
	for n := 0; n < ledger.MaxDrilled; {
		page, err := l.Requests(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Requests {
			totals.AnswerRow(w, &page.Requests[i])
		}
		n += len(page.Requests)
		if q.Cursor = page.Next; page.Next == "" {
			return nil
		}
	}
	return nil
}
