package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evergate/internal/replica"
)

// openOnce opens a file, puts a page and says on standard error what went wrong.
func openOnce(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	if err := db.Pages().Put(ctx, numbered("i", 1, 1, 100)); err != nil {
		return err
	}
	return db.Close()
}

// raw gives a plain connection to a file, as another program has it.
func raw(t *testing.T, path string, statements ...string) *sql.Conn {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return conn
}

// TestUnusable: what cannot be opened is said with its name and a way out; nothing of it is changed.
func TestUnusable(t *testing.T) {
	t.Parallel()
	write := func(content string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	execute := func(statements ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { raw(t, path, statements...) }
	}
	ours := func(statements ...string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := openDB(t, path, defaults(t)).Close(); err != nil {
				t.Fatal(err)
			}
			raw(t, path, statements...)
		}
	}
	for _, tt := range []struct {
		name    string
		path    string // "": a file in a new directory
		prepare func(t *testing.T, path string)
		want    []string
	}{
		{name: "no path", path: " ", want: []string{"not the path of a file", "memory:"}},
		{name: "SQLite's memory", path: ":memory:", want: []string{":memory:", "not the path of a file"}},
		{name: "an address", path: "file:x.db?mode=memory", want: []string{"not the path of a file"}},
		{name: "a directory", prepare: func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, want: []string{"is a directory", "name a file in it"}},
		{name: "a device", path: "/dev/null", want: []string{"/dev/null", "no regular file"}},
		{name: "no such directory", path: "/no/such/place/evergate.db", want: []string{"directory /no/such/place does not exist", "make it"}},
		{name: "a file as a directory", path: "/dev/null/evergate.db", want: []string{"/dev/null/evergate.db", "name another file"}},
		{name: "a text", prepare: write("a letter, longer than the first bytes of a database, which are a hundred; so it goes on and on, on and on"), want: []string{"no SQLite database", "move it away"}},
		{name: "a short text", prepare: write("hello"), want: []string{"no SQLite database"}},
		{name: "a header alone", prepare: write("SQLite format 3\x00"), want: []string{"no SQLite database"}},
		{name: "another program's", prepare: execute("CREATE TABLE notes (text)"), want: []string{"of another program"}},
		{name: "another program's by its id", prepare: execute("PRAGMA application_id = 7"), want: []string{"of another program"}},
		{name: "another program's version", prepare: execute("PRAGMA user_version = 1001"), want: []string{"of another program"}},
		{name: "a newer major", prepare: ours("PRAGMA user_version = 2003"), want: []string{"newer Evergate", "schema 2.003", "up to 1.0", "use that version"}},
		{name: "locked", prepare: ours("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "PRAGMA user_version = 1000"), want: []string{"holds its lock", "end that program"}},
		{name: "new and locked", prepare: execute("BEGIN EXCLUSIVE"), want: []string{"holds its lock"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := tt.path
			if path == "" {
				path = newPath(t)
			}
			path = strings.TrimSpace(path)
			if tt.prepare != nil {
				tt.prepare(t, path)
			}
			before, _ := os.ReadFile(path)
			s := defaults(t)
			s.busy = 50 * time.Millisecond
			db, err := open(t.Context(), path, s)
			if err == nil {
				_ = db.Close()
				t.Fatal("it was opened")
			}
			for _, want := range append(tt.want, "sqlite store "+path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	t.Run("an empty file", func(t *testing.T) {
		t.Parallel()
		path := newPath(t)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := openOnce(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("odd names", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		names := []string{"a b.db", "what?.db", "what?mode=memory", "a#b.db", "50%.db", "%41.db", "a&b=c;d.db", `quo'te".db`, "größe 模型.db", "-wal"}
		for _, name := range names {
			if err := openOnce(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		there, err := os.ReadDir(dir)
		if err != nil || len(there) != len(names) {
			t.Errorf("%v, %v", there, err)
		}
	})
	t.Run("by a link", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := openOnce(filepath.Join(dir, "there.db")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("there.db", filepath.Join(dir, "link.db")); err != nil {
			t.Fatal(err)
		}
		if err := openOnce(filepath.Join(dir, "link.db")); err != nil {
			t.Error(err)
		}
	})
	t.Run("kept across openings", func(t *testing.T) {
		t.Parallel()
		path := newPath(t)
		if err := openOnce(path); err != nil {
			t.Fatal(err)
		}
		db := openDB(t, path, defaults(t))
		if n, err := whole(t.Context(), db, "i", 1); n != 1 || err != nil {
			t.Errorf("put %d, %v", n, err)
		}
	})
}

// TestItsOwnersAlone: the file and what SQLite puts beside it are readable by their owner alone.
func TestItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	db := openDB(t, path, defaults(t))
	if err := db.Pages().Put(t.Context(), numbered("i", 1, 1, 100)); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(path + "*")
	if err != nil || len(paths) != 3 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(path), mode)
		}
	}
}

// TestWaitsForALock as long as the call's context allows, and works again once the lock is gone.
func TestWaitsForALock(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	db := openDB(t, path, defaults(t))
	other := raw(t, path, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := db.Pages().Put(ctx, numbered("i", 1, 1, 100))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if _, err := db.Pages().Read(t.Context(), "guards", time.Time{}, 0); err != nil {
		t.Errorf("a reader has to wait for a writer: %v", err)
	}
	put := make(chan error, 1)
	go func() { put <- db.Pages().Put(t.Context(), numbered("i", 1, 2, 100)) }()
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-put; err != nil {
		t.Error(err)
	}
	if n, err := whole(t.Context(), db, "i", 1); n != 2 || err != nil {
		t.Errorf("put %d, %v", n, err)
	}
}

// TestCallsEndWithTheirContext wherever it cuts them off, and say so; nothing of a put that was cut off is there.
func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	db := openDB(t, newPath(t), defaults(t))
	p := db.Pages()
	last, cut := uint64(0), 0
	for round := range 80 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(round)*100*time.Microsecond)
		next := last + 1
		err := p.Put(ctx, numbered("i", 20, next, 10_000))
		_, readErr := p.Read(ctx, "guards", time.Time{}, 0)
		_, beatErr := p.Beat(ctx, replica.Member{ID: "i"})
		cancel()
		for _, err := range []error{err, readErr, beatErr} {
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		n, wholeErr := whole(t.Context(), db, "i", 20)
		if wholeErr != nil || n != next && (n != last || err == nil) {
			t.Fatalf("round %d: put %d stands after %d, which ended with %v; %v", round, n, next, err, wholeErr)
		}
		if err != nil {
			cut++
		}
		last = n
	}
	if cut == 0 {
		t.Error("no put was cut off")
	}
}

// TestOpenWaitsForTheMaker of a new file, though SQLite refuses to wait where it sees that two could wait for each other.
func TestOpenWaitsForTheMaker(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	maker := raw(t, path, "BEGIN IMMEDIATE")
	opened := make(chan error, 1)
	go func() { opened <- openOnce(path) }()
	timer := time.NewTimer(100 * time.Millisecond)
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-timer.C:
	}
	if _, err := maker.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestOpenEndsWithItsContext though another program's lock would have it wait longer.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	raw(t, path, "BEGIN EXCLUSIVE")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := Open(ctx, path); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

// TestDamaged: whatever bytes of a file are not what they were, calls end, in errors or not; and a file without its middle is said to be damaged.
func TestDamaged(t *testing.T) {
	t.Parallel()
	made := newPath(t)
	db := openDB(t, made, defaults(t))
	for i := range 20 {
		if err := db.Pages().Put(t.Context(), numbered(fmt.Sprint("i", i), perPut, 1, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	use := func(content []byte) error {
		path := newPath(t)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), path)
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		_, err = db.Pages().Read(t.Context(), "guards", time.Time{}, 0)
		return errors.Join(err, db.Pages().Put(t.Context(), numbered("i3", perPut, 2, 9000)), db.Pages().Drop(t.Context(), "i4"), sound(t.Context(), db))
	}
	if err := use(good); err != nil {
		t.Fatal(err)
	}
	middle := bytes.Clone(good)
	clear(middle[4096*2 : len(middle)-4096])
	for name, content := range map[string][]byte{"middle": middle, "end": good[:len(good)/2]} {
		if err := use(content); err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "-wal") {
			t.Errorf("without its %s: %v", name, err)
		}
	}
	seed := time.Now().UnixNano()
	random := rand.New(rand.NewSource(seed))
	failed := 0
	for range 60 {
		content := bytes.Clone(good)
		for range 1 + random.Intn(40) {
			content[random.Intn(len(content))] ^= byte(1 << random.Intn(8))
		}
		if use(content) != nil {
			failed++
		}
	}
	t.Logf("seed %d: %d of 60 were found to be damaged", seed, failed)
}
