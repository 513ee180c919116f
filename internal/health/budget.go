package health

import (
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/resilience"
)

// budgets are the living copy of the budgets of retries (R53) and hedges (R71). Requests are counted without a lock, in
// one slot a second; draws, which are rare, take one.
type budgets struct {
	epoch time.Time
	slots [64]atomic.Uint64 // high 32 bits: the second since epoch, low: its requests

	mu             sync.Mutex
	retries, hedge *resilience.Budget
}

func (b *budgets) start(now time.Time) {
	b.epoch = now
	b.retries, b.hedge = resilience.NewBudget(now), resilience.NewHedgeBudget(now)
}

func (b *budgets) second(now time.Time) uint64 {
	return uint64(max(now.Sub(b.epoch)/time.Second, 0))
}

func (b *budgets) count(now time.Time) {
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

// requests of the last while, the running second included.
func (b *budgets) requests(now time.Time, while time.Duration) int64 {
	sec, seconds := b.second(now), uint64(max(while/time.Second, 0))
	var n int64
	for i := range b.slots {
		v := b.slots[i].Load()
		if at := v >> 32; at <= sec && at+seconds > sec {
			n += int64(v & (1<<32 - 1))
		}
	}
	return n
}

func (b *budgets) draw(of *resilience.Budget, now time.Time, share float64) bool {
	n := b.requests(now, of.Window())
	b.mu.Lock()
	defer b.mu.Unlock()
	return of.Draw(now, share, n)
}
