package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"math"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/front"
)

// guard says who may ask for what.
//
// With a token, the token decides, wherever the request comes from: no web page can make a browser send it. Without
// one, this machine alone is served, and since a browser on this machine runs other people's pages, neither a
// request that a page of another origin made nor one under a foreign host name (DNS rebinding) is; nor one that
// a proxy on this machine says it forwards.
type guard struct {
	token [sha256.Size]byte
	open  bool // there is no token
	hosts map[string]bool
	// guesses hold off who tries tokens; nil: nobody is held off.
	guesses *front.Guesses
}

func newGuard(o Options) guard {
	g := guard{
		token: sha256.Sum256([]byte(o.Token.Reveal())),
		open:  o.Token == "",
		hosts: map[string]bool{"localhost": true}, guesses: o.Guesses,
	}
	for _, h := range o.Hosts {
		h = bareHost(h)
		if addr, err := netip.ParseAddr(h); h == "" || (err == nil && addr.IsUnspecified()) {
			continue // "listen everywhere" is nobody's name
		}
		g.hosts[h] = true
	}
	return g
}

// refusal is why a request is not served.
type refusal struct {
	status        int
	code, message string
	wait          time.Duration // before the next try; 0: it is not said
}

func (r *refusal) write(w http.ResponseWriter) {
	if r.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="evergate admin"`)
	}
	if r.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.wait.Seconds()))))
	}
	writeError(w, r.status, r.code, r.message)
}

func forbidden(message string) *refusal {
	return &refusal{http.StatusForbidden, "forbidden", message, 0}
}

// anyone may ask.
func anyone(*http.Request) *refusal { return nil }

// operator is who may use the admin API and the profiles.
func (g *guard) operator(r *http.Request) *refusal {
	if !g.open {
		if no := g.bearer(r); no != nil {
			return no
		}
		if foreign(r) {
			return forbidden("the admin API serves no page of another origin")
		}
		return nil
	}
	switch {
	case !local(r):
		return forbidden("without an admin token the admin API serves this machine only; set admin.token")
	case forwarded(r):
		return forbidden("without an admin token the admin API serves no request that a proxy forwards; set admin.token")
	case !g.knows(r.Host):
		return forbidden("without an admin token the admin API is served under localhost, a loopback address or the configured listen host only")
	case crossOrigin(r):
		return forbidden("without an admin token the admin API serves no page of another origin")
	}
	return nil
}

// scraper is who may read the metrics: this machine always, others with the token if there is one.
func (g *guard) scraper(r *http.Request) *refusal {
	if g.open || (local(r) && !forwarded(r)) {
		return nil
	}
	return g.bearer(r)
}

// bearer compares hashes, so that neither the content nor the length of the token shows in the time it takes.
func (g *guard) bearer(r *http.Request) *refusal {
	now := time.Now()
	if wait := g.guesses.Wait(r.RemoteAddr, now); wait > 0 {
		return &refusal{http.StatusTooManyRequests, "too_many_invalid_keys", "too many tokens and keys from this address were not known here; try again after the time in Retry-After", wait}
	}
	given := r.Header.Get("X-Admin-Token")
	if scheme, value, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		given = strings.TrimSpace(value)
	}
	hash := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(hash[:], g.token[:]) == 1 {
		return nil
	}
	if given != "" {
		g.guesses.Failed(r.RemoteAddr, now)
	}
	return &refusal{
		http.StatusUnauthorized, "invalid_admin_token",
		"the admin token is missing or wrong; send it as Authorization: Bearer or x-admin-token", 0,
	}
}

// ForeignPage tells requests that a browser made for a web page that is not served here: one of another origin, or one
// under a host name that is none of hosts, localhost or a loopback address (DNS rebinding). Where no key is needed,
// any page that somebody on this machine opens could otherwise spend the providers' keys.
func ForeignPage(hosts []string) func(*http.Request) bool {
	g := newGuard(Options{Hosts: hosts})
	return func(r *http.Request) bool {
		browser := len(r.Header["Origin"]) > 0 || len(r.Header["Sec-Fetch-Site"]) > 0
		return browser && (crossOrigin(r) || !g.knows(r.Host))
	}
}

// knows says whether the Host header is one of ours.
func (g *guard) knows(host string) bool {
	host = bareHost(host)
	if g.hosts[host] {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// bareHost is a host without port, brackets and the final dot, in lower case.
func bareHost(host string) string {
	if h, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// local says whether the request came from this machine.
func local(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// forwarded says whether a proxy sent the request on for somebody else.
func forwarded(r *http.Request) bool {
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// refuses says which types of body are taken, where another is sent. A form of a foreign page can send a body, or none, as one of
// three types without a browser asking here first; JSON is none of them.
func (o *operation) refuses(r *http.Request) *refusal {
	types := o.takes
	if types == nil {
		types = []string{"application/json"}
	}
	given := r.Header.Get("Content-Type")
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead || types[0] == "" || given == "" && r.ContentLength == 0:
		return nil
	}
	if kind, _, err := mime.ParseMediaType(given); err == nil && slices.Contains(types, kind) {
		return nil
	}
	return &refusal{
		http.StatusUnsupportedMediaType, "unsupported_media_type",
		"the body must be of type " + strings.Join(types, " or ") + ", and the header Content-Type must say so", 0,
	}
}

// foreign says whether a browser made the request for a page of another origin, by what the browser itself says of it. Where it
// says nothing (in the clear, from another machine) the origin must be the host that was asked. Unlike crossOrigin it trusts the
// browser's word, for a proxy may have changed the host: the token was there.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	}
	return crossOrigin(r)
}

// crossOrigin says whether a browser made the request for a page that is not ours. Pages of other ports of the same
// host are other origins too.
func crossOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return true
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}
