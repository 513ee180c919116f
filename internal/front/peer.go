package front

import (
	"crypto/x509"
	"net/http"
	"slices"
)

// Subject is who the client is by the certificate that it showed and that was verified: the first URI, name or address that the certificate is for,
// else the common name of its subject. Empty: it showed none, or the connection is in plain text. What it gives was signed by an authority
// of the configuration.
func Subject(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return ""
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if all := names(leaf); len(all) > 0 {
		return all[0]
	}
	return ""
}

// names are all that a certificate is for: SPIFFE ids and other URIs, hosts, mail addresses, IP addresses, and last the common name.
func names(c *x509.Certificate) []string {
	var out []string
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	out = append(out, c.DNSNames...)
	out = append(out, c.EmailAddresses...)
	for _, ip := range c.IPAddresses {
		out = append(out, ip.String())
	}
	if cn := c.Subject.CommonName; cn != "" && !slices.Contains(out, cn) {
		out = append(out, cn)
	}
	return out
}
