package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// peer is an upstream whose connections are scripted.
type peer struct {
	net      *testkit.Net
	listener net.Listener
	conns    atomic.Int32
}

// rig makes a client of a scripted upstream in a bubble of its own; serve gets each connection with its number, from 1,
// and closes it by returning.
func rig(t *testing.T, serve func(n int32, c testkit.ResetConn), test func(t *testing.T, c *Client, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &peer{net: testkit.NewNet()}
		p.listener = p.net.Listen("up:80")
		go func() {
			for {
				c, err := p.listener.Accept()
				if err != nil {
					return
				}
				n := p.conns.Add(1)
				go func() {
					defer c.Close()
					serve(n, c.(testkit.ResetConn))
				}()
			}
		}()
		c := New(Options{
			Dial: func(ctx context.Context) (Conn, error) {
				c, err := p.net.DialContext(ctx, "tcp", "up:80")
				if err != nil {
					return nil, err
				}
				return c.(Conn), nil
			},
			MaxIdle: 4, IdleTimeout: 90 * time.Second, MaxHead: 4 << 10, ReadBuffer: 512,
		})
		defer p.listener.Close()
		defer c.Close()
		test(t, c, p)
		synctest.Wait()
	})
}

// answering is a peer that takes any number of requests and answers each with the same bytes.
func answering(answer string) func(int32, testkit.ResetConn) {
	return func(_ int32, c testkit.ResetConn) {
		in := bufio.NewReader(c)
		for take(in) == nil {
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

// take reads one whole request.
func take(in *bufio.Reader) error {
	r, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// post is a request with a body.
func post(body string) *Request {
	return &Request{
		HTTP: &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: "up", Path: "/v1"}, Header: http.Header{}},
		Body: []byte(body),
	}
}

// counter is a Watcher that counts.
type counter struct{ carried, reused, written atomic.Int32 }

func (w *counter) Carried(_ net.Conn, reused bool) {
	w.carried.Add(1)
	if reused {
		w.reused.Add(1)
	}
}
func (w *counter) Written() { w.written.Add(1) }

// ask sends a request and reads the whole answer.
func ask(t *testing.T, c *Client, r *Request) (string, error) {
	t.Helper()
	resp, err := c.RoundTrip(t.Context(), r)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return string(b), err
}

// waiting is how many connections wait for a request.
func waiting(c *Client) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.idle)
}
