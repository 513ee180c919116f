package ingress

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"evergate/internal/journal"
)

// Copies end at their limit and at that of all requests together, never have a gap, and give their room back.
func TestCopiesHaveBounds(t *testing.T) {
	t.Parallel()
	var all atomic.Int64
	piece := []byte(strings.Repeat("x", 1000))
	const limit = 64 << 10
	c := newCopies(limit, http.Header{}, &all)
	for range 1000 {
		c.said("text/event-stream", "", piece)
	}
	if r := &c.of.Response; len(r.Text) != limit+journal.Overlap || r.Size != 1_000_000 || all.Load() != int64(cap(r.Text)) {
		t.Errorf("%d bytes of %d; %d in all", len(r.Text), r.Size, all.Load())
	}
	next := newCopies(limit, http.Header{}, &all)
	next.said("", "", piece)
	all.Add(maxCopied)
	next.said("", "", piece)
	all.Add(-maxCopied)
	next.said("", "", piece)
	if of := next.take(); len(of.Response.Text) != 1000 || of.Response.Size != 3000 || next.take() != nil {
		t.Errorf("%+v", of.Response)
	}
	next.said("", "", piece) // after the end, as keep-alives may
	next.end()
	c.end()
	c.request(piece)
	if all.Load() != 0 {
		t.Errorf("%d bytes are never given back", all.Load())
	}
}

func TestTextual(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{
		"": true, "application/json": true, "Application/JSON; charset=utf-8": true, "text/event-stream": true, "application/x-ndjson": true, "application/problem+json": true,
		"application/vnd.amazon.eventstream": false, "audio/mpeg": false, "multipart/form-data; boundary=a": false, "application/octet-stream": false, "image/svg+xml": true,
	} {
		if textual(kind, "") != want || textual(kind, "gzip") || textual(kind, "identity") != want {
			t.Errorf("%s: %v", kind, !want)
		}
	}
}
