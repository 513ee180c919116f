package alert

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// ReceiverState is one receiver for those who look. It has no secret.
type ReceiverState struct {
	Name   string
	Slack  bool
	Signed bool
	On     []Event // all that it gets
	For    time.Duration
	Counts
}

// Receivers are all of them, by name.
func (w *Watcher) Receivers() []ReceiverState {
	w.mu.Lock()
	posts := make([]*post, 0, len(w.posts))
	for _, p := range w.posts {
		posts = append(posts, p)
	}
	w.mu.Unlock()
	out := make([]ReceiverState, 0, len(posts))
	for _, p := range posts {
		r := p.receiver.Load()
		s := ReceiverState{Name: r.Name, Slack: r.Format == Slack, Signed: r.Secret != "", On: r.On, For: r.For, Counts: p.figures()}
		if len(s.On) == 0 {
			s.On = Events()
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b ReceiverState) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// TestResult is what a test alert came to.
type TestResult struct {
	Delivered bool
	Status    int    // the receiver's, 0 if there was none
	Message   string // what went wrong
	Took      time.Duration
}

// Test sends a test alert to a receiver, once and past its queue; false: there is none of that name.
func (w *Watcher) Test(ctx context.Context, receiver, by string) (TestResult, bool) {
	w.mu.Lock()
	p := w.posts[receiver]
	w.mu.Unlock()
	if p == nil {
		return TestResult{}, false
	}
	now := time.Now()
	a := w.alertOf(Test, now, receiver)
	a.Summary, a.By = "A test of the receiver "+receiver+": nothing is the matter", by
	a.clean()
	o := p.try(ctx, &a)
	return TestResult{Delivered: o.delivered, Status: o.status, Message: o.why, Took: time.Since(now)}, true
}
