package importer

import (
	"slices"
	"strings"
)

// virtual carries a virtual model: an alias, or a list of targets.
func (g gomodel) virtual(n *node) {
	name := n.get("source")
	if !validModel(name.str()) || g.model(name.str()) != nil {
		g.told(n, Hand, left, "has no name that a model can have, or that of another")
		return
	}
	m := &model{name: name.str()}
	switch s := n.get("strategy"); s.str() {
	case "", "round_robin":
		m.strategy = "round_robin"
		g.carry(s)
	case "cost":
		m.strategy = "least_cost"
		g.carry(s)
	case "failover":
		m.strategy = ""
		g.carry(s)
	case "adaptive":
		m.strategy = "auto"
		g.approx(s, "strategy auto goes by health, latency, cost and headroom")
	default:
		m.strategy = "round_robin"
		g.approx(s, "is no strategy here; targets take turns")
	}
	entries := n.get("targets").list()
	if t := n.get("target"); t.set() {
		entries = append([]*node{t}, entries...)
	}
	for _, e := range entries {
		id := e
		if e.kind == mappingNode {
			id = e.get("model")
		}
		to, ok := g.target(id.str(), m.name)
		if !ok {
			g.told(e, Hand, left, "names no provider of the file: write provider/model")
			continue
		}
		g.carry(id)
		t := &target{to: to}
		if w := e.get("weight"); w.set() {
			if v := g.amount(w); v > 0 {
				t.weight = decimal(v)
				if m.strategy == "round_robin" {
					m.strategy = "weighted"
				}
			}
		}
		if !slices.ContainsFunc(m.targets, func(o *target) bool { return o.to == t.to }) {
			m.targets = append(m.targets, t)
		}
	}
	if len(m.targets) == 0 {
		return
	}
	g.carry(name)
	g.models = append(g.models, m)
	g.why(n, map[string]string{
		"slowdown": "mirrors and drills slow nothing down for good", "user_paths": "say in auth.keys which models a key may use", "description": "nothing shows it", "enabled": "take the model out in place of switching it off",
	})
}

// target finds out where a model is: behind a provider's name, another virtual model, or by whose models are listed or called so.
func (g gomodel) target(id, self string) (string, bool) {
	if !validModel(id) {
		return "", false
	}
	if prefix, rest, ok := strings.Cut(id, "/"); ok && rest != "" {
		if slices.ContainsFunc(g.providers, func(p *provider) bool { return p.name == prefix }) {
			return id, true
		}
	}
	if id != self && slices.ContainsFunc(g.root.get("virtual_models").list(), func(n *node) bool { return n.get("source").str() == id }) {
		return id, true
	}
	for _, p := range g.providers {
		for _, f := range p.settings.pairs {
			if ids, ok := f.value.(list); ok && f.key == "models" && slices.Contains(ids, any(text(id))) {
				return p.name + "/" + id, true
			}
		}
	}
	if word, ok := guess(id); ok {
		if k, _ := g.kindOf(word); k.typ != "" {
			for _, p := range g.providers {
				if p.kind == k.typ {
					return p.name + "/" + id, true
				}
			}
		}
	}
	if len(g.providers) == 1 {
		return g.providers[0].name + "/" + id, true
	}
	return "", false
}

// failovers carries the older form of rules.
func (g gomodel) failovers(n *node) {
	if on := n.get("enabled"); on.set() {
		g.carry(on)
		if !on.truth() {
			g.hand(on, "a model with several targets always goes on to the next: name one target for each model")
		}
	}
	for _, key := range []string{"rules", "manual_rules"} {
		for _, p := range n.get(key).pairsOf() {
			from, ok := g.target(p.key, "")
			if !ok || g.model(from) != nil {
				g.told(p.value, Hand, left, "names no provider of the file to fail over from")
				continue
			}
			var to list
			for _, t := range p.value.list() {
				if id, ok := g.target(t.str(), ""); ok && g.model(id) == nil && id != from {
					g.carry(t)
					to = append(to, text(id))
				} else {
					g.told(t, Hand, left, "names no provider of the file to fail over to")
				}
			}
			if len(to) > 0 {
				g.failover.setOnce(from, to)
			}
		}
	}
	g.why(n, map[string]string{"manual_rules_path": "write the rules of that file as targets of models", "disabled_models": "a model fails over when it has several targets", "default_mode": "a model fails over when it has several targets"})
}

// rates carries limits of providers and models. Those of user paths have nothing to hang on: callers are known by keys here.
func (g gomodel) rates(n *node) {
	if on := n.get("enabled"); on.set() {
		g.carry(on)
		if !on.truth() {
			g.leave(n.get("providers"), "rate limits are off in the source")
			return
		}
	}
	for _, e := range n.get("providers").list() {
		name := e.get("name")
		i := slices.IndexFunc(g.providers, func(p *provider) bool { return p.name == name.str() })
		if i < 0 {
			g.told(e, Hand, left, "names no provider of the file")
			continue
		}
		g.carry(name)
		g.providers[i].settings.setIf("limits", g.limit(e.get("limits")))
	}
	for _, e := range n.get("models").list() {
		name := e.get("model")
		if m := g.model(name.str()); m != nil {
			g.carry(name)
			m.settings.setIf("limits", g.limit(e.get("limits")))
			continue
		}
		g.told(e, Hand, left, "limits are those of a virtual model, a provider, a key or a team: make a virtual model of it")
	}
	perPath := "user paths are no callers here: say limits and budgets for keys and teams (auth)"
	g.why(n, map[string]string{"user_paths": perPath, "flush_interval": "counters are written as they move"})
	budgets := g.root.get("budgets")
	g.why(budgets, map[string]string{"enabled": perPath, "user_paths": perPath, "labels": "budgets are of keys and teams; labels only group usage"})
}

