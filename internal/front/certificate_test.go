package front

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/testkit"
)

const year = 365 * 24 * time.Hour

func TestLoad(t *testing.T) {
	t.Parallel()
	a := testkit.NewAuthority(t)
	one, two := a.Issue(t, year, "gateway"), a.Issue(t, year, "gateway")
	old := a.Issue(t, -time.Minute, "gateway")
	text := filepath.Join(t.TempDir(), "text")
	sealed := filepath.Join(t.TempDir(), "sealed")
	for name, content := range map[string]string{text: "no PEM at all\n", sealed: "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		files     Files
		key, says string // what is wrong; empty: nothing
	}{
		"sound":                    {Files{Cert: one.CertFile, Key: one.KeyFile}, "", ""},
		"with clients":             {Files{Cert: one.CertFile, Key: one.KeyFile, ClientCA: a.File}, "", ""},
		"no file":                  {Files{Cert: one.CertFile + "x", Key: one.KeyFile}, "cert_file", "tls.crtx cannot be read: no such file or directory"},
		"no key":                   {Files{Cert: one.CertFile, Key: one.KeyFile + "x"}, "key_file", "no such file"},
		"a folder":                 {Files{Cert: one.CertFile, Key: os.TempDir()}, "key_file", "not a regular file"},
		"another's key":            {Files{Cert: one.CertFile, Key: two.KeyFile}, "key_file", "does not belong to the certificate"},
		"changed about":            {Files{Cert: one.KeyFile, Key: one.CertFile}, "cert_file", "no certificate"},
		"text for a certificate":   {Files{Cert: text, Key: one.KeyFile}, "cert_file", "no certificate"},
		"text for a key":           {Files{Cert: one.CertFile, Key: text}, "key_file", "no private key"},
		"the certificate twice":    {Files{Cert: one.CertFile, Key: one.CertFile}, "key_file", "no private key"},
		"a key under a passphrase": {Files{Cert: one.CertFile, Key: sealed}, "key_file", "under a passphrase"},
		"text for authorities":     {Files{Cert: one.CertFile, Key: one.KeyFile, ClientCA: text}, "client_ca_file", "no certificate"},
		"no authorities":           {Files{Cert: one.CertFile, Key: one.KeyFile, ClientCA: a.File + "x"}, "client_ca_file", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(c.files)
			var file *FileError
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.As(err, &file) || file.Key != c.key || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %s: %s", err, c.key, c.says)
			}
		})
	}
	ended, err := Load(Files{Cert: old.CertFile, Key: old.KeyFile})
	if err != nil {
		t.Fatal(err)
	}
	if err := ended.Valid(time.Now()); !errors.Is(err, ErrNotInForce) || !strings.Contains(err.Error(), "ended on") {
		t.Errorf("%v", err)
	}
	if err := ended.Valid(time.Now().Add(-2 * time.Hour)); !errors.Is(err, ErrNotInForce) || !strings.Contains(err.Error(), "begins on") {
		t.Errorf("%v", err)
	}
}

// A certificate that is replaced while the server serves is shown to who comes next, connections go on, and what cannot be used is not shown.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := testkit.NewAuthority(t)
		first := a.Issue(t, year, "gateway", "first.example")
		second, third := a.Issue(t, year, "gateway", "second.example"), a.Issue(t, -time.Minute, "gateway", "third.example")
		files := Files{Cert: first.CertFile, Key: first.KeyFile, Min: tls.VersionTLS12}
		loaded, err := Load(files)
		if err != nil {
			t.Fatal(err)
		}
		certs := NewCertificates(files, loaded)
		r := newRig(t, Limits{}, func(s *http.Server) { s.TLSConfig = certs.Config() })
		shown := func() string {
			c := tls.Client(r.dial(t), &tls.Config{RootCAs: a.Pool, ServerName: "gateway"})
			defer c.Close()
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
			return c.ConnectionState().PeerCertificates[0].DNSNames[1]
		}
		look := func(changed bool, says string) {
			t.Helper()
			got, err := certs.Look(time.Now())
			if got != changed || (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
				t.Errorf("changed: %t, %v; want %t, %q", got, err, changed, says)
			}
		}
		open := tls.Client(r.dial(t), &tls.Config{RootCAs: a.Pool, ServerName: "gateway"})
		if says(t, open, "") == "" {
			t.Error("not served")
		}
		look(false, "")
		own, err := os.ReadFile(first.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		next, err := os.ReadFile(second.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		write := func(content []byte) {
			t.Helper()
			if err := os.WriteFile(first.CertFile, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(next) // the key is to follow
		look(false, "")
		first.Replace(t, second)
		look(true, "")
		if got := shown(); got != "second.example" {
			t.Errorf("shown after renewal: %s", got)
		}
		if says(t, open, "") == "" {
			t.Error("an open connection ended")
		}
		write(own)
		look(false, "") // perhaps the key is to follow
		look(false, "does not belong")
		look(false, "") // once is enough
		write([]byte("nothing"))
		look(false, "")
		look(false, "no certificate")
		if err := os.Remove(first.CertFile); err != nil {
			t.Fatal(err)
		}
		look(false, "")
		look(false, "no such file")
		first.Replace(t, third)
		look(false, "")
		look(false, "not in force")
		if got := shown(); got != "second.example" {
			t.Errorf("shown after a refusal: %s", got)
		}
		first.Replace(t, second)
		look(false, "")
		time.Sleep(2 * year) // the present one is over, too: the other is no worse
		first.Replace(t, third)
		look(true, "")
	})
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, optional := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { testMutualTLS(t, version, optional) })
		}
	}
}

