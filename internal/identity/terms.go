package identity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/quota"
)

// Terms are what a key may, as the admin API and stores say it. The zero Terms allow everything.
type Terms struct {
	Name       string            `json:"name"`
	Owner      string            `json:"owner"`
	Team       string            `json:"team"`
	Labels     map[string]string `json:"labels"`
	Models     []string          `json:"models"`
	Providers  []string          `json:"providers"`
	Policies   []string          `json:"policies"`
	Routes     []string          `json:"routes"`
	Sources    []string          `json:"sources"`
	Guardrails []string          `json:"guardrails"`
	Limits     LimitTerms        `json:"limits"`
	Budgets    []BudgetTerms     `json:"budgets"`
	// Expires is a day or a moment; empty: never.
	Expires string `json:"expires_at"`
}

// LimitTerms are limits; 0 is none.
type LimitTerms struct {
	Requests   int64 `json:"requests_per_minute"`
	Tokens     int64 `json:"tokens_per_minute"`
	Concurrent int64 `json:"concurrent"`
}

// BudgetTerms are a budget. An amount of 0 is no bound.
type BudgetTerms struct {
	USD    float64 `json:"usd"`
	Tokens int64   `json:"tokens"`
	Per    string  `json:"per"`
	Zone   string  `json:"zone"`
	Warn   float64 `json:"warn"`
	Mode   string  `json:"mode"` // block or warn
}

// UnmarshalJSON reads a budget of which only what differs from the usual need be said.
func (b *BudgetTerms) UnmarshalJSON(text []byte) error {
	type plain BudgetTerms
	in := plain{Per: PeriodWord(quota.Day), Zone: time.UTC.String(), Warn: DefaultWarn, Mode: modeBlock}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return err
	}
	*b = BudgetTerms(in)
	return nil
}

const (
	modeBlock, modeWarn = "block", "warn"
	// DefaultWarn is the share of a budget from which it is near.
	DefaultWarn = 0.8
	// MaxBudgets are how many a key or a team may have.
	MaxBudgets = 8
	// MaxLimit is how large a number of tokens or requests may be.
	MaxLimit = 1_000_000_000_000_000
	// MaxUSD is how large a budget may be: billionths of dollars fit an int64.
	MaxUSD = 1e9
)

// Mistake is what is wrong with terms, and in which field.
type Mistake struct{ Param, Message string }

// Error implements error.
func (m *Mistake) Error() string { return m.Message }

func mistake(param, format string, args ...any) *Mistake {
	return &Mistake{param, fmt.Sprintf(format, args...)}
}

// Principal is what terms come to; the error is a *Mistake.
func (t *Terms) Principal() (p Principal, err error) {
	for _, check := range []func(*Principal) *Mistake{t.words, t.lists, t.amounts} {
		if m := check(&p); m != nil {
			return Principal{}, m
		}
	}
	return p, nil
}

// words reads who it is.
func (t *Terms) words(p *Principal) *Mistake {
	if !nameable(t.Name) {
		return mistake("name", "name must be 1 to %d letters, digits, - _ . and @, and begin with a letter or a digit", MaxName)
	}
	if t.Owner != "" && !Word(t.Owner, MaxName) {
		return mistake("owner", "owner must be text of at most %d bytes", MaxName)
	}
	if t.Team != "" && !Word(t.Team, MaxName) {
		return mistake("team", "team must be text of at most %d bytes", MaxName)
	}
	if len(t.Labels) > MaxLabels {
		return mistake("labels", "there are more than %d labels", MaxLabels)
	}
	for name, text := range t.Labels {
		if !LabelName(name) || !Word(text, MaxLabel) {
			return mistake("labels", "a label is a name of letters, digits, - _ and . with a text, of at most %d bytes each", MaxLabel)
		}
	}
	if t.Expires != "" {
		at, err := ParseMoment(t.Expires)
		if err != nil || at.UTC().Year() < 1970 || at.UTC().Year() > 9999 {
			return mistake("expires_at", "expires_at must be a day such as 2027-01-31, which counts to its end (UTC), or a time such as 2027-01-31T18:00:00Z")
		}
		p.Expires = at.UTC().Truncate(time.Millisecond)
	}
	p.Name, p.Owner, p.Team = t.Name, t.Owner, t.Team
	if len(t.Labels) > 0 {
		p.Labels = t.Labels
	}
	return nil
}

