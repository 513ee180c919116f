package provider

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"evergate/internal/fault"
	"evergate/internal/testkit"
)

const (
	proxyUser, proxyPassword = "gateway", "Hush-0815-secret"
	proxyWord                = proxyUser + ":" + proxyPassword
)

// proxied is a proxy that wants to know who asks, and what it was asked for.
type proxied struct {
	url   *url.URL
	mu    sync.Mutex
	asked []string
	shown bool // somebody showed it a certificate
}

func (p *proxied) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, s)
}

// httpProxy is one for HTTP, over TLS if it has a certificate.
func httpProxy(t *testing.T, a *testkit.Authority, secure bool) *proxied {
	t.Helper()
	p := &proxied{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			p.shown = true
		}
		p.note(r.Method + " " + r.RequestURI)
		if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(proxyWord)) {
			w.WriteHeader(http.StatusProxyAuthRequired)
			_, _ = io.WriteString(w, "who is "+r.Header.Get("Proxy-Authorization"))
			return
		}
		if r.Method != http.MethodConnect {
			r.RequestURI = ""
			r.Header.Del("Proxy-Authorization")
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			w.WriteHeader(resp.StatusCode)
			_, _ = io.Copy(w, resp.Body)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		join(from, to)
	}))
	scheme := "http"
	if secure {
		scheme = "https"
		s.TLS = &tls.Config{Certificates: []tls.Certificate{a.Issue(t, time.Hour, "127.0.0.1").TLS}, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"}}
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	p.url = &url.URL{Scheme: scheme, User: url.UserPassword(proxyUser, proxyPassword), Host: s.Listener.Addr().String()}
	return p
}

func join(a, b net.Conn) {
	done := make(chan struct{})
	go func() { _, _ = io.Copy(a, b); _ = a.Close(); close(done) }()
	_, _ = io.Copy(b, a)
	_ = b.Close()
	<-done
}

// socksProxy speaks SOCKS 5 (RFC 1928, 1929).
func socksProxy(t *testing.T, scheme string) *proxied {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	p := &proxied{url: &url.URL{Scheme: scheme, User: url.UserPassword(proxyUser, proxyPassword), Host: l.Addr().String()}}
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { p.socks(c) })
		}
	})
	return p
}

func (p *proxied) socks(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	take := func(n int) []byte { b := make([]byte, n); _, _ = io.ReadFull(in, b); return b }
	_ = take(int(take(2)[1]))
	_, _ = c.Write([]byte{5, 2}) // user and password
	user := string(take(int(take(2)[1])))
	password := string(take(int(take(1)[0])))
	if user != proxyUser || password != proxyPassword {
		_, _ = c.Write([]byte{1, 1})
		return
	}
	_, _ = c.Write([]byte{1, 0})
	var host string
	switch take(4)[3] {
	case 1:
		host = net.IP(take(4)).String()
	case 3:
		host = string(take(int(take(1)[0])))
	}
	port := take(2)
	address := net.JoinHostPort(host, strconv.Itoa(int(port[0])<<8|int(port[1])))
	p.note("SOCKS " + address)
	to, err := net.Dial("tcp", address)
	if err != nil {
		_, _ = c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(c, to)
}

// upstreamOf wants a certificate of its clients over TLS, and says who they are.
func upstreamOf(t *testing.T, a *testkit.Authority, secure bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if r.TLS != nil {
			who = r.TLS.VerifiedChains[0][0].Subject.CommonName
		}
		_, _ = fmt.Fprintf(w, "%s via %s, proxy header %q", who, r.Proto, r.Header.Get("Proxy-Authorization"))
	}))
	if secure {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{a.Issue(t, time.Hour, "127.0.0.1").TLS}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool}
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// A provider is reached through each kind of proxy, over TLS with its own authority and our certificate; the proxy hears its own password and sees no
// certificate of ours, and the provider sees nothing of the proxy.
func TestProxies(t *testing.T) {
	t.Parallel()
	a := testkit.NewAuthority(t)
	own := a.Issue(t, time.Hour, "gateway-7")
	for _, secure := range []bool{false, true} {
		s := upstreamOf(t, a, secure)
		at := s.Listener.Addr().String()
		for kind, asked := range map[string]string{"http": "POST http://" + at + "/v1/chat/completions", "https": "POST http://" + at + "/v1/chat/completions", "socks5": "SOCKS " + at, "socks5h": "SOCKS " + at, "": ""} {
			if secure && strings.HasPrefix(kind, "http") {
				asked = "CONNECT " + at
			}
			t.Run(kind+" to "+s.URL[:5], func(t *testing.T) {
				t.Parallel()
				var p *proxied
				switch {
				case strings.HasPrefix(kind, "http"):
					p = httpProxy(t, a, kind == "https")
				case kind != "":
					p = socksProxy(t, kind)
				}
				c := newClient(t, s.URL+"/v1", func(o *Options) {
					o.TLS = TLS{CAFile: a.File, CertFile: own.CertFile, KeyFile: own.KeyFile}
					if p != nil {
						o.Proxy = p.url
					}
				}, nil)
				out, _ := outgoing(`{"model":"m"}`)
				resp, f := c.Send(t.Context(), out)
				if f != nil {
					t.Fatal(f, f.Cause)
				}
				want := `nobody via HTTP/1.1, proxy header ""`
				if secure {
					want = `gateway-7 via HTTP/2.0, proxy header ""`
				}
				if got := readAll(t, resp); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if p == nil {
					return
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.asked) != 1 || p.asked[0] != asked || p.shown {
					t.Errorf("the proxy was asked for %q, want %q; it saw a certificate: %t", p.asked, asked, p.shown)
				}
			})
		}
	}
}

// A proxy that refuses is a connection that is not made, and its password is in no word of it.
func TestRefusingProxy(t *testing.T) {
	t.Parallel()
	a := testkit.NewAuthority(t)
	s := upstreamOf(t, a, true)
	const wrong = "Wrong-4711-password"
	for name, p := range map[string]*proxied{"http": httpProxy(t, a, false), "https": httpProxy(t, a, true), "socks5": socksProxy(t, "socks5"), "gone": {url: &url.URL{Scheme: "http", User: url.UserPassword("u", wrong), Host: "127.0.0.1:1"}}} {
		u := *p.url
		u.User = url.UserPassword(proxyUser, wrong)
		c := newClient(t, s.URL+"/v1", func(o *Options) { o.TLS.CAFile, o.Proxy = a.File, &u }, nil)
		out, _ := outgoing(`{"model":"m"}`)
		resp, f := c.Send(t.Context(), out)
		if f == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: it let us through", name)
			continue
		}
		text := fmt.Sprint(f, f.Message, f.Cause)
		if strings.Contains(text, wrong) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+wrong))) {
			t.Errorf("%s: %s", name, text)
		}
		if says := map[bool]string{true: "connection refused", false: "the proxy refuses the connection"}[name == "gone"]; f.Class != fault.Connect || f.Message != says || !f.Unsent && name != "gone" && name != "socks5" {
			t.Errorf("%s: class %v: %s", name, f.Class, text)
		}
	}
}
