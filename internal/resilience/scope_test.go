package resilience

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evergate/internal/fault"
)

func scoped(scope Scope) func(*Settings) {
	return func(s *Settings) { s.Breaker.Scope = scope }
}

// on runs outcomes for a model, past any guard.
func (r *rig) on(model string, outcomes ...Outcome) {
	r.t.Helper()
	for _, o := range outcomes {
		r.settle(r.force(0, model), o)
	}
}

// R35
func TestScopes(t *testing.T) {
	connect := of(fault.Connect)
	t.Run("provider: one for all models", func(t *testing.T) {
		r := newRig(t, nil)
		r.on("a", bad, bad, bad)
		r.on("b", bad, bad)
		r.blocked(0, "a", CircuitOpen, 30*time.Second)
		r.blocked(0, "c", CircuitOpen, 30*time.Second)
		if v := r.view(); v.Models != nil || v.Worst() != Open {
			t.Errorf("%+v", v)
		}
	})
	t.Run("model: each for itself, connections too", func(t *testing.T) {
		r := newRig(t, scoped(PerModel))
		r.on("a", bad, bad, connect, connect)
		r.on("b", connect, bad, bad)
		r.free(0, "a")
		r.on("a", bad)
		r.blocked(0, "a", CircuitOpen, 30*time.Second)
		r.free(0, "b")
		r.on("b", bad, bad)
		r.free(0, "c")
		v := r.view()
		if v.Breaker.State != Closed || v.Breaker.FailuresTotal != 10 || v.Worst() != Open || len(v.Models) != 2 {
			t.Errorf("%+v", v)
		}
		for _, e := range r.take() {
			if e.Model == "" {
				t.Errorf("the provider's moved: %+v", e)
			}
		}
		r.pass(30 * time.Second)
		if v := r.view(); v.Worst() != HalfOpen {
			t.Errorf("worst %v", v.Worst())
		}
		r.settle(r.admit(0, "a"), good)
		if v := r.view(); v.Models[0].State != Closed || v.Models[1].State != HalfOpen {
			t.Errorf("%+v", v.Models)
		}
	})
	t.Run("auto: connections are the provider's", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", connect, of(fault.Reset), connect)
		r.on("b", connect, of(fault.Reset))
		r.blocked(0, "c", CircuitOpen, 30*time.Second)
		for _, m := range r.view().Models {
			if m.ConsecutiveFailures != 0 || m.FailuresTotal != 0 {
				t.Errorf("%+v", m)
			}
		}
	})
	t.Run("auto: a model's failures are its own", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", bad, of(fault.Timeout), of(fault.Invalid), of(fault.Cut), bad)
		r.blocked(0, "a", CircuitOpen, 30*time.Second)
		r.free(0, "b")
		if v := r.view(); v.Worst() != Closed || v.Breaker.ConsecutiveFailures != 0 {
			t.Errorf("%+v", v)
		}
		if r.m.FailuresBefore("a") != 5 || r.m.FailuresBefore("b") != 0 {
			t.Error("counts")
		}
	})
	t.Run("auto: two models open at once open the provider", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", times(5, bad)...)
		r.pass(10 * time.Second)
		r.on("b", times(5, bad)...)
		r.blocked(0, "c", CircuitOpen, 30*time.Second)
		r.pass(30 * time.Second)
		p := r.admit(0, "c")
		if !p.Probe() {
			t.Error("no probe")
		}
		r.blocked(0, "a", ProbeInFlight, time.Minute)
		r.settle(p, good)
		r.free(0, "c")
		r.take()
		// Its own breaker is half-open still; that probe is its own.
		r.settle(r.admit(0, "a"), bad)
		r.blocked(0, "a", CircuitOpen, 30*time.Second)
		r.free(0, "c")
	})
	t.Run("auto: not one after the other", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", times(5, bad)...)
		r.pass(30 * time.Second)
		r.on("b", times(5, bad)...)
		r.free(0, "c")
	})
	t.Run("auto: a probe passes both, and counts for both", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", times(5, bad)...)
		r.on("b", times(5, connect)...)
		r.pass(30 * time.Second)
		p := r.admit(0, "a")
		r.blocked(0, "b", ProbeInFlight, time.Minute)
		r.settle(p, bad)
		v := r.view()
		if v.Breaker.State != Open || v.Models[0].State != Open {
			t.Errorf("%+v", v)
		}
		r.pass(30 * time.Second)
		r.settle(r.admit(0, "a"), good)
		r.free(0, "a")
		r.free(0, "b")
	})
	t.Run("R26: a stream's first content gives both slots back", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		r.on("a", times(5, bad)...)
		r.on("b", times(5, connect)...)
		r.pass(30 * time.Second)
		p := r.admit(0, "a")
		r.eff = r.m.FirstContent(r.now, &p, r.eff)
		if p.Probe() || !p.Pending() {
			t.Errorf("%+v", p)
		}
		r.free(0, "a")
		r.eff = r.m.Sound(r.now, &p, r.eff)
		if v := r.view(); v.Breaker.State != Closed || v.Models[0].State != Closed || p.Pending() {
			t.Errorf("%+v", v)
		}
	})
	t.Run("R33: a model's probe that never settles is taken back", func(t *testing.T) {
		r := newRig(t, scoped(PerModel))
		r.on("a", times(5, bad)...)
		r.pass(30 * time.Second)
		r.admit(0, "a")
		r.blocked(0, "a", ProbeInFlight, time.Minute)
		r.pass(time.Minute)
		r.free(0, "a")
	})
}

