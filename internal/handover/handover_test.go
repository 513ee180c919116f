//go:build unix

package handover

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A listener has one name, however its address is written, and one of its own where the system chooses the port.
func TestNameOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b string }{
		{"127.0.0.1:8080", "127.0.0.1:8080"},
		{"localhost:8080", "127.0.0.1:8080"},
		{":8080", "0.0.0.0:8080"},
		{":8080", "[::]:8080"},
		{"[::1]:8080", "[0:0::1]:8080"},
		{"127.0.0.1:http", "127.0.0.1:80"},
	} {
		if a, b := nameOf("server.listen", tt.a), nameOf("admin.listen", tt.b); a != b {
			t.Errorf("%s is %s and %s is %s", tt.a, a, tt.b, b)
		}
	}
	for _, tt := range []struct{ a, b string }{
		{"127.0.0.1:8080", "127.0.0.1:8081"}, {"127.0.0.1:8080", ":8080"}, {"127.0.0.1:0", "127.0.0.1:0"}, {":0", ":0"}, {"nowhere", "else"},
	} {
		if a, b := nameOf("server.listen", tt.a), nameOf("admin.listen", tt.b); a == b {
			t.Errorf("%s and %s are both %s", tt.a, tt.b, a)
		}
	}
	if a, b := nameOf("admin.listen", "localhost:0"), nameOf("admin.listen", "127.0.0.1:0"); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestPIDFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	p, err := newPIDFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there before it is written")
	}
	if err := p.write(); err != nil {
		t.Fatal(err)
	}
	if pid, err := ReadPID(path); err != nil || pid != os.Getpid() {
		t.Errorf("%d, %v", pid, err)
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
	p.remove()
	if _, err := os.Stat(path); err == nil {
		t.Error("still there after the process")
	}
	// Another process's is left alone.
	for _, text := range []string{"1\n", "x", "-5", ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p.remove(); fileText(path) != text {
			t.Errorf("%q was removed", text)
		}
		if pid, err := ReadPID(path); (err == nil) != (text == "1\n") {
			t.Errorf("%q names %d, %v", text, pid, err)
		}
	}
	if _, err := newPIDFile(filepath.Join(path, "below a file")); err == nil {
		t.Error("a file that cannot be written is found out too late")
	}
	var none *pidFile
	if err := none.write(); err != nil {
		t.Error(err)
	}
	none.remove()
}

func fileText(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// A request to hand over ends with the process that serves then, or says that it is still the old one.
func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(path string) error
		limit  time.Duration
		after  int
		err    string
	}{
		{"another process serves", func(path string) error { return replace(path, 1) }, time.Minute, 1, ""},
		{"the old one says that it goes on", func(path string) error { return replace(path, os.Getpid()) }, time.Minute, 0, "goes on"},
		{"it ended", os.Remove, time.Minute, 0, "has ended"},
		{"nobody says anything", func(string) error { return nil }, 100 * time.Millisecond, 0, "in time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pid")
			p := &pidFile{path: path}
			if err := p.write(); err != nil {
				t.Fatal(err)
			}
			defer p.remove()
			heard := hear(t) // this test is the process that is asked
			go func() {
				<-heard
				if err := tt.change(path); err != nil {
					t.Error(err)
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			before, after, err := Request(ctx, path)
			if before != os.Getpid() || after != tt.after || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d, %d, %v", before, after, err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "pid")
	if _, _, err := Request(t.Context(), path); err == nil {
		t.Error("no pid file, no error")
	}
	if err := replace(path, 1<<30); err != nil { // more than there can be
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	hold(f)
	if _, _, err := Request(t.Context(), path); err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("a process that is not there: %v", err)
	}
}

// What a process left behind that did not end well may name a stranger by now: nobody is asked.
func TestRequestOfAStalePIDFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	p := &pidFile{path: path}
	if err := p.write(); err != nil {
		t.Fatal(err)
	}
	if forsaken(path) {
		t.Error("the file of a process that runs is taken for a stale one")
	}
	if err := p.write(); err != nil || forsaken(path) { // it goes on after an upgrade that failed
		t.Errorf("written again: %v", err)
	}
	p.release() // as the end of a process does
	heard := hear(t)
	if _, _, err := Request(t.Context(), path); err == nil || !strings.Contains(err.Error(), "stale") {
		t.Errorf("a stale file: %v", err)
	}
	select {
	case <-heard:
		t.Error("whoever has the number now was asked to hand over")
	case <-time.After(50 * time.Millisecond):
	}
}

// hear gives what this process is asked.
func hear(t *testing.T) <-chan os.Signal {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, Signal)
	t.Cleanup(func() { signal.Stop(heard) })
	return heard
}

func replace(path string, pid int) error {
	if err := os.WriteFile(path+".new", []byte(fmt.Sprint(pid)), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func TestNotify(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "eg") //nolint:usetesting // a socket's name may not be long
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "n")
	if err := notify("", "READY=1"); err != nil {
		t.Error(err)
	}
	if err := notify(name, "READY=1"); err == nil {
		t.Error("nobody is there, no error")
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	if err := notify(name, "READY=1"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := socket.Read(buf); err != nil || string(buf[:n]) != "READY=1" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// A service manager that reads no more does not hold up a process that starts or ends.
func TestNotifyTheDeaf(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "eg") //nolint:usetesting // a socket's name may not be long
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "n")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	full := make(chan error, 1)
	go func() {
		for {
			if err := notify(name, "READY=1"); err != nil {
				full <- err
				return
			}
		}
	}()
	select {
	case err := <-full:
		if !strings.Contains(err.Error(), "timeout") {
			t.Error(err)
		}
		_ = socket.Close()
	case <-time.After(10 * time.Second):
		t.Error("it waits for the service manager")
		_ = socket.Close()
		t.Log(<-full)
	}
}

// A process is begun once, starts anew from its own file whatever it was called by, and lists no inherited listener where there is
// no process before it.
func TestBegin(t *testing.T) {
	args := os.Args[0]
	defer func() { os.Args[0] = args }()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ called, want string }{{own, own}, {link, link}, {"sh", own}, {"not there", own}} {
		os.Args[0] = tt.called
		if got, err := program(); err != nil || got != tt.want {
			t.Errorf("called %s: %s, %v, want %s", tt.called, got, err, tt.want)
		}
	}
	os.Args[0] = args
	p, err := Begin(Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stopping()
	if p.Inherited() {
		t.Error("there is no process before this one")
	}
	l, err := p.Listen("server.listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := p.Listen("admin.listen", l.Addr().String()); err == nil {
		t.Error("two listeners at one address")
	}
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
	if _, err := Begin(Options{}); err == nil {
		t.Error("begun twice")
	}
}
