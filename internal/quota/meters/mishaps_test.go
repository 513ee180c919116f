package meters

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/quota"
)

// stand is a store of the test's own. Like PostgreSQL it refuses two tallies of one meter in one exchange.
type stand struct {
	lost bool
	own  map[string]Tally
	give []Tally // what others have laid down
}

func (s *stand) Exchange(_ context.Context, own []Tally, _ []string) ([]Tally, error) {
	if s.lost {
		return nil, errors.New("it is lost")
	}
	if s.own == nil {
		s.own = map[string]Tally{}
	}
	seen := map[string]bool{}
	for _, t := range own {
		if seen[t.Meter] {
			return nil, errors.New("a meter twice")
		}
		seen[t.Meter] = true
		s.own[t.Meter] = t
	}
	return s.give, nil
}

func sharing(s *stand) (*Table, *loop) {
	m := New(Options{Instance: "a", Store: func() Store { return s }})
	return m, &loop{t: m, due: map[*scope]bool{}}
}

// TestPastIsForgottenAlone: with nobody to tell, the end of a period is not kept for anybody.
func TestPastIsForgottenAlone(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Hour})
	now := noon
	for range 5 {
		let(t, m, now, Amount{}, b).Settle(now, Amount{Nano: 5})
		now = now.Add(time.Hour)
	}
	if n := len(m.find(Key, "ci").past); n != 0 {
		t.Errorf("%d periods are kept", n)
	}
	m.sweep(now.Add(time.Hour))
	if m.find(Key, "ci") != nil {
		t.Error("the scope is kept for ever")
	}
}

// TestForgottenIsToldNoMore: who was forgotten while the store was lost, and came back, is one meter and not two.
func TestForgottenIsToldNoMore(t *testing.T) {
	s := &stand{lost: true}
	m, l := sharing(s)
	b := key(quota.Limits{RequestsPerMinute: 5})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{})
	l.round(t.Context(), noon, all)
	later := noon.Add(10 * time.Minute)
	m.sweep(later)
	let(t, m, later, Amount{}, b)
	s.lost = false
	l.round(t.Context(), later, all)
	if l.failed || len(l.due) != 0 || len(s.own) != 1 {
		t.Errorf("failed %v, %d are due, %d told", l.failed, len(l.due), len(s.own))
	}
}

// TestUntoldPeriodIsNotForgotten: what was spent in a period that ended while the store was lost is told when it is there again.
func TestUntoldPeriodIsNotForgotten(t *testing.T) {
	s := &stand{lost: true}
	m, l := sharing(s)
	b := key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Hour})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{Nano: 70})
	l.round(t.Context(), noon, all)
	later := noon.Add(2 * time.Hour)
	m.sweep(later)
	s.lost = false
	l.round(t.Context(), later, all)
	p := m.find(Key, "ci")
	if p == nil {
		t.Fatal("it was forgotten")
	}
	if len(s.own) != 3 { // the minute, the hour that is over, and the one that runs
		t.Errorf("told of %d meters", len(s.own))
	}
}

// TestEmptiedStore: what others were heard to have spent stays spent, also when the store has lost it; and what this instance spent is told anew
// once a store that was lost is back, also of those who do not ask.
func TestEmptiedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stand{}
		m, l := sharing(s)
		b := key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Day})
		now := time.Now()
		let(t, m, now, Amount{}, b).Settle(now, Amount{Nano: 10})
		of := m.find(Key, "ci")
		meter := of.meter(of.periods[0])
		s.give = []Tally{{Meter: meter, Instance: "b", Body: appendPeriod(nil, &period{nano: count{total: 90}})}}
		l.round(t.Context(), now, all)
		if r := refuse(t, m, now, Amount{}, b); !r.Spent {
			t.Errorf("refused by %+v", r)
		}
		s.give, s.own, s.lost = nil, nil, true
		time.Sleep(5 * time.Second)
		other := Bound{Kind: Key, Name: "other", Budgets: b.Budgets}
		let(t, m, time.Now(), Amount{}, other).Settle(time.Now(), Amount{Nano: 1})
		l.round(t.Context(), time.Now(), all)
		s.lost = false
		time.Sleep(5 * time.Minute) // nobody asks
		l.round(t.Context(), time.Now(), ordinary)
		l.round(t.Context(), time.Now().Add(lookEvery), ordinary)
		if _, told := s.own[meter]; !told {
			t.Error("what was spent is not told anew")
		}
		if r := refuse(t, m, time.Now(), Amount{}, b); !r.Spent {
			t.Errorf("refused by %+v", r)
		}
	})
}

