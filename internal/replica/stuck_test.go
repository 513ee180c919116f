package replica_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/health"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// stuck is a store whose calls, once it is stuck, end with nothing: neither with their context nor with Close. A disk that hangs is one.
type stuck struct {
	replica.Store
	from, free chan struct{}
}

func (s *stuck) pass() {
	select {
	case <-s.from:
		<-s.free
	default:
	}
}

func (s *stuck) Beat(ctx context.Context, m replica.Member) (time.Time, error) {
	s.pass()
	return s.Store.Beat(ctx, m)
}

func (s *stuck) Put(ctx context.Context, pages []replica.Page) error {
	s.pass()
	return s.Store.Put(ctx, pages)
}

func (s *stuck) Close() error {
	s.pass()
	return s.Store.Close()
}

// R60, R64: a call that does not end with its context costs neither the word that the store is lost, nor a stop its bound.
func TestACallThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := &stuck{from: make(chan struct{}), free: make(chan struct{})}
		i := join(t, at, "a", setup{line: func(l *line) { s.Store = l.Store; l.Store = s }})
		defer close(s.free)
		time.Sleep(2 * interval)
		close(s.from)
		time.Sleep(time.Minute)
		if f := i.fleet.Status(); f.Reached || f.Errors == 0 {
			t.Errorf("the store is taken to be reached: %+v", f)
		}
		if told := i.stories(); len(told) != 2 || !strings.HasPrefix(told[1], "lost: ") {
			t.Errorf("it was told %q", told)
		}
		start := time.Now()
		i.fleet.Stop(context.Background())
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
	}))
}

// R60: only Close does not end.
func TestACloseThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := &stuckClose{free: make(chan struct{})}
		i := join(t, at, "a", setup{line: func(l *line) { s.Store = l.Store; l.Store = s }})
		defer close(s.free)
		time.Sleep(2 * interval)
		start := time.Now()
		i.fleet.Stop(context.Background())
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the stop took %v", took)
		}
	}))
}

type stuckClose struct {
	replica.Store
	free chan struct{}
}

func (s *stuckClose) Close() error {
	<-s.free
	return s.Store.Close()
}

// R63, R65: what an instance saw right before it stopped in order is as fresh as what it said before.
func TestTheLastWordsOfOneThatLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		deaf := func(l *line) { l.lose = 1 }
		a, b := join(t, at, "a", setup{line: deaf}), join(t, at, "b", setup{line: deaf})
		time.Sleep(4 * interval)
		a.open(t, "p")
		a.fleet.Stop(context.Background())
		time.Sleep(2 * interval)
		if got := b.p().state(); got != resilience.Open {
			t.Errorf("the breaker is %v", got)
		}
	}))
}

// R31: a reload that takes a provider away, and one that brings it back, do not end an operator's order.
func TestAProviderThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		all := three(t, at, setup{})
		now := all[0].now()
		o := resilience.Order{Action: resilience.ForceOpen, Reason: "maintenance", By: "test", At: now}
		if err := all[0].p().Operate(now, o, "test"); err != nil {
			t.Fatal(err)
		}
		all[0].fleet.Ordered(replica.Order{Provider: "p", Order: o})
		time.Sleep(interval)
		for _, i := range all[:2] {
			i.apply(shortBreaker(), "q")
		}
		time.Sleep(3 * interval)
		for _, i := range all[:2] {
			i.apply(shortBreaker(), "p")
		}
		time.Sleep(3 * interval)
		for _, i := range all {
			if b := i.p().view().Breaker; b.State != resilience.Open || b.Order.Action != resilience.ForceOpen {
				t.Errorf("%s: %+v", i.id, b)
			}
		}
	}))
}

// A reload amid a round that reads everything is not forgotten when that ends.
func TestAReloadAmidARound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		s := shortBreaker()
		s.Breaker.Timeout = time.Hour
		a := join(t, at, "a", setup{settings: s})
		time.Sleep(2 * interval)
		a.open(t, "p")
		time.Sleep(time.Minute)
		b := join(t, at, "b", setup{settings: s, providers: []string{"q"}, line: func(l *line) { l.delay, l.lose = time.Second, 1 }})
		time.Sleep(4500 * time.Millisecond) // it has read the guards, and goes on
		b.apply(s, "p", "q")
		time.Sleep(10 * interval)
		if got := b.p().state(); got != resilience.Open {
			t.Errorf("the breaker is %v", got)
		}
	}))
}

// R63: a store that takes 9 s for each call makes nobody seem silent, and what is said gets there.
func TestASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		slow := setup{line: func(l *line) { l.delay = 9 * time.Second }}
		a, b := join(t, at, "a", slow), join(t, at, "b", slow)
		time.Sleep(5 * time.Minute)
		silent := 0
		for range 300 {
			time.Sleep(time.Second)
			for _, i := range []*instance{a, b} {
				i.measure("m", time.Second)
				i.p().try(failed)
				f := i.fleet.Status()
				if len(f.Instances) != 2 || f.Instances[1].Silent {
					silent++
				}
			}
		}
		if silent > 0 {
			t.Errorf("%d of 600 times the other one was silent", silent)
		}
	}))
}

