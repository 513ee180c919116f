package health

import (
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
)

// R8, R18, R25: whatever is wrong with a caller's key decides nothing about a provider that is probed, but that it answered: a
// limit says not even that, also where none of the gateway's own keys is free.
func TestCallersOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class fault.Class
		state resilience.State
	}{
		{fault.RateLimited, resilience.HalfOpen},
		{fault.Quota, resilience.Closed},
		{fault.CallerAuth, resilience.Closed},
		{fault.Auth, resilience.Closed},
		{fault.ModelMissing, resilience.Closed},
		{fault.ModelLimited, resilience.Closed},
		{fault.Upstream, resilience.Open},
		{fault.ClientGone, resilience.HalfOpen},
	} {
		t.Run(tt.class.String(), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			h := New(&facts{})
			h.Apply([]Config{{Name: "p", Settings: resilience.Defaults(), Credentials: []resilience.Credential{{Name: "k"}}}})
			p := h.Provider("p")
			try := func(credential int, o resilience.Outcome) {
				permit, b := p.Admit(now, credential, "m", now.Add(time.Minute), false)
				if b.Blocked() {
					t.Fatalf("blocked by %+v", b)
				}
				permit.Settle(now, o, Measured{})
			}
			try(0, resilience.Outcome{Class: fault.RateLimited, Wait: fault.Wait{Named: true, For: 9 * time.Minute}}) // no other is free
			for range 5 {
				try(resilience.CallersKey, CallersOutcome(&fault.Fault{Class: fault.Upstream}))
			}
			now = now.Add(31 * time.Second)
			try(resilience.CallersKey, CallersOutcome(&fault.Fault{Class: tt.class}))
			v := p.Snapshot(now).Guards
			if v.Breaker.State != tt.state || len(v.Lockouts) > 0 || v.Credentials[0].Level != 1 {
				t.Errorf("%+v", v)
			}
		})
	}
}
