package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evergate/internal/replica"
)

const shared = 100 // puts of each process

// writeMany is one of several processes on one file: INSTANCE PATH.
func writeMany(arg string) error {
	self, path, _ := strings.Cut(arg, " ")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	p := db.Pages()
	for i := range uint64(shared) {
		if err := p.Put(ctx, numbered(self, perPut, i+1, 3000)); err != nil {
			return err
		}
		if _, err := p.Beat(ctx, replica.Member{ID: self}); err != nil {
			return err
		}
		got, err := p.Claim(ctx, "lease", self, time.Minute)
		if err != nil {
			return err
		}
		if got {
			if err := p.Yield(ctx, "lease", self); err != nil {
				return err
			}
		}
	}
	return db.Close()
}

// TestTwoProcesses write one file at once, which each of them may be the one to make: as while one takes over from the other.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	atOnce(t, "share", "a1 "+path, "b2 "+path)
	db := openDB(t, path, defaults(t))
	if err := sound(t.Context(), db); err != nil {
		t.Error(err)
	}
	for _, instance := range []string{"a1", "b2"} {
		if n, err := whole(t.Context(), db, instance, perPut); n != shared || err != nil {
			t.Errorf("%s: put %d stands, want %d; %v", instance, n, shared, err)
		}
	}
	if m, err := db.Pages().Members(t.Context()); len(m) != 2 || err != nil {
		t.Errorf("members %v, %v", m, err)
	}
}

// TestTenAtOnce make and migrate one file, and open and close it again while others do.
func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	const each = 5
	for range 5 {
		path := newPath(t)
		done := make(chan error, 10)
		for i := range 10 {
			go func() {
				var err error
				for n := range uint64(each) {
					db, openErr := Open(t.Context(), path)
					if openErr != nil {
						err = openErr
						break
					}
					err = errors.Join(err, db.Pages().Put(t.Context(), numbered(fmt.Sprint("i", i), perPut, n+1, 100)), db.Close())
				}
				done <- err
			}()
		}
		for range 10 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		db := openDB(t, path, defaults(t))
		for i := range 10 {
			if n, err := whole(t.Context(), db, fmt.Sprint("i", i), perPut); n != each || err != nil {
				t.Errorf("instance %d: put %d, %v", i, n, err)
			}
		}
	}
}

// TestHandOver: the next process opens the file while the last one writes, and finds all of it when that one is gone.
func TestHandOver(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	last := openDB(t, path, defaults(t))
	if err := last.Pages().Put(t.Context(), numbered("old", perPut, 1, 100)); err != nil {
		t.Fatal(err)
	}
	next := openDB(t, path, defaults(t))
	if err := last.Pages().Put(t.Context(), numbered("old", perPut, 2, 100)); err != nil {
		t.Fatal(err)
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := whole(t.Context(), next, "old", perPut); n != 2 || err != nil {
		t.Errorf("put %d stands, %v", n, err)
	}
	if err := next.Pages().Put(t.Context(), numbered("new", perPut, 1, 100)); err != nil {
		t.Error(err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) != 0 {
		t.Errorf("the last one to close left %v beside the file", left)
	}
}
