package provider

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/testkit"
)

func TestSend(t *testing.T) {
	big := strings.Repeat("0123456789", 30_000)
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, secure := range []bool{false, true} {
			l, err := net.Listen("tcp", network)
			if err != nil {
				t.Logf("no %s here: %v", network, err)
				continue
			}
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				w.Header().Set("X-Path", r.Method+" "+r.URL.RequestURI())
				w.WriteHeader(http.StatusTeapot) // any status is a response
				_, _ = w.Write(b)
			}))
			_ = s.Listener.Close()
			s.Listener = l
			s.EnableHTTP2 = true
			if secure {
				s.StartTLS()
			} else {
				s.Start()
			}
			ca := filepath.Join(t.TempDir(), "ca.pem")
			if secure {
				b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
				if err := os.WriteFile(ca, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := newClient(t, s.URL+"/v1?api-version=1", func(o *Options) {
				if secure {
					o.TLS.CAFile = ca
				}
			}, nil)
			if host := c.options.BaseURL.Hostname(); secure && strings.Contains(host, ":") {
				c.dialer.config.InsecureSkipVerify = host == "::1"
			}
			for _, body := range []string{`{"model":"m"}`, big, ""} {
				out, released := outgoing(body)
				resp, f := c.Send(t.Context(), out)
				if f != nil {
					t.Fatalf("%s: %v", s.URL, f)
				}
				if got := readAll(t, resp); got != body || resp.StatusCode != http.StatusTeapot {
					t.Errorf("%s: %d, %d bytes, want %d", s.URL, resp.StatusCode, len(got), len(body))
				}
				if p := resp.Header.Get("X-Path"); p != "POST /v1/chat/completions?api-version=1" {
					t.Errorf("asked for %q", p)
				}
				if secure && resp.ProtoMajor != 2 {
					t.Errorf("%s over TLS", resp.Proto)
				}
				eventually(t, "body released", func() bool { return released.Load() == 1 })
			}
			c.Close()
			s.Close()
		}
	}
}

// R14: a redirect is an answer like any other, and nobody follows it.
func TestRedirectIsNotFollowed(t *testing.T) {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	c := newClient(t, s.URL, nil, nil)
	out, _ := outgoing(`{}`)
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	body := readAll(t, resp)
	if f := c.Classify(resp.StatusCode, resp.Header, []byte(body), "", ""); f.Class != fault.Invalid || n.Load() != 1 {
		t.Errorf("%v after %d requests", f, n.Load())
	}
}

// The proxy that the options name is asked, and sees where to.
func TestProxy(t *testing.T) {
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.RequestURI }))
	defer s.Close()
	c := newClient(t, "http://up.test/v1", func(o *Options) {
		o.Proxy, _ = url.Parse(s.URL)
	}, nil)
	out, _ := outgoing(`{}`)
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	readAll(t, resp)
	if asked != "http://up.test/v1/chat/completions" {
		t.Errorf("proxy was asked for %q", asked)
	}
}

func deflated(t *testing.T, encoding, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "zlib":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, 6)
	default:
		w = gzip.NewWriter(&b)
	}
	_, _ = io.WriteString(w, text)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecode(t *testing.T) {
	const text = `{"choices":[{"message":{"content":"hello hello hello hello"}}]}`
	zipped := deflated(t, "gzip", text)
	broken := bytes.Clone(zipped)
	broken[len(broken)-6] ^= 0xff // the checksum
	for _, tc := range []struct {
		name     string
		encoding []string
		body     []byte
		status   int
		want     string
		err      error
		class    fault.Class // of the read, or of Send where it is Invalid and err is nil
	}{
		{name: "gzip", encoding: []string{"gzip"}, body: zipped, want: text},
		{name: "upper case", encoding: []string{"GZIP"}, body: zipped, want: text},
		{name: "x-gzip", encoding: []string{"x-gzip"}, body: zipped, want: text},
		{name: "identity", encoding: []string{"identity"}, body: []byte(text), want: text},
		{name: "deflate with zlib", encoding: []string{"deflate"}, body: deflated(t, "zlib", text), want: text},
		{name: "deflate without", encoding: []string{"deflate"}, body: deflated(t, "raw", text), want: text},
		{name: "two layers", encoding: []string{"deflate, gzip"}, body: deflated(t, "gzip", string(deflated(t, "zlib", text))), want: text},
		{name: "two lines", encoding: []string{"gzip", "identity"}, body: zipped, want: text},
		{name: "empty body", encoding: []string{"gzip"}, body: nil, want: ""},
		{name: "cut", encoding: []string{"gzip"}, body: zipped[:len(zipped)-9], err: io.ErrUnexpectedEOF, class: fault.Reset},
		{name: "cut head", encoding: []string{"gzip"}, body: zipped[:5], err: io.ErrUnexpectedEOF, class: fault.Reset},
		{name: "cut deflate", encoding: []string{"deflate"}, body: []byte{0x78}, err: io.ErrUnexpectedEOF, class: fault.Reset},
		{name: "checksum", encoding: []string{"gzip"}, body: broken, err: errCorrupt, class: fault.Invalid},
		{name: "not gzip", encoding: []string{"gzip"}, body: []byte(text), err: errCorrupt, class: fault.Invalid},
		{name: "brotli", encoding: []string{"br"}, body: zipped, class: fault.Invalid},
		{name: "zstd under gzip", encoding: []string{"zstd, gzip"}, body: zipped, class: fault.Invalid},
		{name: "too many layers", encoding: []string{"gzip, gzip, gzip, gzip"}, body: zipped, class: fault.Invalid},
		{name: "brotli error", encoding: []string{"br"}, body: zipped, status: 503, want: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if e := r.Header.Get("Accept-Encoding"); e != "" {
					t.Errorf("asked for %q", e)
				}
				w.Header()["Content-Encoding"] = tc.encoding
				w.WriteHeader(max(tc.status, 200))
				_, _ = w.Write(tc.body)
			}))
			defer s.Close()
			c := newClient(t, s.URL, nil, nil)
			out, _ := outgoing(`{}`)
			resp, f := c.Send(t.Context(), out)
			if tc.class == fault.Invalid && tc.err == nil {
				if f == nil || f.Class != fault.Invalid || !strings.Contains(f.Message, "content encoding") {
					t.Errorf("%v", f)
				}
				return
			}
			if f != nil {
				t.Fatal(f)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if tc.err != nil {
				if !errors.Is(err, tc.err) {
					t.Errorf("%v, want %v", err, tc.err)
				}
				if f := c.ReadFault(t.Context(), err); f.Class != tc.class {
					t.Errorf("%v, want %v", f, tc.class)
				}
				return
			}
			if string(got) != tc.want || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if resp.Header.Get("Content-Encoding") != "" || tc.name != "identity" && resp.Header.Get("Content-Length") != "" {
				t.Errorf("headers still say %v", resp.Header)
			}
		})
	}
}

