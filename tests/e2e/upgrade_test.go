//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"evergate/internal/testkit/servers"
)

// lineage is a gateway through its upgrades: processes that take over from each other.
type lineage struct {
	dir     string // holds the program, its config, pid file and log
	url     string
	first   *exec.Cmd
	ended   chan struct{} // closed once the first process has ended
	config  string
	program string
}

// found starts the first process of a gateway. config may have %PORT% for the port of url.
func found(t *testing.T, config string, env []string, flags ...string) *lineage {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	l := &lineage{dir: t.TempDir(), url: fmt.Sprintf("http://127.0.0.1:%d", port), ended: make(chan struct{})}
	l.config, l.program = filepath.Join(l.dir, "evergate.yaml"), filepath.Join(l.dir, "bin", "evergate")
	if err := os.Mkdir(filepath.Dir(l.program), 0o755); err != nil {
		t.Fatal(err)
	}
	l.install(t, evergate)
	l.write(t, strings.ReplaceAll(config, "%PORT%", strconv.Itoa(port)))
	out, err := os.Create(filepath.Join(l.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	l.first = exec.Command(l.program, append([]string{"serve", "-c", l.config, "--pid-file", l.pidFile()}, flags...)...)
	l.first.Dir, l.first.Stderr, l.first.Env = l.dir, out, append(os.Environ(), env...)
	l.first.SysProcAttr = &syscall.SysProcAttr{}
	servers.DieWithParent(l.first.SysProcAttr)
	if err := l.first.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = l.first.Wait()
		close(l.ended)
	}()
	t.Cleanup(func() {
		_ = l.first.Process.Kill()
		<-l.ended
		if pid := l.pid(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("log:\n%s", tail(l.log(), 60))
		}
	})
	eventually(t, 10*time.Second, func() error {
		if l.pid() == 0 {
			return errors.New("no pid file yet")
		}
		return nil
	})
	return l
}

func (l *lineage) pidFile() string { return filepath.Join(l.dir, "evergate.pid") }

// pid is the process that serves; 0: none says so.
func (l *lineage) pid() int {
	text, _ := os.ReadFile(l.pidFile())
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func (l *lineage) log() string {
	text, _ := os.ReadFile(filepath.Join(l.dir, "log"))
	return string(text)
}

// install puts a program in the place of the running one, as a package manager does.
func (l *lineage) install(t *testing.T, from string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(l.program+".new", text, 0o755)
	}
	if err == nil {
		err = os.Rename(l.program+".new", l.program)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lineage) write(t *testing.T, config string) {
	t.Helper()
	if err := os.WriteFile(l.config+".new", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(l.config+".new", l.config); err != nil {
		t.Fatal(err)
	}
}

// upgrade has the next process take over and gives both.
func (l *lineage) upgrade(t *testing.T) (before, after int) {
	t.Helper()
	before = l.pid()
	if out, code := run(t, evergate, "upgrade", "--pid-file", l.pidFile()); code != 0 {
		t.Fatalf("upgrade: exit code %d: %s", code, out)
	}
	if after = l.pid(); after == before || after == 0 {
		t.Fatalf("process %d took over from %d", after, before)
	}
	return before, after
}

// gone waits for the end of a process that was replaced.
func (l *lineage) gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		if alive(pid) {
			return fmt.Errorf("process %d lives", pid)
		}
		return nil
	})
	if pid == l.first.Process.Pid {
		<-l.ended
		if code := l.first.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the first process ended with %d", code)
		}
	}
}

// alive says whether a process runs: one that nobody has waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(rest, []byte("Z"))
}

