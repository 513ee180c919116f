package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"evergate/internal/provider"
	"evergate/internal/route"
)

// providers makes every provider of the file and every detected one.
func (b *builder) providers() []Provider {
	entries := slices.Concat(b.file.providers.v, b.detected)
	for _, e := range entries {
		for _, other := range b.names { // callers name providers in headers, which know no case
			if other != e.name && strings.EqualFold(other, e.name) {
				b.problem(e.at, "", "differs from %s in nothing but case; give it another name", other)
			}
		}
		b.names = append(b.names, e.name)
	}
	if len(entries) == 0 && !b.file.providers.wrong {
		b.noProviders()
	}
	var out []Provider
	for _, e := range entries {
		if !e.wrong {
			out = append(out, b.provider(e))
		}
	}
	return out
}

func (b *builder) noProviders() {
	if b.file.detect.v {
		b.problem(b.file.detect.at, "", "found no provider in the environment; set a variable such as OPENAI_API_KEY or OLLAMA_BASE_URL, or name a provider under providers:")
		return
	}
	b.problem(b.root, "", "no provider is configured; name one under providers:, or say detect: true")
}

func (b *builder) provider(e entry[providerFile]) Provider {
	f := &e.v
	if !providerName(e.name) {
		b.problem(e.at, "", "is no name for a provider; use letters, digits, - _ and . only")
	}
	p := presetNamed(f.typ.v)
	if f.typ.absent() {
		likely := compatible + ", or a preset such as openai or groq"
		if presetNamed(e.name).name != "" {
			likely = e.name
		}
		b.problem(e.at, "", "has no type; add type: %s", likely)
	}
	base := b.baseURL(e, p)
	class := f.class.or(p.class)
	if f.class.absent() && f.hasOAuth() {
		class = classOAuth
	}
	streamUsage := p.streamUsage
	if class == "" {
		class = classAPIKey
		if base != nil && near(base.Hostname()) {
			class = classLocal
		}
	}
	if p.name == compatible {
		streamUsage = class == classLocal // the servers people run themselves know it; strict hosts refuse it
	}
	s, limits, rules, shown := b.settings(f, class)
	b.checkRules(f.resilience.v.classify)
	b.checkFields(f, p)
	out := Provider{
		Class: class, Disabled: f.disabled.v, Resilience: s, KeyStrategy: f.keyStrategy.v, Timeouts: limits,
		Models: texts(f.models), Attributes: f.attributes.v.attributes(), BYOK: f.byok.or(route.AllowKeys), Passthrough: f.passthrough.or(true), Limits: f.limits.v, Settings: shown, Probe: b.probe(f, p, s.Breaker.Scope),
		Options: provider.Options{
			Name: e.name, Type: p.name, BaseURL: base, AuthHeader: "Authorization", AuthPrefix: "Bearer ",
			Credentials: b.credentials(e, p, class), Headers: b.headers(f.headers), TLS: b.tls(f.tls),
			Proxy: b.proxy(f.proxy), Private: f.private.or(class == classLocal), ConnectTimeout: limits.Connect, StreamUsage: streamUsage,
			Classify: rulesFor(e.name, rules),
		},
	}
	if p.native { // the adapter knows how its keys are sent
		out.Options.AuthHeader, out.Options.AuthPrefix = "", ""
	}
	if o := &out.Options; f.byok.v == route.RequireKeys && len(out.Models) == 0 && len(o.Credentials) == 1 && o.Credentials[0].Value == "" && o.Credentials[0].OAuth == nil {
		b.warn(e.at, "has no key, without which its models cannot be discovered; list them under models")
	}
	b.cloud(e, &out.Options)
	b.distinct(f.models, "is listed twice (first on line %d); remove one")
	if base != nil && base.Scheme == "http" && !near(base.Hostname()) {
		b.warn(f.baseURL.at, "goes over plain http to another network: prompts and keys can be read on the way; use https")
	}
	return out
}

// providerName says whether a name can stand in a target, a header's name and a metric.
func providerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '.' && !bare(string(r)) })
}

func (b *builder) baseURL(e entry[providerFile], p preset) *url.URL {
	f := e.v.baseURL
	raw, at := f.v, f.at
	if !f.set {
		switch {
		case f.wrong || e.v.typ.wrong || p.name == "":
			return nil
		case p.name == vertex || p.name == bedrock: // by location or region
			return nil
		case p.name == azure:
			b.problem(e.at, "", "has no base_url, which type %s needs; add base_url: https://RESOURCE.openai.azure.com", p.name)
			return nil
		case p.baseURL == "":
			b.problem(e.at, "", "has no base_url, which type %s needs; add base_url: http://…/v1", p.name)
			return nil
		}
		raw, at = p.baseURL, e.at
	}
	u, wrong, suggestion := baseURL(raw, p)
	if wrong != "" {
		b.problem(at, suggestion, "%s", wrong)
		return nil
	}
	return u
}

