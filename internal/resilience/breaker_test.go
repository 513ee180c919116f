package resilience

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// failing is every class that the breaker counts (R1-R3, R14, R15).
var failing = []fault.Class{fault.Connect, fault.Reset, fault.Timeout, fault.Upstream, fault.Invalid, fault.Cut}

// undecided are the classes that decide nothing on a probe (R13).
var undecided = []fault.Class{fault.Unknown, fault.ClientGone, fault.ClientDeadline}

// opened is a rig whose breaker is open since now, and half-open after 30 s.
func opened(t *testing.T, change func(*Settings), credentials ...Credential) *rig {
	t.Helper()
	r := newRig(t, change, credentials...)
	r.run(times(5, bad)...)
	r.state(Open)
	r.take()
	return r
}

// halfOpen is a rig whose breaker has just become half-open.
func halfOpen(t *testing.T, change func(*Settings), credentials ...Credential) *rig {
	t.Helper()
	r := opened(t, change, credentials...)
	r.pass(30 * time.Second)
	r.state(HalfOpen)
	r.take()
	return r
}

// R1-R16: the breaker column of the table, while closed.
func TestClassesWhileClosed(t *testing.T) {
	for _, c := range everyClass() {
		t.Run(c.String(), func(t *testing.T) {
			r := newRig(t, nil)
			r.run(bad, bad) // a count that only a success may take back
			r.settle(r.admit(0, "m"), of(c))
			want, total := 2, uint64(2)
			if slices.Contains(failing, c) {
				want, total = 3, 3
			}
			v := r.state(Closed)
			if v.ConsecutiveFailures != want || v.FailuresTotal != total || r.m.ConsecutiveFailures() != want {
				t.Errorf("count %d, total %d; want %d, %d", v.ConsecutiveFailures, v.FailuresTotal, want, total)
			}
			if c.BreakerFailure() != (want == 3) {
				t.Errorf("fault.%v.BreakerFailure() disagrees", c)
			}
		})
	}
}

// R20
func TestOpensAtThreshold(t *testing.T) {
	r := newRig(t, nil)
	r.run(bad, bad, bad, bad, good) // R16: back to 0
	if n := r.state(Closed).ConsecutiveFailures; n != 0 {
		t.Fatalf("count after a success: %d", n)
	}
	r.run(times(4, bad)...)
	r.state(Closed)
	r.free(0, "m")
	r.run(bad)
	want := BreakerView{
		State: Open, Trip: "failures", ConsecutiveFailures: 5, FailuresTotal: 9, OpenedAt: r.now, RetryAt: r.now.Add(30 * time.Second),
	}
	if d := cmp.Diff(want, r.state(Open)); d != "" {
		t.Error(d)
	}
	wantEffect := []Effect{{
		Guard: CircuitBreaker, Credential: -1, From: "closed", To: "open", Trip: "failures", Reason: CircuitOpen,
		Until: r.now.Add(30 * time.Second),
	}}
	if d := cmp.Diff(wantEffect, r.take()); d != "" {
		t.Error(d)
	}
	r.blocked(0, "m", CircuitOpen, 30*time.Second)
	if _, b := r.try(0, "m", false); b.Reason != CircuitOpen {
		t.Errorf("admitted while open: %+v", b)
	}
}

// R21
func TestFailureWhileOpenDoesNotExtend(t *testing.T) {
	r := newRig(t, nil)
	inFlight := r.admit(0, "m")
	r.run(times(5, bad)...)
	r.pass(20 * time.Second)
	forced := r.force(0, "m")
	r.settle(inFlight, bad)
	r.settle(forced, bad)
	r.blocked(0, "m", CircuitOpen, 10*time.Second)
	if v := r.state(Open); v.ConsecutiveFailures != 5 || v.FailuresTotal != 7 {
		t.Errorf("count %d, total %d; want 5 and 7", v.ConsecutiveFailures, v.FailuresTotal)
	}
	r.pass(10 * time.Second)
	r.state(HalfOpen)
}

// R22: whoever looks first sees it half-open, and moves it there once.
func TestHalfOpenIsLazy(t *testing.T) {
	looks := map[string]func(*rig){
		"view":          func(r *rig) { r.view() },
		"check":         func(r *rig) { r.free(0, "m") },
		"admit":         func(r *rig) { r.admit(0, "m") },
		"forced admit":  func(r *rig) { r.force(0, "m") },
		"first content": func(r *rig) { r.eff = r.m.FirstContent(r.now, new(Permit), r.eff) },
		"sound":         func(r *rig) { r.eff = r.m.Sound(r.now, new(Permit), r.eff) },
		"settle":        func(r *rig) { r.settle(Permit{}, of(fault.ClientGone)) },
		"pick": func(r *rig) {
			_, b, ok, eff := r.m.Pick(r.now, "m", nil, 0, r.eff)
			if r.eff = eff; !ok {
				r.t.Errorf("no pick: %+v", b)
			}
		},
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			r := opened(t, nil)
			r.pass(30*time.Second - 1)
			r.blocked(0, "m", CircuitOpen, 1)
			r.pass(1)
			look(r)
			r.state(HalfOpen)
			want := []Effect{{Guard: CircuitBreaker, Credential: -1, From: "open", To: "half_open", Trip: "failures"}}
			if d := cmp.Diff(want, r.take()); d != "" {
				t.Error(d)
			}
		})
	}
}

