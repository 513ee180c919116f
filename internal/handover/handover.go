// Package handover lets a new process take the place of this one on the same machine: the new one is started with the listeners
// that this one has, and once it serves, this one may drain and end. It owns what that needs around the program: the listeners'
// descriptors (cloudflare/tableflip passes them on), the file with the process id, and the word to a service manager. It
// must not know what is served, nor how a server drains.
package handover

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudflare/tableflip"
)

// ErrNotSupported says that this system cannot pass listeners on.
var ErrNotSupported = errors.New("not supported on this system")

// Options of a Process.
type Options struct {
	// PIDFile gets the id of the process that serves; empty: no file.
	PIDFile string
	// Timeout is how long a new process may take until it is ready.
	Timeout time.Duration
}

// Process is this process, as one in a row of which each takes over from the one before. Safe for concurrent use.
type Process struct {
	upgrader *tableflip.Upgrader // nil where the system has no such thing
	pid      *pidFile
	notify   string     // the service manager's socket
	upgrade  sync.Mutex // held while a new process starts
	stopping atomic.Bool
	replaced atomic.Bool // another process serves
}

// Begin takes what a process before this one hands over, if there is one. A process begins once; a second call is an error.
func Begin(o Options) (*Process, error) {
	pid, err := newPIDFile(o.PIDFile)
	if err != nil {
		return nil, err
	}
	p := &Process{pid: pid, notify: os.Getenv("NOTIFY_SOCKET")}
	shieldInherited()
	program, err := program()
	if err != nil {
		return nil, err
	}
	os.Args[0] = program // what tableflip starts
	p.upgrader, err = tableflip.New(tableflip.Options{UpgradeTimeout: o.Timeout})
	if errors.Is(err, tableflip.ErrNotSupported) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	_ = os.Unsetenv(inheritVariable) // is meant for this process alone, and not for what it may start
	return p, nil
}

// inheritVariable is what tableflip tells a new process by that it has a parent.
const inheritVariable = "TABLEFLIP_HAS_PARENT_7DIU3"

// program is the file to start a new process from: what this one was called by, so that a link which points to a newer version
// by then counts, if that is this program; else this program's own file.
func program() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where is this program: %w", err)
	}
	called, err := exec.LookPath(os.Args[0])
	if err == nil {
		called, err = filepath.Abs(called)
	}
	if err != nil || !sameFile(called, own) {
		return own, nil
	}
	return called, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a) //nolint:gosec // the program's own name
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Inherited says whether another process started this one to take over.
func (p *Process) Inherited() bool { return p.upgrader != nil && p.upgrader.HasParent() }

// Listen gives the listener that the process before had at addr, or a new one. setting tells listeners apart whose port is
// for the system to choose.
func (p *Process) Listen(setting, addr string) (net.Listener, error) {
	if p.upgrader == nil {
		return net.Listen("tcp", addr)
	}
	name := nameOf(setting, addr)
	if l, err := p.upgrader.Listener("tcp", name); l != nil || err != nil {
		return l, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err // as it is: it names what is wrong with the address
	}
	if err := p.upgrader.AddListener("tcp", name, l.(*net.TCPListener)); err != nil { //nolint:forcetypeassert // net promises it
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// nameOf is the name that a listener goes by between processes: its address resolved, so that another spelling of it is the same.
func nameOf(setting, addr string) string {
	to, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return addr // which net.Listen will say more about
	}
	if to.IP.IsUnspecified() {
		to.IP = nil // 0.0.0.0 and [::] are one to net.Listen
	}
	if to.Port == 0 {
		return setting + " " + to.String()
	}
	return to.String()
}

// Ready says to all who wait for it that this process serves: the pid file, the service manager, and last the process before,
// which then drains and ends. Listeners that were handed over and are not wanted any more are closed. An error is no reason to
// end: the process before, if it still lives, may already be told.
func (p *Process) Ready() error {
	err := p.announce()
	if p.upgrader != nil {
		err = errors.Join(err, p.upgrader.Ready())
	}
	return err
}

// announce names this process as the one that serves.
func (p *Process) announce() error {
	return errors.Join(p.pid.write(), notify(p.notify, "READY=1\nMAINPID="+strconv.Itoa(os.Getpid())))
}

// Upgrade starts a new process from the program's file, with this one's arguments, variables and listeners, and waits until it is
// ready. On an error this process goes on as if nothing had been. After success it must drain and end.
func (p *Process) Upgrade() error {
	switch {
	case p.upgrader == nil:
		return ErrNotSupported
	case os.Getpid() == 1:
		err := errors.New("this is process 1, whose end takes the container with it: replace the container")
		return errors.Join(err, p.pid.write()) // who asked by Request need not wait
	case !p.upgrade.TryLock():
		return errors.New("another upgrade is under way")
	}
	defer p.upgrade.Unlock()
	if p.replaced.Load() { // and who serves is no more for this process to say
		return errors.New("another process has already taken over")
	}
	err := p.upgrader.Upgrade()
	for range 50 { // right after Ready it is chance which of the two tableflip looks at first
		if err == nil || !strings.Contains(err.Error(), "not ready") {
			break
		}
		err = p.upgrader.Upgrade()
	}
	if err == nil {
		p.replaced.Store(true)
	}
	if err == nil || p.stopping.Load() {
		return err
	}
	// The new process may have put its own name there before it failed; and a new pid file tells Request that this is over.
	return errors.Join(plainly(err), p.announce())
}

// plainly puts tableflip's words into ours where they would puzzle.
func plainly(err error) error {
	switch {
	case strings.Contains(err.Error(), "parent hasn't exited"):
		return fmt.Errorf("the process before this one, %d, still finishes its requests", os.Getppid())
	case strings.Contains(err.Error(), "exited"):
		return fmt.Errorf("the new process did not start, see what it said: %w", err)
	case strings.Contains(err.Error(), "timed out"):
		return fmt.Errorf("the new process was not ready in time: %w", err)
	}
	return err
}

// Stopping is said before this process drains to end for good: an upgrade under way is given up, and the service manager told.
func (p *Process) Stopping() {
	p.stopping.Store(true)
	if p.upgrader != nil {
		p.upgrader.Stop()
	}
	if !p.replaced.Load() { // else the service goes on
		_ = notify(p.notify, "STOPPING=1")
	}
}

// Close removes the pid file, if it is still this process's.
func (p *Process) Close() { p.pid.remove() }
