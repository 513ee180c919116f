package alert

import (
	"strconv"
	"time"
)

// Budget is one that is near its end, or used up.
type Budget struct {
	At time.Time
	// Scope and Name say whose: a key, a team.
	Scope, Name string
	// Limit and Used are as people read them, with their unit; Per is the period with its article, such as "a day", and Until its end.
	Limit, Used, Per string
	Until            time.Time
	Spent            bool
	// Refuses: what is over it is refused.
	Refuses bool
}

// BudgetPassed tells of a budget. It does not block.
func (w *Watcher) BudgetPassed(b Budget) { w.take(fact{budget: &b}) }

// budgetPassed begins an incident, which is over with the budget's period.
func (w *Watcher) budgetPassed(now time.Time, b *Budget) {
	event, words := BudgetNear, "is near its end"
	switch {
	case b.Spent && b.Refuses:
		event, words = BudgetSpent, "is used up, and requests are refused"
	case b.Spent:
		event, words = BudgetSpent, "is used up"
	}
	a := w.alertOf(event, b.At, b.Scope, b.Name, b.Limit, b.Per)
	a.Scope, a.Name, a.Until = b.Scope, b.Name, Time(b.Until)
	a.Summary = "The budget of the " + b.Scope + " " + strconv.Quote(b.Name) + " " + words + ": " + b.Used + " of " + b.Limit + " " + b.Per
	w.tracker.happened(now, a, false, nil)
}

// periodsOver ends incidents of budgets whose periods are over, and says when the next one is.
func (w *Watcher) periodsOver(now time.Time) (next time.Time) {
	for _, i := range w.tracker.incidents {
		if e := i.begin.Event; e != BudgetNear && e != BudgetSpent || !i.ended.IsZero() {
			continue
		}
		until := time.Time(i.begin.Until)
		if !now.Before(until) {
			end := i.begin.over(now)
			end.Summary = "A new period of the budget of the " + i.begin.Scope + " " + strconv.Quote(i.begin.Name) + " has begun"
			w.tracker.over(now, end, true)
		} else if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	return next
}
