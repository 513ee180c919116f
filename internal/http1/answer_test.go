package http1

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/testkit"
)

// What frames an answer, and whether its connection serves the next request.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		body   string
		err    error // of the body; of RoundTrip where head is set
		head   bool
		reused bool
	}{
		"length":              {answer: ok, body: "ok", reused: true},
		"no content":          {answer: "HTTP/1.1 204 No Content\r\n\r\n", reused: true},
		"length 0":            {answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", reused: true},
		"chunked":             {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", body: "abcde", reused: true},
		"chunked, trailer":    {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\n\r\n", body: "a", reused: true},
		"interim":             {answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, body: "ok", reused: true},
		"1.0":                 {answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok"},
		"close":               {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", body: "ok"},
		"more than it said":   {answer: ok + "more", body: "ok"},
		"two answers":         {answer: ok + ok, body: "ok"},
		"switching protocols": {answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"},
		"not HTTP":            {answer: "SSH-2.0-OpenSSH_9.2\r\n\r\n", head: true, err: errors.New("malformed HTTP")},
		"head too large":      {answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n", head: true, err: ErrHeadTooLarge},
		"interim for ever":    {answer: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 9) + ok, head: true, err: ErrHeadTooLarge},
		"two lengths":         {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", head: true, err: errors.New("Content-Length")},
		"bad chunk":           {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", err: errors.New("invalid byte in chunk length")},
	} {
		t.Run(name, func(t *testing.T) {
			rig(t, answering(tc.answer), func(t *testing.T, c *Client, p *peer) {
				w := &counter{}
				for range 2 {
					r := post("{}")
					r.Watcher = w
					resp, err := c.RoundTrip(t.Context(), r)
					if tc.head {
						if err == nil || !errors.Is(err, tc.err) && !strings.Contains(err.Error(), tc.err.Error()) {
							t.Fatalf("error %v, want %v", err, tc.err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					if string(body) != tc.body || (err == nil) != (tc.err == nil) || err != nil && !strings.Contains(err.Error(), tc.err.Error()) {
						t.Errorf("%q, %v; want %q, %v", body, err, tc.body, tc.err)
					}
					if n, again := resp.Body.Read(make([]byte, 1)); n != 0 || again == nil {
						t.Errorf("read %d, %v after the end", n, again)
					}
					_ = resp.Body.Close()
					synctest.Wait()
				}
				if got := p.conns.Load() == 1; got != tc.reused {
					t.Errorf("%d connections, reused: want %v", p.conns.Load(), tc.reused)
				}
				if got := w.reused.Load() == 1; got != tc.reused || w.written.Load() < 2 {
					t.Errorf("the watcher saw %d requests carried, %d on used connections, %d written", w.carried.Load(), w.reused.Load(), w.written.Load())
				}
			})
		})
	}
}

// An answer that ends too early is never a short success, wherever it is cut.
func TestCutAnswers(t *testing.T) {
	for name, answer := range map[string]string{
		"length":  ok,
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			for cut := range len(answer) {
				rig(t, func(_ int32, c testkit.ResetConn) {
					if take(bufio.NewReader(c)) == nil {
						_, _ = io.WriteString(c, answer[:cut])
					}
				}, func(t *testing.T, c *Client, _ *peer) {
					if body, err := ask(t, c, post("{}")); err == nil {
						t.Errorf("cut at %d: %q without an error", cut, body)
					} else if !errors.Is(err, io.ErrUnexpectedEOF) && !strings.Contains(err.Error(), "malformed") && !strings.Contains(err.Error(), "unexpected EOF") {
						t.Errorf("cut at %d: %v", cut, err)
					}
				})
			}
		})
	}
}

// A body that is closed before its end takes its connection with it, and cannot be read any more.
func TestCloseBeforeTheEnd(t *testing.T) {
	rig(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), func(t *testing.T, c *Client, p *peer) {
		for range 2 {
			resp, err := c.RoundTrip(t.Context(), post("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			_ = resp.Body.Close()
			if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
				t.Errorf("read after close: %v", err)
			}
		}
		if p.conns.Load() != 2 {
			t.Errorf("%d connections, want 2", p.conns.Load())
		}
	})
}

// Close wakes a Read of another goroutine.
func TestCloseWhileReading(t *testing.T) {
	rig(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), func(t *testing.T, c *Client, _ *peer) {
		resp, err := c.RoundTrip(t.Context(), post("{}"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := resp.Body.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		_ = resp.Body.Close()
		if err := <-done; err == nil || errors.Is(err, io.EOF) {
			t.Errorf("the reader got %v", err)
		}
	})
}
