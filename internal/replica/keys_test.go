package replica_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/identity"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
)

// let is what becomes of a key on an instance.
func (i *instance) let(key string) identity.Verdict {
	_, v := i.book.Find(key, i.now())
	return v
}

func (i *instance) makeKey(t testing.TB, name string) (identity.Record, string) {
	t.Helper()
	r, key, err := i.keys.Create(t.Context(), identity.Principal{Name: name}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return r, key
}

func reached(all ...*instance) {
	time.Sleep(time.Second)
	synctest.Wait()
	for _, i := range all {
		if i.fleet.Reached() == nil {
			panic("the store is not reached")
		}
	}
}

// A key that was made, rotated or revoked on one instance is so on all of them within a second: also where nobody is told of what is put, where words get
// lost or come twice, and where clocks differ.
func TestKeysAreTheFleetsWithinASecond(t *testing.T) {
	for name, change := range map[string]func(*line){
		"told":       func(*line) {},
		"deaf":       func(l *line) { l.deaf = true },
		"words lost": func(l *line) { l.lose = 1 },
		"told twice": func(l *line) { l.twice = 1 },
	} {
		t.Run(name, inBubble(func(t *testing.T, at *memory.Store) {
			a := join(t, at, "a", setup{line: change})
			b := join(t, at, "b", setup{line: change, skew: 3 * time.Second})
			reached(a, b)
			_, before := a.makeKey(t, "first") // b looks every moment once it knows of any
			time.Sleep(2 * interval)
			r, key := a.makeKey(t, "night")
			settled := func(what string, key string, want identity.Verdict) {
				t.Helper()
				time.Sleep(time.Second)
				synctest.Wait()
				for _, i := range []*instance{a, b} {
					if got := i.let(key); got != want {
						t.Errorf("%s, on %s: %v, want %v", what, i.id, got, want)
					}
				}
			}
			settled("made", key, identity.Welcome)
			settled("the one before it", before, identity.Welcome)
			_, second, err := b.keys.Rotate(t.Context(), "night", time.Minute, "ada", "")
			if err != nil {
				t.Fatal(err)
			}
			settled("the new one", second, identity.Welcome)
			settled("the old one", key, identity.Welcome)
			time.Sleep(time.Minute)
			settled("the old one later", key, identity.Replaced)
			if _, err := a.keys.Revoke(t.Context(), r.ID, "ada", "leaked"); err != nil {
				t.Fatal(err)
			}
			settled("revoked", second, identity.Unknown)
		}))
	}
}

// Rotation ends to the millisecond.
func TestTheOverlapEndsToTheMillisecond(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		reached(a)
		_, old := a.makeKey(t, "night")
		_, next, err := a.keys.Rotate(t.Context(), "night", 1500*time.Millisecond, "ada", "")
		if err != nil {
			t.Fatal(err)
		}
		until := a.book.Records()[0].Hashes[1].Until
		time.Sleep(time.Until(until) - time.Millisecond)
		if a.let(old) != identity.Welcome || a.let(next) != identity.Welcome {
			t.Error("a millisecond before its end the old key is refused")
		}
		time.Sleep(time.Millisecond)
		if a.let(old) != identity.Replaced || a.let(next) != identity.Welcome {
			t.Error("at its end the old key lets in")
		}
	}))
}

// What two instances change at once of one key is changed twice, and a revocation wins over all of it.
func TestKeysChangedAtOnce(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		all := []*instance{
			join(t, at, "a", setup{line: func(l *line) { l.deaf = true }}), join(t, at, "b", setup{line: func(l *line) { l.deaf = true }}), join(t, at, "c", setup{}),
		}
		reached(all...)
		_, key := all[0].makeKey(t, "night")
		time.Sleep(2 * interval)
		var together sync.WaitGroup
		for n, i := range all {
			for k := range 5 {
				together.Go(func() {
					_, err := i.keys.Change(t.Context(), "night", func(p identity.Principal) (identity.Principal, error) {
						p.Models = append(p.Models[:len(p.Models):len(p.Models)], fmt.Sprintf("m%d-%d", n, k))
						return p, nil
					}, i.id, "")
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		together.Wait()
		time.Sleep(interval)
		for _, i := range all {
			if r := i.book.Records()[0]; len(r.Models) != 15 || r.Version != 16 {
				t.Errorf("%s has version %d with %d models", i.id, r.Version, len(r.Models))
			}
		}
		for n, i := range all {
			together.Go(func() {
				if n == 1 {
					if _, err := i.keys.Revoke(t.Context(), "night", i.id, ""); err != nil {
						t.Error(err)
					}
					return
				}
				_, _, err := i.keys.Rotate(t.Context(), "night", time.Hour, i.id, "")
				if err != nil && !errors.Is(err, identity.ErrRevoked) {
					t.Error(err)
				}
			})
		}
		together.Wait()
		time.Sleep(time.Second)
		for _, i := range all {
			if i.book.Records()[0].Revoked.IsZero() || i.let(key) != identity.Unknown {
				t.Errorf("%s does not know that it is revoked", i.id)
			}
		}
	}))
}

// One name is given once, however many ask for it at once.
func TestANameIsGivenOnce(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		var all []*instance
		for _, id := range []string{"a", "b", "c"} {
			all = append(all, join(t, at, id, setup{}))
		}
		reached(all...)
		var together sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for _, i := range all {
			together.Go(func() {
				if _, _, err := i.keys.Create(t.Context(), identity.Principal{Name: "night"}, ""); err == nil {
					mu.Lock()
					defer mu.Unlock()
					made++
				}
			})
		}
		together.Wait()
		if made != 1 {
			t.Errorf("it was given %d times", made)
		}
	}))
}

