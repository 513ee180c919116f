package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// ballastSize is allocated and never touched, so that it costs address space and no memory. A busy gateway's heap is a
// few megabytes small and would be collected hundreds of times a second; the ballast makes that a few times
// (docs/performance.md).
const ballastSize = 16 << 20

const (
	tidyInterval = 5 * time.Second
	// A heap of largeHeap bytes is looked through every largeInterval, if it has grown since.
	largeHeap     = 128 << 20
	largeInterval = 30 * time.Second
)

// tidy gives memory back to the system until ctx is done.
func (a *App) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyInterval)
	defer tick.Stop()
	var t tidier
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if !t.due(now, a.ingress.InFlight(), heapSize()) {
				continue
			}
			debug.FreeOSMemory()
			t.heap = heapSize()
		}
	}
}

// tidier knows when garbage is worth looking for. The collector alone would not look before the heap has doubled, or
// two minutes have passed.
type tidier struct {
	open int64     // requests when it was due for their number
	heap uint64    // bytes left the last time
	at   time.Time // the last time
}

// due says whether to collect garbage and give memory back. It is when many more requests are open than before: what
// opening a stream left behind, and the stacks that it no longer needs, are a quarter of what an open stream holds. And
// it is while the heap is large, from time to time: a few bodies of 32 MiB at once leave a gigabyte. The work is in
// proportion to the growth.
func (t *tidier) due(now time.Time, open int64, heap uint64) bool {
	many := open > t.open+t.open/8+128
	if many || open < t.open {
		t.open = open
	}
	large := heap > largeHeap && heap > t.heap+t.heap/8 && now.Sub(t.at) >= largeInterval
	if many || large {
		t.at = now
	}
	return many || large
}

// heapSize is how many bytes the heap takes of the system's memory, garbage included.
func heapSize() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	size := uint64(0)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			size += s.Value.Uint64()
		}
	}
	return size
}
