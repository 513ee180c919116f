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

// An answer that a client deleted at one instance is forgotten by the others: with the round in which it is told, or if that goes unheard,
// within twelve.
func TestDeletionsReachMemories(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"heard": 7 * time.Second, "unheard": 13 * 6 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				enter := func(id string) (*threads.Store, *line) {
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
				one, _ := enter("one")
				two, to := enter("two")
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
