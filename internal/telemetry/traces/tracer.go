package traces

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/journal"
)

// Options are what a Tracer needs beside its settings.
type Options struct {
	Version, Instance string
	// Place says where a provider is asked. It must be safe for concurrent use.
	Place func(provider string) Place
	Log   *slog.Logger
	// Transport replaces the network in tests; nil: the real one.
	Transport http.RoundTripper
}

// Tracer draws the ids of requests that are traced, and sends their spans when they have ended. Safe for concurrent use.
type Tracer struct {
	journal.Nothing

	settings *Settings
	origin   origin
	sender   *sender
	queue    chan *journal.Request
	records  sync.Pool // of *journal.Request with room for a trail

	sent, dropped atomic.Uint64
	life          context.Context //nolint:containedctx // ends with Stop: what waits is sent, and no more
	end           context.CancelFunc
	finish        context.Context //nolint:containedctx // of the last tries, given by Stop before life ends
	ended         chan struct{}
	began         atomic.Bool
	once          sync.Once
}

var _ journal.Sink = (*Tracer)(nil)

// New makes a tracer; Start must be called for spans to be sent.
func New(s *Settings, o Options) *Tracer {
	t := &Tracer{
		settings: s, queue: make(chan *journal.Request, s.Queue), ended: make(chan struct{}),
		origin: origin{version: o.Version, place: o.Place, resource: describe(s.Resource, o)},
	}
	t.life, t.end = context.WithCancel(context.Background())
	t.records.New = func() any { return new(journal.Request) }
	t.sender = newSender(s, o)
	return t
}

// describe adds to the resource what the program knows itself, unless the operator said it otherwise.
func describe(resource []Pair, o Options) []Pair {
	out := append([]Pair(nil), resource...)
	for _, own := range []Pair{
		{"service.version", o.Version},
		{"service.instance.id", o.Instance},
		{"telemetry.sdk.name", scope},
		{"telemetry.sdk.language", "go"},
		{"telemetry.sdk.version", o.Version},
	} {
		known := own.Value == ""
		for _, p := range resource {
			known = known || p.Key == own.Key
		}
		if !known {
			out = append(out, own)
		}
	}
	for i := range out {
		out[i] = Pair{clean(out[i].Key), clean(out[i].Value)}
	}
	return out
}

// Begin draws the ids of a request that has just come, by the trace context in its headers; nil: it is not traced, and what the
// client said of its trace is passed on as it came.
func (t *Tracer) Begin(h http.Header) *journal.Trace {
	client, state, known := parent(h)
	id := client.trace
	if !known {
		id = newTrace()
	}
	if !t.settings.sampler.samples(client, known, id) {
		return nil
	}
	return &journal.Trace{ID: id, Span: journal.NewSpan(rand.Uint64()), Parent: client.span, State: state} //nolint:gosec // an id, not a secret
}

func newTrace() (id [16]byte) {
	for id == [16]byte{} {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // an id, not a secret
		binary.BigEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // as above
	}
	return id
}

// RequestEnded takes a copy of a request that is traced for the next batch. Where too many wait, it is dropped and counted.
func (t *Tracer) RequestEnded(r *journal.Request) {
	if r.Trace.Span == [8]byte{} {
		return
	}
	if len(t.queue) == cap(t.queue) { // spares the copy
		t.dropped.Add(1)
		return
	}
	c, _ := t.records.Get().(*journal.Request)
	trail := append(c.Trail[:0], r.Trail...)
	for i := range trail {
		trail[i].Message = "" // no span has it, and it may be long
	}
	*c = *r
	c.Trail, c.Candidates = trail, nil
	c.Lost = append([]string(nil), r.Lost...)
	select {
	case t.queue <- c:
	default:
		t.dropped.Add(1)
		t.free(c)
	}
}

// free gives a copy back.
func (t *Tracer) free(r *journal.Request) {
	trail := r.Trail[:cap(r.Trail)]
	clear(trail)
	*r = journal.Request{Trail: trail[:0]}
	t.records.Put(r)
}

// Sent and Dropped are how many traces the collector took so far, and how many it never got or refused, whole or in part.
func (t *Tracer) Sent() uint64 { return t.sent.Load() }

// Dropped is described with Sent.
func (t *Tracer) Dropped() uint64 { return t.dropped.Load() }

// Start has batches sent from here on, on a goroutine that Stop ends.
func (t *Tracer) Start() {
	if t.began.CompareAndSwap(false, true) {
		go t.run()
	}
}

// Stop sends what waits, within ctx, and ends the tracer. Nothing is taken after it.
func (t *Tracer) Stop(ctx context.Context) {
	t.once.Do(func() {
		t.finish = ctx
		t.end()
	})
	if !t.began.Load() {
		return
	}
	<-t.ended
	t.sender.close()
}

// run gathers batches and sends them.
func (t *Tracer) run() {
	defer close(t.ended)
	batch := make([]*journal.Request, 0, min(t.settings.Batch, 64))
	for {
		batch = t.gather(batch[:0])
		if len(batch) == 0 {
			return
		}
		t.deliver(batch)
	}
}

// gather waits for a batch: until it is full, or its first trace has waited long enough, or the tracer is stopped. An empty one
// is the end.
func (t *Tracer) gather(batch []*journal.Request) []*journal.Request {
	select {
	case r := <-t.queue:
		batch = append(batch, r)
	case <-t.life.Done():
	}
	timer := time.NewTimer(t.settings.Delay)
	defer timer.Stop()
	for len(batch) < t.settings.Batch {
		select {
		case r := <-t.queue:
			batch = append(batch, r)
			continue
		default:
		}
		select {
		case r := <-t.queue:
			batch = append(batch, r)
		case <-timer.C:
			return batch
		case <-t.life.Done():
			if len(t.queue) == 0 {
				return batch
			}
		}
	}
	return batch
}

// deliver sends a batch and counts what became of it.
func (t *Tracer) deliver(batch []*journal.Request) {
	ctx := t.life
	if ctx.Err() != nil {
		ctx = t.finish
	}
	lost := t.sender.send(ctx, &t.origin, batch)
	if lost > 0 && ctx == t.life && ctx.Err() != nil { // the stop came in between, and leaves a little time
		lost = t.sender.send(t.finish, &t.origin, batch)
	}
	t.sent.Add(uint64(len(batch) - lost)) //nolint:gosec // lost is at most that
	t.dropped.Add(uint64(lost))           //nolint:gosec // never negative
	for _, r := range batch {
		t.free(r)
	}
}
