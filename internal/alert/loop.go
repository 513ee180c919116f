package alert

import (
	"context"
	"slices"
	"time"
)

// Apply takes a configuration's receivers, and the names of the providers in use. Receivers known by name keep their queue; what
// waits for one that is gone is dropped.
func (w *Watcher) Apply(receivers []Receiver, providers []string) {
	s := &settings{receivers: slices.Clone(receivers), providers: map[string]bool{}}
	for _, p := range providers {
		s.providers[p] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, p := range w.posts {
		if !slices.ContainsFunc(receivers, func(r Receiver) bool { return r.Name == name }) {
			p.close(0)
			delete(w.posts, name)
		}
	}
	for i := range s.receivers {
		r := &s.receivers[i]
		if p := w.posts[r.Name]; p != nil {
			p.receiver.Store(r)
			continue
		}
		p := newPost(w, r)
		w.posts[r.Name] = p
		if w.begun && !w.stopped {
			w.posting.Go(p.run)
		}
	}
	w.next.Store(s)
	w.wanted.Store(len(receivers) > 0)
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// Start begins to tell. Stop must follow.
func (w *Watcher) Start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
	w.loop.Go(w.decide)
	for _, p := range w.posts {
		w.posting.Go(p.run)
	}
}

// Stop decides what was heard before it, and waits until ctx ends for that and for what is on its way to receivers; each gets one more try.
func (w *Watcher) Stop(ctx context.Context) {
	w.mu.Lock()
	if !w.begun || w.stopped {
		w.mu.Unlock()
		return
	}
	w.stopped = true
	w.mu.Unlock()
	close(w.stop)
	decided := make(chan struct{})
	go func() {
		w.loop.Wait()
		close(decided)
	}()
	select {
	case <-decided:
	case <-ctx.Done(): // it waits for a store that is slow, call by call
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(flushTime)
	}
	w.mu.Lock()
	for _, p := range w.posts {
		p.close(max(time.Until(deadline), 0))
	}
	w.mu.Unlock()
	w.posting.Wait()
	w.hangUp()
}

// hangUp closes connections that nobody uses.
func (w *Watcher) hangUp() {
	if c, ok := w.o.Client.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// flushTime is how long a stop may take that says nothing of it.
const flushTime = 5 * time.Second

// decide is the loop: facts in, alerts out.
func (w *Watcher) decide() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case f := <-w.facts:
			w.hear(f)
		case <-w.poke:
		case <-timer.C:
		case <-w.stop:
			w.rest()
			return
		}
		if next := w.turn(); !next.IsZero() {
			timer.Reset(max(time.Until(next), time.Millisecond))
		}
	}
}

// rest takes what waits.
func (w *Watcher) rest() {
	for {
		select {
		case f := <-w.facts:
			w.hear(f)
		default:
			w.turn()
			return
		}
	}
}

// turn puts settings in force, tells what is due, and says when to come again.
func (w *Watcher) turn() time.Time {
	now := time.Now()
	if s := w.next.Swap(nil); s != nil {
		w.tracker.receivers = s.receivers
		w.gone(now, s.providers)
	}
	ends := w.periodsOver(now)
	sends, next := w.tracker.step(now)
	if !ends.IsZero() && (next.IsZero() || ends.Before(next)) {
		next = ends
	}
	w.troubled.Store(w.tracker.troubled())
	if len(sends) == 0 {
		return next
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range sends {
		if p := w.posts[sends[i].receiver]; p != nil {
			p.put(&sends[i].alert)
		}
	}
	return next
}

func (w *Watcher) hear(f fact) {
	now := time.Now()
	switch {
	case f.guard != nil:
		w.guardMoved(now, f.guard)
	case f.discovery != nil:
		w.discoveryMoved(now, f.discovery)
	case f.change != nil:
		w.changed(now, f.change)
	case f.store != nil:
		w.storeMoved(now, f.store)
	case f.refusal != nil:
		w.blocked(now, f.refusal)
	case f.budget != nil:
		w.budgetPassed(now, f.budget)
	}
}
