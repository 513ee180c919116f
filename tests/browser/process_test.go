package browser

import (
	"bytes"
	"fmt"
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
	cmd  *exec.Cmd
	out  output
	done chan struct{} // closed when it has ended
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

// start launches a program that ends with the test.
func start(t *testing.T, env []string, argv ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "EVERGATE") && !strings.HasPrefix(pair, "OTEL_") { // whoever runs the tests may have some
			p.cmd.Env = append(p.cmd.Env, pair)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	servers.DieWithParent(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			lines := strings.Split(p.out.String(), "\n")
			t.Logf("output of %v:\n%s", argv, strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	return p
}

// stop ends the program as a service manager does and waits until it is gone.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the gateway does not end after SIGTERM")
	}
}

// awaitHTTP waits until url answers 200.
func (p *process) awaitHTTP(t *testing.T, url string) {
	t.Helper()
	eventually(t, 10*time.Second, func() error {
		select {
		case <-p.done:
			t.Fatalf("the program ended before %s answered:\n%s", url, p.out.String())
		default:
		}
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", url, resp.Status)
		}
		return nil
	})
}

// freePort gives a port of the loopback interface that nobody listens on. Another program could take it before it is
// used; nothing else on a test machine does.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
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
		time.Sleep(10 * time.Millisecond)
	}
}
