package ingress

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// read has a body read that came with this announced length; -1 for none.
func read(body io.Reader, announced int64) ([]byte, int, string) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", body)
	r.ContentLength = announced
	x := &exchange{cfg: &Config{MaxBody: 32 << 20}, w: w, r: r, control: http.NewResponseController(w)}
	buf, f := x.readBody()
	if f != nil {
		return nil, 0, f.Message
	}
	defer buf.Release()
	return bytes.Clone(buf.B), cap(buf.B), ""
}

// Bodies arrive whole, whatever their size and however they come, up to the limit itself; what is set aside for one is
// little more than it needs.
func TestReadBody(t *testing.T) {
	for _, size := range []int{1, 63, 64, 65, 447, 448, 449, 511, 512, 513, 4096, 50_000, 256 << 10, 256<<10 + 1, 1 << 20, 32<<20 - 1, 32 << 20} {
		text := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		for _, announced := range []int64{int64(size), -1} {
			got, room, problem := read(bytes.NewReader(text), announced)
			if problem != "" || !bytes.Equal(got, text) {
				t.Errorf("%d bytes, announced %d: %d came, %s", size, announced, len(got), problem)
			}
			if room > max(2*size+128, 512) {
				t.Errorf("%d bytes, announced %d: %d set aside", size, announced, room)
			}
		}
	}
	if got, _, problem := read(iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 5000))), -1); len(got) != 5000 {
		t.Errorf("byte by byte: %d came, %s", len(got), problem)
	}
	for _, announced := range []int64{32<<20 + 1, -1} {
		if _, _, problem := read(strings.NewReader(strings.Repeat("x", 32<<20+1)), announced); !strings.Contains(problem, "larger than") {
			t.Errorf("one byte too many, announced %d: %q", announced, problem)
		}
	}
}

// A Content-Length is a claim: nothing large is set aside before the bytes come, or a thousand idle clients would be
// 32 GiB.
func TestClaimedLengthSetsNothingAside(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		if _, _, problem := read(iotest.ErrReader(io.ErrUnexpectedEOF), 32<<20); !strings.Contains(problem, "ended early") {
			t.Fatal(problem)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 10; each > 1<<20 {
		t.Errorf("%d bytes for a body that never came", each)
	}
}
