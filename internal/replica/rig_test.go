package replica_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/journal"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
)

// guards are one provider's guards on one instance, with requests of its own.
type guards struct {
	*health.Provider
	now func() time.Time
}

// try sends one request: what came of it, or false where a guard blocks it.
func (g *guards) try(o resilience.Outcome) (asked bool) {
	now := g.now()
	p, b := g.Admit(now, 0, "m", now.Add(time.Minute), false)
	if b.Blocked() {
		return false
	}
	p.Settle(now, o, health.Measured{})
	return true
}

func (g *guards) view() resilience.View { return g.Snapshot(g.now()).Guards }

func (g *guards) state() resilience.State { return g.view().Breaker.State }

var (
	good    = resilience.Outcome{Success: true}
	failed  = resilience.Outcome{Class: fault.Upstream}
	limited = resilience.Outcome{Class: fault.RateLimited, Wait: fault.Wait{For: time.Minute, Named: true}}
)

// line is an instance's way to the store, with its faults.
type line struct {
	replica.Store
	mu    sync.Mutex
	err   error
	mute  bool
	delay time.Duration
	lose  float64 // share of messages that are lost, and that come twice
	twice float64
	cut   chan struct{} // closed to cut a watch
	deaf  bool          // nothing is told
	asked int           // watches
}

var errDown = errors.New("connection refused")

func (l *line) pass(ctx context.Context) error {
	l.mu.Lock()
	err, mute, delay := l.err, l.mute, l.delay
	l.mu.Unlock()
	if mute {
		<-ctx.Done()
		return ctx.Err()
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// set changes the faults.
func (l *line) set(what func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what(l)
	if l.err != nil || l.mute {
		close(l.cut)
		l.cut = make(chan struct{})
	}
}

func (l *line) Beat(ctx context.Context, m replica.Member) (time.Time, error) {
	if err := l.pass(ctx); err != nil {
		return time.Time{}, err
	}
	return l.Store.Beat(ctx, m)
}

func (l *line) Members(ctx context.Context) ([]replica.Member, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Members(ctx)
}

func (l *line) Put(ctx context.Context, pages []replica.Page) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	return l.Store.Put(ctx, pages)
}

func (l *line) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) ([]replica.Page, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.Store.Read(ctx, topic, since, limit)
}

func (l *line) Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error) {
	if err := l.pass(ctx); err != nil {
		return false, err
	}
	return l.Store.Claim(ctx, lease, holder, life)
}

func (l *line) Yield(ctx context.Context, lease, holder string) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	return l.Store.Yield(ctx, lease, holder)
}

func (l *line) Drop(ctx context.Context, id string) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	return l.Store.Drop(ctx, id)
}

func (l *line) Watch(ctx context.Context, ready func(), heard func(replica.Page)) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	l.asked++
	cut, deaf := l.cut, l.deaf
	l.mu.Unlock()
	if deaf {
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
		return fmt.Errorf("watch: %w", replica.ErrDeaf)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-cut:
			cancel(errDown)
		case <-ctx.Done():
		}
	}()
	err := l.Store.Watch(ctx, ready, func(p replica.Page) {
		l.mu.Lock()
		lost, again := rand.Float64() < l.lose, rand.Float64() < l.twice
		l.mu.Unlock()
		if lost {
			return
		}
		heard(p)
		if again {
			heard(p)
		}
	})
	if cause := context.Cause(ctx); errors.Is(cause, errDown) {
		return errDown
	}
	return err
}

// instance is one process of a fleet.
type instance struct {
	id     string
	fleet  *replica.Fleet
	health *health.Health
	guards map[string]*guards
	facts  *facts
	line   *line
	board  *board
	book   *identity.Book
	keys   *identity.Registry
	skew   time.Duration
	mu     sync.Mutex
	told   []string
}

func (i *instance) now() time.Time { return time.Now().Add(i.skew) }

func (i *instance) stories() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.told...)
}

const interval = 5 * time.Second

