package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// trustFlags are how a gateway is spoken to over TLS, for every command that asks one.
type trustFlags struct{ ca, cert, key string }

type trustKey struct{}

// trusting has an adminClient find the flags.
func (c *cli) trusting(ctx context.Context) context.Context {
	return context.WithValue(ctx, trustKey{}, trustFlags{c.CaFile, c.CertFile, c.KeyFile})
}

// httpClient makes the client of an adminClient. It follows no redirects: they would take the token along.
func httpClient(ctx context.Context) (*http.Client, error) {
	out := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	f, _ := ctx.Value(trustKey{}).(trustFlags) // none: the system's authorities alone
	if f == (trustFlags{}) {
		return out, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file: there is no certificate in %s", f.ca)
		}
	}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("--cert-file and --key-file go together")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--cert-file, --key-file: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	out.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	return out, nil
}
