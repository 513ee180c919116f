package meters

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/quota"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// let is Reserve of one bound that must come in.
func let(t testing.TB, m *Table, now time.Time, a Amount, bounds ...Bound) *Hold {
	t.Helper()
	h, _, r := m.Reserve(now, a, bounds)
	if r != nil {
		t.Fatalf("refused by %+v", *r)
	}
	return h
}

// refuse is Reserve that must be refused.
func refuse(t testing.TB, m *Table, now time.Time, a Amount, bounds ...Bound) Refusal {
	t.Helper()
	h, _, r := m.Reserve(now, a, bounds)
	if r == nil || h != nil {
		t.Fatal("it was let in")
	}
	return *r
}

func key(l quota.Limits, budgets ...quota.Budget) Bound {
	return Bound{Kind: Key, Name: "ci", Limits: l, Budgets: budgets}
}

func TestNobodyIsLimited(t *testing.T) {
	m := New(Options{})
	if h := let(t, m, noon, Amount{Tokens: 5}, key(quota.Limits{})); h != nil {
		t.Error("something is held")
	}
	(*Hold)(nil).Settle(noon, Amount{Tokens: 5})
	(*Hold)(nil).Return(noon)
	if got := testing.AllocsPerRun(100, func() { _, _, _ = m.Reserve(noon, Amount{}, nil) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestRequests(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{RequestsPerMinute: 2})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{})
	let(t, m, noon.Add(20*time.Second), Amount{}, b)
	r := refuse(t, m, noon.Add(30*time.Second), Amount{}, b)
	if r.What != Requests || r.Limit != 2 || r.Guess || r.Name != "ci" || r.Kind != Key {
		t.Errorf("refused by %+v", r)
	}
	at := noon.Add(30 * time.Second).Add(r.Wait)
	if d := at.Sub(noon); d < time.Minute || d > time.Minute+quota.SlotLength {
		t.Errorf("the first counts for %v", d)
	}
	refuse(t, m, at.Add(-time.Millisecond), Amount{}, b)
	let(t, m, at, Amount{}, b)
	refuse(t, m, at, Amount{}, b)
}

// TestTheOneThatCrosses: the request that crosses a limit of tokens succeeds, the next does not.
func TestTheOneThatCrosses(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{TokensPerMinute: 1000})
	for range 2 {
		let(t, m, noon, Amount{Tokens: 300}, b).Settle(noon, Amount{Tokens: 600})
	}
	_, s, r := m.Reserve(noon, Amount{Tokens: 300}, []Bound{b})
	if r == nil || r.What != Tokens || r.Guess {
		t.Fatalf("refused by %+v", r)
	}
	if s.Tokens.Limit != 1000 || s.Tokens.Left != 0 || s.Requests.Limit != 0 {
		t.Errorf("it stands at %+v", s)
	}
}

func TestHeldTokens(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{TokensPerMinute: 1000})
	h := let(t, m, noon, Amount{Tokens: 2000}, b)
	if r := refuse(t, m, noon, Amount{}, b); !r.Guess || r.Wait != time.Second {
		t.Errorf("refused by %+v", r)
	}
	h.Settle(noon, Amount{Tokens: 10})
	h.Settle(noon, Amount{Tokens: 5000}) // nothing
	h.Return(noon)                       // nothing
	_, s, _ := m.Reserve(noon, Amount{Tokens: 90}, []Bound{b})
	if s.Tokens.Left != 900 {
		t.Errorf("%d are left", s.Tokens.Left)
	}
}

func TestConcurrent(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{Concurrent: 2})
	one := let(t, m, noon, Amount{}, b)
	let(t, m, noon, Amount{}, b)
	if r := refuse(t, m, noon, Amount{}, b); r.What != Concurrent {
		t.Errorf("refused by %+v", r)
	}
	one.Settle(noon, Amount{})
	one.Settle(noon, Amount{})
	let(t, m, noon, Amount{}, b)
	refuse(t, m, noon, Amount{}, b)
}

func TestReturnCountsNothing(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{RequestsPerMinute: 1, TokensPerMinute: 100, Concurrent: 1})
	for range 10 {
		h := let(t, m, noon, Amount{Tokens: 500}, b)
		h.Return(noon)
		h.Return(noon)
	}
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{})
	refuse(t, m, noon, Amount{}, b)
}

// TestAllOrNone: a request that one bound refuses counts on no other.
func TestAllOrNone(t *testing.T) {
	m := New(Options{})
	k := key(quota.Limits{RequestsPerMinute: 5})
	team := Bound{Kind: Team, Name: "ci", Limits: quota.Limits{RequestsPerMinute: 1}}
	let(t, m, noon, Amount{}, k, team)
	for range 10 {
		if r := refuse(t, m, noon, Amount{}, k, team); r.Kind != Team {
			t.Errorf("refused by %+v", r)
		}
	}
	for range 4 {
		let(t, m, noon, Amount{}, k)
	}
	refuse(t, m, noon, Amount{}, k)
}

