package threads

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func small() *Store { return New(Limits{Bytes: 4 << 10, Age: time.Hour}) }

// What was deleted while the archive is searched is known as deleted to the searches under way, and let go of after them, also where there is never a moment without one.
func TestDeletionsAreLetGoUnderLoad(t *testing.T) {
	t.Parallel()
	s := small()
	s.Archive(func() Archive { return nil })
	t.Cleanup(func() { s.Stop(context.Background()) })
	b := s.behind
	known := func() (n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.now.gone) + len(b.before.gone)
	}
	first := b.search()
	end := b.search()
	for i := range 100 {
		next := b.search()
		d := Deletion{"ci", fmt.Sprint("r", i)}
		s.Forget([]Deletion{d})
		end()
		for j := range i + 1 { // the first search began before all of them
			if !b.deleting(key{"ci", fmt.Sprint("r", j)}) {
				t.Fatalf("after %d deletions r%d is not known as deleted", i+1, j)
			}
		}
		end = next
	}
	first()
	for range 100 {
		next := b.search()
		end()
		end = next
	}
	if n := known(); n != 0 {
		t.Errorf("%d deletions are kept in mind, of before all searches under way", n)
	}
	s.Forget([]Deletion{{"ci", "r"}})
	end()
	if n := known(); n != 0 || b.deleting(key{"ci", "r"}) {
		t.Errorf("%d deletions are kept in mind for nobody", n)
	}
}

func texts(items [][]byte) []string {
	var out []string
	for _, i := range items {
		out = append(out, string(i))
	}
	return out
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := small()
	s.Put(t0, "ci", &Answer{ID: "r1", Input: []byte("[1]"), Output: []byte("[2]")})
	s.Put(t0, "ci", &Answer{ID: "r2", Previous: "r1", Input: []byte("[3]"), Output: []byte("[4]")})
	items, missing, err := s.History(t0, nil, "ci", "r2", 12)
	if d := cmp.Diff([]string{"[1]", "[2]", "[3]", "[4]"}, texts(items)); d != "" || err != nil || missing != "" {
		t.Fatalf("%s missing %q: %v", d, missing, err)
	}
	if _, _, err := s.History(t0, nil, "ci", "r2", 11); !errors.Is(err, ErrLong) {
		t.Fatalf("longer than it may be: %v", err)
	}
	if _, missing, err := s.History(t0, nil, "other", "r2", 100); !errors.Is(err, ErrGone) || missing != "r2" {
		t.Fatalf("another caller's key reads it: missing %q", missing)
	}
	if !s.Delete(t0, "ci", "r1") || s.Delete(t0, "ci", "r1") {
		t.Fatal("deleted twice, or not at all")
	}
	if _, missing, err := s.History(t0, nil, "ci", "r2", 100); !errors.Is(err, ErrGone) || missing != "r1" {
		t.Fatalf("a conversation without its beginning: missing %q: %v", missing, err)
	}
}

func TestHistoryOfAnotherKeeper(t *testing.T) {
	t.Parallel()
	s := small()
	s.Put(t0, "", &Answer{ID: "r1", Provider: "openai"})
	s.Put(t0, "", &Answer{ID: "r2", Previous: "r1"})
	if _, missing, err := s.History(t0, nil, "", "r2", 100); !errors.Is(err, ErrGone) || missing != "r1" {
		t.Fatalf("missing %q, %v: the first turn is at the provider", missing, err)
	}
}

func TestHistoryThatBitesItsTail(t *testing.T) {
	t.Parallel()
	s := small()
	s.Put(t0, "", &Answer{ID: "r1", Previous: "r2"})
	s.Put(t0, "", &Answer{ID: "r2", Previous: "r1"})
	if _, _, err := s.History(t0, nil, "", "r2", 100); !errors.Is(err, ErrLong) {
		t.Fatal("a circle has a history")
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	s := small()
	s.Put(t0, "", &Answer{ID: "r1"})
	if _, ok := s.Get(t0.Add(time.Hour-1), nil, "", "r1"); !ok {
		t.Fatal("gone too early")
	}
	if _, ok := s.Get(t0.Add(time.Hour), nil, "", "r1"); ok || s.bytes != 0 || len(s.shelves) != 0 {
		t.Fatalf("kept too long, or not forgotten whole: %d bytes, %d shelves", s.bytes, len(s.shelves))
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := small()
	for i := range 100 {
		s.Put(t0, "", &Answer{ID: fmt.Sprint(i), Body: make([]byte, 200)})
		_, _ = s.Get(t0, nil, "", "0") // in use: it stays
		if s.bytes > 4<<10 {
			t.Fatalf("%d bytes kept", s.bytes)
		}
	}
	if _, ok := s.Get(t0, nil, "", "0"); !ok {
		t.Error("the one in use was dropped")
	}
	if _, ok := s.Get(t0, nil, "", "50"); ok {
		t.Error("an old one is still there")
	}
	s.Put(t0, "", &Answer{ID: "huge", Body: make([]byte, 2<<10)})
	if _, ok := s.Get(t0, nil, "", "huge"); ok {
		t.Error("one answer took half of the store")
	}
	s.Put(t0, "", &Answer{ID: "99"})
	n := 0
	for _, el := range s.entries {
		n += el.Value.(*entry).answer.size()
	}
	if own := s.shelves[""]; n != s.bytes || n != own.bytes || own.used.Len() != len(s.entries) {
		t.Errorf("%d bytes counted, %d of the owner, %d kept; %d entries listed, %d found", s.bytes, own.bytes, n, own.used.Len(), len(s.entries))
	}
}

// A caller that keeps much pushes out what is its own.
func TestOwnersDoNotPushEachOtherOut(t *testing.T) {
	t.Parallel()
	s := small()
	s.Put(t0, "quiet", &Answer{ID: "first", Body: make([]byte, 200)})
	for i := range 100 {
		s.Put(t0, "loud", &Answer{ID: fmt.Sprint(i), Body: make([]byte, 200)})
	}
	if _, ok := s.Get(t0, nil, "quiet", "first"); !ok {
		t.Error("another caller pushed it out")
	}
	if _, ok := s.Get(t0, nil, "loud", "99"); !ok {
		t.Error("the newest is not kept")
	}
}
