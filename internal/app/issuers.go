package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"evergate/internal/identity"
	"evergate/internal/reach"
)

// maxIssuerDocument is how long a document of an issuer may be, in bytes.
const maxIssuerDocument = 1 << 20

// readIssuers reads the public keys of issuers, and says in the log where it cannot.
func (a *App) readIssuers() identity.Fetch {
	read := issuerRead(a.opts.Dial)
	return func(ctx context.Context, url string) ([]byte, error) {
		text, err := read(ctx, url)
		if err != nil {
			a.log.Warn("the keys of an issuer cannot be read", "url", url, "error", err.Error())
		}
		return text, err
	}
}

// issuerRead reads a document of an issuer. No redirect is followed: whom the config names is who is trusted.
func issuerRead(dial dialFunc) identity.Fetch {
	if dial == nil {
		dial = reach.With(&net.Dialer{Timeout: 5 * time.Second}, reach.Options{Private: true, Foreign: true, Trusted: reach.EnvironmentProxies()}) // a company's own are inside, and discovery names where keys are
	}
	client := &http.Client{
		Transport: &http.Transport{
			DialContext: dial, Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConns: 4, IdleConnTimeout: 10 * time.Second,
			TLSHandshakeTimeout: 5 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("issuers are not followed elsewhere") },
	}
	return func(ctx context.Context, url string) ([]byte, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "application/json")
		res, err := client.Do(r)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close() //nolint:errcheck // nothing is left to be lost
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s answered %s", url, res.Status)
		}
		text, err := io.ReadAll(io.LimitReader(res.Body, maxIssuerDocument+1))
		if err == nil && len(text) > maxIssuerDocument {
			err = fmt.Errorf("%s answered with more than %d bytes", url, maxIssuerDocument)
		}
		return text, err
	}
}
