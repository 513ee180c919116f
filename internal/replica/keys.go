package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evergate/internal/identity"
)

// Keys are pages of the fleet's own, one for each key that was made in it, with the key's id and, as a sequence, its version.
const Keys Topic = "keys"

const (
	// keyPoll is how often news of keys are read while there are any: a revoked key is to be refused everywhere within a second, also where nothing is told
	// of what is put, or the word was lost.
	keyPoll = 400 * time.Millisecond
	// keptKeys is how long a key that was revoked, or has expired, is kept for its name: reports of a year past want to know whose it was.
	keptKeys = 400 * 24 * time.Hour
	// goneKey is the sequence of a page that says no more than that there was a key.
	goneKey uint64 = 1 << 53
	// reserveLife is how long a name is reserved by whoever makes a key of it.
	reserveLife = 10 * time.Second
	// maxTerms is how much of its page a key's terms may take, in bytes: the rest is for its hashes, and who changed or revoked it and why.
	maxTerms = MaxBody - 16<<10
)

// ErrUnreached says that the store is not reached, so that nothing can be kept.
var ErrUnreached = errors.New("the state store is not reached, and without it no key is made, changed, rotated or revoked; nothing was changed")

// keyring is where the reading of keys stands.
type keyring struct {
	turn   chan struct{} // has an element while keys are read
	readAt time.Time     // up to where they were read, by the store's clock; of who has the turn
}

// listens reads what is new of keys: often as long as there are any, else once in an interval. It is beside the rounds, which are as long as all that is
// asked in them, and within which members must be heard of.
func (f *Fleet) listens(ctx context.Context) {
	if f.o.Keys == nil {
		return
	}
	select {
	case <-f.open:
	case <-ctx.Done():
		return
	}
	var read time.Time
	for pause(ctx, jitter(keyPoll)) {
		if store := f.Reached(); store != nil && (f.o.Keys.Live() || f.o.Now().Sub(read).Abs() >= f.o.Interval) {
			_ = f.readKeys(ctx, store, false) // an error is counted, and what is new is read when the store is back
			read = f.o.Now()
		}
	}
}

// readKeys hears of keys that were put since they were last read; or of all of them.
func (f *Fleet) readKeys(ctx context.Context, store Store, all bool) error {
	if f.o.Keys == nil {
		return nil
	}
	select {
	case f.keys.turn <- struct{}{}:
		defer func() { <-f.keys.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	all = all || f.keys.readAt.IsZero()
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now())
	f.mu.Unlock()
	since := time.Time{}
	if !all {
		since = f.keys.readAt.Add(-f.overlap())
	}
	pages, err := f.keyPages(ctx, store, since)
	if err != nil {
		return err
	}
	f.hearKeys(pages)
	f.keys.readAt = now
	if all {
		f.o.Keys.Ready()
	}
	return nil
}

func (f *Fleet) keyPages(ctx context.Context, store Store, since time.Time) (pages []Page, err error) {
	err = f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, Keys, since, 0)
		return err
	})
	return pages, err
}

// hearKeys has the book know what pages say.
func (f *Fleet) hearKeys(pages []Page) {
	var news []identity.Record
	for i := range pages {
		p := &pages[i]
		switch {
		case p.Instance != "":
		case p.Sequence >= goneKey:
			f.o.Keys.Forget(p.Key)
		case f.o.Keys.Knows(p.Key, p.Sequence):
		default:
			if r, ok := identity.DecodeRecord(p.Sequence, p.Body); ok && r.ID == p.Key {
				news = append(news, r)
			}
		}
	}
	if len(news) > 0 {
		f.o.Keys.Hear(news...)
	}
}

func keyPage(r *identity.Record) Page {
	return Page{Topic: Keys, Key: r.ID, Sequence: r.Version, Body: r.Encode()}
}

