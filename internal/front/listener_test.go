package front

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/testkit"
)

// rig is a server behind a listener with limits, which says whom it sees. Clients come from 10.0.0.1.
type rig struct {
	net     *testkit.Net
	refused Refusals
	log     bytes.Buffer
}

func newRig(t *testing.T, limits Limits, options ...func(*http.Server)) *rig {
	t.Helper()
	r := &rig{net: testkit.NewNet()}
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s %s", q.RemoteAddr, q.Proto, Subject(q))
	})}
	for _, set := range options {
		set(s)
	}
	l := Listen(r.net.Listen("gateway:80"), limits, &r.refused, slog.New(slog.NewTextHandler(&r.log, nil)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.TLSConfig != nil {
			_ = s.ServeTLS(l, "", "")
			return
		}
		_ = s.Serve(l)
	}()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return r
}

func (r *rig) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := r.net.DialContext(t.Context(), "tcp", "gateway:80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// says is whom the server sees on a connection that begins with some bytes; empty: it was closed.
func says(t *testing.T, c net.Conn, begin string) string {
	t.Helper()
	go func() { _, _ = io.WriteString(c, begin+"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n") }()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	from, _, _ := strings.Cut(string(b), " ")
	return from
}

// ended is how long a connection was left open.
func ended(c net.Conn) time.Duration {
	start := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(start)
}

func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	const line = "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
	for name, c := range map[string]struct {
		from, begin, want string
	}{
		"version 1":                     {"10.0.0.0/24", line, "192.0.2.1:56324"},
		"version 2":                     {"10.0.0.0/24", checked(), "192.0.2.1:56324"},
		"unknown":                       {"10.0.0.0/24", "PROXY UNKNOWN\r\n", "10.0.0.1"},
		"the balancer's own":            {"10.0.0.0/24", binaryOf(0x20, 0, ""), "10.0.0.1"},
		"none from a balancer":          {"10.0.0.0/24", "", ""},
		"one from somebody else":        {"10.0.1.0/24", line, "400"},
		"a binary one of somebody else": {"10.0.1.0/24", checked(), "400"},
		"somebody else":                 {"10.0.1.0/24", "", "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Limits{ProxyProtocol: networks(t, c.from), HeaderTime: 5 * time.Second})
				got := says(t, r.dial(t), c.begin)
				if got != c.want && !strings.HasPrefix(got, c.want+":") || got != "" && c.want == "" {
					t.Errorf("%q, want %q", got, c.want)
				}
				if n := r.refused.Counts()[NoHeader]; (n > 0) != (c.want == "") {
					t.Errorf("%d refused", n)
				}
			})
		})
	}
}

// A balancer that is slow with its header costs nobody else anything, and its connection ends.
func TestSlowProxyHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{ProxyProtocol: networks(t, "10.0.0.0/24"), HeaderTime: 5 * time.Second})
		mute, drips, piecewise := r.dial(t), r.dial(t), r.dial(t)
		go func() {
			for _, b := range []byte("PROXY TCP4 192.0.2.1") {
				time.Sleep(time.Second)
				if _, err := drips.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		go func() {
			for _, part := range []string{"PROXY TCP4 192.0.2.1 192", ".0.2.2 56324 443\r", "\n"} {
				time.Sleep(time.Second)
				_, _ = io.WriteString(piecewise, part)
			}
		}()
		took := make(chan time.Duration, 2)
		go func() { took <- ended(mute) }()
		go func() { took <- ended(drips) }()
		time.Sleep(3500 * time.Millisecond)
		if got := says(t, piecewise, ""); got != "192.0.2.1:56324" {
			t.Errorf("in pieces: %q", got)
		}
		for range 2 {
			if d := <-took; d < 5*time.Second || d > 6*time.Second {
				t.Errorf("a slow one was closed after %s", d)
			}
		}
		if n := r.refused.Counts()[NoHeader]; n != 2 {
			t.Errorf("%d refused", n)
		}
		if n := strings.Count(r.log.String(), "connections are refused"); n != 1 {
			t.Errorf("said %d times: %s", n, r.log.String())
		}
		time.Sleep(time.Second) // for who drips to notice
	})
}

