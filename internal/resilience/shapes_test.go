package resilience

import (
	"testing"
	"time"

	"evergate/internal/fault"
)

// R62, R65, R66: the ways in which guards that are shared are known to go wrong.
func TestShapesOfSharedGuardsGoneWrong(t *testing.T) {
	fleet := func() (a, b instance, now *time.Time) {
		at := epoch
		return newInstance(&at, PerProvider), newInstance(&at, PerProvider), &at
	}
	// talk lets both hear each other once a second for a while.
	talk := func(a, b instance, seconds int) {
		for range seconds {
			*a.now = a.now.Add(time.Second)
			rows := a.rows()
			a.hear(b)
			b.m.Absorb(*b.now, rows, nil)
		}
	}
	t.Run("two keep each other open for ever", func(t *testing.T) {
		a, b, now := fleet()
		a.run("m", bad, bad, bad)
		talk(a, b, 29)
		if a.view().Breaker.State != Open || b.view().Breaker.State != Open {
			t.Errorf("%+v %+v", a.view().Breaker, b.view().Breaker)
		}
		talk(a, b, 300) // nobody asks the provider anything
		for _, i := range []instance{a, b} {
			if v := i.view().Breaker; v.State != HalfOpen || !v.RetryAt.Equal(epoch.Add(30*time.Second)) {
				t.Errorf("%v: %+v", *now, v)
			}
		}
	})
	t.Run("counts add up by going to and fro", func(t *testing.T) {
		a, b, _ := fleet()
		a.run("m", bad)
		b.run("m", bad)
		talk(a, b, 100)
		if x, y := a.m.ConsecutiveFailures(), b.m.ConsecutiveFailures(); x != 1 || y != 1 {
			t.Errorf("%d %d", x, y)
		}
	})
	t.Run("what an instance that is gone said comes back from another", func(t *testing.T) {
		a, b, now := fleet()
		c := newInstance(now, PerProvider)
		a.run("m", of(fault.RateLimited), of(fault.ModelMissing), bad, bad, bad)
		b.hear(a) // a is gone from here on
		talk(b, c, 200)
		if rows := append(b.rows(), c.rows()...); len(rows) > 0 {
			t.Errorf("%+v", rows)
		}
		if v := c.view(); v.Breaker.State != Closed || v.Credentials[0].State != "ok" {
			t.Errorf("%+v", v)
		}
		b.run("m", good)
		if v := b.view(); v.Breaker.State != Closed || v.Breaker.ConsecutiveFailures != 0 || len(v.Lockouts) > 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("one that recovered takes up the old rows of one that sleeps", func(t *testing.T) {
		a, b, now := fleet()
		a.run("m", bad, bad, bad)
		b.hear(a)
		*now = now.Add(30 * time.Second)
		b.run("m") // nothing: a look
		p, _, _ := b.m.Admit(*now, 0, "m", time.Time{}, false, nil)
		b.m.Settle(*now, p, good, 0.5, nil)
		talk(b, a, 300) // a has no traffic, and tells of its open period all that time
		if v := b.view().Breaker; v.State != Closed || v.ConsecutiveFailures != 0 {
			t.Errorf("%+v", v)
		}
		if v := a.view().Breaker; v.State != HalfOpen {
			t.Errorf("another's success closed it: %+v", v)
		}
	})
	t.Run("one with an empty memory wipes the others'", func(t *testing.T) {
		a, b, now := fleet()
		a.run("m", of(fault.Quota), bad, bad, bad)
		b.hear(a)
		talk(b, newInstance(now, PerProvider), 10)
		talk(a, newInstance(now, PerProvider), 10)
		for _, i := range []instance{a, b} {
			if v := i.view(); v.Breaker.State != Open || v.Credentials[0].State != "cooldown" {
				t.Errorf("%+v", v)
			}
		}
	})
	t.Run("a block that was lifted here is put back by who has it still", func(t *testing.T) {
		a, b, now := fleet()
		a.run("m", named(fault.RateLimited, time.Minute))
		b.hear(a)
		*now = now.Add(time.Second)
		b.run("m", good)
		talk(a, b, 30)
		if v := b.view().Credentials[0]; v.State != "ok" {
			t.Errorf("%+v", v)
		}
		if v := a.view().Credentials[0]; v.State != "cooldown" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("all probe when one has found the provider well, and then all are open again by an old row", func(t *testing.T) {
		a, b, now := fleet()
		a.run("m", bad, bad, bad)
		*now = now.Add(time.Second)
		b.run("m", bad, bad, bad)
		talk(a, b, 30) // a's is over; b's, which ends a second later, is what both know
		old := b.rows()
		a.run("m", good)
		b.hear(a)
		if v := b.view().Breaker; v.State != HalfOpen {
			t.Errorf("%+v", v)
		}
		b.m.Absorb(*now, old, nil)
		a.m.Absorb(*now, old, nil)
		if x, y := a.view().Breaker.State, b.view().Breaker.State; x != Closed || y != HalfOpen {
			t.Errorf("%v %v", x, y)
		}
	})
	t.Run("a restart in the midst of it begins the escalation anew", func(t *testing.T) {
		a, _, now := fleet()
		for range 4 {
			a.run("m", of(fault.Auth))
			*now = now.Add(time.Second)
		}
		b := newInstance(now, PerProvider)
		b.m.Restore(*now, a.rows(), nil)
		if x, y := a.view().Credentials[0], b.view().Credentials[0]; x.Level != 4 || x != y {
			t.Errorf("%+v %+v", x, y)
		}
	})
}
