// Package dashboard owns the page that operators look at in a browser: its files, which are built from ui/ and embedded, and the
// headers that keep it from running or asking for anything that is not its own. It must not know what the page shows: the page
// asks the admin API, whose guard decides who may.
package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

//go:embed dist/index.html dist/app.js dist/app.css dist/*.gz
var dist embed.FS

// Path is where the dashboard is served; all of it is below.
const Path = "/ui/"

// policy allows the page its own script, its own style sheet and requests to where it came from; no markup that gets into it
// could run, post a form or load anything.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Options are what the page is told without a token.
type Options struct {
	// DataPlane: clients' requests are served under the dashboard's address, too.
	DataPlane bool
}

// Owns says whether a path belongs to the dashboard.
func Owns(path string) bool { return path == "/ui" || strings.HasPrefix(path, Path) }

// Asked says whether a request for the root of the gateway is a browser's that should be sent to the dashboard.
func Asked(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// New makes the handler. It is safe for concurrent use.
func New(o Options) http.Handler {
	p := &page{files: map[string]file{}}
	for name, kind := range map[string]string{
		"index.html": "text/html; charset=utf-8",
		"app.js":     "text/javascript; charset=utf-8",
		"app.css":    "text/css; charset=utf-8",
	} {
		p.files[name] = load(name, kind)
	}
	p.files[""] = p.files["index.html"]
	p.files["about.json"] = newFile([]byte(`{"data_plane":`+strconv.FormatBool(o.DataPlane)+"}\n"), nil, "application/json")
	return p
}

// file is one that is served, as it is and compressed; a nil packed is not there.
type file struct {
	plain, packed []byte
	kind, tag     string
}

func newFile(plain, packed []byte, kind string) file {
	sum := sha256.Sum256(plain)
	return file{plain, packed, kind, hex.EncodeToString(sum[:8])}
}

// load reads an embedded file, as it is and compressed.
func load(name, kind string) file { return newFile(embedded(name), embedded(name+".gz"), kind) }

func embedded(name string) []byte {
	text, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic("BUG: " + err.Error()) //nolint:forbidigo // without the file the program would not have been built
	}
	return text
}

type page struct{ files map[string]file }

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	Guard(h)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the dashboard answers GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	if !strings.HasPrefix(r.URL.Path, Path) {
		http.Redirect(w, r, Path, http.StatusPermanentRedirect)
		return
	}
	f, ok := p.files[strings.TrimPrefix(r.URL.Path, Path)]
	if !ok {
		http.Error(w, "there is nothing at this path; the dashboard is at "+Path, http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

// Guard sets the headers that every answer of the dashboard has.
func Guard(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h, body, tag := w.Header(), f.plain, f.tag
	if f.packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if accepts(r.Header.Values("Accept-Encoding")) {
			body, tag = f.packed, f.tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
	}
	tag = `"` + tag + `"`
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache") // asked for anew each time, but not sent again
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // whoever has gone does not want it
	}
}

// accepts says whether a client takes gzip.
func accepts(encodings []string) bool {
	for _, e := range strings.Split(strings.Join(encodings, ","), ",") {
		name, q, _ := strings.Cut(e, ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		q = strings.ReplaceAll(strings.TrimSpace(q), " ", "")
		if weight, err := strconv.ParseFloat(strings.TrimPrefix(q, "q="), 64); q == "" || err == nil && weight > 0 {
			return true
		}
	}
	return false
}
