package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/config"
	"evergate/internal/mock"
	"evergate/internal/testkit"
)

const year = 365 * 24 * time.Hour

// lines is a log of a test.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

// secured is a gateway with a certificate.
type secured struct {
	*stack
	log       lines
	authority *testkit.Authority
	own       testkit.Issued
	text      string
}

// newSecured starts it; more is added to server.tls, and what it has for %q is the authority's file.
func newSecured(t *testing.T, more string, scripts map[string]mock.Script) *secured {
	t.Helper()
	s := &secured{authority: testkit.NewAuthority(t)}
	s.own = s.authority.Issue(t, year, "gateway")
	if strings.Contains(more, "%q") {
		more = fmt.Sprintf(more, s.authority.File)
	}
	s.text = strings.Replace(twoProviders, `{listen: "gateway:80"}`, fmt.Sprintf(`{listen: "gateway:80", tls: {cert_file: %q, key_file: %q%s}}`, s.own.CertFile, s.own.KeyFile, more), 1)
	s.stack = newStackWith(t, parse(t, s.text), scripts, slog.New(slog.NewTextHandler(&s.log, nil)))
	s.client = s.over(t, true)
	return s
}

// over is a client that speaks TLS, with HTTP/2 or without, and shows a certificate if it is given one.
func (s *secured) over(t *testing.T, two bool, shows ...tls.Certificate) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: s.net.DialContext, TLSClientConfig: &tls.Config{RootCAs: s.authority.Pool, Certificates: shows}, ForceAttemptHTTP2: two, MaxIdleConnsPerHost: 100}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: plainly{tr}}
}

// plainly has what tests ask over HTTP asked over TLS.
type plainly struct{ *http.Transport }

func (p plainly) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "https", "gateway:80"
	return p.Transport.RoundTrip(r)
}

func (s *secured) shown(t *testing.T) string {
	t.Helper()
	c, err := s.net.DialContext(t.Context(), "tcp", "gateway:80")
	if err != nil {
		t.Fatal(err)
	}
	k := tls.Client(c, &tls.Config{RootCAs: s.authority.Pool, ServerName: "gateway"})
	defer k.Close()
	if err := k.Handshake(); err != nil {
		return err.Error()
	}
	return k.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// Clients of both versions of HTTP are served over TLS, plain answers and streams; who speaks plain text is told so.
func TestTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, "", map[string]mock.Script{"a": answers(), "b": answers()})
		for _, two := range []bool{true, false} {
			s.client = s.over(t, two)
			for _, stream := range []bool{true, false} {
				if got := s.ask("demo", stream); got.status != 200 || !strings.Contains(got.text, "simulated provider a") || stream != got.done {
					t.Errorf("HTTP/2 %t, stream %t: %s", two, stream, got.story())
				}
			}
			resp, err := s.client.Get("http://gateway/healthz")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.ProtoMajor == 2 != two {
				t.Errorf("HTTP/2 %t: %s", two, resp.Proto)
			}
		}
		c := s.wire(t)
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n")
		if res, text := reply(t, c); res.StatusCode != 400 || !strings.Contains(text, "HTTPS server") {
			t.Errorf("in plain text: %d %s", res.StatusCode, text)
		}
		c = s.wire(t)
		_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		if got, _ := io.ReadAll(c); bytes.HasPrefix(got, []byte("\x00\x00")) {
			t.Errorf("HTTP/2 in plain text: %q", got)
		}
	})
}

