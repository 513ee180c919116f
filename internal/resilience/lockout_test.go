package resilience

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

// R41: how long, by class, level and the upstream's word.
func TestCooldownLength(t *testing.T) {
	const max10 = 10 * time.Minute
	cases := []struct {
		name    string
		change  func(*CredentialCooldown)
		outcome Outcome
		level   int
		rnd     float64
		want    time.Duration
		named   bool
	}{
		{"base", nil, of(fault.RateLimited), 0, 0.5, time.Second, false},
		{"least jitter", nil, of(fault.RateLimited), 0, 0, 900 * time.Millisecond, false},
		{"most jitter", nil, of(fault.RateLimited), 0, 1, 1100 * time.Millisecond, false},
		{"doubled", nil, of(fault.RateLimited), 3, 0.5, 8 * time.Second, false},
		{"at most max, after the jitter", nil, of(fault.RateLimited), 10, 1, max10, false},
		{"no overflow", nil, of(fault.RateLimited), 1 << 40, 0.5, max10, false},
		{"no overflow without a max", func(c *CredentialCooldown) { c.Max = 0 }, of(fault.RateLimited), 1 << 40, 1, math.MaxInt64, false},
		{"named", nil, named(fault.RateLimited, 7*time.Second), 3, 0.9, 7 * time.Second, true},
		{"named, capped", nil, named(fault.RateLimited, time.Hour), 0, 0.9, max10, true},
		{"named 0 is no block", nil, named(fault.RateLimited, 0), 3, 0.9, 0, true},
		{"refused", nil, of(fault.Auth), 0, 0.9, time.Minute, false},
		{"refused again", nil, of(fault.Auth), 2, 0.9, 4 * time.Minute, false},
		{"refused, at most 1 h", nil, of(fault.Auth), 30, 0.9, time.Hour, false},
		{"refused, named", nil, named(fault.Auth, 5*time.Second), 0, 0.9, 5 * time.Second, true},
		{"quota", nil, of(fault.Quota), 0, 0.9, time.Hour, false},
		{"quota does not escalate", nil, of(fault.Quota), 5, 0.9, time.Hour, false},
		{"quota, named", nil, named(fault.Quota, 30*time.Minute), 5, 0.9, 30 * time.Minute, true},
		{"quota, named, capped at quota_base", nil, named(fault.Quota, 20*time.Hour), 5, 0.9, time.Hour, true},
		{"quota, named, capped at max", func(c *CredentialCooldown) { c.Max = 3 * time.Hour }, named(fault.Quota, 20*time.Hour), 5, 0.9, 3 * time.Hour, true},
		{"off", func(c *CredentialCooldown) { c.Base = 0 }, named(fault.RateLimited, time.Minute), 0, 0.5, 0, false},
		{"off for refused", func(c *CredentialCooldown) { c.Base = 0 }, of(fault.Auth), 0, 0.5, 0, false},
		{"off for quota", func(c *CredentialCooldown) { c.Base = 0 }, of(fault.Quota), 0, 0.5, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, func(s *Settings) {
				if c.change != nil {
					c.change(&s.CredentialCooldown)
				}
			})
			r.m.credentials[0].cooldown.level = c.level
			r.rnd = c.rnd
			r.run(c.outcome)
			if c.want == 0 {
				r.free(0, "m")
				if v := r.view().Credentials[0]; v.Level != c.level || len(r.eff) != 0 {
					t.Errorf("%+v, %+v", v, r.eff)
				}
				return
			}
			reason := map[fault.Class]Reason{fault.RateLimited: RateLimited, fault.Auth: AuthFailed, fault.Quota: QuotaExhausted}[c.outcome.Class]
			if b := r.blocked(0, "m", reason, c.want); b.Named != c.named || b.Guard != CredentialCooldownGuard {
				t.Errorf("%+v", b)
			}
			r.blocked(0, "any other model", reason, c.want)
			r.pass(c.want)
			r.free(0, "m")
		})
	}
}

