package config

import (
	"crypto/tls"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// TLS is how a listener speaks TLS: files in PEM, which are read by who listens. The zero value is plain text.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile has the authorities of the certificates that clients show; empty: they show none.
	ClientCAFile string
	// ClientOptional lets in clients without a certificate, too.
	ClientOptional bool
	MinVersion     uint16 // as in crypto/tls

	at   place // of the whole
	keys map[string]place
}

// On says whether TLS is spoken.
func (t TLS) On() bool { return t.CertFile != "" }

// Equal says whether both say the same, wherever it was written.
func (t TLS) Equal(o TLS) bool {
	return t.CertFile == o.CertFile && t.KeyFile == o.KeyFile && t.ClientCAFile == o.ClientCAFile && t.ClientOptional == o.ClientOptional && t.MinVersion == o.MinVersion
}

// Problem is a mistake that was found in one of the files, by the key that names it (cert_file, key_file, client_ca_file).
func (t TLS) Problem(key, message string) Problem {
	at, ok := t.keys[key]
	if !ok {
		at = t.at
	}
	return at.problem("", "%s", message)
}

// Front is what stands between the clients' connections and their requests. In its times and numbers 0 turns off what they set.
type Front struct {
	// ProxyProtocol are the peers that begin each connection with a PROXY header; TrustedProxies those whose ForwardedHeader is believed.
	ProxyProtocol, TrustedProxies []netip.Prefix
	ForwardedHeader               string // X-Forwarded-For or Forwarded
	HeaderTimeout, IdleTimeout    time.Duration
	// ReadTimeout is how long a client may be silent, or nearly so, while it sends a body.
	ReadTimeout    time.Duration
	MaxHeader      int64 // bytes
	MaxConnections int
	MaxPerAddress  int // connections
	CORS           CORS
}

// CORS says which pages of other origins may ask. Without Origins none may.
type CORS struct {
	Origins []string // as browsers write them, or the one word *
	Headers []string // that a page may send, beside those that every API client sends
	MaxAge  time.Duration
}

// Forwarded headers.
const (
	XForwardedFor = "X-Forwarded-For"
	Forwarded     = "Forwarded"
)

func defaultFront() Front {
	return Front{
		ForwardedHeader: XForwardedFor, HeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeader: 64 << 10,
		CORS: CORS{MaxAge: 10 * time.Minute},
	}
}

type frontFile struct {
	tls             given[listenerTLSFile]
	proxyProtocol   given[[]given[netip.Prefix]]
	trustedProxies  given[[]given[netip.Prefix]]
	forwardedHeader given[string]
	headerTimeout   given[time.Duration]
	readTimeout     given[time.Duration]
	idleTimeout     given[time.Duration]
	maxHeader       given[int64]
	maxConnections  given[int]
	maxPerAddress   given[int]
	cors            given[corsFile]
}

type listenerTLSFile struct {
	certFile, keyFile, clientCAFile given[string]
	clientAuth                      given[bool] // optional
	minVersion                      given[uint16]
}

type corsFile struct {
	origins, headers given[[]given[string]]
	maxAge           given[time.Duration]
}

const mostConnections = 10_000_000

// frontKeys are those of server: that concern connections, not requests.
func frontKeys() []key[frontFile] {
	return []key[frontFile]{
		field("tls", "The listener's certificate; without it plain HTTP is spoken.", listenerTLSShape(), func(f *frontFile) *given[listenerTLSFile] { return &f.tls }),
		field("proxy_protocol", "Balancers that begin each connection with a PROXY header (version 1 or 2), which names the client.", list("networks", networkShape()), func(f *frontFile) *given[[]given[netip.Prefix]] { return &f.proxyProtocol }),
		field("trusted_proxies", "Proxies whose forwarded_header is believed; nobody else's is.", list("networks", networkShape()), func(f *frontFile) *given[[]given[netip.Prefix]] { return &f.trustedProxies }),
		field("forwarded_header", "The header in which trusted_proxies name the client. They must write it themselves, whatever the client sent.",
			choice(say("x-forwarded-for", XForwardedFor), say("forwarded", Forwarded)), func(f *frontFile) *given[string] { return &f.forwardedHeader }),
		field("header_timeout", "How long a client may take for a TLS handshake, and for the head of a request.", duration(100*time.Millisecond), func(f *frontFile) *given[time.Duration] { return &f.headerTimeout }),
		field("read_timeout", "How long a client may be silent, or send next to nothing, while it sends a body.", duration(100*time.Millisecond), func(f *frontFile) *given[time.Duration] { return &f.readTimeout }),
		field("idle_timeout", "How long a connection is kept on which nothing is asked.", duration(time.Second), func(f *frontFile) *given[time.Duration] { return &f.idleTimeout }),
		field("max_header", "Largest head of a request.", headSize(), func(f *frontFile) *given[int64] { return &f.maxHeader }),
		field("max_connections", "The most connections of clients at one time; 0 is no limit.", whole(0, mostConnections), func(f *frontFile) *given[int] { return &f.maxConnections }),
		field("max_connections_per_address", "The most of them from one address (an IPv6 network of 64 bits counts as one); 0 is no limit.", whole(0, mostConnections), func(f *frontFile) *given[int] { return &f.maxPerAddress }),
		field("cors", "Web pages that may ask from browsers; without it none may.", corsShape(), func(f *frontFile) *given[corsFile] { return &f.cors }),
	}
}

