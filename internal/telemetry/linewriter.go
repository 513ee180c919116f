package telemetry

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	flushAfter = 100 * time.Millisecond // a line waits so long at most
	flushSize  = 64 << 10               // so many waiting bytes are flushed at once
	maxPending = 1 << 20                // bytes that may wait while the output is slow; lines beyond are dropped
	shrinkFrom = 128 << 10              // a buffer that grew larger is let go once a batch fills an eighth of it or less
)

// LineWriter gathers log lines and writes them in batches, so that a request pays for a copy and never for a system
// call, and a blocked output (a full pipe, a slow disk) never blocks a request. A line waits 100 ms at most, an urgent
// one (Hasten) not at all. While the output is slow up to 1 MiB waits; after that new lines are dropped and counted,
// since the lines that came first tell how the trouble began. Safe for concurrent use.
//
// It has no goroutine while nothing waits.
type LineWriter struct {
	out  io.Writer
	note func(dropped uint64) []byte // makes the line that tells of dropped ones; nil: none

	dropped atomic.Uint64

	mu      sync.Mutex
	idle    *sync.Cond // signalled when a flush ends
	pending []byte
	spare   []byte // the other of the two buffers, nil while it is being written
	timer   *time.Timer
	armed   bool // the timer will run flush
	urgent  bool // … at once
	writing bool
	closed  bool
	untold  uint64 // dropped since the last note
}

// NewLineWriter makes a writer of batches to out. Close it to flush the rest.
func NewLineWriter(out io.Writer) *LineWriter {
	w := &LineWriter{out: out}
	w.idle = sync.NewCond(&w.mu)
	w.timer = time.AfterFunc(time.Hour, w.flush)
	w.timer.Stop()
	return w
}

// Write takes one or more whole lines. It never blocks on the output and never fails: a line that finds no room is
// dropped and counted. After Close lines are written through at once.
func (w *LineWriter) Write(line []byte) (int, error) { return w.put(line, false) }

func (w *LineWriter) put(line []byte, urgent bool) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.out.Write(line)
	}
	if len(w.pending)+len(line) > maxPending {
		w.drop(linesIn(line))
		return len(line), nil
	}
	w.pending = append(w.pending, line...)
	w.arm(urgent || len(w.pending) >= flushSize)
	return len(line), nil
}

// Hasten has what is waiting written at once, without waiting for it.
func (w *LineWriter) Hasten() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && len(w.pending) > 0 {
		w.arm(true)
	}
}

// Dropped is the number of lines lost so far, because there was no room or because the output failed.
func (w *LineWriter) Dropped() uint64 { return w.dropped.Load() }

// tellDropped sets what makes the line that tells of dropped ones.
func (w *LineWriter) tellDropped(note func(dropped uint64) []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note = note
}

// Close writes what is waiting and waits until it is written. It does not close the output. It may be called again.
func (w *LineWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.timer.Stop()
	for w.writing {
		w.idle.Wait()
	}
	w.writing = true
	var err error
	for len(w.pending) > 0 || (w.untold > 0 && w.note != nil && err == nil) {
		err = errors.Join(err, w.batch())
	}
	w.writing, w.closed = false, true
	w.idle.Broadcast()
	return err
}

// arm makes sure that a flush will run. It requires the lock.
func (w *LineWriter) arm(urgent bool) {
	switch {
	case w.writing: // it looks again when it has written
		w.urgent = w.urgent || urgent
	case !w.armed:
		w.armed, w.urgent = true, urgent
		if urgent {
			w.timer.Reset(0)
		} else {
			w.timer.Reset(flushAfter)
		}
	case urgent && !w.urgent:
		w.urgent = true
		w.timer.Reset(0)
	}
}

// flush is the timer's: it writes what waits. If more came meanwhile, it arms the timer for it.
func (w *LineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.writing || !w.armed { // a timer that was already superseded
		return
	}
	w.armed, w.urgent, w.writing = false, false, true
	_ = w.batch() // there is nobody to tell: batch counts what was lost
	w.writing = false
	if urgent := w.urgent; len(w.pending) > 0 && !w.closed {
		w.urgent = false
		w.arm(urgent)
	}
	w.idle.Broadcast()
}

// batch writes what is pending. It requires the lock, and gives it up while it writes.
func (w *LineWriter) batch() error {
	told := uint64(0)
	if w.untold > 0 && w.note != nil {
		told = w.untold
		w.pending = append(w.pending, w.note(told)...)
	}
	w.untold -= told
	lines := w.pending
	w.pending, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	n, err := w.out.Write(lines)
	w.mu.Lock()
	if err != nil {
		lost := linesIn(lines[max(0, min(n, len(lines))):])
		if told > 0 { // the note is lost too: it is told again, but it is none of the lines
			w.untold += told
			lost = max(lost, 1) - 1
		}
		w.drop(lost)
	}
	if cap(lines) <= shrinkFrom || len(lines) > cap(lines)/8 {
		w.spare = lines[:0]
	}
	return err
}

// drop counts lost lines. It requires the lock.
func (w *LineWriter) drop(lines uint64) {
	w.dropped.Add(lines)
	w.untold += lines
}

func linesIn(b []byte) uint64 {
	return uint64(bytes.Count(b, []byte{'\n'})) //nolint:gosec // a count is not negative
}
