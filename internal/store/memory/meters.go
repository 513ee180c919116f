package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"evergate/internal/quota/meters"
)

// counts are what instances have counted of limits and budgets. Safe for concurrent use.
type counts struct {
	mu      sync.Mutex
	tallies map[string]map[string]tally // by meter and instance
}

type tally struct {
	meters.Tally

	at time.Time
}

// meterHandle is a handle to the counts of a place.
type meterHandle struct{ store *Store }

// Meters gives the counts of the same place.
func (s *Store) Meters() meters.Store { return meterHandle{s} }

// Exchange implements meters.Store.
func (m meterHandle) Exchange(ctx context.Context, own []meters.Tally, wanted []string) (found []meters.Tally, err error) {
	if err := m.store.may(ctx); err != nil {
		return nil, err
	}
	c, now := &m.store.place.counts, m.store.place.clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range own {
		t := own[i]
		if err := t.Check(); err != nil {
			return nil, err
		}
		if c.tallies == nil {
			c.tallies = map[string]map[string]tally{}
		}
		of := c.tallies[t.Meter]
		if of == nil {
			of = map[string]tally{}
			c.tallies[t.Meter] = of
		}
		if t.Version >= of[t.Instance].Version {
			t.Body = bytes.Clone(t.Body)
			of[t.Instance] = tally{t, now}
		}
	}
	for _, meter := range wanted {
		of := c.tallies[meter]
		maps.DeleteFunc(of, func(_ string, t tally) bool { return now.Sub(t.at) > t.Life })
		for _, instance := range slices.Sorted(maps.Keys(of)) {
			t := of[instance].Tally
			t.Age, t.Life, t.Body = now.Sub(of[instance].at), 0, bytes.Clone(t.Body)
			found = append(found, t)
		}
	}
	return found, nil
}
