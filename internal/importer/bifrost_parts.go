package importer

import (
	"slices"
	"strings"
)

// serve notes that a model name of callers is served by a target.
func (b *bifrost) serve(p *provider, name, id string, key *node) {
	full := strings.SplitN(p.identity, "\x00", 3)[1]
	full = strings.TrimPrefix(full, "name=") + "/" + name
	t := &target{to: p.name + "/" + id}
	if id != name && p.kind == "azure-openai" {
		t.base = name
	}
	if w, ok := key.get("weight").number(); ok && w > 0 {
		t.weight = decimal(w)
	}
	b.record(full, t)
}

func (b *bifrost) record(name string, t *target) {
	if b.places[name] == nil {
		b.order = append(b.order, name)
	}
	for i, o := range b.places[name] {
		if o.to == t.to {
			if o.base == "" {
				b.places[name][i].base = t.base
			}
			return
		}
	}
	b.places[name] = append(b.places[name], t)
}

// spread makes a virtual model of a name that several endpoints serve, or that stands for another id. It may have a provider's name in front: callers go
// on writing what they wrote.
func (b *bifrost) spread(name string) {
	targets := b.places[name]
	if len(targets) == 0 || len(targets) == 1 && targets[0].to == name || b.model(name) != nil {
		return
	}
	m := &model{name: name, targets: targets, strategy: "round_robin"}
	for _, t := range targets {
		if t.weight != targets[0].weight {
			m.strategy = "weighted"
		}
	}
	b.models = append(b.models, m)
}

// network carries the settings of the connection.
func (b *bifrost) network(p *provider, n *node) {
	retry := &mapping{}
	if v := n.get("max_retries"); v.set() {
		if x := b.amount(v); x <= 100 {
			b.approx(v, "counts tries of one target beyond its first")
			retry.set("max_retries", decimal(float64(int(x))))
		}
	}
	for _, f := range []struct{ from, to string }{{"retry_backoff_initial", "initial_backoff"}, {"retry_backoff_max", "max_backoff"}} {
		at := first(n.get(f.from+"_ms"), n.get(f.from))
		if d := seconds(b.amount(at) / 1000); d != "" {
			retry.set(f.to, d)
		}
	}
	if len(retry.pairs) > 0 {
		p.settings.find("resilience").setIf("retry", retry)
	}
	if d := seconds(b.amount(n.get("default_request_timeout_in_seconds"))); d != "" {
		t := p.settings.find("timeouts")
		t.flow = true
		t.set("attempt", d)
		t.set("first_chunk", d)
	}
	if d := seconds(b.amount(n.get("stream_idle_timeout_in_seconds"))); d != "" {
		t := p.settings.find("timeouts")
		t.flow = true
		t.set("idle", d)
	}
	b.headers(p, n.get("extra_headers"))
	b.why(n, map[string]string{
		"insecure_skip_verify": "certificates are always verified: say tls.ca_file", "ca_cert_pem": "write the certificate into a file and say tls.ca_file", "max_conns_per_host": "connections are opened as they are needed", "enforce_http2": "HTTP/2 is spoken where the server does", "beta_header_overrides": "say anthropic-beta under headers", "keep_alive_timeout_in_seconds": "connections are kept as the server says", "allow_private_network": "an address that the file names may be private",
	})
}

// provided carries what stands beside the keys of a provider.
func (b *bifrost) provided(p *provider, n *node) {
	size := n.get("concurrency_and_buffer_size")
	if v := b.amount(size.get("concurrency")); v >= 1 {
		limits := p.settings.find("limits")
		limits.flow = true
		limits.set("concurrent", decimal(float64(int64(v))))
		b.approx(size.get("concurrency"), "bounds what is in flight; what is more goes to another target or is refused, and does not wait")
	}
	b.why(size, map[string]string{"buffer_size": "requests do not queue"})
	proxy := n.get("proxy_config")
	if u := proxy.get("url"); u.set() {
		p.settings.setOnce("proxy", b.proxy(u, p))
		b.carry(proxy.get("type"))
		for _, key := range []string{"username", "password"} {
			if v := proxy.get(key); v.set() {
				b.hand(v, "stands in the proxy's address: http://USER:PASSWORD@HOST")
			}
		}
	}
	b.why(proxy, map[string]string{"type": "without an address the proxy is the environment's", "ca_cert_pem": "write the certificate into a file and say tls.ca_file"})
	if v := b.root.get("client").get("allow_direct_keys"); v.set() && !v.truth() {
		p.settings.set("byok", text("off"))
	}
}

