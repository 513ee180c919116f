package http1

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"evergate/internal/testkit"
)

// The answer to a HEAD says how long a body would be, and has none: its connection serves the next request.
func TestHEAD(t *testing.T) {
	for name, answer := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
		"chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			rig(t, answering(answer), func(t *testing.T, c *Client, p *peer) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for range 2 {
					r := post("")
					r.HTTP.Method = http.MethodHead
					resp, err := c.RoundTrip(ctx, r)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					if len(body) != 0 || err != nil {
						t.Fatalf("body %q, %v", body, err)
					}
				}
				if n := p.conns.Load(); n != 1 {
					t.Errorf("%d connections, want 1", n)
				}
			})
		})
	}
}

// Whose small body was not taken is told so, though there is an answer.
func TestRefusedUnreadIsTold(t *testing.T) {
	hungUp := make(chan struct{})
	rig(t, func(_ int32, c testkit.ResetConn) {
		_, _ = io.WriteString(c, ok)
		_ = c.Close()
		close(hungUp)
	}, func(t *testing.T, c *Client, _ *peer) {
		dial := c.Dial
		c.Dial = func(ctx context.Context) (Conn, error) {
			conn, err := dial(ctx)
			<-hungUp
			return conn, err
		}
		w := &counter{}
		r := post("small")
		r.Watcher = w
		resp, err := c.RoundTrip(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK || w.written.Load() != 1 {
			t.Errorf("%d; the body's end was told %d times", resp.StatusCode, w.written.Load())
		}
	})
}
