package front

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS lets web pages of other origins ask. Credentials of the browser (cookies, certificates) are never allowed: callers show keys, which a page has
// to have.
type CORS struct {
	// Origins are compared byte by byte; the one word * lets every page ask.
	Origins []string
	// Headers may be sent beside those that API clients send, in small letters.
	Headers []string
	// MaxAge is how long a browser may remember the answer.
	MaxAge time.Duration
}

// apiHeaders are what clients of the APIs send; those that end with a dash stand for all that begin so.
var apiHeaders = []string{ //nolint:gochecknoglobals // a constant in all but type
	"accept", "authorization", "content-type", "x-api-key", "api-key", "x-goog-api-key", "x-goog-api-client", "anthropic-version", "anthropic-beta",
	"anthropic-dangerous-direct-browser-access", "openai-organization", "openai-project", "openai-beta", "user-agent", "x-request-id", "idempotency-key",
	"traceparent", "tracestate", "cache-control", "x-stainless-", "x-evergate-", "x-goog-upload-",
}

const methods = "GET, HEAD, POST, PUT, PATCH, DELETE"

// Allows says whether pages of an origin may ask.
func (c *CORS) Allows(origin string) bool {
	return origin != "" && (slices.Contains(c.Origins, origin) || c.any())
}

func (c *CORS) any() bool { return len(c.Origins) == 1 && c.Origins[0] == "*" }

// Answer adds what browsers want to know to the answer of a request, and gives the whole answer where they ask for nothing else (true). Requests of
// origins that may not ask are served as if there were none of this: the browser keeps the answer from the page.
func (c *CORS) Answer(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	if !c.any() {
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if !c.Allows(origin) {
		return false
	}
	if c.any() {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", "*")
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", methods)
	if allowed := c.allowed(r.Header.Values("Access-Control-Request-Headers")); allowed != "" {
		h.Set("Access-Control-Allow-Headers", allowed)
	}
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
	w.WriteHeader(http.StatusNoContent)
	return true
}

// maxAsked bounds how many headers a page is answered for.
const maxAsked = 64

// allowed are those of the headers asked for that may be sent.
func (c *CORS) allowed(asked []string) string {
	var out []string
	for _, line := range asked {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			if len(out) < maxAsked && c.mayBeSent(name) {
				out = append(out, name)
			}
		}
	}
	return strings.Join(out, ", ")
}

func (c *CORS) mayBeSent(name string) bool {
	if slices.Contains(c.Headers, name) {
		return true
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return false
	}
	return slices.ContainsFunc(apiHeaders, func(known string) bool {
		return name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known)
	})
}
