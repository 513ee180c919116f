package replica

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// crowd is how many instances say and hear everything each round. In a larger fleet, what is not urgent is said less often, so
	// that what an instance hears does not grow with the fleet.
	crowd = 50
	// refreshEvery is after how many rounds what stands in the store is put there again, in case it lost it without a word.
	refreshEvery = 12
	// maxRetry is how long a store that is lost is left alone, however long the interval is.
	maxRetry = 5 * time.Second
	// phases is how many rounds apart instances begin to count them, so that what is done in every so many rounds is not done by all at once.
	phases = 20 * refreshEvery
	// At most so many pages are read at once: the latest ones.
	maxWhole, maxNews = 4096, 1024
	// silentAfter is how many intervals without a sign of life make an instance silent (R63).
	silentAfter = 10
)

// rounds is where the rounds of Fleet.syncs stand.
type rounds struct {
	done    int
	whole   bool      // everything is to be said and read again
	wholeAt time.Time // when to read it, in a large fleet; zero: not yet said
	read    bool      // everything was read at least once
	readAt  time.Time // up to where pages were read, by the store's clock
	orderAt time.Time // the same of orders
	beatAt  time.Time // when it last said that this instance lives; of the goroutine of the rounds alone

	paceAt   time.Time // when averages are due
	paceRead time.Time // up to where they were read
	pace     uint64    // sequence of this instance's page
	paces    int       // averages in it
}

// syncs does a round each interval (R61).
func (f *Fleet) syncs(ctx context.Context) {
	for ctx.Err() == nil {
		wait := f.o.Interval
		if f.round(ctx) == nil {
			f.synced()
		} else {
			wait = min(wait, maxRetry)
		}
		f.started()
		next := time.NewTimer(jitter(wait))
		select {
		case <-next.C:
		case <-f.sync:
		case <-ctx.Done():
		}
		next.Stop()
	}
}

// round says what is new, and hears it.
func (f *Fleet) round(ctx context.Context) error {
	store, err := f.opened(ctx)
	if err != nil {
		return err
	}
	if err := f.beat(ctx, store); err != nil {
		return err
	}
	f.mu.Lock()
	n := f.rounds.done
	f.rounds.done++
	whole, scale, errors := f.rounds.whole, f.scale(), f.state.errors
	if whole && f.rounds.wholeAt.IsZero() {
		f.rounds.wholeAt = f.o.Now()
		if f.rounds.read && scale > 1 { // not all instances at once
			f.rounds.wholeAt = f.rounds.wholeAt.Add(time.Duration(rand.Float64() * float64(scale-1) * float64(f.o.Interval))) //nolint:gosec // spreads load
		}
	}
	readAll := whole && !f.o.Now().Before(f.rounds.wholeAt)
	if readAll {
		f.rounds.whole = false // what asks for it from now on is not served by this round
	}
	f.mu.Unlock()
	if readAll || n%scale == 0 {
		if err := f.members(ctx, store); err != nil {
			return err
		}
	}
	if err := f.readGuards(ctx, store, readAll); err != nil {
		return err
	}
	if err := f.readOrders(ctx, store, readAll); err != nil {
		return err
	}
	if readAll {
		if err := f.readKeys(ctx, store, true); err != nil {
			return err
		}
	}
	if err := f.rehearse(ctx, store, readAll); err != nil {
		return err
	}
	if err := f.recall(ctx, store); err != nil {
		return err
	}
	f.started()
	how := changes
	if whole || n%(refreshEvery*scale) == refreshEvery-1 {
		how = everything
	}
	if err := f.put(ctx, store, how); err != nil {
		return err
	}
	rest := []func(context.Context, Store) error{f.exchange, f.converse, f.forgetAnswers}
	if n%refreshEvery == 1 {
		rest = append(rest, f.sweep)
	}
	for _, step := range rest {
		if err := f.still(ctx, store); err != nil {
			return err
		}
		if err := step(ctx, store); err != nil {
			return err
		}
	}
	f.mu.Lock()
	if readAll {
		f.rounds.read = true
		f.rounds.whole = f.rounds.whole || f.state.errors != errors // something failed meanwhile: once more
	}
	f.mu.Unlock()
	return nil
}

