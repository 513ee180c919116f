package main

import (
	"time"

	"evergate/internal/ledger"
)

const (
	// lateness is how long after its end a request may come into the ledger and still be shown: other instances write in batches.
	lateness = 15 * time.Second
	// tailPages is how many pages one look reads at most, of 500 each.
	tailPages = 4
)

// tail tells which requests are new to it. The zero value has seen none.
type tail struct {
	seen   map[string]bool
	newest string
	floor  string // rows below it are old, whenever they come
}

// first takes the first page; next is where it goes on, with what is old; empty: nowhere.
func (t *tail) first(rows []string, next string) {
	t.seen = map[string]bool{}
	for _, row := range rows {
		t.take(row)
	}
	t.floor = next
}

// take says whether a row is new.
func (t *tail) take(row string) bool {
	if row < t.floor || t.seen[row] {
		return false
	}
	t.seen[row] = true
	t.newest = max(t.newest, row)
	return true
}

// from is the time from which rows may still be new; zero: any.
func (t *tail) from() time.Time {
	at, ok := ledger.Row(t.newest).At()
	if !ok {
		at, _ = ledger.Row(t.floor).At() // zero, if there is none
		return at
	}
	at = at.Add(-lateness)
	t.floor = max(t.floor, string(ledger.RowsFrom(at)))
	for row := range t.seen {
		if row < t.floor {
			delete(t.seen, row)
		}
	}
	return at
}
