package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"evergate/internal/threads"
)

// What has ended leaves the file: with the next answer an hour later, or with a put of none.
func TestEndedAnswersLeaveTheFile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	all, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	db, err := open(t.Context(), filepath.Join(t.TempDir(), "evergate.db"), settings{now: func() time.Time { return now }, busy: time.Second, migrate: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	a := db.Answers(threads.Room{Bytes: 1 << 30})
	many := make([]threads.Record, 2*chunk)
	for i := range many {
		many[i] = threads.Record{Owner: "ci", ID: string(rune('a' + i))}
	}
	rows := func() (n int) {
		t.Helper()
		if err := db.reader.QueryRowContext(t.Context(), `SELECT count(*) FROM answers`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, next := range [][]threads.Record{nil, {{Owner: "ci", ID: "next"}}} {
		if err := a.Put(t.Context(), time.Minute, many); err != nil || rows() < len(many) {
			t.Fatalf("%d rows, %v", rows(), err)
		}
		now = now.Add(61 * time.Minute)
		if err := a.Put(t.Context(), time.Minute, next); err != nil || rows() != len(next) {
			t.Errorf("after a put of %d: %d rows, %v", len(next), rows(), err)
		}
	}
}
