package replica_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// order has an operator give an order on one instance, as the app does.
func (i *instance) order(t *testing.T, o resilience.Order) {
	t.Helper()
	now := i.now()
	if err := i.p().Operate(now, o, "operator"); err != nil {
		t.Fatal(err)
	}
	o.At, o.By = now, "operator"
	i.fleet.Ordered(replica.Order{Provider: "p", Order: o})
}

func (i *instance) inForce(t *testing.T) resilience.Action {
	t.Helper()
	return i.p().view().Breaker.Order.Action
}

// R31: an order is the fleet's: it holds on every instance, once, and on those that start later, by whatever clock.
func TestOrdersHoldEverywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		var all []*instance
		for n, skew := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
			all = append(all, join(t, at, string(rune('a'+n)), setup{skew: skew}))
		}
		time.Sleep(2 * interval)
		all[1].order(t, resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", Until: all[1].now().Add(time.Hour)})
		time.Sleep(soon)
		late := join(t, at, "late", setup{skew: 5 * time.Minute})
		all = append(all, late)
		for _, i := range all {
			b := i.p().view().Breaker
			if b.Order.Action != resilience.ForceOpen || b.Order.Reason != "maintenance" || b.Order.By != "operator" {
				t.Errorf("%s: %+v", i.id, b.Order)
			}
			if d := time.Until(b.Order.Until.Add(-i.skew)) - time.Hour; d.Abs() > soon+5*time.Millisecond {
				t.Errorf("%s: it ends %v off", i.id, d)
			}
		}
		time.Sleep(20 * interval)
		for _, i := range all {
			want := 1
			if i == all[1] {
				want = 0
			}
			if got := i.facts.heardOrders(); len(got) != want {
				t.Errorf("%s heard %d orders", i.id, len(got))
			}
		}
		all[0].order(t, resilience.Order{Action: resilience.Reset, Reason: "done"})
		time.Sleep(soon)
		for _, i := range append(all, join(t, at, "later", setup{})) {
			if got := i.inForce(t); got != resilience.NoAction || i.p().state() != resilience.Closed {
				t.Errorf("%s after the reset: %v, %v", i.id, got, i.p().state())
			}
		}
		if got := join(t, at, "last", setup{}).facts.heardOrders(); len(got) != 0 {
			t.Errorf("a start obeys a reset of before: %+v", got)
		}
		if got := all[0].facts.heardOrders(); len(got) != 1 {
			t.Errorf("its own order came back: %+v", got)
		}
	}))
}

// R31, R65: an order without an end survives the stop of the whole fleet.
func TestOrdersOutliveTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		first := join(t, at, "first", setup{})
		first.order(t, resilience.Order{Action: resilience.ForceClosed, Reason: "it is well"})
		first.fleet.Stop(context.Background())
		time.Sleep(24 * time.Hour)
		if got := join(t, at, "second", setup{}).inForce(t); got != resilience.ForceClosed {
			t.Errorf("in force is %v", got)
		}
	}))
}

// An order that was given while the store was away is told when it is back; of two the newer one stands.
func TestOrdersWithoutTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		all[0].line.set(func(l *line) { l.err = errDown })
		all[0].order(t, resilience.Order{Action: resilience.ForceOpen, Reason: "first"})
		time.Sleep(time.Minute)
		all[1].order(t, resilience.Order{Action: resilience.ForceClosed, Reason: "second"})
		time.Sleep(time.Minute)
		all[0].line.set(func(l *line) { l.err = nil })
		time.Sleep(3 * interval)
		for _, i := range all {
			if got := i.inForce(t); got != resilience.ForceClosed {
				t.Errorf("%s follows %v", i.id, got)
			}
		}
		all[2].line.set(func(l *line) { l.err = errDown })
		all[2].order(t, resilience.Order{Action: resilience.ForceOpen, Reason: "third"})
		time.Sleep(time.Minute)
		all[2].line.set(func(l *line) { l.err = nil })
		time.Sleep(3 * interval)
		for _, i := range all {
			if got := i.inForce(t); got != resilience.ForceOpen {
				t.Errorf("%s follows %v", i.id, got)
			}
		}
	}))
}

// R31: an order that waits for the store is for the provider that it was given for, and not for another one that has its name by then.
func TestAnOrderForAProviderThatIsAnotherByNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		a, b := join(t, at, "a", setup{}), join(t, at, "b", setup{})
		time.Sleep(2 * interval)
		a.line.set(func(l *line) { l.err = errDown })
		a.order(t, resilience.Order{Action: resilience.ForceOpen, Reason: "of before"})
		time.Sleep(interval)
		for _, i := range []*instance{a, b} {
			i.fleet.Apply([]replica.Provider{{Name: "p", Of: "elsewhere", Guards: i.p().Provider}})
		}
		a.line.set(func(l *line) { l.err = nil })
		time.Sleep(20 * interval)
		if got := b.inForce(t); got != resilience.NoAction {
			t.Errorf("the other follows %v", got)
		}
		a.order(t, resilience.Order{Action: resilience.ForceOpen, Reason: "of now"})
		time.Sleep(soon)
		if got := b.inForce(t); got != resilience.ForceOpen {
			t.Errorf("of the next order the other follows %v", got)
		}
	}))
}

