package resilience

import (
	"math"
	"time"
)

const (
	// The histogram has 8 buckets an octave (each at most 12.5 % wide) over 20 octaves from 1 ms on: up to 17 min. The
	// first bucket holds what is faster, the last what is slower.
	octaveBuckets  = 8
	latencyBuckets = 1 + 20*octaveBuckets
	latencyUnit    = time.Millisecond / octaveBuckets

	// latencyHalved is the number of samples at which all counts are halved, so that old ones fade.
	latencyHalved = 1024
	// latencyKnown is the number of samples from which a percentile is worth something.
	latencyKnown = 20
	// averageWeight is one over the share of a new sample in an average.
	averageWeight = 8
)

// Latency measures one target: moving averages of the time to first content and of the whole answer, and percentiles of
// the time to the first byte (R13) and to content (R71). It has a fixed size of about 1 KB and never allocates. It is not
// safe for concurrent use. The zero Latency has measured nothing.
type Latency struct {
	firstContent, total average
	pace                pace
	histogram           // of first bytes
	// stream has the time to a stream's first content event, plain that to a plain answer.
	stream, plain histogram
}

// Add takes one answer's times, all from the start of its attempt; one that is 0 or less was not measured.
func (l *Latency) Add(firstByte, firstContent, total time.Duration) {
	l.firstContent.add(firstContent)
	l.pace.add(firstContent)
	l.total.add(total)
	l.histogram.add(firstByte)
}

// AddContent takes the time to one answer's content (R71).
func (l *Latency) AddContent(d time.Duration, stream bool) { l.content(stream).add(d) }

// AtLeast takes the time of an attempt that was given up before it had content: what it would have taken is not known, but
// no less than that (R71). It enters the measures where it says something, but is no answer: it makes nothing known.
func (l *Latency) AtLeast(d time.Duration, stream bool) {
	if l.firstContent.n > 0 && d > l.firstContent.mean {
		l.firstContent.add(d)
	}
	if l.pace.n > 0 && d > l.pace.mean {
		l.pace.add(d)
	}
	h := l.content(stream)
	known := h.samples
	h.add(d)
	h.samples = known
}

// Content is a percentile (1 to 99) of the time to an answer's content, rounded up by at most 12.5 %; false below 20
// answers.
func (l *Latency) Content(percent int, stream bool) (time.Duration, bool) {
	return l.content(stream).percentile(percent)
}

func (l *Latency) content(stream bool) *histogram {
	if stream {
		return &l.stream
	}
	return &l.plain
}

// histogram counts times in buckets.
type histogram struct {
	samples uint32 // measured, up to latencyKnown
	sum     uint32 // of the buckets
	buckets [latencyBuckets]uint16
}

func (h *histogram) add(d time.Duration) {
	if d <= 0 {
		return
	}
	h.samples = min(h.samples+1, latencyKnown)
	h.buckets[latencyBucket(d)]++
	h.sum++
	if h.sum < latencyHalved {
		return
	}
	h.sum = 0
	for i := range h.buckets {
		h.buckets[i] /= 2
		h.sum += uint32(h.buckets[i])
	}
}

// percentile is rounded up to the end of its bucket; false below latencyKnown samples.
func (h *histogram) percentile(percent int) (time.Duration, bool) {
	if h.samples < latencyKnown {
		return 0, false
	}
	above := uint32(uint64(h.sum) * uint64(max(100-percent, 0)) / 100) //nolint:gosec // at most h.sum; how many may be slower
	for i := len(h.buckets) - 1; i >= 0; i-- {
		if n := uint32(h.buckets[i]); n > above {
			return bucketEnd(i), true
		}
		above -= uint32(h.buckets[i])
	}
	return 0, false
}

// FirstContent is the moving average of the time to the first content event; false if none was measured.
func (l *Latency) FirstContent() (time.Duration, bool) {
	return l.firstContent.mean, l.firstContent.n > 0
}

// Pace is the time to first content as routing goes by it (R50): the moving average of FirstContent, which believes at once
// that a target has become quicker; false if none was measured.
func (l *Latency) Pace() (time.Duration, bool) { return l.pace.mean, l.pace.n > 0 }

// Total is the moving average of a whole answer's time; false if none was measured.
func (l *Latency) Total() (time.Duration, bool) { return l.total.mean, l.total.n > 0 }

// P99 is the 99th percentile of the time to the first byte, rounded up by at most 12.5 %; false below 20 samples.
func (l *Latency) P99() (time.Duration, bool) { return l.percentile(99) }

func latencyBucket(d time.Duration) int {
	v := int64(d / latencyUnit)
	if v < octaveBuckets {
		return 0
	}
	octave := 0 // that of 1 ms to 2 ms
	for ; v >= 2*octaveBuckets; octave++ {
		v /= 2
	}
	return min(1+octave*octaveBuckets+int(v)-octaveBuckets, latencyBuckets-1)
}

// bucketEnd is the least time that is in no bucket up to i.
func bucketEnd(i int) time.Duration {
	if i == 0 {
		return time.Millisecond
	}
	octave, step := (i-1)/octaveBuckets, (i-1)%octaveBuckets
	return time.Duration(octaveBuckets+step+1) << octave * latencyUnit
}

// average is a moving mean: a plain one of the first samples, then one in which each new sample has a fixed share.
type average struct {
	mean time.Duration
	n    uint32
}

func (a *average) add(d time.Duration) {
	if d <= 0 {
		return
	}
	a.n = min(a.n+1, averageWeight)
	a.mean += (d - a.mean) / time.Duration(a.n)
}

// SilentTooLong is R13's limit: how long an attempt may bring no byte before a client that hangs up makes it a timeout of
// the provider. timeout is the attempt's own; 0: it has none. A nil Latency has measured nothing.
func (l *Latency) SilentTooLong(timeout time.Duration) time.Duration {
	limit := timeout / 2
	if timeout == 0 {
		limit = math.MaxInt64 // half of for ever
	}
	if l != nil {
		if p99, ok := l.P99(); ok {
			limit = 2 * p99
		}
	}
	return max(limit, 10*time.Second)
}
