package health

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// facts keeps guard transitions; it calls back into the provider to prove that no lock is held while facts are told.
type facts struct {
	journal.Nothing
	mu     sync.Mutex
	p      *Provider
	guards []journal.Guard
	orders []journal.Order
}

func (f *facts) BreakerOperated(o *journal.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, *o)
}

func (f *facts) GuardChanged(g *journal.Guard) {
	if f.p != nil {
		f.p.ConsecutiveFailures()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.guards = append(f.guards, *g)
}

func config(name string, keys ...string) Config {
	c := Config{Name: name, Settings: resilience.Defaults()}
	for i, k := range keys {
		c.Credentials = append(c.Credentials, resilience.Credential{Name: k, Identity: uint64(i + 1)})
	}
	return c
}

func fail(t *testing.T, p *Provider, class fault.Class) {
	t.Helper()
	now := time.Now()
	permit, b := p.Admit(now, 0, "m", now.Add(time.Minute), false)
	if b.Blocked() {
		t.Fatalf("blocked: %+v", b)
	}
	permit.Settle(now, resilience.Outcome{Class: class}, Measured{})
}

// R20, guideline 18: the transition is told after the lock is gone, once.
func TestTransitionIsToldWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &facts{}
		h := New(f)
		h.Apply([]Config{config("a", "k1")})
		f.p = h.Provider("a")
		for range 5 {
			fail(t, f.p, fault.Upstream)
		}
		if len(f.guards) != 1 || f.guards[0].To != "open" || f.guards[0].Provider != "a" || f.guards[0].Trip != "failures" {
			t.Fatalf("facts %+v, want one: a opened", f.guards)
		}
	})
}

// Configuration changes keep state by name; what is no longer named is gone, and old permits still settle.
func TestApplyKeepsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&facts{})
		h.Apply([]Config{config("a", "k1", "k2"), config("b")})
		p := h.Provider("a")
		fail(t, p, fault.Upstream)
		now := time.Now()
		permit, _ := p.Admit(now, 1, "m", now.Add(time.Minute), false)
		h.Apply([]Config{config("a", "k1"), config("c")})
		if h.Provider("a") != p || h.Provider("b") != nil || h.Provider("c") == nil {
			t.Fatal("providers after Apply are not a (the same) and c")
		}
		if n := p.ConsecutiveFailures(); n != 1 {
			t.Fatalf("consecutive failures %d, want 1 kept", n)
		}
		permit.Settle(now, resilience.Outcome{Class: fault.RateLimited}, Measured{}) // of k2, which is gone
		s := p.Snapshot(now)
		if len(s.Guards.Credentials) != 1 || s.Guards.Credentials[0].Name != "k1" || s.Guards.Credentials[0].State != "ok" {
			t.Fatalf("credentials %+v", s.Guards.Credentials)
		}
		if s.InFlight != 0 {
			t.Errorf("in flight %d", s.InFlight)
		}
	})
}

// R13: the limit after which a client that leaves tells on the provider.
func TestSilentTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&facts{})
		h.Apply([]Config{config("a")})
		p := h.Provider("a")
		if got := p.SilentTooLong("m", time.Minute); got != 30*time.Second {
			t.Errorf("unmeasured: %s, want half the timeout", got)
		}
		if got := p.SilentTooLong("m", 4*time.Second); got != 10*time.Second {
			t.Errorf("unmeasured, short: %s, want 10 s at least", got)
		}
		if got := p.SilentTooLong("m", 0); got < 24*time.Hour {
			t.Errorf("unmeasured, no timeout: %s, want no limit", got)
		}
		for range 50 {
			now := time.Now()
			permit, _ := p.Admit(now, 0, "m", now.Add(time.Minute), false)
			permit.Settle(now, resilience.Outcome{Success: true}, Measured{FirstByte: 20 * time.Second, Total: 21 * time.Second})
		}
		if got := p.SilentTooLong("m", time.Minute); got < 40*time.Second || got > 60*time.Second {
			t.Errorf("measured: %s, want about 40 s", got)
		}
	})
}

// R53: 100 in the first 10 s; then a share of the last 10 s' requests plus 10/s.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&facts{})
		drawAll := func() int {
			n := 0
			for h.DrawRetry(time.Now(), 0.2) {
				n++
			}
			return n
		}
		for range 1000 {
			h.CountRequest(time.Now())
		}
		if n := drawAll(); n != 100 {
			t.Errorf("first 10 s: %d, want 100", n)
		}
		time.Sleep(30 * time.Second)
		if n := drawAll(); n != 100 {
			t.Errorf("idle: %d, want 10/s over 10 s", n)
		}
		time.Sleep(30 * time.Second)
		for range 10 {
			for range 50 {
				h.CountRequest(time.Now())
			}
			time.Sleep(time.Second)
		}
		if n := drawAll(); n < 190 || n > 200 {
			t.Errorf("50 requests/s: %d, want about 0.2 x 500 + 100", n)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	h := New(&facts{})
	h.Apply([]Config{config("a", "k1", "k2")})
	p := h.Provider("a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				now := time.Now()
				c, _, ok := p.Pick(now, "m", 0.5, func(int) bool { return false })
				if !ok {
					continue
				}
				permit, b := p.Admit(now, c, "m", now.Add(time.Second), false)
				if b.Blocked() {
					continue
				}
				permit.FirstContent(now)
				permit.Settle(now, resilience.Outcome{Success: i%2 == 0, Class: fault.ClientGone}, Measured{Total: time.Millisecond})
				p.Snapshot(now)
				h.CountRequest(now)
			}
		})
	}
	wg.Wait()
	if s := p.Snapshot(time.Now()); s.InFlight != 0 {
		t.Errorf("in flight %d after all settled", s.InFlight)
	}
}
