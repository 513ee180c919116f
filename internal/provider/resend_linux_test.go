package provider

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"evergate/internal/fault"
)

// gatedConn is a real TCP connection whose reader can be held back, so that the peer's end and our next request cross
// as they do on a long wire.
type gatedConn struct {
	*net.TCPConn
	mu      sync.Mutex
	gate    chan struct{} // nil: open
	before  func()        // called once, by the first write while the gate is shut
	wrote   chan struct{} // told of each write while the gate is shut
	reading atomic.Int32
}

func (c *gatedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	c.reading.Add(1)
	defer c.reading.Add(-1)
	// Wait for the data to be there without taking it, so that a gate shut meanwhile still holds it back.
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return readable(fd) })
	}
	c.mu.Lock()
	gate = c.gate
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return c.TCPConn.Read(p)
}

func (c *gatedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	before := c.before
	if c.gate == nil {
		before = nil
	}
	if before != nil {
		c.before = nil
	}
	c.mu.Unlock()
	if before != nil {
		before()
	}
	n, err := c.TCPConn.Write(p)
	c.mu.Lock()
	shut := c.gate != nil
	c.mu.Unlock()
	if shut {
		select {
		case c.wrote <- struct{}{}:
		default:
		}
	}
	return n, err
}

func (c *gatedConn) shut() (open func()) {
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		c.gate = nil
		c.mu.Unlock()
		close(gate)
	}
}

// R58: a reused connection that the upstream closed before it had the request.
func TestResendWhatCrossedTheClose(t *testing.T) {
	serverTLS := httptest.NewUnstartedServer(nil)
	serverTLS.StartTLS()
	certificates := serverTLS.TLS.Certificates
	serverTLS.Close()

	for name, secure := range map[string]bool{"plain": false, "plain, net/http": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			closing := make(chan struct{})
			var bodies sync.Map
			u := listen(t, func(n int32, raw *net.TCPConn) {
				var c net.Conn = raw
				if secure {
					c = tls.Server(raw, &tls.Config{Certificates: certificates, NextProtos: []string{"http/1.1"}})
				}
				bodies.Store(n, takeRequest(t, bufio.NewReader(c)))
				_, _ = io.WriteString(c, answer)
				if n == 1 {
					<-closing
				}
				_ = c.Close()
			})
			var mu sync.Mutex
			var conns []*gatedConn
			dial := func(ctx context.Context, network, address string) (net.Conn, error) {
				raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				g := &gatedConn{TCPConn: raw.(*net.TCPConn), wrote: make(chan struct{}, 1)}
				mu.Lock()
				conns = append(conns, g)
				mu.Unlock()
				return g, nil
			}
			scheme := "http://"
			if secure {
				scheme = "https://"
			}
			c := newClient(t, scheme+u.Addr().String()+"/v1", func(o *Options) {
				o.Vendor = Compatible()
				o.Vendor.Body = func(body []byte, _, _ string) []byte { return bytes.ToUpper(body) } // both times
			}, dial)
			if secure {
				insecure(c)
			}
			if name == "plain, net/http" {
				c.plain = nil
			}

			first, firstReleased := outgoing(`{"n":1}`)
			resp, f := c.Send(t.Context(), first)
			if f != nil {
				t.Fatal(f)
			}
			readAll(t, resp)
			g := conns[0]
			if c.plain == nil {
				eventually(t, "the pooled connection is read from", func() bool { return g.reading.Load() > 0 })
			}
			g.before = func() {
				close(closing)
				eventually(t, "the upstream's end is here, unread", func() bool { return tcpState(g) == closeWait })
			}
			open := g.shut()

			want := `{"n":2}`
			if secure {
				want = "" // a second record would find the connection reset, and a reset proves nothing
			}
			second, released := outgoing(want)
			done := make(chan *fault.Fault, 1)
			go func() {
				resp, f := c.Send(t.Context(), second)
				if f == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				done <- f
			}()
			<-g.wrote
			eventually(t, "the reset that answers what was written", func() bool { return tcpState(g) != closeWait })
			open()
			if f := <-done; f != nil {
				t.Fatalf("not sent again: %v", f)
			}
			if n := u.conns.Load(); n != 2 {
				t.Errorf("upstream saw %d connections, want 2", n)
			}
			if b, _ := bodies.Load(int32(2)); b != strings.ToUpper(want) {
				t.Errorf("second connection got %q", b)
			}
			eventually(t, "bodies released", func() bool { return firstReleased.Load() == 1 && released.Load() == 1 })
		})
	}
}

// R58: net/http's transport knew that the pooled connection had ended, but had already chosen it. This also holds it to
// the words that untaken looks for.
func TestResendOnAConnectionKnownToBeClosed(t *testing.T) {
	closing := make(chan struct{})
	u := closesTheFirst(t, closing)
	c := newClient(t, "http://"+u.Addr().String(), nil, nil)
	c.plain = nil
	out, _ := outgoing(`{}`)
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	readAll(t, resp)

	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			close(closing)
			// The connection's reader sees the end and closes it.
			eventually(t, "closed", func() bool {
				return info.Conn.SetDeadline(time.Time{}) != nil
			})
		}
	}})
	out, released := outgoing(`{"n":2}`)
	resp, f = c.Send(ctx, out)
	if f != nil {
		t.Fatalf("not sent again: %v", f)
	}
	readAll(t, resp)
	if n := u.conns.Load(); n != 2 {
		t.Errorf("upstream saw %d connections, want 2", n)
	}
	eventually(t, "body released", func() bool { return released.Load() == 1 })
}

