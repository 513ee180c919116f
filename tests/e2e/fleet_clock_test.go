package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// offsetVariable says by how many seconds the clock of a program that skewed built is wrong.
const offsetVariable = "EVERGATE_TEST_CLOCK_OFFSET"

const skewFile = `package time

import "syscall"

// clockOffset is by how many seconds Now is wrong.
var clockOffset = func() (offset int64) {
	text, _ := syscall.Getenv("` + offsetVariable + `")
	negative := len(text) > 0 && text[0] == '-'
	for _, c := range text {
		if '0' <= c && c <= '9' {
			offset = offset*10 + int64(c-'0')
		}
	}
	if negative {
		return -offset
	}
	return offset
}()
`

// skewed builds the program with a standard library whose time.Now is wrong. That is a library of its own for the compiler: the first time, all is
// compiled anew.
func skewed(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(text), now) {
		t.Fatal("this version of Go has another time.Now; this test has to be told how to make it wrong")
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {
		original: write("time.go", strings.Replace(string(text), now, now+"\tsec += clockOffset\n", 1)),
		filepath.Join(filepath.Dir(original), "offset.go"): write("offset.go", skewFile),
	}})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "evergate")
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(replaced)), "-o", program, "./cmd/evergate")
	build.Dir = repo
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build -overlay: %v\n%s", err, out)
	}
	return program
}

// TestFleetClocks runs three instances whose clocks are right, ten minutes ahead and ten minutes behind. A block that one saw is as long for each of
// them, and one probe goes out at its end (R63, R66).
func TestFleetClocks(t *testing.T) {
	if os.Getenv("EVERGATE_FLEET") != "full" {
		t.Skip("NOT TESTED: clocks that are wrong; the program has to be built anew for it, which takes minutes (EVERGATE_FLEET=full)")
	}
	program := skewed(t)
	eachServer(t, func(t *testing.T, s *stateServer) {
		const period = 6 * time.Second
		f := newFleet(t, s.url(s.addr), "1s", quick(period.String()), herd{kind: "short", n: 6}, herd{kind: "long", n: 6, more: ", resilience: { circuit_breaker: { timeout: 20m } }"},
			herd{kind: "rest", n: 6})
		offsets := []time.Duration{0, 10 * time.Minute, -10 * time.Minute}
		for _, d := range offsets {
			f.joinAs(t, []string{fmt.Sprintf("%s=%d", offsetVariable, int(d.Seconds()))}, program)
		}
		f.acquainted(t)
		var worst time.Duration
		same := func(what string, at func(fleetView) time.Time) {
			t.Helper()
			var ends []time.Time
			for k, g := range f.all {
				ends = append(ends, at(g.sees(t)).Add(-offsets[k])) // by the right clock
			}
			for _, end := range ends[1:] {
				apart := end.Sub(ends[0]).Abs()
				worst = max(worst, apart)
				if apart > 500*time.Millisecond {
					t.Errorf("%s: the instances have its end at %v", what, ends)
				}
			}
			if left := time.Until(ends[0]); left < 0 {
				t.Errorf("%s: it ended %v ago", what, -left)
			}
		}
		for i := range 6 {
			by := f.all[i%3]
			for _, kind := range []string{"long", "short"} {
				name := fmt.Sprintf("%s-%d", kind, i)
				f.up.set(name, failing)
				f.mustAsk(t, by, name, "good")
				for _, g := range f.all {
					g.believes(t, name, "open", 10*time.Second)
				}
				same(name, func(v fleetView) time.Time { return v.Providers[name].Breaker.RetryAt })
			}
			name := fmt.Sprintf("rest-%d", i)
			f.up.set(name, refusing)
			f.mustAsk(t, by, name, name)
			key := strings.TrimPrefix(f.up.got(name)[0].key, name+"-")
			for _, g := range f.all {
				eventually(t, 10*time.Second, func() error {
					if state := g.sees(t).Providers[name].Credentials[key].State; state != "cooldown" {
						return fmt.Errorf("%s has %s of %s %s", g.url, key, name, state)
					}
					return nil
				})
			}
			same(name, func(v fleetView) time.Time { return v.Providers[name].Credentials[key].CooldownUntil })
		}
		t.Logf("ends of blocks at instances whose clocks are 10 minutes ahead and behind: at most %v apart", worst.Round(time.Millisecond))

		f.up.set("short-0", nil)
		time.Sleep(period) // what all have opened by now is over
		c := f.under(t, 1, "short-0")
		for _, g := range f.all {
			g.believes(t, "short-0", "closed", 10*time.Second)
		}
		c.end()
		if failed := c.failures(nil); len(failed) > 0 {
			t.Errorf("%d requests failed, the first of them %s", len(failed), failed[0])
		}
	})
}
