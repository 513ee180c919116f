package http1

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a connection whose peer says what it has to say, whatever it is sent, as soon as it is sent something.
type scripted struct {
	net.Conn // none
	says     *bytes.Reader
	asked    chan struct{}
	once     sync.Once
}

func script(says []byte) *scripted {
	return &scripted{says: bytes.NewReader(says), asked: make(chan struct{})}
}

func (c *scripted) Read(p []byte) (int, error) {
	<-c.asked
	return c.says.Read(p[:min(len(p), 7)])
}

func (c *scripted) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	return len(p), nil
}

func (c *scripted) Close() error                   { c.once.Do(func() { close(c.asked) }); return nil }
func (*scripted) SetReadDeadline(time.Time) error  { return nil }
func (*scripted) Quiet() bool                      { return false }
func (*scripted) LocalAddr() net.Addr              { return nil }
func (*scripted) RemoteAddr() net.Addr             { return nil }
func (*scripted) SetDeadline(time.Time) error      { return nil }
func (*scripted) SetWriteDeadline(time.Time) error { return nil }

// heard is what came of a request.
type heard struct {
	status   int
	header   http.Header
	body     string
	complete bool
}

func hear(resp *http.Response, err error) heard {
	if err != nil {
		return heard{}
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return heard{resp.StatusCode, resp.Header, string(body), err == nil}
}

// FuzzAnswer holds the client to the transport of net/http: whatever a server says, both hear the same.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		ok, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.0 200\r\n\r\nto the end",
		"HTTP/1.1 100 Continue\r\n\r\n" + ok, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", "SSH-2.0\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\nx",
		"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		for line := range bytes.Lines(says) { // an upgrade's body is the connection itself there
			if v, _, _ := strings.Cut(strings.TrimPrefix(string(line), "HTTP/"), "\n"); strings.Contains(v, " 101") {
				t.Skip()
			}
		}
		dial := func(context.Context) (Conn, error) { return script(says), nil }
		ours := New(Options{Dial: dial, MaxIdle: 1, IdleTimeout: time.Minute, MaxHead: 1 << 20, ReadBuffer: 512})
		defer ours.Close()
		theirs := &http.Transport{
			DisableCompression: true,
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		}
		defer theirs.CloseIdleConnections()

		r := post("{}")
		got := hear(ours.RoundTrip(t.Context(), r))
		req := r.HTTP.Clone(t.Context())
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
		want := hear(theirs.RoundTrip(req))
		if bytes.Count(says, []byte("HTTP/")) > 5 && got.status != want.status {
			t.Skip() // their bounds for interim answers differ
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("ours %+v\ntheirs %+v", got, want)
		}
	})
}
