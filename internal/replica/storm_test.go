package replica_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// weighed counts the bytes that are put.
type weighed struct {
	replica.Store
	bytes atomic.Int64
}

func (w *weighed) Put(ctx context.Context, pages []replica.Page) error {
	for i := range pages {
		w.bytes.Add(int64(len(pages[i].Body)))
	}
	return w.Store.Put(ctx, pages)
}

// R61: where models are locked out one by one, each transition is a new version of a page that grows. What is put for that is bounded, and all is
// heard soon all the same.
func TestAStormOfTransitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		w := &weighed{}
		a := join(t, at, "a", setup{line: func(l *line) { w.Store = l.Store; l.Store = w }})
		b := join(t, at, "b", setup{})
		time.Sleep(2 * interval)
		const models = 1000
		began, before := time.Now(), w.bytes.Load()
		for n := range models {
			now := a.now()
			p, blocked := a.p().Admit(now, 0, fmt.Sprint("a-model-with-a-name-", n), now.Add(time.Minute), false)
			if blocked.Blocked() {
				t.Fatalf("%+v", blocked)
			}
			p.Settle(now, resilience.Outcome{Class: fault.ModelLimited, Wait: fault.Wait{For: time.Hour, Named: true}}, health.Measured{})
			time.Sleep(5 * time.Millisecond)
		}
		if rate := float64(w.bytes.Load()-before) / time.Since(began).Seconds(); rate > 3<<20 {
			t.Errorf("%.1f MB were put a second", rate/1e6)
		}
		time.Sleep(soon)
		if got := len(b.p().view().Lockouts); got != models {
			t.Errorf("%d of %d lockouts were heard", got, models)
		}
	}))
}
