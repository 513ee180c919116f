package memory_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/memory"
	"evergate/internal/store/storetest"
)

// clock is a clock that goes on by itself by a little with each look, and by more when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestContract(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	storetest.Run(t, func(t *testing.T) replica.Store {
		s := memory.New(c.Now)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}, storetest.Options{
		Peer: func(t *testing.T, of replica.Store) replica.Store {
			s := of.(*memory.Store).Peer()
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
		Advance: c.Advance,
		Rounds:  200,
	})
}

// TestInABubble has a fleet of three in virtual time: leases end, and watches hear at the very moment.
func TestInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := memory.New(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var heard []string
		var watching sync.WaitGroup
		for i := range 3 {
			watching.Go(func() {
				if err := first.Peer().Watch(ctx, func() {}, func(p replica.Page) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, fmt.Sprint(i, p.Key, p.At.Equal(time.Now())))
				}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		if err := first.Put(ctx, []replica.Page{{Key: "k", Sequence: 1}}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(heard) != 3 {
			t.Errorf("heard %v", heard)
		}
		if ok, err := first.Claim(ctx, "lease", "a", time.Minute); !ok || err != nil {
			t.Error(ok, err)
		}
		time.Sleep(time.Minute - 1)
		if ok, _ := first.Claim(ctx, "lease", "b", time.Minute); ok {
			t.Error("taken before its end")
		}
		time.Sleep(time.Nanosecond)
		if ok, _ := first.Claim(ctx, "lease", "b", time.Minute); !ok {
			t.Error("not free at its end")
		}
		stop()
		watching.Wait()
	})
}

// TestASlowWatcherHoldsNoMoreThanTheStore: of one page put a thousand times while a watcher hears another, it hears the last version.
func TestASlowWatcherHoldsNoMoreThanTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		hold := make(chan struct{})
		var heard []uint64
		done := make(chan error, 1)
		go func() {
			done <- s.Watch(ctx, func() {}, func(p replica.Page) {
				heard = append(heard, p.Sequence)
				<-hold
			})
		}()
		synctest.Wait()
		for i := range uint64(1000) {
			if err := s.Put(ctx, []replica.Page{{Key: "k", Sequence: i + 1}}); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				synctest.Wait()
			}
		}
		close(hold)
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(heard) != 2 || heard[0] != 1 || heard[1] != 1000 {
			t.Errorf("heard %v", heard)
		}
	})
}
