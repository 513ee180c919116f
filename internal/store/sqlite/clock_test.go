package sqlite

import (
	"path/filepath"
	"testing"
	"time"
)

// R63, R66: a machine that began with a wrong clock leaves no lease behind that nobody gets any more.
func TestALeaseOfAWrongClock(t *testing.T) {
	t.Parallel()
	s := defaults(t)
	wrong := time.Now().AddDate(9, 0, 0)
	s.now = func() time.Time { return wrong }
	db, err := open(t.Context(), filepath.Join(t.TempDir(), "state.db"), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	claim := func(holder string) bool {
		t.Helper()
		got, err := db.Pages().Claim(t.Context(), "sweep", holder, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if !claim("a") || claim("b") {
		t.Fatal("a lease is not one holder's")
	}
	wrong = time.Now()
	if !claim("b") {
		t.Error("a lease of nine years is still held")
	}
	if claim("a") {
		t.Error("two hold it")
	}
}
