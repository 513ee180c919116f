package attempt

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
)

// finishGrace is how long a stream that said its finish reason may still take to end: usage and the end marker come
// at once or not at all, and the client must not wait for them (R17).
const finishGrace = 5 * time.Second

const (
	forever = time.Duration(math.MaxInt64)
	// pausedLook is how often a limit that is near is looked at while the upstream's clock stands still.
	pausedLook = time.Second
)

// watch ends an attempt that takes too long (R2, R15, R56). It is one timer: reading a chunk only stores a number, and the
// timer looks, when it fires, whether anything is due and sleeps on if not.
//
// The limits run by the upstream's clock, which stands still while the client is written to: a client that is slow to
// take what it gets is no fault of the upstream.
type watch struct {
	e      *exchange
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration // to the first content event, or of a plain attempt; 0: none

	// Nanoseconds on the upstream's clock; 0: not yet.
	chunkAt, contentAt, firstContentAt, finishedAt atomic.Int64
	// Nanoseconds since e.start: when to look whether a hedge is due (0: never); the begin of a pause (0: none is), the sum of those that are over, and the end of an
	// attempt whose outcome is known (0: it is not).
	hedgeAt, pausedAt, paused, hurryAt atomic.Int64
	sounded, over                      atomic.Bool
}

// begin starts the clock of an attempt.
func (w *watch) begin(e *exchange, cancel context.CancelCauseFunc) {
	w.e, w.cancel = e, cancel
	w.limit = e.limits.Attempt
	if e.x.c.Request.Stream {
		w.limit = e.limits.FirstChunk
	}
	first := w.limit
	if first == 0 {
		first = forever
	}
	w.timer = time.AfterFunc(first, w.fire)
	if at := time.Duration(w.hedgeAt.Load()); at != 0 && at < first {
		w.timer.Reset(at) // this soon it may fire only once it has its place
	}
}

func (w *watch) stop() {
	w.over.Store(true)
	w.timer.Stop()
}

// clock is how much time the upstream has had.
func (w *watch) clock(now time.Time) int64 {
	at := w.pausedAt.Load() // before paused: resume changes them the other way round
	if at == 0 {
		at = int64(now.Sub(w.e.start))
	}
	return max(at-w.paused.Load(), 1)
}

// pause stops the upstream's clock: the client is written to.
func (w *watch) pause(now time.Time) { w.pausedAt.Store(max(int64(now.Sub(w.e.start)), 1)) }

// resume lets it go on.
func (w *watch) resume(now time.Time) {
	w.paused.Add(int64(now.Sub(w.e.start)) - w.pausedAt.Load())
	w.pausedAt.Store(0)
}

// chunk notes that bytes came.
func (w *watch) chunk(now time.Time) { w.chunkAt.Store(w.clock(now)) }

// content notes a content event; the first one ends the wait for it and starts the idle limits. finished says that every
// choice so far has its finish reason: what may still come comes soon.
func (w *watch) content(now time.Time, finished bool) {
	at := w.clock(now)
	w.contentAt.Store(at)
	change := w.firstContentAt.CompareAndSwap(0, at)
	if was := w.finishedAt.Load() != 0; was != finished {
		if !finished {
			at = 0
		}
		w.finishedAt.Store(at)
		change = true
	}
	if change {
		d, _ := w.next(now)
		w.timer.Reset(max(d, 0))
	}
}

// hasten ends the attempt after d at the latest, or at its limit if that is sooner: the outcome is known already, and
// what may still come is worth no more.
func (w *watch) hasten(d time.Duration) {
	now := time.Now()
	w.hurryAt.Store(int64(now.Sub(w.e.start) + d))
	d, _ = w.next(now)
	w.timer.Reset(max(d, 0))
}

// calm takes hasten back: the attempt goes on.
func (w *watch) calm() {
	w.hurryAt.Store(0)
	d, _ := w.next(time.Now())
	w.timer.Reset(max(d, 0))
}

// fire is the timer's.
func (w *watch) fire() {
	now := time.Now()
	if first := w.firstContentAt.Load(); first != 0 && w.clock(now) >= first+int64(failover.SoundAfter) && w.sounded.CompareAndSwap(false, true) {
		w.e.permit.Sound(now)
	}
	hedge := w.hedgeDue(now)
	if w.look(now) && hedge {
		w.e.x.hedge(w.e)
	}
}

// hedgeDue says, once, that it is time for a hedge (R71).
func (w *watch) hedgeDue(now time.Time) bool {
	at := w.hedgeAt.Load()
	since := now.Sub(w.e.start)
	if at == 0 || since < time.Duration(at) || w.firstContentAt.Load() != 0 || w.over.Load() || !w.hedgeAt.CompareAndSwap(at, 0) {
		return false
	}
	after := w.e.hedgeAfter()
	if after > since {
		w.hedgeAt.Store(int64(after))
		return false
	}
	return after != 0
}

// look ends an attempt for which a limit has passed, or sets the timer for the next look; true: it goes on.
func (w *watch) look(now time.Time) bool {
	for d, words := w.next(now); !w.over.Load(); {
		if d <= 0 {
			w.cancel(&fault.Fault{Class: fault.Timeout, Message: words})
			return false
		}
		if w.pausedAt.Load() != 0 {
			d = max(d, pausedLook) // the clock stands still, so it would be as near at the next look
		}
		w.timer.Reset(d)
		// What was noted between the look and the reset counts, too: look again, or a nearer limit would be missed.
		sooner, why := w.next(now)
		if sooner >= d {
			return true
		}
		d, words = sooner, why
	}
	w.timer.Stop()
	return false
}

// next is how long until something is due, at most 0 if a limit has passed; and which one, in public words.
func (w *watch) next(now time.Time) (time.Duration, string) {
	at, due, words := w.clock(now), forever, ""
	limit := func(from int64, d time.Duration, what string) {
		if left := time.Duration(from-at) + d; d > 0 && left < due {
			due, words = left, what
		}
	}
	l := &w.e.limits
	switch {
	case w.firstContentAt.Load() != 0:
		limit(w.chunkAt.Load(), l.Idle, "the upstream fell silent")
		limit(w.contentAt.Load(), l.ContentIdle, "the upstream sent no content for too long")
		if f := w.finishedAt.Load(); f != 0 {
			limit(f, finishGrace, "the upstream did not end its stream")
		}
		if !w.sounded.Load() && w.e.permit.Probing() { // fire tells of it; it ends nothing
			due = min(due, max(time.Duration(w.firstContentAt.Load()-at)+failover.SoundAfter, 1))
		}
	case w.e.x.c.Request.Stream:
		limit(0, w.limit, "the upstream sent no content in time")
	default:
		limit(0, w.limit, "the upstream did not answer in time")
	}
	// These run by the gateway's own clock.
	since := now.Sub(w.e.start)
	if at := w.hedgeAt.Load(); at != 0 && w.firstContentAt.Load() == 0 { // fire starts it; it ends nothing
		due = min(due, max(time.Duration(at)-since, 1))
	}
	if total := l.StreamTotal; total > 0 && w.firstContentAt.Load() != 0 {
		if left := w.e.x.c.Start.Add(total).Sub(now); left < due {
			due, words = left, "the stream took longer than timeouts.stream_total"
		}
	}
	if hurry := w.hurryAt.Load(); hurry != 0 {
		due = min(due, time.Duration(hurry)-since)
	}
	return due, words
}
