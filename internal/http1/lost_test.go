package http1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/testkit"
)

// large is more than the kernel's and the test network's buffers take.
var large = strings.Repeat("x", 1<<20)

// A server that refuses a large body without reading it is heard, and its connection is used no more.
func TestEarlyAnswer(t *testing.T) {
	const tooLarge = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"
	for name, after := range map[string]func(c testkit.ResetConn){
		"stays open": func(c testkit.ResetConn) { time.Sleep(time.Minute); _ = c.Close() },
		"hangs up":   func(testkit.ResetConn) {},
		"reads on":   func(c testkit.ResetConn) { _, _ = io.Copy(io.Discard, c) },
	} {
		t.Run(name, func(t *testing.T) {
			rig(t, func(_ int32, c testkit.ResetConn) {
				if _, err := http.ReadRequest(bufio.NewReaderSize(c, 512)); err != nil {
					return
				}
				_, _ = io.WriteString(c, tooLarge)
				after(c)
			}, func(t *testing.T, c *Client, p *peer) {
				start := time.Now()
				w := &counter{}
				r := post(large)
				r.Watcher = w
				resp, err := c.RoundTrip(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != 413 || string(body) != "no" || err != nil || time.Since(start) > time.Second {
					t.Errorf("%d %q, %v after %v", resp.StatusCode, body, err, time.Since(start))
				}
				time.Sleep(time.Second)
				if w.written.Load() != 1 {
					t.Errorf("the body's end was told %d times", w.written.Load())
				}
				if kept := waiting(c) != 0; kept != (name == "reads on") {
					t.Errorf("the connection is kept: %v", kept)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// A cancelled request lets go of everything at once, wherever it stands; its body is its owner's when RoundTrip returns.
func TestCancel(t *testing.T) {
	for name, tc := range map[string]struct {
		body  string
		dials bool // no further
		serve func(n int32, c testkit.ResetConn)
		head  bool // the head has come
	}{
		"dialling":                  {dials: true},
		"before the head":           {serve: func(_ int32, c testkit.ResetConn) { _, _ = io.Copy(io.Discard, c) }},
		"while the body is written": {body: large, serve: func(_ int32, c testkit.ResetConn) { time.Sleep(time.Hour) }},
		"in the head": {serve: func(_ int32, c testkit.ResetConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-")
			_, _ = io.Copy(io.Discard, c)
		}},
		"in the answer": {head: true, serve: func(_ int32, c testkit.ResetConn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")
			_, _ = io.Copy(io.Discard, c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rig(t, tc.serve, func(t *testing.T, c *Client, p *peer) {
				if tc.dials {
					p.net.Blackhole("up")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				w := &counter{}
				r := post(tc.body)
				r.Watcher = w
				start := time.Now()
				resp, err := c.RoundTrip(ctx, r)
				if tc.head {
					if err != nil {
						t.Fatal(err)
					}
					_, err = io.ReadAll(resp.Body)
				}
				if err == nil || errors.Is(err, io.EOF) || time.Since(start) != 3*time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
				if w.carried.Load() > 0 && w.written.Load() == 0 {
					t.Error("the body is not given back")
				}
				if waiting(c) != 0 {
					t.Error("the connection is kept")
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// A dial that ends after its request did is closed.
func TestLateDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testkit.NewNet()
		l := n.Listen("up:80")
		defer l.Close()
		made := make(chan Conn, 1)
		c := New(Options{MaxIdle: 1, IdleTimeout: time.Minute, MaxHead: 1 << 10, ReadBuffer: 512, Dial: func(context.Context) (Conn, error) {
			time.Sleep(time.Second) // deaf to its context
			raw, err := n.DialContext(context.Background(), "tcp", "up:80")
			made <- raw.(Conn)
			return raw.(Conn), err
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.RoundTrip(ctx, post("")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := (<-made).Write([]byte("x")); err == nil {
			t.Error("the connection is open")
		}
	})
}

// A connection that takes not a byte has carried nothing: the request goes out on another one, a new one at the last.
// Nothing else is sent again.
func TestNothingWritten(t *testing.T) {
	rig(t, answering(ok), func(t *testing.T, c *Client, p *peer) {
		for range 3 {
			l, err := c.connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l.conn = deaf{l.conn}
			c.put(l)
		}
		w := &counter{}
		r := post("{}")
		r.Watcher = w
		body, err := ask(t, c, r)
		if err != nil || body != "ok" || w.carried.Load() != 4 || w.reused.Load() != 3 {
			t.Errorf("%q, %v; carried %d times, %d on used connections", body, err, w.carried.Load(), w.reused.Load())
		}
	})
	rig(t, answering(ok), func(t *testing.T, c *Client, p *peer) { // a new one that takes nothing is the end
		dial, dials := c.Dial, 0
		c.Dial = func(ctx context.Context) (Conn, error) {
			dials++
			raw, err := dial(ctx)
			return deaf{raw}, err
		}
		if _, err := ask(t, c, post("{}")); !errors.Is(err, errDeaf) || dials != 1 {
			t.Errorf("%v after %d dials", err, dials)
		}
	})
}

var errDeaf = errors.New("deaf")

type deaf struct{ Conn }

func (deaf) Write([]byte) (int, error) { return 0, errDeaf }

// A reused connection that ends after it took the request is an error, and nothing is sent again.
func TestLostAfterWriting(t *testing.T) {
	rig(t, func(n int32, c testkit.ResetConn) {
		in := bufio.NewReader(c)
		if take(in) == nil {
			_, _ = io.WriteString(c, ok)
			_ = take(in)
		}
	}, func(t *testing.T, c *Client, p *peer) {
		if _, err := ask(t, c, post("{}")); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t, c, post("{}")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		if p.conns.Load() != 1 {
			t.Errorf("%d connections", p.conns.Load())
		}
	})
}
