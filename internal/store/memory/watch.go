package memory

import (
	"bytes"
	"context"

	"evergate/internal/replica"
)

// watcher is one watch under way. It keeps what was put and is not heard yet: of each page the last version alone, so that one
// who hears slowly holds no more than the store does. Its fields are guarded by the place's lock.
type watcher struct {
	waiting map[identity]replica.Page
	order   []identity    // of waiting, as first put
	some    chan struct{} // has an element while something waits
}

func (w *watcher) tell(id identity, page replica.Page) {
	if _, ok := w.waiting[id]; !ok {
		w.order = append(w.order, id)
	}
	w.waiting[id] = page
	select {
	case w.some <- struct{}{}:
	default:
	}
}

// take gives what waits.
func (p *place) take(w *watcher) []replica.Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]replica.Page, 0, len(w.order))
	for _, id := range w.order {
		page := w.waiting[id]
		page.Body = bytes.Clone(page.Body)
		out = append(out, page)
	}
	clear(w.waiting)
	w.order = w.order[:0]
	return out
}

// Watch implements replica.Store. heard is called on the watching goroutine, without a lock: a putter never waits for it.
func (s *Store) Watch(ctx context.Context, ready func(), heard func(replica.Page)) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a watch ends with its context, and that is no error
	}
	if err := s.may(ctx); err != nil {
		return err
	}
	w := &watcher{waiting: map[identity]replica.Page{}, some: make(chan struct{}, 1)}
	p := s.place
	p.mu.Lock()
	p.watchers[w] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.watchers, w)
		p.mu.Unlock()
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closed:
			return errClosed
		case <-w.some:
			for _, page := range p.take(w) {
				if ctx.Err() != nil {
					return nil //nolint:nilerr // as above
				}
				heard(page)
			}
		}
	}
}
