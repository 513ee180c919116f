package ledger

import (
	"context"
	"errors"
	"time"
)

// How the queue is written.
const (
	batchRows  = 500
	batchAfter = 200 * time.Millisecond // since its first row
	writeBound = 10 * time.Second
	// retryAfter is how long it waits for a store that is lost or that refused a batch; after maxRefused times the batch's rows are written one by one.
	retryAfter = time.Second
	maxRefused = 3
	// Rows that are too old or too many are taken away so often, and each time so many were written, or so much.
	expireEvery = time.Minute
	expireRows  = 10_000
	expireBytes = 32 << 20
	expireBound = 50 * time.Second
)

var errNoStore = errors.New("the store is not reached")

// Start begins to write. Stop ends it.
func (w *Writer) Start() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.running.Go(func() { w.run(ctx) })
	w.running.Go(func() { w.tidy(ctx) })
}

// Stop takes no more facts, writes what waits, and gives up what is not written when ctx ends.
func (w *Writer) Stop(ctx context.Context) error {
	w.queue.end()
	err := w.Flush(ctx)
	w.stop()
	w.running.Wait()
	for _, i := range w.queue.take(maxWaiting) {
		w.dropped.Add(1)
		w.bodies.Add(-i.bodies.Bytes())
	}
	w.queue.done(nil)
	return err
}

// Flush writes what waits now. It must be started.
func (w *Writer) Flush(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case w.flushes <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run writes batches until ctx ends.
func (w *Writer) run(ctx context.Context) {
	for {
		select {
		case <-w.queue.wake:
		case done := <-w.flushes:
			w.drain(ctx)
			close(done)
		case <-ctx.Done():
			return
		}
		for w.gather(ctx) {
			w.write(ctx, w.queue.take(batchRows))
		}
	}
}

// gather waits until a batch is full, or has waited as long as it may; false: nothing waits.
func (w *Writer) gather(ctx context.Context) bool {
	rows, _ := w.queue.waiting()
	if rows == 0 || rows >= batchRows {
		return rows > 0
	}
	timer := time.NewTimer(batchAfter)
	defer timer.Stop()
	for rows < batchRows {
		select {
		case <-w.queue.wake:
		case <-timer.C:
			return true
		case done := <-w.flushes:
			w.drain(ctx)
			close(done)
			timer.Reset(batchAfter)
		case <-ctx.Done():
			return false
		}
		if rows, _ = w.queue.waiting(); rows == 0 {
			return false
		}
	}
	return true
}

// drain writes all that is in the queue now.
func (w *Writer) drain(ctx context.Context) {
	for rows, _ := w.queue.waiting(); rows > 0; rows -= batchRows {
		w.write(ctx, w.queue.take(min(rows, batchRows)))
	}
}

// write writes a batch, however long that takes, and gives its room back. When ctx ends the rows are dropped.
func (w *Writer) write(ctx context.Context, rows []*item) {
	b := Batch{waiting: w.spare[:0]}
	w.fill(&b, rows)
	for refused, patience := 0, maxRefused; b.Len() > 0; {
		err := w.try(ctx, &b)
		w.tell(err)
		if err == nil {
			w.written.Add(uint64(b.Len())) //nolint:gosec // not negative
			break
		}
		if !errors.Is(err, errNoStore) {
			refused++
		}
		if refused >= maxRefused {
			refused, patience = 0, min(2*patience, batchRows)
			b = w.singly(ctx, &b, patience)
			w.queue.done(b.waiting)                     // it may take long until all are
			w.fill(&b, w.queue.take(batchRows-b.Len())) // of a batch that is at fault itself the next rows tell
		}
		if b.Len() > 0 && !pause(ctx, retryAfter) {
			w.dropped.Add(uint64(b.Len())) //nolint:gosec // not negative
			break
		}
	}
	w.queue.done(nil)
	clear(b.waiting)
	w.spare = b.waiting
	w.bodies.Add(-w.writing)
	w.writing = 0
	if w.fresh >= expireBytes {
		w.fresh = 0
		select {
		case w.expire <- struct{}{}:
		default:
		}
	}
}

// fill adds rows to a batch, and makes their bodies.
func (w *Writer) fill(b *Batch, rows []*item) {
	for _, i := range rows {
		i.body = w.body(i)
		w.writing += i.bodies.Bytes()
		w.fresh += max(i.size()+i.bodies.Bytes(), expireBytes/expireRows+1)
	}
	b.add(rows)
}

// tell says of the store what is new. That it is not reached others say.
func (w *Writer) tell(err error) {
	if errors.Is(err, errNoStore) {
		return
	}
	if (err == nil) != (w.told == nil) {
		w.o.Told(err)
	}
	w.told = err
}

func (w *Writer) try(ctx context.Context, b *Batch) error {
	store := w.o.Store()
	if store == nil {
		return errNoStore
	}
	ctx, cancel := context.WithTimeout(ctx, writeBound)
	defer cancel()
	return store.Write(ctx, *b)
}

// singly writes each row by itself: one that the store cannot take must not hold the others. A row is given up that is refused while another one is
// taken before and after: one that the store has, and so writes nothing. It gives the rows that are left; where so many are refused and none is taken, the store is at fault.
func (w *Writer) singly(ctx context.Context, b *Batch, patience int) (left Batch) {
	var taken, refused Batch
	missed := false
	b.each(func(one Batch) bool {
		if w.try(ctx, &one) == nil {
			w.written.Add(1)
			taken = one
		} else {
			refused.join(one)
			missed = taken.Len() == 0 && refused.Len() >= patience
		}
		return !missed
	})
	if missed || taken.Len() == 0 {
		return *b
	}
	refused.each(func(one Batch) bool {
		for range 2 {
			if w.try(ctx, &one) == nil {
				w.written.Add(1)
				return true
			}
			if w.try(ctx, &taken) != nil { // it comes and goes
				left.join(one)
				return true
			}
		}
		w.dropped.Add(1)
		return true
	})
	return left
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// tidy takes away what is too old or too much, until ctx ends.
func (w *Writer) tidy(ctx context.Context) {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	start, clock := time.Now(), steady{}
	clock.look(start, 0)
	for {
		select {
		case <-tick.C:
		case <-w.expire:
		case <-ctx.Done():
			return
		}
		keep := w.o.Keep()
		keep.ByNumber = !clock.look(time.Now(), time.Since(start))
		if store := w.o.Store(); store != nil {
			bounded, cancel := context.WithTimeout(ctx, expireBound)
			_ = store.Expire(bounded, keep) // the next time takes what is left
			cancel()
		}
	}
}
