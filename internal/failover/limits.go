package failover

import (
	"time"

	"evergate/internal/route"
)

// MaxWaiting bounds the requests of one process that sleep between attempts (R52).
const MaxWaiting = 1000

// Cut shortens an attempt's limits to the time left before the request's deadline (zero: none), and to half of it while an
// untried candidate remains (R54).
func Cut(t route.Timeouts, now, deadline time.Time, untried bool) route.Timeouts {
	if deadline.IsZero() {
		return t
	}
	left := max(deadline.Sub(now), time.Millisecond)
	if untried {
		left /= 2
	}
	shorten := func(d *time.Duration) {
		if *d == 0 || *d > left {
			*d = left
		}
	}
	shorten(&t.Attempt)
	shorten(&t.FirstChunk)
	return t
}

// Lease is how long a probe slot is kept for an attempt that never settles (R33).
func Lease(t route.Timeouts, stream bool) time.Duration {
	d := t.Attempt
	if stream {
		d = t.FirstChunk
	}
	if d == 0 {
		d = 10 * time.Minute
	}
	return d + time.Second // its own timeout comes first
}

// SoundAfter is how long a probe's stream must bring content before its verdict is success (R26).
const SoundAfter = 10 * time.Second

// autoHedge is the least that `auto` waits (R71).
const autoHedge = 10 * time.Second

// HedgeFirst is how long after an attempt began it is first looked at whether a hedge is due beside it; 0: never (R71). content
// gives a percentile of the target's times to content, false while too few were measured. It is not asked for `auto`:
// nothing of that is due before 10 s.
func HedgeFirst(h *route.Hedge, stream bool, content func(percent int) (time.Duration, bool)) time.Duration {
	switch {
	case h.After > 0:
		return h.After
	case h.Percentile == 0:
		return autoHedge
	}
	if d, ok := content(h.Percentile); ok {
		return max(d, time.Millisecond)
	}
	if stream {
		return autoHedge
	}
	return 0
}

// HedgeAfter is how long after an attempt began a hedge is due, as it is known when HedgeFirst's time has come; 0: not at all.
func HedgeAfter(h *route.Hedge, stream bool, content func(percent int) (time.Duration, bool)) time.Duration {
	if !h.Auto() {
		return time.Nanosecond // it is due
	}
	p99, ok := content(99)
	switch {
	case ok:
		return max(autoHedge, 2*p99)
	case stream:
		return autoHedge
	}
	return 0 // how long a whole answer takes is anybody's guess
}
