package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/replica"
)

// calls are the methods that do their work and return.
func calls(s replica.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Beat":    func(ctx context.Context) error { _, err := s.Beat(ctx, replica.Member{ID: "a1"}); return err },
		"Members": func(ctx context.Context) error { _, err := s.Members(ctx); return err },
		"Put":     func(ctx context.Context) error { return s.Put(ctx, []replica.Page{page("a1", "k", 1, "x")}) },
		"Read":    func(ctx context.Context) error { _, err := s.Read(ctx, guards, time.Time{}, 0); return err },
		"Drop":    func(ctx context.Context) error { return s.Drop(ctx, "a1") },
		"Claim":   func(ctx context.Context) error { _, err := s.Claim(ctx, "lease", "a1", time.Minute); return err },
		"Yield":   func(ctx context.Context) error { return s.Yield(ctx, "lease", "a1") },
	}
}

var contextTests = []test{
	{name: "a context that was cancelled", run: func(t *trial) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range calls(t.store) {
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want context.Canceled", name, err)
			}
		}
		t.unharmed()
	}},
	{name: "a deadline that has passed", run: func(t *trial) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for name, call := range calls(t.store) {
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want context.DeadlineExceeded", name, err)
			}
		}
		t.unharmed()
	}},
	{name: "contexts that end in the middle", run: func(t *trial) {
		// Whenever it is cut off, a put is whole or not there, or at least says that it failed; and the next calls work.
		pages := make([]replica.Page, 50)
		for round := range 30 {
			sequence := uint64(round + 1)
			for i := range pages {
				pages[i] = page("a1", fmt.Sprintf("k%02d", i), sequence, "0123456789abcdef")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*100*time.Microsecond)
			err := t.store.Put(ctx, pages)
			cancel()
			if err != nil {
				continue
			}
			for _, p := range t.read(guards, time.Time{}, 0) {
				if p.Sequence != sequence {
					t.Fatalf("round %d said that all stands: %s", round, tell([]replica.Page{p}))
				}
			}
		}
		t.unharmed()
	}},
}

// unharmed checks that the store still works.
func (t *trial) unharmed() {
	t.Helper()
	t.put(replica.Page{Instance: "a1", Topic: "unharmed", Key: "k", Sequence: 1, Body: []byte("x")})
	if got := t.only("unharmed"); string(got.Body) != "x" {
		t.Errorf("got %s", tell([]replica.Page{got}))
	}
}

var concurrentTests = []test{
	{name: "putting, reading, beating and claiming at once", run: func(t *trial) {
		const workers = 8
		peer := t.peer()
		ctx := t.ctx()
		failed := make(chan error, 1000)
		fail := func(err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		}
		var wg sync.WaitGroup
		for w := range workers {
			s := []replica.Store{t.store, peer}[w%2]
			wg.Go(func() {
				self := fmt.Sprint("i", w)
				for round := range t.Rounds {
					sequence := uint64(round + 1)
					fail(s.Put(ctx, []replica.Page{page(self, "own", sequence, self), page("", "everyone's", sequence*workers+uint64(w), self)}))
					_, err := s.Beat(ctx, replica.Member{ID: self})
					fail(err)
					pages, err := s.Read(ctx, guards, time.Time{}, 0)
					fail(err)
					if !hasOwn(pages, self, sequence) {
						fail(fmt.Errorf("%s does not read the page %d that it just put", self, sequence))
					}
					_, err = s.Claim(ctx, "lease", self, time.Second)
					fail(err)
					fail(s.Yield(ctx, "lease", self))
					_, err = s.Members(ctx)
					fail(err)
				}
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		if got := len(t.members()); got != workers {
			t.Errorf("%d members", got)
		}
		pages := t.read(guards, time.Time{}, 0)
		if len(pages) != workers+1 {
			t.Errorf("pages: %s", tell(pages))
		}
		for _, p := range pages {
			if want := uint64(t.Rounds*workers + workers - 1); p.Instance == "" && p.Sequence != want {
				t.Errorf("of everyone's page %d stands, want the highest, %d", p.Sequence, want)
			}
		}
	}},
	{name: "a lease is never held twice", run: func(t *trial) {
		const workers = 8
		peer := t.peer()
		ctx := t.ctx()
		var took, holding atomic.Int64
		failed := make(chan error, 10)
		var wg sync.WaitGroup
		for w := range workers {
			s, other := []replica.Store{t.store, peer}[w%2], []replica.Store{peer, t.store}[w%2]
			wg.Go(func() {
				self := fmt.Sprint("i", w)
				for range t.Rounds {
					got, err := s.Claim(ctx, "lease", self, time.Minute)
					if err == nil && got {
						took.Add(1)
						if n := holding.Add(1); n > 1 {
							err = fmt.Errorf("%d hold it", n)
						}
						taken, trying := other.Claim(ctx, "lease", "nobody", time.Minute)
						if taken {
							err = errors.Join(err, errors.New("it was taken from its holder"))
						}
						holding.Add(-1)
						err = errors.Join(err, trying, s.Yield(ctx, "lease", self))
					}
					if err != nil {
						select {
						case failed <- err:
						default:
						}
					}
				}
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		if took.Load() == 0 {
			t.Error("nobody ever had it")
		}
	}},
}

func hasOwn(pages []replica.Page, instance string, sequence uint64) bool {
	for _, p := range pages {
		if p.Instance == instance && p.Sequence == sequence {
			return true
		}
	}
	return false
}

var closeTests = []test{
	{name: "calls after it are errors", run: func(t *trial) {
		if err := t.store.Close(); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls(t.store) {
			if err := call(t.ctx()); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if err := t.store.Watch(t.ctx(), func() {}, func(replica.Page) {}); err == nil {
			t.Error("Watch: no error")
		}
	}},
	{name: "twice is nothing", run: func(t *trial) {
		for range 2 {
			if err := t.store.Close(); err != nil {
				t.Error(err)
			}
		}
	}},
	{name: "a watch ends with an error", run: func(t *trial) {
		w := t.watch(t.store)
		if err := t.store.Close(); err != nil {
			t.Fatal(err)
		}
		timer := time.NewTimer(bound)
		defer timer.Stop()
		select {
		case err := <-w.ended:
			w.ended <- err
			if err == nil {
				t.Error("it ended without an error, as if its context had ended")
			}
		case <-timer.C:
			t.Error("it goes on")
		}
	}},
	{name: "peers go on", run: func(t *trial) {
		if t.Peer == nil {
			t.Skip("this store has one handle")
		}
		peer := t.peer()
		t.put(page("a1", "k", 1, "x"))
		if err := t.store.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := peer.Read(t.ctx(), guards, time.Time{}, 0); err != nil || len(got) != 1 {
			t.Errorf("got %s, %v", tell(got), err)
		}
		t.putTo(peer, page("b2", "k", 1, "x"))
	}},
}
