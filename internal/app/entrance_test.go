package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/replica"
	"evergate/internal/store/memory"
)

// persistent is a client's connection that asks one thing after another.
type persistent struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

func (s *stack) persistent(t *testing.T) *persistent {
	t.Helper()
	conn := s.wire(t)
	return &persistent{t, conn, bufio.NewReader(conn)}
}

// ask gives in one word what came of a request: its status, with "close" if the connection ends, or "cut".
func (k *persistent) ask(stream bool) string {
	k.t.Helper()
	body := fmt.Sprintf(`{"model":"demo","stream":%t,"messages":[{"role":"user","content":"hi"}]}`, stream)
	if _, err := io.WriteString(k.conn, head("POST", "/v1/chat/completions", len(body))+body); err != nil {
		return "cut"
	}
	resp, err := http.ReadResponse(k.reader, nil)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || stream && !strings.Contains(string(text), "[DONE]") {
		return "cut"
	}
	if resp.Close {
		return resp.Status[:3] + " close"
	}
	return resp.Status[:3]
}

// ended says how long the other side left the connection open from now on.
func (k *persistent) ended() time.Duration {
	start := time.Now()
	_, _ = k.reader.ReadByte()
	return time.Since(start)
}

// near allows for the looks that a drain takes at its connections.
func near(got, want time.Duration) bool { return got >= want && got < want+5*lookAround }

func (s *stack) stopping(f func(context.Context) error) (ended chan time.Duration) {
	ended = make(chan time.Duration, 1)
	go func() {
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := f(ctx); err != nil {
			s.t.Error(err)
		}
		ended <- time.Since(start)
	}()
	return ended
}

// With shutdown_delay a stop begins with readiness alone: whoever comes is served, and told that the connection ends.
func TestShutdownDelay(t *testing.T) {
	const config = "\nserver: {listen: \"gateway:80\", shutdown_delay: 10s}\n"
	text := strings.Replace(twoProviders, "\nserver: {listen: \"gateway:80\"}\n", config, 1)
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers()})
		old := s.persistent(t)
		if got := old.ask(false); got != "200" {
			t.Errorf("before: %s", got)
		}
		start := time.Now()
		left := make(chan time.Duration)
		go func() { s.app.Leave(t.Context()); left <- time.Since(start) }()
		synctest.Wait()
		if ok, _ := s.app.ready(); ok {
			t.Error("ready though it is leaving")
		}
		for _, stream := range []bool{false, true} {
			if got := s.persistent(t).ask(stream); got != "200 close" {
				t.Errorf("in the delay: %s", got)
			}
		}
		time.Sleep(9*time.Second - time.Since(start))
		if got := old.ask(false); got != "200 close" {
			t.Errorf("on an old connection: %s", got)
		}
		if d := <-left; d != 10*time.Second {
			t.Errorf("left after %s", d)
		}
		<-s.stopping(s.app.Stop)
		if _, err := s.net.DialContext(t.Context(), "tcp", "gateway:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the stop: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, text, map[string]mock.Script{"a": answers(), "b": answers()})
		ctx, again := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, again)
		start := time.Now()
		if s.app.Leave(ctx); time.Since(start) != 3*time.Second {
			t.Errorf("a second signal after 3s, left after %s", time.Since(start))
		}
	})
}

// A stop cuts nobody off who asks while it goes on: a connection that is silent has a moment left, one whose stream ends in the
// drain as well, and each hears with its answer that it was the last.
func TestConnectionsAtStop(t *testing.T) {
	for name, c := range map[string]struct {
		stop  func(*App, context.Context) error
		quiet time.Duration
		ready bool
	}{
		"stop":      {(*App).Stop, time.Second, false},
		"hand-over": {(*App).HandOver, 5 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{
					"a": {Defaults: mock.Behaviour{ChunkDelay: time.Second, Chunks: 8, FirstToken: time.Second, ChunkSize: 4}}, "b": answers(),
				})
				streams, silent, comesBack, empty, half := s.persistent(t), s.persistent(t), s.persistent(t), s.persistent(t), s.persistent(t)
				for _, k := range []*persistent{silent, comesBack} {
					if got := k.ask(false); got != "200" {
						t.Fatal(got)
					}
				}
				_, _ = io.WriteString(half.conn, "POST /v1/chat")
				streamed := make(chan string)
				go func() {
					first := streams.ask(true)
					time.Sleep(c.quiet - 100*time.Millisecond)
					streamed <- first + ", " + streams.ask(false)
				}()
				time.Sleep(3 * time.Second)
				ended := s.stopping(func(ctx context.Context) error { return c.stop(s.app, ctx) })
				synctest.Wait()
				if ok, _ := s.app.ready(); ok != c.ready {
					t.Errorf("ready: %t", ok)
				}
				if _, err := s.net.DialContext(t.Context(), "tcp", "gateway:80"); !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("a new connection: %v", err)
				}
				for what, k := range map[string]*persistent{"one that is silent": silent, "one that never asked": empty, "half a request": half} {
					go func() {
						if d := k.ended(); !near(d, c.quiet) {
							t.Errorf("%s was closed after %s", what, d)
						}
					}()
				}
				time.Sleep(c.quiet - 100*time.Millisecond)
				if got := comesBack.ask(false); got != "200 close" {
					t.Errorf("who comes back: %s", got)
				}
				if got := <-streamed; got != "200, 200 close" {
					t.Errorf("who streamed: %s", got)
				}
				<-ended
			})
		})
	}
}