// A drain over TLS is a drain: streams go on to their end, who asks on an open connection is served, and silent ones are closed.
func TestDrainOverTLS(t *testing.T) {
	for name, stop := range map[string]func(*App, context.Context) error{"stop": (*App).Stop, "hand-over": (*App).HandOver} {
		for _, two := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", name, two), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSecured(t, "", map[string]mock.Script{"a": {Defaults: mock.Behaviour{ChunkDelay: time.Second, Chunks: 8, FirstToken: time.Second, ChunkSize: 4}}, "b": answers()})
					s.client = s.over(t, two)
					silent := tls.Client(s.wire(t), &tls.Config{RootCAs: s.authority.Pool, ServerName: "gateway"})
					if err := silent.Handshake(); err != nil {
						t.Fatal(err)
					}
					streamed, asked := make(chan answer), make(chan answer)
					go func() { streamed <- s.ask("demo", true) }()
					time.Sleep(3 * time.Second)
					ended := s.stopping(func(ctx context.Context) error { return stop(s.app, ctx) })
					synctest.Wait()
					if two { // on the connection of the stream
						go func() { asked <- s.ask("demo", false) }()
						if got := <-asked; got.status != 200 {
							t.Errorf("asked in the drain: %s", got.story())
						}
					}
					if got := <-streamed; !got.done || got.broken != nil {
						t.Errorf("streamed: %s", got.story())
					}
					if _, err := silent.Read(make([]byte, 1)); err == nil {
						t.Error("a silent connection hears something")
					}
					if took := <-ended; took > 15*time.Second {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	}
}

// A certificate that is renewed on disk is shown within seconds, one that cannot be used is refused and said, and no connection ends of it.
func TestRenewedCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, "", map[string]mock.Script{"a": answers(), "b": answers()})
		first := s.shown(t)
		if got := s.ask("demo", false); got.status != 200 {
			t.Error(got.story())
		}
		dials := s.net.Dials("gateway:80")
		s.own.Replace(t, s.authority.Issue(t, year, "gateway"))
		time.Sleep(lookAtFiles + time.Second)
		second := s.shown(t)
		if second == first || !s.log.has("certificate renewed", "server.listen") {
			t.Errorf("shown: %s, before %s", second, first)
		}
		if got := s.ask("demo", false); got.status != 200 || s.net.Dials("gateway:80") != dials+1 {
			t.Errorf("on the connection of before: %s, %d dials", got.story(), s.net.Dials("gateway:80")-dials)
		}
		if err := os.WriteFile(s.own.KeyFile, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * lookAtFiles)
		if got := s.shown(t); got != second || !s.log.has("certificate refused, the old one stays in force", "no private key") {
			t.Errorf("shown with a broken file: %s", got)
		}
		s.next = parse(t, s.text)
		err := s.app.Reload()
		if err == nil || !strings.Contains(err.Error(), "test.yaml:2:") || !strings.Contains(err.Error(), "server.tls.key_file: there is no private key") {
			t.Errorf("reload: %v", err)
		}
		s.own.Replace(t, s.authority.Issue(t, -time.Minute, "gateway"))
		if err := s.app.Reload(); err == nil || !strings.Contains(err.Error(), "not in force") {
			t.Errorf("reload with one that ended: %v", err)
		}
		s.own.Replace(t, s.authority.Issue(t, 24*time.Hour, "gateway"))
		if err := s.app.Reload(); err != nil {
			t.Error(err)
		}
		if got := s.shown(t); got == second {
			t.Error("a reload does not take a new certificate")
		}
		time.Sleep(2 * lookAtFiles)
		if !s.log.has("certificate ends soon", "server.listen") {
			t.Error("nobody is told of its end")
		}
	})
}

// Clients that must show a certificate show one, over both versions of HTTP, and a reload changes who is believed.
func TestClientCertificates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, ", client_ca_file: %q", map[string]mock.Script{"a": answers(), "b": answers()})
		other := testkit.NewAuthority(t)
		worker, stranger := s.authority.Issue(t, year, "worker-7").TLS, other.Issue(t, year, "worker-7").TLS
		ask := func(shows ...tls.Certificate) string {
			t.Helper()
			served := 0
			for _, two := range []bool{true, false} {
				s.client = s.over(t, two, shows...)
				if got := s.ask("demo", true); got.status == 200 {
					served++
				}
			}
			return []string{"refused", "served by one of two", "served"}[served]
		}
		if got := ask(worker) + ", " + ask() + ", " + ask(stranger); got != "served, refused, refused" {
			t.Errorf("who has one, who shows none, and a stranger: %s", got)
		}
		s.next = parse(t, strings.Replace(s.text, s.authority.File, other.File, 1))
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if got := ask(worker) + ", " + ask(stranger); got != "refused, served" {
			t.Errorf("after the reload: %s", got)
		}
	})
}