func testMutualTLS(t *testing.T, version uint16, optional bool) {
	t.Helper()
	a, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	own := a.Issue(t, year, "gateway")
	files := Files{Cert: own.CertFile, Key: own.KeyFile, ClientCA: a.File, Optional: optional, Min: tls.VersionTLS12}
	loaded, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	certs := NewCertificates(files, loaded)
	r := newRig(t, Limits{}, func(s *http.Server) { s.TLSConfig = certs.Config() })
	cache := tls.NewLRUClientSessionCache(8)
	ask := func(shows ...tls.Certificate) string {
		c := tls.Client(r.dial(t), &tls.Config{RootCAs: a.Pool, ServerName: "gateway", MinVersion: version, MaxVersion: version, ClientSessionCache: cache, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(shows) == 0 {
				return &tls.Certificate{}, nil
			}
			return &shows[0], nil
		}})
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"); err != nil {
			return "refused"
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return "refused"
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return strings.SplitN(string(b), " ", 3)[2]
	}
	none := map[bool]string{false: "refused", true: ""}[optional]
	for _, c := range []struct {
		what  string
		shows []tls.Certificate
		want  string
	}{
		{"nothing", nil, none},
		{"a service's", []tls.Certificate{a.Issue(t, year, "payments", "spiffe://example.org/ns/prod/sa/payments").TLS}, "spiffe://example.org/ns/prod/sa/payments"},
		{"a host's", []tls.Certificate{a.Issue(t, year, "worker-7.example").TLS}, "worker-7.example"},
		{"another authority's", []tls.Certificate{other.Issue(t, year, "worker-7.example").TLS}, "refused"},
		{"one that ended", []tls.Certificate{a.Issue(t, -time.Minute, "worker-7.example").TLS}, "refused"},
	} {
		cache = tls.NewLRUClientSessionCache(8)
		if got := ask(c.shows...); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	// A session of before is worth nothing once its authority is not believed any more.
	cache = tls.NewLRUClientSessionCache(8)
	worker := a.Issue(t, year, "worker-7.example").TLS
	if got := ask(worker) + " " + ask(worker); got != "worker-7.example worker-7.example" {
		t.Errorf("again: %q", got)
	}
	files.ClientCA = other.File
	loaded, err = Load(files)
	if err != nil {
		t.Fatal(err)
	}
	certs.Take(files, loaded)
	if got := ask(worker); got != "refused" {
		t.Errorf("after its authority went: %q", got)
	}
}

// A handshake that is slow ends as slow heads do.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := testkit.NewAuthority(t)
		own := a.Issue(t, year, "gateway")
		files := Files{Cert: own.CertFile, Key: own.KeyFile, Min: tls.VersionTLS12}
		loaded, err := Load(files)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, Limits{}, func(s *http.Server) { s.TLSConfig = NewCertificates(files, loaded).Config() })
		mute, drips := r.dial(t), r.dial(t)
		go func() {
			for _, b := range []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03aaaaaaaaaaaaaaaaaaaa") {
				time.Sleep(time.Second)
				if _, err := drips.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		took := make(chan time.Duration, 2)
		go func() { took <- ended(mute) }()
		go func() { took <- ended(drips) }()
		for range 2 {
			if d := <-took; d < 10*time.Second || d > 12*time.Second {
				t.Errorf("closed after %s", d)
			}
		}
		time.Sleep(time.Second) // for who drips to notice
	})
}

// Old versions are refused, and nobody is asked to speak HTTP/2 outside of TLS.
func TestVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := testkit.NewAuthority(t)
		own := a.Issue(t, year, "gateway")
		files := Files{Cert: own.CertFile, Key: own.KeyFile, Min: tls.VersionTLS13}
		loaded, err := Load(files)
		if err != nil {
			t.Fatal(err)
		}
		certs := NewCertificates(files, loaded)
		r := newRig(t, Limits{}, func(s *http.Server) { s.TLSConfig = certs.Config() })
		shake := func(most uint16, protocols ...string) (string, error) {
			c := tls.Client(r.dial(t), &tls.Config{RootCAs: a.Pool, ServerName: "gateway", MinVersion: tls.VersionTLS10, MaxVersion: most, NextProtos: protocols})
			defer c.Close()
			err := c.Handshake()
			return c.ConnectionState().NegotiatedProtocol, err
		}
		if _, err := shake(tls.VersionTLS12); err == nil {
			t.Error("1.2 is spoken where 1.3 is the least")
		}
		for want, offered := range map[string][]string{"h2": {"h2", "http/1.1"}, "http/1.1": {"http/1.1"}, "": nil} {
			if got, err := shake(tls.VersionTLS13, offered...); err != nil || got != want {
				t.Errorf("%v: %q %v", offered, got, err)
			}
		}
		files.Min = tls.VersionTLS12
		if loaded, err = Load(files); err != nil {
			t.Fatal(err)
		}
		certs.Take(files, loaded)
		if _, err := shake(tls.VersionTLS12); err != nil {
			t.Error("1.2 is not spoken where it is the least")
		}
		if _, err := shake(tls.VersionTLS11); err == nil {
			t.Error("1.1 is spoken")
		}
	})
}

func TestNoSubject(t *testing.T) {
	t.Parallel()
	for _, r := range []*http.Request{{}, {TLS: &tls.ConnectionState{}}, {TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{"unverified"}}}}}} {
		if got := Subject(r); got != "" {
			t.Errorf("%q", got)
		}
	}
}
