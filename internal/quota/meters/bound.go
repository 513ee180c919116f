package meters

import (
	"time"

	"evergate/internal/quota"
)

// Kind is a kind of those who are limited.
type Kind uint8

// The kinds, in the order in which a request asks them.
const (
	Key Kind = iota
	Team
	Model
	Provider
)

// String is the word of metrics and the admin API.
func (k Kind) String() string {
	return [...]string{"key", "team", "model", "provider"}[k&3]
}

// Bound is somebody who is limited, and how. Of two bounds of one kind and name the later one's limits hold; what was counted stays.
type Bound struct {
	Kind    Kind
	Name    string
	Limits  quota.Limits
	Budgets []quota.Budget // not to be changed
}

// Free says whether the bound bounds nothing.
func (b *Bound) Free() bool { return b.Limits == quota.Limits{} && len(b.Budgets) == 0 }

// Metered says whether tokens or money are bounded: what nobody can count may then not be asked.
func (b *Bound) Metered() bool { return b.Limits.TokensPerMinute > 0 || len(b.Budgets) > 0 }

// Amount is what a request uses.
type Amount struct {
	// Tokens are input and output of all attempts; Nano is money, in billionths of a US dollar.
	Tokens, Nano int64
}

// What is a word for what a limit is of.
type What string

// What is limited.
const (
	Requests       What = "requests"
	Tokens         What = "tokens"
	Concurrent     What = "concurrent"
	BudgetUSD      What = "budget_usd"
	BudgetOfTokens What = "budget_tokens"
)

// Refusal says which limit let a request not in.
type Refusal struct {
	Kind  Kind
	Name  string
	What  What
	Limit int64
	// Wait is after how long one comes in if nothing else does; it is exact unless Guess says so.
	Wait  time.Duration
	Guess bool
	// Spent: a budget is used up, and Until is the end of its period. Else of budgets requests in flight hold the rest.
	Spent bool
	Per   quota.Period
	Until time.Time
}

// IsBudget says whether it is a budget that refused.
func (r *Refusal) IsBudget() bool { return r.What == BudgetUSD || r.What == BudgetOfTokens }

// guess is how long to wait where nobody knows: for a request in flight to end, or for others of the fleet to be heard.
const guess = time.Second

// worse says whether the refusal is to be told rather than another one: a client that waits as long as the worst says comes in.
func (r *Refusal) worse(than *Refusal) bool {
	if than.What == "" || r.Spent != than.Spent {
		return than.What == "" || r.Spent
	}
	return r.Wait > than.Wait
}

// Standing is how a limit stands: how much is left of it, and when all of it is again.
type Standing struct {
	Limit, Left int64 // no limit: 0
	Resets      time.Duration
}

// tighter gives the one that has less left.
func (s Standing) tighter(o Standing) Standing {
	if s.Limit == 0 || o.Limit != 0 && o.Left < s.Left {
		return o
	}
	return s
}

// Standings are the tightest limits of a request's bounds.
type Standings struct{ Requests, Tokens Standing }

// Event is a budget that was passed, or nearly.
type Event struct {
	At     time.Time
	Kind   Kind
	Name   string
	Budget quota.Budget
	// Spent: it is used up; else it is near.
	Spent bool
	// Used is what is used of Limit, in the unit of What: billionths of a dollar or tokens.
	What        What
	Used, Limit int64
	From, To    time.Time
}
