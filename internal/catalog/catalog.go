// Package catalog owns what is known of the providers' models: which provider lists which, how fresh that is, and what
// discovery says of each provider's health. It asks the providers at the start, every refresh interval, those that failed
// every recheck interval, and when a request names a model that nobody was found to have, and publishes what it learns as frozen snapshots that the request path reads
// without a lock. It must not know how a model list is fetched, what a config file is, or what routing makes of the
// snapshot; the circuit breaker is none of its business either (a provider can be degraded here and closed there).
package catalog

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/route"
)

const (
	fetchTimeout  = 10 * time.Second // of one fetch
	fetchesAtOnce = 8                // over all providers
	awaitLimit    = 2 * time.Second  // a request's wait for a discovery
	demandGap     = time.Minute      // between the last look at a provider and one that a request causes
	jitter        = 0.1              // ± of an interval, so that a fleet does not ask in step
)

// Source is one provider as discovery sees it.
type Source struct {
	Name string
	// Configured are the model ids of the config. If there are any, they are the provider's models, and discovery tells
	// its health alone.
	Configured []string
	// Fetch asks for the model list; nil if the provider has none to ask for. It is called from a goroutine of the
	// catalog, never twice at once for one source, and must return soon after ctx is done (10 s at the latest).
	Fetch func(ctx context.Context) ([]string, *fault.Fault)
	// Disabled sources are listed, never asked, and serve no model.
	Disabled bool
	// Identity changes when what is asked changes (address, credentials): Apply then forgets what it knew.
	Identity string
}

// Options are the catalog's settings; the zero value never asks again after the first time.
type Options struct {
	// Refresh is the time between two looks at a provider (CACHE_REFRESH_INTERVAL), Recheck that after a failed one
	// (PROVIDER_RECHECK_INTERVAL), if that is sooner. Both ± 10 %; 0 = off.
	Refresh, Recheck time.Duration
	// Journal hears the changes of status; nil: nobody does.
	Journal journal.Sink
	// Rand gives numbers in [0,1) for the jitter, one call at a time; nil: math/rand.
	Rand func() float64
}

// Catalog holds the providers' inventories and keeps them fresh. Safe for concurrent use.
type Catalog struct {
	opts     Options
	snapshot atomic.Pointer[route.Inventory]

	slots chan struct{} // one for each fetch under way
	wake  chan struct{} // tells the loop that due times changed
	work  sync.WaitGroup

	mu      sync.Mutex
	entries []*entry      // in config order
	changed chan struct{} // closed and replaced at each publication
}

// New makes a catalog of the sources. Nothing is asked before Start; until then Snapshot knows the configured models.
func New(sources []Source, opts Options) *Catalog {
	if opts.Rand == nil {
		opts.Rand = rand.Float64
	}
	c := &Catalog{
		opts:    opts,
		slots:   make(chan struct{}, fetchesAtOnce),
		wake:    make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	c.Apply(sources)
	return c
}

// Snapshot is what is known now, never nil. It costs one atomic load.
func (c *Catalog) Snapshot() *route.Inventory { return c.snapshot.Load() }

// Apply takes the sources of a new configuration. A source that was there with the same Identity keeps its inventory and
// status; others start unknown and are asked at once if the catalog was started.
func (c *Catalog) Apply(sources []Source) {
	now := time.Now()
	var facts []*journal.Discovery
	c.mu.Lock()
	old := make(map[string]*entry, len(c.entries))
	for _, e := range c.entries {
		e.gone = true // until kept below
		old[e.source.Name] = e
	}
	entries := make([]*entry, len(sources))
	for i, s := range sources {
		e := old[s.Name]
		if e == nil || e.source.Identity != s.Identity {
			e = &entry{}
		}
		e.apply(s)
		if fact := e.report(now); fact != nil {
			facts = append(facts, fact)
		}
		entries[i] = e
	}
	c.entries = entries
	c.publish()
	c.mu.Unlock()
	if c.opts.Journal != nil {
		for _, fact := range facts {
			c.opts.Journal.DiscoveryChanged(fact)
		}
	}
	c.rouse()
}

// Await gives a request with an unknown bare model id the chance of a discovery: of the first one, or of one that the
// request itself causes, as Look does at every provider that lists its models. It returns as soon as the snapshot lists the id,
// when nobody is being asked any more, when ctx is done, or after 2 s, with the latest snapshot. Where there is nothing to
// wait for it returns at once.
func (c *Catalog) Await(ctx context.Context, model string) *route.Inventory {
	changed, asked := c.lookEverywhere()
	if !asked || len(c.Snapshot().ByModel[model]) > 0 {
		return c.Snapshot()
	}
	c.rouse()
	limit := time.NewTimer(awaitLimit)
	defer limit.Stop()
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return c.Snapshot()
		case <-limit.C:
			return c.Snapshot()
		}
		changed, asked = c.beingAsked()
		if !asked || len(c.Snapshot().ByModel[model]) > 0 {
			return c.Snapshot()
		}
	}
}

// Settle waits until every provider whose models are discovered has answered, or failed to, or ctx is done.
func (c *Catalog) Settle(ctx context.Context) {
	for changed, asked := c.beingAsked(); asked; changed, asked = c.beingAsked() {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// Look has a provider asked for its models soon, because a request named one that it was not found to have. It does not
// wait, and one provider is not asked again within a minute of its last answer, whatever clients ask for.
func (c *Catalog) Look(provider string) {
	now := time.Now()
	c.mu.Lock()
	due := false
	for _, e := range c.entries {
		if e.source.Name == provider {
			due = e.demand(now)
		}
	}
	c.mu.Unlock()
	if due {
		c.rouse()
	}
}

// lookEverywhere makes every provider due whose models are discovered, and says whether any is being asked, or about to be.
func (c *Catalog) lookEverywhere() (changed <-chan struct{}, asked bool) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		due := e.demand(now)
		asked = asked || due || e.outstanding()
	}
	return c.changed, asked
}

// beingAsked says whether any provider whose models are discovered is being asked.
func (c *Catalog) beingAsked() (changed <-chan struct{}, asked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		asked = asked || e.outstanding()
	}
	return c.changed, asked
}

// publish makes the snapshot of the entries and wakes whoever awaits one. It requires the lock.
func (c *Catalog) publish() {
	c.snapshot.Store(inventory(c.entries))
	close(c.changed)
	c.changed = make(chan struct{})
}

// rouse makes the loop look at the due times again.
func (c *Catalog) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
