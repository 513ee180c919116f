package replica

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"evergate/internal/resilience"
)

const (
	// gather is how long transitions are gathered before they are said: they come in flocks.
	gather = 5 * time.Millisecond
	// maxGather is the same in the largest fleets, where most of what is gathered has been said by others when it is over.
	maxGather = 50 * time.Millisecond
	// pushRate is how many bytes a second are said at once, as far as maxGather slows it down: a page is put whole for each transition.
	pushRate = 1 << 20
	// A Put has at most so many pages, and bytes of bodies.
	maxPut, maxPutBytes = 100, 1 << 20
)

// what is how much of it is put.
type what uint8

const (
	urgent     what = iota // what others wait for: blocks and proofs
	changes                // what is new
	everything             // what stands in the store, too
)

// pushes says at once what others wait for (R61).
func (f *Fleet) pushes(ctx context.Context) {
	for {
		select {
		case <-f.push:
		case <-ctx.Done():
			return
		}
		f.mu.Lock()
		window := min(gather*time.Duration(f.scale()), maxGather)
		store := f.store
		f.mu.Unlock()
		if !pause(ctx, time.Duration(rand.Float64()*float64(window))) { //nolint:gosec // spreads load
			return
		}
		select {
		case <-f.push: // they are among those that are said now
		default:
		}
		if store == nil {
			continue
		}
		before := f.said.Load()
		_ = f.put(ctx, store, urgent) // it is counted, and put again in the next round
		rest := time.Duration(f.said.Load()-before) * time.Second / pushRate
		if !pause(ctx, min(rest, maxGather)) {
			return
		}
	}
}

// put lays down pages of this instance's guards, and operators' orders that it was given.
func (f *Fleet) put(ctx context.Context, store Store, how what) error {
	select { // one at a time, so that none overtakes another
	case f.pushing <- struct{}{}:
		defer func() { <-f.pushing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	known := f.clock.known()
	batch := append(f.ownOrders(how), f.ownDrills(how)...)
	f.mu.Unlock()
	if !known {
		return nil // no time can be said yet; the first round says everything
	}
	now := f.o.Now()
	for _, s := range *f.providers.Load() {
		if how == urgent && !s.moved.Load() {
			continue
		}
		s.moved.Store(false)
		rows := s.Guards.Rows(now)
		f.mu.Lock()
		f.look(s, rows)
		if p, due := f.page(s, now, how); due {
			said := s.rows
			batch = append(batch, parcel{p, func() {
				s.put, s.behind = said, s.behind && s.sequence != p.Sequence
				s.quietAt = now.Add(f.o.Interval * time.Duration(f.scale()-1))
			}})
		}
		f.mu.Unlock()
	}
	return f.deliver(ctx, store, batch)
}

// look takes the rows as they are now. It requires the lock.
func (f *Fleet) look(s *shared, rows []resilience.Row) {
	arrange(rows)
	if slices.Equal(rows, s.rows) && (s.sequence > 0 || !s.behind) {
		return
	}
	f.sequence++
	s.rows, s.body, s.sequence, s.behind = rows, encodeRows(f.clock, s.Of, rows), f.sequence, true
}

// page is a provider's page, if it is to be put now. It requires the lock.
func (f *Fleet) page(s *shared, now time.Time, how what) (p Page, due bool) {
	p = Page{Instance: f.o.Self.ID, Topic: Guards, Key: s.Name, Sequence: s.sequence, Body: s.body}
	loud := s.behind && f.loud(s, now)
	p.Quiet = !loud
	switch how {
	case urgent:
		return p, loud
	case changes:
		return p, loud || s.behind && !now.Before(s.quietAt)
	case everything:
		return p, s.behind || len(s.body) > 0
	}
	return p, false
}

// loud says whether a provider's rows have something that others wait for: a block or a proof that the store does not have. In
// a large fleet that is no hurry if somebody has said as much of the same guard. It requires the lock.
func (f *Fleet) loud(s *shared, now time.Time) bool {
	scale := f.scale()
	for i := range s.rows {
		r := &s.rows[i]
		if !tells(r, now) && r.ProvedAt.IsZero() {
			continue
		}
		if i, ok := slices.BinarySearchFunc(s.put, *r, byGuard); ok && same(r, &s.put[i]) {
			continue
		}
		if scale == 1 || !tells(r, now) || !f.saidBefore(s.Name, r) {
			return true
		}
	}
	return false
}

// tells says whether a row blocks.
func tells(r *resilience.Row, now time.Time) bool { return now.Before(r.Until) }

// same says whether two rows of one guard say the same, counts aside.
func same(a, b *resilience.Row) bool {
	return a.Since.Equal(b.Since) && a.Until.Equal(b.Until) && a.ProvedAt.Equal(b.ProvedAt)
}

// rewrite has all that was said said again: by the clock as it is now. It requires the lock.
func (f *Fleet) rewrite() {
	for _, s := range *f.providers.Load() {
		if len(s.rows) > 0 {
			s.rows, s.put = nil, nil
		}
	}
}

// parcel is a page with what is to be done, under the lock, once it is in the store.
type parcel struct {
	page Page
	done func()
}

// deliver puts pages, in portions.
func (f *Fleet) deliver(ctx context.Context, store Store, batch []parcel) error {
	for len(batch) > 0 {
		n, size := 0, 0
		var pages []Page
		for n < len(batch) && n < maxPut && (n == 0 || size+len(batch[n].page.Body) <= maxPutBytes) {
			pages = append(pages, batch[n].page)
			size += len(batch[n].page.Body)
			n++
		}
		if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, pages) }); err != nil {
			return err
		}
		f.said.Add(int64(size))
		f.mu.Lock()
		for i := range n {
			batch[i].done()
		}
		f.mu.Unlock()
		batch = batch[n:]
	}
	return nil
}
