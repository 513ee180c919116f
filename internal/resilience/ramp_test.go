package resilience

import (
	"testing"
	"time"
)

// ramped is a rig whose breaker a probe has just closed, with a ramp of 100 s.
func ramped(t *testing.T, scope Scope) *rig {
	t.Helper()
	r := newRig(t, func(s *Settings) { s.Breaker.Ramp, s.Breaker.Scope = 100*time.Second, scope })
	r.on("m", times(5, bad)...)
	r.pass(30 * time.Second)
	r.view()
	r.settle(r.admit(0, "m"), good)
	r.take()
	return r
}

// share is how many of 1000 requests with numbers of their own pass now.
func (r *rig) share(model string) int {
	n := 0
	for i := range 1000 {
		if _, _, ok, _ := r.m.Pick(r.now, model, nil, number(i), nil); ok {
			n++
		}
	}
	return n
}

func number(i int) float64 { return (float64(i*7919%1000) + float64(i)/1000) / 1000 }

// R34
func TestRamp(t *testing.T) {
	t.Run("the share grows from one to all", func(t *testing.T) {
		for _, scope := range []Scope{PerProvider, PerModel, Auto} {
			r := ramped(t, scope)
			if n := r.share("m"); n != 1000 {
				t.Errorf("%v: %d pass while nobody is on the way", scope, n)
			}
			p := r.admit(0, "m")
			for _, at := range []int{0, 10, 50, 90, 99} {
				n := r.share("m")
				if n < 10*at-40 || n > 10*at+40 {
					t.Errorf("%v: %d of 1000 after %d s", scope, n, at)
				}
				i, b, ok, _ := r.m.Pick(r.now, "m", nil, outside, nil)
				if i != 0 || ok || b.Reason != Ramping || b.Guard != CircuitBreaker || b.Forbids() || !b.Until.Equal(r.now.Add(time.Duration(100-at)*time.Second)) {
					t.Errorf("%v: %d %+v", scope, i, b)
				}
				switch at {
				case 0:
					r.pass(10 * time.Second)
				case 10:
					r.pass(40 * time.Second)
				case 50:
					r.pass(40 * time.Second)
					r.settle(p, good) // its lease is over: R33
					p = r.admit(0, "m")
				case 90:
					r.pass(9 * time.Second)
				}
			}
			r.pass(time.Second)
			if n := r.share("m"); n != 1000 {
				t.Errorf("%v: %d at the end", scope, n)
			}
			r.settle(p, good)
		}
	})
	t.Run("one request has one answer", func(t *testing.T) {
		r := ramped(t, PerProvider)
		r.admit(0, "m")
		r.pass(50 * time.Second)
		for i := range 100 {
			_, _, first, _ := r.m.Pick(r.now, "m", nil, number(i), nil)
			for range 3 {
				if _, _, ok, _ := r.m.Pick(r.now, "m", nil, number(i), nil); ok != first {
					t.Fatal("it changed")
				}
			}
		}
	})
	t.Run("who is admitted all the same is", func(t *testing.T) { // R51
		r := ramped(t, PerProvider)
		r.admit(0, "m")
		r.admit(0, "m")
		r.force(0, "m")
	})
	t.Run("the others wait for the one on the way only", func(t *testing.T) {
		r := ramped(t, PerProvider)
		p := r.admit(0, "m")
		r.eff = r.m.FirstContent(r.now, &p, r.eff)
		if n := r.share("m"); n != 1000 {
			t.Errorf("%d", n)
		}
		r.admit(0, "m")
		r.settle(p, good) // and another one's lease is not given back by it
		if n := r.share("m"); n > 40 {
			t.Errorf("%d", n)
		}
	})
	t.Run("not after an operator closed it", func(t *testing.T) { // R31
		for _, a := range []Action{Reset, ForceClosed} {
			r := ramped(t, PerProvider)
			r.operate(Order{Action: a})
			r.admit(0, "m")
			if n := r.share("m"); n != 1000 {
				t.Errorf("%v: %d", a, n)
			}
		}
	})
	t.Run("another model is not concerned", func(t *testing.T) { // R35
		r := ramped(t, PerModel)
		r.admit(0, "m")
		if n := r.share("x"); n != 1000 {
			t.Errorf("%d", n)
		}
	})
	t.Run("the view says until when", func(t *testing.T) {
		r := ramped(t, PerProvider)
		if at := r.state(Closed).RampUntil; !at.Equal(r.now.Add(100 * time.Second)) {
			t.Error(at)
		}
		r.pass(100 * time.Second)
		if at := r.state(Closed).RampUntil; !at.IsZero() {
			t.Error(at)
		}
	})
	t.Run("weights are not bent by the share", func(t *testing.T) {
		r := ramped(t, PerProvider)
		r.m.Configure(r.m.settings, Weighted, pool("a", "b"))
		r.admit(0, "m")
		r.pass(20 * time.Second)
		var n [2]int
		for i := range 10_000 {
			if c, _, ok, _ := r.m.Pick(r.now, "m", nil, (float64(i)+0.37)/10_007*0.999, nil); ok {
				n[c]++
			}
		}
		if n[0] < 800 || n[1] < 800 {
			t.Errorf("%v of about 2000", n)
		}
	})
}

// outside is the number of a request that is let in last.
const outside = 1 - 1.0/(1<<53)

// R34: when the primary came back, for hold_down.
func TestClosedAt(t *testing.T) {
	for _, scope := range []Scope{PerProvider, PerModel, Auto} {
		r := newRig(t, scoped(scope))
		if at := r.m.ClosedAt("m"); !at.IsZero() {
			t.Error(at)
		}
		r.on("m", times(5, bad)...)
		r.pass(30 * time.Second)
		r.settle(r.admit(0, "m"), good)
		if at := r.m.ClosedAt("m"); !at.Equal(r.now) {
			t.Errorf("%v: %v", scope, at)
		}
		if at := r.m.ClosedAt("x"); at.IsZero() == (scope == PerProvider) {
			t.Errorf("%v: %v of another model", scope, at)
		}
		if n := testing.AllocsPerRun(100, func() { r.m.ClosedAt("m") }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}
