package config

import (
	"evergate/internal/modelfacts"
	"evergate/internal/nearest"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// builder turns what was written into a Config. It goes on after a problem, so that all are found.
type builder struct {
	*reader
	env  Lookup
	file *file
	vars *variables
	root place // of the document

	detected []entry[providerFile]
	names    []string // of all providers, for suggestions
	models   map[string][]string
	routed   map[string]*route.Provider // by name
	facts    *modelfacts.Book
	family   family
}

// finish gives the Config, or every problem there was.
func (b *builder) finish(name string) (*Config, error) {
	global := merger{layers: globalLayers(&b.vars.resilience, b.file)}
	c := &Config{
		File: name, Server: b.server(), Admin: b.admin(),
		Log:             b.log(),
		State:           b.state("EVERGATE_STATE_URL"),
		Resilience:      global.resilienceSettings(),
		Timeouts:        global.timeoutSettings(),
		RefreshInterval: b.vars.refresh.or(defaultRefresh),
		RecheckInterval: b.vars.recheck.or(defaultRecheck),
	}
	c.Ledger, c.Cache = b.ledger(c.State), b.cache()
	c.Alerts, c.Availability = b.alerts(), b.availability()
	c.ModelLimits = b.modelLimits()
	c.Providers = b.providers()
	c.Auth = b.auth()
	c.Table = b.table(c.Providers)
	c.Guardrails = b.guardrails()
	b.checkRules(b.file.resilience.v.classify)
	for _, class := range []string{classAPIKey, classOAuth, classLocal} {
		b.checkRules(b.file.class(class).classify)
	}
	c.Auth.FailedLimit = b.failedLimit(&c.Server.Front)
	b.checkExposure(c)
	b.checkCORS(c)
	b.checkLoop(c)
	if len(b.problems) > 0 {
		return nil, inOrder(b.problems)
	}
	c.Warnings = inOrder(b.warnings)
	return c, nil
}

func (b *builder) server() Server {
	f, s := &b.file.server.v, defaultServer()
	s.Listen = f.listen.or(s.Listen)
	s.MaxRequestBody = f.maxRequestBody.or(s.MaxRequestBody)
	s.ShutdownDelay = f.shutdownDelay.or(s.ShutdownDelay)
	s.ShutdownGrace = f.shutdownGrace.or(s.ShutdownGrace)
	s.KeepaliveInterval = f.keepaliveInterval.or(s.KeepaliveInterval)
	s.WriteTimeout = f.writeTimeout.or(s.WriteTimeout)
	b.checkAddress(f.listen)
	s.TLS, s.Front = b.listenerTLS(f.front.tls), b.front(&f.front)
	return s
}

func (b *builder) admin() Admin {
	f := &b.file.admin.v
	if f.listen.v != "" {
		b.checkAddress(f.listen)
	}
	token := f.token
	if token.absent() {
		token = secretVariable(b.reader, b.env, "EVERGATE_ADMIN_TOKEN")
	}
	if !f.tls.absent() && f.listen.v == "" && !f.listen.wrong {
		b.problem(f.tls.at, "", "is for a listener of its own, but admin.listen is not set; set it, or use server.tls")
	}
	return Admin{Listen: f.listen.v, TLS: b.listenerTLS(f.tls), Token: token.v.value, Pprof: f.pprof.v, NoDrills: !f.drills.or(true)}
}

func (b *builder) checkAddress(addr given[string]) {
	if !addr.set {
		return
	}
	if _, _, wrong := hostPort(addr.v); wrong != "" {
		suggestion := ""
		if _, _, again := hostPort("127.0.0.1:" + addr.v); again == "" {
			suggestion = "127.0.0.1:" + addr.v
		}
		b.problem(addr.at, suggestion, "%q %s", addr.v, wrong)
	}
}

// named reports a missing or repeated name.
func (b *builder) named(name given[string], owner place, seen map[string]place) {
	switch {
	case name.set:
		b.once(seen, name.v, name.at, "is the name of the one on line %d too; names must differ")
	case name.absent():
		b.problem(owner, "", "has no name; add name: …")
	}
}

// once reports what was seen before, with the line where.
func (b *builder) once(seen map[string]place, what string, at place, format string) {
	if first, twice := seen[what]; twice {
		b.problem(at, "", format, first.line)
		return
	}
	seen[what] = at
}

// checkRules looks at classify rules where they are written, so that inherited ones are reported once.
func (b *builder) checkRules(rules given[[]given[ruleFile]]) {
	for _, r := range rules.v {
		m := r.v.match.v
		switch {
		case r.v.match.wrong:
		case m.provider.absent() && m.status.absent() && m.code.absent() && m.message.absent() && m.kind.absent():
			b.problem(r.at, "", "matches every failure; say which under match, such as match: { status: 503 }")
		case m.provider.set:
			b.knownProvider(m.provider.v, m.provider.at)
		}
		if r.v.as.absent() {
			b.problem(r.at, "", "does not say what the failure is; add as: next, or another word")
		}
	}
}

// knownProvider reports a name that no provider has.
func (b *builder) knownProvider(name string, at place) bool {
	for _, n := range b.names {
		if n == name {
			return true
		}
	}
	suggestion := ""
	if near := nearest.Names(name, b.names, 1); len(near) > 0 {
		suggestion = near[0]
	}
	if suggestion == "" && len(b.names) > 0 {
		b.problem(at, "", "there is no provider %q; the providers are %s", name, some(b.names))
	} else {
		b.problem(at, suggestion, "there is no provider %q", name)
	}
	return false
}

// settings are one provider's effective values.
func (b *builder) settings(p *providerFile, class string) (resilience.Settings, route.Timeouts, []given[ruleFile], []Setting) {
	m := merger{layers: providerLayers(p, class, &b.vars.resilience, b.file)}
	s, t := m.resilienceSettings(), m.timeoutSettings()
	shown := m.settings
	return s, t, m.rules(), shown
}

func texts(list given[[]given[string]]) []string {
	var out []string
	for _, t := range list.v {
		out = append(out, t.v)
	}
	return out
}
