package resilience

import "time"

// Limits of the retry budget (R53).
const (
	budgetSeconds = 10  // how far it looks back
	budgetFloor   = 100 // draws in that time without any traffic: 10/s; also all of a process's first 10 s
)

// Budget bounds the extra attempts of a process to a share of its traffic, so that an outage does not multiply it
// (R53). It is not safe for concurrent use.
type Budget struct {
	start  time.Time
	newest int64 // number of the newest slot: whole seconds since start
	slots  [budgetSeconds]int64
	sum    int64
}

// NewBudget makes the budget of a process that started then.
func NewBudget(start time.Time) *Budget { return &Budget{start: start} }

// Draw takes one extra attempt out of the budget and says whether there was one left: of the last 10 s (in slots of 1 s),
// share × requests10s + 100, and in the first 10 s of the process 100. requests10s is the number of requests that
// came in the last 10 s. A refused draw costs nothing.
func (b *Budget) Draw(now time.Time, share float64, requests10s int64) bool {
	age := now.Sub(b.start)
	b.advance(int64(age / time.Second))
	limit := float64(budgetFloor)
	if age >= budgetSeconds*time.Second && share > 0 {
		limit += share * float64(requests10s)
	}
	if float64(b.sum+1) > limit {
		return false
	}
	b.slots[b.newest%budgetSeconds]++
	b.sum++
	return true
}

// advance drops the slots that are out of reach. A clock that went backwards counts as standing still.
func (b *Budget) advance(n int64) {
	for drop := min(n-b.newest, budgetSeconds); drop > 0; drop-- {
		b.newest++
		slot := &b.slots[b.newest%budgetSeconds]
		b.sum -= *slot
		*slot = 0
	}
	b.newest = max(b.newest, n)
}
