package resilience

import (
	"math"
	"time"
)

// Backoff is the wait before round n (the first is 0): initial_backoff × backoff_factor^n ± jitter_factor, at most
// max_backoff, 0 of which is no limit (R52). rnd is in [0, 1).
func Backoff(r Retry, n int, rnd float64) time.Duration {
	d := saturate(float64(r.InitialBackoff) * math.Pow(r.BackoffFactor, float64(n)))
	return atMost(Jitter(atMost(d, r.MaxBackoff), r.JitterFactor, rnd), r.MaxBackoff)
}

// Jitter is d changed by up to ± factor of itself: rnd 0 gives the least, 0.5 d, and 1 the most. It is never negative.
func Jitter(d time.Duration, factor, rnd float64) time.Duration {
	return saturate(float64(d) + float64(d)*factor*(2*rnd-1))
}

// saturate turns nanoseconds into a duration between 0 and the longest there is.
func saturate(ns float64) time.Duration {
	switch {
	case !(ns > 0): // NaN too
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	}
	return time.Duration(ns)
}
