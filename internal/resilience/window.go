package resilience

import "time"

// windowSlots is how finely a window forgets: its length in slots.
const windowSlots = 60

// tally is successes and failures.
type tally struct{ successes, failures uint32 }

// window counts the successes and failures of a rolling time (R29) in a fixed number of slots. It never counts what is
// older than its length, and forgets at most one slot's width early. Its slots start at the first entry after it was
// empty, so that a lone burst is counted to the nanosecond. The zero window has no length and counts nothing.
type window struct {
	width  time.Duration // of one slot
	anchor time.Time     // start of slot 0
	newest int64         // number of the newest slot
	slots  [windowSlots]tally
	sum    tally
}

// resize sets the length and keeps what was counted, as far as the new length reaches.
func (w *window) resize(length time.Duration) {
	width := length / windowSlots
	if width == w.width {
		return
	}
	old := *w
	*w = window{width: width}
	if width <= 0 || old.sum == (tally{}) {
		return
	}
	for n := old.newest - windowSlots + 1; n <= old.newest; n++ {
		if n < 0 {
			continue
		}
		w.put(old.anchor.Add(time.Duration(n)*old.width), old.slots[n%windowSlots])
	}
}

// clear forgets what was counted.
func (w *window) clear() { *w = window{width: w.width} }

// add counts one result.
func (w *window) add(now time.Time, failed bool) {
	if failed {
		w.put(now, tally{failures: 1})
	} else {
		w.put(now, tally{successes: 1})
	}
}

// at is what the window holds now.
func (w *window) at(now time.Time) tally {
	w.advance(now)
	return w.sum
}

func (w *window) put(now time.Time, t tally) {
	if w.width <= 0 || t == (tally{}) {
		return
	}
	w.advance(now)
	if w.sum == (tally{}) {
		w.anchor, w.newest = now, 0
	}
	slot := &w.slots[w.newest%windowSlots]
	slot.successes += t.successes
	slot.failures += t.failures
	w.sum.successes += t.successes
	w.sum.failures += t.failures
}

// advance drops the slots that have gone out of the window. A clock that went backwards counts as standing still.
func (w *window) advance(now time.Time) {
	if w.sum == (tally{}) {
		return
	}
	n := int64(now.Sub(w.anchor) / w.width)
	for drop := min(n-w.newest, windowSlots); drop > 0; drop-- {
		w.newest++
		slot := &w.slots[w.newest%windowSlots]
		w.sum.successes -= slot.successes
		w.sum.failures -= slot.failures
		*slot = tally{}
	}
	w.newest = max(w.newest, n)
}
