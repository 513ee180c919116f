package resilience

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evergate/internal/fault"
)

// instance is one of a fleet, with its own traffic.
type instance struct {
	m   *Machine
	now *time.Time
}

func newInstance(now *time.Time, scope Scope) instance {
	s := Defaults()
	s.Breaker.FailureThreshold, s.Breaker.Scope = 3, scope
	credentials := pool("a", "b")
	credentials[0].Fingerprint = 1
	return instance{New(s, RoundRobin, credentials), now}
}

func (i instance) run(model string, outcomes ...Outcome) {
	for _, o := range outcomes {
		p, _, _ := i.m.Admit(*i.now, 0, model, time.Time{}, true, nil)
		i.m.Settle(*i.now, p, o, 0.5, nil)
	}
}

func (i instance) rows() []Row { return i.m.Rows(*i.now, nil) }

func (i instance) hear(others ...instance) {
	for _, o := range others {
		i.m.Absorb(*i.now, o.rows(), nil)
	}
}

func (i instance) view() View {
	v, _ := i.m.View(*i.now, nil)
	return v
}

// R62: what one instance learned the hard way the others are spared.
func TestAbsorb(t *testing.T) {
	fleet := func(scope Scope) (a, b instance, pass func(time.Duration)) {
		now := epoch
		return newInstance(&now, scope), newInstance(&now, scope), func(d time.Duration) { now = now.Add(d) }
	}
	t.Run("an open breaker opens the others, for its own time", func(t *testing.T) {
		for _, scope := range []Scope{PerProvider, PerModel, Auto} {
			a, b, pass := fleet(scope)
			a.run("m", bad, bad, bad)
			pass(10 * time.Second)
			b.hear(a)
			block, _ := b.m.Check(*b.now, 0, "m", nil)
			if block.Reason != CircuitOpen || !block.Until.Equal(epoch.Add(30*time.Second)) {
				t.Errorf("%v: %+v", scope, block)
			}
			if n := b.m.FailuresBefore("m"); n != 3 {
				t.Errorf("%v: count %d", scope, n)
			}
		}
	})
	t.Run("it is half-open where the time is over already", func(t *testing.T) {
		a, b, pass := fleet(PerProvider)
		a.run("m", bad, bad, bad)
		pass(time.Hour)
		b.hear(a)
		if v := b.view(); v.Breaker.State != HalfOpen {
			t.Errorf("%+v", v.Breaker)
		}
	})
	t.Run("a recovered one does not take it up again", func(t *testing.T) {
		a, b, pass := fleet(PerProvider)
		a.run("m", bad, bad, bad)
		b.hear(a)
		pass(30 * time.Second)
		b.view()
		b.run("m", good) // its own probe
		pass(time.Second)
		b.hear(a)
		if v := b.view(); v.Breaker.State != Closed || v.Breaker.ConsecutiveFailures != 0 {
			t.Errorf("%+v", v.Breaker)
		}
		a.view()
		a.run("m", good, bad, bad, bad) // but it does what is newer
		b.hear(a)
		if v := b.view(); v.Breaker.State != Open {
			t.Errorf("%+v", v.Breaker)
		}
	})
	t.Run("counts are not added, and old ones not heard", func(t *testing.T) {
		a, b, pass := fleet(PerProvider)
		a.run("m", bad, bad)
		b.run("m", bad)
		b.hear(a, a, a)
		if n := b.m.ConsecutiveFailures(); n != 2 {
			t.Errorf("count %d", n)
		}
		pass(time.Second)
		b.run("m", good)
		b.hear(a)
		if n := b.m.ConsecutiveFailures(); n != 0 {
			t.Errorf("count %d", n)
		}
	})
	t.Run("a healthy one erases nothing", func(t *testing.T) {
		a, b, _ := fleet(PerProvider)
		a.run("m", of(fault.Quota), bad, bad, bad)
		b.run("m", good, good)
		before, rows := a.view(), a.rows()
		a.hear(b)
		if d := cmp.Diff(before, a.view()) + cmp.Diff(rows, a.rows()); d != "" {
			t.Error(d)
		}
	})
	t.Run("what was heard is not told on", func(t *testing.T) {
		a, b, _ := fleet(Auto)
		a.run("m", of(fault.Quota), of(fault.ModelMissing), of(fault.ModelLimited), bad, bad, bad)
		b.hear(a)
		if v := b.view(); v.Models[0].State != Open || v.Credentials[0].State != "cooldown" || len(v.Lockouts) != 2 {
			t.Errorf("%+v", v)
		}
		if rows := b.rows(); len(rows) != 0 {
			t.Errorf("%+v", rows)
		}
	})
	t.Run("cooldowns and lockouts have the later end", func(t *testing.T) {
		a, b, pass := fleet(PerProvider)
		a.run("m", named(fault.RateLimited, 20*time.Second), named(fault.ModelLimited, 20*time.Second))
		b.run("m", named(fault.RateLimited, 40*time.Second), named(fault.ModelLimited, 10*time.Second))
		before := b.view().Credentials[0].Level
		b.hear(a)
		v := b.view()
		if c := v.Credentials[0]; !c.Until.Equal(epoch.Add(40*time.Second)) || c.Level != before {
			t.Errorf("%+v", c)
		}
		if l := v.Lockouts[0]; !l.Until.Equal(epoch.Add(20 * time.Second)) {
			t.Errorf("%+v", l)
		}
		pass(time.Second)
		b.run("m", good) // of an attempt that began after both: R42
		b.hear(a)
		if v := b.view(); v.Credentials[0].State != "ok" || len(v.Lockouts) != 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("what is not here is passed over", func(t *testing.T) {
		_, b, _ := fleet(PerProvider)
		rows := []Row{
			{Guard: CredentialCooldownGuard, Credential: "gone", Since: epoch, Until: epoch.Add(time.Hour)},
			{Guard: ModelLockoutGuard, Model: "m", Credential: "gone", Since: epoch, Until: epoch.Add(time.Hour)},
			{Guard: CircuitBreaker, Model: "m", Since: epoch.Add(1), Until: epoch.Add(time.Hour)},
			{},
		}
		if eff := b.m.Absorb(epoch, rows, nil); eff != nil {
			t.Errorf("%+v", eff)
		}
	})
	t.Run("an operator's word is stronger", func(t *testing.T) {
		a, b, _ := fleet(Auto)
		a.run("m", of(fault.Connect), of(fault.Connect), of(fault.Connect))
		for _, o := range []Order{{Action: ForceClosed}, {Action: ForceOpen}} {
			if _, err := b.m.Operate(epoch, o, nil); err != nil {
				t.Fatal(err)
			}
			before := b.view().Breaker
			b.hear(a)
			after := b.view().Breaker
			after.ConsecutiveFailures = before.ConsecutiveFailures
			if before != after {
				t.Errorf("%s", cmp.Diff(before, after))
			}
		}
		if rows := b.rows(); len(rows) != 0 {
			t.Errorf("an order is told on: %+v", rows)
		}
	})
}

// drawRows are rows of other instances, of all guards, that may or may not count.
func drawRows(t *rapid.T, now time.Time) []Row {
	ago := func(name string) time.Time {
		return now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, name)) * time.Second)
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
		r := Row{Guard: rapid.SampledFrom([]Guard{CircuitBreaker, CredentialCooldownGuard, ModelLockoutGuard}).Draw(t, "guard")}
		if r.Guard != CredentialCooldownGuard {
			r.Model = rapid.SampledFrom([]string{"", "m", "x"}).Draw(t, "model")
		}
		if r.Guard != CircuitBreaker {
			r.Credential = rapid.SampledFrom([]string{"", "a", "b", "gone"}).Draw(t, "credential")
			r.Reason = rapid.SampledFrom([]Reason{RateLimited, AuthFailed}).Draw(t, "reason")
			r.Secret = rapid.Uint32Range(0, 2).Draw(t, "secret")
		} else {
			r.Failures, r.FailedAt = rapid.IntRange(0, 4).Draw(t, "failures"), ago("failed")
			r.Trip = rapid.SampledFrom([]string{tripFailures, tripCooldown}).Draw(t, "trip")
			if rapid.IntRange(0, 3).Draw(t, "proved") == 0 {
				r.ProvedAt = ago("proof").Add(3 * time.Second) // some from the future
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "set") > 0 {
			r.Since = ago("since")
			r.Until = r.Since.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "length")) * time.Second)
			r.Named = rapid.Bool().Draw(t, "named")
		}
		r.Level = rapid.IntRange(0, 3).Draw(t, "level")
		return r
	}), 0, 6).Draw(t, "rows")
}

