package sqlite

import (
	"strings"
	"testing"
)

// TestFull: a put for which there is no room fails and says so, what stood stands, and with room the same handle goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	s := defaults(t)
	s.maxPages = 60
	path := newPath(t)
	db := openDB(t, path, s)
	p := db.Pages()
	var last uint64
	var full error
	for full == nil && last < 1000 {
		if full = p.Put(t.Context(), numbered("i", perPut, last+1, int(last)*2000)); full == nil {
			last++
		}
	}
	if full == nil || !strings.Contains(full.Error(), "no room on the disk") || !strings.Contains(full.Error(), path) {
		t.Fatalf("after %d puts: %v", last, full)
	}
	for range 3 {
		if err := p.Put(t.Context(), numbered("i", perPut, last+1, 200_000)); err == nil {
			t.Fatal("there is room")
		}
		if n, err := whole(t.Context(), db, "i", perPut); n != last || err != nil {
			t.Errorf("put %d stands, want %d; %v", n, last, err)
		}
	}
	if err := sound(t.Context(), db); err != nil {
		t.Error(err)
	}
	if err := p.Put(t.Context(), numbered("i", perPut, last+1, 10)); err != nil {
		t.Errorf("a small put, in the room of the large one that it replaces: %v", err)
	}
	if _, err := db.writer.ExecContext(t.Context(), "PRAGMA max_page_count = 10000"); err != nil {
		t.Fatal(err)
	}
	if err := p.Put(t.Context(), numbered("i", perPut, last+2, 200_000)); err != nil {
		t.Errorf("with room: %v", err)
	}
	if n, err := whole(t.Context(), db, "i", perPut); n != last+2 || err != nil {
		t.Errorf("put %d stands, want %d; %v", n, last+2, err)
	}
}
