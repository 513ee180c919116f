package feed

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/ledger"
)

// shared is the ledger's store of a fleet, as far as it is asked here; the newest entry is the first.
type shared struct {
	ledger.Store
	asked atomic.Int64

	mu      sync.Mutex
	entries []ledger.Entry
	fails   bool
}

func (s *shared) Timeline(_ context.Context, q ledger.TimelineQuery) (page ledger.TimelinePage, err error) {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return page, errors.New("gone")
	}
	for i := range s.entries {
		if e := &s.entries[i]; q.Matches(e) {
			if len(page.Entries) == 2 { // so that there are pages
				page.Next = page.Entries[1].Row
				break
			}
			page.Entries = append(page.Entries, *e)
		}
	}
	return page, nil
}

func (s *shared) enter(n *ledger.Numbers, instance, guard string, ago time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now().Add(-ago)
	e := ledger.Entry{Row: n.Row(at), At: at, Instance: instance, Kind: ledger.EntryGuard, Guard: guard}
	i := 0
	for i < len(s.entries) && s.entries[i].Row > e.Row {
		i++
	}
	s.entries = append(s.entries[:i], append([]ledger.Entry{e}, s.entries[i:]...)...)
}

func (s *shared) fail(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = yes
}

// Who watches is told within a second of what others entered since, once each, in their order, also of what came late; not of what was before, nor of what this instance
// entered. Nobody is asked while nobody watches.
func TestOthersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := New("a"), &shared{}
		o := &Others{Feed: f, Instance: "a", Store: func() ledger.Store { return s }}
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()
		go o.Run(ctx)
		mine, theirs := ledger.NewNumbers("a"), ledger.NewNumbers("b")
		time.Sleep(time.Hour)
		if n := s.asked.Load(); n != 0 {
			t.Errorf("asked %d times, and nobody watches", n)
		}
		s.enter(theirs, "b", "before", time.Second)
		r, err := f.Read(All, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		told := func() string {
			t.Helper()
			time.Sleep(askOthers)
			synctest.Wait()
			events, _, err := r.Next(t.Context(), time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, e := range events {
				_, entry, err := e.Row()
				if err != nil {
					t.Fatal(err)
				}
				words = append(words, e.Kind.String()+":"+entry.Instance+":"+entry.Guard)
			}
			return strings.Join(words, " ")
		}
		if got := told(); got != "" {
			t.Errorf("at first %q", got)
		}
		for _, guard := range []string{"1", "2", "3", "4", "5"} {
			s.enter(theirs, "b", guard, 0)
			s.enter(mine, "a", guard, 0)
		}
		if got := told(); got != "guard:b:1 guard:b:2 guard:b:3 guard:b:4 guard:b:5" {
			t.Errorf("of others %q", got)
		}
		s.enter(theirs, "b", "late", lookBack-2*time.Second)
		s.enter(theirs, "b", "too late", lookBack+time.Second)
		if got := told(); got != "guard:b:late" {
			t.Errorf("of what came late %q", got)
		}
		s.fail(true)
		s.enter(theirs, "b", "lost", 0)
		if got := told(); got != "" {
			t.Errorf("of a store that fails %q", got)
		}
		s.fail(false)
		if got := told(); got != "guard:b:lost" {
			t.Errorf("afterwards %q", got)
		}
		for range 60 {
			if got := told(); got != "" {
				t.Errorf("again %q", got)
			}
		}
	})
}
