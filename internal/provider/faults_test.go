package provider

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"evergate/internal/fault"
)

// recordedFault is one file of the corpus.
type recordedFault struct {
	facts  map[string]string
	status int
	header http.Header
	body   []byte
}

func readFault(t testing.TB, path string) recordedFault {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := recordedFault{facts: map[string]string{}}
	head, rest, _ := strings.Cut(string(b), "\n\n")
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": ")
		r.facts[key] = value
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(rest)), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	r.status, r.header = resp.StatusCode, resp.Header
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return r
}

// R3-R12, R14: every response of the corpus becomes the fault that it says. What a dialect finds in a body is left
// out: this package must do with less.
func TestFaultCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.http")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".http"), func(t *testing.T) {
			r := readFault(t, path)
			c := newClient(t, "http://up.test/v1", nil, nil)
			c.now = func() time.Time {
				now, err := time.Parse(time.RFC3339, r.facts["now"])
				if err != nil {
					return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
				}
				return now
			}
			var f *fault.Fault
			if r.facts["in-body"] != "" {
				// As a dialect's Judge would say it.
				w := readWords(r.body, "", "")
				f = c.Refine(&fault.Fault{Class: fault.Invalid, Status: r.status, Code: w.first, Message: w.message})
			} else {
				f = c.Classify(r.status, r.header, r.body, "", "")
				if !bytes.Equal(f.Body, r.body) && !bytes.Contains(f.Body, []byte(masked)) {
					t.Errorf("body became %q", f.Body)
				}
			}
			if f.Class.String() != r.facts["class"] || f.Seal != (r.facts["seal"] == "true") { // R10
				t.Errorf("class %v, seal %v, want %v, seal %q: %s", f.Class, f.Seal, r.facts["class"], r.facts["seal"], f.Message)
			}
			want := ""
			if f.Wait.Named {
				want = f.Wait.For.String()
			}
			if r.facts["wait"] != "" && want != r.facts["wait"] {
				t.Errorf("wait %q, want %q", want, r.facts["wait"])
			}
			if f.Message == "" || strings.Contains(f.Message, "<html") {
				t.Errorf("message %q", f.Message)
			}
			// Said twice is said the same: attempt may refine what Classify has made.
			if again := c.Refine(f); again.Class != f.Class || again.Seal != f.Seal || again.Message != f.Message {
				t.Errorf("refined again: %v", again)
			}
		})
	}
}

// A line of the table that no response reaches is a line nobody has checked.
func TestFaultTableIsCovered(t *testing.T) {
	files, err := filepath.Glob("testdata/faults/*.http")
	if err != nil {
		t.Fatal(err)
	}
	reached := map[int]bool{}
	for _, path := range files {
		r := readFault(t, path)
		w := readWords(r.body, "", "")
		status := r.status
		if r.facts["in-body"] != "" {
			status = w.status()
		}
		for i := range faultTable {
			if faultTable[i].fits(status, &w, strings.ToLower(w.message)) {
				reached[i] = true
				break
			}
		}
	}
	for i, e := range faultTable {
		if !reached[i] {
			t.Errorf("line %d (%v, %v %v) decides no file of the corpus", i, e.Class, e.Codes, e.Says)
		}
	}
}

func TestSays(t *testing.T) {
	for _, tc := range []struct {
		message, pattern string
		want             bool
	}{
		{"the model `x` does not exist", "model…does not exist", true},
		{"model model " + strings.Repeat("y", sayGap) + " does not exist", "model…does not exist", false},
		{"model " + strings.Repeat("y", sayGap) + " model x does not exist", "model…does not exist", true},
		{"does not exist: model", "model…does not exist", false},
		{"", "a", false},
		{"a b c", "a…b…c", true},
	} {
		if got := says(tc.message, tc.pattern); got != tc.want {
			t.Errorf("says(%q, %q) = %v", tc.message, tc.pattern, got)
		}
	}
}

// Every error of an upstream ends here: whatever it sends must neither panic nor be kept at any length.
func FuzzClassify(f *testing.F) {
	files, err := filepath.Glob("testdata/faults/*.http")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		r := readFault(f, path)
		f.Add(r.status, r.body, "", r.header.Get("Retry-After"))
	}
	c := newClient(f, "http://up.test/v1", nil, nil)
	f.Fuzz(func(t *testing.T, status int, body []byte, message, after string) {
		got := c.Classify(status, http.Header{"Retry-After": {after}}, body, "", message)
		if got.Class == fault.Unknown {
			t.Error("unknown class")
		}
		if len(got.Message) > maxMessage+len("…") || len(got.Code) > 128+len("…") {
			t.Errorf("message of %d bytes, code of %d", len(got.Message), len(got.Code))
		}
		if status >= 500 && status < 600 && got.Class == fault.Rejected {
			t.Error("R3: a 5xx was given to the caller as its own mistake")
		}
	})
}

// R18: what this machine lacks condemns no provider.
func TestStarvedConnection(t *testing.T) {
	for _, no := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS} {
		err := &connectError{err: &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", no)}}
		if class, words := classifyNet(err); class != fault.Next || class.BreakerFailure() || !class.Retryable() {
			t.Errorf("%v: %v %s", no, class, words)
		}
	}
}
