package sim

import (
	"math/bits"
	"time"
)

const (
	histogramUnit = 100 * time.Microsecond
	histogramHalf = 32 // buckets an octave: each at most 3.2 % wide
	histogramSize = histogramHalf * 40
)

// histogram counts durations, for percentiles. The zero histogram is empty.
type histogram struct {
	counts []uint32
	n      int
}

func (h *histogram) add(d time.Duration) {
	if h.counts == nil {
		h.counts = make([]uint32, histogramSize)
	}
	v := uint64(max(d, 0) / histogramUnit)
	shift := max(bits.Len64(v)-6, 0)
	i := shift*histogramHalf + int(v>>shift) //nolint:gosec // below 64
	h.counts[min(i, histogramSize-1)]++
	h.n++
}

// at is the duration that a share of all is not above; 0 if there are none.
func (h *histogram) at(share float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(int(share*float64(h.n)+0.999999), 1)
	for i, c := range h.counts {
		if rank -= int(c); rank <= 0 {
			return bucketMiddle(i)
		}
	}
	return 0
}

func bucketMiddle(i int) time.Duration {
	if i < 2*histogramHalf {
		return time.Duration(i) * histogramUnit
	}
	shift := i/histogramHalf - 1
	units := int64(i-shift*histogramHalf)<<shift + 1<<shift/2
	return time.Duration(units * int64(histogramUnit))
}
