package replica_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// three starts a fleet of three.
func three(t testing.TB, at *memory.Store, s setup) []*instance {
	t.Helper()
	var all []*instance
	for n := range 3 {
		all = append(all, join(t, at, fmt.Sprint("i", n), s))
	}
	time.Sleep(2 * interval)
	return all
}

// R61: what opens on one is honoured by the others within 100 ms.
func TestTransitionsAreHeardAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].open(t, "p")
		time.Sleep(soon)
		for _, i := range all {
			if got := i.p().state(); got != resilience.Open {
				t.Errorf("%s: the breaker is %v", i.id, got)
			}
		}
		time.Sleep(2 * time.Minute)
		all[1].p().try(limited)
		time.Sleep(soon)
		for _, i := range all {
			if c := i.p().view().Credentials[0]; c.Reason != resilience.RateLimited {
				t.Errorf("%s: the credential is %+v", i.id, c)
			}
		}
	}))
}

// R61, R63: with clocks that are wrong by ten minutes a block begins and ends for all at the same moment.
func TestSkewedClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		var all []*instance
		for n, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
			all = append(all, join(t, at, string(rune('a'+n)), setup{skew: skew}))
		}
		time.Sleep(2 * interval)
		for n, from := range all {
			from.open(t, "p")
			time.Sleep(soon)
			want := from.p().view().Breaker.RetryAt.Add(-from.skew)
			for _, i := range all {
				b := i.p().view().Breaker
				if d := b.RetryAt.Add(-i.skew).Sub(want).Abs(); b.State != resilience.Open || d > 5*time.Millisecond {
					t.Errorf("opened by %s: %s is %v, until %v later than it", from.id, i.id, b.State, d)
				}
			}
			time.Sleep(time.Minute)
			for _, i := range all {
				if !i.p().try(good) {
					t.Errorf("round %d: %s still blocks: %+v", n, i.id, i.p().view().Breaker)
				}
			}
			time.Sleep(time.Minute)
		}
	}))
}

// R61: what is no transition comes with the next round.
func TestCountsComeWithTheRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].p().try(failed)
		all[0].p().try(failed)
		time.Sleep(3 * interval)
		if got := all[1].p().view().Breaker.ConsecutiveFailures; got != 2 {
			t.Errorf("%d failures are known", got)
		}
		all[1].p().try(failed)
		if got := all[1].p().state(); got != resilience.Open {
			t.Errorf("the third failure of the fleet did not open the breaker: %v", got)
		}
	}))
}

// R62: each closes on its own evidence; a good answer elsewhere closes nothing.
func TestEachClosesOnItsOwnEvidence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].open(t, "p")
		time.Sleep(40 * time.Second)
		if !all[1].p().try(good) {
			t.Fatalf("no probe: %+v", all[1].p().view().Breaker)
		}
		time.Sleep(time.Minute)
		for n, want := range []resilience.State{resilience.HalfOpen, resilience.Closed, resilience.HalfOpen} {
			if got := all[n].p().state(); got != want {
				t.Errorf("%s is %v, want %v", all[n].id, got, want)
			}
		}
		for _, i := range all {
			i.p().try(good)
			if got := i.p().state(); got != resilience.Closed {
				t.Errorf("%s is %v after its own probe", i.id, got)
			}
		}
	}))
}

// R66: one probe goes out for the fleet; a bad one opens all again, a good one lets the others look for themselves at once.
func TestOneProbeForTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].open(t, "p")
		time.Sleep(soon)
		probes := func(o resilience.Outcome, within time.Duration) (asked []string) {
			for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				for _, i := range all {
					if i.p().try(o) {
						asked = append(asked, i.id)
					}
				}
				if len(asked) > 0 && o == good {
					return asked
				}
			}
			return asked
		}
		if asked := probes(failed, 25*time.Second); len(asked) != 1 {
			t.Errorf("%d requests probed a provider that is down: %v", len(asked), asked)
		}
		for _, i := range all {
			if got := i.p().state(); got != resilience.Open {
				t.Errorf("%s is %v after the bad probe of another", i.id, got)
			}
		}
		if asked := probes(good, 25*time.Second); len(asked) != 1 {
			t.Errorf("%d requests probed: %v", len(asked), asked)
		}
		time.Sleep(soon)
		for _, i := range all {
			if !i.p().try(good) || i.p().state() != resilience.Closed {
				t.Errorf("%s does not look for itself after a good probe: %+v", i.id, i.p().view().Breaker)
			}
		}
	}))
}

// R66: who holds the lease and has no traffic holds the others up for two intervals, no longer.
func TestALeaseHolderWithoutTraffic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].open(t, "p")
		time.Sleep(20*time.Second + 2*interval + time.Millisecond)
		for _, i := range all {
			if !i.p().try(good) {
				t.Errorf("%s still waits: %+v", i.id, i.p().view().Breaker)
			}
		}
	}))
}

