package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ofThisSystem are what a process of its own does in tests that other systems do not have.
var ofThisSystem = map[string]func(string) error{"full": fillDisk}

// TestRights: a process that may not write says so. It runs as a user without rights.
func TestRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process as another user")
	}
	base := t.TempDir()
	const nobody = 65534
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(base, 0o755))
	must(os.Chmod(filepath.Dir(base), 0o755)) // which is made for its owner alone
	for _, tt := range []struct {
		name  string
		mode  os.FileMode // of the directory
		mine  bool        // the directory is nobody's own
		file  os.FileMode // 0: none
		owner int
		want  string // "": it works
	}{
		{name: "a directory closed to writers", mode: 0o755, want: "cannot be made in"},
		{name: "a directory closed to all", mode: 0o700, want: "cannot be reached"},
		{name: "another's file that may be read", mode: 0o755, file: 0o644, want: "may not be written"},
		{name: "another's file that may not be read", mode: 0o755, file: 0o600, want: "cannot be opened"},
		{name: "another's file in one's own directory", mode: 0o755, mine: true, file: 0o644, want: "may not be written"},
		{name: "one's own file in another's directory", mode: 0o755, file: 0o600, owner: nobody, want: "give the user that runs the gateway the file and the right to write into its directory"},
		{name: "one's own file in one's own directory", mode: 0o700, mine: true, file: 0o600, owner: nobody},
		{name: "one's own directory", mode: 0o700, mine: true},
	} {
		dir := filepath.Join(base, strings.ReplaceAll(tt.name, " ", "-"))
		path := filepath.Join(dir, "evergate.db")
		must(os.Mkdir(dir, 0o700))
		if tt.file != 0 {
			must(openOnce(path))
			must(os.Chown(path, tt.owner, tt.owner))
			must(os.Chmod(path, tt.file))
		}
		if tt.mine {
			must(os.Chown(dir, nobody, nobody))
		}
		must(os.Chmod(dir, tt.mode))
		cmd := child(t.Context(), "open", path)
		cmd.Path, cmd.Dir = "/proc/self/exe", "/" // where the binary lies others may not go
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		said, err := cmd.CombinedOutput()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v: %s", tt.name, err, said)
		case tt.want != "" && (err == nil || !bytes.Contains(said, []byte(tt.want)) || !bytes.Contains(said, []byte(path))):
			t.Errorf("%s: %v: %q, want %q", tt.name, err, said, tt.want)
		}
	}
}

// TestFullDisk is TestFull on a disk of its own, which is really full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := child(t.Context(), "full", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Skipf("NOT TESTED: a really full disk needs a mount namespace, which this system does not give: %v", err)
	}
	err := cmd.Wait()
	if bytes.Contains(said.Bytes(), []byte(noMount)) {
		t.Skipf("NOT TESTED: a really full disk: %s", &said)
	}
	if err != nil {
		t.Errorf("%v: %s", err, &said)
	}
	t.Logf("%s", &said)
}

const noMount = "this system does not let us mount a tmpfs"

// fillDisk mounts a small disk on dir, and fills it in each way that matters.
func fillDisk(dir string) error {
	if err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m")); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	path, ballast := filepath.Join(dir, "evergate.db"), filepath.Join(dir, "ballast")
	if err := leave(ballast, 0); err != nil {
		return err
	}
	if db, err := Open(ctx, path); err == nil {
		_ = db.Close()
		return errors.New("a file was made where there is no room")
	} else if !saysNoRoom(err) {
		return err
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	db, err := Open(ctx, path)
	if err != nil {
		return fmt.Errorf("after there was no room: %w", err)
	}
	for sequence := range uint64(100) { // always the same pages: the log takes all room, the file needs no more than it has
		if sequence == 3 {
			db.shrink(ctx)
			if err := leave(ballast, 300<<10); err != nil {
				return err
			}
		}
		if err := db.Pages().Put(ctx, numbered("same", perPut, sequence+1, 3000)); err != nil {
			return fmt.Errorf("the log's room is not taken back, put %d: %w", sequence, err)
		}
	}
	if err := errors.Join(db.Pages().Drop(ctx, "same"), os.Remove(ballast)); err != nil {
		return err
	}
	var last uint64
	for round := range 3 {
		if err := leave(ballast, 500<<10); err != nil {
			return err
		}
		full := error(nil)
		for n := 0; full == nil && n < 500; n++ {
			if full = db.Pages().Put(ctx, numbered(fmt.Sprint("i", n), perPut, last+1, 3000)); full == nil {
				last++
			}
		}
		if full == nil || !saysNoRoom(full) {
			return fmt.Errorf("round %d, after put %d: %w", round, last, full)
		}
		fmt.Fprintf(os.Stderr, "round %d, after put %d: %v\n", round, last, full)
		if err := everything(ctx, db, last); err != nil {
			return fmt.Errorf("round %d, full: %w", round, err)
		}
		if round == 1 { // a restart while there is no room
			if err := db.Close(); err != nil {
				fmt.Fprintf(os.Stderr, "closing: %v\n", err)
			}
		}
		if err := os.Remove(ballast); err != nil {
			return err
		}
		if round == 1 {
			if db, err = Open(ctx, path); err != nil {
				return err
			}
		}
		if err := db.Pages().Put(ctx, numbered("with room", perPut, last+1, 3000)); err != nil {
			return fmt.Errorf("round %d, with room: %w", round, err)
		}
		last++
		if err := everything(ctx, db, last); err != nil {
			return fmt.Errorf("round %d, with room: %w", round, err)
		}
		for n := range 500 {
			if err := db.Pages().Drop(ctx, fmt.Sprint("i", n)); err != nil {
				return fmt.Errorf("round %d, drop %d: %w", round, n, err)
			}
		}
		if err := db.Pages().Drop(ctx, "with room"); err != nil {
			return err
		}
	}
	return db.Close()
}

// everything checks that the file is sound and has the pages of the last put, whole.
func everything(ctx context.Context, db *DB, last uint64) error {
	if err := sound(ctx, db); err != nil {
		return err
	}
	pages, err := db.Pages().Read(ctx, "guards", time.Time{}, 0)
	if err != nil {
		return err
	}
	if len(pages)%perPut != 0 || len(pages) == 0 || pages[0].Sequence != last {
		return fmt.Errorf("%d pages, want those of whole puts up to %d", len(pages), last)
	}
	return nil
}

func saysNoRoom(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "there is no room on the disk") || strings.Contains(err.Error(), "or has no room"))
}

// leave writes a file that leaves so many bytes of its disk free.
func leave(path string, free uint64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &disk); err != nil {
		return err
	}
	have := disk.Bavail * uint64(disk.Bsize)
	if have <= free {
		return fmt.Errorf("%d bytes are free, want %d", have, free)
	}
	return os.WriteFile(path, make([]byte, have-free), 0o600)
}
