package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"evergate/internal/ledger"
)

// What a ledger in memory holds at most, whatever its retention says: the oldest go.
const (
	ledgerRequests = 10_000
	ledgerBytes    = 8 << 20
	ledgerEntries  = 10_000
	ledgerSums     = 20_000 // groups of buckets, of each step
)

// Ledger is a ledger in this process's memory. Safe for concurrent use.
type Ledger struct {
	now  func() time.Time
	most int // requests

	mu       sync.Mutex
	requests lines
	entries  lines
	sums     map[ledger.Step]map[bucket]*ledger.Sums
}

var _ ledger.Store = (*Ledger)(nil)

// bucket is whose sums.
type bucket struct {
	at int64 // microseconds
	ledger.Group
}

// NewLedger gives a ledger that is empty. now is its clock.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{now: now, most: ledgerRequests, sums: map[ledger.Step]map[bucket]*ledger.Sums{ledger.Minute: {}, ledger.Hour: {}}}
}

// AtMost has it keep no more requests than that, if that is less than it would keep. It comes before the first row.
func (l *Ledger) AtMost(requests int) *Ledger {
	l.most = min(requests, ledgerRequests)
	return l
}

// Ledger gives the ledger of the same memory.
func (s *Store) Ledger() ledger.Store { return s.place.ledger }

// line is one row, as its bytes: a decoded one takes several times as much.
type line struct {
	row  ledger.Row
	id   string
	body []byte
}

func (l *line) size() int { return len(l.row) + len(l.id) + len(l.body) + 64 }

// lines are in the order of their rows.
type lines struct {
	all  []line
	size int
}

func (l *lines) find(row ledger.Row) (int, bool) {
	if n := len(l.all); n == 0 || l.all[n-1].row < row {
		return n, false
	}
	return slices.BinarySearchFunc(l.all, row, func(have line, want ledger.Row) int { return cmp.Compare(have.row, want) })
}

// add puts a row in its place; false: it is there.
func (l *lines) add(n line) bool {
	at, there := l.find(n.row)
	if there {
		return false
	}
	l.all = slices.Insert(l.all, at, n)
	l.size += n.size()
	return true
}

// dropWhile takes the oldest rows away as long as too says so.
func (l *lines) dropWhile(too func(oldest *line, rows, size int) bool) {
	n := 0
	for n < len(l.all) && too(&l.all[n], len(l.all)-n, l.size) {
		l.size -= l.all[n].size()
		l.all[n] = line{}
		n++
	}
	l.all = l.all[n:]
}

// newest visits the rows of from ≤ row < below, the newest first, until visit says no.
func (l *lines) newest(from, below ledger.Row, visit func(*line) bool) {
	end := len(l.all)
	if below != "" {
		end, _ = l.find(below)
	}
	for i := end - 1; i >= 0 && l.all[i].row >= from; i-- {
		if !visit(&l.all[i]) {
			return
		}
	}
}

// Write implements ledger.Store.
func (l *Ledger) Write(ctx context.Context, b ledger.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var buf []byte
	fresh, minutes := make([]line, 0, b.Len()), map[time.Time]ledger.Bundle{}
	if err := b.Each(func(r *ledger.Request) error {
		if _, there := l.requests.find(r.Row); there {
			return nil
		}
		buf = ledger.AppendRequest(buf[:0], r)
		fresh = append(fresh, line{r.Row, strings.Clone(r.ID), bytes.Clone(buf)})
		minute := ledger.Minute.Of(r.End())
		if minutes[minute] == nil {
			minutes[minute] = ledger.Bundle{}
		}
		minutes[minute].Fold(r)
		return nil
	}); err != nil {
		return err
	}
	for _, n := range slices.Backward(fresh) {
		l.requests.add(n)
	}
	l.sum(minutes)
	for i := range b.Entries {
		e := &b.Entries[i]
		buf = ledger.AppendEntry(buf[:0], e)
		l.entries.add(line{row: e.Row, body: bytes.Clone(buf)})
	}
	l.requests.dropWhile(func(_ *line, rows, size int) bool { return rows > l.most || size > ledgerBytes })
	l.entries.dropWhile(func(_ *line, rows, _ int) bool { return rows > ledgerEntries })
	return nil
}

// sum adds the sums of minutes.
func (l *Ledger) sum(minutes map[time.Time]ledger.Bundle) {
	for step, all := range l.sums {
		for minute, bundle := range minutes {
			for g, s := range bundle {
				k := bucket{step.Of(minute).UnixMicro(), g}
				if all[k] == nil { // its words are pieces of a row
					k.Group = ledger.Group{Key: strings.Clone(g.Key), Route: strings.Clone(g.Route), Model: strings.Clone(g.Model), Provider: strings.Clone(g.Provider)}
					all[k] = &ledger.Sums{}
				}
				all[k].Add(s)
			}
		}
		if len(all) > ledgerSums {
			dropOldest(all, len(all)-ledgerSums*7/8)
		}
	}
}

