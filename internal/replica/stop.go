package replica

import (
	"context"
	"time"
)

// stopBound is how long the last words to the store may take; leaveBound if it is not reached anyway. Calls whose contexts
// have ended, and the store's Close, get endBound beyond: who hangs then is left behind.
const (
	stopBound  = 3 * time.Second
	leaveBound = 500 * time.Millisecond
	endBound   = time.Second
)

// Stop ends replication: what was not said yet is said, leases are given back, and the others are told that this instance has
// left. That takes at most 3 s, or until ctx ends; letting go of the store takes 3 s more at most, whatever that hangs in. It may be
// called more than once, and without a Start.
func (f *Fleet) Stop(ctx context.Context) {
	if f.stop == nil {
		return
	}
	f.stop()
	ended := within(endBound, f.running.Wait)
	f.mu.Lock()
	store, reached := f.store, f.state.reached
	f.store = nil
	f.turn()
	f.mu.Unlock()
	f.stop = nil
	if store == nil {
		return
	}
	bound := stopBound
	if !reached {
		bound = leaveBound
	}
	if ended { // else the rounds may go on, and the store would say nothing anyway
		last, cancel := context.WithTimeout(ctx, bound)
		end, _ := last.Deadline()
		within(time.Until(end)+endBound, func() { f.leave(last, store) })
		cancel()
	}
	within(endBound, func() { _ = store.Close() }) // there is nobody left to hear of it
}

// within does something, and says whether it ended in time.
func within(bound time.Duration, what func()) bool {
	done := make(chan struct{})
	go func() { defer close(done); what() }()
	late := time.NewTimer(bound)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}

// leave says goodbye. What blocks is left behind for the next start (R65), and what conversations it remembers; else nothing of this instance is.
func (f *Fleet) leave(ctx context.Context, store Store) {
	if f.put(ctx, store, changes) != nil {
		return
	}
	f.yieldLeases(ctx, store)
	now := f.o.Now()
	blocks := false
	f.mu.Lock()
	for _, s := range *f.providers.Load() {
		blocks = blocks || len(blocksOf(s.Name, now, s.rows)) > 0
	}
	f.mu.Unlock()
	if !f.remember(ctx, store) && !blocks {
		_ = f.call(ctx, func(ctx context.Context) error { return store.Drop(ctx, f.o.Self.ID) })
		return
	}
	self := f.self()
	self.Left = true
	_ = f.call(ctx, func(ctx context.Context) error {
		_, err := store.Beat(ctx, self)
		return err
	})
}
