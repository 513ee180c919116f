package resilience

import (
	"testing"
	"time"

	"evergate/internal/fault"
)

func keptFor(d time.Duration) func(*Settings) {
	return func(s *Settings) { s.Breaker.KeptFor = d }
}

// probe asks for a permit of the gateway's own.
func (r *rig) probe(model string) (Permit, Block, bool) {
	p, b, ok, eff := r.m.AdmitProbe(r.now, model, r.now.Add(time.Minute), r.eff)
	r.eff = eff
	return p, b, ok
}

// kept says that a half-open breaker takes no ordinary attempt, and nobody knows until when.
func (r *rig) kept() {
	r.t.Helper()
	if _, b := r.try(0, "m", false); b != (Block{Guard: CircuitBreaker, Reason: ProbeInFlight}) {
		r.t.Fatalf("at %v: %+v", r.now.Sub(epoch), b)
	}
}

// R75: a half-open breaker lets the gateway's own probe through and nobody else, until that closes it.
func TestKeptForOwnProbes(t *testing.T) {
	r := halfOpen(t, keptFor(20*time.Second))
	r.kept()
	if c, b, ok, _ := r.m.Pick(r.now, "m", nil, 0, nil); ok || c != 0 || b.Reason != ProbeInFlight {
		t.Errorf("picked %d, %+v", c, b)
	}
	p, b, ok := r.probe("m")
	if !ok || b.Blocked() || !p.Probe() {
		t.Fatalf("%+v %+v %t", p, b, ok)
	}
	if _, b, ok := r.probe("m"); !ok || b.Reason != ProbeInFlight {
		t.Errorf("a second one at a time: %+v %t", b, ok)
	}
	r.settle(p, good)
	r.state(Closed)
	r.free(0, "m")
	if _, b, ok := r.probe("m"); ok || b.Blocked() {
		t.Errorf("closed, and probed: %+v", b)
	}
}

// R75: who forces a way past the breaker is not kept out, and what comes of it counts as before (R27, R51).
func TestKeptDoesNotStopForced(t *testing.T) {
	r := halfOpen(t, keptFor(20*time.Second))
	r.settle(r.force(0, "m"), bad)
	r.state(HalfOpen)
	r.settle(r.force(0, "m"), good)
	r.state(Closed)
}

// R75: a breaker is kept for a while only, after its open time and after each probe: if none comes, a request is the probe.
func TestKeptForAWhile(t *testing.T) {
	r := halfOpen(t, keptFor(20*time.Second))
	r.pass(20*time.Second - 1)
	r.kept()
	p, _, _ := r.probe("m")
	r.pass(time.Second)
	r.settle(p, of(fault.ClientGone)) // it decided nothing
	r.kept()
	r.pass(19 * time.Second)
	r.free(0, "m")

	r = halfOpen(t, keptFor(20*time.Second))
	r.pass(time.Hour)
	r.free(0, "m")
}

// R24: a failed probe opens it again, and success_threshold good ones are wanted.
func TestOwnProbesAreProbes(t *testing.T) {
	r := halfOpen(t, func(s *Settings) { s.Breaker.KeptFor, s.Breaker.SuccessThreshold = 20*time.Second, 2 })
	p, _, _ := r.probe("m")
	r.settle(p, bad)
	r.state(Open)
	if _, b, ok := r.probe("m"); !ok || b.Reason != CircuitOpen {
		t.Errorf("open: %+v %t", b, ok)
	}
	r.pass(30 * time.Second)
	for i := range 2 {
		if p, b, ok := r.probe("m"); ok && !b.Blocked() {
			r.settle(p, of(fault.Rejected))
		}
		r.state([]State{HalfOpen, Closed}[i])
	}
}

// R35: a probe of a model passes that model's breaker, too, which is kept for it.
func TestOwnProbeOfAModel(t *testing.T) {
	r := newRig(t, func(s *Settings) { s.Breaker.KeptFor, s.Breaker.Scope = 20*time.Second, Auto })
	for range 5 {
		r.settle(r.admit(0, "m"), bad)
	}
	r.pass(30 * time.Second)
	if _, _, ok := r.probe("n"); ok {
		t.Error("the breaker of n is closed, and so is the provider's")
	}
	r.kept()
	r.free(0, "n")
	r.pass(15 * time.Second)
	p, _, _ := r.probe("m")
	r.settle(p, of(fault.ClientGone))
	r.pass(19 * time.Second)
	r.kept()
	p, b, ok := r.probe("m")
	if !ok || b.Blocked() {
		t.Fatalf("%+v %t", b, ok)
	}
	r.settle(p, good)
	if v := r.view(); len(v.Models) != 1 || v.Models[0].State != Closed {
		t.Errorf("%+v", v.Models)
	}
}

// R75: a probe goes out with a key that is usable and for the model, else with the first that is for it, which blocks it.
func TestOwnProbesCredential(t *testing.T) {
	keys := []Credential{{Name: "a", Models: []string{"n"}}, {Name: "b"}, {Name: "c"}}
	r := newRig(t, keptFor(20*time.Second), keys...)
	r.settle(r.admit(1, "m"), of(fault.Auth))
	for range 5 {
		r.settle(r.admit(2, "m"), bad)
	}
	r.pass(30 * time.Second)
	p, _, ok := r.probe("m")
	if !ok || p.Credential != 2 {
		t.Errorf("credential %d, %t", p.Credential, ok)
	}
	r.settle(p, of(fault.Auth)) // R24: the provider answered
	r.state(Closed)

	r = newRig(t, keptFor(20*time.Second), keys[0])
	for range 5 {
		r.settle(r.admit(0, "n"), bad)
	}
	r.pass(30 * time.Second)
	if _, b, ok := r.probe("m"); ok || b.Blocked() {
		t.Errorf("no key is for it: %+v", b)
	}
	if p, _, ok := r.probe(""); !ok || p.Credential != 0 {
		t.Errorf("any key will do for no model: %+v %t", p, ok)
	}
}

// R31: what an operator holds open is not probed.
func TestOwnProbeObeysTheOperator(t *testing.T) {
	r := newRig(t, keptFor(20*time.Second))
	r.operate(Order{Action: ForceOpen, Reason: "x", Until: r.now.Add(time.Minute)})
	if _, b, ok := r.probe("m"); !ok || !b.Forbids() {
		t.Errorf("%+v %t", b, ok)
	}
	r.pass(time.Minute)
	r.kept()
	if _, b, ok := r.probe("m"); !ok || b.Blocked() {
		t.Errorf("when it is over: %+v %t", b, ok)
	}
}