// closesTheFirst is an upstream that answers once on each connection and ends the first one when it is told to.
func closesTheFirst(t *testing.T, closing <-chan struct{}) *upstream {
	return listen(t, func(n int32, c *net.TCPConn) {
		takeRequest(t, bufio.NewReader(c))
		_, _ = io.WriteString(c, answer)
		if n == 1 {
			<-closing
		}
	})
}

// R58: a pooled connection whose end has arrived is never given a request.
func TestNoRequestOnAConnectionThatHasEnded(t *testing.T) {
	closing := make(chan struct{})
	u := closesTheFirst(t, closing)
	var first *net.TCPConn
	c := newClient(t, "http://"+u.Addr().String(), nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if first == nil && err == nil {
			first = raw.(*net.TCPConn)
		}
		return raw, err
	})
	for range 2 {
		out, released := outgoing(`{}`)
		resp, f := c.Send(t.Context(), out)
		if f != nil {
			t.Fatal(f)
		}
		readAll(t, resp)
		if released.Load() != 1 {
			t.Errorf("body released %d times", released.Load())
		}
		if u.conns.Load() == 1 {
			close(closing)
			eventually(t, "the end is here", func() bool { return tcpState(first) == closeWait })
		}
	}
	if n := u.conns.Load(); n != 2 {
		t.Errorf("upstream saw %d connections, want 2", n)
	}
}

// R58 is for what was provably not processed: a request that the upstream has read is never sent again, however the
// connection ends, and not even with an Idempotency-Key, which the transport would take for leave to.
func TestNoResendOfWhatWasTaken(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"closed": func(*net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { _ = c.SetLinger(0) },
	} {
		for _, header := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
			t.Run(name+header, func(t *testing.T) {
				var requests atomic.Int32
				u := listen(t, func(_ int32, c *net.TCPConn) {
					r := bufio.NewReader(c)
					takeRequest(t, r)
					requests.Add(1)
					_, _ = io.WriteString(c, answer)
					if _, err := r.Peek(1); err != nil {
						return
					}
					takeRequest(t, r)
					requests.Add(1)
					end(c)
				})
				c := newClient(t, "http://"+u.Addr().String(), nil, nil)
				out, _ := outgoing(`{}`)
				resp, f := c.Send(t.Context(), out)
				if f != nil {
					t.Fatal(f)
				}
				readAll(t, resp)
				out, released := outgoing(`{"n":2}`)
				if header != "" {
					out.Header.Set(header, "k")
				}
				resp, f = c.Send(t.Context(), out)
				if f == nil {
					readAll(t, resp)
					t.Fatal("sent again")
				}
				if f.Class != fault.Reset { // R1
					t.Errorf("class %v, want reset", f.Class)
				}
				if n := requests.Load(); n != 2 {
					t.Errorf("upstream took %d requests, want 2", n)
				}
				eventually(t, "body released", func() bool { return released.Load() == 1 })
			})
		}
	}
}

// R58, R1: a new connection that ends without an answer is a failure.
func TestNoResendOnANewConnection(t *testing.T) {
	u := listen(t, func(_ int32, c *net.TCPConn) { takeRequest(t, bufio.NewReader(c)) })
	c := newClient(t, "http://"+u.Addr().String(), nil, nil)
	out, _ := outgoing(`{}`)
	resp, f := c.Send(t.Context(), out)
	if f == nil {
		readAll(t, resp)
		t.Fatal("no fault")
	}
	if f.Class != fault.Reset || u.conns.Load() != 1 {
		t.Errorf("%v after %d connections, want reset after 1", f, u.conns.Load())
	}
}

// R58, R1: so is one that is closed as soon as it is made, which the transport words as the end of an idle one.
func TestNoResendOnAConnectionClosedAtOnce(t *testing.T) {
	var dialed atomic.Int32
	c := newClient(t, "http://up.test", nil, func(context.Context, string, string) (net.Conn, error) {
		dialed.Add(1)
		return failingConn{}, nil
	})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		eventually(t, "its end is read", info.Conn.(*conn).ended)
		// The transport's reader notes it next, or has to wait for us: either order must do.
	}})
	for range 2 {
		dialed.Store(0)
		out, released := outgoing(`{}`)
		_, f := c.Send(ctx, out)
		if f == nil || f.Class != fault.Reset || dialed.Load() != 1 {
			t.Errorf("%v after %d connections", f, dialed.Load())
		}
		if released.Load() != 1 {
			t.Errorf("released %d times", released.Load())
		}
		c.plain = nil // and the transport of net/http
	}
}

