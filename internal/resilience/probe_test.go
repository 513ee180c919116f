package resilience

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// R23
func TestHalfOpenAdmitsSoMany(t *testing.T) {
	for _, limit := range []int{1, 3} {
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = limit })
		var probes []Permit
		for range limit {
			probes = append(probes, r.admit(0, "m"))
			if !probes[0].Probe() {
				t.Fatal("not a probe")
			}
		}
		r.blocked(0, "m", ProbeInFlight, time.Minute) // R33: the lease's end
		r.settle(probes[0], of(fault.ClientGone))
		r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, time.Minute)
	}
	t.Run("a probe of an earlier period still counts", func(t *testing.T) {
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = 2 })
		old, p := r.admit(0, "m"), r.admit(0, "m")
		r.settle(p, bad)
		r.pass(30 * time.Second)
		r.state(HalfOpen)
		r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, 30*time.Second)
		r.settle(old, bad) // R27: it frees its slot and decides nothing
		r.state(HalfOpen)
		r.free(0, "m")
	})
	t.Run("but not for longer than its lease", func(t *testing.T) { // R33
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = 2 })
		p := r.admit(0, "m")
		r.eff = r.m.FirstContent(r.now, &p, r.eff)
		r.admit(0, "m")
		r.admit(0, "m")
		r.settle(p, of(fault.Cut))
		r.state(Open)
		r.pass(time.Minute) // the open period and both leases are over in the same look
		r.free(0, "m")
	})
	t.Run("0 is no limit", func(t *testing.T) {
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = 0 })
		for range 100 {
			if !r.admit(0, "m").Probe() {
				t.Fatal("not a probe")
			}
		}
		if n := len(r.m.breaker.slots); n != 0 {
			t.Errorf("%d leases kept", n)
		}
	})
}

// R24: success_threshold in a row.
func TestClosesAfterSuccesses(t *testing.T) {
	r := halfOpen(t, func(s *Settings) { s.Breaker.SuccessThreshold = 2 })
	r.run(good)
	r.state(HalfOpen)
	r.run(bad) // not in a row
	r.state(Open)
	r.pass(30 * time.Second)
	r.run(good)
	if n := r.state(HalfOpen).ConsecutiveFailures; n != 6 {
		t.Errorf("count before closing: %d, want 6", n)
	}
	r.run(good)
	if d := cmp.Diff(BreakerView{FailuresTotal: 6}, r.state(Closed)); d != "" {
		t.Error(d)
	}
}

// R24: on a probe every answer but R1-R4 and R13-R15 is a success.
func TestClassesOnProbe(t *testing.T) {
	for _, c := range everyClass() {
		t.Run(c.String(), func(t *testing.T) {
			r := halfOpen(t, nil)
			r.settle(r.admit(0, "m"), of(c))
			switch {
			case slices.Contains(failing, c):
				// the count climbs, the period is a fresh one
				if v := r.state(Open); v.ConsecutiveFailures != 6 || v.Trip != "failures" {
					t.Errorf("%+v", v)
				}
				r.blocked(0, "m", CircuitOpen, 30*time.Second)
			case c == fault.RateLimited: // R25, no other credential
				if v := r.state(Open); v.ConsecutiveFailures != 5 {
					t.Errorf("%+v", v)
				}
			case slices.Contains(undecided, c):
				r.state(HalfOpen)
				r.free(0, "m") // the slot was given back
			default:
				r.state(Closed)
			}
		})
	}
}

// R25
func TestRateLimitOnProbe(t *testing.T) {
	two := []Credential{{Name: "a"}, {Name: "b"}}
	cases := []struct {
		name        string
		credentials []Credential
		prepare     func(*rig)
		outcome     Outcome
		open        time.Duration // 0: stays half-open
		named       bool
	}{
		{"alone", nil, nil, of(fault.RateLimited), 30 * time.Second, false},
		{"alone, named shorter", nil, nil, named(fault.RateLimited, 10*time.Second), 30 * time.Second, false},
		{"alone, named longer", nil, nil, named(fault.RateLimited, 2*time.Minute), 2 * time.Minute, true},
		{"alone, named beyond the cap", nil, nil, named(fault.RateLimited, 5*time.Hour), 10 * time.Minute, true},
		{"sibling usable", two, nil, named(fault.RateLimited, 2*time.Minute), 0, false},
		{
			"sibling cooled", two,
			func(r *rig) { r.settle(r.force(1, "m"), named(fault.Quota, time.Hour)) },
			of(fault.RateLimited), 30 * time.Second, false,
		},
		{
			"sibling locked for the model", two,
			func(r *rig) { r.settle(r.force(1, "m"), named(fault.ModelLimited, time.Hour)) },
			of(fault.RateLimited), 30 * time.Second, false,
		},
		{"sibling not for the model", []Credential{{Name: "a"}, {Name: "b", Models: []string{"x"}}}, nil, of(fault.RateLimited), 30 * time.Second, false},
		{"sibling for the model", []Credential{{Name: "a"}, {Name: "b", Models: []string{"x", "m"}}}, nil, of(fault.RateLimited), 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil, c.credentials...)
			if c.prepare != nil {
				c.prepare(r)
			}
			for range 5 {
				r.settle(r.admit(0, "m"), bad)
			}
			r.pass(30 * time.Second)
			r.settle(r.admit(0, "m"), c.outcome)
			if c.open == 0 {
				r.state(HalfOpen)
				r.free(1, "m") // the slot was given back
				return
			}
			if v := r.state(Open); v.Trip != "failures" || v.ConsecutiveFailures != 5 || !v.RetryAt.Equal(r.now.Add(c.open)) {
				t.Errorf("%+v", v)
			}
			if b := r.blocked(0, "m", CircuitOpen, c.open); b.Named != c.named {
				t.Errorf("named is %v", b.Named)
			}
			r.pass(c.open)
			r.settle(r.admit(0, "m"), bad)
			if b := r.blocked(0, "m", CircuitOpen, 30*time.Second); b.Named {
				t.Error("named after a failure")
			}
		})
	}
}