// A gzipped event stream is one: each event is readable when the upstream has flushed it, before the next is sent.
func TestDecodeStream(t *testing.T) {
	next := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush() // the head alone must end Send
		z := gzip.NewWriter(w)
		for range next {
			_, _ = io.WriteString(z, "data: {\"x\":1}\n\n")
			_ = z.Flush()
			_ = http.NewResponseController(w).Flush()
		}
		_ = z.Close()
	}))
	defer s.Close()
	c := newClient(t, s.URL, nil, nil)
	out, _ := outgoing(`{}`)
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	for range 3 {
		next <- struct{}{}
		if line, err := r.ReadString('\n'); line != "data: {\"x\":1}\n" || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	close(next)
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

type failingConn struct{ net.Conn }

func (failingConn) Read([]byte) (int, error)    { return 0, io.EOF }
func (failingConn) Write(b []byte) (int, error) { return len(b), nil }
func (failingConn) Close() error                { return nil }

// R1, R2: what became of an exchange without a response, in words that hold no address.
func TestNetworkFaults(t *testing.T) {
	raw := func(reply string) *upstream {
		return listen(t, func(_ int32, c *net.TCPConn) {
			takeRequest(t, bufio.NewReader(c))
			_, _ = io.WriteString(c, reply)
		})
	}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	notTLS := listen(t, func(_ int32, c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 512))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	failing := func(err error) DialFunc {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	for _, tc := range []struct {
		name, base string
		dial       DialFunc
		class      fault.Class
		message    string
	}{
		{"refused", "http://" + testkit.Nobody(t), nil, fault.Connect, "connection refused"},
		{"DNS", "http://up.test", failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "up.test", IsNotFound: true}}), fault.Connect, "DNS lookup failed"},
		{"DNS timeout", "http://up.test", failing(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "up.test", IsTimeout: true}}), fault.Timeout, "connect timed out"},
		{"connect timeout", "http://up.test", failing(os.ErrDeadlineExceeded), fault.Timeout, "connect timed out"},
		{"something else", "http://up.test", failing(errors.New("10.0.0.1: odd")), fault.Connect, "connection not made"},
		{"certificate", untrusted.URL, nil, fault.Connect, "TLS certificate not trusted"},
		{"not TLS", "https://" + notTLS.Addr().String(), nil, fault.Connect, "TLS handshake failed"},
		{"closed", "http://" + raw("").Addr().String(), nil, fault.Reset, "connection closed before an answer"},
		{"cut head", "http://" + raw("HTTP/1.1 200 OK\r\nContent-Le").Addr().String(), nil, fault.Reset, "connection closed before an answer"},
		{"cut between headers", "http://" + raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n").Addr().String(), nil, fault.Reset, "connection closed before an answer"},
		{"no HTTP", "http://" + raw("SSH-2.0-x\r\n\r\n").Addr().String(), nil, fault.Invalid, "the upstream did not answer in HTTP"},
		{"bad header", "http://" + raw("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").Addr().String(), nil, fault.Invalid, "the upstream did not answer in HTTP"},
		{"endless head", "http://" + raw("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", maxResponseHead+1<<12)).Addr().String(), nil, fault.Invalid, "the upstream did not answer in HTTP"},
		{"end of a connection that is no TCP", "http://up.test", func(context.Context, string, string) (net.Conn, error) {
			return failingConn{}, nil
		}, fault.Reset, "connection closed before an answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newClient(t, tc.base, nil, tc.dial)
			out, released := outgoing(`{"model":"m"}`)
			resp, f := c.Send(t.Context(), out)
			if f == nil {
				readAll(t, resp)
				t.Fatal("no fault")
			}
			if f.Class != tc.class || f.Message != tc.message || f.Cause == nil {
				t.Errorf("%v %q (%v), want %v %q", f.Class, f.Message, f.Cause, tc.class, tc.message)
			}
			eventually(t, "body released", func() bool { return released.Load() == 1 })
		})
	}
}

