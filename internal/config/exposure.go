package config

// checkExposure refuses what would let strangers in: no auth, or an admin API without a token, on an address that
// others can reach.
func (b *builder) checkExposure(c *Config) {
	server, admin := b.file.server.v.listen, b.file.admin.v.listen
	at := server.at
	if at.file == "" {
		at = b.root
	}
	if exposed(c.Server.Listen) && !server.wrong {
		if c.Auth.Mode == AuthNone && !c.Auth.AllowAnonymous && !b.file.auth.wrong && !b.file.auth.v.mode.wrong {
			b.problem(at, "", "%s can be reached from outside while auth.mode is none, so anybody could spend your keys; listen on 127.0.0.1, add auth.keys, or say auth.allow_anonymous: true", c.Server.Listen)
		}
		if c.Admin.Listen == "" && c.Admin.Token == "" && !b.file.admin.v.token.wrong {
			b.problem(at, "", "%s can be reached from outside and serves the admin API too, which has no token; set admin.token (or EVERGATE_ADMIN_TOKEN), or give admin.listen a loopback address", c.Server.Listen)
		}
	}
	if c.Admin.Listen != "" && exposed(c.Admin.Listen) && c.Admin.Token == "" && !b.file.admin.v.token.wrong {
		b.problem(admin.at, "", "%s can be reached from outside, and the admin API has no token; set admin.token (or EVERGATE_ADMIN_TOKEN), or listen on 127.0.0.1", c.Admin.Listen)
	}
	if c.Admin.Listen != "" && c.Admin.Listen == c.Server.Listen {
		b.problem(admin.at, "", "is the server's address; leave admin.listen empty to share it")
	}
}

// exposed says whether others can reach a listener's address; a broken one is reported elsewhere.
func exposed(addr string) bool {
	host, _, wrong := hostPort(addr)
	return wrong == "" && !loopback(host)
}

// checkLoop finds providers that are the gateway itself.
func (b *builder) checkLoop(c *Config) {
	_, port, wrong := hostPort(c.Server.Listen)
	if wrong != "" || port == "0" {
		return
	}
	for i, p := range c.Providers {
		u := p.Options.BaseURL
		if u == nil || !loopback(u.Hostname()) || u.Port() != port || p.Disabled {
			continue
		}
		at := b.root
		if i < len(b.file.providers.v) {
			e := b.file.providers.v[i]
			at = e.at
			if e.v.baseURL.set {
				at = e.v.baseURL.at
			}
		}
		b.problem(at, "", "%s is the gateway's own address (server.listen %s); give one of the two another port", u, c.Server.Listen)
	}
}

// WithListen is the same configuration on another address, as a flag asks for. The rules for addresses that others can
// reach hold for it too; the error is of type Problems.
func (c *Config) WithListen(addr string) (*Config, error) {
	out := *c
	out.Server.Listen = addr
	flag := place{file: "--listen"}
	b := &builder{reader: &reader{}, file: &file{}, root: flag}
	b.file.server.v.listen = given[string]{v: addr, set: true, at: flag}
	b.file.admin.v.listen = given[string]{v: c.Admin.Listen, set: true, at: place{file: c.File, path: "admin.listen"}}
	b.checkAddress(b.file.server.v.listen)
	b.checkExposure(&out)
	b.checkLoop(&out)
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return &out, nil
}

// PublicURL is the address to show to a user: a listener on all interfaces is reached at localhost.
func (s Server) PublicURL() string {
	host, port, _ := hostPort(s.Listen)
	return s.TLS.publicScheme() + "://" + publicHost(host, port)
}