// credentials names the keys: default where there is one, else key-1, key-2, …; a provider without a key gets one
// credential without a value. While a provider is disabled its key may be missing.
func (b *builder) credentials(e entry[providerFile], p preset, class string) []provider.Credential {
	f := &e.v
	keys := f.keys.v
	if short := f.apiKey; short.set && (short.v.value != "" || short.v.fromEnv) {
		if len(keys) > 0 {
			b.problem(short.at, "", "stands beside keys; put it into keys, or remove one of the two")
		}
		keys = append(keys, given[keyFile]{v: keyFile{value: short}, set: true, at: short.at})
	}
	if short := f.oauth; !short.absent() {
		if len(keys) > 0 {
			b.problem(short.at, "", "stands beside a key; put it into keys as { oauth: … }, or remove one of the two")
		}
		keys = append(keys, given[keyFile]{v: keyFile{oauth: short}, set: true, at: short.at})
	}
	var out []provider.Credential
	names, values := map[string]place{}, map[string]place{}
	for i, k := range keys {
		name := k.v.name.or("default")
		if len(keys) > 1 {
			name = k.v.name.or(fmt.Sprintf("key-%d", i+1))
		}
		grant, ok := b.grant(k, f.disabled.v)
		if !ok || grant == nil && !b.keyValue(k, p, class == classLocal || f.disabled.v) {
			continue
		}
		at := k.at
		if k.v.name.set {
			at = k.v.name.at
		}
		b.once(names, name, at, "has the same name as the key on line %d; names must differ")
		value := k.v.value.v.value
		if grant != nil {
			b.onceGranted(values, k.v.oauth)
		} else {
			b.once(values, value.Reveal(), k.v.value.at, "has the same value as the key on line %d; remove one")
		}
		out = append(out, provider.Credential{Name: name, Value: value, OAuth: grant, Weight: k.v.weight.v, Models: texts(k.v.models)})
	}
	if len(out) > 0 {
		return out
	}
	written := len(keys) > 0 || f.keys.wrong || f.apiKey.wrong || !f.entra.absent()
	if p.name == bedrock && !written && f.aws.absent() { // as AWS's own tools have it, before the default chain
		if token := secretVariable(b.reader, b.env, p.keyEnv); token.set {
			return []provider.Credential{{Name: "default", Value: token.v.value}}
		}
	}
	written = written || p.name == bedrock || p.name == vertex
	explicit := f.class.set && class != classLocal
	if !written && !f.disabled.v && f.byok.v != route.RequireKeys && (explicit || (p.class != "" && class != classLocal)) {
		b.noKey(e, p)
	}
	return []provider.Credential{{Name: "default"}}
}

// grant is a key's OAuth grant; nil: it has none. False: it has one, and cannot be used.
func (b *builder) grant(k given[keyFile], disabled bool) (*provider.OAuth, bool) {
	f := k.v.oauth
	if f.absent() {
		return nil, true
	}
	if !k.v.value.absent() {
		b.problem(f.at, "", "stands beside a value; a key has one of the two")
		return nil, false
	}
	o := b.oauth(f, disabled)
	return o, o != nil
}

// keyValue says whether a key can be used. An empty one is a mistake, unless the provider needs none.
func (b *builder) keyValue(k given[keyFile], p preset, optional bool) bool {
	v := k.v.value
	switch {
	case v.wrong:
		return false
	case v.absent():
		b.problem(k.at, "", "has no value; add value: ${…}, or oauth")
		return false
	case v.v.value != "":
		return true
	case optional:
		return false
	}
	variable := "the variable"
	if p.keyEnv != "" {
		variable += ", such as " + p.keyEnv
	}
	b.problem(v.at, "", "is an empty key; set %s, or remove the key", variable)
	return false
}

func (b *builder) noKey(e entry[providerFile], p preset) {
	if p.keyEnv == "" {
		b.problem(e.at, "", "has no key; add api_key: ${…}, or say class: local if it needs none")
		return
	}
	if p.name == azure {
		b.problem(e.at, "", "has no key; add api_key: ${%s} and set %s, or add entra: { tenant_id: …, client_id: …, client_secret: … }", p.keyEnv, p.keyEnv)
		return
	}
	b.problem(e.at, "", "has no key; add api_key: ${%s} and set %s, or say class: local if it needs none", p.keyEnv, p.keyEnv)
}

// framing headers belong to each single connection or request.
var framing = []string{"connection", "content-length", "content-type", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}

func (b *builder) headers(list given[[]entry[string]]) map[string]provider.Secret {
	var out map[string]provider.Secret
	seen := map[string]place{}
	for _, h := range list.v {
		name := strings.ToLower(h.name)
		if h.wrong {
			continue
		}
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !bare(string(r)) && !strings.ContainsRune("!#$%&'*+.^`|~", r) }):
			b.problem(h.at, "", "is no name for a header")
		case slices.Contains(framing, name):
			b.problem(h.at, "", "is set by the gateway itself; remove it")
		case strings.ContainsFunc(h.v, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }):
			b.problem(h.at, "", "has a line break or a control character in its value")
		}
		b.once(seen, name, h.at, "is the header of line %d again, as case does not count; keep one")
		if out == nil {
			out = map[string]provider.Secret{}
		}
		out[h.name] = provider.Secret(h.v)
	}
	return out
}

func (b *builder) tls(f given[tlsFile]) provider.TLS {
	t := provider.TLS{CAFile: f.v.caFile.v, CertFile: f.v.certFile.v, KeyFile: f.v.keyFile.v}
	if (t.CertFile == "") != (t.KeyFile == "") && !f.v.certFile.wrong && !f.v.keyFile.wrong {
		b.problem(f.at, "", "cert_file and key_file belong together; set both or neither")
	}
	return t
}

func (b *builder) proxy(f given[string]) *url.URL {
	if f.v == "" {
		return nil
	}
	u, wrong := absoluteURL(f.v, "http", "https", "socks5", "socks5h")
	if wrong != "" {
		b.problem(f.at, "", "%s", wrong)
		return nil
	}
	return u
}

// distinct reports list items that are there already.
func (b *builder) distinct(list given[[]given[string]], format string) {
	seen := map[string]place{}
	for _, item := range list.v {
		b.once(seen, item.v, item.at, format)
	}
}

// rulesFor are the classify rules that can match at one provider.
func rulesFor(name string, rules []given[ruleFile]) []provider.Rule {
	var out []provider.Rule
	for _, r := range rules {
		if only := r.v.match.v.provider.v; only == "" || only == name {
			out = append(out, r.v.rule())
		}
	}
	return out
}
