package resilience

import (
	"testing"
	"time"
)

func (r *rig) hear(rows ...Row) { r.eff = r.m.Absorb(r.now, rows, r.eff) }

// proof is the row of an instance whose probe was good at d after the epoch.
func proof(d time.Duration) Row { return Row{Guard: CircuitBreaker, ProvedAt: epoch.Add(d)} }

// period is the row of an instance whose breaker opened at from, and is open to until, after the epoch.
func period(from, until time.Duration) Row {
	return Row{Guard: CircuitBreaker, Failures: 5, FailedAt: epoch.Add(from), Since: epoch.Add(from), Until: epoch.Add(until), Trip: tripFailures}
}

func twoProofs(s *Settings) { s.Breaker.SuccessThreshold = 2 }

// R66: one instance's good probe makes the others half-open early, and closes none of them.
func TestProofOfAnother(t *testing.T) {
	t.Run("half-open at once", func(t *testing.T) {
		r := opened(t, nil)
		r.pass(10 * time.Second)
		r.take()
		r.hear(proof(9 * time.Second))
		if eff := r.take(); len(eff) != 1 || eff[0].From != "open" || eff[0].To != "half_open" {
			t.Errorf("%+v", eff)
		}
		v := r.state(HalfOpen)
		if !v.RetryAt.Equal(epoch.Add(9*time.Second)) || v.ConsecutiveFailures != 5 {
			t.Errorf("%+v", v)
		}
		p := r.admit(0, "m")
		if !p.Probe() {
			t.Error("what follows is no probe")
		}
		r.blocked(0, "m", ProbeInFlight, time.Minute)
		r.settle(p, good)
		r.state(Closed)
	})
	t.Run("own evidence alone closes", func(t *testing.T) {
		r := opened(t, nil)
		r.pass(10 * time.Second)
		for range 20 {
			r.pass(time.Second)
			r.hear(proof(r.now.Sub(epoch)))
		}
		r.state(HalfOpen)
	})
	t.Run("a bad probe of its own opens it again, whatever was good before", func(t *testing.T) {
		r := opened(t, nil)
		r.pass(10 * time.Second)
		r.hear(proof(9 * time.Second))
		r.run(bad)
		r.hear(proof(9 * time.Second))
		if v := r.state(Open); !v.RetryAt.Equal(r.now.Add(30 * time.Second)) {
			t.Errorf("%+v", v)
		}
		r.pass(time.Second)
		r.hear(proof(11 * time.Second))
		r.state(HalfOpen)
	})
	t.Run("a proof at the moment of the opening proves nothing", func(t *testing.T) {
		r := opened(t, nil)
		r.hear(proof(0))
		r.state(Open)
	})
	t.Run("a proof from the future is of now", func(t *testing.T) { // R63: clocks differ
		r := opened(t, nil)
		r.pass(time.Second)
		r.hear(proof(time.Hour))
		r.state(HalfOpen)
		r.pass(time.Second)
		r.run(bad)
		r.state(Open)
	})
	t.Run("a period that began before it makes half-open only", func(t *testing.T) {
		r := newRig(t, nil)
		r.pass(20 * time.Second)
		r.hear(proof(15 * time.Second))
		r.hear(period(5*time.Second, 35*time.Second))
		r.state(HalfOpen)
		r.hear(period(16*time.Second, 30*time.Second))
		if v := r.state(Open); !v.RetryAt.Equal(epoch.Add(35 * time.Second)) {
			t.Errorf("caution wins: %+v", v)
		}
	})
	t.Run("two proofs in a row are two of its own", func(t *testing.T) {
		r := opened(t, twoProofs)
		r.pass(10 * time.Second)
		r.hear(proof(9*time.Second), proof(8*time.Second))
		r.run(good)
		r.state(HalfOpen)
		r.run(good)
		r.state(Closed)
	})
	t.Run("a failure that others saw breaks the row", func(t *testing.T) {
		r := opened(t, twoProofs)
		r.pass(31 * time.Second)
		r.run(good)
		r.hear(period(31*time.Second, 61*time.Second))
		r.state(Open)
		r.pass(31 * time.Second)
		r.run(good)
		r.state(HalfOpen)
	})
	t.Run("an operator's word is stronger", func(t *testing.T) {
		r := newRig(t, nil)
		if _, err := r.m.Operate(r.now, Order{Action: ForceOpen}, nil); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.hear(proof(time.Second))
		r.state(Open)
	})
	t.Run("the model's own", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.Scope = PerModel })
		r.run(times(5, bad)...)
		r.pass(time.Second)
		of := proof(time.Second)
		of.Model = "x"
		r.hear(of)
		r.blocked(0, "m", CircuitOpen, 29*time.Second)
		of.Model = "m"
		r.hear(of)
		r.free(0, "m")
	})
	t.Run("those who keep it for probes of their own keep it from then on", func(t *testing.T) { // R75
		r := opened(t, keptFor(5*time.Second))
		r.pass(10 * time.Second)
		r.hear(proof(10 * time.Second))
		r.kept()
		r.pass(5 * time.Second)
		r.free(0, "m")
	})
}