// tendKeys puts what this instance knows of keys and the store has lost, and lets go of those that nobody wants to know of any more. It is done by one
// instance at a time.
func (f *Fleet) tendKeys(ctx context.Context, store Store) error {
	if f.o.Keys == nil {
		return nil
	}
	pages, err := f.keyPages(ctx, store, time.Time{})
	if err != nil {
		return err
	}
	f.hearKeys(pages)
	stands := make(map[string]uint64, len(pages))
	for i := range pages {
		stands[pages[i].Key] = pages[i].Sequence
	}
	var batch []parcel
	f.mu.Lock()
	now := f.clock.theirs(f.o.Now()) // an instance whose own clock is wrong forgets nobody's keys
	f.mu.Unlock()
	for _, r := range f.o.Keys.Records() {
		over := r.Revoked
		if over.IsZero() {
			over = r.Expires
		}
		switch {
		case !over.IsZero() && now.Sub(over) > keptKeys:
			batch = append(batch, parcel{Page{Topic: Keys, Key: r.ID, Sequence: goneKey}, func() {}})
		case stands[r.ID] < r.Version:
			batch = append(batch, parcel{keyPage(&r), func() {}})
		}
	}
	return f.deliver(ctx, store, batch)
}

// KeyPlace is where the fleet's keys are kept.
func (f *Fleet) KeyPlace() identity.Place { return keyPlace{f} }

type keyPlace struct{ f *Fleet }

// reached is the store, or why there is none.
func (k keyPlace) reached() (Store, error) {
	if store := k.f.Reached(); store != nil {
		return store, nil
	}
	k.f.mu.Lock()
	defer k.f.mu.Unlock()
	if k.f.state.problem != "" {
		return nil, fmt.Errorf("%w (%s)", ErrUnreached, k.f.state.problem)
	}
	return nil, ErrUnreached
}

// Refresh implements identity.Place.
func (k keyPlace) Refresh(ctx context.Context) error {
	store, err := k.reached()
	if err != nil {
		return err
	}
	return k.f.readKeys(ctx, store, false)
}

// Reserve implements identity.Place.
func (k keyPlace) Reserve(ctx context.Context, name string) (release func(), free bool, err error) {
	store, err := k.reached()
	if err != nil {
		return nil, false, err
	}
	lease := "key " + name
	err = k.f.call(ctx, func(ctx context.Context) (err error) {
		free, err = store.Claim(ctx, lease, k.f.o.Self.ID, reserveLife)
		return err
	})
	return func() {
		_ = k.f.call(context.WithoutCancel(ctx), func(ctx context.Context) error { return store.Yield(ctx, lease, k.f.o.Self.ID) }) // it ends by itself
	}, free, err
}

// Keep implements identity.Place. It goes on when ctx ends: what was begun is to be known.
func (k keyPlace) Keep(ctx context.Context, r identity.Record) (stands identity.Record, err error) {
	f := k.f
	store, err := k.reached()
	if err != nil {
		return r, err
	}
	page, terms := keyPage(&r), identity.Record{Principal: r.Principal}
	if n := len(terms.Encode()); n > maxTerms && r.Revoked.IsZero() || len(page.Body) > MaxBody { // that is no failure of the store's
		return r, &identity.Mistake{Message: fmt.Sprintf("what is said of the key is too long: its terms take %d bytes, of at most %d; nothing was changed", n, maxTerms)}
	}
	ctx = context.WithoutCancel(ctx)
	if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, []Page{page}) }); err != nil {
		return r, fmt.Errorf("the state store did not say that it kept the key; look at the list before trying again: %w", err)
	}
	f.mu.Lock()
	since := f.clock.theirs(f.o.Now()).Add(-f.overlap())
	f.mu.Unlock()
	for _, since := range []time.Time{since, {}} { // a page that stood before may be old
		pages, err := f.keyPages(ctx, store, since)
		if err != nil {
			return r, err
		}
		for i := range pages {
			if p := &pages[i]; p.Key != r.ID || p.Instance != "" {
				continue
			}
			if stands, ok := identity.DecodeRecord(pages[i].Sequence, pages[i].Body); ok {
				return stands, nil
			}
			return r, fmt.Errorf("what the state store has of the key %s cannot be read", r.ID)
		}
	}
	return r, errors.New("the state store took the key and does not have it")
}
