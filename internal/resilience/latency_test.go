package resilience

import (
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// R13, R71: known from 20 samples on.
func TestP99Known(t *testing.T) {
	var l Latency
	for i := range 20 {
		if _, ok := l.P99(); ok {
			t.Fatalf("known after %d", i)
		}
		l.Add(time.Second, 0, 0)
	}
	p, ok := l.P99()
	if !ok || p < time.Second || p > 1125*time.Millisecond {
		t.Errorf("%v, %v", p, ok)
	}
	l.Add(0, time.Second, time.Second) // no first byte, no sample
	if l.sum != 20 {
		t.Errorf("%d samples", l.sum)
	}
}

// Never below the true percentile, never more than a bucket above it.
func TestP99Bounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.Int64Range(1, 900_000), latencyKnown, latencyHalved-1).Draw(t, "ms")
		var l Latency
		for _, d := range ms {
			l.Add(time.Duration(d)*time.Millisecond, 0, 0)
		}
		slices.Sort(ms)
		exact := time.Duration(ms[len(ms)-1-len(ms)/100]) * time.Millisecond
		p, ok := l.P99()
		if !ok || p < exact || float64(p) > float64(exact)*1.126 {
			t.Fatalf("%v, %v; the exact one is %v", p, ok, exact)
		}
	})
}

// What is old fades: a target that became slow, or fast, is known for it.
func TestP99Follows(t *testing.T) {
	var l Latency
	for range 10_000 {
		l.Add(100*time.Millisecond, 0, 0)
	}
	for range 20 {
		l.Add(30*time.Second, 0, 0)
	}
	if p, _ := l.P99(); p < 30*time.Second {
		t.Errorf("slow: %v", p)
	}
	for range 5000 {
		l.Add(100*time.Millisecond, 0, 0)
	}
	if p, _ := l.P99(); p > 120*time.Millisecond {
		t.Errorf("fast again: %v", p)
	}
}

func TestLatencyExtremes(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		1:                    time.Millisecond,
		time.Millisecond - 1: time.Millisecond,
		time.Millisecond:     1125 * time.Microsecond,
		100 * time.Hour:      1 << 20 * time.Millisecond,
		math.MaxInt64:        1 << 20 * time.Millisecond,
	} {
		var l Latency
		for range latencyKnown {
			l.Add(d, d, d)
		}
		if p, _ := l.P99(); p != want {
			t.Errorf("%v: %v, want %v", d, p, want)
		}
	}
}

func TestAverages(t *testing.T) {
	var l Latency
	if _, ok := l.FirstContent(); ok {
		t.Error("first content known")
	}
	if _, ok := l.Total(); ok {
		t.Error("total known")
	}
	for _, s := range []time.Duration{1, 2, 3} {
		l.Add(0, s*time.Second, 2*s*time.Second)
	}
	l.Add(time.Second, 0, -1) // not measured
	if d, ok := l.FirstContent(); d != 2*time.Second || !ok {
		t.Errorf("first content %v: not the plain mean of the first ones", d)
	}
	if d, ok := l.Total(); d != 4*time.Second || !ok {
		t.Errorf("total %v", d)
	}
	for range 40 {
		l.Add(0, 9*time.Second, time.Second)
	}
	if d, _ := l.FirstContent(); d < 8900*time.Millisecond || d > 9*time.Second {
		t.Errorf("does not follow: %v", d)
	}
}

func TestLatencyIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Latency{}); n > 1072 {
		t.Errorf("%d bytes", n)
	}
	var l Latency
	if n := testing.AllocsPerRun(2000, func() { l.Add(time.Second, time.Second, time.Second) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// R71: the time to content is measured for streams and plain answers apart, and known from 20 answers on; what was given up is
// a lower bound and no answer.
func TestLatencyContent(t *testing.T) {
	var l Latency
	for i := range 20 {
		if _, ok := l.Content(99, true); ok {
			t.Fatalf("known after %d", i)
		}
		l.AtLeast(time.Minute, true)
		l.AddContent(time.Second, true)
	}
	if d, ok := l.Content(99, true); !ok || d < time.Minute || d > 68*time.Second {
		t.Errorf("p99 %s, %t", d, ok)
	}
	if d, ok := l.Content(50, true); !ok || d < time.Second || d > 1125*time.Millisecond {
		t.Errorf("p50 %s, %t", d, ok)
	}
	if _, ok := l.Content(99, false); ok {
		t.Error("plain answers were not measured")
	}
	var m Latency
	m.Add(0, 2*time.Second, 0)
	m.AtLeast(time.Second, true) // says nothing
	if d, _ := m.FirstContent(); d != 2*time.Second {
		t.Errorf("average %s", d)
	}
	m.AtLeast(10*time.Second, true)
	if d, _ := m.FirstContent(); d <= 2*time.Second {
		t.Errorf("average %s", d)
	}
}
