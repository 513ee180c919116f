package replica

import (
	"context"
	"errors"
	"time"
)

// ErrAlone says that the store is not reached: nobody can be asked.
var ErrAlone = errors.New("the state store is not reached")

// Claim takes a lease, or renews one that this instance has, for what one instance of the fleet alone is to do; false: another one
// has it. It asks the store, and so is not for the way of requests; it gives up soon where the store does not answer. An error: nobody
// was asked, or did not answer.
func (f *Fleet) Claim(ctx context.Context, lease string, life time.Duration) (mine bool, err error) {
	store := f.reachable()
	if store == nil {
		return false, ErrAlone
	}
	err = f.call(ctx, func(ctx context.Context) error {
		mine, err = store.Claim(ctx, lease, f.o.Self.ID, life)
		return err
	})
	return mine, err
}

// Yield gives a lease back that Claim took; where the store is not reached it ends by itself.
func (f *Fleet) Yield(ctx context.Context, lease string) {
	if store := f.reachable(); store != nil {
		_ = f.call(ctx, func(ctx context.Context) error { return store.Yield(ctx, lease, f.o.Self.ID) }) // call has noted it
	}
}

// reachable is the store, nil while it is not reached.
func (f *Fleet) reachable() Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.state.reached {
		return nil
	}
	return f.store
}
