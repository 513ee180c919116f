package replica

import (
	"context"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/health"
	"evergate/internal/identity"
	"evergate/internal/resilience"
)

// Machine is one provider's guards, as replication asks and tells them. Its methods are safe for concurrent use and quick: they do no I/O.
type Machine interface {
	// Rows are what this instance saw itself (R62).
	Rows(now time.Time) []resilience.Row
	// Absorb takes what another instance saw that lives (R62).
	Absorb(now time.Time, rows []resilience.Row)
	// Restore takes, at the start, what still blocks of what anybody saw (R65).
	Restore(now time.Time, rows []resilience.Row)
	// Due are the breakers whose open period ends within a time, and Yield leaves the first probe after it to another instance (R66).
	Due(now time.Time, within time.Duration) []resilience.Due
	Yield(now time.Time, model string, openedAt, until time.Time) bool
	// Obey carries out an operator's order that was given elsewhere (R31).
	Obey(now time.Time, o resilience.Order) error
}

// Averages are what this instance measured, and what it makes of others' measures (R67).
type Averages interface {
	Latencies(now time.Time) []health.Latency
	AbsorbLatencies(now time.Time, peers []health.Peer)
}

// Provider is one of the providers whose state is shared.
type Provider struct {
	Name string
	// Of is a fingerprint of what the provider is: rows of another one under the same name are not ours.
	Of     string
	Guards Machine
}

// Options are what a Fleet is made of.
type Options struct {
	// Open opens the store. It is called again, an interval later, when it fails.
	Open func(context.Context) (Store, error)
	// Self is this process; its ID is its alone.
	Self Member
	// Averages are shared, too; nil: they are not.
	Averages Averages
	// Memory of conversations is shared, too; nil: it is not.
	Memory Memory
	// Answers in memory are forgotten when they were deleted elsewhere; nil: there are none.
	Answers Answers
	// Drills are the fleet's, too (R74); nil: there are none.
	Drills Board
	// Keys are the callers, those that were made in the fleet among them; nil: they are not the fleet's.
	Keys *identity.Book
	// Interval is R61's sync_interval.
	Interval time.Duration
	// Told hears that the store is reached, or lost and why: once a change (R64). Calls come one at a time. nil: nobody.
	Told func(reached bool, why error)
	// Now is the local clock; nil: time.Now.
	Now func() time.Time
}

// Fleet is this instance's part in its fleet: what it saw goes to the store, what others saw comes from there. All of that happens
// on goroutines of its own. Safe for concurrent use.
type Fleet struct {
	o         Options
	providers atomic.Pointer[map[string]*shared]

	push  chan struct{} // a guard moved, or an operator ordered: say so at once
	claim chan struct{} // a breaker may have opened: look whether a lease is due
	sync  chan struct{} // a round is due now
	inbox chan Page     // heard, not yet taken

	stop    context.CancelFunc
	running sync.WaitGroup
	open    chan struct{} // closed when the store is open
	ready   chan struct{} // closed when the first read is done, or failed
	once    sync.Once

	pushing  chan struct{} // has an element during a push
	saying   chan struct{} // has an element while Told is called; taken before mu
	usable   atomic.Pointer[Store]
	said     atomic.Int64 // bytes of pages of guards and orders that were put
	telling  telling      // of the rounds
	deleting deleting     // of the rounds
	keys     keyring

	mu       sync.Mutex // guards what follows; never held during I/O, nor while guards are asked
	store    Store
	clock    clock
	sequence uint64 // of this instance's last page of guards
	drills   drills // see there
	patience patience
	state    state
	rounds   rounds
	peers    map[string]*peer
	orders   map[string]heardOrder // by key: the newest that was applied here
	pending  []ownOrder            // not in the store yet
	leases   map[string]time.Time  // asked for, and for which end of an open period
	held     map[string]bool       // those that this instance got
	others   int                   // members that are alive, but this one
}

// shared is one provider and what was last said of it. All but the first two are guarded by Fleet.mu.
type shared struct {
	Provider
	moved atomic.Bool // a guard moved since its rows were last looked at

	sequence uint64
	rows     []resilience.Row // as encoded in body
	body     []byte
	put      []resilience.Row // as the store has them
	behind   bool             // the store does not have body
	quietAt  time.Time        // when counts alone may be put again
}

// New makes a Fleet that is not started. Apply gives it its providers.
func New(o Options) *Fleet {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Told == nil {
		o.Told = func(bool, error) {}
	}
	f := &Fleet{
		o: o, push: make(chan struct{}, 1), claim: make(chan struct{}, 1), sync: make(chan struct{}, 1), pushing: make(chan struct{}, 1), saying: make(chan struct{}, 1),
		inbox: make(chan Page, inboxSize), open: make(chan struct{}), ready: make(chan struct{}),
		keys: keyring{turn: make(chan struct{}, 1)}, peers: map[string]*peer{}, orders: map[string]heardOrder{}, leases: map[string]time.Time{}, held: map[string]bool{},
	}
	f.providers.Store(&map[string]*shared{})
	f.patience.reset()
	return f
}

// Apply takes a configuration's providers. What was said of those that stay is kept; of one that comes, what others know is
// read in the next round, which is started.
func (f *Fleet) Apply(providers []Provider) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := *f.providers.Load()
	next := make(map[string]*shared, len(providers))
	came := false
	for _, p := range providers {
		if s := old[p.Name]; s != nil && s.Of == p.Of && s.Guards == p.Guards {
			next[p.Name] = s
			continue
		}
		came = true
		maps.DeleteFunc(f.orders, func(key string, _ heardOrder) bool { return strings.HasPrefix(key, orderKey(p.Name, "")) }) // they are not in force there
		next[p.Name] = &shared{Provider: p, behind: f.sequence > 0}                                                            // a page may stand that is of one before it
	}
	f.providers.Store(&next)
	if came {
		f.rounds.whole = true
		f.forget()
		poke(f.sync)
	}
}

// Moved says that a guard of a provider made a transition here, or was proved good, by this instance's own evidence (R61). It never
// blocks and does no more than to set a mark.
func (f *Fleet) Moved(provider string) {
	if s := (*f.providers.Load())[provider]; s != nil {
		s.moved.Store(true)
		poke(f.push)
		poke(f.claim)
	}
}

// startBound is how long a start waits for what the store knows (R65).
const startBound = 200 * time.Millisecond

// Start begins to replicate, and returns when what the store knows is in force: after 200 ms, or when ctx ends, without it (R65). What
// comes later is taken then.
func (f *Fleet) Start(ctx context.Context) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = cancel
	f.mu.Lock()
	f.state.since, f.rounds.whole = f.o.Now(), true
	f.rounds.done = rand.IntN(phases) //nolint:gosec // spreads load
	f.mu.Unlock()
	for _, run := range []func(context.Context){f.syncs, f.pushes, f.watches, f.claims, f.takes, f.listens} {
		f.running.Go(func() { run(own) })
	}
	bound := time.NewTimer(startBound)
	defer bound.Stop()
	select {
	case <-f.ready:
	case <-bound.C:
	case <-ctx.Done():
	}
}

// started says that nobody need wait any more.
func (f *Fleet) started() { f.once.Do(func() { close(f.ready) }) }

// poke wakes whoever reads from c.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// jitter is a duration of 0.8 to 1.2 times d.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration((rand.Float64()-0.5)*0.4*float64(d)) //nolint:gosec // spreads load, keeps no secret
}

// pause waits for d or until ctx ends; false: it ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