// A provider's certificate that is renewed on disk is shown to it from the next connection on, and one that cannot be used is not taken.
func TestRenewedProviderCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := testkit.NewAuthority(t)
		own := a.Issue(t, year, "gateway-1")
		text := strings.Replace(twoProviders, `base_url: "http://a/v1"`, fmt.Sprintf(`base_url: "https://a:443/v1", tls: {ca_file: %q, cert_file: %q, key_file: %q}`, a.File, own.CertFile, own.KeyFile), 1)
		var log lines
		p := mock.New(mock.Script{Name: "a"})
		var seen atomic.Pointer[string]
		s := newStackWith(t, parse(t, text), map[string]mock.Script{"b": answers()}, slog.New(slog.NewTextHandler(&log, nil)), func(s *stack) {
			config := &tls.Config{Certificates: []tls.Certificate{a.Issue(t, year, "a").TLS}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.Pool}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(&r.TLS.PeerCertificates[0].Subject.CommonName)
				p.ServeHTTP(w, r)
			})}
			done := make(chan struct{})
			l := tls.NewListener(s.net.Listen("a:443"), config)
			go func() { defer close(done); _ = server.Serve(l) }()
			t.Cleanup(func() { _ = server.Close(); <-done })
		})
		show := func() string {
			if got := s.ask("demo", false); got.status != 200 || !strings.Contains(got.text, "simulated provider a") {
				t.Errorf("%s: %s", got.story(), got.body)
			}
			return *seen.Load()
		}
		if got := show(); got != "gateway-1" {
			t.Errorf("shown: %s", got)
		}
		own.Replace(t, a.Issue(t, year, "gateway-2"))
		time.Sleep(3 * lookAtFiles)
		if got := show(); got != "gateway-2" || !log.has("certificates of providers renewed") {
			t.Errorf("after renewal: %s", got)
		}
		if err := os.WriteFile(own.KeyFile, []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * lookAtFiles)
		if got := show(); got != "gateway-2" || !log.has("certificates of providers refused", "provider a") {
			t.Errorf("with a broken file: %s", got)
		}
		log.mu.Lock()
		if n := strings.Count(log.text.String(), "certificates of providers refused"); n != 1 {
			t.Errorf("said %d times", n)
		}
		log.mu.Unlock()
		own.Replace(t, a.Issue(t, year, "gateway-3"))
		s.next = parse(t, text)
		if err := s.app.Reload(); err != nil {
			t.Fatal(err)
		}
		if got := show(); got != "gateway-3" {
			t.Errorf("after a reload: %s", got)
		}
	})
}

// Files that cannot be used keep nobody else's back, and with a provider's renewal no certificate of a listener comes in force that was refused.
func TestRenewedBesideBrokenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &secured{authority: testkit.NewAuthority(t)}
		issue := func(life time.Duration, name string) testkit.Issued { return s.authority.Issue(t, life, name) }
		s.own = issue(year, "gateway")
		one, two := issue(year, "one"), issue(year, "two")
		s.text = strings.Replace(twoProviders, `{listen: "gateway:80"}`, fmt.Sprintf(`{listen: "gateway:80", tls: {cert_file: %q, key_file: %q}}`, s.own.CertFile, s.own.KeyFile), 1)
		for host, files := range map[string]testkit.Issued{"a": one, "b": two} {
			s.text = strings.Replace(s.text, `base_url: "http://`+host+`/v1"`, fmt.Sprintf(`base_url: "https://%s/v1", tls: {cert_file: %q, key_file: %q}`, host, files.CertFile, files.KeyFile), 1)
		}
		s.stack = newStackWith(t, parse(t, s.text), map[string]mock.Script{}, slog.New(slog.NewTextHandler(&s.log, nil)))
		// renewed says whose clients are other ones than before, some looks after a change.
		renewed := func(change func()) (names string) {
			before := *s.app.live.Load()
			change()
			time.Sleep(4 * lookAtFiles)
			for _, name := range []string{"a", "b"} {
				if (*s.app.live.Load())[name] != before[name] {
					names += name
				}
			}
			return names
		}
		spoil := func(name string) {
			if err := os.WriteFile(name, []byte("nothing"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		first := s.shown(t)
		s.own.Replace(t, issue(-time.Minute, "gateway"))
		if got := renewed(func() { two.Replace(t, issue(year, "two")) }); got != "b" {
			t.Errorf("beside a listener's that has ended: %q is renewed", got)
		}
		if got := s.shown(t); got != first {
			t.Errorf("the listener shows %s, which was refused; before %s", got, first)
		}
		spoil(s.own.KeyFile)
		if got := renewed(func() { two.Replace(t, issue(year, "two")) }); got != "b" {
			t.Errorf("beside a listener's that cannot be read: %q is renewed", got)
		}
		if got := renewed(func() { spoil(one.KeyFile) }); got != "" {
			t.Errorf("with a broken file %q is renewed", got)
		}
		if got := renewed(func() { two.Replace(t, issue(year, "two")) }); got != "b" {
			t.Errorf("beside another provider's broken file: %q is renewed", got)
		}
		s.log.mu.Lock()
		if n := strings.Count(s.log.text.String(), "certificates of providers refused"); n != 1 {
			t.Errorf("said %d times", n)
		}
		s.log.mu.Unlock()
		if got := renewed(func() { one.Replace(t, issue(year, "one")) }); got != "a" {
			t.Errorf("once it is whole again: %q is renewed", got)
		}
	})
}

