package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"evergate/internal/replica"
)

const perPut = 5

// writeForEver puts pages, and says the sequence of each put on standard output once it is committed.
func writeForEver(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	last, err := whole(ctx, db, "i", perPut)
	if err != nil {
		return err
	}
	p := db.Pages()
	for sequence := last + 1; ; sequence++ {
		// Sizes such that rows move among pages of the file, and the log is brought into it every few puts.
		if err := p.Put(ctx, numbered("i", perPut, sequence, int(sequence*7919%30_000))); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, sequence); err != nil {
			return err
		}
		if _, err := p.Beat(ctx, replica.Member{ID: "i"}); err != nil {
			return err
		}
		if sequence%10 == 0 {
			if err := p.Drop(ctx, "i"); err != nil {
				return err
			}
			if err := p.Put(ctx, numbered("i", perPut, sequence, 100)); err != nil {
				return err
			}
		}
	}
}

// TestKilled ends a writing process at random moments, by a signal that it cannot see: each time the file opens and is sound, what was said to be
// committed is there, and no put is there in part. EVERGATE_CRASHES=200 takes longer.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("EVERGATE_CRASHES")); err == nil {
		rounds = n
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewSource(seed))
	dir := t.TempDir()
	committed, midway := 0, 0
	var path string
	var last uint64
	for round := range rounds {
		if round%10 == 0 { // a new file now and then: it may be killed while it is made
			path, last = filepath.Join(dir, fmt.Sprintf("%d.db", round)), 0
		}
		life := time.Duration(random.Int63n(int64(300 * time.Millisecond)))
		said, err := untilKilled(t, "write", path, life, round%2 == 1)
		if err != nil {
			t.Fatalf("round %d, killed after %v: %v", round, life, err)
		}
		if said > 0 {
			committed += int(said - last)
			last = said
		}
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatalf("round %d, killed after %v: %v", round, life, err)
		}
		if err := sound(t.Context(), db); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		there, err := whole(t.Context(), db, "i", perPut)
		switch {
		case err != nil:
			t.Errorf("round %d: %v", round, err)
		case there == 0 && last%10 == 0: // killed between a drop and the next put
		case there < last:
			t.Errorf("round %d: put %d was committed, %d is there", round, last, there)
		case there > last:
			midway++ // committed and not said
		}
		last = max(last, there)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d kills, %d puts committed, %d kills between a commit and its word", rounds, committed, midway)
	if committed == 0 {
		t.Error("no process came to write")
	}
}

// untilKilled gives the last number that a process of a role said, 0 for none. Its life is counted from its start, or from its first word.
func untilKilled(t *testing.T, role, path string, life time.Duration, fromPut bool) (said uint64, err error) {
	t.Helper()
	cmd := child(t.Context(), role, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	begin := life
	if fromPut {
		begin = time.Minute
	}
	timer := time.AfterFunc(begin, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		n, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // the kill cut the line off
		}
		if said == 0 && fromPut {
			timer.Reset(life)
		}
		said = n
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		return said, errors.Join(errors.New("the process ended by itself"), err)
	}
	return said, nil
}
