package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

// shelf is a store that a test can take away.
type shelf struct {
	Store // nil: only what is below is called

	mu      sync.Mutex
	batches [][]string // the ids of each
	entries int
	err     error
	poison  []string // ids that it never takes
	hang    bool
	expired int
	writes  int
	refuses func(writes int) bool // nil: nothing
}

func (s *shelf) Write(ctx context.Context, b Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hang {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return ctx.Err()
	}
	if s.writes++; s.refuses != nil && s.refuses(s.writes) {
		return errors.New("not now")
	}
	if s.err != nil {
		return s.err
	}
	var ids []string
	if err := b.Each(func(r *Request) error {
		if slices.Contains(s.poison, r.ID) {
			return errors.New("this row cannot be kept")
		}
		ids = append(ids, r.ID)
		return nil
	}); err != nil {
		return err
	}
	slices.Reverse(ids)
	s.batches, s.entries = append(s.batches, ids), s.entries+len(b.Entries)
	return nil
}

func (s *shelf) Expire(context.Context, Retention) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired++
	return nil
}

func (s *shelf) set(change func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *shelf) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, id := range slices.Concat(s.batches...) {
		if id == "" || !slices.Contains(all, id) { // a row that is written twice is there once
			all = append(all, id)
		}
	}
	return all
}

func numberedFact(n int) *journal.Request {
	f := benchFact()
	f.ID = fmt.Sprintf("r%d", n)
	return f
}

// written runs a test of a writer in a bubble.
func written(t *testing.T, test func(t *testing.T, w *Writer, s *shelf)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{}
		w := NewWriter(Options{Store: func() Store { return s }, Instance: "a1"})
		w.Start()
		test(t, w, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = w.Stop(ctx)
	})
}

func TestWriterBatches(t *testing.T) {
	t.Run("a single row is there after 200 ms", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			w.RequestEnded(numberedFact(1))
			time.Sleep(batchAfter - time.Millisecond)
			if n := len(s.ids()); n != 0 {
				t.Errorf("%d rows before its time", n)
			}
			time.Sleep(2 * time.Millisecond)
			if got := s.ids(); len(got) != 1 || got[0] != "r1" {
				t.Errorf("%v", got)
			}
			if st := w.Stats(); st != (Stats{Written: 1}) {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("many rows are written in large batches, in their order", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			for i := range 1200 {
				w.RequestEnded(numberedFact(i))
			}
			time.Sleep(time.Second)
			got := s.ids()
			if len(got) != 1200 || got[0] != "r0" || got[1199] != "r1199" || len(s.batches) != 3 || len(s.batches[0]) != batchRows {
				t.Errorf("%d rows in %d batches", len(got), len(s.batches))
			}
		})
	})
	t.Run("a flush waits for no time", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			begin := time.Now()
			for i := range 700 {
				w.RequestEnded(numberedFact(i))
			}
			w.GuardChanged(&journal.Guard{At: time.Now(), Provider: "groq", Guard: "circuit_breaker", From: "closed", To: "open"})
			if err := w.Flush(t.Context()); err != nil || len(s.ids()) != 700 || s.entries != 1 {
				t.Errorf("%d rows, %d entries, %v", len(s.ids()), s.entries, err)
			}
			if d := time.Since(begin); d != 0 {
				t.Errorf("it took %v", d)
			}
		})
	})
}

