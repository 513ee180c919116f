package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// calm is the phase of a load in which nothing is wrong with the store.
const calm = "calm"

// crowd is clients that ask all instances of a fleet, each one its own, and note by the phase in which they asked how long they waited.
type crowd struct {
	f       *fleet
	clients sync.WaitGroup
	stop    chan struct{}

	mu     sync.Mutex
	phase  string
	took   map[string][]time.Duration
	failed map[*gateway][]string
}

// under starts n clients for each instance, of models whose first provider may be unwell.
func (f *fleet) under(t *testing.T, n int, models ...string) *crowd {
	t.Helper()
	l := &crowd{f: f, stop: make(chan struct{}), phase: "warm", took: map[string][]time.Duration{}, failed: map[*gateway][]string{}}
	for _, g := range f.all {
		for range n {
			l.clients.Go(func() { l.run(g, models) })
		}
	}
	t.Cleanup(l.end)
	return l
}

func (l *crowd) run(g *gateway, models []string) {
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(10*time.Millisecond + rand.N(20*time.Millisecond)):
		}
		l.mu.Lock()
		phase := l.phase
		l.mu.Unlock()
		start := time.Now()
		_, err := l.f.send(g, models[rand.N(len(models))], g.url, rand.N(3) == 0)
		took := time.Since(start)
		l.mu.Lock()
		if err != nil {
			l.failed[g] = append(l.failed[g], fmt.Sprintf("%s, after %v: %v", phase, took, err))
		} else {
			l.took[phase] = append(l.took[phase], took)
		}
		l.mu.Unlock()
	}
}

// enter begins a phase.
func (l *crowd) enter(phase string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = phase
	if _, known := l.took[phase]; !known {
		l.took[phase] = nil // so that it is missed if nobody asks in it
	}
}

// end stops the clients and waits for them.
func (l *crowd) end() {
	l.mu.Lock()
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.mu.Unlock()
	l.clients.Wait()
}

// failures are the requests that failed at all instances but one.
func (l *crowd) failures(but *gateway) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for g, failed := range l.failed {
		if g != but {
			all = append(all, failed...)
		}
	}
	return all
}

// judge holds R60: no request failed, and none waited for the store. Clients and gateways share a machine with everything else, so what
// they wait for without a fault gets five-fold room; whoever waited for a store would wait for seconds.
func (l *crowd) judge(t *testing.T, but *gateway) {
	t.Helper()
	l.end()
	if failed := l.failures(but); len(failed) > 0 {
		t.Errorf("%d requests failed, the first of them %s", len(failed), failed[0])
	}
	most, longest := 5*quantile(l.took[calm], 0.99)+5*time.Millisecond, max(5*quantile(l.took[calm], 1), time.Second)
	for _, phase := range slices.Sorted(maps.Keys(l.took)) {
		all := l.took[phase]
		t.Logf("%-32s %5d requests: %s", phase, len(all), shown(all))
		share := min(0.99, 1-2/float64(max(len(all), 2))) // of few requests the slowest is no percentile: it is held below
		if p99 := quantile(all, share); p99 > most && phase != "warm" {
			t.Errorf("%s: clients waited %v at the 99th percentile, more than %v", phase, p99, most)
		}
		if worst := quantile(all, 1); worst > longest && phase != "warm" {
			t.Errorf("%s: a client waited %v", phase, worst)
		}
		if len(all) == 0 {
			t.Errorf("%s: no request", phase)
		}
	}
}