// governance carries virtual keys, with their limits and budgets, and the teams and customers they belong to.
func (b *bifrost) governance(n *node) {
	for _, kind := range []string{"teams", "customers"} {
		for _, t := range n.get(kind).list() {
			name := b.teamName(t)
			if name == "" {
				b.told(t, Hand, left, "has no name")
				continue
			}
			b.carry(t.get("id"), t.get("name"))
			m := &mapping{}
			b.terms(m, t, n, strings.TrimSuffix(kind, "s")+"_id")
			b.teams.setOnce(name, m)
			b.why(t, map[string]string{"customer_id": "teams are not within each other", "profile": "nothing shows it", "config": "nothing reads it", "claims": "say auth.jwt"})
		}
	}
	for _, k := range n.get("virtual_keys").list() {
		b.virtualKey(k, n)
	}
	for _, p := range n.get("providers").list() {
		b.providerTerms(p, n)
	}
	b.why(n, map[string]string{
		"budgets": "nobody of the file has it", "rate_limits": "nobody of the file has it", "routing_rules": "requests are routed by the model they name: make virtual models, and say who may use them in auth.keys", "auth_config": "the admin API has a token: admin.token", "model_configs": "limits are those of a virtual model, a provider, a key or a team",
		"pricing_overrides": "say prices under catalog", "providers": "limits are those of a provider", "model_limits": "limits are those of a virtual model, a provider, a key or a team",
	})
	for _, kind := range []string{"budgets", "rate_limits"} {
		for _, e := range n.get(kind).list() {
			if untouched(e) {
				b.leave(e, "nobody of the file has it")
			}
		}
	}
}

func (b *bifrost) teamName(t *node) string {
	return slug(first(t.get("name"), t.get("id")).str())
}

// teamOf gives the name of the team, or customer, of an id.
func (b *bifrost) teamOf(gov *node, list string, id *node) string {
	for _, t := range gov.get(list).list() {
		if id.set() && t.get("id").str() == id.str() {
			b.carry(id)
			return b.teamName(t)
		}
	}
	return ""
}

func (b *bifrost) virtualKey(k, gov *node) {
	if a := k.get("is_active"); a.set() && !a.truth() {
		b.leave(k, "is not active")
		return
	}
	if configs := k.get("provider_configs").list(); len(configs) > 0 && !slices.ContainsFunc(configs, b.servable) {
		b.told(k, Hand, left, "may use no provider but ones that are left out, and as a key without providers it could use all: make one by hand")
		return
	}
	name := first(k.get("name"), k.get("id")).str()
	var value raw
	if v := k.get("value"); v.set() {
		value = b.secret(v, "KEY_"+name)
	} else {
		value = b.use(b.free(envName("KEY_"+name)), k.path, sampleSecret)
		b.note(k, Hand, "has no value in the file: Bifrost made it. Put it into the variable, or make keys anew with evergate keys create")
	}
	key := b.callerKey(name, value)
	if key.name != name && k.get("name").set() {
		b.note(k, Approximated, "is called %s", key.name)
	}
	b.carry(k.get("id"), k.get("name"), k.get("is_active"))
	team := b.teamOf(gov, "teams", k.get("team_id"))
	if team == "" {
		team = b.teamOf(gov, "customers", k.get("customer_id"))
	}
	key.settings.setIf("team", text(team))
	b.access(key, k)
	b.terms(&key.settings, k, gov, "virtual_key_id")
	b.why(k, map[string]string{"description": "nothing shows it", "mcp_configs": "Evergate is no gateway for MCP servers", "calendar_aligned": "budgets are the calendar's", "config_hash": "nothing refers to it", "team_id": "names no team of the file", "customer_id": "names no customer of the file"})
}

// servable says whether a virtual key's part names a provider that there is here, or all.
func (b *bifrost) servable(config *node) bool {
	name := config.get("provider").str()
	return name == "*" || len(b.known[name]) > 0
}

// access carries which providers and models a key may use.
func (b *bifrost) access(key *callerKey, k *node) {
	var providers, models []string
	every := false
	var limited []*node
	for _, pc := range k.get("provider_configs").list() {
		name := pc.get("provider")
		known := b.known[name.str()]
		if len(known) == 0 {
			b.told(pc, Hand, left, "names no provider of the file")
			continue
		}
		b.carry(name)
		providers = append(providers, b.bound(pc.get("key_ids"), known)...)
		ids := b.allowed(pc.get("allowed_models"))
		if len(ids) == 0 {
			every = true
		} else {
			limited = append(limited, pc.get("allowed_models"))
		}
		for _, id := range ids {
			models = append(models, name.str()+"/"+id)
		}
		if w := pc.get("weight"); w.set() {
			b.leave(w, "which provider serves a model is said by the model's strategy")
		}
		b.why(pc, map[string]string{"budget": "budgets are of keys and teams", "budgets": "budgets are of keys and teams", "rate_limit": "say limits of the provider", "rate_limit_id": "say limits of the provider", "budget_id": "budgets are of keys and teams", "keys": "keys of callers are not bound to keys of providers"})
	}
	key.settings.setIf("providers", texts(providers))
	if len(models) > 0 && !every {
		key.settings.setIf("models", texts(models))
	} else if every {
		for _, n := range limited {
			b.hand(n, "a key that may use all models of one provider may use all models of its others: make two keys, or virtual models")
		}
	}
}

