package replica

import (
	"context"
	"time"
)

const (
	// inboxSize is how many pages may be heard and not yet taken. What is more is read in the next round.
	inboxSize = 1024
	// Watching is begun again after so long, and after twice as long each time that it fails at once.
	minWatchPause, maxWatchPause = 100 * time.Millisecond, 10 * time.Second
)

// watches hears what others say at once (R61).
func (f *Fleet) watches(ctx context.Context) {
	wait := minWatchPause
	for {
		f.mu.Lock()
		store := f.store
		f.mu.Unlock()
		if store == nil {
			if !pause(ctx, minWatchPause) {
				return
			}
			continue
		}
		began := time.Now()
		err := store.Watch(ctx, func() { poke(f.sync) }, f.overhear) // what was put before it began to hear is read
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.mu.Lock()
			f.state.errors++
			f.mu.Unlock()
			poke(f.sync) // a round finds out whether the store is lost
		}
		if time.Since(began) > maxWatchPause {
			wait = minWatchPause
		}
		if !pause(ctx, jitter(wait)) {
			return
		}
		wait = min(2*wait, maxWatchPause)
	}
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
			case Latencies: // they are quiet, and read
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
	from.pages[p.Key] = heardPage{sequence: p.Sequence, blocks: blocksOf(p.Key, now, rows)}
	f.mu.Unlock()
	if len(rows) == 0 {
		return
	}
	if start {
		s.Guards.Restore(now, rows)
	}
	if alive {
		s.Guards.Absorb(now, rows)
	}
	poke(f.claim)
}
