// Package servers is for tests only: it runs real Redis (or Valkey) and PostgreSQL servers on free ports of the loopback interface, with
// their files in a folder that goes with the test, and stops, pauses and restarts them; and a proxy that counts, delays and cuts what goes
// through. It must never be linked into a binary.
package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Required is the environment variable that makes a missing server a failure ("1") where else the test is skipped.
const Required = "EVERGATE_REAL_STORES"

const (
	startBound = 30 * time.Second
	askBound   = 3 * time.Second // for an answer of a server that may not serve
	// pollEvery is how often a server is asked whether it is up: these are other processes, there is nothing to wait for but them.
	pollEvery = 20 * time.Millisecond
)

// missing ends a test whose server is not installed.
func missing(t testing.TB, what, pkg string) {
	t.Helper()
	if os.Getenv(Required) == "1" {
		t.Fatalf("%s is missing (%s=1): apt-get install %s", what, Required, pkg)
	}
	t.Skipf("NOT TESTED against a real server: %s is missing, apt-get install %s", what, pkg)
}

// program finds an executable by its names in PATH and in further folders (patterns of filepath.Glob), the last match first; "": none.
func program(names []string, folders ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, folder := range folders {
			found, err := filepath.Glob(filepath.Join(folder, name))
			if err != nil {
				continue
			}
			for _, path := range slices.Backward(found) {
				return path
			}
		}
	}
	return ""
}

// freePort is one that nobody listens on now.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Eventually asks until ok says yes, and fails the test when that takes longer than the bound.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for end := time.Now().Add(within); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("after %v not yet: %s", within, what)
		}
	}
}

// process is a server that can be stopped hard, paused, and started again with the same arguments.
type process struct {
	t    testing.TB
	path string
	args []string
	as   *syscall.Credential
	dir  string
	up   func() bool // says whether it serves

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// Start starts the server, if it does not run, and waits until it serves.
func (p *process) Start() {
	p.t.Helper()
	p.launch()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for end := time.Now().Add(startBound); !p.up(); <-tick.C {
		if time.Now().After(end) {
			log, _ := os.ReadFile(p.log())
			p.t.Fatalf("after %v %s does not serve; its log:\n%s", startBound, filepath.Base(p.path), log)
		}
	}
}

func (p *process) launch() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return
	}
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.path, p.args...) //nolint:gosec // a test says which server
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	DieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	p.cmd, p.done = cmd, done
}

func (p *process) log() string { return filepath.Join(p.dir, "server.log") }

// Kill ends the server at once, as a crash does, and waits until it is gone.
func (p *process) Kill() { p.end(syscall.SIGKILL) }

// Pause stops the server's clock: its connections stay, nothing answers (SIGSTOP).
func (p *process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (p *process) Resume() { p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

func (p *process) end(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(s)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// run runs a program to its end and gives what it said.
func run(t testing.TB, as *syscall.Credential, path string, args ...string) string {
	t.Helper()
	out, err := try(as, startBound, path, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(path), args, err, out)
	}
	return out
}

func try(as *syscall.Credential, within time.Duration, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // a test says which program
	cmd.Dir = os.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return string(out), nil
}

// tempDir is a folder for one server that another user may own: t.TempDir lies in one that only the test's user may enter.
func tempDir(t testing.TB, as *syscall.Credential) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "evergate-server-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if as != nil {
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reachable says whether somebody listens there.
func reachable(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
