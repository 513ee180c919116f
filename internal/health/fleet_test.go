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

// pair is two instances' guards of one provider, what each of them told the journal, and whose evidence was called for.
type pair struct {
	a, b         *Provider
	fa, fb       *facts
	called       []string
	health, from *Health
}

func newPair(change func(*resilience.Settings)) *pair {
	p := &pair{fa: &facts{}, fb: &facts{}}
	c := config("p", "k1")
	if change != nil {
		change(&c.Settings)
	}
	make := func(f *facts, name string) (*Health, *Provider) {
		h := New(f)
		h.OnEvidence(func(provider string) { p.called = append(p.called, name+" "+provider) })
		h.Apply([]Config{c})
		f.p = h.Provider("p") // calls back in: no lock is held
		return h, f.p
	}
	p.from, p.a = make(p.fa, "a")
	p.health, p.b = make(p.fb, "b")
	return p
}

func try(p *Provider, o resilience.Outcome) {
	now := time.Now()
	if permit, b := p.Admit(now, 0, "m", now.Add(time.Minute), true); !b.Blocked() {
		permit.Settle(now, o, Measured{})
	}
}

func words(gs []journal.Guard) (all []string) {
	for _, g := range gs {
		all = append(all, fmt.Sprintf("%s %s %t", g.Guard, g.To, g.Heard))
	}
	return all
}

// R62, R66: what others say is told to the journal as heard, calls for nothing, and is not told on; what is seen here does and is.
func TestHeardIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(func(s *resilience.Settings) { s.Breaker.SuccessThreshold = 2 })
		want := func(what string, got, want []string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		for range 5 {
			try(p.a, resilience.Outcome{Class: fault.Upstream})
		}
		try(p.a, resilience.Outcome{Class: fault.RateLimited})
		want("called", p.called, []string{"a p", "a p"})
		want("a", words(p.fa.guards), []string{"circuit_breaker open false", "credential_cooldown blocked false"})

		time.Sleep(time.Second / 2)
		now := time.Now()
		p.b.Absorb(now, p.a.Rows(now))
		p.b.Absorb(now, nil)
		want("b", words(p.fb.guards), []string{"circuit_breaker open true", "credential_cooldown blocked true"})
		if rows := p.b.Rows(now); len(rows) > 0 {
			t.Errorf("told on: %+v", rows)
		}
		due := p.b.Due(now, time.Minute)
		if len(due) != 1 || !due[0].Heard || due[0].Model != "" {
			t.Fatalf("%+v", due)
		}
		if !p.b.Yield(now, "", due[0].OpenedAt, due[0].RetryAt.Add(10*time.Second)) {
			t.Error("it does not yield")
		}

		p.called = nil
		time.Sleep(30 * time.Second)
		if _, b := p.b.Admit(time.Now(), 0, "m", time.Time{}, false); b.Reason != resilience.ProbeInFlight || !b.Until.Equal(due[0].RetryAt.Add(10*time.Second)) {
			t.Errorf("%+v", b)
		}
		permit, b := p.a.Admit(time.Now(), 0, "m", time.Time{}, false)
		if b.Blocked() {
			t.Fatalf("%+v", b)
		}
		permit.Settle(time.Now(), resilience.Outcome{Success: true}, Measured{})
		// Half-open each, by a look; then a's probe was good, which closes nothing yet.
		want("called", p.called, []string{"b p", "a p", "a p"})
		p.called = nil
		p.b.Absorb(time.Now(), p.a.Rows(time.Now()))
		if permit, b = p.b.Admit(time.Now(), 0, "m", time.Time{}, false); b.Blocked() {
			t.Errorf("it waits on: %+v", b)
		}
		permit.Settle(time.Now(), resilience.Outcome{Class: fault.ClientGone}, Measured{})
		want("called", p.called, nil)
		if s := p.b.Snapshot(time.Now()).Guards.Breaker.State; s != resilience.HalfOpen {
			t.Errorf("another's probe made it %v", s)
		}
	})
}

// R65: a process that starts honours the blocks of the one before it.
func TestRestoreAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(nil)
		for range 5 {
			try(p.a, resilience.Outcome{Class: fault.Upstream})
		}
		rows := p.a.Rows(time.Now())
		time.Sleep(29 * time.Second)
		p.b.Restore(time.Now(), rows)
		if _, b := p.b.Admit(time.Now(), 0, "m", time.Time{}, false); b.Reason != resilience.CircuitOpen || time.Until(b.Until) != time.Second {
			t.Errorf("%+v", b)
		}
		if got := words(p.fb.guards); len(got) != 1 || got[0] != "circuit_breaker open true" {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Second)
		if permit, b := p.b.Admit(time.Now(), 0, "m", time.Time{}, false); b.Blocked() || !permit.Probing() {
			t.Errorf("%+v", b)
		}
	})
}

// R31: an order of the fleet is obeyed and told, as heard, with who gave it when; it calls for nothing.
func TestObey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(nil)
		given := time.Now()
		if err := p.a.Operate(given, resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", Until: given.Add(time.Hour)}, "10.0.0.9"); err != nil {
			t.Fatal(err)
		}
		orders := p.a.Orders(given)
		if len(orders) != 1 || len(p.called) != 1 {
			t.Fatalf("%+v, %q", orders, p.called)
		}
		time.Sleep(time.Second)
		if err := p.b.Obey(time.Now(), orders[0]); err != nil {
			t.Fatal(err)
		}
		want := p.fa.orders[0]
		if want.Heard || want.By != "10.0.0.9" || !want.At.Equal(given) {
			t.Errorf("%+v", want)
		}
		want.Heard = true
		if len(p.fb.orders) != 1 || p.fb.orders[0] != want || len(p.called) != 1 {
			t.Errorf("%+v, want %+v; %q", p.fb.orders, want, p.called)
		}
		if got := words(p.fb.guards); len(got) != 1 || got[0] != "circuit_breaker open true" {
			t.Errorf("%q", got)
		}
		if got := p.b.Orders(time.Now()); len(got) != 1 || got[0] != orders[0] {
			t.Errorf("%+v", got)
		}
		if got := p.b.Orders(given.Add(time.Hour)); len(got) != 0 {
			t.Errorf("over: %+v", got)
		}
		if rows := p.b.Rows(time.Now()); len(rows) != 0 {
			t.Errorf("%+v", rows)
		}
		if err := p.b.Obey(time.Now(), resilience.Order{Action: resilience.ForceOpen, Model: "m"}); err == nil || len(p.fb.orders) != 1 {
			t.Errorf("%v", err)
		}
	})
}