// R66: what an instance tells of its own probes.
func TestRowsOfProofs(t *testing.T) {
	told := func(r *rig) (at time.Time) {
		for _, row := range r.m.Rows(r.now, nil) {
			at = row.ProvedAt
		}
		return at
	}
	r := opened(t, twoProofs)
	r.pass(30 * time.Second)
	r.run(good)
	if at := told(r); !at.Equal(r.now) {
		t.Errorf("half-open still: %v", at)
	}
	r.run(good)
	r.state(Closed)
	if at := told(r); !at.Equal(r.now) {
		t.Errorf("closed: %v", at)
	}
	proved := r.now
	r.pass(10*time.Minute - time.Second)
	if at := told(r); !at.Equal(proved) {
		t.Errorf("as long as an open period may last: %v", at)
	}
	r.pass(time.Second)
	if rows := r.m.Rows(r.now, nil); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	r.run(times(5, bad)...)
	r.pass(30 * time.Second)
	r.run(good)
	r.run(bad)
	if at := told(r); !at.IsZero() {
		t.Errorf("it opened since: %v", at)
	}
	r.pass(time.Second)
	r.hear(proof(r.now.Sub(epoch)))
	r.state(HalfOpen)
	if at := told(r); !at.IsZero() {
		t.Errorf("another's was told on: %v", at)
	}
	if n := r.m.Proofs(); n != 3 {
		t.Errorf("%d proofs", n)
	}
}

// R66: the fleet's probes are one instance's; the others wait for it, but not for long.
func TestYield(t *testing.T) {
	yielding := func(t *testing.T, change func(*Settings)) *rig {
		t.Helper()
		r := opened(t, change)
		if !r.m.Yield(r.now, "", epoch, epoch.Add(40*time.Second)) {
			t.Fatal("it does not yield")
		}
		r.blocked(0, "m", CircuitOpen, 30*time.Second)
		r.pass(30 * time.Second)
		r.blocked(0, "m", ProbeInFlight, 10*time.Second)
		return r
	}
	t.Run("until its bound", func(t *testing.T) {
		r := yielding(t, nil)
		if _, b := r.try(0, "m", false); b.Reason != ProbeInFlight {
			t.Errorf("%+v", b)
		}
		if h, _ := r.m.Fitness(r.now, "m"); h != 0 {
			t.Errorf("health %v", h)
		}
		r.pass(10 * time.Second)
		r.admit(0, "m")
		r.blocked(0, "m", ProbeInFlight, time.Minute)
	})
	t.Run("a good probe of the holder ends it", func(t *testing.T) {
		r := yielding(t, nil)
		r.pass(time.Second)
		r.hear(proof(31 * time.Second))
		r.free(0, "m")
	})
	t.Run("a good one of its own ends it", func(t *testing.T) {
		r := yielding(t, twoProofs)
		r.settle(r.force(0, "m"), good)
		r.free(0, "m")
	})
	t.Run("a bad one of the holder begins another period", func(t *testing.T) {
		r := yielding(t, nil)
		r.pass(time.Second)
		r.hear(period(31*time.Second, 36*time.Second))
		r.blocked(0, "m", CircuitOpen, 5*time.Second)
		r.pass(5 * time.Second)
		r.free(0, "m")
	})
	t.Run("forced tries pass, and decide as ever", func(t *testing.T) {
		r := yielding(t, nil)
		r.settle(r.force(0, "m"), bad)
		r.blocked(0, "m", ProbeInFlight, 10*time.Second)
		r.settle(r.force(0, "m"), good)
		r.state(Closed)
	})
	t.Run("probes of the gateway's own wait, too", func(t *testing.T) { // R75
		r := opened(t, keptFor(time.Second))
		r.m.Yield(r.now, "", epoch, epoch.Add(40*time.Second))
		r.pass(30 * time.Second)
		if _, b, ok := r.probe("m"); !ok || b.Reason != ProbeInFlight || !b.Until.Equal(epoch.Add(40*time.Second)) {
			t.Errorf("%+v %t", b, ok)
		}
		r.pass(10 * time.Second)
		if _, b, ok := r.probe("m"); !ok || b.Blocked() {
			t.Errorf("%+v %t", b, ok)
		}
	})
	t.Run("an operator ends it", func(t *testing.T) {
		for _, a := range []Action{Reset, ForceClosed} {
			r := yielding(t, nil)
			if _, err := r.m.Operate(r.now, Order{Action: a}, nil); err != nil {
				t.Fatal(err)
			}
			r.free(0, "m")
		}
		r := yielding(t, nil)
		if _, err := r.m.Operate(r.now, Order{Action: ForceOpen, Until: r.now.Add(time.Second)}, nil); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		r.free(0, "m")
	})
	t.Run("the same period is told by a clock that is not quite the same", func(t *testing.T) { // R63
		r := newRig(t, nil)
		r.pass(time.Second)
		r.hear(period(0, 30*time.Second))
		r.hear(period(3*time.Millisecond, 30*time.Second+3*time.Millisecond))
		if !r.m.Yield(r.now, "", epoch, epoch.Add(40*time.Second)) {
			t.Error("it does not know the period any more")
		}
		r.pass(30 * time.Second)
		r.blocked(0, "m", ProbeInFlight, 9*time.Second)
		r.hear(period(5*time.Millisecond, 30*time.Second+5*time.Millisecond))
		r.blocked(0, "m", ProbeInFlight, 9*time.Second)
		r.hear(period(501*time.Millisecond, 30*time.Second+501*time.Millisecond))
		r.free(0, "m")
	})
	t.Run("of a period that is not", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.Scope = Auto })
		later := epoch.Add(time.Hour)
		if r.m.Yield(r.now, "", time.Time{}, later) || r.m.Yield(r.now, "m", epoch, later) {
			t.Error("a closed one yields")
		}
		r.run(times(5, bad)...)
		if r.m.Yield(r.now, "m", epoch.Add(time.Second), later) || r.m.Yield(r.now, "m", epoch, epoch) || !r.m.Yield(r.now, "m", epoch, later) {
			t.Error("of its own period alone, and with an end to come")
		}
		if _, err := r.m.Operate(r.now, Order{Action: ForceOpen, Model: "m"}, nil); err != nil {
			t.Fatal(err)
		}
		if r.m.Yield(r.now, "m", epoch, later) {
			t.Error("what an operator holds yields")
		}
	})
}

