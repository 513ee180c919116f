package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWatch has a page do everything that the other tests swear no page does: the watch notes it.
func TestWatch(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Security-Policy", "script-src 'self'; img-src 'self'")
			fmt.Fprintf(w, `<!doctype html><html><title>x</title><p style="color:#ccc;background:#fff">pale</p><img src="%s/x.png"><img src=x onerror="alert(1)"><script src="/bad.js"></script>`, other.URL)
		case "/bad.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(w, `console.warn('a warning'); fetch('%s/').catch(() => 0); fetch('/missing'); setTimeout(() => confirm('a dialog'), 1); setTimeout(() => { throw new Error('a throw') }, 1); Promise.reject(new Error('a rejection'))`, other.URL)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(bad.Close)

	p := open(t, bad.URL)
	for _, want := range []string{
		"console warning: \"a warning\"", "exception: Uncaught Error: a throw", "a rejection", "dialog confirm: a dialog", "request to another origin: GET " + other.URL,
		"reply 404: GET " + bad.URL + "/missing", "\"CSP:\" \"img-src\" \"blocked\"", "\"CSP:\" \"script-src-attr\" \"blocked\" \"inline\"", "issue ContentSecurityPolicyIssue",
	} {
		eventually(t, 3*time.Second, func() error {
			if notes := p.everything(); !slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, want) }) {
				return fmt.Errorf("nobody noted %q: %q", want, notes)
			}
			return nil
		})
	}
	p.forgive(`.`)
	var found []string
	for _, v := range p.violations() {
		found = append(found, v.ID)
	}
	for _, want := range []string{"image-alt", "color-contrast", "html-has-lang"} {
		if !slices.Contains(found, want) {
			t.Errorf("axe does not find %s: %v", want, found)
		}
	}
}