// R4-R9: which guard each class moves, and no other's (R18).
func TestScope(t *testing.T) {
	for _, c := range everyClass() {
		t.Run(c.String(), func(t *testing.T) {
			r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
			r.run(of(c))
			type blocked struct{ AM, BM, AX, BX bool }
			var got, want blocked
			for _, x := range []struct {
				credential int
				model      string
				to         *bool
			}{{0, "m", &got.AM}, {1, "m", &got.BM}, {0, "x", &got.AX}, {1, "x", &got.BX}} {
				b, _ := r.m.Check(r.now, x.credential, x.model, nil)
				*x.to = b.Blocked()
			}
			switch c {
			case fault.RateLimited, fault.Quota, fault.Auth: // the credential
				want = blocked{AM: true, AX: true}
			case fault.ModelMissing: // the model
				want = blocked{AM: true, BM: true}
			case fault.ModelLimited: // both together
				want = blocked{AM: true}
			default:
			}
			if got != want {
				t.Errorf("blocks %+v, want %+v", got, want)
			}
		})
	}
}

func TestCooldownEffectsAndView(t *testing.T) {
	r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
	r.settle(r.admit(1, "m"), named(fault.RateLimited, time.Minute))
	until := r.now.Add(time.Minute)
	want := []Effect{{Guard: CredentialCooldownGuard, Credential: 1, From: "ok", To: "blocked", Reason: RateLimited, Until: until, Level: 1}}
	if d := cmp.Diff(want, r.take()); d != "" {
		t.Error(d)
	}
	wantView := []CredentialView{{Name: "a", State: "ok"}, {Name: "b", State: "cooldown", Level: 1, Until: until, Reason: RateLimited}}
	if d := cmp.Diff(wantView, r.view().Credentials); d != "" {
		t.Error(d)
	}
	r.settle(r.force(1, "m"), good)
	want = []Effect{{Guard: CredentialCooldownGuard, Credential: 1, From: "blocked", To: "ok"}}
	if d := cmp.Diff(want, r.take()); d != "" {
		t.Error(d)
	}
	r.free(1, "m")
}

// R42
func TestOlderResults(t *testing.T) {
	t.Run("concurrent failures count once", func(t *testing.T) {
		r := newRig(t, nil)
		a, b, c := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, of(fault.RateLimited))
		r.settle(b, of(fault.RateLimited))
		r.pass(500 * time.Millisecond)
		r.settle(c, of(fault.Quota))
		r.blocked(0, "m", RateLimited, 500*time.Millisecond)
		if n := r.view().Credentials[0].Level; n != 1 {
			t.Errorf("level %d", n)
		}
	})
	t.Run("nor do they when it is over", func(t *testing.T) {
		r := newRig(t, nil)
		a, b, c := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, of(fault.RateLimited))
		r.pass(2 * time.Second)
		r.settle(b, of(fault.RateLimited))
		r.free(0, "m")
		r.run(good)
		r.settle(c, of(fault.RateLimited))
		r.free(0, "m")
	})
	t.Run("a later named reset moves the end out, never in", func(t *testing.T) {
		r := newRig(t, nil)
		a, b, c, d := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, of(fault.RateLimited))
		r.settle(b, named(fault.RateLimited, 20*time.Second))
		if x := r.blocked(0, "m", RateLimited, 20*time.Second); !x.Named {
			t.Error("not named")
		}
		r.settle(c, named(fault.RateLimited, 5*time.Second))
		r.blocked(0, "m", RateLimited, 20*time.Second)
		r.settle(d, named(fault.Quota, 30*time.Second))
		r.blocked(0, "m", QuotaExhausted, 30*time.Second)
		if n := r.view().Credentials[0].Level; n != 1 {
			t.Errorf("level %d", n)
		}
		if e := r.take(); len(e) != 3 || e[1].From != "blocked" || e[1].To != "blocked" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("a success from before it does not end it", func(t *testing.T) {
		r := newRig(t, nil)
		a, b := r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, named(fault.RateLimited, time.Minute))
		r.settle(b, good)
		r.blocked(0, "m", RateLimited, time.Minute)
		if n := r.view().Credentials[0].Level; n != 1 {
			t.Errorf("level %d", n)
		}
	})
	t.Run("a success from after it does", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(named(fault.RateLimited, time.Minute))
		r.settle(r.force(0, "m"), good)
		r.free(0, "m")
		if n := r.view().Credentials[0].Level; n != 0 {
			t.Errorf("level %d", n)
		}
	})
	t.Run("nor does it end what a late named reset set anew", func(t *testing.T) {
		r := newRig(t, nil)
		old := r.admit(0, "m")
		r.run(of(fault.RateLimited))
		r.pass(2 * time.Second)
		between := r.admit(0, "m")
		r.settle(old, named(fault.RateLimited, time.Minute))
		r.settle(between, good)
		r.blocked(0, "m", RateLimited, time.Minute)
		if n := r.view().Credentials[0].Level; n != 1 {
			t.Errorf("level %d", n)
		}
	})
	t.Run("other answers reset nothing", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(of(fault.RateLimited))
		r.pass(time.Second)
		r.run(of(fault.Rejected), bad, of(fault.ClientGone))
		if n := r.view().Credentials[0].Level; n != 1 {
			t.Errorf("level %d", n)
		}
	})
	t.Run("one of another credential does not count as admitted before", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
		p := r.admit(1, "m")
		r.run(of(fault.RateLimited)) // a
		r.settle(p, of(fault.RateLimited))
		r.blocked(1, "m", RateLimited, time.Second)
	})
}