// The deadline of the header is gone with it: who is slow afterwards has the time that requests have.
func TestAfterProxyHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{ProxyProtocol: networks(t, "10.0.0.0/24"), HeaderTime: 2 * time.Second})
		c := r.dial(t)
		_, _ = io.WriteString(c, "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\nGE")
		time.Sleep(8 * time.Second)
		_, _ = io.WriteString(c, "T / HTTP/1.1\r\nHost: gateway\r\n\r\n")
		if got, err := bufio.NewReader(c).ReadString('\n'); got != "HTTP/1.1 200 OK\r\n" {
			t.Errorf("%q %v", got, err)
		}
	})
}

func TestMaxConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{Connections: 2})
		one, two := r.dial(t), r.dial(t)
		if says(t, one, "") == "" || says(t, two, "") == "" {
			t.Error("one of two was refused")
		}
		if got := says(t, r.dial(t), ""); got != "" {
			t.Errorf("a third was served: %s", got)
		}
		if says(t, one, "") == "" {
			t.Error("one that was open is closed")
		}
		_ = one.Close()
		synctest.Wait()
		if says(t, r.dial(t), "") == "" {
			t.Error("there is no room though one left")
		}
		if n := r.refused.Counts()[TooMany]; n != 1 {
			t.Errorf("%d refused", n)
		}
	})
}

// Where balancers name the clients, it is clients who count, and balancers do not.
func TestMaxPerAddress(t *testing.T) {
	t.Parallel()
	header := func(addr string) string { return fmt.Sprintf("PROXY TCP6 %s 2001:db8::2 56324 443\r\n", addr) }
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{PerAddress: 2, ProxyProtocol: networks(t, "10.0.0.0/24"), HeaderTime: time.Second})
		for _, addr := range []string{"2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "2001:db8:0:1::2"} {
			if says(t, r.dial(t), header(addr)) == "" {
				t.Errorf("%s was refused", addr)
			}
		}
		third := r.dial(t)
		if got := says(t, third, header("2001:db8::3")); got != "" {
			t.Errorf("a third of one network was served: %s", got)
		}
		if n := r.refused.Counts()[TooManyFromOne]; n != 1 {
			t.Errorf("%d refused", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Limits{PerAddress: 1})
		one := r.dial(t)
		if says(t, one, "") == "" {
			t.Error("the first was refused")
		}
		if says(t, r.dial(t), "") != "" {
			t.Error("a second was served")
		}
		_ = one.Close()
		synctest.Wait()
		if says(t, r.dial(t), "") == "" {
			t.Error("there is no room though it left")
		}
	})
}

// Nothing is left of connections that ended, in whatever way they did.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := testkit.NewNet()
		l := Listen(net.Listen("gateway:80"), Limits{Connections: 10, PerAddress: 5, ProxyProtocol: networks(t, "10.0.0.0/24"), HeaderTime: time.Second}, &Refusals{}, slog.New(slog.DiscardHandler)).(*listener)
		for i, begin := range []string{"PROXY UNKNOWN\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "nothing of the kind", "PRO", ""} {
			c, err := net.DialContext(t.Context(), "tcp", "gateway:80")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, begin)
			served, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				_ = c.Close()
			}
			_, _ = served.Read(make([]byte, 0))
			_ = served.Close()
			_ = served.Close()
			_ = c.Close()
		}
		if l.open != 0 || len(l.from) != 0 {
			t.Errorf("%d open, from %v", l.open, l.from)
		}
		_ = l.Close()
	})
}

// Without limits there is nothing between the server and the connection.
func TestNoLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewNet().Listen("gateway:80")
		if got := Listen(l, Limits{HeaderTime: time.Second}, nil, nil); got != l {
			t.Errorf("%T", got)
		}
		_ = l.Close()
	})
}