// R63: a block that is heard of again by a clock that is not quite the same is no news.
func TestHeardAgain(t *testing.T) {
	r := newRig(t, nil, Credential{Name: "a"})
	r.pass(time.Second)
	for _, tt := range []struct {
		until time.Duration
		news  int
	}{{30 * time.Second, 1}, {30*time.Second + 3*time.Millisecond, 0}, {30*time.Second - 3*time.Millisecond, 0}, {31 * time.Second, 1}} {
		r.hear(Row{Guard: CredentialCooldownGuard, Credential: "a", Since: epoch, Until: epoch.Add(tt.until), Reason: RateLimited})
		if eff := r.take(); len(eff) != tt.news {
			t.Errorf("until %v: %+v", tt.until, eff)
		}
	}
	r.blocked(0, "m", RateLimited, 30*time.Second)
}

// R66: whose lease is to be taken soon.
func TestDue(t *testing.T) {
	r := newRig(t, func(s *Settings) { s.Breaker.Scope = PerModel })
	due := func(within time.Duration) []Due { return r.m.Due(r.now, within, nil) }
	if d := due(time.Hour); d != nil {
		t.Errorf("%+v", d)
	}
	r.run(times(5, bad)...)
	r.pass(time.Second)
	of := period(time.Second, 20*time.Second)
	of.Model = "x"
	r.hear(of)
	own := Due{Model: "m", OpenedAt: epoch, RetryAt: epoch.Add(30 * time.Second)}
	heard := Due{Model: "x", OpenedAt: epoch.Add(time.Second), RetryAt: epoch.Add(20 * time.Second), Heard: true}
	if d := due(29 * time.Second); len(d) != 2 || d[0] != own || d[1] != heard {
		t.Errorf("%+v", d)
	}
	if d := due(20 * time.Second); len(d) != 1 || d[0] != heard {
		t.Errorf("%+v", d)
	}
	of.Model, of.Until = "m", epoch.Add(40*time.Second) // which ends later than its own
	r.hear(of)
	if d := due(time.Hour); len(d) != 2 || !d[0].Heard || !d[0].RetryAt.Equal(of.Until) {
		t.Errorf("%+v", d)
	}
	if _, err := r.m.Operate(r.now, Order{Action: ForceOpen, Model: "m", Until: r.now.Add(time.Minute)}, nil); err != nil {
		t.Fatal(err)
	}
	if d := due(time.Hour); len(d) != 1 || d[0] != heard {
		t.Errorf("an operator's: %+v", d)
	}
	r.pass(19 * time.Second)
	if d := due(time.Hour); len(d) != 0 {
		t.Errorf("over: %+v", d)
	}
}
