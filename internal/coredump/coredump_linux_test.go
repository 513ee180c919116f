package coredump

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// aloud is what the memory of the test's process holds, and what no core may.
const aloud = "EVERGATE_TEST_CORE"

// The protections are in force in a process that has called Forbid, what measures a process can still be read by itself, and its children
// begin anew. It runs in a process of its own: the one of the tests stays as it is.
func TestForbid(t *testing.T) {
	if os.Getenv(aloud) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestForbid$", "-test.v")
		cmd.Env = append(os.Environ(), aloud+"=1")
		if os.Getuid() == 0 { // as somebody who may not read everything anyway
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			cmd.Dir, cmd.Path = "/", "/proc/self/exe" // where the binary lies others may not go
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestForbid")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for range 2 {
		if err := Forbid(); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || d != 0 {
		t.Errorf("dumpable: %d, %v", d, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Cur != 0 {
		t.Errorf("the limit is %d, %v", limit.Cur, err)
	}
	if b, err := os.ReadFile("/proc/self/coredump_filter"); err != nil || strings.Trim(string(b), "0\n") != "" {
		t.Errorf("the filter is %q, %v", b, err)
	}
	// What metrics of a process and profiles are made of.
	for _, name := range []string{"stat", "status", "limits", "maps", "statm", "cmdline"} {
		if b, err := os.ReadFile("/proc/self/" + name); err != nil || len(b) == 0 {
			t.Errorf("%s cannot be read any more: %v", name, err)
		}
	}
	if list, err := os.ReadDir("/proc/self/fd"); err != nil || len(list) < 3 {
		t.Errorf("the open files cannot be counted any more: %d, %v", len(list), err)
	}
	// Another process of the same user may not look.
	mem := "/proc/" + strconv.Itoa(os.Getpid()) + "/environ"
	out, err := exec.CommandContext(t.Context(), "cat", mem).CombinedOutput()
	if err == nil {
		t.Errorf("another process reads the environment: %q", out)
	}
	// And a child begins as processes do.
	out, err = exec.CommandContext(t.Context(), "cat", "/proc/self/environ").CombinedOutput()
	if err != nil || !strings.Contains(string(out), aloud) {
		t.Errorf("a child cannot read its own: %v %s", err, out)
	}
}
