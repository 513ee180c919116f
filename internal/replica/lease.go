package replica

import (
	"context"
	"time"
)

// claims has few instances probe a breaker that is about to be half-open: each asks the store for the lease of it before its open
// period ends, and who does not get it leaves the first probe to who did, for a while (R66).
func (f *Fleet) claims(ctx context.Context) {
	for {
		t := time.NewTimer(f.o.Interval)
		select {
		case <-f.claim:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		store, reached := f.store, f.state.reached
		f.mu.Unlock()
		if !reached {
			continue // each probes alone
		}
		for _, s := range *f.providers.Load() {
			if !f.claimFor(ctx, store, s) {
				break
			}
		}
	}
}

// lead is how long before the end of an open period its lease is asked for, and yielding how long after it the others let its
// holder go first.
func (f *Fleet) lead() time.Duration     { return 2 * f.o.Interval }
func (f *Fleet) yielding() time.Duration { return min(max(2*f.o.Interval, minYield), maxYield) }

// A probe is a request, which takes its time; but nobody waits long for one who may have no request to send.
const minYield, maxYield = 10 * time.Second, 30 * time.Second

// claimFor asks for the leases that a provider's breakers are due; false: the store does not answer.
func (f *Fleet) claimFor(ctx context.Context, store Store, s *shared) bool {
	for _, d := range s.Guards.Due(f.o.Now(), f.lead()) {
		name := leaseOf(s, d.Model)
		f.mu.Lock()
		asked := f.leases[name].Equal(d.RetryAt)
		f.mu.Unlock()
		if asked {
			continue
		}
		now := f.o.Now()
		until := d.RetryAt.Add(f.yielding())
		var mine bool
		err := f.call(ctx, func(ctx context.Context) (err error) {
			mine, err = store.Claim(ctx, name, f.o.Self.ID, until.Sub(now))
			return err
		})
		if err != nil {
			return false
		}
		f.mu.Lock()
		f.leases[name], f.held[name] = d.RetryAt, mine
		f.mu.Unlock()
		if !mine {
			s.Guards.Yield(f.o.Now(), d.Model, d.OpenedAt, until)
		}
	}
	f.forgetLeases()
	return true
}

// forgetLeases drops those of open periods that are long over.
func (f *Fleet) forgetLeases() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.o.Now()
	for name, retryAt := range f.leases {
		if now.Sub(retryAt) > f.yielding() {
			delete(f.leases, name)
			delete(f.held, name)
		}
	}
}

// leaseOf is the lease of a breaker: one at a time, whatever open period it is of, since instances may not agree on when that
// began.
func leaseOf(s *shared, model string) string {
	return "probe/" + s.Of + "/" + s.Name + "/" + model
}

// yieldLeases gives back what this instance holds.
func (f *Fleet) yieldLeases(ctx context.Context, store Store) {
	f.mu.Lock()
	var names []string
	for name, mine := range f.held {
		if mine {
			names = append(names, name)
		}
	}
	f.held = map[string]bool{}
	f.mu.Unlock()
	for _, name := range append(names, sweepLease) {
		if f.call(ctx, func(ctx context.Context) error { return store.Yield(ctx, name, f.o.Self.ID) }) != nil {
			return
		}
	}
}