// R45
func TestLevelOutlivesTheBlock(t *testing.T) {
	r := newRig(t, nil)
	for level, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		r.run(of(fault.RateLimited))
		r.blocked(0, "m", RateLimited, want)
		r.pass(time.Hour)
		if v := r.view().Credentials[0]; v.Level != level+1 || v.State != "ok" || !v.Until.IsZero() || v.Reason != "" {
			t.Errorf("%+v", v)
		}
	}
	r.run(good, of(fault.RateLimited))
	r.blocked(0, "m", RateLimited, time.Second)
}

// R51: an early try that fails raises the level and moves the end out only.
func TestEarlyTryFails(t *testing.T) {
	r := newRig(t, nil)
	r.run(named(fault.RateLimited, time.Minute))
	r.settle(r.force(0, "m"), of(fault.RateLimited))
	if b := r.blocked(0, "m", RateLimited, time.Minute); !b.Named {
		t.Error("no longer named")
	}
	r.settle(r.force(0, "m"), named(fault.RateLimited, 2*time.Minute))
	r.blocked(0, "m", RateLimited, 2*time.Minute)
	if n := r.view().Credentials[0].Level; n != 3 {
		t.Errorf("level %d", n)
	}
}

// R51: one early try at a time where the upstream named the end.
func TestEarlyLease(t *testing.T) {
	r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
	r.run(named(fault.RateLimited, 5*time.Minute))
	if b := r.blocked(0, "m", RateLimited, 5*time.Minute); b.Early {
		t.Error("early without a try")
	}
	first := r.force(0, "m")
	refused := func() {
		t.Helper()
		p, b := r.try(0, "m", true)
		if !b.Early || !b.Named || b.Reason != RateLimited || p != (Permit{}) {
			t.Fatalf("second early try: %+v", b)
		}
		if b, _ := r.m.Check(r.now, 0, "m", nil); !b.Early {
			t.Error("Check does not say so")
		}
		if r.m.credentials[0].inFlight != 1 {
			t.Errorf("%d in flight", r.m.credentials[0].inFlight)
		}
	}
	refused()
	r.pass(time.Minute - 1)
	refused()
	r.pass(1) // the lease ends with the attempt's deadline
	second := r.force(0, "m")
	r.settle(first, of(fault.ClientGone)) // must not free the second's
	r.pass(1)
	refused()
	r.settle(second, of(fault.ClientGone))
	third := r.force(0, "m")
	r.settle(third, good)
	r.free(0, "m")

	t.Run("none is needed where it is our own guess", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(of(fault.Quota))
		r.force(0, "m")
		r.force(0, "m")
	})
	t.Run("a named model limit needs it too", func(t *testing.T) {
		r := newRig(t, nil)
		r.run(named(fault.ModelLimited, time.Minute))
		r.force(0, "m")
		refused, b := r.try(0, "m", true)
		if !b.Early || b.Guard != ModelLockoutGuard || refused != (Permit{}) {
			t.Errorf("%+v", b)
		}
		r.free(0, "x")
	})
	t.Run("behind an open breaker too", func(t *testing.T) {
		r := newRig(t, nil)
		p := r.admit(0, "m")
		r.run(times(5, bad)...)
		r.settle(p, named(fault.RateLimited, 10*time.Minute))
		r.force(0, "m")
		if _, b := r.try(0, "m", true); !b.Early || b.Guard != CredentialCooldownGuard {
			t.Errorf("%+v", b)
		}
		if b := r.blocked(0, "m", CircuitOpen, 30*time.Second); !b.Early || b.Named {
			t.Errorf("%+v", b)
		}
	})
}

