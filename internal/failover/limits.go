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
