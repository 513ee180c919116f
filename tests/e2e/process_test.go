package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// process is a program under test. Its output is kept and shown if the test fails.
type process struct {
	name string
	cmd  *exec.Cmd
	out  output
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read after done
}

// output collects what a program prints; safe for concurrent use.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// launch starts a program; the caller ends it.
func launch(name string, env []string, argv ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.WaitDelay = 5 * time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	servers.DieWithParent(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// start launches a program that ends with the test.
func start(t *testing.T, name string, env []string, argv ...string) *process {
	t.Helper()
	p, err := launch(name, env, argv...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, tail(p.out.String(), 60))
		}
	})
	return p
}

// kill ends the program as a crash does and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// exitCode waits for the program to end by itself.
func (p *process) exitCode(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(within):
		t.Fatalf("%s did not end within %v", p.name, within)
	}
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return 0
	case errors.As(p.err, &exit):
		return exit.ExitCode()
	}
	t.Fatalf("%s: %v", p.name, p.err)
	return -1
}

func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// awaitHTTP waits until url answers 200, or the program has ended, or the time is over.
func (p *process) awaitHTTP(url string, within time.Duration) error {
	deadline := time.Now().Add(within)
	for {
		resp, err := http.Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended (%w) before %s answered:\n%s", p.name, errors.Join(p.err), url, tail(p.out.String(), 40))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: no answer from %s within %v: %w\n%s", p.name, url, within, err, tail(p.out.String(), 40))
		}
	}
}

// run runs a program to its end and gives its output and exit code.
func run(t *testing.T, argv ...string) (string, int) {
	t.Helper()
	p := start(t, strings.Join(argv[1:], " "), nil, argv...)
	code := p.exitCode(t, 30*time.Second)
	return p.out.String(), code
}

// tail gives the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// freePort gives a port of the loopback interface that nobody listens on. Another program could take it before it is
// used; nothing else on a test machine does.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// eventually calls f until it gives nil, and fails the test with f's last error when the time is over.
func eventually(t *testing.T, within time.Duration, f func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", within, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