// TestBudgetsOfOnePeriodAreTold: each budget of a period tells for itself, and again when it was raised.
func TestBudgetsOfOnePeriodAreTold(t *testing.T) {
	var told []Event
	m := New(Options{Told: func(e Event) { told = append(told, e) }})
	spend := func(a Amount, budgets ...quota.Budget) {
		let(t, m, noon, Amount{}, key(quota.Limits{}, budgets...)).Settle(noon, a)
	}
	money, tokens := quota.Budget{Nano: 100, Warn: 0.8, WarnOnly: true}, quota.Budget{Tokens: 1000, Warn: 0.8, WarnOnly: true}
	spend(Amount{Nano: 100, Tokens: 10}, money, tokens)
	spend(Amount{Tokens: 900}, money, tokens)
	spend(Amount{Tokens: 90}, money, tokens)
	money.Nano = 200
	spend(Amount{}, money, tokens)
	spend(Amount{Nano: 60}, money, tokens)
	spend(Amount{Nano: 40}, money, tokens)
	spend(Amount{Nano: 40}, money, tokens)
	type what struct {
		What
		spent bool
		limit int64
	}
	want := []what{{BudgetUSD, true, 100}, {BudgetOfTokens, false, 1000}, {BudgetOfTokens, true, 1000}, {BudgetUSD, false, 200}, {BudgetUSD, true, 200}}
	if len(told) != len(want) {
		t.Fatalf("told %+v", told)
	}
	for i, e := range told {
		if (what{e.What, e.Spent, e.Limit}) != want[i] {
			t.Errorf("told %+v, want %+v", e, want[i])
		}
	}
}

// TestClockFarAhead: a clock that was a year ahead for a moment does not keep a budget in a period of next year.
func TestClockFarAhead(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Month})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{Nano: 50})
	ahead := noon.AddDate(1, 0, 0)
	let(t, m, ahead, Amount{}, b).Settle(ahead, Amount{Nano: 40})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{Nano: 10})
	r := refuse(t, m, noon, Amount{}, b)
	if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); !r.Spent || !r.Until.Equal(want) {
		t.Errorf("refused by %+v", r)
	}
	let(t, m, r.Until, Amount{}, b).Settle(r.Until, Amount{Nano: 100})
	early := r.Until.Add(-10 * time.Minute) // a border that moved a little stays where it is
	if r := refuse(t, m, early, Amount{}, b); !r.Until.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("refused by %+v", r)
	}
}

// TestWhoLookedAtTheClockAWhileAgo: a request that comes with the time at which it began, before a body that took its client minutes, moves no window, and counts now.
// Times are of the machine's clock, with the reading of its stopwatch: a bubble's have none.
func TestWhoLookedAtTheClockAWhileAgo(t *testing.T) {
	s := &stand{}
	m, l := sharing(s)
	b := key(quota.Limits{RequestsPerMinute: 5, TokensPerMinute: 1000})
	gate := &Gate{m, b}
	began := time.Now()
	now := began.Add(2 * time.Minute)
	for range 2 {
		let(t, m, now, Amount{}, b).Settle(now, Amount{Tokens: 300})
	}
	used := func(want int64) {
		t.Helper()
		if v := m.Views(now)[0]; v.Requests.Used != want || v.Tokens.Used != 600 {
			t.Errorf("%d requests and %d tokens are used, want %d and 600", v.Requests.Used, v.Tokens.Used, want)
		}
	}
	if r := gate.Full(began); r != nil {
		t.Errorf("it is full: %+v", r)
	}
	used(2)
	late := let(t, m, began, Amount{}, b)
	used(3)
	late.Return(began)
	used(2)
	let(t, m, began, Amount{}, b).Settle(began, Amount{})
	used(3)
	l.round(t.Context(), began, all) // of so many exchanges that it took minutes
	used(3)
	for range 2 {
		let(t, m, began, Amount{}, b)
	}
	if r := refuse(t, m, began, Amount{}, b); r.What != Requests || r.Wait > time.Minute+quota.SlotLength || r.Wait < time.Minute-time.Second {
		t.Errorf("refused by %+v", r)
	}
	// A clock that was set back is another thing.
	back := now.Add(time.Second).Round(0).Add(-time.Hour)
	if v := m.Views(back)[0]; v.Requests.Used != 5 {
		t.Errorf("%d requests are used after the clock was set back", v.Requests.Used)
	}
	if v := m.Views(back.Add(2 * time.Minute))[0]; v.Requests.Used != 0 {
		t.Errorf("%d requests are used two minutes after that", v.Requests.Used)
	}
}

// TestClockAheadIsToldOnce: a period that is over, and then is not, is told as one meter.
func TestClockAheadIsToldOnce(t *testing.T) {
	s := &stand{}
	m, l := sharing(s)
	b := key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Month})
	for range 3 {
		for _, now := range []time.Time{noon, noon.AddDate(1, 0, 0)} {
			let(t, m, now, Amount{}, b).Settle(now, Amount{Nano: 1})
		}
	}
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{Nano: 1})
	l.round(t.Context(), noon, all)
	if l.failed {
		t.Error("the store did not take it")
	}
}
