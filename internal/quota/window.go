package quota

import "time"

// SlotLength is how exactly a Window knows when something was used, and WindowLength how long it counts.
const (
	SlotLength   = 500 * time.Millisecond
	WindowLength = time.Minute
	// slots are as many as any WindowLength touches: so what it holds is never less than what was used in the last 60 s.
	slots = int64(WindowLength/SlotLength) + 1
)

// Window is what was used in the last 60 s, in slots that leave whole: each half a second at most after it might. The zero Window is empty. It is
// not safe for concurrent use. Times that go back count as the latest one, unless the clock was set back by more than the window: then what was used keeps its age.
type Window struct {
	used [slots]int64
	sum  int64
	last int64 // the number of the latest slot; 0: nothing was counted yet
}

// slotOf is the number of the slot that a moment is in. Those of before a window's length after the beginning of 1970 are one: of a clock that is not set.
func slotOf(now time.Time) int64 { return max(now.UnixNano()/int64(SlotLength), slots) }

// begins is when a slot begins.
func begins(slot int64) time.Time { return time.Unix(0, slot*int64(SlotLength)) }

// leaves is when a slot counts no more.
func leaves(slot int64) time.Time { return begins(slot + slots) }

// advance lets the slots go that have left.
func (w *Window) advance(slot int64) {
	if w.last-slot >= slots {
		w.setBack(slot)
	}
	if slot <= w.last {
		return
	}
	if w.sum == 0 {
		w.last = slot
		return
	}
	if slot-w.last >= slots {
		*w = Window{last: slot}
		return
	}
	for w.last < slot {
		w.last++
		place := &w.used[w.last%slots]
		w.sum -= *place
		*place = 0
	}
}

// setBack makes an earlier slot the latest one.
func (w *Window) setBack(slot int64) {
	old := *w
	w.last = slot
	for age := range slots {
		w.used[(slot-age)%slots] = old.used[(old.last-age)%slots]
	}
}

// Add counts n as used now.
func (w *Window) Add(now time.Time, n int64) {
	if n <= 0 {
		return
	}
	w.advance(slotOf(now))
	w.put(w.last, n)
}

// put counts n in a slot that is in the window.
func (w *Window) put(slot, n int64) {
	n = min(n, maxAmount-min(w.sum, maxAmount))
	w.used[slot%slots] += n
	w.sum += n
}

// maxAmount bounds all sums: an upstream may say any number.
const maxAmount = int64(1) << 60

// Sum is what was used in the last 60 s.
func (w *Window) Sum(now time.Time) int64 {
	if w == nil {
		return 0
	}
	w.advance(slotOf(now))
	return w.sum
}

// Undo takes back what was added at a moment, if it still counts.
func (w *Window) Undo(at time.Time, n int64) {
	if slot := min(slotOf(at), w.last); slot > w.last-slots {
		place := &w.used[slot%slots]
		n = min(n, *place)
		*place -= n
		w.sum -= n
	}
}

// Clears is when nothing of it counts any more, if nothing else is used; now if nothing does.
func (w *Window) Clears(now time.Time) time.Time {
	if w.Sum(now) == 0 {
		return now
	}
	slot := w.last
	for w.used[slot%slots] == 0 {
		slot--
	}
	return leaves(slot)
}

// Each gives what was used by its age in slots, as Fill takes it.
func (w *Window) Each(now time.Time, yield func(age, n int64)) {
	if w.Sum(now) == 0 {
		return
	}
	for age := range slots {
		if n := w.used[(w.last-age)%slots]; n != 0 {
			yield(age, n)
		}
	}
}

// Fill counts what another window had at an age in slots.
func (w *Window) Fill(now time.Time, age, n int64) {
	w.advance(slotOf(now))
	if n > 0 && age >= 0 && age < slots {
		w.put(w.last-age, n)
	}
}

// Frees is when the windows hold no more than target together, if nothing else is used; now if they do. A nil one is empty.
func Frees(now time.Time, target int64, windows ...*Window) time.Time {
	sum, slot := int64(0), slotOf(now)
	for _, w := range windows {
		sum += w.Sum(now)
		if w != nil {
			slot = max(slot, w.last)
		}
	}
	if sum <= target {
		return now
	}
	for s := slot - slots + 1; s <= slot; s++ {
		for _, w := range windows {
			if w != nil && s <= w.last && s > w.last-slots {
				sum -= w.used[s%slots]
			}
		}
		if sum <= target {
			return leaves(s)
		}
	}
	return leaves(slot)
}