// What check says of certificates, with their places.
func TestVerifyCertificates(t *testing.T) {
	a := testkit.NewAuthority(t)
	one, two, old := a.Issue(t, year, "gateway"), a.Issue(t, year, "gateway"), a.Issue(t, -time.Minute, "gateway")
	text := func(cert, key string) string {
		return fmt.Sprintf("admin:\n  token: t\n  listen: 127.0.0.1:81\n  tls:\n    cert_file: %q\n    key_file: %q\nproviders: {a: {type: openai, api_key: k}}\n", cert, key)
	}
	for name, c := range map[string]struct{ text, says string }{
		"sound":         {text(one.CertFile, one.KeyFile), ""},
		"another's key": {text(one.CertFile, two.KeyFile), "test.yaml:6:15: admin.tls.key_file: the private key does not belong to the certificate in cert_file"},
		"ended":         {text(old.CertFile, old.KeyFile), "test.yaml:5:16: admin.tls.cert_file: the certificate is not in force: it ended on "},
		"no file":       {text(one.CertFile+"x", one.KeyFile), "test.yaml:5:16: admin.tls.cert_file: " + one.CertFile + "x cannot be read: no such file or directory"},
	} {
		err := Verify(parse(t, c.text))
		var problems config.Problems
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &problems) || len(problems) != 1 || !strings.HasPrefix(problems[0].String(), c.says)):
			t.Errorf("%s: %v", name, err)
		}
	}
	// One that ended keeps nobody from starting: clients that do not mind are served.
	if _, err := New(Options{Config: parse(t, text(old.CertFile, old.KeyFile)), Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Error(err)
	}
}

// WebSockets go through TLS as through plain text.
func TestSocketOverTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSecured(t, "", map[string]mock.Script{"b": answers()})
		var closed atomic.Int32
		s.net.Serve(t, "a:80", echoes(t, func(*http.Request) {}, &closed))
		c := tls.Client(s.wire(t), &tls.Config{RootCAs: s.authority.Pool, ServerName: "gateway", NextProtos: []string{"http/1.1"}})
		defer c.Close()
		_, err := io.WriteString(c, "GET /passthrough/a/v1/realtime HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\nearly")
		if err != nil {
			t.Fatal(err)
		}
		k := &socket{Conn: c, in: bufio.NewReader(c)}
		if k.head, err = http.ReadResponse(k.in, nil); err != nil || k.head.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v %+v", err, k.head)
		}
		if got := k.read(t, 10); got != "helloearly" {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Hour)
		_, _ = io.WriteString(c, "more")
		if got := k.read(t, 4); got != "more" {
			t.Errorf("%q", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.app.Stop(ctx); !errors.Is(err, errCutOff) {
			t.Errorf("stop: %v", err)
		}
		if _, err := k.in.ReadByte(); err == nil {
			t.Error("it goes on after the stop")
		}
	})
}