// R60, R64, R66: without the store each goes on alone, and it is said once; with it again all is known again.
func TestStoreGoneAndBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		gone func(*line)
		word string
	}{
		{"stopped", func(l *line) { l.err = errDown }, "lost: connection refused"},
		{"mute", func(l *line) { l.mute = true }, "lost: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				all := three(t, at, setup{})
				for _, i := range all {
					i.line.set(c.gone)
				}
				time.Sleep(time.Minute)
				all[0].open(t, "p")
				time.Sleep(interval)
				if got := all[1].p().state(); got != resilience.Closed {
					t.Errorf("without the store the other is %v", got)
				}
				time.Sleep(time.Minute)
				if !all[0].p().try(failed) {
					t.Error("without the store nobody probes")
				}
				if s := all[0].fleet.Status(); s.Reached || s.Errors == 0 || s.Lag < time.Minute || s.Problem == "" {
					t.Errorf("without the store: %+v", s)
				}
				for _, i := range all {
					i.line.set(func(l *line) { l.err, l.mute = nil, false })
				}
				time.Sleep(3 * interval)
				if got := all[1].p().state(); got != resilience.Open {
					t.Errorf("with the store again the other is %v", got)
				}
				for _, i := range all {
					if got := strings.Join(i.stories(), "; "); got != "reached; "+c.word+"; reached" {
						t.Errorf("%s was told: %s", i.id, got)
					}
					if s := i.fleet.Status(); !s.Reached || s.Problem != "" || s.Lag > 2*interval {
						t.Errorf("%s: %+v", i.id, s)
					}
				}
			}))
		})
	}
}

// R64: a store that is slow by 5 s is of use all the same.
func TestSlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		for _, i := range all {
			i.line.set(func(l *line) { l.delay = 5 * time.Second })
		}
		time.Sleep(5 * time.Minute)
		all[0].open(t, "p")
		time.Sleep(12 * time.Second)
		if got := all[1].p().state(); got != resilience.Open {
			t.Errorf("the other is %v", got)
		}
		if s := all[0].fleet.Status(); !s.Reached {
			t.Errorf("%+v", s)
		}
	}))
}

// A store that lost everything without a word gets it again.
func TestStoreEmptied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := setup{settings: shortBreaker()}
		s.settings.Breaker.Timeout = time.Hour
		a := join(t, at, "a", s)
		time.Sleep(interval)
		a.open(t, "p")
		time.Sleep(interval)
		if err := at.Drop(context.Background(), "a"); err != nil { // all that is in it
			t.Fatal(err)
		}
		time.Sleep(20 * interval)
		b := join(t, at, "b", s)
		if got := b.p().state(); got != resilience.Open {
			t.Errorf("who came later is %v", got)
		}
	}))
}

// A provider that was taken away and comes back says what it has to say, though a page of it stands already.
func TestProviderGoneAndBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].p().try(failed)
		time.Sleep(2 * interval)
		all[0].apply(shortBreaker(), "q")
		all[0].apply(shortBreaker(), "p")
		time.Sleep(2 * interval)
		pages, err := at.Read(t.Context(), replica.Guards, time.Time{}, 0)
		if err != nil || len(pages) != 1 || len(pages[0].Body) != 0 {
			t.Errorf("the old page stands: %v %+v", err, pages)
		}
		all[0].open(t, "p")
		time.Sleep(soon)
		if got := all[1].p().state(); got != resilience.Open {
			t.Errorf("the other is %v", got)
		}
	}))
}

// A store that was restarted empty is full again within a round, though nothing new was seen.
func TestStoreRestartedEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := setup{settings: shortBreaker()}
		s.settings.Breaker.Timeout = time.Hour
		a := join(t, at, "a", s)
		time.Sleep(2 * interval)
		a.open(t, "p")
		time.Sleep(interval)
		a.line.set(func(l *line) { l.err = errDown })
		time.Sleep(2 * interval)
		if err := at.Drop(t.Context(), "a"); err != nil { // all that is in it
			t.Fatal(err)
		}
		a.line.set(func(l *line) { l.err = nil })
		time.Sleep(interval * 13 / 10)
		if got := join(t, at, "b", s).p().state(); got != resilience.Open {
			t.Errorf("who came later is %v", got)
		}
	}))
}

