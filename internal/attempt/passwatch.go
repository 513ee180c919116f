package attempt

import (
	"context"
	"sync/atomic"
	"time"

	"evergate/internal/fault"
)

// passWatch ends an attempt at passing a request through whose upstream is silent for too long: before its answer for
// timeouts.first_chunk, in it for timeouts.idle. Both are counted from the last sign of life, and their clock stands still while the
// gateway waits for the client, on either way. There is no limit on the whole: nobody knows how long an upload takes.
type passWatch struct {
	cancel      context.CancelCauseFunc
	first, idle time.Duration // 0: none
	start       time.Time
	timer       *time.Timer

	last     atomic.Int64 // nanoseconds since start: the last sign of life
	paused   atomic.Int32 // how many wait for the client
	answered atomic.Bool
	over     atomic.Bool
}

// begin starts the clock.
func (w *passWatch) begin(now time.Time) {
	w.start = now
	d := w.first
	if d == 0 {
		d = forever
	}
	w.timer = time.AfterFunc(d, w.fire)
}

func (w *passWatch) stop() {
	w.over.Store(true)
	w.timer.Stop()
}

// pause and resume are the begin and the end of waiting for the client. Nil is a watch that nobody set.
func (w *passWatch) pause() {
	if w != nil {
		w.paused.Add(1)
	}
}

func (w *passWatch) resume(now time.Time) {
	if w != nil {
		w.alive(now)
		w.paused.Add(-1)
	}
}

// alive notes that the upstream gave or took something.
func (w *passWatch) alive(now time.Time) { w.last.Store(int64(now.Sub(w.start))) }

// silent is for how long there was none.
func (w *passWatch) silent(now time.Time) time.Duration {
	return now.Sub(w.start) - time.Duration(w.last.Load())
}

// answer notes the response head: from here on the idle limit holds.
func (w *passWatch) answer(now time.Time) {
	w.alive(now)
	w.answered.Store(true)
	if w.idle > 0 {
		w.timer.Reset(w.idle)
	} else {
		w.timer.Stop()
	}
}

// fire ends the attempt if it is time, and sleeps on if not.
func (w *passWatch) fire() {
	limit, words := w.first, "the upstream did not answer in time"
	if w.answered.Load() {
		limit, words = w.idle, "the upstream fell silent"
	}
	if limit == 0 || w.over.Load() {
		return
	}
	left := limit
	if w.paused.Load() == 0 {
		left -= w.silent(time.Now())
	}
	if left <= 0 {
		w.cancel(&fault.Fault{Class: fault.Timeout, Message: words})
		return
	}
	w.timer.Reset(left)
}
