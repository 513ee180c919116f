package meters

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evergate/internal/quota"
)

// View is how somebody stands, with what others of the fleet are known to have used.
type View struct {
	Kind                         Kind
	Name                         string
	Requests, Tokens, Concurrent Gauge
	Budgets                      []BudgetView
}

// Gauge is one limit. One that is not there has no Limit.
type Gauge struct{ Limit, Used, Held int64 }

// BudgetView is a budget in the period that runs.
type BudgetView struct {
	Budget       quota.Budget
	From, To     time.Time
	Nano, Tokens Gauge
}

// Ratio is the larger of the shares of money and tokens that are used.
func (b *BudgetView) Ratio() (ratio float64) {
	for _, g := range [...]Gauge{b.Nano, b.Tokens} {
		if g.Limit > 0 {
			ratio = max(ratio, float64(g.Used)/float64(g.Limit))
		}
	}
	return ratio
}

// Views are how all stand who were asked about lately, by kind and name.
func (t *Table) Views(now time.Time) []View {
	var out []View
	t.each(func(s *scope) {
		s.mu.Lock()
		defer s.mu.Unlock()
		out = append(out, s.view(s.present(now)))
	})
	slices.SortFunc(out, func(a, b View) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name)) })
	return out
}

// Spent is how the budgets of a bound stand, also if it never asked.
func (t *Table) Spent(now time.Time, b *Bound) []BudgetView {
	s := t.find(b.Kind, b.Name)
	if s == nil {
		s = &scope{kind: b.Kind, name: b.Name}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budgets(s.present(now), b.Budgets)
}

// view requires the lock.
func (s *scope) view(now time.Time) View {
	l := &s.bound.Limits
	return View{
		Kind: s.kind, Name: s.name, Requests: s.windows[ofRequests].gauge(now, l.RequestsPerMinute), Tokens: s.windows[ofTokens].gauge(now, l.TokensPerMinute),
		Concurrent: s.flight.gauge(now, l.Concurrent), Budgets: s.budgets(now, s.bound.Budgets),
	}
}

// budgets requires the lock.
func (s *scope) budgets(now time.Time, all []quota.Budget) []BudgetView {
	out := make([]BudgetView, 0, len(all))
	for i := range all {
		b := &all[i]
		if at := s.period(now, b); at >= 0 {
			p := s.periods[at]
			out = append(out, BudgetView{Budget: *b, From: p.from, To: p.to, Nano: p.nano.gauge(now, b.Nano), Tokens: p.tokens.gauge(now, b.Tokens)})
		}
	}
	return out
}

func (c *count) gauge(now time.Time, limit int64) Gauge {
	held := c.held + c.heardHeld(now)
	return Gauge{Limit: limit, Used: c.own(now) + c.others(now) - held, Held: held}
}