func listenerTLSShape() shape[listenerTLSFile] {
	return object("listener_tls", "How a listener speaks TLS; the files are in PEM, and are read again when they change.", []key[listenerTLSFile]{
		field("cert_file", "The certificate, with those of the authorities between it and the root.", text("a file name"), func(f *listenerTLSFile) *given[string] { return &f.certFile }),
		field("key_file", "The certificate's private key.", text("a file name"), func(f *listenerTLSFile) *given[string] { return &f.keyFile }),
		field("client_ca_file", "Authorities of the certificates that clients must show; without it they show none.", optionalText("a file name"), func(f *listenerTLSFile) *given[string] { return &f.clientCAFile }),
		field("client_auth", "optional also lets in clients that show no certificate.", choice(say("require", false), say("optional", true)), func(f *listenerTLSFile) *given[bool] { return &f.clientAuth }),
		field("min_version", "The least version of TLS.", versionShape(), func(f *listenerTLSFile) *given[uint16] { return &f.minVersion }),
	})
}

// versionShape is a version of TLS that may be spoken. YAML takes it for a number.
func versionShape() shape[uint16] {
	return single("1.2 or 1.3", orFromEnv(map[string]any{"enum": []any{"1.2", "1.3", 1.2, 1.3}}), func(s string) (uint16, string, string) {
		switch s {
		case "1.2":
			return tls.VersionTLS12, "", ""
		case "1.3":
			return tls.VersionTLS13, "", ""
		}
		return 0, "must be 1.2 or 1.3", ""
	})
}

func corsShape() shape[corsFile] {
	return object("cors", "Web pages that may ask from browsers.", []key[corsFile]{
		field("origins", "Origins such as https://app.example.com, exactly; or * alone, for every page.", list("origins", originShape()), func(f *corsFile) *given[[]given[string]] { return &f.origins }),
		field("headers", "Headers that pages may send, beside those that clients of the APIs send.", list("header names", text("a header's name")), func(f *corsFile) *given[[]given[string]] { return &f.headers }),
		field("max_age", "How long browsers may remember the answer.", duration(0), func(f *corsFile) *given[time.Duration] { return &f.maxAge }),
	})
}

// originShape is an origin as browsers write it: scheme, host and port, nothing else.
func originShape() shape[string] {
	const want = "an origin such as https://app.example.com"
	return single(want, map[string]any{"type": "string", "minLength": 1}, func(s string) (string, string, string) {
		if s == "*" {
			return s, "", ""
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Scheme == "" || u.Host == "" || u.User != nil:
			return "", "is not " + want, ""
		case u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80":
			return "", "names the port that browsers leave out, so that no page would be let in", strings.ToLower(u.Scheme + "://" + u.Hostname())
		case u.Path == "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && s == strings.ToLower(s):
			return s, "", ""
		}
		return "", "must be scheme, host and port alone, in small letters", strings.ToLower(u.Scheme + "://" + u.Host)
	})
}

// networkShape is a network, or one address.
func networkShape() shape[netip.Prefix] {
	const want = "a network such as 10.0.0.0/8, or an address"
	return single(want, map[string]any{"type": "string", "minLength": 1}, func(s string) (netip.Prefix, string, string) {
		if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
			addr = addr.Unmap()
			return netip.PrefixFrom(addr, addr.BitLen()), "", ""
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return netip.Prefix{}, "must be " + want, ""
		}
		if addr := p.Addr(); addr.Is4In6() {
			if p.Bits() < 96 {
				return netip.Prefix{}, "must be " + want, ""
			}
			p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
		}
		if p != p.Masked() {
			return netip.Prefix{}, "has bits beyond its length", p.Masked().String()
		}
		return p, "", ""
	})
}

// headSize is how large the head of a request may be.
func headSize() shape[int64] {
	s := size()
	return shape[int64]{schema: s.schema, read: func(r *reader, n *node) (int64, bool) {
		v, ok := s.read(r, n)
		if ok && (v < 4<<10 || v > 1<<20) {
			r.problem(n.at, "", "must be from 4KiB to 1MiB")
			return 0, false
		}
		return v, ok
	}}
}

