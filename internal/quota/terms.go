package quota

import "time"

// Limits bound what may be used at a time. A zero is no limit.
type Limits struct {
	// RequestsPerMinute and TokensPerMinute are of any 60 seconds; tokens are input and output of all attempts.
	RequestsPerMinute, TokensPerMinute int64
	// Concurrent is requests in flight.
	Concurrent int64
}

// Budget is what may be spent in a period. A zero amount is no bound.
type Budget struct {
	// Nano is money, in billionths of a US dollar; Tokens are input and output of all attempts.
	Nano, Tokens int64
	Per          Period
	// Zone is where the calendar of Per is read; nil is UTC.
	Zone *time.Location
	// Warn is the share of the budget, 0 to 1, from which it is said to be near; 0: never.
	Warn float64
	// WarnOnly: what is over the budget is told, and not refused.
	WarnOnly bool
}

// Period is a length of the calendar.
type Period int

// The periods. The zero Period is a day.
const (
	Day Period = iota
	Hour
	Week // from Monday
	Month
)
