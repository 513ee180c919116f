package config

import (
	"strconv"
	"strings"
	"time"
)

// Ledger says for how long requests are kept, and how many.
type Ledger struct {
	Retention   time.Duration
	MaxRequests int
}

const defaultRetention = 30 * 24 * time.Hour

// defaultMaxRequests is by the kind of the store: one that has all in memory keeps less.
func defaultMaxRequests(kind string) int {
	switch kind {
	case "memory":
		return 10_000
	case "redis":
		return 100_000
	}
	return 1_000_000
}

type ledgerFile struct {
	retention   given[time.Duration]
	maxRequests given[int]
}

func ledgerShape() shape[ledgerFile] {
	return object("ledger", "How much is kept of requests that are over, in the store of state.", []key[ledgerFile]{
		field("retention", "For how long.", days(), func(f *ledgerFile) *given[time.Duration] { return &f.retention }),
		field("max_requests", "How many; the oldest go. Without it a million, in Redis 100000, in memory 10000.", whole(100, 100_000_000), func(f *ledgerFile) *given[int] { return &f.maxRequests }),
	})
}

// days is a duration that may be written in days: 30d.
func days() shape[time.Duration] {
	const want = "a time such as 30d or 12h, at most 365d"
	schema := map[string]any{"type": "string", "pattern": `^([0-9]+d|([0-9.]+(s|m|h))+)$|\$\{`}
	return single(want, schema, func(s string) (time.Duration, string, string) {
		d, err := time.ParseDuration(s)
		if n, ok := strings.CutSuffix(s, "d"); ok {
			var whole int
			if whole, err = strconv.Atoi(n); whole > 365 {
				return 0, "is longer than a year; it must be " + want, ""
			}
			d = time.Duration(whole) * 24 * time.Hour
		}
		switch {
		case err != nil:
			return 0, "must be " + want, ""
		case d < time.Minute:
			return 0, "is too short; the least is 1m", ""
		case d > maxDuration:
			return 0, "is longer than a year; it must be " + want, ""
		}
		return d, "", ""
	})
}

func (b *builder) ledger(s State) Ledger {
	f := &b.file.ledger.v
	return Ledger{Retention: f.retention.or(defaultRetention), MaxRequests: f.maxRequests.or(defaultMaxRequests(s.Kind()))}
}
