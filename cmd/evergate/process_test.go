package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the program itself, for tests of what only a process of its own can show: signals,
// exit codes, outputs that take nothing.
func TestMain(m *testing.M) {
	if os.Getenv("EVERGATE_TEST_RUN") != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// program is the program, not yet started.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), "EVERGATE_TEST_RUN=1")
	c.Dir = t.TempDir()
	return c
}

// gateway starts the gateway with its log going to out and waits until it serves; it ends with the test.
func gateway(t *testing.T, out *os.File) (c *exec.Cmd, url string, ended chan error) {
	t.Helper()
	addr := freeAddress(t)
	c = program(t, "serve", "-c", "evergate.yaml", "--listen", addr, "--log-level", "debug")
	c.Stderr = out
	config := "providers: { a: { type: openai-compatible, base_url: \"http://127.0.0.1:1/v1\", models: [m] } }\nresilience: { retry: { max_retries: 0 } }\n"
	if err := os.WriteFile(filepath.Join(c.Dir, "evergate.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- c.Wait() }()
	url = "http://" + addr
	await(t, "the gateway", func() bool { return page(url+"/readyz") != "" })
	return c, url, ended
}

// page is what a GET answers, empty if nobody does.
func page(url string) string {
	res, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask makes the gateway write at least a line of log.
func ask(t *testing.T, url string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

// stop sends SIGTERM and gives the exit code.
func stop(t *testing.T, c *exec.Cmd, ended chan error) int {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
		return -1
	}
}

// A log that nobody reads stops neither requests nor the end of the process.
func TestLogIntoAFullPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, url, ended := gateway(t, w)
	_ = w.Close()
	for range 400 { // some 200 KB of lines, where a pipe holds 64
		ask(t, url)
	}
	if code := stop(t, c, ended); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A log whose reader went away does not end the process.
func TestLogReaderGoesAway(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c, url, ended := gateway(t, w)
	_, _ = w.Close(), r.Close()
	for range 3 {
		ask(t, url)
		<-time.After(150 * time.Millisecond) // a line waits 100 ms
	}
	if code := stop(t, c, ended); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// SIGHUP during the drain is no second signal to end: a request under way comes to its end.
func TestReloadSignalDuringTheDrain(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c, url, ended := gateway(t, out)
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"model":"none","messages":[]}`
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:5])
	await(t, "the handler to wait for the rest", func() bool { return strings.Contains(page(url+"/metrics"), "evergate_in_flight 1") })
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "the drain", func() bool { return page(url+"/readyz") == "" })
	if err := c.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-time.After(100 * time.Millisecond) // with the mistake this test is for, it ends by then
	fmt.Fprint(conn, body[5:])
	reply := make([]byte, 64)
	if n, err := conn.Read(reply); err != nil || !bytes.HasPrefix(reply, []byte("HTTP/1.1 404")) {
		t.Errorf("the request under way got %q, %v", reply[:n], err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
}

// An address that is taken is said in one line that names the flag, before any promise of what is served there.
func TestAddressTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"demo", "mock"} {
		out, err := program(t, name, "--listen", l.Addr().String()).CombinedOutput()
		if err == nil || bytes.Count(out, []byte("\n")) != 1 || !bytes.Contains(out, []byte("--listen")) {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// A config that names a file that is not there is not valid.
func TestCheckOfAFileThatIsNotThere(t *testing.T) {
	c := program(t, "check", "-c", "evergate.yaml")
	config := "providers: { a: { type: openai, api_key: x, tls: { ca_file: nope.pem } } }"
	if err := os.WriteFile(filepath.Join(c.Dir, "evergate.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := c.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("nope.pem")) {
		t.Errorf("%v %s", err, out)
	}
}