// limit carries limits of a minute and of what is in flight.
func (g gomodel) limit(n *node) *mapping {
	m := &mapping{flow: true}
	for _, e := range n.list() {
		period, requests, tokens := e.get("period"), e.get("max_requests"), e.get("max_tokens")
		switch period.str() {
		case "minute":
			g.carry(period)
			if v := g.amount(requests); v >= 1 {
				m.setOnce("requests_per_minute", decimal(float64(int64(v))))
			}
			if v := g.amount(tokens); v >= 1 {
				m.setOnce("tokens_per_minute", decimal(float64(int64(v))))
			}
		case "concurrent":
			g.carry(period)
			if v := g.amount(requests); v >= 1 {
				m.setOnce("concurrent", decimal(float64(int64(v))))
			}
		default:
			g.told(e, Hand, left, "limits are per minute; for a day or an hour give the key or the team a budget of tokens")
		}
	}
	return m
}

// rest carries the small sections, and explains what stays behind.
func (g gomodel) rest() {
	if n := g.root.get("logging").get("log_bodies"); n.set() {
		if n.truth() {
			g.hand(n, "bodies are not kept until log.bodies is true: they hold prompts")
		} else {
			g.carry(n)
		}
	}
	if n := g.root.get("usage").get("retention_days"); n.set() {
		if v := g.amount(n); v >= 1 && v <= 365 {
			g.top.find("ledger").set("retention", bare(itoa(int(v))+"d"))
		}
	}
	if n := g.root.get("storage"); n.set() {
		g.storage(n)
	}
	for _, key := range []string{"level", "format"} { // of variables; the file has none of them
		if n := g.root.get("log").get(key); slices.Contains([]string{"debug", "info", "warn", "error", "text", "json"}, n.str()) {
			g.carry(n)
			g.top.find("log").set(key, text(n.str()))
		}
	}
	g.carry(g.root.get("metrics").get("enabled"))
	g.why(g.root.get("metrics"), map[string]string{"endpoint": "metrics are at /metrics of the admin listener"})
	g.why(g.root.get("cache").get("model"), map[string]string{"refresh_interval": "set CACHE_REFRESH_INTERVAL", "recheck_interval": "set PROVIDER_RECHECK_INTERVAL", "local": "lists of models are not kept on disk", "redis": "lists of models are not kept in Redis"})
	g.responses(g.root.get("cache").get("response"))
	lists := "discovery adds to what models: lists; say the ids there, and name keys' models in auth.keys"
	g.why(g.root.get("models"), map[string]string{"enabled_by_default": lists, "configured_provider_models_mode": lists})
	for _, section := range []string{"logging", "usage"} {
		reason := "the ledger keeps requests and usage (docs/operations.md)"
		for _, p := range g.root.get(section).pairsOf() {
			if untouched(p.value) {
				g.leave(p.value, "%s", reason)
			}
		}
	}
	g.why(g.root, map[string]string{
		"tagging": "labels belong to keys here: auth.keys[].labels", "session": "conversations are known by header, cache key, user and opening: models.NAME.affinity", "mcp": "Evergate is no gateway for MCP servers",
		"guardrails": "guardrails work otherwise here: see docs/guardrails.md, and write those that you need by hand", "workflows": "there are no workflows", "extensions": "there are no extensions", "version_check": "nothing is sent home", "plugins": "there are no plugins",
	})
}

// responses keeps answers where GoModel did.
func (g gomodel) responses(n *node) {
	simple := n.get("simple")
	if simple.set() && (!simple.get("enabled").set() || simple.get("enabled").truth()) {
		g.carry(simple.get("enabled"))
		ttl := bare("1h")
		if v := seconds(g.amount(simple.get("redis").get("ttl"))); v != "" {
			ttl = v
		}
		for _, m := range g.models {
			m.settings.set("cache", &mapping{flow: true, pairs: []field{{key: "ttl", value: ttl}, {key: "when", value: text("always")}}})
		}
		g.note(simple, Approximated, "answers of virtual models are kept, for each caller or team apart, in the memory of each instance")
		g.why(simple.get("redis"), map[string]string{"url": "answers are kept in memory", "key": "answers are kept in memory"})
	}
	g.why(n, map[string]string{"semantic": "answers are kept for the same request only"})
}

// storage carries where GoModel keeps what it knows, as far as we have such a store.
func (g gomodel) storage(n *node) {
	typ := n.get("type")
	state := g.top.find("state")
	switch typ.str() {
	case "sqlite":
		g.carry(typ)
		state.set("url", text("sqlite:evergate.db"))
		g.leave(n.get("sqlite"), "a database of its own is made: sqlite:evergate.db")
	case "postgresql":
		g.carry(typ)
		if u := n.get("postgresql").get("url"); u.set() {
			ref := g.secret(u, "EVERGATE_STATE_URL")
			g.sampleOf(ref, "postgres://sample.invalid/sample")
			state.set("url", ref)
			g.note(u, Hand, "tables of our own are made there; nothing of GoModel's is read")
		}
	default:
		g.told(typ, Hand, left, "state is kept in SQLite, Redis or PostgreSQL: say state.url")
	}
	if len(state.pairs) == 0 {
		g.top.pairs = slices.DeleteFunc(g.top.pairs, func(f field) bool { return f.key == "state" })
	}
	g.why(n, map[string]string{"sqlite": "is not the type that is used", "postgresql": "is not the type that is used", "mongodb": "state is kept in SQLite, Redis or PostgreSQL"})
	if typ.str() == "postgresql" {
		g.why(n.get("postgresql"), map[string]string{"max_conns": "say pool options in the address"})
	}
}
