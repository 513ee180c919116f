//go:build unix

package handover

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asBefore has this test's program be the process before, with its pid file there.
const asBefore = "EVERGATE_TEST_PID_FILE"

func TestMain(m *testing.M) {
	path := os.Getenv(asBefore)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := oneOfTwo(path); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// oneOfTwo is a process that hands over, and then is asked to again and again, or the one that takes over from it.
func oneOfTwo(path string) error {
	p, err := Begin(Options{PIDFile: path, Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	if err := p.Ready(); err != nil {
		return err
	}
	if p.Inherited() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return p.upgrader.WaitForParent(ctx)
	}
	if err := p.Upgrade(); err != nil {
		return err
	}
	serves, _ := ReadPID(path)
	for range 3 {
		if err := p.Upgrade(); err == nil || !strings.Contains(err.Error(), "already") {
			return fmt.Errorf("another upgrade: %w", err)
		}
	}
	if pid, err := ReadPID(path); err != nil || pid == os.Getpid() || pid != serves {
		return fmt.Errorf("the pid file names %d, %d serves", pid, serves)
	}
	p.Stopping() // by a signal that comes while it finishes its requests
	p.Close()
	if _, err := os.Stat(path); err != nil {
		return err
	}
	return nil
}

// Who has handed over never says again that it serves, nor that the service stops, however often it is asked.
func TestAskedAgainAfterAHandOver(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "eg") //nolint:usetesting // a socket's name may not be long
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	before := exec.CommandContext(ctx, own)
	before.Env = append(os.Environ(), asBefore+"="+filepath.Join(dir, "pid"), "NOTIFY_SOCKET="+filepath.Join(dir, "n"))
	text, err := before.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, text)
	}
	var heard []string
	for buf := make([]byte, 200); ; {
		_ = manager.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := manager.Read(buf)
		if err != nil {
			break
		}
		heard = append(heard, string(buf[:n]))
	}
	old := fmt.Sprintf("READY=1\nMAINPID=%d", before.Process.Pid)
	if len(heard) != 2 || heard[0] != old || heard[1] == old || !strings.HasPrefix(heard[1], "READY=1\n") {
		t.Errorf("the service manager heard %q", heard)
	}
}