// R63: a machine that began with a wrong clock leaves nobody behind who seems to live until then.
func TestMembersOfAWrongClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		at := memory.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		ahead.Store(int64(9 * 365 * 24 * time.Hour))
		dead := join(t, at, "dead", setup{line: func(l *line) { l.lose = 1 }})
		time.Sleep(3 * interval)
		dead.p().try(failed)
		time.Sleep(3 * interval)
		dead.line.set(func(l *line) { l.err = errDown })
		dead.fleet.Stop(context.Background())
		ahead.Store(0)
		a := join(t, at, "a", setup{})
		time.Sleep(2 * interval)
		if f := a.fleet.Status(); len(f.Instances) > 1 && !f.Instances[1].Silent { // or it was cleared away
			t.Errorf("there are %+v", f.Instances)
		}
		time.Sleep(5 * time.Minute)
		if all, err := at.Members(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("there are %v, %v", all, err)
		}
		if pages, err := at.Read(t.Context(), replica.Guards, time.Time{}, 0); err != nil || len(pages) != 0 {
			t.Errorf("there are %v, %v", pages, err)
		}
	})
}

// failing is a store that refuses leases of probes while it is told to.
type failing struct {
	replica.Store
	claims atomic.Bool
}

func (f *failing) Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error) {
	if f.claims.Load() && strings.HasPrefix(lease, "probe/") {
		return false, errDown
	}
	return f.Store.Claim(ctx, lease, holder, life)
}

// R64: who writes the log slowly is told of one change after the other, the last one last.
func TestChangesAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		store := &failing{Store: at.Peer()}
		var mu sync.Mutex
		var told []bool
		within := 0
		h := health.New(&facts{})
		f := replica.New(replica.Options{
			Open: func(context.Context) (replica.Store, error) { return store, nil },
			Self: replica.Member{ID: "a", Started: time.Now()}, Interval: interval,
			Told: func(reached bool, _ error) {
				mu.Lock()
				if within++; within > 1 {
					t.Error("two are told at once")
				}
				mu.Unlock()
				if !reached {
					time.Sleep(time.Minute)
				}
				mu.Lock()
				within--
				told = append(told, reached)
				mu.Unlock()
			},
		})
		h.OnEvidence(f.Moved)
		h.Apply([]health.Config{{Name: "p", Settings: shortBreaker(), Credentials: []resilience.Credential{{Name: "default"}}}})
		g := &guards{h.Provider("p"), time.Now}
		f.Apply([]replica.Provider{{Name: "p", Of: "of-p", Guards: g.Provider}})
		f.Start(t.Context())
		defer f.Stop(context.Background())
		time.Sleep(2 * interval)
		store.claims.Store(true)
		for g.state() != resilience.Open {
			g.try(failed)
		}
		time.Sleep(14 * time.Second)
		store.claims.Store(false)
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, []bool{true, false, true}) {
			t.Errorf("it was told %v", told)
		}
	}))
}

// R64: a store that comes back with what stood there before (a replica that took over) is told, too, of what is no more.
func TestAStoreThatComesBackOlder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		time.Sleep(2 * interval)
		a.open(t, "p")
		time.Sleep(soon)
		old, err := at.Read(t.Context(), replica.Guards, time.Time{}, 0)
		if err != nil || len(old) != 1 {
			t.Fatalf("there are %v, %v", old, err)
		}
		if err := a.p().Operate(a.now(), resilience.Order{Action: resilience.Reset}, "test"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * interval)
		a.line.set(func(l *line) { l.err = errDown })
		time.Sleep(2 * interval)
		if err := errors.Join(at.Drop(t.Context(), "a"), at.Put(t.Context(), old)); err != nil {
			t.Fatal(err)
		}
		a.line.set(func(l *line) { l.err = nil })
		time.Sleep(3 * interval)
		if pages, err := at.Read(t.Context(), replica.Guards, time.Time{}, 0); err != nil || len(pages) != 1 || len(pages[0].Body) > 0 {
			t.Errorf("there are %v, %v", pages, err)
		}
	}))
}

// R63: of instances that come and go, nothing stays but what still blocks.
func TestInstancesThatComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		a := join(t, at, "a", setup{})
		most := 0
		for n := range 200 {
			i := join(t, at, fmt.Sprint("i", n), setup{})
			time.Sleep(2 * interval)
			i.p().try(failed)
			i.p().try(good)
			i.open(t, "p")
			time.Sleep(interval)
			if n%2 == 0 { // it crashes
				i.line.set(func(l *line) { l.err = errDown })
			}
			i.fleet.Stop(context.Background())
			most = max(most, len(a.fleet.Status().Instances))
		}
		if most > 20 {
			t.Errorf("%d instances were known at once", most)
		}
		time.Sleep(5 * time.Minute)
		members, err1 := at.Members(t.Context())
		pages, err2 := at.Read(t.Context(), replica.Guards, time.Time{}, 0)
		if err := errors.Join(err1, err2); err != nil || len(members) != 1 || len(pages) > 1 {
			t.Errorf("there are %d members and %d pages, %v", len(members), len(pages), err)
		}
		if got := len(a.fleet.Status().Instances); got != 1 {
			t.Errorf("%d instances are known", got)
		}
	}))
}

// R60: the store is given to others while it is reached alone.
func TestReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, withStore(func(t *testing.T, at *memory.Store) {
		i := join(t, at, "a", setup{line: func(l *line) { l.err = errDown }})
		steps := []struct {
			what  func(*line)
			given bool
		}{
			{func(*line) {}, false},
			{func(l *line) { l.err = nil }, true},
			{func(l *line) { l.err = errDown }, false},
			{func(l *line) { l.err = nil }, true},
		}
		for n, s := range steps {
			i.line.set(s.what)
			time.Sleep(2 * interval)
			if got := i.fleet.Reached() != nil; got != s.given {
				t.Errorf("step %d: %v", n, got)
			}
		}
		i.fleet.Stop(context.Background())
		if i.fleet.Reached() != nil {
			t.Error("it is given after a stop")
		}
	}))
}
