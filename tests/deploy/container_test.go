package deploy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// container is how a runtime would start the image.
type container struct {
	args    []string          // after the entrypoint
	env     []string          // beside the image's
	folders map[string]string // read-only: path inside to path outside
	state   string            // path outside of what is at /var/lib/evergate
}

// running is a container that was started.
type running struct {
	cmd  *exec.Cmd
	root string
	env  []string
	out  output
	done chan struct{}
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

// enter mounts what a runtime would, sees to it that the root cannot be written to, and becomes the image's user. $1 is the root;
// then come pairs of folders to mount; after -- the program. PATH is the image's, outside the one for these commands.
const enter = `set -e
inside=$PATH PATH=$outside root=$1; shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do
  mount --bind "$2" "$root$1"
  if [ "$1" != /var/lib/evergate ]; then mount -o remount,bind,ro "$root$1"; fi
  shift 2
done
shift
mount -o remount,bind,ro "$root"
unshare=$(command -v unshare) PATH=$inside
unset outside
exec "$unshare" --root "$root" --wd /var/lib/evergate --setuid 65532 --setgid 65532 -- "$@"`

// start runs the image's binary in a root that has nothing but what the image has, as the image's user.
func (c container) start(t *testing.T) *running {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make a root of its own for a program")
	}
	image := plan(t, "amd64").image.Config
	r := &running{root: t.TempDir(), done: make(chan struct{})}
	binary, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(r.root, image.Entrypoint[0]), string(binary), 0o755)
	put(t, filepath.Join(r.root, "etc/ssl/certs/ca-certificates.crt"), "", 0o644)
	for _, dir := range []string{"proc", "var/lib/evergate"} {
		if err := os.MkdirAll(filepath.Join(r.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(c.state, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	argv := []string{"--mount", "/bin/sh", "-c", enter, "sh", r.root, "/var/lib/evergate", c.state}
	for in, out := range c.folders {
		if err := os.MkdirAll(filepath.Join(r.root, in), 0o755); err != nil {
			t.Fatal(err)
		}
		argv = append(argv, in, out)
	}
	argv = append(append(append(argv, "--"), image.Entrypoint...), c.args...)
	r.env = append(append([]string{}, image.Env...), c.env...)
	r.cmd = exec.Command("unshare", argv...)
	r.cmd.Env = append([]string{"outside=" + os.Getenv("PATH")}, r.env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.done
		if t.Failed() {
			t.Logf("it said:\n%s", r.out.String())
		}
	})
	return r
}

// inside runs another program in the container, as a health check does.
func (r *running) inside(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	all := append([]string{"--target", strconv.Itoa(r.cmd.Process.Pid), "--mount", "--root", "--setuid=65532", "--setgid=65532"}, argv...)
	cmd := exec.CommandContext(t.Context(), "nsenter", all...)
	cmd.Env = append([]string{}, r.env...)
	cmd.Path = find(t, "nsenter")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func find(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// answers waits until a URL answers with a status.
func (r *running) answers(t *testing.T, url string, status int) string {
	t.Helper()
	var last string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(url)
		if err != nil {
			last = err.Error()
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == status {
			return string(body)
		}
		last = resp.Status
	}
	t.Fatalf("%s: %s, want %d", url, last, status)
	return ""
}

// stop sends the image's stop signal and returns the exit code.
func (r *running) stop(t *testing.T) int {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.done:
	case <-time.After(20 * time.Second):
		t.Fatal("it did not stop")
	}
	return r.cmd.ProcessState.ExitCode()
}

// ports gives n ports that are free now.
func ports(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := strings.Cut(l.Addr().String(), ":")
		out = append(out, port)
	}
	return out
}
