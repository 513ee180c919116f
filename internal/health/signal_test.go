package health

import (
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// R50: what routing is told of a model: its pace, its tokens, its provider's requests in flight, keys and recent failures.
func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(nil)
		h.Apply([]Config{{Name: "p", Settings: resilience.Defaults()}})
		p, now := h.Provider("p"), time.Now()
		if s := p.Signal(now, "m"); s != (route.Signal{Health: 1, Headroom: 1}) {
			t.Errorf("at the start: %+v", s)
		}
		for _, m := range []Measured{{FirstContent: time.Second, Input: 100, Cached: 100, Output: 10}, {FirstContent: 2 * time.Second, Input: 100, Output: 30}, {FirstContent: 3 * time.Second}} {
			permit, _ := p.Admit(now, 0, "m", now.Add(time.Minute), false)
			permit.Settle(now, resilience.Outcome{Success: true}, m)
		}
		permit, _ := p.Admit(now, 0, "m", now.Add(time.Minute), false)
		permit.Settle(now, resilience.Outcome{Class: fault.Upstream}, Measured{})
		_, _ = p.Admit(now, 0, "n", now.Add(time.Minute), false)
		if s := p.Signal(now, "m"); s != (route.Signal{FirstContent: 2 * time.Second, InFlight: 1, Health: 0.8, Headroom: 1, Output: 20, CachedShare: 0.5}) {
			t.Errorf("later: %+v", s)
		}
	})
}

func TestSignalAllocatesNothing(t *testing.T) {
	h := New(nil)
	h.Apply([]Config{{Name: "p", Settings: resilience.Defaults()}})
	p, now := h.Provider("p"), time.Now()
	if n := testing.AllocsPerRun(100, func() { p.Signal(now, "m") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSignal(b *testing.B) {
	h := New(nil)
	h.Apply([]Config{{Name: "p", Settings: resilience.Defaults(), Credentials: []resilience.Credential{{Name: "a"}, {Name: "b"}}}})
	p, now := h.Provider("p"), time.Now()
	permit, _ := p.Admit(now, 0, "m", now.Add(time.Minute), false)
	permit.Settle(now, resilience.Outcome{Success: true}, Measured{FirstContent: time.Second, Output: 3})
	b.ReportAllocs()
	for b.Loop() {
		p.Signal(now, "m")
	}
}
