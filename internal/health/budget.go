package health

import (
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/resilience"
)

// budget is the living copy of the retry budget (R53). Requests are counted without a lock, in one slot a second;
// draws, which are rare, take one.
type budget struct {
	epoch time.Time
	slots [16]atomic.Uint64 // high 32 bits: the second since epoch, low: its requests

	mu   sync.Mutex
	pure *resilience.Budget
}

func (b *budget) start(now time.Time) {
	b.epoch = now
	b.pure = resilience.NewBudget(now)
}

func (b *budget) second(now time.Time) uint64 {
	return uint64(max(now.Sub(b.epoch)/time.Second, 0))
}

func (b *budget) count(now time.Time) {
	sec := b.second(now)
	slot := &b.slots[sec%uint64(len(b.slots))]
	for {
		old := slot.Load()
		next := old + 1
		if old>>32 != sec {
			next = sec<<32 | 1
		}
		if slot.CompareAndSwap(old, next) {
			return
		}
	}
}

// requests of the last 10 s, the running second included.
func (b *budget) requests(now time.Time) int64 {
	sec := b.second(now)
	var n int64
	for i := range b.slots {
		v := b.slots[i].Load()
		if at := v >> 32; at <= sec && at+10 > sec {
			n += int64(v & (1<<32 - 1))
		}
	}
	return n
}

func (b *budget) draw(now time.Time, share float64) bool {
	n := b.requests(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pure.Draw(now, share, n)
}
