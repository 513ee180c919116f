package threads

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of what waits for the archive; what is more is not archived, and counted.
const (
	// maxWaiting is how many answers wait, and as many deletions: a client was told that these are done.
	maxWaiting      = 4096
	maxWaitingBytes = 32 << 20
	// maxID is how long the id of an archived answer may be, in bytes: no request names a longer one, and an archive's index may not take it.
	maxID = 512
	// A batch is what is put at once.
	batchAnswers = 64
	batchBytes   = 1 << 20
	putBound     = 10 * time.Second
	// retryAfter is how long the writer waits for a store that is lost, or that refused a batch; after maxRefused times the batch is given up. That is longer than it
	// takes until a store that refuses everything is known to be lost.
	retryAfter = 2 * time.Second
	maxRefused = 6
)

// behind writes to the archive, after the requests and beside them.
type behind struct {
	archive func() Archive // nil while there is none
	life    time.Duration
	wake    chan struct{}
	stop    context.CancelFunc
	running sync.WaitGroup
	lost    atomic.Uint64

	mu        sync.Mutex
	queue     []job
	bytes     int
	deletions int // among them
	ending    bool
	now       *era // of the searches that begin
	before    *era // of those that began before that
}

// era is a time in which searches of the archive began.
type era struct {
	searches int              // that are under way
	gone     map[key]struct{} // what was deleted in it
}

// job is one thing to be done: an answer to be put, or one to be deleted.
type job struct {
	key    key
	answer *Answer // nil: it is to be deleted
}

func (j *job) size() int {
	if j.answer == nil {
		return len(j.key.owner) + len(j.key.id) + 256
	}
	return j.answer.size()
}

// add never waits.
func (b *behind) add(j job) {
	if len(j.key.id) > maxID || j.answer != nil && len(j.answer.Input)+len(j.answer.Output)+len(j.answer.Body) > MaxRecord-1024 {
		b.lost.Add(1)
		return
	}
	size := j.size()
	b.mu.Lock()
	full := b.ending || len(b.queue)-b.deletions == maxWaiting || b.bytes+size > maxWaitingBytes
	if j.answer == nil {
		full = b.ending || b.deletions == maxWaiting
	}
	if !full {
		b.queue = append(b.queue, j)
		b.bytes += size
		if j.answer == nil {
			b.deletions++
		}
	}
	b.mu.Unlock()
	if full {
		b.lost.Add(1)
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// batch gives the next jobs, which stay in the queue: puts, or one deletion.
func (b *behind) batch() []job {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := 0
	for i := range b.queue {
		j := &b.queue[i]
		size += j.size()
		switch {
		case j.answer == nil && i == 0:
			return b.queue[:1:1]
		case j.answer == nil, i > 0 && size > batchBytes, i == batchAnswers:
			return b.queue[:i:i]
		}
	}
	return b.queue[:len(b.queue):len(b.queue)]
}

// search begins a search of the archive; it ends with the function that it gives. What is deleted in between stays known as deleted until then, since the
// archive may have been read before.
func (b *behind) search() (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began := b.now
	began.searches++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		began.searches--
		b.turn()
	}
}

// turn lets go of what was deleted before all searches that are under way began. There may always be some, so it cannot wait until there is none. It requires
// the lock.
func (b *behind) turn() {
	switch {
	case b.before.searches > 0:
	case b.now.searches == 0:
		b.now.gone, b.before.gone = nil, nil
	case len(b.now.gone)+len(b.before.gone) > 0:
		b.before, b.now = b.now, &era{}
	}
}

// forget requires the lock.
func (b *behind) forget(k key) {
	if b.now.searches+b.before.searches == 0 {
		return
	}
	if b.now.gone == nil {
		b.now.gone = map[key]struct{}{}
	}
	b.now.gone[k] = struct{}{}
}

// deleting says whether an answer is deleted or to be deleted, so that what was read of it in the archive does not count.
func (b *behind) deleting(k key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range [...]*era{b.now, b.before} {
		if _, ok := e.gone[k]; ok {
			return true
		}
	}
	if b.deletions > 0 {
		for i := range b.queue {
			if j := &b.queue[i]; j.answer == nil && j.key == k {
				return true
			}
		}
	}
	return false
}

// done takes the first n jobs off.
func (b *behind) done(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range n {
		b.bytes -= b.queue[i].size()
		if b.queue[i].answer == nil {
			b.deletions--
			b.forget(b.queue[i].key)
		}
		b.queue[i] = job{}
	}
	b.queue = b.queue[n:]
	if len(b.queue) == 0 {
		b.queue = nil // the array of a rush is let go
	}
}

// tidyEvery is how often what has ended is taken away where nothing is put.
const tidyEvery = time.Hour

// run writes until ctx ends.
func (b *behind) run(ctx context.Context) {
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for {
		b.write(ctx)
		select {
		case <-b.wake:
		case <-tidy.C:
			if archive := b.archive(); archive != nil {
				within, cancel := context.WithTimeout(ctx, putBound)
				_ = archive.Put(within, b.life, nil) // or the next time
				cancel()
			}
		case <-ctx.Done():
			return
		}
	}
}

// write empties the queue, as fast as the archive takes it; until ctx ends.
func (b *behind) write(ctx context.Context) {
	refused := 0
	for ctx.Err() == nil {
		jobs := b.batch()
		if len(jobs) == 0 {
			return
		}
		archive := b.archive()
		if archive == nil && b.stopped() {
			return
		}
		if archive != nil {
			err := b.put(ctx, archive, jobs)
			if refused++; err == nil || refused == maxRefused {
				if err != nil {
					b.lost.Add(uint64(len(jobs)))
				}
				b.done(len(jobs))
				refused = 0
				continue
			}
		}
		pause := time.NewTimer(retryAfter)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

func (b *behind) stopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ending
}

func (b *behind) put(ctx context.Context, archive Archive, jobs []job) error {
	ctx, cancel := context.WithTimeout(ctx, putBound)
	defer cancel()
	if jobs[0].answer == nil {
		return archive.Delete(ctx, jobs[0].key.owner, jobs[0].key.id)
	}
	records := make([]Record, len(jobs))
	for i := range jobs {
		records[i] = record(jobs[i].key.owner, jobs[i].answer)
	}
	return archive.Put(ctx, b.life, records)
}

// Archive has answers written to an archive from now on, and looked for there. archive gives it, or nil while it is known to be lost; it is called
// often and must be quick. It is called before anything is put, and once.
func (s *Store) Archive(archive func() Archive) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &behind{archive: archive, life: s.limits.Age, wake: make(chan struct{}, 1), stop: cancel, now: &era{}, before: &era{}}
	b.running.Go(func() { b.run(ctx) })
	s.behind, s.reads = b, make(chan struct{}, maxReads)
}

// Stop ends the writing, when what waits is in the archive or ctx ends. It may be called more than once.
func (s *Store) Stop(ctx context.Context) {
	b := s.behind
	if b == nil {
		return
	}
	b.mu.Lock()
	first := !b.ending
	b.ending = true
	b.mu.Unlock()
	if !first {
		return
	}
	b.stop()
	b.running.Wait()
	b.write(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost.Add(uint64(len(b.queue)))
	b.queue, b.bytes = nil, 0
}

// Lost is how many answers (and deletions) did not reach the archive.
func (s *Store) Lost() uint64 {
	if s.behind == nil {
		return 0
	}
	return s.behind.lost.Load()
}