// R62, R65, R66: the merge is commutative, associative and idempotent: rows taken in any order, in any portions and any number of
// times come to the same state, proofs among them, and also where they are restored; none of them makes anything less blocked, but that proofs
// make half-open, or changes what is told on.
func TestMergeLaws(t *testing.T) {
	for range 5 { // a hundred each
		rapid.Check(t, func(t *rapid.T) { mergeLaws(t, (*Machine).Absorb) })
		rapid.Check(t, func(t *rapid.T) { mergeLaws(t, (*Machine).Restore) })
	}
}

// minds are what breakers keep that no view shows.
func minds(i instance) map[string]string {
	all := map[string]string{}
	each(i.m, func(b *breaker) {
		all[b.model] = fmt.Sprint(b.proven, b.youngest, b.heard, b.calmAt, b.openedAt, b.retryAt, b.trip, b.named)
	})
	return all
}

func mergeLaws(t *rapid.T, take func(*Machine, time.Time, []Row, []Effect) []Effect) {
	now := epoch
	threshold := rapid.IntRange(1, 3).Draw(t, "success_threshold")
	scope := rapid.SampledFrom([]Scope{PerProvider, PerModel, Auto}).Draw(t, "scope")
	seed := rapid.Uint64().Draw(t, "history")
	// Any number of instances with one and the same past.
	past := func() instance {
		now = epoch
		i := newInstance(&now, scope)
		i.m.settings.Breaker.SuccessThreshold = threshold
		roll := cheapDice(seed)
		for range 30 {
			now = now.Add(time.Duration(roll("pass", 4)) * time.Second)
			i.run([]string{"m", "x"}[roll("model", 2)], pick(roll, "outcome", good, bad, bad, of(fault.Connect), of(fault.RateLimited), of(fault.ModelMissing)))
		}
		return i
	}
	one := past()
	rows := drawRows(t, now)
	before, told := one.view(), one.rows()

	take(one.m, now, rows, nil)
	want, mind := one.view(), minds(one)
	same := func(law string, i instance) {
		if d := cmp.Diff(want, i.view()) + cmp.Diff(mind, minds(i)); d != "" {
			t.Fatalf("%s: %s", law, d)
		}
		if d := cmp.Diff(evidenceOf(told), evidenceOf(i.rows())); d != "" {
			t.Fatalf("%s: it tells on what it heard: %s", law, d)
		}
	}
	same("once", one)
	take(one.m, now, rows, nil)
	same("idempotent", one)

	two := past()
	take(two.m, now, rapid.Permutation(rows).Draw(t, "order"), nil)
	same("commutative", two)

	three := past()
	cut := rapid.IntRange(0, len(rows)).Draw(t, "cut")
	take(three.m, now, rows[cut:], nil)
	take(three.m, now, rows[:cut], nil)
	same("associative", three)

	noLess(t, before, want, rows)
}

