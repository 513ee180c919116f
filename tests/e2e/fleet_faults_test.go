package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// storeFault is what is done to a store while clients ask.
type storeFault struct {
	name       string
	begin, end func()
	// deaf: while it lasts no instance hears of another.
	deaf bool
	// lasts is how long it does; 0: as long as the others.
	lasts time.Duration
	// newcomer: an instance that starts after it knows what the others saw before.
	newcomer bool
}

// TestFleetOutlivesStore does everything to a store that can happen to one, while clients ask three instances for models of which one is
// unwell, so that breakers open and close all the time. No request fails or waits (R60), what one instance saw meanwhile the others know once the
// store is back (R64), and the log says once that it was lost.
func TestFleetOutlivesStore(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		sideBySide(t)
		outlive(t, redisState(t, servers.StartRedis))
	})
	t.Run("postgres", func(t *testing.T) {
		sideBySide(t)
		s, p := postgresState(t)
		standby := p.Standby()
		second := servers.StartProxy(t, standby.Addr())
		outlive(t, &stateServer{
			name: s.name, addr: s.addr, url: func(addr string) string { return s.url(addr + "," + second.Addr) },
			kill: s.kill, start: s.start, pause: s.pause, resume: s.resume, wipe: s.wipe, empty: s.empty,
		}, storeFault{name: "failed over to another address", deaf: true, begin: p.Kill, end: standby.Promote})
	})
}

func outlive(t *testing.T, s *stateServer, more ...storeFault) {
	t.Helper()
	proxy := servers.StartProxy(t, s.addr)
	faults := []storeFault{
		{name: "stopped and started", deaf: true, begin: s.kill, end: s.start},
		{name: "paused", deaf: true, begin: s.pause, end: s.resume, lasts: lasting(4*time.Second, 10*time.Second)},
		{name: "restarted empty", begin: s.wipe, end: func() {}, newcomer: true},
		{name: "slow by 5 s", begin: func() { proxy.Delay(2500 * time.Millisecond) }, end: func() { proxy.Delay(0) }, lasts: lasting(8*time.Second, 30*time.Second)},
		{
			name: "cut in the middle of a push", end: func() { proxy.Ration(nil) },
			begin: func() { proxy.Ration(func() int64 { return rand.Int64N(2000) }) },
		},
		{name: "network cut", deaf: true, begin: proxy.Shut, end: func() { proxy.Lead(s.addr) }},
	}
	if rounds(0, 1) > 0 { // what stands in the store is put there again in every twelfth round
		faults = append(faults, storeFault{name: "emptied without a word", begin: s.empty, end: func() {}, lasts: 15 * time.Second, newcomer: true})
	}
	if s.fill != nil {
		faults = append(faults, storeFault{name: "out of memory", deaf: true, begin: s.fill, end: s.free})
	}
	faults = append(faults, more...)
	const rest = "resilience: { retry: { max_retries: 0 }, cooldown: { failures: 0 }, circuit_breaker: { failure_threshold: 1, timeout: 300ms } }\n"
	f := newFleet(t, s.url(proxy.Addr), "1s", rest, herd{kind: "shaky", n: 2},
		herd{kind: "late", n: len(faults), more: ", resilience: { circuit_breaker: { timeout: 1h } }"},
		herd{kind: "early", n: len(faults), more: ", resilience: { circuit_breaker: { timeout: 1h } }"})
	f.joinAll(t, 3)
	for _, name := range []string{"shaky-0", "shaky-1"} {
		f.up.set(name, shaky)
	}
	l := f.under(t, 2, "shaky-0", "shaky-1", "good")
	time.Sleep(lasting(time.Second, 3*time.Second))
	for i := range faults {
		l.enter(calm)
		time.Sleep(lasting(time.Second, 5*time.Second))
		f.outliveOne(t, l, i, &faults[i])
	}
	l.judge(t, nil)
	for _, g := range f.all {
		if v := g.sees(t); v.State.Errors == 0 {
			t.Errorf("%s counts no error of its store", g.url)
		}
	}
	first := f.all[0].out.String()
	lost, back := strings.Count(first, `"msg":"state store not reached`), strings.Count(first, `"msg":"state store reached"`)
	t.Logf("%d faults; one instance's log says %d times that the store is lost, %d times that it is reached, and counts %d errors",
		len(faults), lost, back, f.all[0].sees(t).State.Errors)
	if lost > 2*len(faults) || back > 2*len(faults)+1 { // while connections are cut all the time it may be reached in between
		t.Error("the log says it more than once")
	}
	for _, secret := range []string{servers.Password, "late-0-a"} {
		if strings.Contains(first, secret) {
			t.Errorf("the log shows %s", secret)
		}
	}
}

// outliveOne is the i-th fault. Before it one instance opens the breaker of early-i, during it that of late-i.
func (f *fleet) outliveOne(t *testing.T, l *crowd, i int, fault *storeFault) {
	t.Helper()
	early, late := fmt.Sprintf("early-%d", i), fmt.Sprintf("late-%d", i)
	f.up.set(early, failing)
	f.up.set(late, failing)
	f.mustAsk(t, f.all[0], early, "good")
	for _, g := range f.all {
		g.believes(t, early, "open", 20*time.Second)
	}
	lasts := fault.lasts
	if lasts == 0 {
		lasts = lasting(3*time.Second, 10*time.Second)
	}
	l.enter(fault.name)
	began := time.Now()
	fault.begin()
	time.Sleep(lasts / 2)
	f.mustAsk(t, f.all[1], late, "good")
	if fault.deaf {
		if state := f.all[2].sees(t).Providers[late].Breaker.State; state != "closed" {
			t.Errorf("%s: the breaker of %s is %s at an instance that nobody can have told", fault.name, late, state)
		}
	}
	time.Sleep(time.Until(began.Add(lasts)))
	fault.end()
	ended := time.Now()
	l.enter(calm)
	for _, g := range f.all {
		g.believes(t, late, "open", 40*time.Second)
		g.believes(t, early, "open", 0)
	}
	caughtUp := time.Since(ended)
	for _, g := range f.all {
		eventually(t, 30*time.Second, func() error {
			if v := g.sees(t); !v.State.Reached {
				return fmt.Errorf("%s does not reach its store: %s", g.url, v.State.Message)
			}
			return nil
		})
	}
	t.Logf("%s: caught up %v after its end", fault.name, caughtUp.Round(time.Millisecond))
	if !fault.newcomer {
		return
	}
	all := f.all
	g := f.join(t)
	f.all = all
	g.believes(t, early, "open", 10*time.Second)
	g.believes(t, late, "open", 10*time.Second)
	g.kill()
}
