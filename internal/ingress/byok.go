package ingress

import (
	"net/http"
	"strings"
)

// KeyHeader is the header in which a caller brings its own key for a provider (CONTRACT §3 "BYOK"), in its canonical form.
func KeyHeader(provider string) string { return http.CanonicalHeaderKey("x-evergate-key-" + provider) }

// broughtKey is the key that the caller brought for a provider; empty: none. It is the request's alone: nothing keeps it.
func (x *exchange) broughtKey(p *Provider) string {
	v := x.r.Header[p.KeyHeader]
	if len(v) == 0 {
		return ""
	}
	const scheme = "bearer "
	if key := v[0]; len(key) > len(scheme) && strings.EqualFold(key[:len(scheme)], scheme) {
		return strings.TrimSpace(key[len(scheme):])
	}
	return v[0]
}
