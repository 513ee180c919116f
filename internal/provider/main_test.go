package provider

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/attempt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient makes a client of an upstream at base, closed with the test.
func newClient(t testing.TB, base string, change func(*Options), dial DialFunc) *Client {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Name: "up", Type: "openai-compatible", BaseURL: u, AuthHeader: "Authorization", AuthPrefix: "Bearer ",
		Credentials: []Credential{{Name: "default", Value: "sk-test-operator-0001"}}, ConnectTimeout: 5 * time.Second,
	}
	if change != nil {
		change(&o)
	}
	c, err := New(o, dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// outgoing is a request whose releases are counted. Its body is overwritten when it is released, as a pooled buffer
// is, so that the race detector and the upstream tell of whoever still reads it.
func outgoing(body string) (*attempt.Outgoing, *atomic.Int32) {
	var released atomic.Int32
	b := []byte(body)
	return &attempt.Outgoing{
		Credential: "default",
		Dialect:    "chat", Body: b, Header: http.Header{},
		Release: func() { clear(b); released.Add(1) },
	}, &released
}

// readAll reads and closes a response's body.
func readAll(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eventually waits for something that another goroutine of the transport does at once.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within 5 s: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// upstream is a raw TCP server: serve gets each connection with its number, from 1.
type upstream struct {
	net.Listener
	conns atomic.Int32
	wg    sync.WaitGroup
}

func listen(t *testing.T, serve func(n int32, c *net.TCPConn)) *upstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{Listener: l}
	u.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := u.conns.Add(1)
			u.wg.Go(func() {
				defer c.Close()
				serve(n, c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); u.wg.Wait() })
	return u
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

func takeRequest(t *testing.T, r *bufio.Reader) string {
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Errorf("upstream: %v", err)
		return ""
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		t.Errorf("upstream: %v", err)
	}
	return string(b)
}