func TestWriterOutlivesItsStore(t *testing.T) {
	t.Run("what is written while the store is lost comes later", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.err = errors.New("gone") })
			for i := range 100 {
				w.RequestEnded(numberedFact(i))
			}
			time.Sleep(10 * time.Minute)
			s.set(func(s *shelf) { s.err = nil })
			time.Sleep(2 * retryAfter)
			if got := s.ids(); len(got) != 100 || w.Stats().Dropped != 0 {
				t.Errorf("%d rows, %+v", len(got), w.Stats())
			}
		})
	})
	t.Run("what is too much goes, the oldest first, and is counted", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.hang = true })
			w.RequestEnded(numberedFact(0))
			time.Sleep(time.Second) // it is in the hands of the writer
			for i := range maxWaiting + 100 {
				w.RequestEnded(numberedFact(i + 1))
			}
			if st := w.Stats(); st.Dropped != 100 || st.Waiting != maxWaiting {
				t.Errorf("%+v", st)
			}
			s.set(func(s *shelf) { s.hang = false })
			time.Sleep(time.Minute)
			got := s.ids()
			if len(got) != maxWaiting+1 || got[0] != "r0" || got[1] != "r101" || w.Stats().Dropped != 100 {
				t.Errorf("%d rows from %v on, %+v", len(got), got[:2], w.Stats())
			}
		})
	})
	t.Run("large rows are bounded by their bytes", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.hang = true })
			f := numberedFact(1)
			for i := range 200 {
				f.Trail = append(f.Trail, f.Trail[0])
				f.Trail[i].Message = strings.Repeat("x", maxMessage)
			}
			for range 1000 {
				w.RequestEnded(f)
			}
			if _, n := w.queue.waiting(); n > maxWaitingBytes || n < maxWaitingBytes/2 || w.Stats().Dropped == 0 {
				t.Errorf("%d bytes wait, %+v", n, w.Stats())
			}
		})
	})
	t.Run("a row that cannot be kept does not hold the others", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.poison = []string{"r3"} })
			for i := range 10 {
				w.RequestEnded(numberedFact(i))
			}
			time.Sleep(time.Minute)
			if got := s.ids(); len(got) != 9 || slices.Contains(got, "r3") || w.Stats() != (Stats{Written: 9, Dropped: 1}) {
				t.Errorf("%v, %+v", got, w.Stats())
			}
		})
	})
	t.Run("many rows, or large ones, have the old ones taken away at once", func(t *testing.T) {
		for _, c := range []struct{ steps, rows, want int }{{0, expireRows - 100, 0}, {0, expireRows, 1}, {200, 300, 0}, {200, 600, 1}} {
			written(t, func(t *testing.T, w *Writer, s *shelf) {
				f := numberedFact(1)
				for range c.steps {
					f.Trail = append(f.Trail, f.Trail[0])
					f.Trail[len(f.Trail)-1].Message = strings.Repeat("x", maxMessage)
				}
				for range c.rows {
					w.RequestEnded(f)
					if _, n := w.queue.waiting(); n > maxWaitingBytes/2 {
						_ = w.Flush(t.Context())
					}
				}
				_ = w.Flush(t.Context())
				synctest.Wait()
				if s.expired != c.want {
					t.Errorf("%+v: %d times", c, s.expired)
				}
			})
		}
	})
	t.Run("a row that comes alone and cannot be kept does not hold the later ones", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.poison = []string{"r0"} })
			w.RequestEnded(numberedFact(0))
			time.Sleep(time.Minute)
			if st := w.Stats(); st != (Stats{}) {
				t.Errorf("%+v: nobody knows yet whose fault it is", st)
			}
			w.RequestEnded(numberedFact(1))
			time.Sleep(time.Minute)
			if got := s.ids(); !slices.Contains(got, "r1") || w.Stats() != (Stats{Written: 1, Dropped: 1}) {
				t.Errorf("%v, %+v", got, w.Stats())
			}
		})
	})
	t.Run("many that cannot be kept do not hold those behind them", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			for i := range 60 {
				if i < 50 {
					s.set(func(s *shelf) { s.poison = append(s.poison, fmt.Sprintf("r%d", i)) })
				}
				w.RequestEnded(numberedFact(i))
			}
			time.Sleep(2 * time.Minute)
			if st := w.Stats(); st != (Stats{Written: 10, Dropped: 50}) {
				t.Errorf("%+v", st)
			}
		})
	})
	t.Run("a store that comes and goes costs no row", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			begin, want := time.Now(), map[string]bool{}
			s.set(func(s *shelf) {
				s.refuses = func(writes int) bool { return writes%7 != 0 && time.Since(begin) < 20*time.Second } // one call of seven is heard
			})
			for i := range 40 {
				w.RequestEnded(numberedFact(i))
				want[fmt.Sprintf("r%d", i)] = true
			}
			time.Sleep(time.Minute)
			for _, id := range s.ids() {
				delete(want, id)
			}
			if st := w.Stats(); len(want) != 0 || st.Written != 40 || st.Dropped != 0 {
				t.Errorf("%d rows are lost, %+v", len(want), st)
			}
		})
	})
	t.Run("what is written is let go of while a store comes and goes", func(t *testing.T) {
		written(t, func(t *testing.T, w *Writer, s *shelf) {
			s.set(func(s *shelf) { s.refuses = func(writes int) bool { return writes%7 != 0 } })
			most := 0
			for n := range 120 {
				for i := range 400 {
					w.RequestEnded(numberedFact(400*n + i))
				}
				time.Sleep(time.Second)
				w.queue.mu.Lock()
				most = max(most, len(w.queue.taken))
				w.queue.mu.Unlock()
			}
			if st := w.Stats(); most > batchRows || st.Written < 1000 {
				t.Errorf("%d rows are held as being written, %+v", most, st)
			}
			s.set(func(s *shelf) { s.refuses = nil })
			time.Sleep(time.Minute)
		})
	})
	t.Run("a stop gives up in its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &shelf{hang: true}
			w := NewWriter(Options{Store: func() Store { return s }, Instance: "a1"})
			w.Start()
			for i := range 100 {
				w.RequestEnded(numberedFact(i))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			begin := time.Now()
			if err := w.Stop(ctx); err == nil {
				t.Error("it says that all was written")
			}
			w.RequestEnded(numberedFact(100))
			if d := time.Since(begin); d > 2*time.Second || w.Stats() != (Stats{Dropped: 101}) {
				t.Errorf("after %v %+v", d, w.Stats())
			}
		})
	})
}

func TestWriterTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		s := &shelf{}
		var reached atomic.Bool
		w := NewWriter(Options{Instance: "a1", Store: func() Store {
			if !reached.Load() {
				return nil
			}
			return s
		}, Told: func(err error) { told = append(told, fmt.Sprint(err)) }})
		w.Start()
		w.RequestEnded(numberedFact(1))
		time.Sleep(5 * time.Second) // others say that a store is not reached
		reached.Store(true)
		s.set(func(s *shelf) { s.err = errors.New("disk full") })
		time.Sleep(time.Minute)
		s.set(func(s *shelf) { s.err = nil })
		time.Sleep(time.Minute)
		_ = w.Stop(t.Context())
		if want := []string{"disk full", "<nil>"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if s.expired == 0 {
			t.Error("nothing expires")
		}
	})
}

// What others of the fleet did they enter themselves.
func TestWriterEntersWhatItDid(t *testing.T) {
	written(t, func(t *testing.T, w *Writer, s *shelf) {
		at := time.Now()
		w.GuardChanged(&journal.Guard{At: at, Heard: true})
		w.BreakerOperated(&journal.Order{At: at, Heard: true})
		w.Changed(&journal.Change{At: at, Heard: true})
		w.MirrorEnded(&journal.Mirror{Start: at, Outcome: "dropped"}) // went nowhere
		if err := w.Flush(t.Context()); err != nil || s.entries != 0 || len(s.ids()) != 0 {
			t.Errorf("%d entries, %d rows, %v", s.entries, len(s.ids()), err)
		}
		w.GuardChanged(&journal.Guard{At: at})
		w.BreakerOperated(&journal.Order{At: at})
		w.Changed(&journal.Change{At: at})
		w.DiscoveryChanged(&journal.Discovery{At: at})
		w.ProbeEnded(&journal.Probe{At: at})
		w.ProbeEnded(&journal.Probe{At: at, Model: "m"})
		w.MirrorEnded(&journal.Mirror{Start: at, Credential: "default"})
		w.AttemptEnded(&journal.Attempt{})
		if err := w.Flush(t.Context()); err != nil || s.entries != 6 || len(s.ids()) != 2 {
			t.Errorf("%d entries, %d rows, %v", s.entries, len(s.ids()), err)
		}
	})
}

// A fact allocates nothing once the queue has rows to use again.
func TestFactAllocatesNothing(t *testing.T) {
	w := NewWriter(Options{Store: func() Store { return nil }, Instance: "a1"})
	f := benchFact()
	for range maxWaiting {
		w.RequestEnded(f)
	}
	if n := testing.AllocsPerRun(1000, func() { w.RequestEnded(f) }); n > 0.5 { // a collection may empty the pool
		t.Errorf("%v allocations", n)
	}
}