// R43, R9
func TestModelLockout(t *testing.T) {
	t.Run("escalates and clears", func(t *testing.T) {
		r := newRig(t, nil)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			r.run(of(fault.ModelMissing))
			if b := r.blocked(0, "m", ModelNotFound, want*time.Minute); b.Named || b.Guard != ModelLockoutGuard {
				t.Errorf("%+v", b)
			}
			r.pass(want * time.Minute)
		}
		r.run(good, of(fault.ModelMissing))
		r.blocked(0, "m", ModelNotFound, time.Minute)
		r.settle(r.force(0, "m"), good)
		r.free(0, "m")
	})
	t.Run("older results", func(t *testing.T) { // R42
		r := newRig(t, nil)
		a, b, c := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, of(fault.ModelMissing))
		r.settle(b, of(fault.ModelMissing))
		r.blocked(0, "m", ModelNotFound, time.Minute)
		r.settle(c, good)
		r.blocked(0, "m", ModelNotFound, time.Minute)
	})
	t.Run("an older failure does not lock again what was cleared", func(t *testing.T) {
		r := newRig(t, nil)
		a, b := r.admit(0, "m"), r.admit(0, "m")
		r.settle(a, of(fault.ModelMissing))
		r.settle(r.force(0, "m"), good)
		r.settle(b, of(fault.ModelMissing))
		r.free(0, "m")
	})
	t.Run("effects and view", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
		r.settle(r.admit(1, "m"), of(fault.ModelLimited))
		r.settle(r.admit(0, "m"), of(fault.ModelMissing))
		until := r.now.Add(time.Minute)
		want := []Effect{
			{Guard: ModelLockoutGuard, Credential: 1, Model: "m", From: "ok", To: "blocked", Reason: ModelLimited, Until: until, Level: 1},
			{Guard: ModelLockoutGuard, Credential: -1, Model: "m", From: "ok", To: "blocked", Reason: ModelNotFound, Until: until, Level: 1},
		}
		if d := cmp.Diff(want, r.take()); d != "" {
			t.Error(d)
		}
		wantView := []LockoutView{
			{Model: "m", Until: until, Reason: ModelNotFound, Level: 1},
			{Model: "m", Credential: "b", Until: until, Reason: ModelLimited, Level: 1},
		}
		if d := cmp.Diff(wantView, r.view().Lockouts); d != "" {
			t.Error(d)
		}
		r.settle(r.force(1, "m"), good)
		want = []Effect{
			{Guard: ModelLockoutGuard, Credential: -1, Model: "m", From: "blocked", To: "ok"},
			{Guard: ModelLockoutGuard, Credential: 1, Model: "m", From: "blocked", To: "ok"},
		}
		if d := cmp.Diff(want, r.take()); d != "" {
			t.Error(d)
		}
		if v := r.view().Lockouts; v != nil {
			t.Errorf("%+v", v)
		}
	})
	t.Run("a success on one credential leaves another's", func(t *testing.T) {
		r := newRig(t, nil, Credential{Name: "a"}, Credential{Name: "b"})
		r.settle(r.admit(1, "m"), of(fault.ModelLimited))
		r.settle(r.admit(0, "m"), good)
		r.blocked(1, "m", ModelLimited, time.Minute)
	})
	t.Run("off", func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.ModelLockout.Base = 0 })
		r.run(of(fault.ModelMissing), named(fault.ModelLimited, time.Minute))
		r.free(0, "m")
		if r.eff != nil || len(r.m.lockouts) != 0 {
			t.Errorf("%+v", r.eff)
		}
	})
}

