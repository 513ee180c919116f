package resilience

import "time"

// Limits of the budgets: how far they look back, and what may be drawn in that time without any traffic, which is also all
// that may be in a process's first such time.
const (
	retrySeconds = 10 // R53
	retryFloor   = 100
	hedgeSeconds = 60 // R71
	hedgeFloor   = 60
)

// Budget bounds the extra attempts of a process to a share of its traffic, so that an outage does not multiply it
// (R53, R71). It is not safe for concurrent use.
type Budget struct {
	start  time.Time
	floor  float64
	newest int64   // number of the newest slot: whole seconds since start
	slots  []int64 // one a second
	sum    int64
}

// NewBudget makes the retry budget of a process that started then: it looks back 10 s, and has 10/s beside the share.
func NewBudget(start time.Time) *Budget {
	return &Budget{start: start, floor: retryFloor, slots: make([]int64, retrySeconds)}
}

// NewHedgeBudget makes the budget of hedges: it looks back 60 s, and has 1/s beside the share.
func NewHedgeBudget(start time.Time) *Budget {
	return &Budget{start: start, floor: hedgeFloor, slots: make([]int64, hedgeSeconds)}
}

// Window is how far the budget looks back.
func (b *Budget) Window() time.Duration { return time.Duration(len(b.slots)) * time.Second }

// Draw takes one extra attempt out of the budget and says whether there was one left: of the last 10 s (in slots of 1 s),
// share × requests + 100, and in the first 10 s of the process 100; of hedges 60 s and 60. requests is the number of
// requests that came in that time. A refused draw costs nothing.
func (b *Budget) Draw(now time.Time, share float64, requests int64) bool {
	age := now.Sub(b.start)
	b.advance(int64(age / time.Second))
	limit := b.floor
	if age >= b.Window() && share > 0 {
		limit += share * float64(requests)
	}
	if float64(b.sum+1) > limit {
		return false
	}
	b.slots[b.newest%int64(len(b.slots))]++
	b.sum++
	return true
}

// advance drops the slots that are out of reach. A clock that went backwards counts as standing still.
func (b *Budget) advance(n int64) {
	seconds := int64(len(b.slots))
	for drop := min(n-b.newest, seconds); drop > 0; drop-- {
		b.newest++
		slot := &b.slots[b.newest%seconds]
		b.sum -= *slot
		*slot = 0
	}
	b.newest = max(b.newest, n)
}
