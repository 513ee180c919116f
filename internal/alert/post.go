package alert

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a delivery.
const (
	maxQueue   = 256              // alerts that wait for one receiver
	tryTime    = 10 * time.Second // for one try
	firstPause = time.Second      // after a failed try; each one doubles it
	maxPause   = time.Minute
	maxNamed   = 15 * time.Minute // of a wait that the receiver names
	giveUp     = time.Hour        // after the first try
)

// Counts are what became of a receiver's alerts.
type Counts struct {
	Delivered, Failed, Dropped uint64
	Waiting                    int
	// LastDelivered is when one was; LastError what is wrong since then. Neither has anything of a URL.
	LastDelivered time.Time
	LastError     string
}

// post brings alerts to one receiver, in order. A slow one holds up nobody else.
type post struct {
	w        *Watcher
	receiver atomic.Pointer[Receiver]
	ctx      context.Context //nolint:containedctx // ends what is under way when the receiver goes, or the gateway stops
	cancel   context.CancelFunc
	wake     chan struct{}
	closing  chan struct{} // closed by close: no more waiting between tries

	mu     sync.Mutex
	queue  []Alert
	closed bool
	counts Counts
}

func newPost(w *Watcher, r *Receiver) *post {
	p := &post{w: w, wake: make(chan struct{}, 1), closing: make(chan struct{})}
	p.receiver.Store(r)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// put adds an alert; where there is no room the oldest one goes.
func (p *post) put(a *Alert) {
	p.mu.Lock()
	if len(p.queue) == maxQueue {
		p.queue = append(p.queue[:0], p.queue[1:]...)
		p.counts.Dropped++
	}
	p.queue = append(p.queue, *a)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// close has run end once the queue is empty, or within a time.
func (p *post) close(within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	close(p.closing)
	if within <= 0 {
		p.cancel()
		return
	}
	time.AfterFunc(within, p.cancel)
}

// run delivers until close. What is left then is tried once more and dropped.
func (p *post) run() {
	defer p.cancel()
	for {
		a, closed := p.first()
		switch {
		case a != nil && p.ctx.Err() != nil:
			p.forsake()
			return
		case a != nil:
			delivered, why := p.deliver(a)
			p.settle(delivered, why)
		case closed:
			return
		default:
			select {
			case <-p.wake:
			case <-p.closing:
			}
		}
	}
}

// first is the oldest alert that waits.
func (p *post) first() (a *Alert, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil, p.closed
	}
	oldest := p.queue[0]
	p.queue = append(p.queue[:0], p.queue[1:]...)
	p.counts.Waiting = 1
	return &oldest, p.closed
}

// forsake gives up what waits, that which was just taken among it: there is no time left for it, or no receiver.
func (p *post) forsake() {
	p.mu.Lock()
	n := 1 + len(p.queue)
	p.counts.Waiting, p.queue = 0, nil
	p.counts.Failed += uint64(n)
	p.mu.Unlock()
	p.w.o.Log.Warn("alert not delivered", "receiver", p.receiver.Load().Name, "error", "nobody waits for it any more, nor for "+strconv.Itoa(n-1)+" after it")
}

func (p *post) settle(delivered bool, why string) {
	p.mu.Lock()
	p.counts.Waiting = 0
	if delivered {
		p.counts.Delivered++
		p.counts.LastDelivered, p.counts.LastError = time.Now(), ""
	} else {
		p.counts.Failed++
	}
	p.mu.Unlock()
	if !delivered {
		p.w.o.Log.Warn("alert not delivered", "receiver", p.receiver.Load().Name, "error", why)
	}
}

// deliver tries until the alert is taken, refused for good, or too old.
func (p *post) deliver(a *Alert) (delivered bool, why string) {
	begun := time.Now()
	pause := firstPause
	for {
		o := p.try(p.ctx, a)
		if o.delivered {
			return true, ""
		}
		p.mu.Lock()
		p.counts.LastError = o.why
		p.mu.Unlock()
		wait := time.Duration((0.5 + p.w.o.Random()/2) * float64(pause))
		if o.wait > wait {
			wait = min(o.wait, maxNamed)
		}
		if !o.again || time.Since(begun)+wait > giveUp {
			return false, o.why
		}
		pause = min(2*pause, maxPause)
		if !p.sleep(wait) {
			return false, o.why
		}
	}
}

// sleep waits between tries; false: the gateway stops, or the receiver is gone, and there is no time for it.
func (p *post) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.closing:
		return false
	}
}

func (p *post) figures() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Waiting += len(p.queue)
	c.Dropped += p.w.lost.Load()
	return c
}
