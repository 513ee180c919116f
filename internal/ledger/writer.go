package ledger

import (
	"context"
	"sync"
	"sync/atomic"

	"evergate/internal/journal"
)

// The bounds of a writer.
const (
	maxWaiting      = 16_384   // rows
	maxWaitingBytes = 16 << 20 // of them
	maxPooled       = 16 << 10 // of a row whose room is used again
	// maxBodies is how many bytes of bodies wait, those that are being written among them. A row that finds no room for its own goes without.
	maxBodies = 16 << 20
)

// Options of a Writer.
type Options struct {
	// Store gives the store while it is reached, else nil. It waits for nothing.
	Store func() Store
	// Instance is the name of this process in its fleet.
	Instance string
	// Keep gives for how long rows are kept; nil: for ever.
	Keep func() Retention
	// Hear hears each row as it is made; nil: nobody does.
	Hear Hearer
	// Redact takes out of a body what must not be kept; nil: no body is kept. It is called by the goroutine that writes.
	Redact func(text []byte) []byte
	// Told hears that the store takes rows again, or why it does not; each once. It may be nil.
	Told func(err error)
}

// Writer is the sink that writes the ledger. A fact costs its caller the copying of it into a queue with bounds: nothing waits for the store. Where there is no
// room the oldest rows go, and are counted.
type Writer struct {
	o       Options
	numbers *Numbers
	queue   *queue
	bodies  atomic.Int64 // bytes of bodies, in the queue and being written
	writing int64        // of those, what is being written; the writing goroutine's
	written atomic.Uint64
	dropped atomic.Uint64
	flushes chan chan struct{}
	expire  chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
	told    error   // what Told heard last; the writing goroutine's
	fresh   int64   // bytes that were written since rows were last taken away; the writing goroutine's
	spare   []*item // room for the rows of a batch; the writing goroutine's
}

var _ journal.Sink = (*Writer)(nil)

// item is a row in the queue, as bytes: what waits there holds nothing of the request that it is of.
type item struct {
	entry bool
	bytes []byte
	// bodies are as the client sent and got them; without: there was no room for them.
	bodies  *journal.Bodies
	without bool
	body    *Body // what is kept of them, once the row is being written
}

func (i *item) size() int64 { return int64(len(i.bytes)) + 64 }

//nolint:gochecknoglobals // a pool holds nothing that matters
var items = sync.Pool{New: func() any { return &item{bytes: make([]byte, 0, 512)} }}

// NewWriter gives a writer; it takes facts at once, and writes from Start on.
func NewWriter(o Options) *Writer {
	if o.Told == nil {
		o.Told = func(error) {}
	}
	if o.Keep == nil {
		o.Keep = func() Retention { return Retention{} }
	}
	return &Writer{
		o: o, numbers: NewNumbers(o.Instance), queue: newQueue(maxWaiting), flushes: make(chan chan struct{}), expire: make(chan struct{}, 1),
		stop: func() {},
	}
}

// Stats are counts since the start.
type Stats struct {
	// Written are rows that the store has, Dropped those that it will never have, Waiting those on the way.
	Written, Dropped uint64
	Waiting          int
}

// Stats gives the counts.
func (w *Writer) Stats() Stats {
	rows, _ := w.queue.waiting()
	return Stats{Written: w.written.Load(), Dropped: w.dropped.Load(), Waiting: rows}
}

// Store gives the store while it is reached, else nil.
func (w *Writer) Store() Store { return w.o.Store() }

// put never waits.
func (w *Writer) put(i *item) {
	if !w.queue.put(i, w.drop) {
		w.drop(i)
	}
}

func (w *Writer) drop(i *item) {
	w.dropped.Add(1)
	w.bodies.Add(-i.bodies.Bytes())
	free(i)
}

func free(i *item) {
	if cap(i.bytes) > maxPooled {
		return
	}
	*i = item{bytes: i.bytes[:0]}
	items.Put(i)
}

// RequestEnded implements journal.Sink.
func (w *Writer) RequestEnded(f *journal.Request) { w.request(f, KindRequest) }

func (w *Writer) request(f *journal.Request, kind string) {
	i := items.Get().(*item) //nolint:forcetypeassert // the pool has no other
	row := w.numbers.row(f.Start.Add(f.Duration))
	c := coder{b: i.bytes}
	c.head(&row, w.o.Instance, kind)
	c.fact(f, f.Candidates, 0)
	c.noAccount()
	i.bytes = c.b
	if kind == KindProbe {
		kind = kindProbeRow
	}
	w.hear(kind, i.bytes)
	w.takeBodies(i, f)
	w.put(i)
}

