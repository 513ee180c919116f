package attempt

import (
	"context"
	"sync/atomic"
	"time"

	"evergate/internal/fault"
)

// soundAfter is how long a probe's stream must bring content before its verdict is success (R26).
const soundAfter = 10 * time.Second

// finishGrace is how long a stream that said its finish reason may still take to end: usage and the end marker come
// at once or not at all, and the client must not wait for them (R17).
const finishGrace = 5 * time.Second

// watch ends an attempt that takes too long (R2, R15, R56). It is one timer: reading a chunk only stores a number, and the
// timer looks, when it fires, whether anything is due and sleeps on if not.
type watch struct {
	e      *exchange
	cancel context.CancelCauseFunc
	timer  *time.Timer

	// Nanoseconds since e.start; 0: not yet.
	chunkAt, contentAt, firstContentAt atomic.Int64
	finished, known, sounded           atomic.Bool
	limit                              time.Duration // to the first content event, or of a plain attempt
}

// begin starts the clock of an attempt.
func (w *watch) begin(e *exchange, cancel context.CancelCauseFunc) {
	w.e, w.cancel = e, cancel
	w.limit = e.limits.Attempt
	if e.x.c.Request.Stream {
		w.limit = e.limits.FirstChunk
	}
	if w.limit == 0 {
		w.limit = 365 * 24 * time.Hour
	}
	w.timer = time.AfterFunc(w.limit, w.fire)
}

func (w *watch) stop() { w.timer.Stop() }

// chunk notes that bytes came.
func (w *watch) chunk(now time.Time) { w.chunkAt.Store(max(int64(now.Sub(w.e.start)), 1)) }

// content notes a content event; the first one ends the wait for it and starts the idle limits.
func (w *watch) content(now time.Time) {
	at := max(int64(now.Sub(w.e.start)), 1)
	w.contentAt.Store(at)
	if w.firstContentAt.CompareAndSwap(0, at) {
		w.timer.Reset(max(w.next(now), 0))
	}
}

// finish notes the finish reason: what may still come comes soon.
func (w *watch) finish() {
	if w.finished.CompareAndSwap(false, true) && w.firstContentAt.Load() != 0 {
		w.timer.Reset(max(w.next(time.Now()), 0))
	}
}

// hasten ends the attempt after d at the latest, or its limit if that is sooner: the outcome is known already, and
// what may still come is worth no more.
func (w *watch) hasten(d time.Duration) {
	w.known.Store(true)
	if w.firstContentAt.Load() == 0 {
		d = min(d, max(w.limit-time.Since(w.e.start), 0))
	}
	w.timer.Reset(d)
}

// fire is the timer's.
func (w *watch) fire() {
	now := time.Now()
	if w.known.Load() {
		w.cancel(nil)
		return
	}
	if first := w.firstContentAt.Load(); first == 0 {
		what := "the upstream did not answer in time"
		if w.e.x.c.Request.Stream {
			what = "the upstream sent no content in time"
		}
		w.cancel(&fault.Fault{Class: fault.Timeout, Message: what})
		return
	} else if now.Sub(w.e.start) >= time.Duration(first)+soundAfter && w.sounded.CompareAndSwap(false, true) {
		w.e.permit.Sound(now)
	}
	if d := w.next(now); d > 0 {
		w.timer.Reset(d)
		return
	}
	w.cancel(&fault.Fault{Class: fault.Timeout, Message: "the upstream fell silent"})
}

// next is how long until something is due; at most 0: a limit has passed.
func (w *watch) next(now time.Time) time.Duration {
	since := now.Sub(w.e.start)
	l := w.e.limits
	due := time.Duration(1<<63 - 1)
	limit := func(from int64, d time.Duration) {
		if d > 0 {
			due = min(due, time.Duration(from)+d)
		}
	}
	limit(w.chunkAt.Load(), l.Idle)
	limit(w.contentAt.Load(), l.ContentIdle)
	if w.finished.Load() {
		limit(w.chunkAt.Load(), finishGrace)
	}
	if l.StreamTotal > 0 {
		due = min(due, w.e.x.c.Start.Add(l.StreamTotal).Sub(w.e.start))
	}
	if !w.sounded.Load() && w.e.permit.Probing() {
		if at := time.Duration(w.firstContentAt.Load()) + soundAfter; at > since {
			due = min(due, at)
		}
	}
	if due == 1<<63-1 {
		return time.Hour
	}
	return due - since
}
