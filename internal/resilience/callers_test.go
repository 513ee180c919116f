package resilience

import (
	"testing"
	"time"

	"evergate/internal/fault"
)

func (r *rig) pickCallers(model string) (int, Block, bool) {
	c, b, ok, eff := r.m.PickCallers(r.now, model, nil, r.rnd, r.eff)
	r.eff = eff
	return c, b, ok
}

// R8, R18: a caller's key is blocked by what blocks its provider or its model, and by nothing that a credential has.
func TestPickCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Credential{Name: "k"})
	if c, b, ok := r.pickCallers("m"); c != CallersKey || b.Blocked() || !ok {
		t.Fatalf("%d %+v %t", c, b, ok)
	}
	if c, _, ok, _ := r.m.PickCallers(r.now, "m", func(c int) bool { return c == CallersKey }, 0, nil); c != -1 || ok {
		t.Errorf("skipped: %d %t", c, ok)
	}
	r.settle(r.admit(0, "m"), Outcome{Class: fault.RateLimited, Wait: fault.Wait{Named: true, For: time.Minute}})
	r.settle(r.force(0, "m"), Outcome{Class: fault.ModelLimited})
	if _, b, ok := r.pickCallers("m"); !ok {
		t.Errorf("a credential's guards block it: %+v", b)
	}
	p := r.admit(CallersKey, "m")
	r.settle(p, Outcome{Class: fault.RateLimited})
	r.settle(r.admit(CallersKey, "m"), Outcome{Class: fault.Auth})
	if v, _ := r.m.View(r.now, nil); v.Credentials[0].Reason != RateLimited || v.Credentials[0].Level != 1 {
		t.Errorf("a credential learned of a caller's key: %+v", v.Credentials[0])
	}
	r.settle(r.force(0, "gone"), Outcome{Class: fault.ModelMissing})
	if c, b, ok := r.pickCallers("gone"); c != CallersKey || b.Guard != ModelLockoutGuard || ok {
		t.Errorf("a model that is missing: %d %+v %t", c, b, ok)
	}
	for range 5 {
		r.settle(r.admit(CallersKey, "m"), Outcome{Class: fault.Upstream})
	}
	if c, b, ok := r.pickCallers("m"); c != CallersKey || b.Guard != CircuitBreaker || ok {
		t.Errorf("an open breaker: %d %+v %t", c, b, ok)
	}
	r.pass(31 * time.Second) // half-open: it may be the probe, and takes the slot
	probe := r.admit(CallersKey, "m")
	if _, _, ok := r.pickCallers("m"); ok {
		t.Error("the probe's slot is not taken")
	}
	r.settle(probe, Outcome{Success: true})
	if _, b, ok := r.pickCallers("m"); !ok {
		t.Errorf("its success closed nothing: %+v", b)
	}
}

// R34: it returns with its share of the traffic, like all others.
func TestPickCallersWhileRamping(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *Settings) { s.Breaker.Ramp = time.Minute }, Credential{Name: "k"})
	for range 5 {
		r.settle(r.admit(CallersKey, "m"), Outcome{Class: fault.Upstream})
	}
	r.pass(31 * time.Second)
	r.settle(r.admit(0, "m"), Outcome{Success: true})
	r.pass(6 * time.Second)
	lone := r.admit(CallersKey, "m") // one at a time always is
	r.rnd = 0.9 / (1 << 16)
	if c, b, ok := r.pickCallers("m"); c != CallersKey || b.Reason != Ramping || ok {
		t.Errorf("%d %+v %t", c, b, ok)
	}
	r.rnd = 0.01 / (1 << 16)
	if _, _, ok := r.pickCallers("m"); !ok {
		t.Error("nobody gets through")
	}
	r.settle(lone, Outcome{Success: true})
}