func dropOldest(all map[bucket]*ledger.Sums, n int) {
	ats := make([]int64, 0, len(all))
	for k := range all {
		ats = append(ats, k.at)
	}
	slices.Sort(ats)
	last := ats[n-1]
	before, _ := slices.BinarySearch(ats, last)
	ofLast := n - before // the others of that bucket stay
	for k := range all {
		if k.at < last {
			delete(all, k)
		} else if k.at == last && ofLast > 0 {
			delete(all, k)
			ofLast--
		}
	}
}

// Requests implements ledger.Store.
func (l *Ledger) Requests(ctx context.Context, q ledger.RequestQuery) (page ledger.RequestPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	from, below := q.Bounds()
	looked, last := 0, ledger.Row("")
	l.requests.newest(from, below, func(n *line) bool {
		if looked == ledger.MaxLooked || len(page.Requests) == q.Size() {
			page.Next = last
			return false
		}
		looked, last = looked+1, n.row
		r, broken := ledger.DecodeListed(n.body)
		if broken != nil {
			err = broken
			return false
		}
		if q.Matches(r) {
			page.Requests = append(page.Requests, *r)
		}
		return true
	})
	return page, err
}

// Request implements ledger.Store.
func (l *Ledger) Request(ctx context.Context, id string) (*ledger.Request, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var body []byte
	if i, there := l.requests.find(ledger.Row(id)); there {
		body = l.requests.all[i].body
	} else {
		l.requests.newest("", "", func(n *line) bool {
			if n.id == id {
				body = n.body
			}
			return body == nil
		})
	}
	if body == nil {
		return nil, false, nil
	}
	r, err := ledger.DecodeRequest(body)
	return r, err == nil, err
}

// Timeline implements ledger.Store.
func (l *Ledger) Timeline(ctx context.Context, q ledger.TimelineQuery) (page ledger.TimelinePage, err error) {
	if err := ctx.Err(); err != nil {
		return page, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	from, below := q.Bounds()
	last := ledger.Row("")
	l.entries.newest(from, below, func(n *line) bool {
		if len(page.Entries) == q.Size() {
			page.Next = last
			return false
		}
		last = n.row
		e, broken := ledger.DecodeEntry(n.body)
		if broken != nil {
			err = broken
			return false
		}
		if q.Matches(e) {
			page.Entries = append(page.Entries, *e)
		}
		return true
	})
	return page, err
}

// Usage implements ledger.Store.
func (l *Ledger) Usage(ctx context.Context, q ledger.UsageQuery) ([]ledger.UsageRow, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var totals ledger.Totals
	if q.Drill != "" {
		return l.drilled(&q)
	}
	step, from, below := q.Buckets(l.now())
	for k, s := range l.sums[step] {
		at := time.UnixMicro(k.at).UTC()
		if !at.Before(from) && (below.IsZero() || at.Before(below)) {
			totals.Answer(&q, at, k.Group, s)
		}
	}
	return totals.Rows(), nil
}

// drilled sums rows. It requires the lock.
func (l *Ledger) drilled(q *ledger.UsageQuery) ([]ledger.UsageRow, error) {
	var totals ledger.Totals
	rows := ledger.RequestQuery{From: q.From, To: q.To, Drill: q.Drill, Kind: ledger.AnyKind}
	from, below := rows.Bounds()
	var err error
	n := 0
	l.requests.newest(from, below, func(line *line) bool {
		r, broken := ledger.DecodeListed(line.body)
		if err = broken; err != nil {
			return false
		}
		if rows.Matches(r) {
			totals.AnswerRow(q, r)
			n++
		}
		return n < ledger.MaxDrilled
	})
	return totals.Rows(), err
}

// Expire implements ledger.Store.
func (l *Ledger) Expire(ctx context.Context, keep ledger.Retention) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	oldest := ledger.Row("")
	if keep.Age > 0 && !keep.ByNumber {
		oldest = ledger.RowsFrom(now.Add(-keep.Age))
	}
	over := func(most int) func(*line, int, int) bool {
		return func(n *line, rows, _ int) bool { return n.row < oldest || most > 0 && rows > most }
	}
	l.requests.dropWhile(over(keep.Requests))
	l.entries.dropWhile(over(keep.Entries))
	if keep.ByNumber {
		return nil
	}
	for step, kept := range map[ledger.Step]time.Duration{ledger.Minute: ledger.KeepMinutes, ledger.Hour: ledger.KeepHours} {
		end := now.Add(-kept).UnixMicro()
		for k := range l.sums[step] {
			if k.at < end {
				delete(l.sums[step], k)
			}
		}
	}
	return nil
}
