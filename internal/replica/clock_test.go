package replica

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// R63: what is translated there and back, by instances whose clocks are wrong by up to ten minutes, is the same moment.
func TestClockTranslatesBetweenSkewedInstances(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		skewA      time.Duration
		skewB      time.Duration
		rttA, rttB time.Duration
		within     time.Duration
	}{
		{"in step", 0, 0, 0, 0, 0},
		{"ten minutes fast and slow", 10 * time.Minute, -10 * time.Minute, 2 * time.Millisecond, 4 * time.Millisecond, 3 * time.Millisecond},
		{"a store slow by 5 s", 10 * time.Minute, 0, 5 * time.Second, time.Millisecond, 2501 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var a, b clock
			// The store answers at once and the way back takes all the time: the worst case.
			a.take(noon.Add(c.skewA), noon.Add(c.skewA+c.rttA), noon)
			b.take(noon.Add(c.skewB), noon.Add(c.skewB+c.rttB), noon)
			until := noon.Add(time.Minute) // by everybody's wrist watch
			got := b.ours(a.theirs(until.Add(c.skewA))).Add(-c.skewB)
			if d := got.Sub(until).Abs(); d > c.within {
				t.Errorf("a block until %v became one until %v: %v off", until, got, d)
			}
		})
	}
}

func TestClockHoldsOnToItsPairOfMoments(t *testing.T) {
	t.Parallel()
	var c clock
	c.take(noon, noon.Add(4*time.Millisecond), noon.Add(time.Hour))
	at := c.theirs(noon.Add(time.Minute))
	for i := range 1000 { // answers that jitter, for more than an hour
		sent := noon.Add(time.Duration(i+1) * 5 * time.Second)
		rtt := time.Duration(1+i%7) * time.Millisecond
		if c.take(sent, sent.Add(rtt), sent.Add(time.Hour+time.Duration(i%2)*rtt)) {
			t.Fatalf("answer %d: nobody has set a clock", i)
		}
	}
	if got := c.theirs(noon.Add(time.Minute)); !got.Equal(at) {
		t.Errorf("the same time is another one now: %v, was %v", got, at)
	}
}

func TestClockThatWasSet(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{10 * time.Minute, -10 * time.Minute, time.Second, -time.Second} {
		var c clock
		c.take(noon, noon.Add(2*time.Millisecond), noon)
		now := noon.Add(5 * time.Second)
		if !c.take(now, now.Add(2*time.Millisecond), now.Add(jump)) {
			t.Errorf("%v: not noticed", jump)
		}
		if d := c.theirs(now).Sub(now.Add(jump)).Abs(); d > 2*time.Millisecond {
			t.Errorf("%v: off by %v after it", jump, d)
		}
	}
}

func TestClockPrefersTheBetterAnswer(t *testing.T) {
	t.Parallel()
	var c clock
	c.take(noon, noon.Add(5*time.Second), noon) // off by 2.5 s
	now := noon.Add(10 * time.Second)
	if c.take(now, now.Add(2*time.Millisecond), now) {
		t.Error("no clock was set: the first answer was only slow")
	}
	if d := c.theirs(now).Sub(now).Abs(); d > 2*time.Millisecond {
		t.Errorf("still off by %v", d)
	}
	now = now.Add(10 * time.Second)
	if c.take(now, now.Add(5*time.Second), now) {
		t.Error("a slow answer contradicts nothing")
	}
	if d := c.theirs(now).Sub(now).Abs(); d > 2*time.Millisecond {
		t.Errorf("the slow answer won: off by %v", d)
	}
}

// The error never exceeds the margin that the clock knows of.
func TestClockMargin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c clock
		skew := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew"))
		now := noon
		for range rapid.IntRange(1, 20).Draw(t, "answers") {
			there := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "there"))
			back := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "back"))
			if c.take(now, now.Add(there+back), now.Add(there+skew)) {
				t.Fatal("nobody set a clock")
			}
			now = now.Add(there + back)
			if off := c.theirs(now).Sub(now.Add(skew)).Abs(); off > c.margin(now) {
				t.Fatalf("off by %v, with a margin of %v", off, c.margin(now))
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "pause")))
		}
	})
}
