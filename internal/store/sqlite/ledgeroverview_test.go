package sqlite

import (
	"fmt"
	"os"
	"testing"
	"time"

	"evergate/internal/ledger"
)

// TestOverviewOfManyGroups holds what the overview of a day asks to eight seconds (EVERGATE_MILLION=1) with a million sums of 200 keys
// and 50 models, and to a second in a small ledger on a busy machine. The admin API does not ask again before ten times as long.
func TestOverviewOfManyGroups(t *testing.T) {
	skipUnderRace(t)
	keys, models, minutes, limit := 10, 5, 60, time.Second
	if os.Getenv("EVERGATE_MILLION") != "" {
		keys, models, minutes, limit = 200, 50, 24*60, 8*time.Second
	}
	db := openDB(t, newPath(t), defaults(t))
	now := time.Now().Truncate(time.Minute)
	tx, err := db.writer.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for m := range minutes {
		at := now.Add(-time.Duration(m) * time.Minute).UnixMicro()
		if _, err := tx.ExecContext(t.Context(), fmt.Sprintf(`
			WITH RECURSIVE k(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < %d), m(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM m WHERE n < %d)
			INSERT INTO minutes (at, key, route, model, provider, requests, ok, attempts, firsts, first_100)
			SELECT ?, 'key-' || k.n, 'route-' || m.n, 'model-' || m.n, 'provider-' || m.n %% 5, 3, 3, 3, 3, 3 FROM k, m WHERE (k.n*7 + m.n + %d) %% 14 = 0`, keys-1, models-1, m), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
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
