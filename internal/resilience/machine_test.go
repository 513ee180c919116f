package resilience

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evergate/internal/fault"
)

func TestNewIsClear(t *testing.T) {
	m := New(Defaults(), RoundRobin, nil)
	if m.Credentials() != 1 {
		t.Errorf("%d credentials", m.Credentials())
	}
	v, eff := m.View(epoch, nil)
	if d := cmp.Diff(View{Credentials: []CredentialView{{Name: "default", State: "ok"}}}, v); d != "" || eff != nil {
		t.Error(d, eff)
	}
}

// A reload keeps every guard's state.
func TestConfigureKeepsState(t *testing.T) {
	r := newRig(t, nil, Credential{Name: "a", Identity: 1}, Credential{Name: "b", Identity: 2}, Credential{Name: "c", Identity: 3})
	inFlight := []Permit{r.admit(0, "m"), r.admit(1, "m"), r.admit(2, "m")}
	r.settle(r.admit(0, "m"), named(fault.RateLimited, time.Minute))
	r.settle(r.admit(1, "m"), named(fault.RateLimited, 2*time.Minute))
	r.settle(r.admit(2, "m"), named(fault.ModelLimited, 3*time.Minute))
	r.settle(r.admit(2, "x"), named(fault.RateLimited, 4*time.Minute))
	r.settle(r.force(2, "gone"), of(fault.ModelMissing))
	for _, p := range []Permit{r.force(0, "m"), r.force(1, "m")} {
		r.settle(p, bad)
	}

	// a moved, b has a new secret, c went away, d is new.
	r.m.Configure(Defaults(), RoundRobin, []Credential{{Name: "d", Identity: 4}, {Name: "b", Identity: 5}, {Name: "a", Identity: 1}})
	if n := r.m.ConsecutiveFailures(); n != 2 {
		t.Errorf("count %d", n)
	}
	r.free(0, "m")
	r.free(1, "m")
	r.blocked(2, "m", RateLimited, time.Minute)
	r.blocked(0, "gone", ModelNotFound, time.Minute)
	if n := len(r.m.lockouts); n != 1 {
		t.Errorf("%d lockouts", n)
	}

	// Permits from before move only the credential they were for, wherever it is now.
	r.settle(inFlight[2], of(fault.Auth))
	r.settle(inFlight[2], of(fault.ModelLimited))
	r.settle(inFlight[1], of(fault.Auth))
	r.free(0, "m")
	r.free(1, "m")
	r.take()
	r.settle(inFlight[0], named(fault.RateLimited, 5*time.Minute))
	r.blocked(2, "m", RateLimited, 5*time.Minute)
	if e := r.take(); len(e) != 1 || e[0].Credential != 2 {
		t.Errorf("%+v", e)
	}
	for i := range r.m.credentials {
		if n := r.m.credentials[i].inFlight; n != 0 {
			t.Errorf("credential %d: %d in flight", i, n)
		}
	}

	// What is of the provider still counts.
	late := r.admit(0, "y")
	r.m.Configure(Defaults(), RoundRobin, nil)
	r.settle(late, of(fault.ModelMissing))
	r.blocked(0, "y", ModelNotFound, time.Minute)
}

func TestConfigureKeepsBreaker(t *testing.T) {
	r := opened(t, nil)
	s := Defaults()
	s.Breaker.Timeout = time.Hour
	r.m.Configure(s, RoundRobin, nil)
	r.blocked(0, "m", CircuitOpen, 30*time.Second)
	r.pass(30 * time.Second)
	p := r.admit(0, "m")
	r.m.Configure(s, RoundRobin, nil)
	r.blocked(0, "m", ProbeInFlight, time.Minute)
	r.settle(p, bad)
	r.blocked(0, "m", CircuitOpen, time.Hour)
}

// Two of one name are the user's mistake, but no state is shared by it.
func TestConfigureTwoOfOneName(t *testing.T) {
	r := newRig(t, nil, pool("a")...)
	r.run(of(fault.Quota))
	r.m.Configure(Defaults(), RoundRobin, pool("a", "a"))
	r.blocked(0, "m", QuotaExhausted, time.Hour)
	r.free(1, "m")
}

// A guard that was turned off by a reload blocks nothing, whatever was set before.
func TestConfigureTurnsGuardsOff(t *testing.T) {
	r := newRig(t, nil)
	a := r.admit(0, "m")
	r.run(of(fault.Quota))
	r.settle(a, of(fault.ModelMissing))
	s := Defaults()
	s.CredentialCooldown.Base, s.ModelLockout.Base = 0, 0
	r.m.Configure(s, RoundRobin, nil)
	r.free(0, "m")
	if v := r.view(); v.Credentials[0].State != "ok" || v.Lockouts != nil {
		t.Errorf("%+v", v)
	}
}

// An index from an older list has no guard but the provider's.
func TestUnknownCredential(t *testing.T) {
	r := newRig(t, nil)
	for _, i := range []int{-1, 1} {
		r.free(i, "m")
		r.settle(r.admit(i, "m"), of(fault.Quota))
		r.settle(r.force(i, "m"), good)
		r.free(i, "m")
	}
	r.run(of(fault.ModelMissing))
	r.blocked(7, "m", ModelNotFound, time.Minute)
	r.force(7, "m")
}

// R16: a success is one, whatever the class says.
func TestSuccessWins(t *testing.T) {
	r := newRig(t, nil)
	r.run(bad, Outcome{Success: true, Class: fault.Quota})
	r.free(0, "m")
	if n := r.m.ConsecutiveFailures(); n != 0 {
		t.Errorf("count %d", n)
	}
}
