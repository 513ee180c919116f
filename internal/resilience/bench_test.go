package resilience

import (
	"fmt"
	"testing"
	"time"

	"evergate/internal/fault"
)

// request is the healthy path of one attempt.
func request(m *Machine, now time.Time, eff []Effect) []Effect {
	_, eff = m.Check(now, 0, "gpt-4o-mini", eff)
	i, _, _, eff := m.Pick(now, "gpt-4o-mini", nil, 0.3, eff)
	p, _, eff := m.Admit(now, i, "gpt-4o-mini", now.Add(time.Minute), false, eff)
	return m.Settle(now, p, Outcome{Success: true}, 0.3, eff)
}

// loaded is a machine with three credentials and some models locked.
func loaded(strategy KeyStrategy, locked int) *Machine {
	m := New(Defaults(), strategy, pool("a", "b", "c"))
	for i := range locked {
		p, _, _ := m.Admit(epoch, 0, fmt.Sprint("missing-", i), epoch, false, nil)
		m.Settle(epoch, p, of(fault.ModelMissing), 0, nil)
	}
	return m
}

func TestHealthyPathAllocatesNothing(t *testing.T) {
	for _, strategy := range []KeyStrategy{RoundRobin, FillFirst, Weighted, LeastUsed} {
		for _, locked := range []int{0, 10} {
			m, now := loaded(strategy, locked), epoch
			if n := testing.AllocsPerRun(1000, func() {
				now = now.Add(time.Millisecond)
				if eff := request(m, now, nil); eff != nil {
					t.Fatal(eff)
				}
			}); n != 0 {
				t.Errorf("strategy %d, %d locked: %v allocations", strategy, locked, n)
			}
		}
	}
}

// R34, R35: nor does it with a breaker for each model, or on a ramp.
func TestScopesAllocateNothing(t *testing.T) {
	for _, scope := range []Scope{PerProvider, PerModel, Auto} {
		r := ramped(t, scope)
		now := r.now
		request(r.m, now, nil)                  // its model's breaker is made
		request(r.m, now, make([]Effect, 0, 4)) // and all is settled
		if n := testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Millisecond)
			if eff := request(r.m, now, nil); eff != nil {
				t.Fatal(eff)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", scope, n)
		}
	}
}

// A blocked provider is skipped without garbage too.
func TestBlockedPathAllocatesNothing(t *testing.T) {
	r := opened(t, nil, pool("a", "b")...)
	skip := func(i int) bool { return i == 0 }
	if n := testing.AllocsPerRun(1000, func() {
		if b, _ := r.m.Check(r.now, 0, "m", nil); !b.Blocked() {
			t.Fatal("free")
		}
		if _, _, ok, _ := r.m.Pick(r.now, "m", skip, 0, nil); ok {
			t.Fatal("picked")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, locked := range []int{0, 10} {
		b.Run(fmt.Sprintf("locked=%d", locked), func(b *testing.B) {
			m, now := loaded(RoundRobin, locked), epoch
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Microsecond)
				request(m, now, nil)
			}
		})
	}
}

func BenchmarkSkipOpen(b *testing.B) {
	m := New(Defaults(), RoundRobin, pool("a", "b", "c"))
	for range 5 {
		p, _, _ := m.Admit(epoch, 0, "m", epoch, false, nil)
		m.Settle(epoch, p, bad, 0, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Pick(epoch, "m", nil, 0.3, nil)
	}
}

func BenchmarkLatencyAdd(b *testing.B) {
	var l Latency
	b.ReportAllocs()
	for b.Loop() {
		l.Add(480*time.Millisecond, 500*time.Millisecond, 2*time.Second)
	}
}