// R64: terms that no page holds are the caller's mistake, and say nothing of the store.
func TestTermsThatNoPageHolds(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		reached(a)
		terms := identity.Principal{Name: "wide"}
		for range identity.MaxList {
			terms.Models = append(terms.Models, strings.Repeat("m", identity.MaxItem))
		}
		_, _, err := a.keys.Create(t.Context(), terms, "test")
		if _, ok := errors.AsType[*identity.Mistake](err); !ok {
			t.Errorf("it says %v", err)
		}
		if s := a.fleet.Status(); s.Errors != 0 || !s.Reached || a.fleet.Reached() == nil {
			t.Errorf("the store is taken for lost: %+v", s)
		}
		// The longest that are kept can be rotated and revoked, whatever is said of that.
		for len(terms.Models) > 0 && err != nil {
			terms.Models = terms.Models[1:]
			_, _, err = a.keys.Create(t.Context(), terms, "test")
		}
		why := strings.Repeat("<", identity.MaxReason)
		for range 2 {
			if _, _, err := a.keys.Rotate(t.Context(), "wide", time.Hour, why, why); err != nil {
				t.Errorf("it cannot be rotated: %v", err)
			}
		}
		if _, err := a.keys.Revoke(t.Context(), "wide", why, why); err != nil {
			t.Errorf("it cannot be revoked: %v", err)
		}
	}))
}

// R64: without the store nothing is made or changed, and what is known goes on. An instance that starts then knows no key, and says so; once the store
// is back it knows them.
func TestKeysWithoutTheStore(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		reached(a)
		_, key := a.makeKey(t, "night")
		a.line.set(func(l *line) { l.err = errDown })
		time.Sleep(2 * interval)
		if _, _, err := a.keys.Create(t.Context(), identity.Principal{Name: "other"}, ""); !errors.Is(err, replica.ErrUnreached) {
			t.Errorf("a key is made: %v", err)
		}
		if _, err := a.keys.Revoke(t.Context(), "night", "", ""); !errors.Is(err, replica.ErrUnreached) {
			t.Errorf("a key is revoked: %v", err)
		}
		if a.let(key) != identity.Welcome || len(a.book.Records()) != 1 {
			t.Error("what is known is not used")
		}
		b := join(t, at, "b", setup{line: func(l *line) { l.err = errDown }})
		if v := b.let(key); v != identity.Unread {
			t.Errorf("at the start, without the store: %v", v)
		}
		for _, i := range []*instance{a, b} {
			i.line.set(func(l *line) { l.err = nil })
		}
		time.Sleep(2 * interval)
		if v := b.let(key); v != identity.Welcome {
			t.Errorf("with the store again: %v", v)
		}
		if _, err := a.keys.Revoke(t.Context(), "night", "", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if v := b.let(key); v != identity.Unknown {
			t.Errorf("revoked: %v", v)
		}
	}))
}

// What the store lost it is given again, and what has long been over is let go of.
func TestKeysOutliveTheirStore(t *testing.T) {
	t.Run("", inBubble(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		reached(a)
		_, key := a.makeKey(t, "night")
		gone, _ := a.makeKey(t, "gone")
		if _, err := a.keys.Revoke(t.Context(), "gone", "", ""); err != nil {
			t.Fatal(err)
		}
		a.fleet.Stop(context.Background())
		b := join(t, at, "b", setup{}) // the next process
		reached(b)
		if b.let(key) != identity.Welcome || len(b.book.Records()) != 2 {
			t.Error("a restart loses keys")
		}
		other := memory.New(time.Now)
		defer other.Close()
		b.line.set(func(l *line) { l.Store = other.Peer() }) // emptied
		time.Sleep(40 * interval)
		c := join(t, other, "c", setup{})
		reached(c)
		if c.let(key) != identity.Welcome {
			t.Error("the store was not given again what it had lost")
		}
		b.fleet.Stop(context.Background())
		c.fleet.Stop(context.Background())
		w := join(t, other, "w", setup{skew: 2 * 401 * 24 * time.Hour}) // its clock is wrong, the store's is not
		time.Sleep(40 * interval)
		if _, ok := w.book.Record(gone.ID); !ok {
			t.Error("an instance whose clock is years ahead forgets keys")
		}
		w.fleet.Stop(context.Background())
		time.Sleep(401 * 24 * time.Hour)
		d, e := join(t, other, "d", setup{}), join(t, other, "e", setup{})
		time.Sleep(40 * interval)
		for _, i := range []*instance{d, e} {
			if _, ok := i.book.Record(gone.ID); ok || i.let(key) != identity.Welcome {
				t.Errorf("%s still has what was over a year ago, or not what is in use", i.id)
			}
		}
	}))
}

// inBubble is withStore in virtual time.
func inBubble(what func(t *testing.T, at *memory.Store)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, withStore(what)) }
}
