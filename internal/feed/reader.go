package feed

import (
	"context"
	"strconv"
	"strings"
	"time"
)

const (
	// gather is how long a reader that was waiting waits for more: many events are one write.
	gather = 20 * time.Millisecond
	// most is how many events Next gives at once.
	most = 64
)

// Unknown is a number of lost events that nobody knows.
const Unknown = -1

// Reader reads the feed. It is for one goroutine.
type Reader struct {
	feed   *Feed
	kinds  Kinds
	next   uint64 // the number of the event that it reads next
	lost   int64
	gone   <-chan struct{}
	events [most]*Event
}

// Read begins to read, with what happens from now on; or after the event of an id, if that is still known. Close ends it.
func (f *Feed) Read(which Kinds, after string) (*Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.stopped:
		return nil, ErrStopped
	case f.readers >= MaxReaders:
		return nil, ErrFull
	}
	if f.readers == 0 && f.on.Load() && time.Since(f.left) > linger {
		f.sleep()
	}
	f.readers++
	if !f.on.Load() {
		f.kept = make([]*Event, Kept)
		f.on.Store(true)
	}
	r := &Reader{feed: f, kinds: which, next: f.next, gone: f.gone}
	if after != "" {
		r.resume(after)
	}
	return r, nil
}

// resume goes on after an event. The feed is locked.
func (r *Reader) resume(after string) {
	f := r.feed
	instance, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || instance != f.instance || n >= f.next || n+1 < f.awake {
		r.lost = Unknown
		return
	}
	r.next = n + 1
}

// Close ends reading.
func (r *Reader) Close() {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	f.left = time.Now()
}

// ID names the last event that was read or passed over, for a reader that comes back: what is read after it is what would be next.
func (r *Reader) ID() string { return id(r.feed.instance, r.next-1) }

// Next waits for events and gives some, in order, until the next call; how many of any kind were lost before them, or Unknown. It gives
// nothing where none came for so long. The error is that of ctx, ErrStopped or ErrHungUp.
func (r *Reader) Next(ctx context.Context, wait time.Duration) (events []*Event, lost int64, err error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		events, lost, wake := r.take()
		if wake == nil {
			return events, lost, nil
		}
		select {
		case <-wake:
		case <-timer.C:
			return nil, 0, nil
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-r.gone:
			return nil, 0, r.farewell()
		}
		if err := r.gather(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// gather waits for more of what has begun to come.
func (r *Reader) gather(ctx context.Context) error {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.gone:
		return r.farewell()
	}
}

func (r *Reader) farewell() error {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if r.feed.stopped {
		return ErrStopped
	}
	return ErrHungUp
}

// take gives what is there, or what tells that more is.
func (r *Reader) take() (events []*Event, lost int64, wake <-chan struct{}) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-r.gone:
		return nil, 0, r.gone // it is told below
	default:
	}
	lost, r.lost = r.lost, 0
	if r.next < f.oldest {
		if lost != Unknown {
			lost = int64(f.oldest - r.next) //nolint:gosec // far below
		}
		r.next = f.oldest
	}
	events = r.events[:0]
	for ; r.next < f.next && len(events) < most; r.next++ {
		if e := f.kept[r.next%Kept]; r.kinds.Has(e.Kind) {
			events = append(events, e)
		}
	}
	if len(events) > 0 || lost != 0 {
		return events, lost, nil
	}
	if f.wake == nil {
		f.wake = make(chan struct{})
	}
	return nil, 0, f.wake
}
