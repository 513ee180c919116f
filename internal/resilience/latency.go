package resilience

import "time"

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

// Latency measures one target: moving averages of the time to first content and of the whole answer, and the 99th
// percentile of the time to the first byte (R13, R71). It has a fixed size below 1 KB and never allocates. It is not
// safe for concurrent use. The zero Latency has measured nothing.
type Latency struct {
	firstContent, total average
	samples             uint32 // first bytes measured, up to latencyKnown
	sum                 uint32 // of the buckets
	buckets             [latencyBuckets]uint16
}

// Add takes one answer's times, all from the start of its attempt; one that is 0 or less was not measured.
func (l *Latency) Add(firstByte, firstContent, total time.Duration) {
	l.firstContent.add(firstContent)
	l.total.add(total)
	if firstByte <= 0 {
		return
	}
	l.samples = min(l.samples+1, latencyKnown)
	l.buckets[latencyBucket(firstByte)]++
	l.sum++
	if l.sum < latencyHalved {
		return
	}
	l.sum = 0
	for i := range l.buckets {
		l.buckets[i] /= 2
		l.sum += uint32(l.buckets[i])
	}
}

// FirstContent is the moving average of the time to the first content event; false if none was measured.
func (l *Latency) FirstContent() (time.Duration, bool) {
	return l.firstContent.mean, l.firstContent.n > 0
}

// Total is the moving average of a whole answer's time; false if none was measured.
func (l *Latency) Total() (time.Duration, bool) { return l.total.mean, l.total.n > 0 }

// P99 is the 99th percentile of the time to the first byte, rounded up by at most 12.5 %; false below 20 samples.
func (l *Latency) P99() (time.Duration, bool) {
	if l.samples < latencyKnown {
		return 0, false
	}
	above := l.sum / 100 // how many may be slower
	for i := len(l.buckets) - 1; i >= 0; i-- {
		if n := uint32(l.buckets[i]); n > above {
			return bucketEnd(i), true
		}
		above -= uint32(l.buckets[i])
	}
	return 0, false
}

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
