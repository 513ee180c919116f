package app

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evergate/internal/mock"
)

// The dashboard stands beside the admin API, wherever that listens: its files are nobody's secret, what they show is the admin API's to
// give. The root sends browsers there, and nobody else.
func TestDashboardBesideTheAdminAPI(t *testing.T) {
	for name, c := range map[string]struct {
		listen, host string // of the admin API
		there        bool   // the dashboard, where clients ask
	}{
		"one listener":         {"", "gateway:80", true},
		"a listener of itself": {"listen: \"office:81\", ", "office:81", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStack(t, strings.Replace(twoProviders, "admin: {", "admin: {"+c.listen, 1), map[string]mock.Script{"a": answers(), "b": answers()})
				get := func(host, path, accept string) (int, string, http.Header) {
					t.Helper()
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+path, http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Accept", accept)
					res, err := s.client.Transport.RoundTrip(req) // follows nothing
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					body, err := io.ReadAll(res.Body)
					if err != nil {
						t.Fatal(err)
					}
					return res.StatusCode, string(body), res.Header
				}
				if status, body, _ := get(c.host, "/ui/", "text/html"); status != http.StatusOK || !strings.Contains(body, `src="app.js"`) {
					t.Errorf("the dashboard answers %d: %s", status, body)
				}
				if status, body, _ := get(c.host, "/ui/about.json", "application/json"); status != http.StatusOK || strings.Contains(body, "true") != c.there {
					t.Errorf("it is told %d %s", status, body)
				}
				if status, _, h := get(c.host, "/", "text/html"); status != http.StatusTemporaryRedirect || h.Get("Location") != "/ui/" {
					t.Errorf("a browser at the root gets %d %s", status, h.Get("Location"))
				}
				if status, _, _ := get(c.host, "/", "application/json"); status != http.StatusNotFound {
					t.Errorf("a client at the root gets %d", status)
				}
				if status, _, _ := get(c.host, "/admin/v1/health", "*/*"); status != http.StatusUnauthorized {
					t.Errorf("what the dashboard shows is there without a token: %d", status)
				}
				if c.there {
					return
				}
				for _, path := range []string{"/ui/", "/"} {
					if status, body, _ := get("gateway:80", path, "text/html"); status != http.StatusNotFound {
						t.Errorf("clients get the dashboard at %s: %d %s", path, status, body)
					}
				}
			})
		})
	}
}
