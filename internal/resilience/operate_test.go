package resilience

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

func (r *rig) operate(o Order) {
	r.t.Helper()
	eff, err := r.m.Operate(r.now, o, r.eff)
	if r.eff = eff; err != nil {
		r.t.Fatal(err)
	}
}

// R31
func TestForceOpen(t *testing.T) {
	order := Order{Action: ForceOpen, Reason: "maintenance"}
	t.Run("nobody passes, not even R51", func(t *testing.T) {
		r := newRig(t, nil)
		r.operate(order)
		b, _ := r.m.Check(r.now, 0, "m", nil)
		if want := (Block{Guard: CircuitBreaker, Reason: OperatorOpen}); b != want || !b.Forbids() {
			t.Errorf("%+v", b)
		}
		if p, b := r.try(0, "m", true); b.Reason != OperatorOpen || p != (Permit{}) {
			t.Errorf("%+v", b)
		}
		want := BreakerView{State: Open, Trip: "operator", OpenedAt: r.now, Order: order}
		if d := cmp.Diff(want, r.state(Open)); d != "" {
			t.Error(d)
		}
		wantEffect := []Effect{{Guard: CircuitBreaker, Credential: -1, From: "closed", To: "open", Trip: "operator", Reason: OperatorOpen}}
		if d := cmp.Diff(wantEffect, r.take()); d != "" {
			t.Error(d)
		}
		r.pass(1000 * time.Hour)
		r.state(Open)
	})
	t.Run("with an end it goes on half-open", func(t *testing.T) {
		r := newRig(t, nil)
		o := order
		o.Until = r.now.Add(time.Hour)
		r.operate(o)
		r.pass(time.Hour - 1)
		r.blocked(0, "m", OperatorOpen, 1)
		r.pass(1)
		r.state(HalfOpen)
		r.settle(r.admit(0, "m"), bad)
		if v := r.state(Open); v.Trip != "failures" || v.Order != (Order{}) {
			t.Errorf("%+v", v)
		}
	})
	t.Run("or closed, where the breaker is off", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.FailureThreshold = 0 })
		o := order
		o.Until = r.now.Add(time.Hour)
		r.operate(o)
		r.blocked(0, "m", OperatorOpen, time.Hour)
		r.pass(time.Hour)
		r.state(Closed)
	})
	t.Run("nothing that is under way closes it", func(t *testing.T) {
		r := halfOpen(t, nil)
		probe, forced := r.admit(0, "m"), r.force(0, "m")
		r.operate(order)
		r.eff = r.m.Sound(r.now, &forced, r.eff)
		r.settle(probe, good)
		r.settle(forced, good)
		r.state(Open)
	})
	t.Run("it survives a reload", func(t *testing.T) {
		r := newRig(t, nil)
		r.operate(order)
		r.m.Configure(Defaults(), RoundRobin, nil)
		r.state(Open)
	})
	t.Run("a later order replaces it", func(t *testing.T) {
		r := newRig(t, nil)
		r.operate(order)
		r.operate(Order{Action: ForceClosed, Reason: "over"})
		r.free(0, "m")
		r.operate(order)
		r.operate(Order{Action: Reset, Reason: "over"})
		if v := r.state(Closed); v != (BreakerView{}) {
			t.Errorf("%+v", v)
		}
	})
	t.Run("of a model it is stronger than the provider's half-open", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.operate(Order{Action: ForceOpen, Model: "m"})
		r.on("x", times(5, of(fault.Connect))...)
		for range 2 {
			if b, _ := r.m.Check(r.now, 0, "m", nil); b.Reason != OperatorOpen {
				t.Errorf("%+v", b)
			}
			if _, b := r.try(0, "m", true); !b.Forbids() {
				t.Errorf("%+v", b)
			}
			r.pass(30 * time.Second)
		}
		r.free(0, "x")
	})
}

// R31
func TestForceClosed(t *testing.T) {
	t.Run("failures are counted and shown, and open nothing", func(t *testing.T) {
		for _, scope := range []Scope{PerProvider, PerModel, Auto} {
			r := newRig(t, scoped(scope))
			r.operate(Order{Action: ForceClosed, Reason: "why", Until: r.now.Add(time.Hour)})
			for range 50 {
				r.settle(r.admit(0, "m"), bad)
			}
			v := r.view()
			if r.m.FailuresBefore("m") != 50 || v.Worst() != Closed || v.Breaker.Trip != "operator" {
				t.Errorf("%v: %+v", scope, v)
			}
			r.pass(time.Hour)
			r.free(0, "m")
			r.settle(r.admit(0, "m"), bad) // the order is over: the next one opens it
			r.blocked(0, "m", CircuitOpen, 30*time.Second)
		}
	})
	t.Run("the provider's closes its models", func(t *testing.T) {
		r := newRig(t, scoped(PerModel))
		r.on("a", times(5, bad)...)
		r.operate(Order{Action: ForceOpen, Model: "b"})
		r.operate(Order{Action: ForceClosed})
		r.free(0, "a")
		r.free(0, "b")
		r.operate(Order{Action: ForceOpen, Model: "b"}) // but a later word is a word
		if b, _ := r.m.Check(r.now, 0, "b", nil); b.Reason != OperatorOpen {
			t.Errorf("%+v", b)
		}
	})
}

// R31
func TestReset(t *testing.T) {
	for _, scope := range []Scope{PerProvider, PerModel, Auto} {
		r := newRig(t, scoped(scope))
		late := r.admit(0, "never heard of")
		r.on("m", times(5, of(fault.Cut))...)
		r.on("m", times(5, of(fault.Connect))...)
		r.operate(Order{Action: Reset, Reason: "fixed"})
		v := r.view()
		views := []BreakerView{v.Breaker}
		for _, m := range v.Models {
			views = append(views, m.BreakerView)
		}
		for _, b := range views {
			if b.FailuresTotal = 0; b != (BreakerView{}) {
				t.Errorf("%v: %+v", scope, b)
			}
		}
		r.settle(late, bad)
		if n := r.m.FailuresBefore("never heard of"); n != 0 {
			t.Errorf("%v: count %d", scope, n)
		}
	}
	r := newRig(t, nil)
	if _, err := r.m.Operate(r.now, Order{Action: Reset, Model: "m"}, nil); err != ErrOneBreaker { //nolint:errorlint // it is the very one
		t.Error(err)
	}
}
