package replica_test

import (
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/store/memory"
)

// R64: that nothing is told, since a pooler stands before the store, is no failure of the store: rounds find everything, and it is tried again ever more seldom.
func TestDeaf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		b := join(t, at, "b", setup{line: func(l *line) { l.deaf = true }})
		time.Sleep(2 * time.Hour)
		if s := b.fleet.Status(); s.Errors != 0 || !s.Reached {
			t.Errorf("two hours of hearing nothing are %d errors, reached: %v", s.Errors, s.Reached)
		}
		asked := 0
		b.line.set(func(l *line) { asked = l.asked })
		if asked < 20 || asked > 50 {
			t.Errorf("it tried to hear %d times in two hours", asked)
		}
		for range 3 {
			a.p().try(failed)
		}
		time.Sleep(2 * interval)
		if b.p().state() != a.p().state() {
			t.Errorf("two rounds later it believes %v, the other has seen %v", b.p().state(), a.p().state())
		}
		b.line.set(func(l *line) { l.deaf = false })
		time.Sleep(6 * time.Minute)
		b.line.set(func(l *line) { l.err = errDown })
		time.Sleep(time.Second)
		if s := b.fleet.Status(); s.Errors == 0 {
			t.Error("a watch that breaks is not counted")
		}
	}))
}
