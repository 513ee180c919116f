package provider

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

// secureServer is a server over TLS that speaks HTTP/2, and the file of its certificate.
func secureServer(t *testing.T, h http.HandlerFunc) (base, caFile string) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if _, err := x509.ParseCertificate(s.Certificate().Raw); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(caFile, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL + "/v1", caFile
}

// Over TLS plain requests and uploads take HTTP/2, where it is offered; a WebSocket, for which it has no way, HTTP/1.1.
func TestPassOverTLS(t *testing.T) {
	t.Parallel()
	base, caFile := secureServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/realtime" {
			n, _ := io.Copy(io.Discard, r.Body)
			w.Header().Set("X-Proto", r.Proto)
			w.Header().Set("X-Bytes", strings.Repeat("x", int(n>>20)))
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("%s: %v", r.Proto, err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		b := make([]byte, 4)
		_, _ = io.ReadFull(rw, b)
		_, _ = conn.Write(bytes.ToUpper(b))
	})
	c := newClient(t, base, func(o *Options) { o.TLS.CAFile = caFile }, nil)
	var released atomic.Int32
	resp, f := c.Pass(t.Context(), &attempt.Raw{Method: http.MethodPost, Path: "/a", Header: http.Header{}, Body: []byte("kept"), Credential: "default", Release: func() { released.Add(1) }})
	if f != nil {
		t.Fatal(f)
	}
	if got := resp.Header.Get("X-Proto"); got != "HTTP/2.0" {
		t.Errorf("%q", got)
	}
	_ = readAll(t, resp)
	eventually(t, "the body is let go of", func() bool { return released.Load() == 1 })

	resp, f = c.Pass(t.Context(), &attempt.Raw{
		Method: http.MethodPost, Path: "/b", Header: http.Header{}, Credential: "default",
		Upload: attempt.NewUpload(io.LimitReader(endless{}, 3<<20), -1),
	})
	if f != nil || resp.Header.Get("X-Bytes") != "xxx" {
		t.Fatalf("%v %v", resp, f)
	}
	_ = readAll(t, resp)

	resp, f = c.Pass(t.Context(), &attempt.Raw{Method: http.MethodGet, Path: "/realtime", Credential: "default", Upgrade: true, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}})
	if f != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", resp, f)
	}
	both := resp.Body.(io.ReadWriteCloser)
	defer both.Close()
	_, _ = io.WriteString(both, "ping")
	if b, _ := io.ReadAll(both); string(b) != "PING" {
		t.Errorf("%q", b)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// R7, R32: a token that is refused is renewed once where the body can be sent again; where it cannot, the refusal goes back and
// the next request has another token.
func TestPassWithOAuth(t *testing.T) {
	t.Parallel()
	i, _ := newIssuer(t, OAuth{RefreshToken: "refresh-0"})
	tokens := httptest.NewServer(i)
	t.Cleanup(tokens.Close)
	refuse := ""
	var used []string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		used = append(used, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") == refuse {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(up.Close)
	c := newClient(t, up.URL, func(o *Options) {
		o.Credentials = []Credential{{Name: "default", OAuth: &OAuth{TokenURL: tokens.URL, ClientID: "client", ClientSecret: "client-secret-1", RefreshToken: "refresh-0"}}}
	}, nil)
	kept := func() *attempt.Raw {
		return &attempt.Raw{Method: http.MethodPost, Path: "/a", Header: http.Header{}, Body: []byte("x"), Credential: "default", Release: func() {}}
	}
	refuse = "Bearer access-1"
	resp, f := c.Pass(t.Context(), kept())
	if f != nil || resp.StatusCode != http.StatusOK || strings.Join(used, ", ") != "Bearer access-1, Bearer access-2" {
		t.Fatalf("%v %v, used %q", resp, f, used)
	}
	_ = readAll(t, resp)
	refuse = "Bearer access-2"
	up1 := kept()
	up1.Body, up1.Release, up1.Upload = nil, nil, attempt.NewUpload(strings.NewReader("x"), 1)
	resp, f = c.Pass(t.Context(), up1)
	if f != nil || resp.StatusCode != http.StatusUnauthorized || len(used) != 3 {
		t.Fatalf("%v %v, used %q", resp, f, used)
	}
	_ = readAll(t, resp)
}

// R1, R13, and a protocol that nobody asked for (R14).
func TestPassFaults(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			panic(http.ErrAbortHandler)
		case "/silent":
			<-r.Context().Done()
		default:
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_ = conn.Close()
		}
	}))
	t.Cleanup(up.Close)
	c := newClient(t, up.URL, nil, nil)
	gone, cancel := context.WithCancel(t.Context())
	for _, k := range []struct {
		name, path string
		ctx        context.Context
		class      fault.Class
	}{
		{"reset", "/reset", t.Context(), fault.Reset},
		{"cancelled", "/silent", gone, fault.ClientGone},
		{"another protocol", "/switch", t.Context(), fault.Invalid},
		{"a path outside", "/../x", t.Context(), fault.Unable},
	} {
		if k.ctx == gone {
			go cancel()
		}
		resp, f := c.Pass(k.ctx, &attempt.Raw{Method: http.MethodPost, Path: k.path, Header: http.Header{}, Credential: "default"})
		if f == nil || f.Class != k.class {
			t.Errorf("%s: %v %v", k.name, resp, f)
		}
	}
	cancel()
	dead := newClient(t, "http://127.0.0.1:1", nil, nil)
	if _, f := dead.Pass(t.Context(), &attempt.Raw{Method: http.MethodGet, Path: "/x", Header: http.Header{}, Credential: "default"}); f == nil || f.Class != fault.Connect {
		t.Errorf("refused: %v", f)
	}
}

func TestRawWithheld(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Content-Type": false, "Content-Encoding": false, "Content-Disposition": false, "Content-Length": true, "Range": false, "If-None-Match": false,
		"Authorization": true, "X-Api-Key": true, "Cookie": true, "X-Evergate-Prefer": true, "Te": true, "Sec-Websocket-Key": true,
		"X-Goog-User-Project": true, "X-Goog-Upload-Command": false, "X-Amz-Date": true, "X-Amzn-Bedrock-Trace": false, "Content-Api-Key": true,
		"Anthropic-Beta": false, "Openai-Beta": false, "Openai-Organization": true, "": true,
	} {
		if got := rawWithheld(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}