// opened is the store, which is opened if it is not yet.
func (f *Fleet) opened(ctx context.Context) (Store, error) {
	f.mu.Lock()
	store := f.store
	f.mu.Unlock()
	if store != nil {
		return store, nil
	}
	var opened Store
	err := f.call(ctx, func(ctx context.Context) (err error) {
		if store, err = f.o.Open(ctx); err == nil {
			opened = store
		}
		return err
	})
	if err != nil {
		if opened != nil { // too late: nobody wants it any more
			_ = opened.Close()
		}
		return nil, err
	}
	f.mu.Lock()
	f.store = store
	f.turn()
	f.mu.Unlock()
	close(f.open)
	return store, nil
}

// beat says that this instance lives, and hears the store's clock (R63).
func (f *Fleet) beat(ctx context.Context, store Store) error {
	var at time.Time
	var sent time.Time
	self := f.self()
	err := f.call(ctx, func(ctx context.Context) (err error) {
		sent = f.o.Now()
		f.rounds.beatAt = sent
		at, err = store.Beat(ctx, self)
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	jumped := f.clock.take(sent, f.o.Now(), at)
	if jumped { // what was said and read went by another clock
		f.rounds.whole, f.rounds.readAt, f.rounds.orderAt = true, time.Time{}, time.Time{}
		f.forget()
		f.rewrite()
	}
	f.mu.Unlock()
	return nil
}

// still says that this instance lives amid a round that a slow store makes long, lest the others take it for silent.
func (f *Fleet) still(ctx context.Context, store Store) error {
	if f.o.Now().Sub(f.rounds.beatAt) < 2*f.o.Interval {
		return nil
	}
	return f.beat(ctx, store)
}

// self is this instance as the others are told of it, by the store's clock once that is known.
func (f *Fleet) self() Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	self := f.o.Self
	if f.clock.known() {
		self.Started = f.clock.theirs(self.Started)
	}
	return self
}

// scale is by how much what is not urgent is put off in a fleet of this size. It requires the lock.
func (f *Fleet) scale() int { return max(1, (f.others+crowd)/crowd) }

// readGuards reads the pages of guards: all of them, or those put since the last time. The first time it is what is known at the
// start (R65).
func (f *Fleet) readGuards(ctx context.Context, store Store, all bool) error {
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now())
	since := f.rounds.readAt
	first := !f.rounds.read
	f.mu.Unlock()
	pages, err := f.readSince(ctx, store, Guards, since, all, maxNews)
	if err != nil {
		return err
	}
	for i := range pages {
		f.hearGuards(&pages[i], first)
	}
	f.mu.Lock()
	f.rounds.readAt = now
	f.mu.Unlock()
	return nil
}

// overlap is how far back pages are read again: one may have come to stand later than the time that it bears, as long as a Put may
// take.
func (f *Fleet) overlap() time.Duration { return maxPatience }

// readSince reads the pages of a topic that were put since it was last read, at most limit of them; or all of them, also where it never was.
func (f *Fleet) readSince(ctx context.Context, store Store, topic Topic, since time.Time, all bool, limit int) (pages []Page, err error) {
	if all || since.IsZero() {
		since, limit = time.Time{}, maxWhole
	} else {
		since = since.Add(-f.overlap())
	}
	err = f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, topic, since, limit)
		return err
	})
	return pages, err
}

func (f *Fleet) readOrders(ctx context.Context, store Store, all bool) error {
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now())
	since := f.rounds.orderAt
	f.mu.Unlock()
	pages, err := f.readSince(ctx, store, Orders, since, all, maxWhole)
	if err != nil {
		return err
	}
	for i := range pages {
		f.hearOrder(&pages[i])
	}
	f.mu.Lock()
	f.rounds.orderAt = now
	f.mu.Unlock()
	return nil
}
