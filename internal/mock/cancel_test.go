package mock_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// The provider sees at once that its client went away, wherever the exchange stands.
func TestCancellationIsSeenAtOnce(t *testing.T) {
	const giveUp = 1500 * time.Millisecond
	huge := "chunks=3; chunk_size=200000" // more than a connection holds, for a client that does not read
	cases := map[string]struct {
		fault  string
		stream bool
		read   bool
		chunks int
		status int
	}{
		"before headers":            {"latency=10s", true, true, 0, 0},
		"hang before headers":       {"hang=before_headers", false, true, 0, 0},
		"after headers":             {"first_token=10s", true, true, 0, 200},
		"plain, after headers":      {"first_token=10s", false, true, 0, 200},
		"between chunks":            {"chunk_delay=1s; chunks=9", true, true, 2, 200},
		"stalled":                   {"hang=3; chunks=9", true, true, 3, 200},
		"keepalives only":           {"hang=headers; keepalive=100ms", true, true, 0, 200},
		"hang before the end":       {"hang=end; chunks=4", true, true, 4, 200},
		"blocked in a write":        {huge, true, false, 0, 200},
		"plain, blocked in a write": {huge, false, false, 0, 200},
		"gzip, between chunks":      {"gzip; chunk_delay=1s; chunks=9", true, true, 2, 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run(t, mock.Script{}, func(t *testing.T, b *bench) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), giveUp)
				defer cancel()
				resp, err := b.client.Do(post(ctx, t, "/v1/chat/completions", chat("m", c.stream), mock.FaultHeader, c.fault))
				if err == nil {
					if c.read {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					<-ctx.Done()
					_ = resp.Body.Close()
				}
				synctest.Wait()
				seen := b.Requests()
				if len(seen) != 1 {
					t.Fatalf("%d requests were seen", len(seen))
				}
				s := seen[0]
				if got := s.CancelledAt.Sub(start); got != giveUp {
					t.Errorf("cancellation seen after %v, want exactly %v", got, giveUp)
				}
				if s.Done != s.CancelledAt || s.Chunks != c.chunks || s.Status != c.status {
					t.Errorf("done %v after, %d chunks, status %d", s.Done.Sub(start), s.Chunks, s.Status)
				}
				if got, want := b.Counts(), (mock.Counts{Requests: 1, Peak: 1, Cancelled: 1}); got != want {
					t.Errorf("counts %+v, want %+v", got, want)
				}
				if n := b.net.Open(); n != 0 {
					t.Errorf("%d connection ends are open", n)
				}
			})
		})
	}
}

func TestCancellationOnHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := overHTTP2(t, mock.Script{})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := readAll(b.client.Do(post(ctx, t, "/v1/chat/completions", chat("mock-stall", true)))); err == nil {
			t.Error("the stream ended")
		}
		synctest.Wait()
		if got := b.Requests()[0].CancelledAt.Sub(start); got != time.Second {
			t.Errorf("cancellation seen after %v, want exactly 1s", got)
		}
	})
}

// A client that goes away while it sends is no request to answer.
func TestClientGoesAwayWhileSending(t *testing.T) {
	run(t, mock.Script{}, func(t *testing.T, b *bench) {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, `{"model":`)
			time.Sleep(time.Second)
			_ = w.CloseWithError(io.ErrClosedPipe)
		}()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock/v1/chat/completions", r)
		if err := readAll(b.client.Do(req)); err == nil {
			t.Error("an answer came")
		}
		synctest.Wait()
		if s := b.Requests()[0]; s.CancelledAt.IsZero() || s.Status != 0 {
			t.Errorf("seen %+v", s)
		}
	})
}

// A whole exchange is not cancelled, nor is one that a fault ended.
func TestNotCancelled(t *testing.T) {
	for _, fault := range []string{"gzip", "cut=1", "reset=before_headers", "eof=1", "error=1", "status=204"} {
		run(t, mock.Script{}, func(t *testing.T, b *bench) {
			_ = readAll(b.client.Do(post(t.Context(), t, "/v1/chat/completions", chat("m", true), mock.FaultHeader, fault)))
			synctest.Wait()
			s := b.Requests()[0]
			if !s.CancelledAt.IsZero() || s.Done.IsZero() || b.Counts().Cancelled != 0 {
				t.Errorf("%s: seen %+v", fault, s)
			}
		})
	}
}

func TestSeen(t *testing.T) {
	run(t, mock.Script{Rules: []mock.Rule{{Model: "b*"}, {Name: "all"}}}, func(t *testing.T, b *bench) {
		start := time.Now()
		body := chat("big", true)
		b.ask(t, "/v1/chat/completions?x=1", body, "Authorization", "Bearer sk-secret-1234", "X-Trace", "t1", "Cookie", "c=1")
		b.ask(t, "/v1/embeddings", `{"model":"small","input":"x"}`, "Api-Key", "k")
		synctest.Wait()
		seen := b.Requests()
		if len(seen) != 2 {
			t.Fatalf("%d were seen", len(seen))
		}
		s := seen[0]
		if s.N != 1 || s.Method != "POST" || s.Path != "/v1/chat/completions" || s.Model != "big" || !s.Stream || s.Key != "1234" ||
			string(s.Body) != body || s.BodySize != len(body) || s.Rule != "rules[0]" || s.Status != 200 || s.Start != start || s.Done != start {
			t.Errorf("seen %+v", s)
		}
		if s.Header.Get("X-Trace") != "t1" {
			t.Errorf("headers %v", s.Header)
		}
		for name, values := range s.Header {
			if strings.Contains(strings.Join(values, " "), "secret") || name == "Cookie" {
				t.Errorf("%s: %v is kept", name, values)
			}
		}
		if s := seen[1]; s.N != 2 || s.Key != "k" || s.Rule != "all" || s.Stream || s.Header.Get("Api-Key") != "" {
			t.Errorf("seen %+v", s)
		}
	})
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	run(t, mock.Script{}, func(t *testing.T, b *bench) {
		var watched []int
		b.Watch(func(s mock.Seen) { watched = append(watched, s.N) })
		b.Remember(2)
		for range 3 {
			b.ask(t, "/v1/chat/completions", chat("m", false))
		}
		synctest.Wait()
		if seen := b.Requests(); len(seen) != 2 || seen[0].N != 2 || seen[1].N != 3 {
			t.Errorf("remembered %+v", seen)
		}
		long := `{"model":"m","input":"` + strings.Repeat("x", 256<<10) + `"}`
		b.ask(t, "/v1/embeddings", long)
		synctest.Wait()
		if s := b.Requests()[1]; s.Body != nil || s.BodySize != len(long) {
			t.Errorf("a body of %d is kept, size %d", len(s.Body), s.BodySize)
		}
		b.Remember(0)
		b.ask(t, "/v1/chat/completions", chat("m", false))
		synctest.Wait()
		if seen := b.Requests(); len(seen) != 0 {
			t.Errorf("remembered %+v", seen)
		}
		if len(watched) != 5 || watched[4] != 5 {
			t.Errorf("watched %v", watched)
		}
	})
}
