package quota

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestWindowNeverHoldsLess compares with a list of all that was used: what the window holds is at least what was used in the last 60 s, and nothing
// that is older than that and a slot.
func TestWindowNeverHoldsLess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type use struct {
			at time.Time
			n  int64
		}
		var w Window
		var all []use
		now := noon
		for range rapid.IntRange(1, 200).Draw(t, "moves") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "later")))
			switch rapid.IntRange(0, 3).Draw(t, "move") {
			case 0:
				if len(all) > 0 {
					last := &all[len(all)-1]
					n := rapid.Int64Range(0, last.n).Draw(t, "undone")
					w.Undo(last.at, n)
					last.n -= n
				}
			default:
				n := rapid.Int64Range(0, 50).Draw(t, "n")
				w.Add(now, n)
				all = append(all, use{now, n})
			}
			var young, atMost int64
			for _, u := range all {
				if age := now.Sub(u.at); age < WindowLength {
					young += u.n
				}
				if now.Sub(u.at) < WindowLength+SlotLength {
					atMost += u.n
				}
			}
			if got := w.Sum(now); got < young || got > atMost {
				t.Fatalf("the window holds %d, %d were used in the last 60 s and %d in a slot more", got, young, atMost)
			}
			target := rapid.Int64Range(0, 100).Draw(t, "target")
			frees := Frees(now, target, &w, nil)
			at, before := w, w
			if at.Sum(frees) > target {
				t.Fatalf("at %v it holds %d, more than %d", frees, at.Sum(frees), target)
			}
			if frees.After(now) && before.Sum(frees.Add(-time.Nanosecond)) <= target {
				t.Fatalf("it was free before %v", frees)
			}
			end := w.Clears(now)
			at = w
			if at.Sum(end) != 0 {
				t.Fatalf("at %v it is not clear", end)
			}
		}
	})
}

func TestWindowGoesOver(t *testing.T) {
	var w, o Window
	w.Add(noon, 3)
	w.Add(noon.Add(7*time.Second), 4)
	now := noon.Add(9 * time.Second)
	w.Each(now, func(age, n int64) { o.Fill(now.Add(time.Hour), age, n) })
	if got := o.Sum(now.Add(time.Hour)); got != 7 {
		t.Fatalf("the other holds %d instead of 7", got)
	}
	if a, b := Frees(now, 4, &w).Sub(now), Frees(now.Add(time.Hour), 4, &o).Sub(now.Add(time.Hour)); a != b {
		t.Fatalf("one frees after %v, the other after %v", a, b)
	}
}

func TestWindowOfHostileNumbers(t *testing.T) {
	var w Window
	for range 10 {
		w.Add(noon, 1<<62)
	}
	if got := w.Sum(noon); got != maxAmount {
		t.Fatalf("it holds %d", got)
	}
	w.Add(noon.Add(-time.Hour), 5) // a clock that was set back
	if got := w.Sum(noon.Add(2 * time.Minute)); got != 0 {
		t.Fatalf("two minutes later it holds %d", got)
	}
}

// TestSteadyRate is the accuracy of a limit at 5,000 requests a second: of ten minutes' worth of the limit at least 99 % are let in, and of no 60 s more
// than the limit.
func TestSteadyRate(t *testing.T) {
	const limit = 60_000
	var w Window
	var let []time.Time
	end := noon.Add(10 * time.Minute)
	for now := noon; now.Before(end); now = now.Add(time.Second / 5000) {
		if w.Sum(now) < limit {
			w.Add(now, 1)
			let = append(let, now)
		}
	}
	if len(let) < 10*limit*99/100 {
		t.Errorf("%d of %d were let in", len(let), 10*limit)
	}
	for i := limit; i < len(let); i++ {
		if let[i].Sub(let[i-limit]) < WindowLength {
			t.Fatalf("%d were let in within %v", limit+1, let[i].Sub(let[i-limit]))
		}
	}
}

// TestWindowOfClockThatIsNotSet: a machine that begins in 1970 counts as any other, and goes on when its clock is set.
func TestWindowOfClockThatIsNotSet(t *testing.T) {
	for _, at := range []time.Time{time.Unix(0, 0), time.Unix(30, 0), time.Unix(-5, 0), {}} {
		var w, o Window
		w.Add(noon, 2) // and is set back to it
		w.Add(at, 3)
		w.Undo(at, 1)
		if got := w.Sum(at); got != 4 {
			t.Errorf("at %v it holds %d", at, got)
		}
		w.Each(at, func(age, n int64) { o.Fill(at, age, n) })
		if got := o.Sum(at); got != 4 {
			t.Errorf("at %v the other holds %d", at, got)
		}
		if frees, clears := Frees(at, 0, &w), w.Clears(at); frees.Before(at) || w.Sum(clears) != 0 {
			t.Errorf("at %v it frees at %v, and at %v it is not clear", at, frees, clears)
		}
		if w.Add(noon, 7); w.Sum(noon) != 7 {
			t.Errorf("once the clock is set it holds %d", w.Sum(noon))
		}
	}
}

// TestWindowOfClockSetBack: what was used before the clock was set back leaves a minute later, and not when the clock is again where it was.
func TestWindowOfClockSetBack(t *testing.T) {
	var w Window
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w.Add(now, 5)
	now = now.Add(20 * time.Second)
	w.Add(now, 3)
	now = now.Add(-time.Hour)
	if got := w.Sum(now); got != 8 {
		t.Errorf("it holds %d", got)
	}
	if at := Frees(now, 3, &w); at.Sub(now) > 41*time.Second || at.Sub(now) < 40*time.Second {
		t.Errorf("the first leave in %v", at.Sub(now))
	}
	if got := w.Sum(now.Add(41 * time.Second)); got != 3 {
		t.Errorf("it holds %d after 41 s", got)
	}
	if got := w.Sum(now.Add(61 * time.Second)); got != 0 {
		t.Errorf("it holds %d after a minute", got)
	}
}
