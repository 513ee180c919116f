package sqlite

import (
	"fmt"
	"os"
	"testing"
	"time"

	"evergate/internal/ledger"
)

// TestOverviewOfManyGroups holds what the overview of a day asks to half a second (EVERGATE_MILLION=1) with a million sums of 200 keys
// and 50 models, and to a second in a small ledger on a busy machine.
func TestOverviewOfManyGroups(t *testing.T) {
	skipUnderRace(t)
	keys, models, minutes, limit := 10, 5, 60, time.Second
	if os.Getenv("EVERGATE_MILLION") != "" {
		keys, models, minutes, limit = 200, 50, 24*60, 500*time.Millisecond
	}
	db := openDB(t, newPath(t), defaults(t))
	now := time.Now().Truncate(time.Minute)
	begin := time.Now()
	sums := ledger.Sums{Requests: 3, OK: 3, Attempts: 3, Input: 3600, Output: 1020, CostNano: 1_236_000, DurationMillis: 3000, OverheadMicros: 450, Firsts: 3, FirstMillis: 930}
	sums.FirstWithin[2] = 3
	for m := range minutes {
		bundle := ledger.Bundle{}
		for k := range keys {
			for n := range models {
				if (k*7+n+m)%14 == 0 {
					bundle.Add(ledger.Group{
						Key: fmt.Sprintf("key-%d", k), Route: fmt.Sprintf("route-%d", n), Model: fmt.Sprintf("model-%d", n), Provider: fmt.Sprintf("provider-%d", n%5),
					}, &sums)
				}
			}
		}
		if _, err := db.writer.ExecContext(t.Context(), `INSERT INTO minutes (at, body) VALUES (?, ?)`, now.Add(-time.Duration(m)*time.Minute).UnixMicro(), bundle.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d sums in %v", keys*models*minutes/14, time.Since(begin).Round(time.Millisecond))
	for range 2 {
		begin = time.Now()
		rows, err := db.Ledger().Usage(t.Context(), ledger.UsageQuery{From: now.Add(-24 * time.Hour), To: now.Add(time.Minute), Step: ledger.Minute, ByRoute: true})
		took := time.Since(begin)
		t.Logf("%d rows in %v", len(rows), took.Round(time.Millisecond))
		if err != nil || len(rows) == 0 || took > limit {
			t.Errorf("%d rows in %v, %v", len(rows), took, err)
		}
	}
}
