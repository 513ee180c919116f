package postgres_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"evergate/internal/ledger"
	"evergate/internal/store/storetest"
)

// TestOverviewOfManyGroups holds what the overview of a day asks to half a second, with a million sums of 200 keys and 50 models.
func TestOverviewOfManyGroups(t *testing.T) {
	if os.Getenv("EVERGATE_MILLION") == "" {
		t.Skip("EVERGATE_MILLION=1 runs it")
	}
	p, u := start(t)
	l := open(t, u).Ledger()
	now := time.Now().Truncate(time.Minute)
	day := ledger.UsageQuery{From: now.Add(-24 * time.Hour), To: now.Add(time.Minute), Step: ledger.Minute, ByRoute: true}
	if _, err := l.Usage(storetest.Within(t, callBound), day); err != nil { // makes the tables
		t.Fatal(err)
	}
	names := ledger.SumNames()
	columns := "(step, at, key, route, model, provider, " + strings.Join(names[:], ", ") + ")"
	p.Exec("gate", `INSERT INTO gate.evergate_sums `+columns+` SELECT 1, (extract(epoch FROM date_trunc('minute', now())) - 60 * m)::bigint * 1000000,
		'key-' || k, 'route-' || n, 'model-' || n, 'provider-' || n % 5`+strings.Repeat(", 3", len(names))+`
		FROM generate_series(0, 1439) m, generate_series(0, 199) k, generate_series(0, 49) n WHERE (k * 7 + n + m) % 14 = 0`)
	p.Exec("gate", `INSERT INTO gate.evergate_sums `+columns+` SELECT 3, at, '', route, '', '', sum(`+strings.Join(names[:], "), sum(")+`)
		FROM gate.evergate_sums WHERE step = 1 GROUP BY at, route`)
	p.Exec("gate", "ANALYZE")
	for name, q := range map[string]struct {
		ledger.UsageQuery
		within time.Duration
	}{"overview": {day, 500 * time.Millisecond}, "by model too": {ledger.UsageQuery{From: day.From, To: day.To, Step: ledger.Minute, ByModel: true, ByRoute: true}, callBound}} {
		for range 2 {
			began := time.Now()
			rows, err := l.Usage(storetest.Within(t, time.Minute), q.UsageQuery)
			took := time.Since(began)
			t.Logf("%s: %d rows in %v", name, len(rows), took.Round(time.Millisecond))
			if err != nil || len(rows) == 0 || took > q.within {
				t.Errorf("%s took %v, %v", name, took, err)
			}
		}
	}
}