// R31: of two orders for one breaker in the same millisecond one holds, and the same one everywhere: also where the other was given, and also if the
// store was away then.
func TestOrdersAtOnce(t *testing.T) {
	t.Parallel()
	open, closed, reset := resilience.ForceOpen, resilience.ForceClosed, resilience.Reset
	for _, pair := range [][2]resilience.Action{{open, closed}, {closed, open}, {open, reset}, {reset, open}, {closed, reset}, {reset, closed}} {
		for _, away := range []int{-1, 0, 1} { // who does not reach the store at that moment
			t.Run(fmt.Sprint(pair[0], " and ", pair[1], ", away ", away), func(t *testing.T) {
				synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
					all := three(t, at, setup{})
					if away >= 0 {
						all[away].line.set(func(l *line) { l.err = errDown })
					}
					all[0].order(t, resilience.Order{Action: pair[0], Reason: "one"})
					all[1].order(t, resilience.Order{Action: pair[1], Reason: "two"})
					time.Sleep(interval / 2)
					if away >= 0 {
						all[away].line.set(func(l *line) { l.err = nil })
					}
					time.Sleep(30 * interval)
					all = append(all, join(t, at, "later", setup{}))
					for _, i := range all[1:] {
						if got, first := i.p().view().Breaker, all[0].p().view().Breaker; got.Order.Action != first.Order.Action || got.State != first.State {
							t.Errorf("%s has %v (%v), %s has %v (%v)", i.id, got.Order.Action, got.State, all[0].id, first.Order.Action, first.State)
						}
					}
				}))
			})
		}
	}
}

// A stop leaves nothing behind but what still blocks, gives leases back, and is known as gone at once (R66).
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := setup{settings: shortBreaker()}
		s.settings.Breaker.Timeout = time.Minute
		all := three(t, at, s)
		all[0].fleet.Stop(context.Background())
		if m, _ := at.Members(t.Context()); len(m) != 2 {
			t.Errorf("who saw nothing leaves nothing: %+v", m)
		}
		all[1].open(t, "p")
		time.Sleep(52 * time.Second) // the lease is taken
		holder, other := all[1], all[2]
		free := func() bool {
			ok, err := at.Peer().Claim(t.Context(), "probe/of-p/p/", "nobody", time.Second)
			if ok {
				_ = at.Yield(t.Context(), "probe/of-p/p/", "nobody")
			}
			return ok && err == nil
		}
		if free() {
			t.Fatal("nobody has the lease")
		}
		holder.fleet.Stop(context.Background())
		time.Sleep(interval * 13 / 10)
		for _, i := range other.fleet.Status().Instances {
			if i.ID == holder.id && (!i.Left || !i.Silent) {
				t.Errorf("it is not shown as gone: %+v", i)
			}
		}
		other.fleet.Stop(context.Background())
		if !free() {
			t.Error("the lease was not given back")
		}
		m, _ := at.Members(t.Context())
		if len(m) != 1 || !m[0].Left || m[0].ID != holder.id {
			t.Errorf("members: %+v", m)
		}
		holder.fleet.Stop(context.Background()) // once more is nothing
	}))
}

// A stop with a store that is mute takes half a second, not more.
func TestStopWithMuteStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		i := join(t, at, "a", setup{})
		time.Sleep(interval)
		i.line.set(func(l *line) { l.mute = true })
		time.Sleep(time.Minute)
		began := time.Now()
		i.fleet.Stop(context.Background())
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		j := join(t, at, "b", setup{})
		time.Sleep(interval)
		j.line.set(func(l *line) { l.mute = true }) // and it does not know yet
		began = time.Now()
		j.fleet.Stop(context.Background())
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
	}))
}

// R67: who measured nothing goes by what the others measured.
func TestAveragesAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{skew: 10 * time.Minute})
		for range 20 {
			all[0].measure("m", 300*time.Millisecond)
		}
		time.Sleep(3 * interval)
		for _, i := range all {
			if got := i.p().Signal(i.now(), "m").FirstContent; got != 300*time.Millisecond {
				t.Errorf("%s goes by %v", i.id, got)
			}
		}
		all[0].fleet.Stop(context.Background())
		time.Sleep(15 * time.Minute)
		if got := all[1].p().Signal(all[1].now(), "m").FirstContent; got != 0 {
			t.Errorf("it still goes by %v", got)
		}
	}))
}