// Messages that get lost or come twice change nothing in the end (R61, R62).
func TestLossesAndDuplicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{line: func(l *line) { l.lose, l.twice = 0.7, 0.5 }})
		for round := range 5 {
			all[round%3].open(t, "p")
			time.Sleep(2 * interval)
			for _, i := range all {
				if got := i.p().state(); got != resilience.Open {
					t.Errorf("round %d: %s is %v", round, i.id, got)
				}
			}
			time.Sleep(time.Minute)
			for _, i := range all {
				if !i.p().try(good) {
					t.Errorf("round %d: %s still blocks", round, i.id)
				}
			}
			time.Sleep(interval)
		}
	}))
}

// R63: what a silent instance said is ignored, and dropped once it blocks nothing.
func TestSilentInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := setup{settings: shortBreaker()}
		s.settings.Breaker.Timeout = 5 * time.Minute
		dead := join(t, at, "dead", s)
		other := join(t, at, "other", s)
		dead.open(t, "p")
		time.Sleep(soon)
		if other.p().state() != resilience.Open {
			t.Fatal("it was not heard while it lived")
		}
		dead.line.set(func(l *line) { l.err = errDown })
		time.Sleep(90 * time.Second)
		late := join(t, at, "late", s) // a start honours what still blocks (R65) …
		if late.p().state() != resilience.Open {
			t.Errorf("a start within the block is %v", late.p().state())
		}
		late.apply(s.settings, "q")
		late.apply(s.settings, "p") // … one that runs, and to which the provider is new, does not take it
		time.Sleep(3 * interval)
		if late.p().state() != resilience.Closed {
			t.Error("a silent instance was believed")
		}
		silent := false
		for _, i := range other.fleet.Status().Instances {
			silent = silent || i.ID == "dead" && i.Silent
		}
		if !silent {
			t.Errorf("it is not shown as silent: %+v", other.fleet.Status().Instances)
		}
		time.Sleep(10 * time.Minute)
		if m, _ := at.Members(t.Context()); len(m) != 2 {
			t.Errorf("members: %+v", m)
		}
		p, err := at.Read(t.Context(), replica.Guards, time.Time{}, 0)
		if err != nil || slices.ContainsFunc(p, func(p replica.Page) bool { return p.Instance == "dead" }) {
			t.Errorf("pages: %+v, %v", p, err)
		}
	}))
}

// R65: a fleet of one that starts again within the block honours it, however it ended and however long it was down.
func TestRestartHonoursBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(*instance)
		down time.Duration
	}{
		{"stopped", func(i *instance) { i.fleet.Stop(context.Background()) }, time.Second},
		{"killed", func(i *instance) { i.line.set(func(l *line) { l.err = errDown }) }, time.Second},
		{"down for long", func(i *instance) { i.fleet.Stop(context.Background()) }, 20 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				quota := resilience.Outcome{Class: fault.Quota}
				first := join(t, at, "first", setup{})
				first.p().try(quota)
				time.Sleep(interval)
				c.end(first)
				time.Sleep(c.down)
				began := time.Now()
				second := join(t, at, "second", setup{})
				if took := time.Since(began); took > 200*time.Millisecond {
					t.Errorf("the start took %v", took)
				}
				if second.p().try(good) {
					t.Errorf("the quota's cooldown was not honoured: %+v", second.p().view().Credentials)
				}
				second.fleet.Stop(context.Background())
				time.Sleep(time.Minute)
				third := join(t, at, "third", setup{})
				if third.p().try(good) {
					t.Error("one start later it was forgotten")
				}
				time.Sleep(time.Hour)
				if !third.p().try(good) {
					t.Error("it never ends")
				}
				time.Sleep(5 * time.Minute)
				if m, _ := at.Members(t.Context()); len(m) != 1 {
					t.Errorf("members: %+v", m)
				}
			}))
		})
	}
}

// R65: a store that is mute holds a start up for 200 ms; what it says when it speaks is taken then.
func TestStartWithMuteStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		first := join(t, at, "first", setup{})
		first.p().try(resilience.Outcome{Class: fault.Quota})
		time.Sleep(interval)
		first.fleet.Stop(context.Background())
		began := time.Now()
		second := join(t, at, "second", setup{line: func(l *line) { l.mute = true }})
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("the start took %v", took)
		}
		time.Sleep(time.Minute)
		second.line.set(func(l *line) { l.mute = false })
		time.Sleep(3 * interval)
		if second.p().try(good) {
			t.Error("what the store said later was not taken")
		}
	}))
}

// Two gateways with other upstreams under one name do not mix.
func TestAnotherProviderOfThatName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		a, b := join(t, at, "a", setup{}), join(t, at, "b", setup{})
		b.fleet.Apply([]replica.Provider{{Name: "p", Of: "elsewhere", Guards: b.p().Provider}})
		time.Sleep(interval)
		a.open(t, "p")
		time.Sleep(3 * interval)
		if got := b.p().state(); got != resilience.Closed {
			t.Errorf("rows of another provider were taken: %v", got)
		}
	}))
}
