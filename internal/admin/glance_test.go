package admin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// However many pages are open, no more than a tenth of the time is spent on the overview; one that is made quickly is always new, a
// failure is not remembered, and neither are windows without number.
func TestOverviewsThatTakeLongAreShownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lookout
		made := 0
		look := func(window, takes time.Duration, err error) {
			_, got := l.look(t.Context(), window, func(context.Context) (*overview, error) {
				made++
				time.Sleep(takes)
				return &overview{}, err
			})
			if !errors.Is(got, err) {
				t.Error(got)
			}
		}
		after := func(what string, want int) { equal(t, what, made, want) }
		look(time.Hour, 100*time.Millisecond, nil)
		look(time.Hour, 100*time.Millisecond, nil)
		after("at once", 1)
		look(2*time.Hour, 0, nil)
		look(2*time.Hour, 0, nil)
		after("another window, and one that takes no time", 3)
		time.Sleep(time.Second)
		look(time.Hour, 9*time.Second, nil)
		after("after ten times as long", 4)
		time.Sleep(oldest)
		look(time.Hour, 0, errors.ErrUnsupported)
		look(time.Hour, 0, nil)
		after("after a failure", 6)
		for n := range 100 {
			look(time.Duration(n)*24*time.Hour, time.Second, nil)
		}
		if len(l.seen) > glances {
			t.Errorf("%d are remembered", len(l.seen))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.look(ctx, time.Minute, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("for whoever has gone: %v", err)
		}
	})
}
