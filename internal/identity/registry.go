package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Place is where records are kept, so that they outlive this process and are known to its fleet. Its methods do I/O.
type Place interface {
	// Refresh has the Book hear what stands there now.
	Refresh(ctx context.Context) error
	// Reserve says whether a name may be given now, since nobody else of the fleet is about to give it; release is called after that.
	Reserve(ctx context.Context, name string) (release func(), free bool, err error)
	// Keep lays a record down, unless a later one of the same id stands there, and gives what stands then.
	Keep(ctx context.Context, r Record) (Record, error)
}

// The errors of a Registry, beside a *Mistake. One that is none of them says that the keys could not be kept: nothing was changed as far as is known.
var (
	ErrNoKey   = errors.New("there is no such key among those that were made here; GET /admin/v1/keys lists them")
	ErrRevoked = errors.New("the key is revoked, which is for ever; make another one")
	ErrBusy    = errors.New("somebody else is changing the same; try again")
	ErrFull    = fmt.Errorf("there are %d keys, which is as many as are kept", MaxKeys)
)

// TakenError says that a name is in use.
type TakenError struct{ Message string }

// Error implements error.
func (e *TakenError) Error() string { return e.Message }

// Registry makes, changes, rotates and revokes keys: each change stands where keys are kept before it is answered. Safe for concurrent use.
type Registry struct {
	book  *Book
	place Place // nil: they are kept in this process alone
	now   func() time.Time
	// one at a time: what two would change at once here
	turn sync.Mutex
}

// NewRegistry makes one for the keys of a book.
func NewRegistry(b *Book, place Place, now func() time.Time) *Registry {
	return &Registry{book: b, place: place, now: now}
}

// Create makes a key, which is in no other place than in what this returns.
func (r *Registry) Create(ctx context.Context, terms Principal, by string) (rec Record, key string, err error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.place != nil {
		release, free, err := r.place.Reserve(ctx, terms.Name)
		switch {
		case err != nil:
			return rec, "", err
		case !free:
			return rec, "", ErrBusy
		}
		defer release()
		if err := r.place.Refresh(ctx); err != nil {
			return rec, "", err
		}
	}
	switch config, other := r.book.taken(terms.Name); {
	case config:
		return rec, "", &TakenError{fmt.Sprintf("the name %q is that of a key of the config; choose another one", terms.Name)}
	case other != nil && !other.Revoked.IsZero():
		return rec, "", &TakenError{fmt.Sprintf("the name %q is that of a key that was revoked; a name is not given twice, so that reports tell them apart: choose another one", terms.Name)}
	case other != nil:
		return rec, "", &TakenError{fmt.Sprintf("there is a key of the name %q; rotate it, or choose another name", terms.Name)}
	}
	if len(r.book.Records()) >= MaxKeys {
		return rec, "", ErrFull
	}
	rec, key = newRecord(terms, by, r.now())
	rec, _, err = r.keep(ctx, rec)
	if err != nil {
		return Record{}, "", err
	}
	return rec, key, nil
}

// keep lays a record down and has the book know it; mine is false where somebody was there before.
func (r *Registry) keep(ctx context.Context, rec Record) (stands Record, mine bool, err error) {
	stands = rec
	if r.place != nil {
		if stands, err = r.place.Keep(ctx, rec); err != nil {
			return rec, false, err
		}
	}
	r.book.Hear(stands)
	return stands, stands.Version == rec.Version && bytes.Equal(stands.Encode(), rec.Encode()), nil
}

// tries is how often a change is made anew where somebody else made one meanwhile.
const tries = 8

// update makes a change of the newest that is known of a key.
func (r *Registry) update(ctx context.Context, id string, change func(Record) (Record, error)) (Record, error) {
	r.turn.Lock()
	defer r.turn.Unlock()
	for range tries {
		now, ok := r.book.Record(id)
		if !ok && r.place != nil { // one that was just made elsewhere
			if err := r.place.Refresh(ctx); err != nil {
				return Record{}, err
			}
			now, ok = r.book.Record(id)
		}
		switch {
		case !ok:
			return Record{}, ErrNoKey
		case !now.Revoked.IsZero():
			return now, ErrRevoked
		}
		next, err := change(now)
		if err != nil {
			return Record{}, err
		}
		stands, mine, err := r.keep(ctx, next)
		if err != nil || mine {
			return stands, err
		}
	}
	return Record{}, ErrBusy
}

// Change gives a key other terms; change gets those that it has.
func (r *Registry) Change(ctx context.Context, id string, change func(now Principal) (Principal, error), by, reason string) (Record, error) {
	return r.update(ctx, id, func(now Record) (Record, error) {
		terms, err := change(now.Principal)
		return now.changed(terms, by, reason, r.now()), err
	})
}

// Rotate makes a new key in the place of one, which stays good for the overlap, and no longer than the record.
func (r *Registry) Rotate(ctx context.Context, id string, overlap time.Duration, by, reason string) (rec Record, key string, err error) {
	rec, err = r.update(ctx, id, func(now Record) (Record, error) {
		var next Record
		next, key = now.rotated(overlap, by, reason, r.now())
		return next, nil
	})
	if err != nil {
		return rec, "", err
	}
	return rec, key, nil
}

// Revoke lets nobody in with a key any more. What is revoked already stays as it is, which is no error.
func (r *Registry) Revoke(ctx context.Context, id, by, reason string) (Record, error) {
	rec, err := r.update(ctx, id, func(now Record) (Record, error) { return now.revoked(by, reason, r.now()), nil })
	if errors.Is(err, ErrRevoked) {
		return rec, nil
	}
	return rec, err
}
