package resilience

import (
	"testing"
	"time"

	"evergate/internal/fault"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rig drives one machine through a story in its own time.
type rig struct {
	t   *testing.T
	m   *Machine
	now time.Time
	eff []Effect // since the last take
	rnd float64
}

func newRig(t *testing.T, change func(*Settings), credentials ...Credential) *rig {
	t.Helper()
	s := Defaults()
	if change != nil {
		change(&s)
	}
	return &rig{t: t, m: New(s, RoundRobin, credentials), now: epoch, rnd: 0.5}
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

func (r *rig) try(credential int, model string, force bool) (Permit, Block) {
	p, b, eff := r.m.Admit(r.now, credential, model, r.now.Add(time.Minute), force, r.eff)
	r.eff = eff
	return p, b
}

func (r *rig) admit(credential int, model string) Permit {
	r.t.Helper()
	p, b := r.try(credential, model, false)
	if b.Blocked() {
		r.t.Fatalf("at %v: blocked by %+v", r.now.Sub(epoch), b)
	}
	return p
}

func (r *rig) force(credential int, model string) Permit {
	r.t.Helper()
	p, b := r.try(credential, model, true)
	if b.Blocked() {
		r.t.Fatalf("at %v: forced permit refused: %+v", r.now.Sub(epoch), b)
	}
	return p
}

func (r *rig) settle(p Permit, o Outcome) { r.eff = r.m.Settle(r.now, p, o, r.rnd, r.eff) }

// run admits and settles at once.
func (r *rig) run(outcomes ...Outcome) {
	r.t.Helper()
	for _, o := range outcomes {
		r.settle(r.admit(0, "m"), o)
	}
}

func (r *rig) view() View {
	v, eff := r.m.View(r.now, r.eff)
	r.eff = eff
	return v
}

func (r *rig) state(want State) BreakerView {
	r.t.Helper()
	v := r.view().Breaker
	if v.State != want {
		r.t.Fatalf("at %v: breaker is %v, want %v (%+v)", r.now.Sub(epoch), v.State, want, v)
	}
	return v
}

// blocked wants a block by reason until d from now.
func (r *rig) blocked(credential int, model string, reason Reason, d time.Duration) Block {
	r.t.Helper()
	b, eff := r.m.Check(r.now, credential, model, r.eff)
	r.eff = eff
	if b.Reason != reason || !b.Until.Equal(r.now.Add(d)) {
		r.t.Fatalf("at %v: block is %q for %v, want %q for %v", r.now.Sub(epoch), b.Reason, b.Until.Sub(r.now), reason, d)
	}
	return b
}

func (r *rig) free(credential int, model string) {
	r.t.Helper()
	b, eff := r.m.Check(r.now, credential, model, r.eff)
	r.eff = eff
	if b != (Block{}) {
		r.t.Fatalf("at %v: blocked by %q for %v, want free", r.now.Sub(epoch), b.Reason, b.Until.Sub(r.now))
	}
}

// take gives the effects so far and forgets them.
func (r *rig) take() []Effect {
	e := r.eff
	r.eff = nil
	return e
}

var (
	good = Outcome{Success: true}
	bad  = of(fault.Upstream)
)

func of(c fault.Class) Outcome { return Outcome{Class: c} }

func named(c fault.Class, d time.Duration) Outcome {
	return Outcome{Class: c, Wait: fault.Wait{For: d, Named: true}}
}

func times(n int, o Outcome) []Outcome {
	all := make([]Outcome, n)
	for i := range all {
		all[i] = o
	}
	return all
}

// everyClass is all there are.
func everyClass() []fault.Class {
	var all []fault.Class
	for c := fault.Unknown; c <= fault.ClientDeadline; c++ {
		all = append(all, c)
	}
	return all
}
