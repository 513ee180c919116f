package replica_test

import (
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// R63: what an instance said that was taken for silent counts once it shows that it lives, though it says nothing new: its store may only have been slow.
func TestASilentInstanceThatIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := setup{settings: shortBreaker()}
		s.settings.Breaker.Timeout = 30 * time.Minute
		silent := join(t, at, "silent", s)
		silent.open(t, "p")
		time.Sleep(soon)
		silent.line.set(func(l *line) { l.err = errDown })
		time.Sleep(90 * time.Second)
		other := join(t, at, "other", s)
		other.apply(s.settings, "q")
		other.apply(s.settings, "p") // what it took at its start is gone
		time.Sleep(2 * interval)
		if other.p().state() != resilience.Closed {
			t.Fatal("a silent instance was believed")
		}
		silent.line.set(func(l *line) { l.err = nil })
		time.Sleep(4 * interval)
		if other.p().state() != resilience.Open {
			t.Error("it lives and is not believed")
		}
	}))
}