// patient is an upstream that answers plain requests at once and streams with eight events in half a second; a stream of the model "held" ends
// when release is closed.
func patient(t *testing.T, release func() <-chan struct{}) *httptest.Server {
	t.Helper()
	const done = `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case bytes.Contains(body, []byte(`"held"`)):
			_ = stream(w, 1, 0)
			select {
			case <-release():
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, done)
		case bytes.Contains(body, []byte(`"stream":true`)):
			if stream(w, 8, 60*time.Millisecond) == nil {
				_, _ = io.WriteString(w, done)
			}
		default:
			reply(w, http.StatusOK, `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"word"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// strict is a client that keeps its connection and opens another one only if it was told so: it repeats nothing.
type strict struct {
	addr   string
	conn   net.Conn
	reader *bufio.Reader
	told   int // how often the connection was said to end
}

// ask sends one request and reads the answer to its end.
func (c *strict) ask(model string, stream bool) (string, error) {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return "", err
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	_ = c.conn.SetDeadline(time.Now().Add(20 * time.Second))
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`, model, stream)
	if _, err := fmt.Fprintf(c.conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.addr, len(body), body); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	if resp.Close {
		c.close()
		c.told++
	}
	return string(text), err
}

func (c *strict) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

func oneProvider(url string) string {
	return fmt.Sprintf("providers:\n  a: { type: openai-compatible, base_url: \"%s/v1\", api_key: unused, models: [m, held] }\nresilience: { retry: { max_retries: 0 } }\n", url)
}

// TestUpgradeUnderLoad replaces the gateway five times under 50 clients with kept connections and 20 that stream, none of which
// repeats anything: no request fails, no stream is cut, and one that lasts longer than the hand-over is finished by the old process.
func TestUpgradeUnderLoad(t *testing.T) {
	var held atomic.Pointer[chan struct{}]
	up := patient(t, func() <-chan struct{} { return *held.Load() })
	l := found(t, "server: { listen: \"127.0.0.1:%PORT%\" }\n"+oneProvider(up.URL), nil)
	addr := strings.TrimPrefix(l.url, "http://")
	var (
		requests, streams, told, failed atomic.Int64
		stopping                        atomic.Bool
		load                            sync.WaitGroup
	)
	for n := range 70 {
		load.Go(func() {
			c := &strict{addr: addr}
			defer func() { c.close(); told.Add(int64(c.told)) }()
			for !stopping.Load() {
				streamed := n >= 50
				text, err := c.ask("a/m", streamed)
				if err == nil && streamed && (strings.Count(text, "word") != 8 || !strings.HasSuffix(text, "data: [DONE]\n\n")) {
					err = fmt.Errorf("cut short: %q", tail(text, 3))
				}
				if err != nil {
					failed.Add(1)
					t.Errorf("client %d, streamed=%t: %v", n, streamed, err)
					return
				}
				if streamed {
					streams.Add(1)
					continue
				}
				requests.Add(1)
				time.Sleep(rand.N(20 * time.Millisecond))
			}
		})
	}
	defer load.Wait()
	defer stopping.Store(true)
	var took, drained time.Duration
	for range 5 {
		release := make(chan struct{})
		held.Store(&release)
		long := &strict{addr: addr}
		ended := make(chan error, 1)
		go func() {
			text, err := long.ask("a/held", true)
			if err == nil && !strings.HasSuffix(text, "data: [DONE]\n\n") {
				err = fmt.Errorf("cut short: %q", text)
			}
			ended <- err
		}()
		before := requests.Load() + streams.Load()
		eventually(t, 20*time.Second, func() error {
			if requests.Load()+streams.Load() < before+200 {
				return errors.New("too few requests")
			}
			return nil
		})
		l.install(t, evergate)
		start := time.Now()
		old, next := l.upgrade(t)
		took += time.Since(start)
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", next)); err != nil || exe != l.program {
			t.Errorf("the new process runs %s, %v", exe, err)
		}
		if !alive(old) {
			t.Error("the old process ended before its stream")
		}
		close(release)
		start = time.Now()
		if err := <-ended; err != nil {
			t.Errorf("the stream that lasted longer: %v", err)
		}
		long.close()
		l.gone(t, old)
		drained += time.Since(start)
	}
	stopping.Store(true)
	load.Wait()
	t.Logf("5 upgrades: %d requests and %d streams, %d failed; connections told to end: %d; new process ready after %v, old one gone %v after its last stream",
		requests.Load(), streams.Load(), failed.Load(), told.Load(), (took / 5).Round(time.Millisecond), (drained / 5).Round(time.Millisecond))
	if strings.Contains(l.log(), "upgrade failed") {
		t.Error("the log tells of a failure")
	}
}

// TestUpgradeFails has new processes that do not come to serve: the old one goes on, and says why.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	up := patient(t, nil)
	config := "server: { listen: \"127.0.0.1:%PORT%\" }\n" + oneProvider(up.URL)
	l := found(t, config, nil, "--upgrade-timeout", "1s")
	config = strings.ReplaceAll(config, "%PORT%", l.url[strings.LastIndexByte(l.url, ':')+1:])
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	script := func(text string) func() {
		return func() {
			file := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			l.install(t, file)
		}
	}
	client := &strict{addr: strings.TrimPrefix(l.url, "http://")}
	defer client.close()
	for _, tt := range []struct {
		name   string
		change func()
		said   string
	}{
		{"a config that is none", func() { l.write(t, "providers: 7\n") }, "did not start"},
		{"an address that is taken", func() { l.write(t, config+fmt.Sprintf("admin: { listen: %q }\n", taken.Addr())) }, "address already in use"},
		{"a program that fails", script("exit 3"), "exit status 3"},
		{"a program that hangs", script("exec sleep 60"), "not ready in time"},
		{"no program", func() { _ = os.Remove(l.program) }, "can't start"},
	} {
		tt.change()
		pid, logged := l.pid(), len(l.log())
		out, code := run(t, evergate, "upgrade", "--pid-file", l.pidFile())
		if code != 1 || !strings.Contains(out, "goes on") {
			t.Errorf("%s: exit code %d: %s", tt.name, code, out)
		}
		eventually(t, 5*time.Second, func() error {
			if text := l.log()[logged:]; !strings.Contains(text, "upgrade failed") || !strings.Contains(text, tt.said) {
				return fmt.Errorf("%s: the log does not say so: %s", tt.name, text)
			}
			return nil
		})
		if _, err := client.ask("a/m", false); err != nil || client.told > 0 || l.pid() != pid {
			t.Errorf("%s: %v, connections ended %d times, served by %d and not %d", tt.name, err, client.told, l.pid(), pid)
		}
		l.write(t, config)
		l.install(t, evergate)
	}
	before, _ := l.upgrade(t)
	l.gone(t, before)
}

var listening = regexp.MustCompile(`"msg":"listening".*"address":"([^"]+)","admin":"([^"]+)"`)

// listens are the addresses that the last process listens on, by its log.
func (l *lineage) listens(t *testing.T) (server, admin string) {
	t.Helper()
	eventually(t, 5*time.Second, func() error {
		all := listening.FindAllStringSubmatch(l.log(), -1)
		if len(all) == 0 {
			return errors.New("the log names no address")
		}
		server, admin = all[len(all)-1][1], all[len(all)-1][2]
		return nil
	})
	return server, admin
}

// TestUpgradeAddresses hands over listeners of every kind: ports that the system chose, IPv6, the admin API's own, other spellings; and
// opens those anew that the config changes.
func TestUpgradeAddresses(t *testing.T) {
	up := patient(t, nil)
	conf := func(server, admin string) string {
		text := fmt.Sprintf("server: { listen: %q }\n", server)
		if admin != "" {
			text += fmt.Sprintf("admin: { listen: %q }\n", admin)
		}
		return text + oneProvider(up.URL)
	}
	l := found(t, conf("127.0.0.1:0", "[::1]:0"), nil)
	server, admin := l.listens(t)
	next := func(config string) {
		t.Helper()
		l.write(t, config)
		before, _ := l.upgrade(t)
		l.gone(t, before)
	}
	answers := func(addr, path string) bool {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + addr + path)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	}
	fds := func() int {
		list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.pid()))
		return len(list)
	}
	open := 0
	for range 3 {
		next(conf("127.0.0.1:0", "[::1]:0"))
		if s, a := l.listens(t); s != server || a != admin || !answers(s, "/v1/models") || !answers(a, "/readyz") {
			t.Fatalf("listens on %s and %s after an upgrade, on %s and %s before", s, a, server, admin)
		}
		if open == 0 {
			open = fds()
		}
	}
	eventually(t, 5*time.Second, func() error { // a connection of a moment ago may be in it
		if now := fds(); now > open {
			return fmt.Errorf("%d open files, %d after the first upgrade", now, open)
		}
		return nil
	})
	a, b := fmt.Sprintf("127.0.0.1:%d", port(t)), fmt.Sprintf("127.0.0.1:%d", port(t))
	next(conf(a, b))
	if answers(server, "/readyz") || answers(admin, "/readyz") || !answers(a, "/v1/models") || !answers(b, "/readyz") {
		t.Error("changed addresses: the old ones are still there, or the new ones are not")
	}
	next(conf(b, a)) // each other's
	if !answers(b, "/v1/models") || !answers(a, "/readyz") || answers(a, "/v1/models") {
		t.Error("the two addresses were not exchanged")
	}
	next(conf(strings.Replace(b, "127.0.0.1", "localhost", 1), "")) // another spelling, and no admin address
	if !answers(b, "/v1/models") || !answers(b, "/readyz") || answers(a, "/readyz") {
		t.Error("the admin address is still there, or the other one is not")
	}
}

func port(t *testing.T) int {
	t.Helper()
	p, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestUpgradeTellsTheServiceManager listens as systemd does for the process that counts, and looks at the pid file's end.
func TestUpgradeTellsTheServiceManager(t *testing.T) {
	up := patient(t, nil)
	dir, err := os.MkdirTemp("", "eg") //nolint:usetesting // a socket's name may not be long
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	hear := func() string {
		buf := make([]byte, 256)
		_ = socket.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := socket.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	l := found(t, "server: { listen: \"127.0.0.1:%PORT%\" }\n"+oneProvider(up.URL), []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "n")})
	if got, want := hear(), fmt.Sprintf("READY=1\nMAINPID=%d", l.first.Process.Pid); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	before, after := l.upgrade(t)
	if got, want := hear(), fmt.Sprintf("READY=1\nMAINPID=%d", after); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	l.gone(t, before)
	if err := syscall.Kill(after, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := hear(); got != "STOPPING=1" {
		t.Errorf("said %q", got)
	}
	l.gone(t, after)
	if _, err := os.Stat(l.pidFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file outlives its process: %v", err)
	}
}

// TestUpgradeKeepsBreakers has what the old process learnt hold in the new one, by the store of its machine (R65). Memory forgets it.
func TestUpgradeKeepsBreakers(t *testing.T) {
	for store, want := range map[string]string{"sqlite:evergate.db": "open", "memory:": "closed"} {
		t.Run(store, func(t *testing.T) {
			l := found(t, "server: { listen: \"127.0.0.1:%PORT%\" }\n"+oneProvider(moody(t).URL+"/broken")+fmt.Sprintf("state: { url: %q }\n", store), nil)
			g := &gateway{url: l.url}
			client := &strict{addr: strings.TrimPrefix(l.url, "http://")}
			for range 20 {
				_, _ = client.ask("a/m", false)
			}
			client.close()
			if h := g.health(t, "a"); h.Breaker.State != "open" {
				t.Fatalf("breaker before: %+v", h.Breaker)
			}
			before, _ := l.upgrade(t)
			http.DefaultClient.CloseIdleConnections() // else the old process is asked
			if h := g.health(t, "a"); h.Breaker.State != want {
				t.Errorf("breaker after: %+v, want it %s", h.Breaker, want)
			}
			l.gone(t, before)
		})
	}
}
