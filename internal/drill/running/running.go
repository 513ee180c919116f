// Package running keeps the drills that run (R74): which there are, what they have come to, and that each ends, by its time, its budget
// or its failures. It must not know what a fault does, nor how others of the fleet are told.
package running

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/drill"
	"evergate/internal/journal"
)

const (
	// kept is how many drills that are over are remembered.
	kept = 100
	// struckKept is how many requests of each drill are remembered by their id until they end, for the transitions of guards that follow.
	struckKept = 16 << 10
	// self is who ends a drill that ends by itself.
	self = "evergate"
)

// Drills are those of one instance. Safe for concurrent use; the zero value has none. Its methods on the request path are Strike and those of
// journal.Sink; they do no I/O and hold no lock while no drill runs.
type Drills struct {
	journal.Nothing
	// Journal hears that a drill started, was stopped or ended. Spread tells the fleet of what happened to one here; nil: there is none. Random
	// gives numbers from [0, 1); nil: the usual ones. First says whether no other instance has stated yet that a drill ended, and may take its
	// time; nil: there is no other. They are set before the first drill, and not changed.
	Journal journal.Sink
	Spread  func(drill.State)
	First   func(id string) bool
	Random  func() float64

	running atomic.Pointer[[]*one] // nil: none
	any     atomic.Bool            // there is one, or was

	mu      sync.Mutex // never held while Journal or Spread are called
	all     []*one     // those that run and the last that did, in the order in which they began; the list itself is never changed
	timer   *time.Timer
	off     bool // none strikes here
	stopped bool
	ending  sync.WaitGroup // ends that are being told
}

// one is one drill.
type one struct {
	rule  drill.Rule
	spent atomic.Int64 // attempts that met the fault, here
	away  atomic.Int64 // and elsewhere, as far as it is known
	over  atomic.Bool

	mu     sync.Mutex
	end    drill.End
	counts drill.Counts
	there  map[string]drill.Counts // of others, by instance
	struck map[string]struct{}     // ids of requests that met it and have not ended
	guards map[string]int64        // transitions, in words
}

// Running says whether any drill runs: one atomic load. A nil *Drills has none.
func (d *Drills) Running() bool { return d != nil && d.running.Load() != nil }

// Strike gives the rule whose fault an attempt of a request is to meet, and counts that; nil: none.
func (d *Drills) Strike(a *drill.Asked, request string, now time.Time) *drill.Rule {
	if d == nil {
		return nil
	}
	list := d.running.Load()
	if list == nil {
		return nil
	}
	for _, o := range *list {
		if o.over.Load() || !now.Before(o.rule.Until) || !o.rule.Is(a) || o.rule.Share < 1 && d.random() >= o.rule.Share {
			continue
		}
		if spent := o.spent.Add(1) + o.away.Load(); spent > o.rule.Budget {
			o.spent.Add(-1)
			d.later(o, drill.Spent)
			continue
		} else if spent == o.rule.Budget {
			d.later(o, drill.Spent)
		}
		o.mark(request)
		return &o.rule
	}
	return nil
}

func (d *Drills) random() float64 {
	if d.Random != nil {
		return d.Random()
	}
	return rand.Float64() //nolint:gosec // a share, not a secret
}

func (o *one) mark(request string) {
	if request == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.struck) == struckKept {
		for any := range o.struck {
			delete(o.struck, any)
			break
		}
	}
	if o.struck == nil {
		o.struck = map[string]struct{}{}
	}
	o.struck[request] = struct{}{}
}

// settled takes that a request has ended which met it. It requires the drill's lock.
func (o *one) settled(request string) {
	if delete(o.struck, request); len(o.struck) == 0 && o.over.Load() {
		o.struck = nil // a map keeps its room
	}
}

// later ends a drill on another goroutine than the request's: whoever hears of it may take its time. Only the first call counts, and none
// after Close.
func (d *Drills) later(o *one, why string) {
	if o.over.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped && o.over.CompareAndSwap(false, true) {
		d.ending.Go(func() { d.finish(o, drill.End{Why: why, At: time.Now()}, false) })
	}
}

// NewID makes an id for a drill.
func NewID() string { return "drill_" + strconv.FormatUint(rand.Uint64()>>16, 36) } //nolint:gosec // a name, not a secret

// Start begins a drill; its rule has an id. false: there are as many as there may be.
func (d *Drills) Start(r drill.Rule) bool {
	if !d.add(drill.State{Rule: r}) {
		return false
	}
	d.started(&r, false)
	d.spread(drill.State{Rule: r})
	return true
}

// started states that a drill has begun.
func (d *Drills) started(r *drill.Rule, heard bool) {
	d.tell(&journal.Change{
		At: r.Since, Action: "drill_started", Subject: r.ID, Reason: r.Reason + " (" + r.String() + ")", By: r.By, Result: "ok", Heard: heard,
	})
}

// add takes a drill; false: it cannot, or knows it already.
func (d *Drills) add(s drill.State) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped || d.find(s.Rule.ID) != nil || !s.Over() && d.count() >= drill.MaxRunning {
		return false
	}
	o := &one{rule: s.Rule, end: s.End, guards: map[string]int64{}, there: map[string]drill.Counts{}}
	o.over.Store(s.Over())
	d.any.Store(true)
	d.all = append(slices.Clone(d.all), o) // others may be reading the list that was
	slices.SortStableFunc(d.all, func(a, b *one) int { return a.rule.Since.Compare(b.rule.Since) })
	d.arrange()
	return true
}