// R26
func TestStreamedProbe(t *testing.T) {
	content := func(r *rig, p *Permit) { r.eff = r.m.FirstContent(r.now, p, r.eff) }
	sound := func(r *rig, p *Permit) { r.pass(10 * time.Second); r.eff = r.m.Sound(r.now, p, r.eff) }

	t.Run("slot back at first content, verdict at the end", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, time.Minute)
		content(r, &p)
		if p.Probe() || !p.Pending() {
			t.Error("slot kept, or verdict forgotten")
		}
		r.state(HalfOpen)
		r.free(0, "m")
		r.settle(p, good)
		r.state(Closed)
	})
	t.Run("a cut before 10 s is the verdict", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		content(r, &p)
		r.pass(9 * time.Second)
		r.settle(p, of(fault.Cut))
		r.state(Open)
	})
	t.Run("success after 10 s, a later cut is an ordinary failure", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		content(r, &p)
		sound(r, &p)
		r.state(Closed)
		r.run(bad)
		r.settle(p, of(fault.Cut))
		if v := r.state(Closed); v.ConsecutiveFailures != 2 {
			t.Errorf("count %d, want 2", v.ConsecutiveFailures)
		}
		if n := r.m.breaker.recent.at(r.now); n != (tally{failures: 6}) {
			t.Errorf("window %+v: only attempts admitted while closed enter it (R29)", n)
		}
	})
	t.Run("a cut after the verdict of a breaker that opened again moves nothing", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		content(r, &p)
		sound(r, &p)
		r.run(times(5, bad)...)
		r.settle(p, of(fault.Cut)) // R27
		if v := r.state(Open); v.ConsecutiveFailures != 5 {
			t.Errorf("count %d", v.ConsecutiveFailures)
		}
	})
	t.Run("one verdict only", func(t *testing.T) {
		r := halfOpen(t, func(s *Settings) { s.Breaker.SuccessThreshold = 2 })
		p := r.admit(0, "m")
		content(r, &p)
		sound(r, &p)
		r.settle(p, good)
		r.state(HalfOpen)
		r.run(good)
		r.state(Closed)
	})
	t.Run("on an ordinary stream nothing happens", func(t *testing.T) {
		r := newRig(t, nil)
		p := r.admit(0, "m")
		before := p
		content(r, &p)
		sound(r, &p)
		if p != before || r.eff != nil {
			t.Error("changed")
		}
		r.settle(p, of(fault.Cut))
		if n := r.m.ConsecutiveFailures(); n != 1 {
			t.Errorf("count %d", n)
		}
	})
}

// R33
func TestProbeLease(t *testing.T) {
	t.Run("one that never settles is taken back", func(t *testing.T) {
		r := halfOpen(t, nil)
		r.admit(0, "m")
		r.pass(time.Minute - 1)
		r.blocked(0, "m", ProbeInFlight, 1)
		r.pass(1)
		r.free(0, "m")
		r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, time.Minute)
	})
	t.Run("settling late does not free another's slot", func(t *testing.T) {
		r := halfOpen(t, nil)
		late := r.admit(0, "m")
		r.pass(time.Minute)
		r.admit(0, "m")
		r.settle(late, of(fault.ClientGone))
		r.blocked(0, "m", ProbeInFlight, time.Minute)
		late.wide = ticket{mark: late.wide.mark, as: judged}
		r.settle(late, bad)
		r.state(HalfOpen)
	})
	t.Run("a timeout at the deadline is the verdict all the same", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		r.pass(time.Minute)
		r.free(0, "m") // someone looked before it could settle
		r.settle(p, of(fault.Timeout))
		r.state(Open)
	})
	t.Run("the soonest end shows", func(t *testing.T) {
		r := halfOpen(t, func(s *Settings) { s.Breaker.HalfOpenMaxProbes = 2 })
		r.admit(0, "m")
		r.pass(20 * time.Second)
		r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, 40*time.Second)
	})
	t.Run("without a deadline it lasts 10 min", func(t *testing.T) {
		r := halfOpen(t, nil)
		_, _, r.eff = r.m.Admit(r.now, 0, "m", time.Time{}, false, r.eff)
		r.blocked(0, "m", ProbeInFlight, 10*time.Minute)
	})
	t.Run("settling twice is harmless", func(t *testing.T) {
		r := halfOpen(t, nil)
		p := r.admit(0, "m")
		r.settle(p, of(fault.ClientGone))
		q := r.admit(0, "m")
		r.settle(p, of(fault.ClientGone))
		r.blocked(0, "m", ProbeInFlight, time.Minute)
		r.settle(q, good)
		if n := r.m.credentials[0].inFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}
