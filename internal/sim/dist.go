package sim

import (
	"math"
	"time"
)

// Dist is a distribution of positive numbers. The zero Dist always gives 0.
type Dist struct {
	kind       distKind
	low, high  float64 // uniform
	mu, spread float64 // log-normal: mean and deviation of the logarithm
}

type distKind uint8

const (
	fixed distKind = iota
	uniform
	logNormal
)

// z99 is the 99th percentile of the normal distribution.
const z99 = 2.3263478740408408

// Fixed always gives v.
func Fixed(v float64) Dist { return Dist{low: v} }

// Uniform gives every number from low to high alike.
func Uniform(low, high float64) Dist { return Dist{kind: uniform, low: low, high: high} }

// LogNormal is the log-normal distribution with that median and 99th percentile: most are near the median, few take very
// long, as answers do. Both are positive, and p99 is at least p50.
func LogNormal(p50, p99 float64) Dist {
	return Dist{kind: logNormal, mu: math.Log(p50), spread: math.Log(p99/p50) / z99}
}

// draw gives a number of the distribution for random numbers in [0, 1).
func (d Dist) draw(rnd func() float64) float64 {
	switch d.kind {
	case uniform:
		return d.low + (d.high-d.low)*rnd()
	case logNormal:
		return math.Exp(d.mu + d.spread*normal(rnd(), rnd()))
	case fixed:
	}
	return d.low
}

// duration draws a time of a distribution in nanoseconds.
func (d Dist) duration(rnd func() float64) time.Duration { return span(d.draw(rnd)) }

// span is nanoseconds as a duration from 0 to a year.
func span(ns float64) time.Duration {
	const most = 365 * 24 * time.Hour
	return time.Duration(min(max(ns, 0), float64(most)))
}

// normal turns two random numbers into one of the standard normal distribution.
func normal(u, v float64) float64 {
	return math.Sqrt(-2*math.Log(1-u)) * math.Cos(2*math.Pi*v)
}

// exponential is the gap to the next of events that come at rate 1.
func exponential(u float64) float64 { return -math.Log(1 - u) }
