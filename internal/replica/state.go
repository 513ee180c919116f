package replica

import (
	"context"
	"errors"
	"time"
)

// patience is how long a call to the store may take. A store that is slow gets more, so that it is of use; one that is
// mute does not get more than maxPatience.
type patience struct{ limit time.Duration }

const (
	minPatience = 2 * time.Second
	maxPatience = 10 * time.Second
	// tolerance is how long after its limit a call may end. One that takes longer hangs, in a disk for instance.
	tolerance = 5 * time.Second
)

var errStuck = errors.New("a call to the store does not end")

func (p *patience) reset() { p.limit = minPatience }

// learn takes how long a call took, and whether that was its limit.
func (p *patience) learn(took time.Duration, out bool) {
	switch {
	case out:
		p.limit = min(2*p.limit, maxPatience)
	case took < p.limit/8:
		p.limit = max(p.limit*3/4, minPatience)
	}
}

// state is how it stands with the store (R64).
type state struct {
	reached  bool
	told     bool // somebody was told of a state at all
	since    time.Time
	problem  string
	errors   uint64
	lastSync time.Time // the end of the last whole round; zero: none yet
}

// call asks the store for something, within the patience of the moment. An error is counted, and means that the store is lost: all is
// said and read again when it is back. When ctx ends that is no error of the store's.
func (f *Fleet) call(ctx context.Context, what func(context.Context) error) error {
	f.mu.Lock()
	limit := f.patience.limit
	f.mu.Unlock()
	within, cancel := context.WithTimeout(ctx, limit)
	start := time.Now()
	stuck := time.AfterFunc(limit+tolerance, func() { // nothing else would say so
		if ctx.Err() == nil {
			f.lost(errStuck)
		}
	})
	err := what(within)
	stuck.Stop()
	took := time.Since(start)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.mu.Lock()
	f.patience.learn(took, errors.Is(err, context.DeadlineExceeded))
	f.mu.Unlock()
	if err != nil {
		f.lost(err)
	}
	return err
}

// lost says that the store did not do what it was asked.
func (f *Fleet) lost(err error) {
	f.saying <- struct{}{}
	defer func() { <-f.saying }()
	f.mu.Lock()
	f.state.errors++
	f.state.problem = err.Error()
	f.rounds.whole, f.rounds.wholeAt = true, time.Time{}
	for _, s := range *f.providers.Load() {
		s.behind = s.behind || s.sequence > 0 // an empty page, too: the store may come back with an older one
	}
	tell := f.state.reached || !f.state.told
	if tell {
		f.state.since = f.o.Now()
	}
	f.state.reached, f.state.told = false, true
	if tell {
		f.turn()
	}
	f.mu.Unlock()
	if tell {
		f.o.Told(false, err)
	}
}

// synced says that a whole round went well.
func (f *Fleet) synced() {
	now := f.o.Now()
	f.saying <- struct{}{}
	defer func() { <-f.saying }()
	f.mu.Lock()
	f.state.lastSync = now
	tell := !f.state.reached
	if tell {
		f.state.since = now
	}
	f.state.reached, f.state.told, f.state.problem = true, true, ""
	if tell {
		f.turn()
	}
	f.mu.Unlock()
	if tell {
		f.o.Told(true, nil)
	}
}
