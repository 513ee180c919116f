package resilience

import (
	"math"
	"testing"
	"time"
)

// R52
func TestBackoff(t *testing.T) {
	r := Defaults().Retry
	cases := []struct {
		name string
		r    Retry
		n    int
		rnd  float64
		want time.Duration
	}{
		{"first", r, 0, 0.5, time.Second},
		{"doubled", r, 3, 0.5, 8 * time.Second},
		{"least", r, 1, 0, 1800 * time.Millisecond},
		{"most", r, 1, 1, 2200 * time.Millisecond},
		{"capped", r, 5, 0.5, 30 * time.Second},
		{"never above the cap", r, 5, 1, 30 * time.Second},
		{"jitter below the cap", r, 5, 0, 27 * time.Second},
		{"no overflow", r, math.MaxInt, 0.5, 30 * time.Second},
		{"no overflow without a cap", Retry{InitialBackoff: time.Second, BackoffFactor: 2}, 5000, 0.5, math.MaxInt64},
		{"constant", Retry{InitialBackoff: time.Second, MaxBackoff: time.Minute, BackoffFactor: 1}, 9, 0.9, time.Second},
		{"no wait", Retry{MaxBackoff: time.Minute, BackoffFactor: 2}, 5000, 0.5, 0},
	}
	for _, c := range cases {
		if got := Backoff(c.r, c.n, c.rnd); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJitter(t *testing.T) {
	cases := []struct {
		d           time.Duration
		factor, rnd float64
		want        time.Duration
	}{
		{time.Second, 0.25, 0, 750 * time.Millisecond},
		{time.Second, 0.25, 0.5, time.Second},
		{time.Second, 0.25, 1, 1250 * time.Millisecond},
		{time.Second, 0, 0.1, time.Second},
		{time.Second, 3, 0, 0},
		{math.MaxInt64, 0.1, 1, math.MaxInt64},
		{0, 0.1, 1, 0},
	}
	for _, c := range cases {
		if got := Jitter(c.d, c.factor, c.rnd); got != c.want {
			t.Errorf("Jitter(%v, %v, %v) = %v, want %v", c.d, c.factor, c.rnd, got, c.want)
		}
	}
}