// shortBreaker opens after three failures, for 20 s.
func shortBreaker() resilience.Settings {
	s := resilience.Defaults()
	s.Breaker.FailureThreshold, s.Breaker.Timeout = 3, 20*time.Second
	s.Cooldown.Failures = 0
	return s
}

type setup struct {
	skew      time.Duration
	providers []string
	settings  resilience.Settings
	line      func(*line)
	noStart   bool
}

// join starts an instance at a store. It is stopped when the test ends, unless it was.
func join(t testing.TB, at *memory.Store, id string, s setup) *instance {
	t.Helper()
	i := &instance{id: id, skew: s.skew, guards: map[string]*guards{}, line: &line{Store: at.Peer(), cut: make(chan struct{})}}
	if s.line != nil {
		s.line(i.line)
	}
	if s.providers == nil {
		s.providers = []string{"p"}
	}
	if s.settings == (resilience.Settings{}) {
		s.settings = shortBreaker()
	}
	i.facts, i.board, i.book = &facts{}, &board{}, identity.NewBook()
	i.book.Await()
	i.health = health.New(i.facts)
	i.fleet = replica.New(replica.Options{
		Averages: i.health, Drills: i.board, Keys: i.book,
		Open: func(ctx context.Context) (replica.Store, error) { return i.line, i.line.pass(ctx) },
		Self: replica.Member{ID: id, Version: "test", Started: i.now()}, Interval: interval, Now: i.now,
		Told: func(reached bool, why error) {
			i.mu.Lock()
			defer i.mu.Unlock()
			if reached {
				i.told = append(i.told, "reached")
			} else {
				i.told = append(i.told, "lost: "+why.Error())
			}
		},
	})
	i.keys = identity.NewRegistry(i.book, i.fleet.KeyPlace(), i.now)
	i.health.OnEvidence(i.fleet.Moved)
	i.apply(s.settings, s.providers...)
	if !s.noStart {
		i.fleet.Start(context.Background())
	}
	t.Cleanup(func() { i.fleet.Stop(context.Background()) })
	return i
}

// apply gives the instance its providers.
func (i *instance) apply(s resilience.Settings, names ...string) {
	var configs []health.Config
	for _, name := range names {
		configs = append(configs, health.Config{Name: name, Settings: s, Credentials: []resilience.Credential{{Name: "default"}}})
	}
	i.health.Apply(configs)
	var all []replica.Provider
	for _, name := range names {
		i.guards[name] = &guards{i.health.Provider(name), i.now}
		all = append(all, replica.Provider{Name: name, Of: "of-" + name, Guards: i.health.Provider(name)})
	}
	i.fleet.Apply(all)
}

// facts keeps what the journal heard.
type facts struct {
	journal.Nothing
	mu     sync.Mutex
	guards []journal.Guard
	orders []journal.Order
}

func (f *facts) GuardChanged(g *journal.Guard) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.guards = append(f.guards, *g)
}

func (f *facts) BreakerOperated(o *journal.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, *o)
}

func (f *facts) heardOrders() (out []journal.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.orders {
		if o.Heard {
			out = append(out, o)
		}
	}
	return out
}

// withStore gives a test a store of its own.
func withStore(what func(t *testing.T, at *memory.Store)) func(*testing.T) {
	return func(t *testing.T) { what(t, memory.New(time.Now)) }
}

// soon is R61's bound.
const soon = 100 * time.Millisecond

func (i *instance) p() *guards { return i.guards["p"] }

// open has an instance see its provider fail until its breaker opens.
func (i *instance) open(t testing.TB, name string) {
	t.Helper()
	g := i.guards[name]
	for range 10 {
		if g.state() == resilience.Open {
			return
		}
		g.try(failed)
	}
	t.Fatalf("%s: the breaker of %s did not open", i.id, name)
}

// measure has an instance answer a request in so long.
func (i *instance) measure(model string, first time.Duration) {
	now := i.now()
	p, _ := i.p().Admit(now, 0, model, now.Add(time.Minute), false)
	p.Settle(now, good, health.Measured{FirstByte: first, FirstContent: first, Total: 2 * first, Stream: true})
}
