package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestFleetHears opens breakers and rests keys at one instance of three, each in its turn, and takes from the logs when the others had it:
// R61. No later request of theirs goes there.
func TestFleetHears(t *testing.T) {
	eachServer(t, func(t *testing.T, s *stateServer) {
		opened, rested := rounds(60, 300), rounds(30, 200)
		f := newFleet(t, s.url(s.addr), "5s", quick("10m"), herd{kind: "open", n: opened}, herd{kind: "rest", n: rested})
		f.joinAll(t, 3)
		var lags []time.Duration
		for i := range opened {
			lags = append(lags, f.spread(t, i, "circuit_breaker", fmt.Sprintf("open-%d", i), "open", failing, "good")...)
		}
		heardWithin(t, "a breaker that one opened is open at the others", opened, lags)
		lags = nil
		for i := range rested {
			name := fmt.Sprintf("rest-%d", i)
			lags = append(lags, f.spread(t, i, "credential_cooldown", name, "blocked", refusing, name)...)
			for _, a := range f.up.got(name)[1:] {
				if a.key == f.up.got(name)[0].key {
					t.Fatalf("the key that %s refused was used again by %s", name, a.who)
				}
			}
		}
		heardWithin(t, "a key that one rests is left alone by the others", rested, lags)
	})
}

// spread has one request of the i-th instance move a guard of a provider, and gives how much later each of the others has heard of it. Requests
// for the same model are answered by one provider alone.
func (f *fleet) spread(t *testing.T, i int, guard, provider, to string, m mood, by string) (lags []time.Duration) {
	t.Helper()
	first := i % len(f.all)
	marks := make([]int, len(f.all))
	for k, g := range f.all {
		marks[k] = g.out.size()
	}
	f.up.set(provider, m)
	f.mustAsk(t, f.all[first], provider, by)
	own := f.all[first].moved(t, marks[first], guard, provider, to)
	if own.Heard {
		t.Fatalf("%s says that it heard of what it saw: %+v", f.all[first].url, own)
	}
	for k, g := range f.all {
		if k == first {
			continue
		}
		heard := g.moved(t, marks[k], guard, provider, to)
		if !heard.Heard {
			t.Fatalf("%s says that it saw what it heard of: %+v", g.url, heard)
		}
		lags = append(lags, heard.Time.Sub(own.Time))
		before := len(f.up.got(provider))
		f.mustAsk(t, g, provider, by)
		if after := len(f.up.got(provider)); guard == "circuit_breaker" && after != before {
			t.Fatalf("%s was asked by %s, which had heard that its breaker is open", provider, g.url)
		}
	}
	return lags
}

// heardWithin holds R61's 100 ms at the 99th percentile, with five-fold room for a machine that does other things as well.
func heardWithin(t *testing.T, what string, n int, lags []time.Duration) {
	t.Helper()
	t.Logf("%s, %d transitions: %s", what, n, shown(lags))
	if p99 := quantile(lags, 0.99); p99 > 500*time.Millisecond {
		t.Errorf("%s: %v later at the 99th percentile; 100 ms is right", what, p99)
	}
}

// TestFleetProbesOnce keeps three instances under traffic while a provider is down: at the end of each open period one request goes there,
// not three (R66). When it is back, each instance closes its breaker by a request of its own, and one without traffic does not (R62).
func TestFleetProbesOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, s *stateServer) {
		const period = 2 * time.Second
		f := newFleet(t, s.url(s.addr), "500ms", quick(period.String()), herd{kind: "sick", n: 1})
		f.joinAll(t, 3)
		f.up.set("sick-0", failing)
		f.mustAsk(t, f.all[0], "sick-0", "good")
		for _, g := range f.all {
			g.believes(t, "sick-0", "open", 10*time.Second)
		}
		quit := make([]func(), len(f.all))
		for k, g := range f.all {
			quit[k] = f.keepAsking(t, g, "sick-0")
		}
		f.probesOnce(t, period, rounds(3, 20))
		quit[2]()
		f.closesByItself(t)
	})
}

// keepAsking has a client ask an instance until quit is called.
func (f *fleet) keepAsking(t *testing.T, g *gateway, model string) (quit func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := f.ask(g, model, g.url); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	quit = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	t.Cleanup(quit)
	return quit
}

// probesOnce counts what reaches a provider that is down, over some open periods.
func (f *fleet) probesOnce(t *testing.T, period time.Duration, periods int) {
	t.Helper()
	eventually(t, time.Duration(periods+5)*2*period, func() error {
		if n := len(f.up.got("sick-0")); n <= periods {
			return fmt.Errorf("only %d probes yet", n-1)
		}
		return nil
	})
	probes := f.up.got("sick-0") // and what opened the breaker
	twice, last := 0, probes[0].at
	for _, p := range probes[1:] {
		if p.at.Sub(last) < period/2 {
			twice++
		}
		last = p.at
	}
	n := len(probes) - 1
	t.Logf("%d probes of three instances in %d open periods, %v between two", n, n-twice, (last.Sub(probes[0].at) / time.Duration(n)).Round(time.Millisecond))
	if twice > 0 {
		t.Errorf("%d of %d probes went out although another had", twice, n)
	}
}

// closesByItself has the provider come back. The third instance has no traffic.
func (f *fleet) closesByItself(t *testing.T) {
	t.Helper()
	marks := make([]int, len(f.all))
	for k, g := range f.all {
		marks[k] = g.out.size()
	}
	f.up.set("sick-0", nil)
	var closed []time.Time
	for k, g := range f.all[:2] {
		m := g.moved(t, marks[k], "circuit_breaker", "sick-0", "closed")
		if m.Heard {
			t.Errorf("%s closed its breaker because another one did", g.url)
		}
		closed = append(closed, m.Time)
	}
	first := map[string]time.Time{}
	for _, a := range f.up.got("sick-0") {
		if first[a.who].IsZero() {
			first[a.who] = a.at
		}
	}
	for k, g := range f.all[:2] {
		if at := first[g.url]; at.IsZero() || closed[k].Add(time.Millisecond).Before(at) { // the log's times are of whole milliseconds
			t.Errorf("%s closed its breaker without a request of its own", g.url)
		}
	}
	idle := f.all[2]
	idle.believes(t, "sick-0", "half_open", 5*time.Second)
	if !first[idle.url].IsZero() {
		t.Errorf("%s has no traffic and asked all the same", idle.url)
	}
	f.mustAsk(t, idle, "sick-0", "sick-0")
	idle.believes(t, "sick-0", "closed", time.Second)
	t.Logf("back: the second instance closed %v after the first; one without traffic by its next request", closed[1].Sub(closed[0]).Abs().Round(time.Millisecond))
}