// front is what server: says of connections.
func (b *builder) front(f *frontFile) Front {
	d := defaultFront()
	out := Front{
		ProxyProtocol: prefixes(f.proxyProtocol), TrustedProxies: prefixes(f.trustedProxies), ForwardedHeader: f.forwardedHeader.or(d.ForwardedHeader),
		HeaderTimeout: f.headerTimeout.or(d.HeaderTimeout), ReadTimeout: f.readTimeout.or(d.ReadTimeout), IdleTimeout: f.idleTimeout.or(d.IdleTimeout),
		MaxHeader: f.maxHeader.or(d.MaxHeader), MaxConnections: f.maxConnections.v, MaxPerAddress: f.maxPerAddress.v, CORS: b.cors(f.cors, d.CORS),
	}
	if !f.forwardedHeader.absent() && f.trustedProxies.absent() {
		b.problem(f.forwardedHeader.at, "", "has no effect without trusted_proxies; name the proxies, or remove it")
	}
	for _, p := range slices.Concat(f.trustedProxies.v, f.proxyProtocol.v) {
		if p.set && p.v.Bits() == 0 {
			b.problem(p.at, "", "is every address there is, so that every client could name any other; name the proxies' own networks")
		}
	}
	return out
}

func (b *builder) cors(f given[corsFile], d CORS) CORS {
	out := CORS{Origins: texts(f.v.origins), MaxAge: f.v.maxAge.or(d.MaxAge)}
	if f.set && len(out.Origins) == 0 && !f.v.origins.wrong {
		b.problem(f.at, "", "names no origin; add origins: [https://app.example.com]")
	}
	if slices.Contains(out.Origins, "*") && len(out.Origins) > 1 {
		b.problem(f.v.origins.at, "", "has * beside others, which it includes; keep one of the two")
	}
	b.distinct(f.v.origins, "is listed twice (first on line %d); remove one")
	for _, h := range f.v.headers.v {
		if strings.ContainsFunc(h.v, func(r rune) bool { return !bare(string(r)) && !strings.ContainsRune("!#$%&'*+.^`|~", r) }) {
			b.problem(h.at, "", "is no name for a header")
		}
		out.Headers = append(out.Headers, strings.ToLower(h.v))
	}
	return out
}

// failedLimitKey is auth.failed_limit.
func failedLimitKey() key[authFile] {
	return field("failed_limit", "How many unknown keys one address may try in a minute before it is held off; 0 is no limit. Without it: 60 where server.trusted_proxies or proxy_protocol say whose address is whose, else none.",
		whole(0, 1_000_000), func(f *authFile) *given[int] { return &f.failedLimit })
}

// defaultFailedLimit is for where addresses are the clients' own. Elsewhere all of them may have the address of one balancer, and a client with an
// old key would shut the others out.
const defaultFailedLimit = 60

func (b *builder) failedLimit(f *Front) int {
	if v := b.file.auth.v.failedLimit; !v.absent() {
		return v.v
	}
	if len(f.TrustedProxies)+len(f.ProxyProtocol) > 0 {
		return defaultFailedLimit
	}
	return 0
}

// checkCORS refuses what would let every page that somebody opens spend the providers' keys.
func (b *builder) checkCORS(c *Config) {
	if f := b.file.server.v.front.cors; slices.Contains(c.Server.Front.CORS.Origins, "*") && c.Auth.Mode == AuthNone && !b.file.auth.v.mode.wrong {
		b.problem(f.v.origins.at, "", "is * while auth.mode is none, so every page that somebody opens could spend your keys; name the origins, or add auth.keys")
	}
}

// listenerTLS is what a listener's tls: comes to.
func (b *builder) listenerTLS(f given[listenerTLSFile]) TLS {
	if f.absent() || f.wrong {
		return TLS{}
	}
	w := &f.v
	t := TLS{
		CertFile: w.certFile.v, KeyFile: w.keyFile.v, ClientCAFile: w.clientCAFile.v, ClientOptional: w.clientAuth.v, MinVersion: w.minVersion.or(tls.VersionTLS12),
		at: f.at, keys: map[string]place{},
	}
	for _, k := range []struct {
		name string
		file given[string]
	}{{"cert_file", w.certFile}, {"key_file", w.keyFile}, {"client_ca_file", w.clientCAFile}} {
		if k.file.set {
			t.keys[k.name] = k.file.at
		} else if k.file.absent() && k.name != "client_ca_file" {
			b.problem(f.at, "", "has no %s; add %s: …", k.name, k.name)
		}
	}
	if !w.clientAuth.absent() && t.ClientCAFile == "" && !w.clientCAFile.wrong {
		b.problem(w.clientAuth.at, "", "has no effect without client_ca_file; name the authorities, or remove it")
	}
	return t
}

func prefixes(list given[[]given[netip.Prefix]]) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range list.v {
		out = append(out, p.v)
	}
	return out
}

// publicScheme is that of a listener's address.
func (t TLS) publicScheme() string {
	if t.On() {
		return "https"
	}
	return "http"
}

// publicHost is where a listener's host is reached from this machine.
func publicHost(host, port string) string {
	switch strings.Trim(host, "[]") {
	case "", "0.0.0.0", "::":
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