// R6: a named wait of a model's limit.
func TestModelLimitNamed(t *testing.T) {
	for named, want := range map[time.Duration]time.Duration{0: 0, time.Second: time.Second, 3 * time.Hour: time.Hour} {
		r := newRig(t, nil)
		r.run(Outcome{Class: fault.ModelLimited, Wait: fault.Wait{For: named, Named: true}})
		if want == 0 {
			r.free(0, "m")
			continue
		}
		if b := r.blocked(0, "m", ModelLimited, want); !b.Named {
			t.Errorf("%+v", b)
		}
	}
	r := newRig(t, nil) // a 404's is not an end of anything
	r.run(named(fault.ModelMissing, time.Second))
	r.blocked(0, "m", ModelNotFound, time.Minute)
}

// Check names the widest guard, and all of them must clear.
func TestWidestFirst(t *testing.T) {
	r := newRig(t, nil)
	a, b, c := r.admit(0, "m"), r.admit(0, "m"), r.admit(0, "m")
	var failing []Permit
	for range 5 {
		failing = append(failing, r.admit(0, "m"))
	}
	r.settle(a, of(fault.ModelLimited))
	r.blocked(0, "m", ModelLimited, time.Minute)
	r.settle(b, of(fault.ModelMissing))
	r.blocked(0, "m", ModelNotFound, time.Minute)
	r.settle(c, named(fault.RateLimited, 10*time.Second))
	r.blocked(0, "m", RateLimited, 10*time.Second)
	for _, p := range failing {
		r.settle(p, bad)
	}
	r.blocked(0, "m", CircuitOpen, 30*time.Second)
	r.pass(30 * time.Second)
	r.blocked(0, "m", ModelNotFound, 30*time.Second)
}

// Model names come from clients: what is kept of them is bounded.
func TestLockoutsAreBounded(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("m%04d", i) }
	miss := func(r *rig, model string) { r.settle(r.admit(0, model), of(fault.ModelMissing)) }
	t.Run("the one that ends soonest goes", func(t *testing.T) {
		r := newRig(t, nil)
		for i := range maxLockouts {
			miss(r, name(i))
			r.pass(time.Millisecond)
		}
		miss(r, "new")
		r.free(0, name(0))
		r.blocked(0, "new", ModelNotFound, time.Minute)
		if b, _ := r.m.Check(r.now, 0, name(1), nil); !b.Blocked() || len(r.m.lockouts) != maxLockouts {
			t.Errorf("%d kept, the second %+v", len(r.m.lockouts), b)
		}
	})
	t.Run("what is over goes first", func(t *testing.T) {
		r := newRig(t, nil)
		miss(r, "long")
		r.pass(time.Minute)
		miss(r, "long") // 2 min
		for i := range maxLockouts - 1 {
			miss(r, name(i))
		}
		r.pass(time.Minute)
		miss(r, "new")
		r.blocked(0, "long", ModelNotFound, time.Minute)
		if n := len(r.m.lockouts); n != 2 {
			t.Errorf("%d kept", n)
		}
	})
	t.Run("absurd names are not kept", func(t *testing.T) {
		r := newRig(t, nil)
		long := strings.Repeat("m", maxModelName+1)
		miss(r, long)
		r.free(0, long)
		miss(r, long[1:])
		r.blocked(0, long[1:], ModelNotFound, time.Minute)
		for key := range r.m.lockouts {
			if unsafe.StringData(key.model) == unsafe.StringData(long[1:]) {
				t.Error("the name keeps the whole request alive")
			}
		}
	})
}