// find is a drill by its id. It requires the lock.
func (d *Drills) find(id string) *one {
	for _, o := range d.all {
		if o.rule.ID == id {
			return o
		}
	}
	return nil
}

// count is how many run. It requires the lock.
func (d *Drills) count() (n int) {
	for _, o := range d.all {
		if !o.over.Load() {
			n++
		}
	}
	return n
}

// arrange makes anew what follows from the list: which run, when the next one ends, what is forgotten. It requires the lock.
func (d *Drills) arrange() {
	var list []*one
	next := time.Time{}
	over := 0
	for _, o := range d.all {
		if o.over.Load() {
			over++
			continue
		}
		list = append(list, o)
		if next.IsZero() || o.rule.Until.Before(next) {
			next = o.rule.Until
		}
	}
	d.all = slices.DeleteFunc(slices.Clone(d.all), func(o *one) bool {
		forget := over > kept && o.over.Load()
		if forget {
			over--
		}
		return forget
	})
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if list == nil {
		d.running.Store(nil)
		return
	}
	if d.off {
		d.running.Store(nil)
	} else {
		d.running.Store(&list)
	}
	d.timer = time.AfterFunc(max(time.Until(next), 0), d.expire)
}

// expire ends those whose time is up.
func (d *Drills) expire() {
	d.mu.Lock()
	if d.stopped {
		d.mu.Unlock()
		return
	}
	d.ending.Add(1)
	defer d.ending.Done()
	now := time.Now()
	var due []*one
	for _, o := range d.all {
		if !o.over.Load() && !now.Before(o.rule.Until) && o.over.CompareAndSwap(false, true) {
			due = append(due, o)
		}
	}
	d.arrange()
	d.mu.Unlock()
	for _, o := range due {
		d.finish(o, drill.End{Why: drill.TimeUp, At: o.rule.Until}, false)
	}
}

// finish notes how a drill ended whose over was just set, and says so. Heard: another instance has said so before.
func (d *Drills) finish(o *one, end drill.End, heard bool) {
	o.mu.Lock()
	o.end = end
	o.mu.Unlock()
	d.mu.Lock()
	if !d.stopped {
		d.arrange()
	}
	d.mu.Unlock()
	if !heard && end.Why != drill.TimeUp { // which everybody sees by themselves
		d.spread(drill.State{Rule: o.rule, End: end})
	}
	c := &journal.Change{
		At: end.At, Action: "drill_ended", Subject: o.rule.ID, Reason: cmp.Or(end.Reason, end.Why) + " (" + o.summary() + ")",
		By: cmp.Or(end.By, self), Result: "ok", Heard: heard,
	}
	if end.Why == drill.Stopped {
		c.Action = "drill_stopped"
	}
	if end.Why != drill.Stopped && !heard && d.First != nil {
		c.Heard = !d.First(o.rule.ID)
	}
	d.tell(c)
}

// summary is what a drill has come to, in a line.
func (o *one) summary() string {
	c := o.total()
	n := strconv.FormatInt
	return "injected " + n(c.Injected, 10) + ", requests " + n(c.Requests, 10) + ", rescued " + n(c.Rescued, 10) + ", failed " + n(c.Failed, 10)
}

// Stop ends a drill by an operator's word; false: there is none of that id that runs.
func (d *Drills) Stop(id, reason, by string) bool {
	d.mu.Lock()
	o := d.find(id)
	d.mu.Unlock()
	if o == nil || !o.over.CompareAndSwap(false, true) {
		return false
	}
	d.finish(o, drill.End{Why: drill.Stopped, At: time.Now(), Reason: reason, By: by}, false)
	return true
}

// Hear takes a drill as the fleet has it: one that was started elsewhere, or ended.
func (d *Drills) Hear(s drill.State) {
	if d.add(s) {
		if !s.Over() {
			d.started(&s.Rule, true)
		}
		return
	}
	d.mu.Lock()
	o := d.find(s.Rule.ID)
	end := o != nil && !d.stopped && s.Over() && o.over.CompareAndSwap(false, true)
	d.mu.Unlock()
	if end {
		d.finish(o, s.End, true)
	}
}

// Forbid has no drill strike here, whether it was started here or elsewhere, or lets them again.
func (d *Drills) Forbid(off bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off != off && !d.stopped {
		d.off = off
		d.arrange()
	}
}

// Close stops the timer, and waits for ends that are being told; no drill strikes after it, and nobody is told. Those that run go on
// elsewhere, or end with it where there is no other.
func (d *Drills) Close() {
	d.mu.Lock()
	d.stopped = true
	d.running.Store(nil)
	if d.timer != nil {
		d.timer.Stop()
	}
	var left []*one
	for _, o := range d.all {
		if d.Spread == nil && o.over.CompareAndSwap(false, true) {
			left = append(left, o)
		}
	}
	d.mu.Unlock()
	for _, o := range left {
		d.finish(o, drill.End{Why: drill.Stopped, At: time.Now(), Reason: "the gateway has stopped"}, false)
	}
	d.ending.Wait()
}

func (d *Drills) tell(c *journal.Change) {
	if d.Journal != nil {
		d.Journal.Changed(c)
	}
}

func (d *Drills) spread(s drill.State) {
	if d.Spread != nil {
		d.Spread(s)
	}
}
