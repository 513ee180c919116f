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
		File: name, Server: b.server(), Admin: b.admin(), Auth: b.auth(),
		Log:             b.log(),
		State:           b.state("EVERGATE_STATE_URL"),
		Resilience:      global.resilienceSettings(),
		Timeouts:        global.timeoutSettings(),
		RefreshInterval: b.vars.refresh.or(defaultRefresh),
		RecheckInterval: b.vars.recheck.or(defaultRecheck),
	}
	c.Ledger = b.ledger(c.State)
	c.Alerts, c.Availability = b.alerts(), b.availability()
	c.Providers = b.providers()
	c.Table = b.table(c.Providers)
	b.checkRules(b.file.resilience.v.classify)
	for _, class := range []string{classAPIKey, classOAuth, classLocal} {
		b.checkRules(b.file.class(class).classify)
	}
	b.checkExposure(c)
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
	return Admin{Listen: f.listen.v, Token: token.v.value, Pprof: f.pprof.v, NoDrills: !f.drills.or(true)}
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

func (b *builder) auth() Auth {
	f := &b.file.auth.v
	a := Auth{Mode: f.mode.v, AllowAnonymous: f.allowAnonymous.v}
	if f.mode.absent() && len(f.keys.v) > 0 {
		a.Mode = AuthKeys
	}
	switch {
	case f.mode.set && a.Mode == AuthNone && len(f.keys.v) > 0:
		b.problem(f.mode.at, "keys", "is none although there are keys, which nobody would have to show")
	case a.Mode == AuthKeys && len(f.keys.v) == 0 && !f.keys.wrong:
		b.problem(f.mode.at, "", "is keys, but auth.keys has none; add { name: …, value: ${…} }")
	}
	names, values := map[string]place{}, map[string]place{}
	for _, k := range f.keys.v {
		b.named(k.v.name, k.at, names)
		if b.clientKeyValue(k) {
			b.once(values, k.v.value.v.value.Reveal(), k.v.value.at, "has the same value as the key on line %d; give each caller a key of its own")
		}
		a.Keys = append(a.Keys, ClientKey{Name: k.v.name.v, Value: k.v.value.v.value, Models: texts(k.v.models), Policy: b.policyName(k.v.policy)})
	}
	return a
}

func (b *builder) clientKeyValue(k given[clientKeyFile]) bool {
	v := k.v.value
	switch {
	case v.wrong:
		return false
	case v.absent():
		b.problem(k.at, "", "has no value; add value: ${…}")
		return false
	case v.v.value == "":
		b.problem(v.at, "", "is empty, which would let everybody in; set the variable, or remove the key")
		return false
	}
	return true
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