// nameable says whether a key that is made here may be called so: such names become part of addresses and of reports.
func nameable(name string) bool {
	for i := range len(name) {
		c := name[i]
		inner := c == '-' || c == '_' || c == '.' || c == '@'
		if !plain(name[i:i+1]) && (i == 0 || !inner) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// lists reads what it may use.
func (t *Terms) lists(p *Principal) *Mistake {
	for _, l := range []struct {
		name string
		from []string
		to   *[]string
	}{
		{"models", t.Models, &p.Models},
		{"providers", t.Providers, &p.Providers},
		{"policies", t.Policies, &p.Policies},
		{"routes", t.Routes, &p.Routes},
		{"guardrails", t.Guardrails, &p.Guardrails},
	} {
		if len(l.from) > MaxList {
			return mistake(l.name, "%s has more than %d entries", l.name, MaxList)
		}
		for _, item := range l.from {
			if !Word(item, MaxItem) {
				return mistake(l.name, "%s must be texts of at most %d bytes", l.name, MaxItem)
			}
		}
		if len(l.from) > 0 {
			*l.to = l.from
		}
	}
	for _, r := range t.Routes {
		if !slices.Contains(RouteWords(), r) {
			return mistake("routes", "there is no kind of route %q%s", r, meant(r, RouteWords()))
		}
	}
	if len(t.Sources) > MaxList {
		return mistake("sources", "sources has more than %d entries", MaxList)
	}
	for _, s := range t.Sources {
		prefix, err := ParseSource(s)
		if err != nil || prefix != prefix.Masked() {
			return mistake("sources", "sources must be addresses such as 192.0.2.7, or ranges such as 10.0.0.0/8")
		}
		p.Sources = append(p.Sources, prefix)
	}
	return nil
}

func meant(word string, known []string) string {
	if near := nearest.Names(word, known, 1); len(near) > 0 {
		return fmt.Sprintf("; did you mean %q?", near[0])
	}
	return ""
}

// amounts reads how much it may use.
func (t *Terms) amounts(p *Principal) *Mistake {
	l := &t.Limits
	for name, v := range map[string]int64{"limits.requests_per_minute": l.Requests, "limits.tokens_per_minute": l.Tokens, "limits.concurrent": l.Concurrent} {
		if v < 0 || v > MaxLimit {
			return mistake(name, "%s must be a whole number from 0, which is no limit, to %d", name, int64(MaxLimit))
		}
	}
	p.Limits = quota.Limits{RequestsPerMinute: l.Requests, TokensPerMinute: l.Tokens, Concurrent: l.Concurrent}
	if len(t.Budgets) > MaxBudgets {
		return mistake("budgets", "there are more than %d budgets", MaxBudgets)
	}
	for i := range t.Budgets {
		b, m := t.Budgets[i].budget()
		if m != nil {
			return m
		}
		p.Budgets = append(p.Budgets, b)
	}
	return nil
}

func (b *BudgetTerms) budget() (q quota.Budget, m *Mistake) {
	per, known := ParsePeriod(b.Per)
	switch {
	case !known:
		return q, mistake("budgets.per", "there is no period %q; it is hour, day, week or month", b.Per)
	case !(b.USD >= 0 && b.USD <= MaxUSD): // NaN is neither
		return q, mistake("budgets.usd", "usd must be a number from 0 to %g", MaxUSD)
	case b.USD > 0 && math.Round(b.USD*1e9) == 0: // which would be no bound
		return q, mistake("budgets.usd", "usd must be at least a billionth of a dollar, or 0, which is no bound")
	case b.Tokens < 0 || b.Tokens > MaxLimit:
		return q, mistake("budgets.tokens", "tokens must be a whole number from 0 to %d", int64(MaxLimit))
	case b.USD == 0 && b.Tokens == 0:
		return q, mistake("budgets", "a budget has usd or tokens, or both")
	case !(b.Warn >= 0 && b.Warn <= 1):
		return q, mistake("budgets.warn", "warn must be a number from 0 to 1")
	case b.Mode != modeBlock && b.Mode != modeWarn:
		return q, mistake("budgets.mode", "mode must be %s or %s", modeBlock, modeWarn)
	}
	q = quota.Budget{Nano: int64(math.Round(b.USD * 1e9)), Tokens: b.Tokens, Per: per, Warn: b.Warn, WarnOnly: b.Mode == modeWarn}
	if b.Zone != "" && b.Zone != time.UTC.String() {
		zone, err := ParseZone(b.Zone)
		if err != nil {
			return q, mistake("budgets.zone", "there is no time zone %q; it is UTC, or one such as Europe/Berlin", clip(b.Zone))
		}
		q.Zone = zone
	}
	return q, nil
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}

// TermsOf are the terms of a principal. No list in them is nil.
func TermsOf(p *Principal) Terms {
	t := Terms{
		Name: p.Name, Owner: p.Owner, Team: p.Team, Labels: p.Labels, Models: some(p.Models), Providers: some(p.Providers), Policies: some(p.Policies),
		Routes: some(p.Routes), Sources: make([]string, len(p.Sources)), Guardrails: some(p.Guardrails), Budgets: BudgetsOf(p.Budgets),
		Limits: LimitTerms{p.Limits.RequestsPerMinute, p.Limits.TokensPerMinute, p.Limits.Concurrent},
	}
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	for i, s := range p.Sources {
		t.Sources[i] = s.String()
	}
	if !p.Expires.IsZero() {
		t.Expires = p.Expires.UTC().Format(time.RFC3339Nano)
	}
	return t
}

// BudgetsOf are the terms of budgets.
func BudgetsOf(budgets []quota.Budget) []BudgetTerms {
	out := make([]BudgetTerms, len(budgets))
	for i := range budgets {
		b := &budgets[i]
		out[i] = BudgetTerms{float64(b.Nano) / 1e9, b.Tokens, PeriodWord(b.Per), time.UTC.String(), b.Warn, modeBlock}
		if b.Zone != nil {
			out[i].Zone = b.Zone.String()
		}
		if b.WarnOnly {
			out[i].Mode = modeWarn
		}
	}
	return out
}

func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