// R35: names come from clients, so that breakers are bounded, and an unknown name takes nobody's place for nothing.
func TestModelBreakersAreBounded(t *testing.T) {
	r := newRig(t, scoped(PerModel))
	r.on("down", times(5, bad)...)
	r.eff, _ = r.m.Operate(r.now, Order{Action: ForceOpen, Model: "held"}, r.eff)
	for i := range 3 * maxModels {
		r.pass(time.Millisecond)
		r.on(fmt.Sprint("ok-", i), good)
		r.on(fmt.Sprint("missing-", i), of(fault.ModelMissing))
	}
	r.on(strings.Repeat("x", maxModelName+1), times(9, bad)...)
	if n := len(r.m.models); n != maxModels {
		t.Errorf("%d breakers", n)
	}
	r.blocked(0, "down", CircuitOpen, 30*time.Second-3*maxModels*time.Millisecond)
	if b, _ := r.m.Check(r.now, 0, "held", nil); b.Reason != OperatorOpen {
		t.Errorf("%+v", b)
	}
	if r.m.models["ok-0"] != nil || r.m.models[fmt.Sprint("ok-", 3*maxModels-1)] == nil {
		t.Error("not the one that was idle for longest made room")
	}
	t.Run("R27: what was admitted before moves no breaker of the same name", func(t *testing.T) {
		r := newRig(t, scoped(PerModel))
		late := r.admit(0, "m")
		r.on("m", times(5, bad)...)
		forced := r.force(0, "m")
		r.pass(time.Millisecond)
		for i := range maxModels {
			r.on(fmt.Sprint(i), times(5, bad)...) // all are open: the one that is free soonest makes room
			r.pass(time.Millisecond)
		}
		if e := r.take(); r.m.models["m"] != nil || e[len(e)-1] != (Effect{Guard: CircuitBreaker, Credential: -1, Model: "m", From: "open", To: "closed"}) {
			t.Errorf("%+v", e[len(e)-2:])
		}
		r.settle(late, bad)
		r.settle(forced, bad)
		if b := r.m.models["m"]; b != nil && b.failures != 0 {
			t.Errorf("count %d", b.failures)
		}
	})
	t.Run("with all of them held there is no more room", func(t *testing.T) {
		r := newRig(t, scoped(Auto))
		for i := range maxModels {
			if _, err := r.m.Operate(r.now, Order{Action: ForceClosed, Model: fmt.Sprint(i)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.m.Operate(r.now, Order{Action: ForceClosed, Model: "x"}, nil); err != ErrModelBreakers { //nolint:errorlint // it is the very one
			t.Error(err)
		}
		r.on("x", times(9, bad)...)
		r.free(0, "x")
	})
}

// R35: a reload may change the scope; what does not exist any more blocks nothing, and permits still settle.
func TestScopeChanges(t *testing.T) {
	configure := func(r *rig, scope Scope) {
		s := Defaults()
		s.Breaker.Scope = scope
		r.m.Configure(s, RoundRobin, nil)
	}
	r := newRig(t, scoped(Auto))
	old := r.admit(0, "m")
	r.on("m", times(5, bad)...)
	configure(r, PerModel)
	r.blocked(0, "m", CircuitOpen, 30*time.Second)
	forced := r.force(0, "m")
	configure(r, PerProvider)
	r.free(0, "m")
	r.settle(old, bad)
	configure(r, Auto)
	r.settle(forced, good)
	r.free(0, "m")
	r.on("m", times(4, bad)...)
	r.free(0, "m")
	r.on("m", bad)
	r.blocked(0, "m", CircuitOpen, 30*time.Second)

	// The provider's own breaker rests while each model has one.
	r = opened(t, nil)
	late := r.force(0, "m")
	configure(r, PerModel)
	r.free(0, "m")
	r.settle(late, bad)
	configure(r, PerProvider)
	r.free(0, "m")
}
