package health

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

func causes(gs []journal.Guard) (all []string) {
	for _, g := range gs {
		all = append(all, fmt.Sprintf("%s %s by %q", g.Guard, g.To, g.RequestID))
	}
	return all
}

// A transition names the request whose attempt brought it about: the failure that opened, the probe that closed. What time, an
// operator, a probe of the gateway's own or another instance did names none.
func TestTransitionNamesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(nil)
		attempt := func(request string, o resilience.Outcome) {
			now := time.Now()
			permit, b := p.a.Admit(now, 0, "m", now.Add(time.Minute), true)
			if b.Blocked() {
				t.Fatalf("%+v", b)
			}
			permit.For(request)
			permit.Settle(now, o, Measured{})
		}
		want := func(what string, f *facts, want ...string) {
			t.Helper()
			if got := causes(f.guards); !slices.Equal(got, want) {
				t.Errorf("%s: told %q, want %q", what, got, want)
			}
			f.guards = nil
		}
		failed, good := resilience.Outcome{Class: fault.Upstream}, resilience.Outcome{Success: true}

		for i := range 5 {
			attempt(fmt.Sprint("req_", i), failed)
		}
		want("failures", p.fa, `circuit_breaker open by "req_4"`)
		p.b.Absorb(time.Now(), p.a.Rows(time.Now()))
		want("another instance", p.fb, `circuit_breaker open by ""`)

		time.Sleep(31 * time.Second)
		attempt("req_5", good) // the first that comes by; the breaker went half-open by its time
		want("the probe", p.fa, `circuit_breaker half_open by ""`, `circuit_breaker closed by "req_5"`)

		attempt("req_6", resilience.Outcome{Class: fault.Auth})
		want("a cooldown", p.fa, `credential_cooldown blocked by "req_6"`)
		attempt("req_7", good)
		want("its end", p.fa, `credential_cooldown ok by "req_7"`)
		attempt("req_8", resilience.Outcome{Class: fault.ModelMissing})
		want("a lockout", p.fa, `model_lockout blocked by "req_8"`)
		p.fa.guards = nil

		if err := p.a.Operate(time.Now(), resilience.Order{Action: resilience.ForceOpen, Reason: "x"}, "me"); err != nil {
			t.Fatal(err)
		}
		want("an operator", p.fa, `circuit_breaker open by ""`)
	})
}

// A stream that is sound closes the breaker while it runs; that is its request's doing, too (R26). A probe of the gateway's own has no
// request (R75).
func TestASoundStreamNamesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &facts{}
		h := New(f)
		h.Apply([]Config{config("a", "k1")})
		p := h.Provider("a")
		open := func() {
			for range 5 {
				fail(t, p, fault.Upstream)
			}
			time.Sleep(time.Minute)
			f.guards = nil
		}
		open()
		permit, b := p.Admit(time.Now(), 0, "m", time.Now().Add(time.Hour), false)
		if b.Blocked() {
			t.Fatalf("%+v", b)
		}
		permit.For("req_stream")
		permit.FirstContent(time.Now())
		time.Sleep(10 * time.Second)
		permit.Sound(time.Now())
		if got := causes(f.guards); !slices.Equal(got, []string{`circuit_breaker half_open by ""`, `circuit_breaker closed by "req_stream"`}) {
			t.Errorf("told %q", got)
		}
		permit.Settle(time.Now(), resilience.Outcome{Success: true}, Measured{})

		open()
		own, _, b, ok := p.AdmitProbe(time.Now(), "", time.Now().Add(time.Minute))
		if !ok {
			t.Fatalf("%+v", b)
		}
		own.Settle(time.Now(), resilience.Outcome{Success: true}, Measured{})
		if got := causes(f.guards); !slices.Equal(got, []string{`circuit_breaker half_open by ""`, `circuit_breaker closed by ""`}) {
			t.Errorf("told %q", got)
		}
	})
}

// An attempt that ends long after others opened the breaker finds that its time is over; that is not its doing.
func TestTimeIsNobodysDoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &facts{}
		h := New(f)
		h.Apply([]Config{config("a", "k1")})
		p := h.Provider("a")
		late, b := p.Admit(time.Now(), 0, "m", time.Now().Add(time.Hour), false)
		if b.Blocked() {
			t.Fatalf("%+v", b)
		}
		late.For("req_late")
		for range 5 {
			fail(t, p, fault.Upstream)
		}
		time.Sleep(time.Minute)
		f.guards = nil
		late.Settle(time.Now(), resilience.Outcome{Class: fault.ClientGone}, Measured{})
		if got := causes(f.guards); !slices.Equal(got, []string{`circuit_breaker half_open by ""`}) {
			t.Errorf("told %q", got)
		}
	})
}
