package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/replica"
)

// childEnv names what this test binary does instead of testing, as a process of its own.
const childEnv = "EVERGATE_SQLITE_CHILD"

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv(childEnv), " ")
	roles := map[string]func(string) error{"write": writeForEver, "open": openOnce, "share": writeMany, "ledger": writeLedgerForEver}
	maps.Copy(roles, ofThisSystem)
	work := roles[role]
	if work == nil {
		goleak.VerifyTestMain(m) // it does not return
	}
	if err := work(arg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child gives this binary as another process that does role with arg.
func child(ctx context.Context, role, arg string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role+" "+arg)
	return cmd
}

// atOnce has two processes do the same work and gives their words.
func atOnce(t *testing.T, role string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	said := make([]bytes.Buffer, len(args))
	cmds := make([]*exec.Cmd, len(args))
	for i, arg := range args {
		cmds[i] = child(ctx, role, arg)
		cmds[i].Stderr = &said[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range cmds {
		if err := cmds[i].Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, &said[i])
		}
	}
}

func defaults(t testing.TB) settings {
	t.Helper()
	all, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	return settings{now: time.Now, busy: 5 * time.Second, migrate: all}
}

func openDB(t testing.TB, path string, s settings) *DB {
	t.Helper()
	db, err := open(t.Context(), path, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "evergate.db") }

// sound gives what is wrong with a file by SQLite's own check.
func sound(ctx context.Context, db *DB) error {
	var said string
	if err := db.reader.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("integrity check: %s", said)
	}
	return nil
}

// numbered gives n pages of one instance, all with one sequence, which their bodies tell.
func numbered(instance string, n int, sequence uint64, size int) []replica.Page {
	pages := make([]replica.Page, n)
	for i := range pages {
		pages[i] = replica.Page{Instance: instance, Topic: "guards", Key: fmt.Sprintf("k%d", i), Sequence: sequence, Body: body(sequence, size)}
	}
	return pages
}

func body(sequence uint64, size int) []byte {
	word := fmt.Appendf(nil, "%016x", sequence)
	return bytes.Repeat(word, size/len(word)+1)
}

// whole checks that the pages of an instance are those of one put, and gives its sequence; 0 if there are none.
func whole(ctx context.Context, db *DB, instance string, n int) (uint64, error) {
	pages, err := db.Pages().Read(ctx, "guards", time.Time{}, 0)
	if err != nil {
		return 0, err
	}
	var sequence uint64
	count := 0
	for _, p := range pages {
		if p.Instance != instance {
			continue
		}
		if count++; count > 1 && p.Sequence != sequence {
			return 0, fmt.Errorf("pages of the puts %d and %d", sequence, p.Sequence)
		}
		sequence = p.Sequence
		if !bytes.Equal(p.Body, body(sequence, len(p.Body)-16)) {
			return 0, fmt.Errorf("the body of page %s in put %d is another one", p.Key, sequence)
		}
	}
	if count != 0 && count != n {
		return 0, fmt.Errorf("%d pages of put %d, want %d", count, sequence, n)
	}
	return sequence, nil
}