// bound gives the providers that a caller's key may use, of those that one of Bifrost's became: all, or those that the keys it is bound to went to. Where
// a provider has other keys besides, the bond is looser here.
func (b *bifrost) bound(ids *node, known []*provider) []string {
	used := map[*provider]int{}
	for _, id := range ids.list() {
		if id.str() == "*" {
			b.carry(ids)
			return namesOf(known)
		}
		if p := b.ids[id.str()]; p != nil {
			b.carry(id)
			used[p]++
		}
	}
	var out []*provider
	for _, p := range known {
		if used[p] > 0 {
			out = append(out, p)
		}
		if used[p] > 0 && used[p] < len(p.keys) {
			b.hand(ids, "keys of callers are bound to providers, not to keys of providers: %s has others besides", p.name)
		}
	}
	if len(out) == 0 {
		if ids.set() {
			b.told(ids, Hand, left, "names no key of the file: say providers of the key by hand")
		}
		return namesOf(known)
	}
	return namesOf(out)
}

// terms carries limits and budgets: those that stand inside, and those of the lists that are bound by id.
func (b *bifrost) terms(to *mapping, n, gov *node, owner string) {
	var limits, budgets []*node
	limits = append(limits, n.get("rate_limit").orNone()...)
	budgets = append(budgets, append(n.get("budget").orNone(), n.get("budgets").list()...)...)
	pick := func(list string, id *node) (out []*node) {
		for _, e := range gov.get(list).list() {
			mine := id.set() && e.get("id").str() == id.str()
			if by := e.get(owner); by.set() && by.str() == n.get("id").str() {
				mine = true
				b.carry(by)
			}
			if mine {
				b.carry(id, e.get("id"))
				out = append(out, e)
			}
		}
		return out
	}
	limits = append(limits, pick("rate_limits", n.get("rate_limit_id"))...)
	budgets = append(budgets, pick("budgets", n.get("budget_id"))...)
	m := &mapping{flow: true}
	var all list
	for _, l := range limits {
		b.rate(m, &all, l)
	}
	for _, e := range budgets {
		if per, ok := b.period(e.get("reset_duration")); ok {
			if v := b.amount(e.get("max_limit")); v > 0 {
				all = append(all, &mapping{flow: true, pairs: []field{{key: "usd", value: decimal(round(v))}, {key: "per", value: text(per)}}})
			}
		} else {
			b.told(e, Hand, left, "budgets are per hour, day, week or month")
		}
		b.why(e, map[string]string{"calendar_aligned": "budgets are the calendar's", "current_usage": "what was spent is not carried over", "last_reset": "what was spent is not carried over"})
	}
	to.setIf("limits", m)
	to.setIf("budgets", all)
}

func (n *node) orNone() []*node {
	if n == nil || n.kind != mappingNode {
		return nil
	}
	return []*node{n}
}

// rate carries a rate limit: of a minute as a limit, of tokens in a longer time as a budget.
func (b *bifrost) rate(m *mapping, budgets *list, n *node) {
	for _, f := range []struct{ what, to string }{{"request", "requests_per_minute"}, {"token", "tokens_per_minute"}} {
		most, reset := n.get(f.what+"_max_limit"), n.get(f.what+"_reset_duration")
		if !most.set() {
			continue
		}
		v := b.amount(most)
		per, long := b.period(reset)
		switch {
		case v < 1:
		case reset.str() == "1m" || reset.str() == "60s" || !reset.set():
			b.carry(reset)
			m.setOnce(f.to, decimal(float64(int64(v))))
		case f.what == "token" && long:
			b.approx(most, "is a budget of tokens")
			*budgets = append(*budgets, &mapping{flow: true, pairs: []field{{key: "tokens", value: decimal(float64(int64(v)))}, {key: "per", value: text(per)}}})
		default:
			b.told(most, Hand, left, "limits of requests are per minute")
			b.told(reset, Hand, left, "limits of requests are per minute")
		}
	}
}

// period is the calendar's of a duration such as 1d.
func (b *bifrost) period(n *node) (string, bool) {
	per, ok := map[string]string{"1h": "hour", "60m": "hour", "1d": "day", "24h": "day", "1w": "week", "7d": "week", "168h": "week", "1M": "month", "30d": "month", "720h": "month"}[n.str()]
	if ok {
		b.approx(n, "is a %s of the calendar, in UTC", per)
	}
	return per, ok
}

// providerTerms carries the limits of a provider.
func (b *bifrost) providerTerms(n, gov *node) {
	known := b.known[n.get("name").str()]
	if len(known) == 0 {
		b.told(n, Hand, left, "names no provider of the file")
		return
	}
	b.carry(n.get("name"))
	var out mapping
	b.terms(&out, n, gov, "provider_id")
	for _, f := range out.pairs {
		if f.key == "budgets" {
			b.note(n, Hand, "budgets are of keys and teams, not of providers")
			continue
		}
		limits, _ := f.value.(*mapping)
		for _, p := range known {
			own := p.settings.find("limits")
			own.flow = true
			for _, l := range limits.pairs {
				own.setOnce(l.key, l.value)
			}
		}
	}
	if len(known) > 1 {
		b.note(n, Approximated, "holds for each of the %s that its endpoints became", strings.Join(namesOf(known), ", "))
	}
}

func namesOf(providers []*provider) (names []string) {
	for _, p := range providers {
		names = append(names, p.name)
	}
	return names
}
