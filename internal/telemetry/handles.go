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
// strings, without a lock and without an allocation. Reads go to a map that is never changed. New label sets gather
// beside it, under the lock, until it pays to copy the map: when they are an eighth of it, or were asked for as often
// as it is large. So ten thousand label sets cost a few dozen copies, not ten thousand. Safe for concurrent use.
type handles[K comparable, V any] struct {
	make func(K) V
	rest func(K) K // the label set that stands in once maxSeries are known

	found atomic.Pointer[map[K]V]

	mu     sync.Mutex
	recent map[K]V // not in found yet
	asked  int     // how often something in recent was asked for
}

func newHandles[K comparable, V any](make func(K) V, rest func(K) K) *handles[K, V] {
	h := &handles[K, V]{make: make, rest: rest, recent: map[K]V{}}
	h.found.Store(&map[K]V{})
	return h
}

func (h *handles[K, V]) get(k K) V {
	if v, ok := (*h.found.Load())[k]; ok {
		return v
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slow(k)
}

// slow finds or makes what get did not see. It requires the lock.
func (h *handles[K, V]) slow(k K) V {
	found := *h.found.Load()
	if v, ok := found[k]; ok {
		return v
	}
	v, ok := h.recent[k]
	switch {
	case ok:
		h.asked++
	case len(found)+len(h.recent) >= maxSeries && k != h.rest(k):
		return h.slow(h.rest(k))
	default:
		v = h.make(k)
		h.recent[k] = v
	}
	if len(h.recent) > len(found)/8 || h.asked > len(found) {
		grown := make(map[K]V, len(found)+len(h.recent))
		maps.Copy(grown, found)
		maps.Copy(grown, h.recent)
		h.found.Store(&grown)
		clear(h.recent)
		h.asked = 0
	}
	return v
}
