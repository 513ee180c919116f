package health

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// R31: an order is told as a transition and as a fact of its own, without the lock; a refused one is not told at all.
func TestOperate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &facts{}
		h := New(f)
		h.Apply([]Config{config("a", "k1")})
		p := h.Provider("a")
		f.p = p
		now := time.Now()
		order := resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", Until: now.Add(time.Hour)}
		if err := p.Operate(now, order, "10.0.0.9"); err != nil {
			t.Fatal(err)
		}
		want := []journal.Order{{At: now, Provider: "a", Action: "open", Reason: "maintenance", By: "10.0.0.9", Until: order.Until}}
		if d := cmp.Diff(want, f.orders); d != "" {
			t.Error(d)
		}
		if len(f.guards) != 1 || f.guards[0].To != "open" || f.guards[0].Trip != "operator" || f.guards[0].Reason != "operator_open" {
			t.Errorf("%+v", f.guards)
		}
		if _, b := p.Admit(now, 0, "m", time.Time{}, true); !b.Forbids() {
			t.Errorf("%+v", b)
		}
		h.Apply([]Config{config("a", "k1")}) // a reload
		order.By, order.At = "10.0.0.9", now
		if s := p.Snapshot(now); s.Guards.Breaker.Order != order {
			t.Errorf("%+v", s.Guards.Breaker)
		}
		order.Model = "m"
		if err := p.Operate(now, order, "x"); !errors.Is(err, resilience.ErrOneBreaker) || len(f.orders) != 1 {
			t.Errorf("%v, %d orders", err, len(f.orders))
		}
	})
}

// R33: a permit is settled once; the second time moves nothing and is counted.
func TestSettledTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&facts{})
		h.Apply([]Config{config("a", "k1")})
		p, now := h.Provider("a"), time.Now()
		permit, _ := p.Admit(now, 0, "m", now.Add(time.Minute), false)
		for want := range 3 {
			if before := permit.Settle(now, resilience.Outcome{Class: fault.Upstream}, Measured{}); before != min(want, 1) {
				t.Errorf("before the %dth: %d", want, before)
			}
		}
		if s := p.Snapshot(now); s.InFlight != 0 || s.SettledTwice != 2 || s.Guards.Breaker.FailuresTotal != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// R34, R35: when a model's traffic came back; R52(a): the count that an attempt met.
func TestClosedAtAndCountOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(&facts{})
		c := config("a", "k1")
		c.Settings.Breaker.Scope = resilience.PerModel
		h.Apply([]Config{c})
		p := h.Provider("a")
		for range 5 {
			fail(t, p, fault.Upstream)
		}
		if at := p.ClosedAt("m"); !at.IsZero() {
			t.Error(at)
		}
		time.Sleep(30 * time.Second)
		now := time.Now()
		permit, b := p.Admit(now, 0, "m", now.Add(time.Minute), false)
		if before := permit.Settle(now, resilience.Outcome{Success: true}, Measured{}); before != 5 || b.Blocked() {
			t.Errorf("%d %+v", before, b)
		}
		if at := p.ClosedAt("m"); !at.Equal(now) {
			t.Error(at)
		}
		if n := testing.AllocsPerRun(100, func() { p.ClosedAt("m") }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		permit, _ = p.Admit(now, 0, "x", now.Add(time.Minute), false)
		if before := permit.Settle(now, resilience.Outcome{Success: true}, Measured{}); before != 0 {
			t.Errorf("another model's count: %d", before)
		}
	})
}
