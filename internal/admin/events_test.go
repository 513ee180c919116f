package admin

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/api"
	"evergate/internal/feed"
	"evergate/internal/ledger"
	"evergate/internal/testkit/openapi"
)

// watcher is a client that reads events, and the writer that it is sent them by.
type watcher struct {
	header   http.Header
	mu       sync.Mutex // guards the next ones
	deadline time.Time  // of the last write
	out      strings.Builder
	broken   bool
	leave    context.CancelFunc
	done     chan struct{}
}

func (w *watcher) Header() http.Header { return w.header }
func (w *watcher) WriteHeader(int)     {}
func (w *watcher) Flush()              {}

func (w *watcher) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return nil
}

func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if left := time.Until(w.deadline); w.broken || left <= 0 || left > sendTimeout {
		return 0, io.ErrClosedPipe
	}
	w.out.Write(b)
	return len(b), nil
}

// watch begins to read; change adjusts the request.
func watch(t *testing.T, h http.Handler, query string, change ...func(*http.Request)) *watcher {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	w := &watcher{header: http.Header{}, leave: leave, done: make(chan struct{})}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/admin/v1/events"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr = "127.0.0.1:50000"
	for _, c := range change {
		c(r)
	}
	go func() {
		defer close(w.done)
		h.ServeHTTP(w, r)
	}()
	t.Cleanup(func() { leave(); <-w.done })
	synctest.Wait()
	return w
}

// read gives what came since the last time.
func (w *watcher) read() string {
	time.Sleep(time.Second)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.out.String()
	w.out.Reset()
	return text
}

// ended says whether the stream has ended.
func (w *watcher) ended() bool {
	synctest.Wait()
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func hear(f *feed.Feed, r ledger.Request) { f.Heard(r.Kind, ledger.AppendRequest(nil, &r)) }

const helloText = "retry: 2000\n\nid: i1-0\nevent: hello\ndata: {\"instance\":\"i1\",\"version\":\"v1\"}\n\n"

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kept(t)
		w := watch(t, New(s, Options{}), "")
		equal(t, "hello", w.read(), helloText)
		equal(t, "type", w.header.Get("Content-Type"), "text/event-stream")
		equal(t, "caching", w.header.Get("Cache-Control"), "no-store")

		hear(s.Feed, ended(time.Now(), "req_1"))
		copied := ended(time.Now(), "req_1")
		copied.Kind = ledger.KindMirror
		hear(s.Feed, copied)
		e := opened(time.Now())
		s.Feed.Heard(e.Kind, ledger.AppendEntry(nil, &e))
		doc := openapi.Load(t, api.Admin)
		events := strings.Split(strings.TrimSuffix(w.read(), "\n\n"), "\n\n")
		for i, want := range []struct{ id, name, schema string }{{"i1-1", "request", "Request"}, {"i1-2", "mirror", "Mirrored"}, {"i1-3", "guard", "Entry"}} {
			if len(events) != 3 {
				t.Fatalf("%d events: %q", len(events), events)
			}
			data, ok := strings.CutPrefix(events[i], "id: "+want.id+"\nevent: "+want.name+"\ndata: ")
			if !ok || strings.Contains(data, "\n") {
				t.Errorf("%s: %q", want.name, events[i])
			}
			doc.CheckSchema(t, want.schema, []byte(data))
		}
		// The event is the row of the list, word for word.
		s.Feed.Heard(e.Kind, ledger.AppendEntry(nil, &e))
		equal(t, "entry", strings.Contains(w.read(), "data: "+string(encode(newEntry(&e)))+"\n\n"), true)
	})
}

// A silent stream is kept open for hours, and each write has its own deadline.
func TestEventsLastForHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kept(t)
		w := watch(t, New(s, Options{}), "?kinds=guard")
		w.read()
		time.Sleep(3*time.Hour - 3*time.Second) // with those that reading takes it falls between two pings
		hear(s.Feed, ended(time.Now(), "req_1"))
		text := w.read()
		if n := strings.Count(text, ":\n\n"); n != 719 || len(text) != 3*n {
			t.Errorf("%d pings in %q", n, text[:min(len(text), 200)])
		}
	})
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(*feed.Feed, *watcher)
	}{
		{"the gateway stops", func(f *feed.Feed, _ *watcher) { f.Stop() }},
		{"the token is another", func(f *feed.Feed, _ *watcher) { f.HangUp() }},
		{"the client leaves", func(_ *feed.Feed, w *watcher) { w.leave() }},
		{"the client does not read", func(f *feed.Feed, w *watcher) {
			w.mu.Lock()
			w.broken = true
			w.mu.Unlock()
			hear(f, ended(time.Now(), "req_1"))
			time.Sleep(time.Second)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := kept(t)
				w := watch(t, New(s, Options{}), "")
				equal(t, "before", w.ended(), false)
				tt.end(s.Feed, w)
				equal(t, "after", w.ended(), true)
			})
		})
	}
}

func TestEventsAfterABreak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kept(t)
		h := New(s, Options{})
		w := watch(t, h, "")
		w.leave()
		hear(s.Feed, ended(time.Now(), "req_1"))
		back := watch(t, h, "", header("Last-Event-ID", "i1-0")).read()
		if !strings.Contains(back, "id: i1-1\nevent: request\n") {
			t.Errorf("%q", back)
		}
		other := watch(t, h, "", header("Last-Event-ID", "i2-7")).read()
		if !strings.Contains(other, "event: lost\ndata: {\"count\":null}\n\n") {
			t.Errorf("%q", other)
		}
		slow := watch(t, h, "?kinds=request")
		slow.read()
		row := ended(time.Now(), "req_2")
		for range feed.Kept + 5 {
			hear(s.Feed, row)
		}
		if text := slow.read(); !strings.HasPrefix(text, "event: lost\ndata: {\"count\":5}\n\nid: i1-7\n") || strings.Count(text, "event: request") != feed.Kept {
			t.Errorf("%d %.200q", strings.Count(text, "event: request"), text)
		}
	})
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := kept(t)
		h := New(s, Options{})
		for range feed.MaxReaders {
			watch(t, h, "")
		}
		w := ask(h, "GET", "/admin/v1/events")
		equal(t, "one too many", []any{w.Code, code(t, w), w.Header().Get("Retry-After")}, []any{503, "too_many_readers", "5"})
	})
}

func TestEventsByHead(t *testing.T) {
	t.Parallel()
	s := kept(t)
	w := ask(New(s, Options{}), "HEAD", "/admin/v1/events")
	equal(t, "reply", []any{w.Code, w.Header().Get("Content-Type"), w.Body.Len()}, []any{200, "text/event-stream", 0})
	s.Feed.Stop()
	w = ask(New(s, Options{}), "GET", "/admin/v1/events")
	equal(t, "stopping", []any{w.Code, code(t, w)}, []any{503, "stopping"})
}