func (w *Writer) enter(e *Entry) {
	i := items.Get().(*item) //nolint:forcetypeassert // the pool has no other
	e.Row, e.Instance = w.numbers.Row(e.At), w.o.Instance
	i.entry, i.bytes = true, AppendEntry(i.bytes, e)
	w.hear(e.Kind, i.bytes)
	w.put(i)
}

// AttemptEnded implements journal.Sink: attempts are in the trails.
func (w *Writer) AttemptEnded(*journal.Attempt) {}

// MirrorEnded implements journal.Sink. A copy that went nowhere has no row.
func (w *Writer) MirrorEnded(m *journal.Mirror) {
	if m.Credential == "" && m.Status == 0 {
		return
	}
	step := [1]journal.Step{{
		Provider: m.Provider, Model: m.Model, Label: m.Model, Credential: m.Credential, Status: m.Status, Reason: m.Outcome, Why: KindMirror, Usage: m.Usage,
		Estimated: m.Estimated, Cost: m.Cost, Message: m.Message, Start: m.Start, Duration: m.Duration, FirstContent: m.FirstContent,
	}}
	w.request(&journal.Request{
		ID: m.RequestID, Start: m.Start, Dialect: m.Dialect, Stream: m.Stream, Route: m.Route, Provider: m.Provider, Model: m.Model, Status: m.Status,
		Duration: m.Duration, FirstContent: m.FirstContent, Upstream: m.Duration, Usage: m.Usage, Estimated: m.Estimated, Cost: m.Cost, Finish: m.Finish,
		Trail: step[:],
	}, KindMirror)
}

// ProbeEnded implements journal.Sink. A probe that asked for the list of models costs nothing, and is in the timeline alone.
func (w *Writer) ProbeEnded(p *journal.Probe) {
	w.enter(&Entry{
		At: p.At, Kind: EntryProbe, Provider: p.Provider, Model: p.Model, Credential: p.Credential, To: p.Result, Message: p.Message,
	})
	if p.Model == "" {
		return
	}
	start := p.At.Add(-p.Duration)
	step := [1]journal.Step{{
		Provider: p.Provider, Model: p.Model, Label: p.Model, Credential: p.Credential, Status: p.Status, Reason: p.Result, Why: KindProbe, Usage: p.Usage,
		Estimated: p.Estimated, Cost: p.Cost, Message: p.Message, Start: start, Duration: p.Duration,
	}}
	w.request(&journal.Request{
		Start: start, Provider: p.Provider, Model: p.Model, Status: p.Status, Duration: p.Duration, Upstream: p.Duration, Usage: p.Usage, Estimated: p.Estimated,
		Cost: p.Cost, Trail: step[:],
	}, KindProbe)
}

// GuardChanged implements journal.Sink. What is only heard of others they enter themselves, as with orders and changes.
func (w *Writer) GuardChanged(g *journal.Guard) {
	if g.Heard {
		return
	}
	w.enter(&Entry{
		At: g.At, Kind: EntryGuard, Provider: g.Provider, Model: g.Model, Credential: g.Credential, Guard: g.Guard, From: g.From, To: g.To, Trip: g.Trip,
		Reason: g.Reason, Until: g.Until, RequestID: g.RequestID,
	})
}

// DiscoveryChanged implements journal.Sink.
func (w *Writer) DiscoveryChanged(d *journal.Discovery) {
	w.enter(&Entry{At: d.At, Kind: EntryDiscovery, Provider: d.Provider, From: d.From, To: d.To, Message: d.Message})
}

// BreakerOperated implements journal.Sink.
func (w *Writer) BreakerOperated(o *journal.Order) {
	if o.Heard {
		return
	}
	w.enter(&Entry{At: o.At, Kind: EntryOrder, Provider: o.Provider, Model: o.Model, Guard: o.Action, Reason: o.Reason, By: o.By, Until: o.Until})
}

// Changed implements journal.Sink.
func (w *Writer) Changed(c *journal.Change) {
	if c.Heard {
		return
	}
	w.enter(&Entry{At: c.At, Kind: EntryChange, Guard: c.Action, From: c.Subject, To: c.Result, Reason: c.Reason, By: c.By})
}
