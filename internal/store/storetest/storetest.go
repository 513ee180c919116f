package storetest

import (
	"context"
	"testing"
	"time"

	"evergate/internal/replica"
)

// Options say in what a store differs from others.
type Options struct {
	// Peer gives another handle to the same pages, as another instance of the fleet has; nil: the same handle is used twice.
	Peer func(t *testing.T, of replica.Store) replica.Store
	// Advance moves the store's clock on; nil: it is a real clock, and the suite waits.
	Advance func(d time.Duration)
	// Life is that of the leases whose end is waited for; 0: 300 ms.
	Life time.Duration
	// Soon is how long a watch may take to hear what was put; 0: 2 s.
	Soon time.Duration
	// Deaf says that a watch hears nothing: it only begins, and ends.
	Deaf bool
	// Rounds is how often each goroutine of the tests of concurrent use does its work; 0: 20.
	Rounds int
}

// Run holds a store to its promises. open gives one that is empty, for each call another; what it opens it closes when t
// ends (closing twice is allowed).
func Run(t *testing.T, open func(t *testing.T) replica.Store, options Options) {
	t.Helper()
	if options.Life == 0 {
		options.Life = 300 * time.Millisecond
	}
	if options.Soon == 0 {
		options.Soon = 2 * time.Second
	}
	if options.Rounds == 0 {
		options.Rounds = 20
	}
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"pages", pageTests},
		{"read", readTests},
		{"strings", stringTests},
		{"members", memberTests},
		{"drop", dropTests},
		{"watch", watchTests},
		{"leases", leaseTests},
		{"contexts", contextTests},
		{"concurrent", concurrentTests},
		{"close", closeTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					if c.hears && options.Deaf {
						t.Skip("this store's watch hears nothing")
					}
					c.run(&trial{T: t, store: open(t), Options: options})
				})
			}
		})
	}
}

// test is one promise.
type test struct {
	name  string
	run   func(t *trial)
	hears bool // it needs a watch that hears
}

// trial is one test of one store.
type trial struct {
	*testing.T
	Options
	store replica.Store
}

// bound is the longest that one call of a sound store may take here.
const bound = 20 * time.Second

func (t *trial) ctx() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// peer gives a second handle to the store's pages.
func (t *trial) peer() replica.Store {
	t.Helper()
	if t.Peer == nil {
		return t.store
	}
	return t.Peer(t.T, t.store)
}

// pass lets d go by on the store's clock.
func (t *trial) pass(d time.Duration) {
	t.Helper()
	if t.Advance != nil {
		t.Advance(d)
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test ended while it waited")
	}
}

// tick lets so much time go by that the next page has a later time.
func (t *trial) tick() { t.pass(3 * time.Millisecond) }

func (t *trial) put(pages ...replica.Page) {
	t.Helper()
	t.putTo(t.store, pages...)
}

func (t *trial) putTo(s replica.Store, pages ...replica.Page) {
	t.Helper()
	if err := s.Put(t.ctx(), pages); err != nil {
		t.Fatalf("put: %v", err)
	}
}

func (t *trial) read(topic replica.Topic, since time.Time, limit int) []replica.Page {
	t.Helper()
	pages, err := t.store.Read(t.ctx(), topic, since, limit)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return pages
}

// only gives the one page of a topic.
func (t *trial) only(topic replica.Topic) replica.Page {
	t.Helper()
	pages := t.read(topic, time.Time{}, 0)
	if len(pages) != 1 {
		t.Fatalf("%d pages instead of one: %s", len(pages), tell(pages))
	}
	return pages[0]
}

func (t *trial) beat(m replica.Member) time.Time {
	t.Helper()
	now, err := t.store.Beat(t.ctx(), m)
	if err != nil {
		t.Fatalf("beat: %v", err)
	}
	return now
}

func (t *trial) members() []replica.Member {
	t.Helper()
	members, err := t.store.Members(t.ctx())
	if err != nil {
		t.Fatalf("members: %v", err)
	}
	return members
}

func (t *trial) claim(s replica.Store, lease, holder string, life time.Duration) bool {
	t.Helper()
	got, err := s.Claim(t.ctx(), lease, holder, life)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return got
}

func (t *trial) yield(s replica.Store, lease, holder string) {
	t.Helper()
	if err := s.Yield(t.ctx(), lease, holder); err != nil {
		t.Fatalf("yield: %v", err)
	}
}
