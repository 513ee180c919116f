package replica

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// inboxSize is how many pages may be heard and not yet taken. What is more is read in the next round.
	inboxSize = 1024
	// portion is how many rows guards are given at once, so that no request waits for long meanwhile.
	portion = 64
	// Watching is begun again after so long, and after twice as long each time that it fails at once.
	minWatchPause, maxWatchPause = 100 * time.Millisecond, 10 * time.Second
	// deafPause is how long that pause may become where nothing is told. It is no failure, and not counted: rounds find everything.
	deafPause = 5 * time.Minute
)

// watches hears what others say at once (R61).
func (f *Fleet) watches(ctx context.Context) {
	wait := minWatchPause
	select {
	case <-f.open:
	case <-ctx.Done():
		return
	}
	f.mu.Lock()
	store := f.store
	f.mu.Unlock()
	for {
		began := time.Now()
		err := f.watch(ctx, store)
		if ctx.Err() != nil {
			return
		}
		most := maxWatchPause
		switch {
		case errors.Is(err, ErrDeaf):
			most = deafPause
		case err != nil:
			f.mu.Lock()
			f.state.errors++
			f.mu.Unlock()
			poke(f.sync) // a round finds out whether the store is lost
			fallthrough
		default:
			if time.Since(began) > maxWatchPause {
				wait = minWatchPause
			}
		}
		if !pause(ctx, jitter(wait)) {
			return
		}
		wait = min(2*wait, most)
	}
}

// errNotReady ends a watch that does not begin.
var errNotReady = errors.New("the store does not begin to tell what is put")

// watch is one watch, which must begin to hear in time. What was put before is read then.
func (f *Fleet) watch(ctx context.Context, store Store) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(maxPatience, func() { cancel(errNotReady) })
	defer late.Stop()
	err := store.Watch(within, func() { late.Stop(); poke(f.sync) }, f.overhear)
	if cause := context.Cause(within); errors.Is(cause, errNotReady) {
		return errNotReady
	}
	return err
}

// overhear takes a page without waiting; one for which there is no room is read in the next round.
func (f *Fleet) overhear(p Page) {
	if p.Instance == f.o.Self.ID {
		return
	}
	select {
	case f.inbox <- p:
	default:
	}
}

// takes has in force what was heard.
func (f *Fleet) takes(ctx context.Context) {
	for {
		select {
		case p := <-f.inbox:
			switch p.Topic {
			case Guards:
				f.hearGuards(&p, false)
			case Orders:
				f.hearOrder(&p)
			case Deletions:
				f.hearDeletions(&p)
			case Drills:
				f.hearDrills(&p)
			case Keys:
				if f.o.Keys != nil {
					f.hearKeys([]Page{p})
				}
			case Latencies, Conversations, Remembered: // they are quiet, and read
			}
		case <-ctx.Done():
			return
		}
	}
}

// hearGuards takes what another instance said of a provider: that of one that is silent only at the start, and only what still
// blocks (R63, R65).
func (f *Fleet) hearGuards(p *Page, start bool) {
	s := (*f.providers.Load())[p.Key]
	if s == nil || p.Instance == f.o.Self.ID || p.Instance == "" {
		return
	}
	now := f.o.Now()
	f.mu.Lock()
	c := f.clock
	from := f.peerOf(p.Instance)
	if !c.known() || from == nil || p.Sequence <= from.pages[p.Key].sequence {
		f.mu.Unlock()
		return
	}
	alive := f.alive(from, p.At)
	if p.At.After(from.seen) {
		from.seen = p.At
	}
	of, rows, ok := decodeRows(c, now, p.Body)
	if len(p.Body) > 0 && of != s.Of {
		ok = false
	}
	if !ok {
		rows = nil
	}
	from.pages[p.Key] = heardPage{sequence: p.Sequence, blocks: blocksOf(p.Key, now, rows), passed: !alive && len(rows) > 0}
	f.mu.Unlock()
	if len(rows) == 0 {
		return
	}
	for some := range slices.Chunk(rows, portion) {
		if start {
			s.Guards.Restore(now, some)
		}
		if alive {
			s.Guards.Absorb(now, some)
		}
	}
	poke(f.claim)
}
