package replica_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// R60 to R66 in bad weather: stores that fail, hang, are slow, forget and lose messages, machines whose clocks are wrong, processes that
// are killed and start again, a provider that comes and goes. Whatever happened, nobody is held back for longer than an open time and what a
// lease may cost, and when the weather is over the fleet is one again.
func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
				rnd := rand.New(rand.NewPCG(seed, 1))
				start := func(name string) *instance {
					skew := time.Duration(rnd.Int64N(int64(20*time.Minute))) - 10*time.Minute
					return join(t, at, name, setup{skew: skew, line: func(l *line) { l.lose, l.twice = 0.3*rnd.Float64(), 0.3*rnd.Float64() }})
				}
				all := []*instance{start("a0"), start("b0"), start("c0")}
				well, passed := true, make([]time.Time, len(all))
				for n := range passed {
					passed[n] = time.Now()
				}
				for step := range 1500 { // of 200 ms
					time.Sleep(200 * time.Millisecond)
					n := rnd.IntN(len(all))
					switch rnd.IntN(60) {
					case 0:
						all[n].line.set(func(l *line) { l.err = errDown })
					case 1:
						all[n].line.set(func(l *line) { l.mute = true })
					case 2:
						all[n].line.set(func(l *line) { l.delay = time.Duration(rnd.Int64N(int64(5 * time.Second))) })
					case 3, 4, 5:
						all[n].line.set(func(l *line) { l.err, l.mute, l.delay = nil, false, 0 })
					case 6:
						for _, i := range all { // the store forgets all of its pages and members
							_ = at.Drop(context.Background(), i.id)
						}
					case 7:
						if rnd.IntN(2) == 0 { // killed, else stopped
							all[n].line.set(func(l *line) { l.err = errDown })
						}
						all[n].fleet.Stop(context.Background())
						all[n] = start(fmt.Sprint(string(rune('a'+n)), step+1))
						passed[n] = time.Now()
					case 8:
						if rnd.IntN(5) == 0 {
							well = !well
						}
					}
					for n, i := range all {
						answer := good
						if !well {
							answer, passed[n] = failed, time.Now()
						}
						if i.p().try(answer) {
							passed[n] = time.Now()
						}
						if waited := time.Since(passed[n]); waited > 31*time.Second { // 20 s, and 10 s for a lease
							t.Fatalf("step %d: %s is held back for %v: %+v", step, i.id, waited, i.p().view().Breaker)
						}
					}
				}
				for _, i := range all {
					i.line.set(func(l *line) { l.err, l.mute, l.delay, l.lose, l.twice = nil, false, 0, 0, 0 })
				}
				for range 300 {
					time.Sleep(200 * time.Millisecond)
					for _, i := range all {
						i.p().try(good)
					}
				}
				for _, i := range all {
					if got := i.p().state(); got != resilience.Closed || !i.fleet.Status().Reached {
						t.Errorf("in fair weather %s is %v: %+v", i.id, got, i.fleet.Status())
					}
				}
				all[0].open(t, "p")
				time.Sleep(soon)
				for _, i := range all {
					if got := i.p().state(); got != resilience.Open {
						t.Errorf("in fair weather %s does not hear: %v", i.id, got)
					}
				}
			}))
		})
	}
}

// What a transition costs the request that it happens on: a mark, and nothing that is allocated or waited for.
func TestMovedIsAMark(t *testing.T) {
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		i := join(t, at, "a", setup{line: func(l *line) { l.mute = true }})
		began := time.Now()
		if n := testing.AllocsPerRun(1000, func() { i.fleet.Moved("p"); i.fleet.Moved("unknown") }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it waited %v", took)
		}
	}))
}