// evidenceOf leaves the levels away: those that were restored are gone on from, and so told on with what is seen next.
func evidenceOf(rows []Row) []Row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Level = 0
	}
	return rows
}

// noLess: caution wins. Of a breaker that opened before a good probe of others, half-open is left (R66).
func noLess(t interface{ Fatalf(string, ...any) }, before, after View, rows []Row) {
	breaker := func(name string, b, a BreakerView) {
		proved := slices.ContainsFunc(rows, func(r Row) bool {
			return r.Guard == CircuitBreaker && r.Model == name && r.ProvedAt.After(b.OpenedAt)
		})
		sooner := a.RetryAt.Before(b.RetryAt) && !(proved && a.State == HalfOpen)
		if a.ConsecutiveFailures < b.ConsecutiveFailures || a.State == Closed && b.State != Closed || sooner || a.Offences < b.Offences {
			t.Fatalf("%q was %+v and is %+v", name, b, a)
		}
		if b.State == Open && a.State != Open && !proved {
			t.Fatalf("%q was %+v and is %+v, and nobody proved anything", name, b, a)
		}
	}
	breaker("", before.Breaker, after.Breaker)
	for _, b := range before.Models {
		i := slices.IndexFunc(after.Models, func(a ModelBreakerView) bool { return a.Model == b.Model })
		breaker(b.Model, b.BreakerView, after.Models[i].BreakerView)
	}
	for i, b := range before.Credentials {
		if a := after.Credentials[i]; a.Until.Before(b.Until) || a.Level < b.Level {
			t.Fatalf("%+v and then %+v", b, a)
		}
	}
	for _, b := range before.Lockouts {
		if !slices.ContainsFunc(after.Lockouts, func(a LockoutView) bool {
			return a.Model == b.Model && a.Credential == b.Credential && !a.Until.Before(b.Until) && a.Level >= b.Level
		}) {
			t.Fatalf("%+v and then %+v", b, after.Lockouts)
		}
	}
}
