package ledger

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

func copied(text string, size int64) journal.Copy {
	return journal.Copy{Kind: "application/json", Text: []byte(text), Size: size}
}

// What is kept of a copy: redacted, cut at the limit in whole characters, and marked where something is missing.
func TestWhatIsKeptOfABody(t *testing.T) {
	t.Parallel()
	w := NewWriter(Options{Redact: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("secret"), []byte("***")) }})
	const limit = 100
	long := strings.Repeat("x", limit+journal.Overlap)
	for _, c := range []struct {
		name string
		copy journal.Copy
		want string
		cut  bool
	}{
		{"nothing", journal.Copy{Kind: "application/json"}, "", false},
		{"all of it", copied(`{"a":"secret"}`, 14), `{"a":"***"}`, false},
		{"as long as may be", copied(long[:limit], limit), long[:limit], false},
		{"a byte more", copied(long[:limit+1], limit+1), long[:limit], true},
		{"short enough without what is taken out", copied(strings.Repeat("secret", 20), 120), strings.Repeat("***", 20), false},
		{"longer than what was copied", copied(long, 1<<20), long[:limit], true},
		{"a secret that the copying cut", copied(long[:len(long)-64]+strings.Repeat("secret", 10)+"secr", 1<<20), long[:limit-30], true},
		{"one that comes near by what is taken out", copied(strings.Repeat("secret", len(long)/6-1)+"secr", 1<<20), "", true},
		{"within a character", copied(strings.Repeat("x", limit-1)+"ä", limit+1), long[:limit-1], true},
		{"no UTF-8", copied("a\xffb", 3), "a\ufffdb", false},
		{"zeros", journal.Copy{Kind: "text/plain; charset=x", Text: []byte("a\x00"), Size: 2}, "[text/plain, 2 bytes]", false},
		{"no text", journal.Copy{Kind: "audio/mpeg", Binary: true, Size: 7}, "[audio/mpeg, 7 bytes]", false},
		{"a secret for a kind", journal.Copy{Kind: "a/secret", Binary: true, Size: 7}, "[a/***, 7 bytes]", false},
		{"a kind of nothing", journal.Copy{Binary: true, Size: 7}, "[no text, 7 bytes]", false},
	} {
		text, wasCut := w.keep(&c.copy, limit)
		if text != c.want || wasCut != c.cut {
			t.Errorf("%s: %q, cut %v", c.name, text, wasCut)
		}
	}
}

// Bodies wait within a bound of their own; where it is reached rows go without, and none is dropped for a body. What was written makes room again.
func TestBodiesWaitWithinABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reached atomic.Bool
		kept := &bodyStore{}
		store := func() Store {
			if reached.Load() {
				return kept
			}
			return nil
		}
		w := NewWriter(Options{Store: store, Redact: bytes.Clone})
		w.Start()
		tell := func() {
			f := &journal.Request{ID: "a", Start: time.Now(), Bodies: &journal.Bodies{Limit: 1 << 20, Request: copied(strings.Repeat("x", 1<<20), 1<<20)}}
			w.RequestEnded(f)
			if f.Bodies != nil {
				t.Error("the fact has its bodies still")
			}
		}
		for range 20 {
			tell()
		}
		time.Sleep(time.Minute) // the store is lost
		reached.Store(true)
		time.Sleep(time.Minute)
		if w.Stats().Written != 20 || w.Stats().Dropped != 0 || kept.whole != 16 || kept.without != 4 || w.bodies.Load() != 0 {
			t.Errorf("%+v, %+v, %d bytes wait", w.Stats(), kept, w.bodies.Load())
		}
		reached.Store(false)
		tell()
		if err := w.Stop(soon(t)); err == nil || w.bodies.Load() != 0 {
			t.Errorf("%v, %d bytes wait after the end", err, w.bodies.Load())
		}
	})
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// bodyStore counts bodies.
type bodyStore struct {
	Store
	whole, without int
}

func (s *bodyStore) Write(_ context.Context, b Batch) error {
	return b.Each(func(r *Request) error {
		switch body := r.Body; {
		case body != nil && len(body.Request) == 1<<20:
			s.whole++
		case body != nil && body.Request == noRoom:
			s.without++
		}
		return nil
	})
}

func (s *bodyStore) Expire(context.Context, Retention) error { return nil }

// A row without its body is as it was listed, and no byte of it that is missing makes another body.
func TestListedRowsHaveNoBody(t *testing.T) {
	t.Parallel()
	row := wholeRow()
	b := AppendRequest([]byte("before"), row)[len("before"):]
	listed, err := DecodeListed(b)
	if err != nil || listed.Body != nil || listed.Model != row.Model {
		t.Errorf("%+v, %v", listed, err)
	}
	for n := range b {
		if got, err := DecodeRequest(b[:n]); err == nil && got.Body != nil && *got.Body != *row.Body {
			t.Errorf("%d bytes: %+v", n, got.Body)
		}
	}
}
