package resilience

import (
	"testing"
	"time"
)

// flap is n failures with a success between each two: never five in a row.
func flap(r *rig, n int) {
	for range n - 1 {
		r.run(bad, good)
	}
	r.run(bad)
}

// R29
func TestCooldownTrip(t *testing.T) {
	t.Run("failures within the window", func(t *testing.T) {
		r := newRig(t, nil)
		flap(r, 9)
		r.pass(59 * time.Second)
		r.state(Closed)
		r.run(bad)
		if v := r.state(Open); v.Trip != "cooldown" || v.Offences != 1 || v.ConsecutiveFailures != 2 {
			t.Errorf("%+v", v)
		}
		r.blocked(0, "m", CircuitOpen, time.Minute)
		if e := r.take()[0]; e.Trip != "cooldown" || e.Level != 1 {
			t.Errorf("%+v", e)
		}
		r.pass(time.Minute)
		if v := r.state(HalfOpen); v.Trip != "cooldown" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("not beyond it", func(t *testing.T) {
		r := newRig(t, nil)
		flap(r, 9)
		r.pass(time.Minute)
		r.run(bad)
		r.state(Closed)
	})
	t.Run("not below the ratio", func(t *testing.T) {
		r := newRig(t, nil)
		for range 20 {
			r.run(bad, good, good)
		}
		r.state(Closed)
	})
	t.Run("exactly at the ratio", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(times(10, good)...)
		for range 2 {
			r.run(bad, bad, bad, bad, good)
		}
		r.run(bad, bad, bad)
		r.state(Closed) // 11 of 23
		r.run(bad)
		r.state(Open)
	})
	t.Run("ratio 0 is the literal rule", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Cooldown.Failures, s.Cooldown.MinFailureRatio = 3, 0 })
		r.run(times(100, good)...)
		r.run(bad, good, bad, good, bad)
		r.state(Open)
	})
	t.Run("both at once: R20's wins", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Cooldown.Failures = 5 })
		r.run(times(5, bad)...)
		if v := r.state(Open); v.Trip != "failures" || v.Offences != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("answers that are no failure do not enter", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.CredentialCooldown.Base, s.ModelLockout.Base = 0, 0 })
		for _, c := range everyClass() {
			if !c.BreakerFailure() {
				r.run(of(c))
			}
		}
		if n := r.m.breaker.recent.at(r.now); n != (tally{}) {
			t.Errorf("window %+v", n)
		}
	})
	t.Run("only attempts admitted while closed enter", func(t *testing.T) {
		r := opened(t, nil)
		r.settle(r.force(0, "m"), bad)
		r.pass(30 * time.Second)
		r.run(bad) // a probe
		r.pass(30*time.Second - 1)
		if n := r.m.breaker.recent.at(r.now); n != (tally{failures: 5}) {
			t.Errorf("window %+v", n)
		}
	})
}

// R29
func TestOffencesEscalate(t *testing.T) {
	r := newRig(t, nil)
	flap(r, 10)
	for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		r.blocked(0, "m", CircuitOpen, want)
		if v := r.state(Open); v.Offences != i+1 || v.Trip != "cooldown" {
			t.Fatalf("%+v", v)
		}
		r.pass(want)
		r.run(bad) // a failed probe is the next offence
	}
	r.pass(10 * time.Minute)
	r.run(good)
	if v := r.state(Closed); v.Offences != 7 || v.Trip != "" {
		t.Fatalf("%+v", v)
	}
	r.pass(10*time.Minute - 1)
	if v := r.state(Closed); v.Offences != 7 {
		t.Fatalf("forgotten early: %+v", v)
	}
	r.pass(1)
	if v := r.state(Closed); v.Offences != 0 {
		t.Fatalf("not forgotten: %+v", v)
	}
	flap(r, 10)
	r.blocked(0, "m", CircuitOpen, time.Minute)
}

// R29: after R20's trip a failed probe is no offence.
func TestFailedProbeAfterFailuresIsNoOffence(t *testing.T) {
	r := halfOpen(t, nil)
	r.run(bad)
	if v := r.state(Open); v.Offences != 0 || v.Trip != "failures" {
		t.Errorf("%+v", v)
	}
	r.blocked(0, "m", CircuitOpen, 30*time.Second)
}

func TestWindow(t *testing.T) {
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	fill := func(length time.Duration, times ...time.Duration) *window {
		w := new(window)
		w.resize(length)
		for _, d := range times {
			w.add(at(d), true)
		}
		return w
	}
	cases := []struct {
		name string
		w    *window
		now  time.Duration
		want uint32
	}{
		{"empty", fill(time.Minute), 0, 0},
		{"no length", fill(0, 1, 2), 2, 0},
		{"to the nanosecond", fill(time.Minute, 300*time.Millisecond), 60*time.Second + 300*time.Millisecond - 1, 1},
		{"gone at its length", fill(time.Minute, 300*time.Millisecond), 60*time.Second + 300*time.Millisecond, 0},
		{"one by one", fill(time.Minute, 0, time.Second, 2*time.Second), 61 * time.Second, 1},
		{"after a long silence", fill(time.Minute, 0, 1000*time.Hour), 1000 * time.Hour, 1},
		{"clock backwards", fill(time.Minute, time.Hour, 0, 1), 0, 3},
	}
	for _, c := range cases {
		if got := c.w.at(at(c.now)).failures; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// A change of the length keeps what is still in reach.
	w := fill(time.Minute, 0, 30*time.Second, 40*time.Second)
	w.resize(20 * time.Second)
	if got := w.at(at(45 * time.Second)).failures; got != 2 {
		t.Errorf("shortened: %d, want 2", got)
	}
	w.resize(time.Hour)
	if got := w.at(at(10 * time.Minute)).failures; got != 2 {
		t.Errorf("lengthened: %d, want 2", got)
	}
	w.resize(0)
	if got := w.at(at(10 * time.Minute)).failures; got != 0 {
		t.Errorf("turned off: %d, want 0", got)
	}
}
