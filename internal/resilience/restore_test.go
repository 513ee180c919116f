package resilience

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// R65: what was known before a restart, as far as it still blocks.
func TestRestore(t *testing.T) {
	// restarted is another process, which is told what one that had a history knew.
	restarted := func(now *time.Time, scope Scope, rows []Row) instance {
		i := newInstance(now, scope)
		i.m.Restore(*now, rows, nil)
		return i
	}
	t.Run("blocks that run are honoured, with their levels", func(t *testing.T) {
		for _, scope := range []Scope{PerProvider, PerModel, Auto} {
			now := epoch
			a := newInstance(&now, scope)
			a.run("m", of(fault.Quota), of(fault.ModelMissing), of(fault.ModelLimited), bad, bad, bad)
			now = now.Add(10 * time.Second)
			b := restarted(&now, scope, a.rows())
			want, got := a.view(), b.view()
			want.Breaker.FailuresTotal, got.Breaker.FailuresTotal = 0, 0
			if scope != PerProvider {
				want.Models[0].FailuresTotal, want.Breaker.ConsecutiveFailures = 0, 0 // the provider's count is no evidence here
			}
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%v:\n%+v\n%+v", scope, want, got)
			}
			if rows := b.rows(); len(rows) != 0 {
				t.Errorf("told on as its own: %+v", rows)
			}
		}
	})
	t.Run("what is over is not", func(t *testing.T) {
		now := epoch
		a := newInstance(&now, PerProvider)
		a.run("m", of(fault.RateLimited), of(fault.ModelMissing), bad, bad, bad)
		rows := a.rows()
		now = now.Add(time.Minute)
		if v := restarted(&now, PerProvider, rows).view(); v.Breaker.State != Closed || v.Breaker.ConsecutiveFailures != 0 || v.Credentials[0].Level != 0 || len(v.Lockouts) > 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("counts are not", func(t *testing.T) {
		now := epoch
		a := newInstance(&now, PerProvider)
		a.run("m", bad, bad)
		if n := restarted(&now, PerProvider, a.rows()).m.ConsecutiveFailures(); n != 0 {
			t.Error(n)
		}
	})
	t.Run("offences escalate on, the higher ones", func(t *testing.T) {
		r := newRig(t, nil)
		of := period(-time.Minute, time.Minute)
		of.Trip, of.Level = tripCooldown, 2
		less := of
		less.Level, less.Until = 1, of.Until.Add(time.Second)
		r.m.Restore(r.now, []Row{of, less}, nil)
		r.pass(time.Minute + time.Second)
		r.run(bad)
		if v := r.state(Open); v.Offences != 3 || !v.RetryAt.Equal(r.now.Add(4*time.Minute)) {
			t.Errorf("%+v", v)
		}
	})
	t.Run("offences of one that had closed fade when they would have", func(t *testing.T) {
		row := proof(-time.Minute)
		row.Level = 2
		r := newRig(t, nil)
		r.m.Restore(r.now, []Row{row}, nil)
		if v := r.state(Closed); v.Offences != 2 {
			t.Errorf("%+v", v)
		}
		r.pass(9*time.Minute - time.Second)
		if v := r.state(Closed); v.Offences != 2 {
			t.Errorf("%+v", v)
		}
		r.pass(time.Second)
		if v := r.state(Closed); v.Offences != 0 {
			t.Errorf("%+v", v)
		}
		r.m.Restore(r.now, []Row{row}, nil)
		if v := r.state(Closed); v.Offences != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("a level escalates on", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"})
		row := Row{Guard: CredentialCooldownGuard, Credential: "a", Since: epoch.Add(-time.Second), Until: epoch.Add(time.Second), Reason: RateLimited, Level: 3}
		r.m.Restore(r.now, []Row{row}, nil)
		r.blocked(0, "m", RateLimited, time.Second)
		r.pass(time.Second)
		r.run(of(fault.RateLimited))
		r.blocked(0, "m", RateLimited, 8*time.Second)
		r.settle(r.force(0, "m"), good)
		if v := r.view(); v.Credentials[0].Level != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("Absorb takes no level", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"})
		of := period(0, time.Minute)
		of.Level = 5
		r.pass(time.Second)
		r.hear(of, Row{Guard: CredentialCooldownGuard, Credential: "a", Since: epoch, Until: epoch.Add(time.Minute), Reason: RateLimited, Level: 3})
		if v := r.view(); v.Breaker.Offences != 0 || v.Credentials[0].Level != 0 || v.Credentials[0].State != "cooldown" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("a good probe stays one", func(t *testing.T) { // R66
		r := newRig(t, nil)
		r.pass(10 * time.Second)
		r.m.Restore(r.now, []Row{period(0, time.Minute), proof(5 * time.Second)}, nil)
		r.state(HalfOpen)
	})
	t.Run("a key that was changed starts unblocked", func(t *testing.T) {
		row := Row{Guard: CredentialCooldownGuard, Credential: "a", Secret: 7, Since: epoch.Add(-1), Until: epoch.Add(time.Hour), Reason: AuthFailed}
		lock := row
		lock.Guard, lock.Model, lock.Reason = ModelLockoutGuard, "m", ModelLimited
		for _, tt := range []struct {
			here, there uint32
			blocked     bool
		}{{7, 7, true}, {8, 7, false}, {0, 7, true}, {7, 0, true}} {
			row.Secret, lock.Secret = tt.there, tt.there
			for _, one := range []Row{row, lock} {
				r := newRig(t, nil, Credential{Name: "a", Fingerprint: tt.here})
				r.m.Restore(r.now, []Row{one}, nil)
				r.m.Absorb(r.now, []Row{one}, nil)
				if b, _ := r.m.Check(r.now, 0, "m", nil); b.Blocked() != tt.blocked {
					t.Errorf("%+v, %v: %+v", tt, one.Guard, b)
				}
			}
		}
		r := newRig(t, nil, Credential{Name: "a", Fingerprint: 9})
		r.run(of(fault.Quota))
		r.settle(r.force(0, "x"), of(fault.ModelLimited))
		for _, row := range r.m.Rows(r.now, nil) {
			if row.Secret != 9 {
				t.Errorf("%+v", row)
			}
		}
	})
}

// R62: however much others say, what is known here keeps its room.
func TestHearingMakesNoRoomOfWhatRuns(t *testing.T) {
	r := newRig(t, func(s *Settings) { s.Breaker.Scope = PerModel })
	for i := range maxLockouts {
		r.settle(r.force(0, fmt.Sprint("own", i)), of(fault.ModelMissing))
	}
	for i := range maxModels {
		for range 5 {
			r.settle(r.force(0, fmt.Sprint("own", i)), bad)
		}
	}
	before := r.view()
	r.pass(time.Second)
	var rows []Row
	for i := range 2000 {
		of := period(time.Second/2, time.Hour)
		of.Model = fmt.Sprint("other", i)
		rows = append(rows, of, Row{Guard: ModelLockoutGuard, Model: of.Model, Since: of.Since, Until: of.Until})
	}
	r.hear(rows...)
	if after := r.view(); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error(cmp.Diff(before, after))
	}
}

// R31: an order of the fleet keeps who gave it and when, and one that comes late undoes nothing younger.
func TestOrdersOfTheFleet(t *testing.T) {
	order := func(a Action, at time.Duration) Order {
		return Order{Action: a, By: "10.0.0.9", At: epoch.Add(at), Reason: "why"}
	}
	operate := func(r *rig, o Order) {
		t.Helper()
		if _, err := r.m.Operate(r.now, o, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("in force", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.Breaker.Scope = PerModel })
		held, short := order(ForceOpen, 0), order(ForceClosed, 0)
		held.Model, short.Until = "m", epoch.Add(time.Minute)
		operate(r, short)
		operate(r, held)
		if got := r.m.Orders(r.now, nil); len(got) != 2 || got[0] != short || got[1] != held {
			t.Errorf("%+v", got)
		}
		r.pass(time.Minute)
		if got := r.m.Orders(r.now, nil); len(got) != 1 || got[0] != held {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a reset that comes late leaves what opened since", func(t *testing.T) {
		r := opened(t, nil)
		r.pass(10 * time.Second)
		operate(r, order(Reset, -time.Second))
		r.state(Open)
		operate(r, order(Reset, 5*time.Second))
		r.state(Closed)
		r.hear(period(6*time.Second, time.Minute)) // younger than the order
		r.state(Open)
	})
	t.Run("and what others saw open since", func(t *testing.T) {
		r := newRig(t, nil)
		r.hear(period(time.Second, time.Minute))
		r.pass(10 * time.Second)
		operate(r, order(Reset, 0))
		r.state(Open)
		operate(r, order(Reset, 10*time.Second))
		r.state(Closed)
	})
	t.Run("and a count that began since", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(bad, bad)
		r.pass(10 * time.Second)
		operate(r, order(Reset, -time.Second))
		if n := r.m.ConsecutiveFailures(); n != 2 {
			t.Error(n)
		}
		operate(r, order(Reset, time.Second))
		if n := r.m.ConsecutiveFailures(); n != 0 {
			t.Error(n)
		}
	})
}