// R2: the connect timeout bounds TCP and TLS together.
func TestConnectTimeout(t *testing.T) {
	for name, base := range map[string]string{"TCP": "http://up.test", "TLS": "https://up.test"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, base, func(o *Options) { o.ConnectTimeout = 5 * time.Second }, func(ctx context.Context, _, _ string) (net.Conn, error) {
					if base == "http://up.test" {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					time.Sleep(3 * time.Second) // the fake clock's
					ours, theirs := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, theirs) }() // takes the hello and never says a word
					return ours, nil
				})
				start := time.Now()
				out, released := outgoing(`{}`)
				_, f := c.Send(t.Context(), out)
				if f == nil || f.Class != fault.Timeout || f.Message != "connect timed out" {
					t.Errorf("%v", f)
				}
				if d := time.Since(start); d != 5*time.Second {
					t.Errorf("after %v", d)
				}
				if released.Load() != 1 {
					t.Errorf("released %d times", released.Load())
				}
			})
		})
	}
}

// R13, R2, R58: the end of the context ends the exchange at once, and its cause says what it was.
func TestContextEnds(t *testing.T) {
	here, gone := make(chan struct{}, 8), make(chan struct{}, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		here <- struct{}{}
		if r.Header.Get("X-Title") != "" {
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer s.Close()
	c := newClient(t, s.URL, nil, nil)
	stall := &fault.Fault{Class: fault.Timeout, Message: "no first chunk"}
	for _, tc := range []struct {
		name  string
		cause error
		class fault.Class
	}{
		{"the attempt's own fault", stall, fault.Timeout},
		{"deadline", context.DeadlineExceeded, fault.Timeout},
		{"cancelled", nil, fault.ClientGone},
	} {
		for _, head := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			out, released := outgoing(`{}`)
			var leaving sync.WaitGroup
			if head {
				out.Header.Set("X-Title", "head first")
			} else {
				leaving.Go(func() { <-here; cancel(tc.cause) })
			}
			resp, f := c.Send(ctx, out)
			leaving.Wait()
			if head {
				if f != nil {
					t.Fatal(f)
				}
				<-here
				cancel(tc.cause)
				_, err := resp.Body.Read(make([]byte, 1))
				f = c.ReadFault(ctx, err)
				_ = resp.Body.Close()
			}
			if f.Class != tc.class {
				t.Errorf("%s: %v, want %v", tc.name, f, tc.class)
			}
			start := time.Now()
			<-gone
			if d := time.Since(start); d > 100*time.Millisecond {
				t.Errorf("%s: the upstream heard of it after %v", tc.name, d)
			}
			eventually(t, "body released", func() bool { return released.Load() == 1 })
			cancel(nil)
		}
	}
}

// The upstream may answer before it has read the request; the body is held until the transport is done with it.
func TestEarlyAnswer(t *testing.T) {
	done := make(chan struct{})
	u := listen(t, func(_ int32, c *net.TCPConn) {
		r := bufio.NewReader(c)
		for {
			line, err := r.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
		}
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
		<-done
		_, _ = io.Copy(io.Discard, r)
	})
	c := newClient(t, "http://"+u.Addr().String(), nil, nil)
	out, released := outgoing(strings.Repeat("x", 64<<20)) // more than any socket buffer
	resp, f := c.Send(t.Context(), out)
	if f != nil {
		t.Fatal(f)
	}
	readAll(t, resp)
	close(done)
	c.Close()
	eventually(t, "body released", func() bool { return released.Load() == 1 })
}

// Without a connection of our own making, TLS within a proxy's tunnel works all the same.
func TestTunnel(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer s.Close()
	proxy := listen(t, func(_ int32, c *net.TCPConn) {
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil || req.Method != http.MethodConnect {
			t.Errorf("proxy: %v", err)
			return
		}
		up, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer up.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(up, r); _ = up.Close() }()
		_, _ = io.Copy(c, up)
	})
	c := newClient(t, "https://up.test", func(o *Options) { o.Proxy, _ = url.Parse("http://" + proxy.Addr().String()) }, nil)
	c.pooled.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	for range 2 {
		out, released := outgoing(`{}`)
		resp, f := c.Send(t.Context(), out)
		if f != nil {
			t.Fatal(f)
		}
		readAll(t, resp)
		eventually(t, "body released", func() bool { return released.Load() == 1 })
	}
	c.Close()
}
