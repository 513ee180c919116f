package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	New(Options{DataPlane: true}).ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/ui/": "text/html; charset=utf-8", "/ui/index.html": "text/html; charset=utf-8", "/ui/app.js": "text/javascript; charset=utf-8",
		"/ui/app.css": "text/css; charset=utf-8", "/ui/about.json": "application/json",
	} {
		plain := ask(t, http.MethodGet, path)
		if plain.Code != http.StatusOK || plain.Header().Get("Content-Type") != kind || plain.Body.Len() == 0 {
			t.Fatalf("%s: %d, %q, %d bytes", path, plain.Code, plain.Header().Get("Content-Type"), plain.Body.Len())
		}
		if got := plain.Header().Get("Content-Encoding"); got != "" {
			t.Errorf("%s: encoded as %q for a client that did not say it takes that", path, got)
		}
		if head := ask(t, http.MethodHead, path); head.Body.Len() != 0 || head.Header().Get("Content-Length") != plain.Header().Get("Content-Length") {
			t.Errorf("%s: HEAD gives %d bytes and says %s", path, head.Body.Len(), head.Header().Get("Content-Length"))
		}
		if path == "/ui/about.json" {
			continue
		}
		packed := ask(t, http.MethodGet, path, "Accept-Encoding", "br, gzip;q=0.8")
		z, err := gzip.NewReader(packed.Body)
		if packed.Header().Get("Content-Encoding") != "gzip" || err != nil {
			t.Fatalf("%s: not compressed: %v", path, err)
		}
		if same, err := io.ReadAll(z); err != nil || !bytes.Equal(same, plain.Body.Bytes()) {
			t.Errorf("%s: what is compressed is not what is not (%v): run ui/build", path, err)
		}
		if packed.Header().Get("ETag") == plain.Header().Get("ETag") || packed.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: a cache could take one for the other", path)
		}
		again := ask(t, http.MethodGet, path, "Accept-Encoding", "gzip", "If-None-Match", packed.Header().Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s: it is sent again to a client that has it: %d", path, again.Code)
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip": true, "*": true, "gzip;q=0": false, "gzip; q=0.0": false, "gzip ; q=0.5": true, "br": false, "gzip;q=x": false,
	} {
		if got := accepts([]string{header}); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// Every answer has the headers, errors too; the page itself has nothing that they forbid.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/ui/", 200},
		{http.MethodGet, "/ui", 308},
		{http.MethodGet, "/ui/nothing", 404},
		{http.MethodGet, "/ui/../etc/passwd", 404},
		{http.MethodGet, "/ui/dist/app.js", 404},
		{http.MethodGet, "/ui/app.js.gz", 404},
		{http.MethodPost, "/ui/", 405},
		{http.MethodOptions, "/ui/app.js", 405},
	} {
		w := ask(t, c.method, c.path)
		if w.Code != c.status {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.status)
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") {
			t.Errorf("%s %s: policy %q", c.method, c.path, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, name, got)
			}
		}
	}
	html := ask(t, http.MethodGet, "/ui/").Body.String()
	for _, inline := range []string{`<script>`, `<style`, ` style=`, ` onload=`, ` onclick=`, `href="http`, `src="http`, `src="//`} {
		if strings.Contains(html, inline) {
			t.Errorf("index.html has %s", inline)
		}
	}
}

// The script neither makes markup out of text nor code, and asks nobody else; the token never gets into an address or into lasting
// storage.
func TestScript(t *testing.T) {
	t.Parallel()
	js := ask(t, http.MethodGet, "/ui/app.js").Body.String()
	for _, bad := range []string{`eval\(`, `new Function`, `document\.write`, `insertAdjacentHTML`, `outerHTML`, `localStorage\.setItem\([^)]*token`, `[?&]token=`, `importScripts`, `new WebSocket`} {
		if found := regexp.MustCompile(bad).FindString(js); found != "" {
			t.Errorf("app.js has %q", found)
		}
	}
	for _, address := range regexp.MustCompile(`https?://[\w.-]+`).FindAllString(js, -1) {
		if address != "http://www.w3.org" && !strings.HasSuffix(address, ".example") { // names of XML namespaces; providers of example scenarios
			t.Errorf("app.js names %s", address)
		}
	}
}

// What a browser loads stays far below what is promised.
func TestWeight(t *testing.T) {
	t.Parallel()
	const most = 100 << 10
	total := 0
	for _, path := range []string{"/ui/", "/ui/app.js", "/ui/app.css"} {
		total += ask(t, http.MethodGet, path, "Accept-Encoding", "gzip").Body.Len()
	}
	t.Logf("%d bytes compressed", total)
	if total > most {
		t.Errorf("the page is %d bytes compressed; at most %d", total, most)
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	for _, dataPlane := range []bool{true, false} {
		w := httptest.NewRecorder()
		New(Options{DataPlane: dataPlane}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ui/about.json", http.NoBody))
		if got, want := w.Body.String(), map[bool]string{true: "{\"data_plane\":true}\n", false: "{\"data_plane\":false}\n"}[dataPlane]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/ui": true, "/ui/": true, "/ui/app.js": true, "/uix": false, "/": false, "/v1/ui/": false} {
		if Owns(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// A browser is sent to the dashboard from the root; a client's request for the root stays the data plane's.
func TestAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, accept string
		want                 bool
	}{
		{http.MethodGet, "/", "text/html,application/xhtml+xml", true},
		{http.MethodHead, "/", "text/html", true},
		{http.MethodGet, "/", "*/*", false},
		{http.MethodGet, "/", "", false},
		{http.MethodPost, "/", "text/html", false},
		{http.MethodGet, "/v1/models", "text/html", false},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		r.Header.Set("Accept", c.accept)
		if got := Asked(r); got != c.want {
			t.Errorf("%s %s, accepting %q: %v", c.method, c.path, c.accept, got)
		}
	}
}