func TestBudget(t *testing.T) {
	var told []Event
	m := New(Options{Told: func(e Event) { told = append(told, e) }})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	b := key(quota.Limits{}, quota.Budget{Nano: 1e9, Per: quota.Month, Zone: berlin, Warn: 0.8}, quota.Budget{Tokens: 1000, Per: quota.Month, Zone: berlin})
	let(t, m, noon, Amount{Nano: 5e8}, b).Settle(noon, Amount{Nano: 7e8, Tokens: 10})
	h := let(t, m, noon, Amount{Nano: 3e8}, b)
	if r := refuse(t, m, noon, Amount{}, b); r.Spent || !r.Guess || r.What != BudgetUSD {
		t.Errorf("what is held refuses as %+v", r)
	}
	h.Settle(noon, Amount{Nano: 2e8, Tokens: 10})
	let(t, m, noon, Amount{}, b).Settle(noon, Amount{Nano: 5e8})
	r := refuse(t, m, noon, Amount{}, b)
	end := time.Date(2026, 12, 1, 0, 0, 0, 0, berlin)
	if !r.Spent || r.Guess || !r.Until.Equal(end) || r.Wait != end.Sub(noon) || r.Per != quota.Month || !r.IsBudget() {
		t.Errorf("refused by %+v", r)
	}
	if len(told) != 2 || told[0].Spent || told[0].Used != 9e8 || !told[1].Spent || told[1].Used != 14e8 {
		t.Errorf("it told %+v", told)
	}
	refuse(t, m, end.Add(-time.Nanosecond), Amount{}, b)
	let(t, m, end, Amount{}, b).Settle(end, Amount{Tokens: 1001})
	if r := refuse(t, m, end, Amount{}, b); r.What != BudgetOfTokens || !r.Spent {
		t.Errorf("refused by %+v", r)
	}
}

// TestBudgetOverTheEndOfPeriod: what was begun in one period and ends in the next counts there, as in the ledger.
func TestBudgetOverTheEndOfPeriod(t *testing.T) {
	m, b := New(Options{}), key(quota.Limits{}, quota.Budget{Nano: 100, Per: quota.Hour})
	h := let(t, m, noon.Add(59*time.Minute), Amount{Nano: 100}, b)
	next := noon.Add(time.Hour)
	refuse(t, m, next, Amount{}, b) // it is held there, too
	h.Settle(next.Add(time.Second), Amount{Nano: 40})
	let(t, m, next.Add(time.Minute), Amount{Nano: 60}, b).Settle(next.Add(time.Minute), Amount{Nano: 60})
	if r := refuse(t, m, next.Add(2*time.Minute), Amount{}, b); !r.Spent {
		t.Errorf("refused by %+v", r)
	}
}

