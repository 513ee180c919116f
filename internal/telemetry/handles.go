package telemetry

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxSeries bounds the label sets of one family. Labels are bounded by config and discovery already; this is the fence
// behind the fence, for a provider that lists ten thousand models to a client that asks for all of them.
const maxSeries = 10_000

// handles caches the metrics of label sets, so that the hot path finds one by a small struct without building label
// strings, without a lock and without an allocation. Reads go to a map that is never changed; a new label set copies
// it, which happens as often as there are label sets and no more. Safe for concurrent use.
type handles[K comparable, V any] struct {
	found atomic.Pointer[map[K]V]
	mu    sync.Mutex
	make  func(K) V
	// rest gives the label set that stands in once maxSeries are known.
	rest func(K) K
}

func newHandles[K comparable, V any](make func(K) V, rest func(K) K) *handles[K, V] {
	h := &handles[K, V]{make: make, rest: rest}
	h.found.Store(&map[K]V{})
	return h
}

func (h *handles[K, V]) get(k K) V {
	if v, ok := (*h.found.Load())[k]; ok {
		return v
	}
	return h.add(k)
}

func (h *handles[K, V]) add(k K) V {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := *h.found.Load()
	if len(known) >= maxSeries {
		k = h.rest(k)
	}
	if v, ok := known[k]; ok {
		return v
	}
	v := h.make(k)
	grown := make(map[K]V, len(known)+1)
	maps.Copy(grown, known)
	grown[k] = v
	h.found.Store(&grown)
	return v
}
