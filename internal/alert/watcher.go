package alert

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/journal"
)

// Options are what a Watcher is made of.
type Options struct {
	Instance string // of this process, as the admin API names it
	// Client sends. It must follow no redirects; its Timeout does not matter.
	Client http.RoundTripper
	Log    *slog.Logger
	// Leases are the fleet's; nil: this instance is alone.
	Leases Leases
	// Random gives numbers in [0, 1), for the jitter of retries.
	Random func() float64
}

// Watcher hears the journal's facts and tells receivers what is the matter. As a sink it takes well under a microsecond, and
// takes no lock. Safe for concurrent use.
type Watcher struct {
	journal.Nothing
	o     Options
	facts chan fact
	lost  atomic.Uint64 // facts that found no room
	// wanted: there are receivers. troubled is the number of models with an outage. What is seldom is kept track of without receivers, too, so
	// that one who comes is told what goes on.
	wanted   atomic.Bool
	troubled atomic.Int32
	outages  sync.Map // route -> *outage

	tracker tracker // of the loop
	next    atomic.Pointer[settings]
	poke    chan struct{} // next has something
	mu      sync.Mutex
	posts   map[string]*post // by receiver; guarded by mu, as the next two
	begun   bool
	stopped bool
	stop    chan struct{}
	loop    sync.WaitGroup
	posting sync.WaitGroup
}

// fact is one that may matter, for the loop: one of its fields.
type fact struct {
	guard     *journal.Guard
	discovery *journal.Discovery
	change    *journal.Change
	store     *store
	refusal   *refusal
	budget    *Budget
}

type store struct {
	at      time.Time
	reached bool
	message string
}

type refusal struct {
	at              time.Time
	route, code, id string
	outage          *outage
}

type settings struct {
	receivers []Receiver
	providers map[string]bool
}

var _ journal.Sink = (*Watcher)(nil)

// room is for facts that wait for the loop, which may wait for the fleet's store.
const room = 256

// New makes a Watcher that tells nobody before Apply, and nothing before Start.
func New(o Options) *Watcher {
	return &Watcher{
		o: o, facts: make(chan fact, room), posts: map[string]*post{}, stop: make(chan struct{}), poke: make(chan struct{}, 1),
		tracker: tracker{leases: o.Leases, incidents: map[string]*incident{}, ends: map[string]time.Time{}},
	}
}

// take gives a fact to the loop, if there is room.
func (w *Watcher) take(f fact) {
	select {
	case w.facts <- f:
	default:
		w.lost.Add(1)
	}
}

// GuardChanged implements journal.Sink.
func (w *Watcher) GuardChanged(g *journal.Guard) {
	if g.Guard == "circuit_breaker" {
		kept := *g
		kept.Model, kept.RequestID = strings.Clone(g.Model), strings.Clone(g.RequestID)
		w.take(fact{guard: &kept})
	}
}

// DiscoveryChanged implements journal.Sink.
func (w *Watcher) DiscoveryChanged(d *journal.Discovery) {
	kept := *d
	w.take(fact{discovery: &kept})
}

// Changed implements journal.Sink.
func (w *Watcher) Changed(c *journal.Change) {
	if strings.HasPrefix(c.Action, "drill_") {
		kept := *c
		w.take(fact{change: &kept})
	}
}

// StoreChanged tells that the state's store is reached, or lost and why. It does not block.
func (w *Watcher) StoreChanged(at time.Time, reached bool, message string) {
	w.take(fact{store: &store{at, reached, message}})
}

// RequestEnded implements journal.Sink.
func (w *Watcher) RequestEnded(r *journal.Request) {
	failed := r.Code != "" && !r.Committed && noCandidate(r)
	answered := !failed && r.Code == "" && r.Status < http.StatusBadRequest && w.troubled.Load() > 0
	if !failed && !answered || r.Route == "" || !w.wanted.Load() {
		return
	}
	at := r.Start.Add(r.Duration)
	known, ok := w.outages.Load(r.Route)
	if !ok {
		if !failed {
			return
		}
		known, _ = w.outages.LoadOrStore(strings.Clone(r.Route), new(outage))
	}
	o := known.(*outage) //nolint:forcetypeassert // nothing else is stored
	if !failed {
		o.answeredAt(at.UnixMilli())
		return
	}
	if o.failedAt(at.UnixMilli()) {
		w.take(fact{refusal: &refusal{at, strings.Clone(r.Route), r.Code, strings.Clone(r.ID), o}})
	}
}

// noCandidate says whether a request failed because no candidate could answer: all of them failed, or guards blocked them all. A
// model's only target that fails is none of that before its guards say so.
func noCandidate(r *journal.Request) bool {
	switch r.Code {
	case "all_providers_failed", "all_providers_rate_limited", "circuit_open":
		return true
	case "provider_error", "provider_timeout", "deadline_exceeded":
		for i := range r.Trail {
			if r.Trail[i].Why == "all_blocked" { // it was tried in spite of them (R51)
				return true
			}
		}
	}
	return false
}
