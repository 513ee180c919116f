package provider

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"evergate/internal/attempt"
	"evergate/internal/fault"
)

// R71: a request that was called off while its connection was made says that nothing was sent; one that was on its way does not.
func TestCalledOffWhileDialling(t *testing.T) {
	for _, scheme := range []string{"http://", "https://"} {
		ctx, cancel := context.WithCancel(t.Context())
		c := newClient(t, scheme+"up.test", nil, func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		_, f := c.Send(ctx, &attempt.Outgoing{Dialect: "chat", Model: "m", Body: []byte(`{}`), Credential: "default"})
		if f == nil || f.Class != fault.ClientGone || !f.Unsent {
			t.Errorf("%s %+v", scheme, f)
		}
	}
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		ctx, cancel := context.WithCancel(t.Context())
		up := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		}))
		t.Cleanup(up.Close)
		c := newClient(t, up.URL, func(o *Options) {
			if cert := up.Certificate(); cert != nil {
				o.TLS.CAFile = filepath.Join(t.TempDir(), "ca.pem")
				if err := os.WriteFile(o.TLS.CAFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}, nil)
		_, f := c.Send(ctx, &attempt.Outgoing{Dialect: "chat", Model: "m", Body: []byte(`{}`), Credential: "default"})
		if f == nil || f.Class != fault.ClientGone || f.Unsent {
			t.Errorf("%s %+v", up.URL, f)
		}
	}
}
