package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// front stands between a browser and the gateway: it notes what passes and may answer in the gateway's place. The gateway
// sees the browser's requests as they are, the Host included.
type front struct {
	url     string
	instead func(http.ResponseWriter, *http.Request) bool // answers itself, or says false

	mu     sync.Mutex
	passed []string // "403 POST /admin/v1/reload"
}

func before(t *testing.T, g *gateway, instead func(http.ResponseWriter, *http.Request) bool) *front {
	t.Helper()
	target, err := url.Parse(g.url)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{instead: instead}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ModifyResponse: func(r *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.passed = append(f.passed, fmt.Sprintf("%d %s %s", r.StatusCode, r.Request.Method, r.Request.URL.Path))
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.instead == nil || !f.instead(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	f.url = server.URL
	return f
}

// seen is what passed so far.
func (f *front) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.passed...)
}
