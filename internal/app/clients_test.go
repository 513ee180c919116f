package app

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
	"evergate/internal/testkit"
)

const (
	smallChat  = `{"model":"demo","messages":[{"role":"user","content":"hi"}]}`
	streamChat = `{"model":"demo","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// wire is a client's connection of its own, for what http.Client would not do.
func (s *stack) wire(t *testing.T) testkit.ResetConn {
	t.Helper()
	c, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(testkit.ResetConn)
}

// head is a request's head with a body of n bytes announced.
func head(method, path string, n int, more ...string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", method, path, n, strings.Join(more, ""))
}

// reply reads one reply off a connection.
func reply(t *testing.T, c net.Conn) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("reply: %v", err)
	}
	return res, string(body)
}

// A client that reads nothing before its whole body is through gets the refusal, not a broken pipe: the rest is read
// away.
func TestRefusedBodyIsReadAway(t *testing.T) {
	const size = 2 << 20 // more than a connection holds, and than net/http reads by itself
	tests := []struct{ name, head, end string }{
		{"413 by its length", head("POST", "/v1/chat/completions", size), ""},
		{"413 in chunks", "POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n", "\r\n0\r\n\r\n"},
		{"404", head("POST", "/v1/nothing", size), ""},
		{"405", head("PUT", "/v1/chat/completions", size), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, strings.Replace(twoProviders, `"gateway:80"`, `"gateway:80", max_request_body: 1MiB`, 1), map[string]mock.Script{"a": {}, "b": {}})
				c := s.wire(t)
				if _, err := io.WriteString(c, tt.head+strings.Repeat(" ", size)+tt.end); err != nil {
					t.Fatalf("writing the body: %v", err)
				}
				res, body := reply(t, c)
				if want := tt.name[:3]; fmt.Sprint(res.StatusCode) != want || !strings.Contains(body, `"error"`) {
					t.Errorf("%d %s", res.StatusCode, body)
				}
			})
		})
	}
}

// Bodies that never come hold no connection for long, on no route.
func TestBodyThatNeverComes(t *testing.T) {
	tests := []struct {
		name, head string
		status     int
		answered   time.Duration // after the request began
	}{
		{"chat", head("POST", "/v1/chat/completions", 100), 408, time.Minute},
		{"chat, a huge one", head("POST", "/v1/chat/completions", 30<<20), 408, time.Minute},
		{"no such route", head("POST", "/v1/nothing", 100), 404, 5 * time.Second},
		{"no such route, a huge one", head("POST", "/v1/nothing", 30<<20), 404, 0},
		{"no such route, in chunks", "POST /v1/nothing HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n", 404, 0},
		{"a huge one, waiting for 100", head("POST", "/v1/nothing", 30<<20, "Expect: 100-continue\r\n"), 404, 0},
		{"wrong content type, waiting for 100", strings.Replace(head("POST", "/v1/chat/completions", 100, "Expect: 100-continue\r\n"), "application/json", "text/plain", 1), 415, 0},
		{"wrong method", head("PUT", "/v1/chat/completions", 100), 405, 5 * time.Second},
		{"models", head("GET", "/v1/models", 100), 200, 5 * time.Second},
		{"readiness", head("GET", "/readyz", 100), 200, 5 * time.Second},
		{"admin", head("POST", "/admin/v1/reload", 100), 401, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
				c, start := s.wire(t), time.Now()
				_, _ = io.WriteString(c, tt.head)
				res, body := reply(t, c)
				if res.StatusCode != tt.status || time.Since(start) != tt.answered {
					t.Errorf("%d after %s, want %d after %s: %s", res.StatusCode, time.Since(start), tt.status, tt.answered, body)
				}
				_, _ = io.Copy(io.Discard, c)
				held, most := time.Since(start)-tt.answered, 6*time.Second
				if strings.Contains(tt.name, "huge one, waiting") { // nothing is to be read away
					most = time.Second
				}
				if held > most {
					t.Errorf("the connection was held for %s after the answer", held)
				}
			})
		})
	}
}

// A large body over a slow line is no slow client: it has a second more for each 64 KiB that came.
func TestLargeBodyOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
		body := strings.Replace(smallChat, "hi", strings.Repeat("x", 10<<20), 1)
		c := s.wire(t)
		var sending sync.WaitGroup
		sending.Go(func() {
			_, _ = io.WriteString(c, head("POST", "/v1/chat/completions", len(body)))
			for len(body) > 0 { // 100 KiB a second: 105 s
				n := min(len(body), 100<<10)
				_, _ = io.WriteString(c, body[:n])
				body = body[n:]
				time.Sleep(time.Second)
			}
		})
		defer sending.Wait()
		if res, text := reply(t, c); res.StatusCode != http.StatusOK {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	})
}

// A client that closes its sending side counts as gone (R13), for it cannot be told from one that is; what it can
// still read is an error, never an empty 200 or a stream that ends as if it were whole.
func TestClientClosesItsSendingSide(t *testing.T) {
	for _, tt := range []struct {
		name, body  string
		after       time.Duration
		has, hasNot string
	}{
		{"before the headers", smallChat, 10 * time.Millisecond, "HTTP/1.1 499", "200 OK"},
		{"in a stream", streamChat, 200 * time.Millisecond, `"code":"client_gone"`, "[DONE]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": {Defaults: steady()}, "b": {}})
				c := s.wire(t)
				_, _ = io.WriteString(c, head("POST", "/v1/chat/completions", len(tt.body))+tt.body)
				time.Sleep(tt.after)
				_ = c.CloseWrite()
				got, _ := io.ReadAll(c)
				if !strings.Contains(string(got), tt.has) || strings.Contains(string(got), tt.hasNot) {
					t.Errorf("it reads %s", got)
				}
				if f := s.facts.last(); f.Status != statusGone || f.Code != "client_gone" {
					t.Errorf("logged as %d %s", f.Status, f.Code)
				}
				if c := s.counted("a"); c != "" {
					t.Errorf("it counts against a:%s", c)
				}
			})
		})
	}
}

// A client that asks on and on and reads nothing is cut off after write_timeout, whatever it asks.
func TestClientThatReadsNothing(t *testing.T) {
	for _, path := range []string{"/v1/models", "/v1/nothing", "/metrics"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
				c, start := s.wire(t), time.Now()
				for err := error(nil); err == nil; {
					_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer admin-token\r\n\r\n")
				}
				if took := time.Since(start); took < 30*time.Second || took > 65*time.Second {
					t.Errorf("cut off after %s", took)
				}
			})
		})
	}
}

// What a client calls a model does no harm to its own reply: headers stay printable and small.
func TestModelNamesInHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
		for name, want := range map[string]string{
			`a/x\u0000\r\ny`: "a/x%00%0D%0Ay", "a/é": "a/%C3%A9", "a/org/model:free": "a/org/model:free",
			"a/" + strings.Repeat("m", 1000): "a/" + strings.Repeat("m", 510) + "...",
		} {
			got := s.post(t.Context(), "/v1/chat/completions", strings.Replace(smallChat, "demo", name, 1))
			if got.status != http.StatusOK || got.header.Get("X-Evergate-Model") != want {
				t.Errorf("%.20s: %d, %q, want %q", name, got.status, got.header.Get("X-Evergate-Model"), want)
			}
		}
		if got := s.ask("a/"+strings.Repeat("m", 2000), false); got.status != http.StatusBadRequest || len(got.body) > 1000 {
			t.Errorf("a name of 2 KB: %d, %d bytes", got.status, len(got.body))
		}
	})
}

// Where no key is needed, no web page of another origin may spend the providers' keys.
func TestForeignPages(t *testing.T) {
	const local = `
server: {listen: "127.0.0.1:80"}
providers:
  a: {type: openai, base_url: "http://a/v1", api_key: sk-key-of-a, models: [demo]}
`
	tests := []struct {
		name, host, origin, site string
		status                   int
	}{
		{"no browser", "anything", "", "", 200},
		{"a page of its own", "127.0.0.1", "http://127.0.0.1", "same-origin", 200},
		{"another origin", "127.0.0.1", "http://evil.example", "", 403},
		{"another port", "127.0.0.1", "http://127.0.0.1:3000", "", 403},
		{"a sandboxed page", "127.0.0.1", "null", "", 403},
		{"another site, no origin", "127.0.0.1", "", "cross-site", 403},
		{"a rebound name", "evil.example", "http://evil.example", "same-origin", 403},
	}
	for _, open := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%s, anonymous allowed %t", tt.name, open), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					text, want := local, tt.status
					if open {
						text, want = local+"auth: {allow_anonymous: true}\n", 200
					}
					s := newStack(t, text, map[string]mock.Script{"a": {}})
					c, err := s.net.DialContext(t.Context(), "tcp", "127.0.0.1:80")
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					more := "Connection: close\r\n"
					for name, v := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
						if v != "" {
							more += name + ": " + v + "\r\n"
						}
					}
					_, _ = io.WriteString(c, strings.Replace(head("POST", "/v1/chat/completions", len(smallChat), more), "Host: gateway", "Host: "+tt.host, 1)+smallChat)
					if res, body := reply(t, c); res.StatusCode != want {
						t.Errorf("%d, want %d: %s", res.StatusCode, want, body)
					}
				})
			})
		}
	}
}

// Connections on which nothing is asked do not spoil a stop: its exit code says whether requests were cut off.
func TestStopWithConnectionsThatAskNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
		for _, begun := range []string{"", "POST /v1/chat"} {
			_, _ = io.WriteString(s.wire(t), begun)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		if err := s.app.Stop(ctx); err != nil {
			t.Errorf("stopped with %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A stop does not wait for a reload that hangs on its file.
func TestStopDuringAReloadThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders, map[string]mock.Script{"a": {}, "b": {}})
		s.app.reload.Lock()
		defer s.app.reload.Unlock()
		if err := s.app.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A handler's panic is a bug of ours and stands in the log as an error; what single connections do is for level debug.
func TestServerLog(t *testing.T) {
	var out bytes.Buffer
	l := slog.New(serverLog{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})}) // as net/http logs: at level debug
	l.Debug("http: TLS handshake error from 192.0.2.1")
	if out.Len() != 0 {
		t.Errorf("news of a connection: %s", &out)
	}
	l.Debug("http: panic serving 192.0.2.1: BUG")
	if !strings.Contains(out.String(), "level=ERROR") {
		t.Errorf("a panic: %q", &out)
	}
}

// Verify finds what only a start would: every provider's, at once.
func TestVerify(t *testing.T) {
	cfg := parse(t, strings.ReplaceAll(twoProviders, "models: [m", "tls: {ca_file: /nowhere/ca.pem}, models: [m"))
	err := Verify(cfg)
	if err == nil || !strings.Contains(err.Error(), "provider a: tls.ca_file") || !strings.Contains(err.Error(), "provider b: tls.ca_file") {
		t.Errorf("%v", err)
	}
	if err := Verify(parse(t, twoProviders)); err != nil {
		t.Error(err)
	}
}