// Without anybody there a stop takes no time, and connections that never sent a whole request cost it a second, not five.
func TestStopIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		if d := <-s.stopping(s.app.Stop); d != 0 {
			t.Errorf("it took %s", d)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
		s.persistent(t)
		_, _ = io.WriteString(s.persistent(t).conn, "POST /v1/chat")
		synctest.Wait()
		if d := <-s.stopping(s.app.Stop); !near(d, time.Second) {
			t.Errorf("it took %s", d)
		}
	})
}

// At a hand-over every listener is closed before the first request is waited for: the other process has them.
func TestHandOverClosesEveryListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Replace(twoProviders, "admin: {", "admin: {listen: \"office:81\", ", 1)
		s := newStack(t, text, map[string]mock.Script{"a": do(mock.Behaviour{Hang: mock.BeforeHeaders}), "b": answers()})
		go s.persistent(t).ask(false)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = s.app.HandOver(ctx); close(done) }()
		synctest.Wait()
		for _, addr := range []string{"gateway:80", "office:81"} {
			if _, err := s.net.DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v", addr, err)
			}
		}
		if n := s.app.ingress.InFlight(); n != 1 {
			t.Errorf("%d requests under way", n)
		}
		cancel()
		<-done
	})
}

// A process that takes over knows the providers' models before it takes anybody in, as the one before does; another start does not
// wait for them.
func TestStartAfterAHandOver(t *testing.T) {
	for _, settle := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
			s.net.Serve(t, "slow:80", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(3 * time.Second)
				_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"found","object":"model"}]}`)
			}))
			cfg := parse(t, "server: {listen: \"next:80\"}\nauth: {allow_anonymous: true}\nadmin: {token: t}\nproviders: {slow: {type: openai, base_url: \"http://slow/v1\", api_key: k}}\n")
			a, err := New(Options{
				Config: cfg, Logger: slog.New(slog.DiscardHandler), Dial: s.net.DialContext, Settle: settle,
				Listen: func(_, addr string) (net.Listener, error) { return s.net.Listen(addr), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took != min(settle, 3*time.Second) {
				t.Errorf("settle %s: it took %s", settle, took)
			}
			if got := len(a.catalog.Snapshot().ByModel["found"]) > 0; got != (settle > 0) {
				t.Errorf("settle %s: the model is known: %t", settle, got)
			}
			if err := a.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second) // the provider's
		})
	}
}

// A process that takes over knows the keys in the store before it takes anybody in: none of its first requests is told to come again.
func TestKeysAreKnownAfterAHandOver(t *testing.T) {
	for _, settle := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			at := memory.New(time.Now)
			defer at.Close()
			s := newStack(t, twoProviders, map[string]mock.Script{"a": answers(), "b": answers()})
			cfg := parse(t, "server: {listen: \"next:80\"}\nauth: {mode: keys}\nadmin: {token: t}\nproviders: {a: {type: openai, base_url: \"http://a/v1\", api_key: k, models: [m]}}\n"+sharedState)
			a, err := New(Options{
				Config: cfg, Logger: slog.New(slog.DiscardHandler), Dial: s.net.DialContext, Settle: settle,
				Listen: func(_, addr string) (net.Listener, error) { return s.net.Listen(addr), nil },
				OpenState: func(ctx context.Context, _ config.State) (replica.Store, error) {
					select { // it is slow
					case <-time.After(2 * time.Second):
						return at.Peer(), nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			if a.callers.Waits() != (settle == 0) {
				t.Errorf("settle %s: keys are not known: %t", settle, a.callers.Waits())
			}
			if err := a.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