func TestWarnOnly(t *testing.T) {
	told := 0
	m, b := New(Options{Told: func(Event) { told++ }}), key(quota.Limits{}, quota.Budget{Nano: 10, WarnOnly: true})
	for range 5 {
		let(t, m, noon, Amount{Nano: 50}, b).Settle(noon, Amount{Nano: 50})
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// TestMeters compares the table with plain lists: what is used in the last 60 s, and what is held.
func TestMeters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(Options{})
		b := key(quota.Limits{
			RequestsPerMinute: rapid.Int64Range(0, 10).Draw(t, "requests"), TokensPerMinute: rapid.Int64Range(0, 500).Draw(t, "tokens"),
			Concurrent: rapid.Int64Range(0, 4).Draw(t, "concurrent"),
		}, quota.Budget{Nano: rapid.Int64Range(0, 2000).Draw(t, "nano"), Per: quota.Hour})
		type flying struct {
			hold *Hold
			held Amount
		}
		type use struct {
			at     time.Time
			tokens int64
		}
		var flight []flying
		var begun []time.Time
		var used []use
		now := noon
		spent, heldTokens, heldNano := int64(0), int64(0), int64(0)
		for range rapid.IntRange(1, 150).Draw(t, "moves") {
			hour := now.Truncate(time.Hour)
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "later")))
			if now.Truncate(time.Hour) != hour {
				spent = 0
			}
			if len(flight) > 0 && rapid.Bool().Draw(t, "settle") {
				i := rapid.IntRange(0, len(flight)-1).Draw(t, "which")
				f := flight[i]
				flight = append(flight[:i], flight[i+1:]...)
				a := Amount{Tokens: rapid.Int64Range(0, 100).Draw(t, "used"), Nano: rapid.Int64Range(0, 300).Draw(t, "cost")}
				f.hold.Settle(now, a)
				f.hold.Settle(now, a)
				heldTokens, heldNano = heldTokens-f.held.Tokens, heldNano-f.held.Nano
				spent += a.Nano
				used = append(used, use{now, a.Tokens})
				continue
			}
			var requests, requestsAtMost, tokens, tokensAtMost int64
			for _, at := range begun {
				if now.Sub(at) < quota.WindowLength {
					requests++
				}
				if now.Sub(at) < quota.WindowLength+quota.SlotLength {
					requestsAtMost++
				}
			}
			for _, u := range used {
				if now.Sub(u.at) < quota.WindowLength {
					tokens += u.tokens
				}
				if now.Sub(u.at) < quota.WindowLength+quota.SlotLength {
					tokensAtMost += u.tokens
				}
			}
			full := func(limit, n int64) bool { return limit > 0 && n >= limit }
			l := b.Limits
			surely := full(l.RequestsPerMinute, requests) || full(l.TokensPerMinute, tokens+heldTokens)
			perhaps := full(l.RequestsPerMinute, requestsAtMost) || full(l.TokensPerMinute, tokensAtMost+heldTokens)
			other := full(l.Concurrent, int64(len(flight))) || full(b.Budgets[0].Nano, spent+heldNano)
			a := Amount{Tokens: rapid.Int64Range(0, 100).Draw(t, "estimate"), Nano: rapid.Int64Range(0, 300).Draw(t, "price")}
			h, _, r := m.Reserve(now, a, []Bound{b})
			switch {
			case r == nil && (surely || other):
				t.Fatalf("let in, with %d requests, %d and %d tokens, %d in flight, %d and %d spent", requests, tokens, heldTokens, len(flight), spent, heldNano)
			case r != nil && !perhaps && !other:
				t.Fatalf("refused by %+v, with %d requests, %d and %d tokens, %d in flight, %d and %d spent", *r, requests, tokens, heldTokens, len(flight), spent, heldNano)
			case r == nil && h != nil:
				begun = append(begun, now)
				flight = append(flight, flying{h, a})
				heldTokens, heldNano = heldTokens+a.Tokens, heldNano+a.Nano
			case r != nil && !r.Guess && !r.Spent: // whoever waits as long as it says comes in, if nothing else happens
				if full := m.peek(now.Add(r.Wait), b); full != nil && full.What == r.What && !full.Guess {
					t.Fatalf("after %v it is still refused by %+v", r.Wait, *full)
				}
			}
		}
	})
}

// peek is Full without a trace: on a copy of the windows.
func (t *Table) peek(now time.Time, b Bound) *Refusal {
	s := t.lock(&b)
	defer s.mu.Unlock()
	saved, periods := s.windows, s.periods
	for i := range s.windows {
		if w := s.windows[i].window; w != nil {
			c := *w
			s.windows[i].window = &c
		}
	}
	s.periods = nil
	var worst Refusal
	s.prepare(now, &b)
	s.judge(now, 1, &worst)
	s.windows, s.periods = saved, periods
	if worst.What == "" {
		return nil
	}
	return &worst
}

func TestSweep(t *testing.T) {
	m := New(Options{})
	minute, day := key(quota.Limits{RequestsPerMinute: 5}), Bound{Kind: Team, Name: "t", Budgets: []quota.Budget{{Nano: 5}}}
	let(t, m, noon, Amount{}, minute, day).Settle(noon, Amount{Nano: 1})
	held := let(t, m, noon, Amount{}, Bound{Kind: Model, Name: "m", Limits: quota.Limits{Concurrent: 1}})
	m.sweep(noon.Add(time.Minute))
	if m.find(Key, "ci") == nil {
		t.Error("it forgot what counts")
	}
	m.sweep(noon.Add(3 * time.Minute))
	if m.find(Key, "ci") != nil || m.find(Team, "t") == nil || m.find(Model, "m") == nil {
		t.Error("it kept a window that is empty, or forgot a budget, or what is in flight")
	}
	held.Settle(noon, Amount{})
	m.sweep(noon.Add(13 * time.Hour))
	if m.find(Team, "t") != nil || m.find(Model, "m") != nil {
		t.Error("it kept a period that is over")
	}
}

func TestManyAtOnce(t *testing.T) {
	m := New(Options{})
	k, team := key(quota.Limits{RequestsPerMinute: 300}), Bound{Kind: Team, Name: "t", Limits: quota.Limits{RequestsPerMinute: 500, Concurrent: 1000}}
	var all sync.WaitGroup
	var mu sync.Mutex
	in := 0
	for range 8 {
		all.Go(func() {
			for range 100 {
				if h, _, r := m.Reserve(noon, Amount{}, []Bound{k, team}); r == nil {
					mu.Lock()
					in++
					mu.Unlock()
					h.Settle(noon, Amount{})
				}
				m.sweep(noon)
			}
		})
	}
	all.Wait()
	if in != 300 {
		t.Errorf("%d came in", in)
	}
}
