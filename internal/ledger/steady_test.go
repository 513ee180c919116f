package ledger

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A clock that jumps is not trusted for a while, however often it jumps; one that goes a little astray is.
func TestSteady(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		name  string
		wall  func(minute int) time.Duration // the clock, since the start
		first int                            // minute in which it is trusted
		again int                            // and, after that, not any more
	}{
		{"it goes", func(m int) time.Duration { return time.Duration(m) * time.Minute }, 15, 0},
		{"it is slewed", func(m int) time.Duration { return time.Duration(m) * 65 * time.Second }, 15, 0},
		{"it jumps ten years and back", func(m int) time.Duration {
			if m >= 20 && m < 23 {
				return 87_600 * time.Hour
			}
			return time.Duration(m) * time.Minute
		}, 15, 20},
		{"it jumps back", func(m int) time.Duration {
			if m >= 5 {
				m -= 60
			}
			return time.Duration(m) * time.Minute
		}, 20, 0},
	} {
		var s steady
		first, again := 0, 0
		for m := range 36 {
			switch trusted := s.look(start.Add(c.wall(m)), time.Duration(m)*time.Minute); {
			case trusted && first == 0:
				first = m
			case !trusted && first > 0 && again == 0:
				again = m
			}
		}
		if first != c.first || again != c.again {
			t.Errorf("%s: trusted in minute %d, then not in minute %d; want %d and %d", c.name, first, again, c.first, c.again)
		}
	}
}

// watched is a store that says what it was asked to take away.
type watched struct {
	Store

	byNumber, all atomic.Int64
}

func (w *watched) Expire(_ context.Context, keep Retention) error {
	w.all.Add(1)
	if keep.ByNumber {
		w.byNumber.Add(1)
	}
	return nil
}

// Rows go for their age only by a clock that has gone for a while.
func TestExpireByASteadyClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &watched{}
		w := NewWriter(Options{Store: func() Store { return store }, Instance: "a1", Keep: func() Retention { return Retention{Age: time.Hour} }})
		w.Start()
		time.Sleep(time.Hour + time.Second)
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if by, all := store.byNumber.Load(), store.all.Load(); all != 60 || by != 14 {
			t.Errorf("%d of %d rounds were by number alone, want 14 of 60", by, all)
		}
	})
}
