package http1

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/testkit"
)

// The head as it goes over the wire: what frames it is ours to say, and the order is always the same.
func TestHead(t *testing.T) {
	h := http.Header{
		"User-Agent": {"evergate"}, "Content-Type": {"application/json"}, "X-Two": {"a", " b "}, "idempotency-key": {"k"},
		"Connection": {"close"}, "Content-Length": {"99"}, "Transfer-Encoding": {"chunked"}, "Host": {"elsewhere"}, "Trailer": {"X"},
	}
	for _, tc := range []struct {
		method, target, host string
		length               int
		want                 string
	}{
		{"POST", "http://up:8000/v1/chat?a=b%20c", "", 2, "POST /v1/chat?a=b%20c HTTP/1.1\r\nHost: up:8000\r\nContent-Length: 2\r\n"},
		{"POST", "http://up/", "named", 0, "POST / HTTP/1.1\r\nHost: named\r\nContent-Length: 0\r\n"},
		{"GET", "http://up", "", 0, "GET / HTTP/1.1\r\nHost: up\r\n"},
	} {
		u, err := url.Parse(tc.target)
		if err != nil {
			t.Fatal(err)
		}
		b, err := appendHead(nil, &http.Request{Method: tc.method, URL: u, Host: tc.host, Header: h}, tc.length)
		if err != nil {
			t.Fatal(err)
		}
		want := tc.want + "Content-Type: application/json\r\nUser-Agent: evergate\r\nX-Two: a\r\nX-Two: b\r\nidempotency-key: k\r\n\r\n"
		if string(b) != want {
			t.Errorf("got\n%s\nwant\n%s", b, want)
		}
	}
}

// No value can end its line: a request cannot be split by what it carries.
func TestHeadRefusesWhatWouldSplitIt(t *testing.T) {
	sound := func() *http.Request {
		return &http.Request{Method: "POST", URL: &url.URL{Scheme: "http", Host: "up", Path: "/"}, Header: http.Header{}}
	}
	for name, spoil := range map[string]func(r *http.Request){
		"value": func(r *http.Request) { r.Header["X"] = []string{"a\r\nSecret: 1"} },
		"NUL":   func(r *http.Request) { r.Header["X"] = []string{"a\x00"} },
		"name":  func(r *http.Request) { r.Header["X: a\r\nY"] = []string{"secret"} },
		"empty": func(r *http.Request) { r.Header[""] = []string{"secret"} },
		"host":  func(r *http.Request) { r.Host = "up\r\nX: secret" },
		"query": func(r *http.Request) { r.URL.RawQuery = "a b\r\nX: secret" },
		"path":  func(r *http.Request) { r.URL.Opaque = "/a b" },
	} {
		t.Run(name, func(t *testing.T) {
			r := sound()
			spoil(r)
			var refused *HeaderError
			_, err := startHead(&Request{HTTP: r})
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(strings.ToLower(err.Error()), "secret") {
				t.Errorf("the error quotes a value: %v", err)
			}
		})
	}
}

// Bodies of every size arrive whole, with the watcher told once they are read no more.
func TestBodies(t *testing.T) {
	for _, size := range []int{0, 1, headBuffer, headBuffer + largestInline, headBuffer + largestInline + 1, 3 << 20} {
		got := make(chan int, 2)
		rig(t, func(_ int32, c testkit.ResetConn) {
			in := bufio.NewReader(c)
			for {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				b, err := io.ReadAll(r.Body)
				if err != nil || strings.Trim(string(b), "x") != "" {
					t.Errorf("%d bytes: %v", len(b), err)
				}
				got <- len(b)
				_, _ = io.WriteString(c, ok)
			}
		}, func(t *testing.T, c *Client, p *peer) {
			for range 2 {
				w := &counter{}
				r := post(strings.Repeat("x", size))
				r.Watcher = w
				if body, err := ask(t, c, r); err != nil || body != "ok" {
					t.Fatalf("%q, %v", body, err)
				}
				n := <-got
				synctest.Wait()
				if n != size || w.written.Load() != 1 || w.carried.Load() != 1 {
					t.Errorf("%d of %d bytes arrived; carried %d times, written %d", n, size, w.carried.Load(), w.written.Load())
				}
			}
			if p.conns.Load() != 1 {
				t.Errorf("%d connections, want 1", p.conns.Load())
			}
		})
	}
}
