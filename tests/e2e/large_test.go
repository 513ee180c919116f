package e2e

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gib is what is sent up and down; growth is how much more memory the gateway may take for it than it had before.
const (
	gib    = 1 << 30
	growth = 32 << 20
)

// TestGibibyte sends a gibibyte through passthrough with curl, in each way that a body can come, and fetches one: what
// arrives is what was sent, and the gateway's memory stays flat.
func TestGibibyte(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	s := warehouse(t)
	g := serve(t, fmt.Sprintf("providers:\n  up: { type: openai, base_url: \"%s/v1\", api_key: house-key, models: [m] }\n", s.URL), "")
	url := g.url + "/passthrough/up/v1"
	file := filepath.Join(t.TempDir(), "large.bin")
	want := fill(t, file)
	cases := []struct {
		name string
		argv []string
		pipe bool
		want string
	}{
		{"with its length", []string{"-T", file, "-X", "POST", url + "/bytes"}, false, want + " length"},
		{"in chunks", []string{"-T", "-", "-X", "POST", url + "/bytes"}, true, want + " chunked"},
		{"in a form", []string{"-F", "purpose=batch", "-F", "file=@" + file, url + "/form"}, false, want + " batch"},
		{"as a file of an API", []string{"-H", "x-evergate-provider: up", "-F", "purpose=batch", "-F", "file=@" + file, g.url + "/v1/files"}, false, want + " batch"},
		{"back", []string{"--fail", url + "/bytes"}, false, want},
	}
	if got := curl(t, nil, "-d", "warm", url+"/bytes"); !strings.HasPrefix(got, "4 ") {
		t.Fatalf("a small body: %s", got)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := g.peak(t)
			var input io.Reader
			if c.pipe {
				f, err := os.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = f.Close() }()
				input = io.MultiReader(f) // no file for curl: its length is not to be known
			}
			began := time.Now()
			if got := curl(t, input, c.argv...); got != c.want {
				t.Errorf("what arrived: %q, want %q", got, c.want)
			}
			took, after := time.Since(began), g.peak(t)
			t.Logf("%.0f MiB/s; most memory ever: %d MiB before, %d MiB after", gib/(1<<20)/took.Seconds(), before>>20, after>>20)
			if after-before > growth {
				t.Errorf("the memory grew by %d MiB", (after-before)>>20)
			}
		})
	}
}

// curl runs it and gives what it printed; if that is long, its length and sum.
func curl(t *testing.T, input io.Reader, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "curl", append([]string{"--silent", "--show-error", "--noproxy", "*"}, argv...)...)
	var out weighed
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &complaint
	if err := cmd.Run(); err != nil {
		t.Fatalf("curl: %v: %s%s", err, complaint.String(), &out)
	}
	return out.String()
}

// weighed keeps a short output, and of a long one its length and sum.
type weighed struct {
	start []byte
	n     int
	sum   uint32
}

func (w *weighed) Write(p []byte) (int, error) {
	w.start = append(w.start, p[:min(len(p), 1<<10-len(w.start))]...)
	w.n += len(p)
	w.sum = crc32.Update(w.sum, crc32.MakeTable(crc32.Castagnoli), p)
	return len(p), nil
}

func (w *weighed) String() string {
	if w.n > len(w.start) {
		return fmt.Sprintf("%d %08x", w.n, w.sum)
	}
	return strings.TrimSpace(string(w.start))
}

// peak is the most memory that the program ever had (VmHWM), in bytes.
func (p *process) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("this system does not tell how much memory a program had: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no VmHWM in %s", status)
	return 0
}

// fill writes a gibibyte of noise to a file, and gives its length and sum.
func fill(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	var all weighed
	if _, err := io.CopyN(io.MultiWriter(f, &all), rand.NewChaCha8([32]byte{1}), gib); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// warehouse is an upstream that weighs what it is sent, and sends as much.
func warehouse(t *testing.T) *httptest.Server {
	t.Helper()
	weigh := func(w http.ResponseWriter, r io.Reader, more string) {
		var all weighed
		if _, err := io.Copy(&all, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprintf(w, "%d %08x %s", all.n, all.sum, more)
	}
	form := func(w http.ResponseWriter, r *http.Request) {
		parts, err := r.MultipartReader()
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		purpose := ""
		for part, err := parts.NextPart(); err == nil; part, err = parts.NextPart() {
			if part.FormName() == "file" {
				weigh(w, part, purpose)
				continue
			}
			text, _ := io.ReadAll(part)
			purpose = string(text)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	})
	mux.HandleFunc("POST /v1/bytes", func(w http.ResponseWriter, r *http.Request) {
		how := "chunked"
		if r.ContentLength >= 0 {
			how = "length"
		}
		weigh(w, r.Body, how)
	})
	mux.HandleFunc("POST /v1/form", form)
	mux.HandleFunc("POST /v1/files", form)
	mux.HandleFunc("GET /v1/bytes", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, rand.NewChaCha8([32]byte{1}), gib)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}