// R58, R1: nor does proof that a new connection's request was not taken make it a reused one.
func TestNoResendWhatCrossedTheFirstClose(t *testing.T) {
	u := listen(t, func(int32, *net.TCPConn) {})
	var conns []*gatedConn
	c := newClient(t, "http://"+u.Addr().String(), nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		g := &gatedConn{TCPConn: raw.(*net.TCPConn), wrote: make(chan struct{}, 1)}
		open := g.shut()
		go func() { <-g.wrote; open() }()
		eventually(t, "the upstream's end is here, unread", func() bool { return tcpState(g) == closeWait })
		conns = append(conns, g)
		return g, nil
	})
	out, released := outgoing(`{}`)
	_, f := c.Send(t.Context(), out)
	if f == nil || f.Class != fault.Reset || len(conns) != 1 {
		t.Errorf("%v after %d connections", f, len(conns))
	}
	eventually(t, "body released", func() bool { return released.Load() == 1 })
}

// h2Script speaks HTTP/2 by hand on one connection: refuse gets each request's stream.
func h2Script(t *testing.T, c net.Conn, refuse func(fr *http2.Framer, stream uint32)) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	_ = fr.WriteSettings()
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = fr.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				refuse(fr, f.StreamID)
			}
		}
	}
}

// R58: what an HTTP/2 server did not process. GOAWAY is sent again on a new connection; a server that refuses again
// and again is asked twice, not for a minute.
func TestResendHTTP2(t *testing.T) {
	certificates := testCertificates(t)
	for _, tc := range []struct {
		name     string
		refuse   func(fr *http2.Framer, stream uint32, c net.Conn)
		always   bool
		requests int32
		class    fault.Class // Unknown: answered
	}{
		{name: "GOAWAY", requests: 2, refuse: func(fr *http2.Framer, _ uint32, _ net.Conn) {
			_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
		}},
		{name: "GOAWAY with an error", requests: 2, refuse: func(fr *http2.Framer, _ uint32, _ net.Conn) {
			_ = fr.WriteGoAway(0, http2.ErrCodeInternal, nil)
		}},
		{name: "REFUSED_STREAM", requests: 2, refuse: func(fr *http2.Framer, stream uint32, _ net.Conn) {
			_ = fr.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		}},
		{name: "REFUSED_STREAM always", always: true, requests: 2, class: fault.Reset, refuse: func(fr *http2.Framer, stream uint32, _ net.Conn) {
			_ = fr.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
		}},
		{name: "closed after it was taken", requests: 1, class: fault.Reset, refuse: func(_ *http2.Framer, _ uint32, c net.Conn) {
			_ = c.Close()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var requests atomic.Int32
			u := listen(t, func(_ int32, raw *net.TCPConn) {
				c := tls.Server(raw, &tls.Config{Certificates: certificates, NextProtos: []string{"h2"}})
				h2Script(t, c, func(fr *http2.Framer, stream uint32) {
					if n := requests.Add(1); n == 1 || tc.always {
						tc.refuse(fr, stream, c)
						return
					}
					_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true})
					_ = fr.WriteData(stream, true, []byte("{}"))
				})
			})
			c := newClient(t, "https://"+u.Addr().String(), nil, nil)
			insecure(c)
			out, released := outgoing(`{"messages":[]}`)
			start := time.Now()
			resp, f := c.Send(t.Context(), out)
			class := fault.Unknown
			if f != nil {
				class = f.Class
			} else if b := readAll(t, resp); b != "{}" || resp.ProtoMajor != 2 {
				t.Errorf("got %q over %s", b, resp.Proto)
			}
			if class != tc.class || requests.Load() != tc.requests {
				t.Errorf("class %v after %d requests, want %v after %d (%v)", class, requests.Load(), tc.class, tc.requests, f)
			}
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("took %v", d)
			}
			eventually(t, "body released", func() bool { return released.Load() == 1 })
			c.Close()
		})
	}
}

func testCertificates(t *testing.T) []tls.Certificate {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return s.TLS.Certificates
}

// insecure makes a client accept the test server's certificate.
func insecure(c *Client) {
	for _, tr := range []*http.Transport{c.pooled, c.fresh} {
		tr.TLSClientConfig.InsecureSkipVerify = true
	}
	c.dialer.config.InsecureSkipVerify = true
}

// The body may not be read after it was closed, whoever still holds it: its owner has it back.
func TestBodyReader(t *testing.T) {
	released := 0
	p := &payload{data: []byte("abcdef"), release: func() { released++ }}
	r, late, unread := &bodyReader{payload: p}, &bodyReader{payload: p}, &bodyReader{payload: p}
	var got bytes.Buffer
	if _, err := io.CopyN(&got, r, 3); err != nil {
		t.Fatal(err)
	}
	_ = unread.Close()
	p.seal()
	if released != 0 {
		t.Fatal("released while it is read")
	}
	if n, err := late.Read(make([]byte, 3)); n != 0 || err == nil {
		t.Errorf("a reader began after the end: %d, %v", n, err)
	}
	_ = late.Close()
	_ = r.Close()
	_ = r.Close()
	if n, err := r.Read(make([]byte, 3)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v after close", n, err)
	}
	if released != 1 || got.String() != "abc" {
		t.Errorf("released %d times after %q", released, got.String())
	}
}
