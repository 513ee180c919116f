// Package feed is what happens, as it happens, for whoever watches: rows of the ledger, as they are made, for any number of readers up
// to a bound. It owns what is kept for readers that are slow or come back, and how they are told of what they missed. Nothing is kept
// or copied while nobody watches. It must not know how events are written or over what they are sent.
package feed

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Kept is how many of the latest events a reader may be behind, or may have missed between two visits.
	Kept = 1000
	// KeptBytes bounds them, too, as rows: where they are large, fewer are kept, but always the latest.
	KeptBytes = 4 << 20
	// MaxReaders is how many may watch at once.
	MaxReaders = 64
	// linger is for how long events are kept after the last reader has gone: it may come back.
	linger = time.Minute
)

// Why nobody can watch, or goes on watching.
var (
	ErrFull    = errors.New("as many watch as may watch at once")
	ErrStopped = errors.New("the gateway is shutting down")
	ErrHungUp  = errors.New("the reader was hung up on; it may come back")
)

// Feed hears rows and has them read. It is safe for concurrent use. To hear a row takes one atomic load while nobody watches; else it
// costs a copy of the row, however many watch.
type Feed struct {
	instance string
	on       atomic.Bool // somebody watches, or did a moment ago

	mu      sync.Mutex
	kept    []*Event // a ring: event n is at n % Kept
	next    uint64   // the number of the next event
	oldest  uint64   // that of the oldest event that is kept
	bytes   int      // of the rows of those that are kept
	awake   uint64   // that of the first event since somebody watches: what was before is not even counted
	readers int
	left    time.Time     // when the last reader went
	wake    chan struct{} // closed at the next event; nil: nobody waits
	gone    chan struct{} // closed for those who watch now to go
	stopped bool
}

// New makes the feed of an instance.
func New(instance string) *Feed {
	return &Feed{instance: instance, next: 1, oldest: 1, awake: 1, gone: make(chan struct{})}
}

// Listening implements ledger.Hearer: whether anything is to be heard.
func (f *Feed) Listening() bool { return f.on.Load() }

// Heard implements ledger.Hearer. It copies what it keeps.
func (f *Feed) Heard(kind string, row []byte) {
	if !f.on.Load() {
		return
	}
	if k, ok := kindOf(kind); ok { // else: the row of a probe, which has an entry, too
		f.publish(&Event{Kind: k, row: bytes.Clone(row)})
	}
}

func (f *Feed) publish(e *Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers == 0 && time.Since(f.left) > linger {
		f.sleep()
	}
	if f.stopped || !f.on.Load() {
		return
	}
	e.instance, e.number = f.instance, f.next
	if f.next-f.oldest == Kept {
		f.forget()
	}
	f.kept[f.next%Kept] = e
	f.next++
	f.bytes += len(e.row)
	for f.bytes > KeptBytes && f.next-f.oldest > 1 {
		f.forget()
	}
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// forget lets go of the oldest event.
func (f *Feed) forget() {
	at := f.oldest % Kept
	f.bytes -= len(f.kept[at].row)
	f.kept[at] = nil
	f.oldest++
}

// sleep forgets all events. One number is left out, for those that will not be heard.
func (f *Feed) sleep() {
	f.on.Store(false)
	f.kept, f.bytes = nil, 0
	f.next++
	f.oldest, f.awake = f.next, f.next
}

// Stop ends all reading, at once and for good.
func (f *Feed) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		f.stopped = true
		f.sleep()
		close(f.gone)
	}
}

// HangUp ends all reading of those who watch now. They may come back: who may watch has changed.
func (f *Feed) HangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		close(f.gone)
		f.gone = make(chan struct{})
	}
}
