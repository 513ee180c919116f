package replica_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/replica"
	"evergate/internal/store/memory"
	"evergate/internal/threads"
)

// Who deletes thousands at once has all of them forgotten with the next round.
func TestManyDeletionsReachMemories(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"short": "r", "long": strings.Repeat("\x00", 400)} { // of the long ones few are in a page
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				most := map[string]int{"short": 4000, "long": 400}[name]
				one, _ := remembering(t, at, "one")
				two, _ := remembering(t, at, "two")
				time.Sleep(10 * time.Second)
				for i := range most {
					two.Put(time.Now(), "ci", &threads.Answer{ID: fmt.Sprint(id, i)})
					one.Delete(time.Now(), "ci", fmt.Sprint(id, i))
				}
				time.Sleep(7 * time.Second)
				left := 0
				for i := range most {
					if _, ok := two.Get(time.Now(), nil, "ci", fmt.Sprint(id, i)); ok {
						left++
					}
				}
				if left > 0 {
					t.Errorf("%d of %d are remembered", left, most)
				}
				two.Put(time.Now(), "ci", &threads.Answer{ID: "last"})
				one.Delete(time.Now(), "ci", "last")
				time.Sleep(7 * time.Second)
				if _, ok := two.Get(time.Now(), nil, "ci", "last"); ok {
					t.Error("the last one is remembered")
				}
			}))
		})
	}
}

// remembering is an instance that has answers in memory.
func remembering(t *testing.T, at *memory.Store, id string) (*threads.Store, *line) {
	t.Helper()
	s, l := threads.New(threads.DefaultLimits()), &line{Store: at.Peer(), cut: make(chan struct{})}
	s.Archive(func() threads.Archive { return nil })
	f := replica.New(replica.Options{
		Open: func(context.Context) (replica.Store, error) { return l, nil },
		Self: replica.Member{ID: id, Started: time.Now()}, Interval: interval, Answers: s,
	})
	f.Start(t.Context())
	t.Cleanup(func() { f.Stop(context.Background()); s.Stop(context.Background()) })
	return s, l
}

// An answer that a client deleted at one instance is forgotten by the others: with the round in which it is told, or if that goes unheard,
// within twelve.
func TestDeletionsReachMemories(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"heard": 7 * time.Second, "unheard": 13 * 6 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				one, _ := remembering(t, at, "one")
				two, to := remembering(t, at, "two")
				time.Sleep(10 * time.Second)
				if name == "unheard" {
					to.set(func(l *line) { l.lose = 1 })
				}
				for i := range 1000 {
					id := fmt.Sprint("r", i, strings.Repeat("\x00", 100)) // JSON takes six bytes for each
					two.Put(time.Now(), "ci", &threads.Answer{ID: id})
					two.Put(time.Now(), "other", &threads.Answer{ID: id})
					if i >= 900 {
						one.Delete(time.Now(), "ci", id)
					}
				}
				time.Sleep(within)
				for i := range 1000 {
					id := fmt.Sprint("r", i, strings.Repeat("\x00", 100))
					if _, ok := two.Get(time.Now(), nil, "ci", id); ok != (i < 900) {
						t.Fatalf("%d: there %v", i, ok)
					}
					if _, ok := two.Get(time.Now(), nil, "other", id); !ok {
						t.Fatalf("%d: another's was forgotten", i)
					}
				}
			}))
		})
	}
}