// R27: one admitted before the last transition no longer moves the breaker.
func TestGenerations(t *testing.T) {
	t.Run("old success does not close", func(t *testing.T) {
		r := newRig(t, nil)
		old := r.admit(0, "m")
		r.run(times(5, bad)...)
		r.settle(old, good)
		r.state(Open)
		r.pass(30 * time.Second)
		r.settle(old, good)
		r.state(HalfOpen)
	})
	t.Run("old failure does not count after closing", func(t *testing.T) {
		r := newRig(t, nil)
		old := r.admit(0, "m")
		r.run(times(5, bad)...)
		r.pass(30 * time.Second)
		r.run(good)
		r.settle(old, bad)
		if n := r.state(Closed).ConsecutiveFailures; n != 0 {
			t.Errorf("count %d", n)
		}
	})
	t.Run("old probe does not move the next period", func(t *testing.T) {
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = 3 })
		a, b, c := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, bad)
		r.settle(b, good)
		r.state(Open)
		r.pass(30 * time.Second)
		r.state(HalfOpen)
		r.settle(c, bad)
		r.state(HalfOpen)
	})
}

// R27, R51: forced past the breaker.
func TestForcedPermits(t *testing.T) {
	t.Run("success while open counts as a probe's", func(t *testing.T) {
		r := opened(t, nil)
		p := r.force(0, "m")
		if p.Probe() {
			t.Error("has a slot")
		}
		r.settle(p, good)
		r.state(Closed)
	})
	t.Run("so does one that comes in half-open, or after reopening", func(t *testing.T) {
		r := opened(t, func(s *Settings) { s.Breaker.SuccessThreshold = 2 })
		a, b := r.force(0, "m"), r.force(0, "m")
		r.pass(30 * time.Second)
		r.run(bad)
		r.state(Open)
		r.settle(a, good)
		r.pass(30 * time.Second)
		r.settle(b, good)
		r.state(Closed)
	})
	t.Run("but not once it has closed", func(t *testing.T) {
		r := opened(t, nil)
		old := r.force(0, "m")
		r.settle(r.force(0, "m"), good)
		r.run(times(5, bad)...)
		r.settle(old, good)
		r.state(Open)
	})
	t.Run("failure and rate limit move nothing", func(t *testing.T) {
		r := halfOpen(t, nil)
		for _, o := range []Outcome{bad, of(fault.RateLimited)} {
			r.settle(r.force(0, "m"), o)
			if n := r.state(HalfOpen).ConsecutiveFailures; n != 5 {
				t.Errorf("count %d", n)
			}
		}
	})
	t.Run("takes no slot", func(t *testing.T) {
		r := halfOpen(t, nil)
		r.force(0, "m")
		r.admit(0, "m")
		r.force(0, "m")
	})
	t.Run("while closed it is an ordinary one", func(t *testing.T) {
		r := newRig(t, nil)
		r.settle(r.force(0, "m"), bad)
		if n := r.m.ConsecutiveFailures(); n != 1 {
			t.Errorf("count %d", n)
		}
	})
	t.Run("a sound stream is a success", func(t *testing.T) { // R26
		r := opened(t, nil)
		p := r.force(0, "m")
		r.eff = r.m.Sound(r.now, &p, r.eff)
		r.state(Closed)
	})
}

// R28
func TestBreakerOff(t *testing.T) {
	t.Run("threshold 0 turns both trips off, failures are counted", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.FailureThreshold = 0 })
		r.run(times(50, bad)...)
		if v := r.state(Closed); v.ConsecutiveFailures != 50 || v.FailuresTotal != 50 {
			t.Errorf("%+v", v)
		}
		r.run(good)
		if n := r.m.ConsecutiveFailures(); n != 0 {
			t.Errorf("count %d", n)
		}
	})
	t.Run("an explicit cooldown stands", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.FailureThreshold, s.Cooldown.Explicit = 0, true })
		r.run(times(9, bad)...)
		r.state(Closed)
		r.run(bad)
		if v := r.state(Open); v.Trip != "cooldown" {
			t.Errorf("trip %q", v.Trip)
		}
	})
	t.Run("turned off by a reload it closes", func(t *testing.T) {
		for _, r := range []*rig{opened(t, nil), halfOpen(t, nil)} {
			s := Defaults()
			s.Breaker.FailureThreshold = 0
			r.m.Configure(s, RoundRobin, nil)
			r.free(0, "m")
			if v := r.state(Closed); v.ConsecutiveFailures != 5 {
				t.Errorf("%+v", v)
			}
		}
	})
	t.Run("cooldown 0 leaves the first trip", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Cooldown.Failures = 0 })
		for range 20 {
			r.run(bad, bad, bad, good)
		}
		r.state(Closed)
		r.run(times(5, bad)...)
		r.state(Open)
	})
}

// R30's numbers of the classes are config's; the machine takes any.
func TestOtherNumbers(t *testing.T) {
	r := newRig(t, func(s *Settings) {
		s.Breaker = Breaker{FailureThreshold: 1, Timeout: time.Second, HalfOpenMaxProbes: 1}
	})
	r.run(bad)
	r.state(Open)
	r.pass(time.Second)
	r.run(good) // success_threshold 0 is 1
	r.state(Closed)
}
