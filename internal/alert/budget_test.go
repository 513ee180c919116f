package alert

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A budget is told of when it is near and when it is used up, once, and again when its period is over.
func TestBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"), to("spent", BudgetSpent))
		until := r.start.Add(time.Hour)
		near := Budget{At: time.Now(), Scope: "key", Name: "ci", Limit: "$5", Used: "$4.2", Per: "an hour", Until: until}
		r.w.BudgetPassed(near)
		time.Sleep(10 * time.Minute)
		r.w.BudgetPassed(near) // as another instance sees it
		spent := near
		spent.At, spent.Used, spent.Spent, spent.Refuses = time.Now(), "$5.1", true, true
		r.w.BudgetPassed(spent)
		time.Sleep(2 * time.Hour)
		if got, want := r.net.story("x", r.start), []string{
			"0s budget_near firing", "10m0s budget_spent firing", "1h0m0s budget_near resolved", "1h0m0s budget_spent resolved",
		}; !slices.Equal(got, want) {
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q instead of %q", got, want)
			}
		}
		if got := r.net.story("spent", r.start); len(got) != 2 {
			t.Errorf("who wants one event got %q", got)
		}
		first := r.net.got("x")[0].alert
		if first.Scope != "key" || first.Name != "ci" || first.Summary != `The budget of the key "ci" is near its end: $4.2 of $5 an hour` {
			t.Errorf("it says %+v", first)
		}
		if said := r.net.got("spent")[0].alert.Summary; said != `The budget of the key "ci" is used up, and requests are refused: $5.1 of $5 an hour` {
			t.Errorf("it says %s", said)
		}
	})
}
