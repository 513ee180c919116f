package threads

import (
	"context"
	"time"
)

// Patience is how long one request waits for the archive, in all.
const Patience = 250 * time.Millisecond

const (
	// maxReads is how many requests read the archive at once; others wait within their patience. Replication has the same connections.
	maxReads = 2
	// restAfter is for how long nobody asks an archive that did not answer a request in time: what it is known for by then is said by Archive's function.
	restAfter = time.Second
	// At most so much of a conversation is read at once.
	readTurns, readBytes = 512, 16 << 20
)

// Search is one request's way to the archive. Its zero value asks nobody: what this process has is all there is.
type Search struct {
	ctx  context.Context //nolint:containedctx // of the request, which it belongs to
	left time.Duration
}

// Search begins a request's search.
func (s *Store) Search(ctx context.Context) Search {
	if s.behind == nil {
		return Search{}
	}
	return Search{ctx: ctx, left: Patience}
}

// find gives an answer that this process does not have, and with it those that it continues, latest first. An archive that is lost, slow or
// broken has none.
func (s *Store) find(w *Search, k key, turns, size int) []*Answer {
	if w == nil || w.ctx == nil || w.left <= 0 {
		return nil
	}
	archive := s.behind.archive()
	start := time.Now()
	if archive == nil || start.UnixNano() < s.restUntil.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.left)
	defer cancel()
	defer func() { w.left -= time.Since(start) }()
	// On a goroutine of its own: the request goes on in time, whatever the store waits for.
	type result struct {
		records []Record
		err     error
	}
	done := make(chan result, 1)
	select {
	case s.reads <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	go func() {
		defer func() { <-s.reads }()
		var r result
		r.records, r.err = archive.Get(ctx, k.owner, k.id, turns, size)
		done <- r
	}()
	select {
	case r := <-done:
		if r.err == nil {
			return s.answersOf(r.records, k)
		}
	case <-ctx.Done():
	}
	if w.ctx.Err() == nil { // the client did not leave
		s.restUntil.Store(time.Now().Add(restAfter).UnixNano())
	}
	return nil
}

// answersOf reads records, as far as they are what was asked for.
func (s *Store) answersOf(records []Record, k key) []*Answer {
	var out []*Answer
	for i := range records {
		r := &records[i]
		if r.Owner != k.owner || r.ID != k.id || s.behind.deleting(k) {
			break
		}
		a, err := r.answer()
		if err != nil {
			break
		}
		out = append(out, a)
		k.id = a.Previous
	}
	return out
}
