package importer

import (
	"net/url"
	"slices"
	"strings"
)

// limits carries retries, time limits, cooldowns and where the state is kept.
func (l *litellm) limits() {
	router, settings := l.root.get("router_settings"), l.root.get("litellm_settings")
	var resilience, timeouts mapping
	if n := first(router.get("num_retries"), settings.get("num_retries")); n.set() {
		if v := l.amount(n); v <= 100 {
			resilience.find("retry").set("max_retries", decimal(float64(int(v))))
			l.approx(n, "counts tries of one target beyond its first, before the next target is asked")
		}
	}
	if n := router.get("retry_after"); n.set() {
		if v := seconds(l.amount(n)); v != "" {
			resilience.find("retry").set("initial_backoff", v)
			l.approx(n, "is the wait before the first round of retries")
		}
	}
	if n := first(router.get("timeout"), settings.get("request_timeout")); n.set() {
		if v := seconds(l.amount(n)); v != "" {
			timeouts.set("attempt", v)
			timeouts.set("first_chunk", v)
			l.approx(n, "bounds an attempt; the request as a whole has timeouts.total, and a stream ends after a silence of timeouts.idle")
		}
	}
	if n := router.get("stream_timeout"); n.set() {
		if v := seconds(l.amount(n)); v != "" {
			timeouts.replace("first_chunk", v)
		}
	}
	fails, cooldown := first(router.get("allowed_fails"), settings.get("allowed_fails")), first(router.get("cooldown_time"), settings.get("cooldown_time"))
	if fails.set() {
		v := l.amount(fails)
		m := resilience.find("cooldown")
		m.set("failures", decimal(float64(int(min(v, 999_999))+1)))
		m.set("window", bare("1m"))
		m.set("min_failure_ratio", bare("0"))
		l.approx(fails, "a provider rests after one failure more in a minute; the circuit breaker, which counts failures in a row, stands beside it")
	}
	if cooldown.set() {
		if v := seconds(l.amount(cooldown)); v != "" {
			m := resilience.find("cooldown")
			m.set("base", v)
			m.set("factor", bare("1"))
			m.set("max", v)
			l.approx(cooldown, "is how long a provider rests; the circuit breaker has a time of its own: resilience.circuit_breaker.timeout")
		}
	}
	l.redis(router)
	if n := settings.get("json_logs"); n.set() && n.truth() {
		l.carry(n)
		l.top.find("log").set("format", text("json"))
	}
	l.top.setIf("resilience", &resilience)
	l.top.setIf("timeouts", &timeouts)
}

func (m *mapping) replace(key string, value any) {
	for i := range m.pairs {
		if m.pairs[i].key == key {
			m.pairs[i].value = value
			return
		}
	}
	m.set(key, value)
}

// redis carries the router's Redis as the store of the guards' state.
func (l *litellm) redis(router *node) {
	if n := router.get("redis_url"); n.set() {
		ref := l.secret(n, "REDIS_URL")
		l.sampleOf(ref, "redis://sample.invalid:6379")
		l.top.find("state").set("url", ref)
		return
	}
	host := router.get("redis_host")
	if !host.set() {
		return
	}
	address := "redis://"
	if n := router.get("redis_password"); n.set() {
		address += ":" + string(l.secret(n, "REDIS_PASSWORD")) + "@"
		l.note(n, Hand, "the password stands in an address now: percent-encode it in its variable")
	}
	address += l.part(host, "sample.invalid")
	if n := router.get("redis_port"); n.set() {
		address += ":" + l.part(n, samplePort)
	}
	if strings.ContainsAny(strings.NewReplacer("${", "", "}", "").Replace(address), " {}$") {
		l.leave(host, "is no host of a Redis: say state.url")
		return
	}
	l.top.find("state").set("url", raw(address))
}

// part is a piece of an address, which may be a reference.
func (c *conversion) part(n *node, sample string) string {
	if r, ok := c.word(n, sample).(raw); ok {
		return string(r)
	}
	return url.PathEscape(n.str())
}

// routing makes the virtual models of the groups, with the ways out of each.
func (l *litellm) routing() {
	router, settings := l.root.get("router_settings"), l.root.get("litellm_settings")
	for _, p := range router.get("model_group_alias").pairsOf() {
		to := p.value
		if to.kind == mappingNode {
			l.why(to, map[string]string{"hidden": "the list of models shows it"})
			to = to.get("model")
		}
		l.aliases[p.key] = to.str()
		l.carry(to)
	}
	strategy, reason := l.strategy(router.get("routing_strategy"))
	for _, g := range l.groups {
		if len(g.targets) > 0 {
			l.weigh(g, strategy)
			m := &model{name: g.name, strategy: strategy, targets: g.targets}
			if len(g.targets) > 1 && strategy == "" {
				m.strategy = g.spread()
			}
			if len(g.targets) > 1 && reason != "" {
				m.comments = append(m.comments, reason)
			}
			l.models = append(l.models, m)
		}
	}
	l.fallbacks(merged(router.get("fallbacks"), settings.get("fallbacks")), merged(router.get("default_fallbacks"), settings.get("default_fallbacks")))
	l.refusals(merged(router.get("context_window_fallbacks"), settings.get("context_window_fallbacks")), "context_length")
	l.refusals(merged(router.get("content_policy_fallbacks"), settings.get("content_policy_fallbacks")), "content_filter")
	for _, p := range router.get("model_group_alias").pairsOf() {
		if to := l.aliases[p.key]; validModel(p.key) && l.model(p.key) == nil && l.model(to) != nil {
			l.models = append(l.models, &model{name: p.key, targets: []*target{{to: to}}})
		} else {
			l.leave(p.value, "names no model of the file, or has the name of one")
		}
	}
	l.caches(settings)
	l.reasons(router, settings)
}

func (n *node) pairsOf() []pair {
	if n == nil {
		return nil
	}
	return n.pairs
}

// strategy is ours for LiteLLM's; empty for its shuffle.
func (l *litellm) strategy(n *node) (ours, reason string) {
	if !n.set() {
		return "", ""
	}
	l.carry(n)
	switch n.str() {
	case "simple-shuffle":
	case "least-busy":
		return "least_busy", ""
	case "latency-based-routing":
		return "least_latency", ""
	case "cost-based-routing":
		return "least_cost", ""
	case "usage-based-routing", "usage-based-routing-v2":
		l.approx(n, "goes by requests in flight here, not by tokens of the minute")
		return "least_busy", "usage-based-routing: by requests in flight here"
	default:
		l.approx(n, "is no strategy here; targets take turns")
	}
	return "", ""
}

// weigh turns the shares of a group into weights, as LiteLLM's shuffle takes them: by weight, else by rpm, else by tpm.
func (l *litellm) weigh(g *group, strategy string) {
	if strategy != "" || len(g.targets) < 2 {
		return
	}
	for _, by := range []func(share) float64{func(s share) float64 { return s.weight }, func(s share) float64 { return s.rpm }, func(s share) float64 { return s.tpm }} {
		if !slices.ContainsFunc(g.shares, func(s share) bool { return by(s) > 0 }) {
			continue
		}
		for i, s := range g.shares {
			if by(s) > 0 {
				g.targets[i].weight = decimal(by(s))
			} else {
				g.targets[i].weight = "0.001" // the shuffle never begins with it, and comes to it when the others fail
			}
		}
		return
	}
}

// spread is the strategy of LiteLLM's shuffle for a group: by weight where they differ.
func (g *group) spread() string {
	for _, t := range g.targets {
		if t.weight != g.targets[0].weight {
			return "weighted"
		}
	}
	return "round_robin"
}

// rule is one way out of a group.
type rule struct {
	from string
	to   []*node
	at   *node
}

// merged reads lists of {from: [to, …]}.
func merged(lists ...*node) (out []rule) {
	for _, n := range lists {
		for _, item := range n.list() {
			if item.kind == scalarNode {
				out = append(out, rule{from: "*", to: []*node{item}, at: item})
			}
			for _, p := range item.pairs {
				out = append(out, rule{from: p.key, to: p.value.list(), at: p.value})
			}
		}
	}
	return out
}

// resolve gives the model that a fallback names, as the name of a virtual model, or as a target of a provider that answers for all names.
func (l *litellm) resolve(n *node) (name string, t *target) {
	name = n.str()
	if to, ok := l.aliases[name]; ok {
		name = to
	}
	if m := l.model(name); m != nil {
		return name, nil
	}
	if prefix, id, ok := strings.Cut(name, "/"); ok && validModel(id) {
		for _, g := range l.groups {
			if g.open && g.name == prefix+"/*" && slices.ContainsFunc(l.providers, func(p *provider) bool { return p.name == prefix }) {
				return "", &target{to: name}
			}
		}
	}
	return "", nil
}

// fallbacks puts the models to fall back to behind the group's own deployments, which become a model within the model where there are several.
func (l *litellm) fallbacks(rules, byDefault []rule) {
	has := map[string]bool{}
	for _, r := range rules {
		has[r.from] = true
	}
	var all []rule
	for _, r := range append(slices.Clone(rules), byDefault...) {
		if r.from != "*" {
			all = append(all, r)
			continue
		}
		for _, m := range l.models {
			if !has[m.name] {
				all = append(all, rule{from: m.name, to: r.to, at: r.at})
			}
		}
	}
	own := map[string][]*target{}
	for _, r := range all {
		from, _ := l.resolve(&node{kind: scalarNode, text: r.from})
		m := l.model(from)
		if m == nil {
			l.told(r.at, Hand, left, "there is no model %q in the file to fall back from", clean(r.from))
			continue
		}
		if own[from] == nil {
			own[from] = m.targets
			l.enclose(m)
		}
	}
	for _, r := range all {
		from, _ := l.resolve(&node{kind: scalarNode, text: r.from})
		m := l.model(from)
		if m == nil {
			continue
		}
		for _, n := range r.to {
			l.fallback(m, n, own)
		}
	}
}

// enclose makes room behind a model's targets: several become a model of their own, so that its strategy chooses among them before any fallback.
func (l *litellm) enclose(m *model) {
	if len(m.targets) < 2 {
		return
	}
	inner := &model{name: l.freeModel(m.name + ".deployments"), strategy: m.strategy, targets: m.targets, comments: m.comments}
	i := slices.Index(l.models, m)
	l.models = slices.Insert(l.models, i+1, inner)
	m.targets, m.strategy, m.comments = []*target{{to: inner.name}}, "", nil
}

func (l *litellm) fallback(m *model, n *node, own map[string][]*target) {
	name, t := l.resolve(n)
	switch {
	case n.kind == mappingNode:
		l.told(n, Hand, left, "a fallback with settings of its own: make a virtual model of it")
		return
	case name == m.name:
		l.leave(n, "falls back to itself")
		return
	case name == "" && t == nil:
		l.told(n, Hand, left, "there is no model %q in the file to fall back to", clean(n.str()))
		return
	case name != "":
		t = &target{to: name}
		if own[name] != nil { // its own fallbacks are not followed: two models may fall back to each other
			t = l.model(name).targets[0]
		}
	}
	l.carry(n)
	if !slices.ContainsFunc(m.targets, func(o *target) bool { return o.same(t) }) {
		c := *t
		c.weight = ""
		m.targets = append(m.targets, &c)
	}
}

// refusals gives the targets that are asked after a refusal of one kind: providers' models, never a virtual one.
func (l *litellm) refusals(rules []rule, kind string) {
	for _, r := range rules {
		var to list
		var seen []*target
		for _, n := range r.to {
			name, t := l.resolve(n)
			targets := []*target{t}
			if name != "" {
				targets = l.flatten(name, 0)
			} else if t == nil {
				l.told(n, Hand, left, "there is no model %q in the file to fall back to", clean(n.str()))
				continue
			}
			l.carry(n)
			for _, t := range targets {
				if !slices.ContainsFunc(seen, t.same) && !t.disabled {
					seen = append(seen, t)
					to = append(to, t.value(false))
				}
			}
		}
		for _, m := range l.models {
			if len(to) > 0 && (m.name == r.from || r.from == "*" || l.aliases[r.from] == m.name) {
				m.settings.find("on").setOnce(kind, to)
			}
		}
		if r.from != "*" && l.model(r.from) == nil && l.aliases[r.from] == "" {
			l.told(r.at, Hand, left, "there is no model %q in the file to fall back from", clean(r.from))
		}
	}
}

// flatten gives the providers' targets that a virtual model comes to first: its own, without its fallbacks.
func (l *litellm) flatten(name string, depth int) []*target {
	m := l.model(name)
	if m == nil || depth > 4 || len(m.targets) == 0 {
		return nil
	}
	if l.model(m.targets[0].to) != nil {
		return l.flatten(m.targets[0].to, depth+1)
	}
	return m.targets
}

// caches keeps answers where LiteLLM did.
func (l *litellm) caches(settings *node) {
	on := settings.get("cache")
	if !on.set() {
		return
	}
	if !on.truth() {
		l.carry(on)
		return
	}
	params := settings.get("cache_params")
	ttl := bare("1h")
	if v := seconds(l.amount(params.get("ttl"))); v != "" {
		ttl = v
	}
	for _, m := range l.models {
		if !strings.HasSuffix(m.name, ".deployments") {
			m.settings.set("cache", &mapping{flow: true, pairs: []field{{key: "ttl", value: ttl}, {key: "when", value: text("always")}}})
		}
	}
	l.approx(on, "answers are kept for each caller or team apart, in the memory of each instance: the same request, to the letter, gets the same answer")
	l.why(params, map[string]string{
		"type": "answers are kept in memory", "host": "answers are kept in memory", "port": "answers are kept in memory", "password": "answers are kept in memory", "url": "answers are kept in memory", "namespace": "each caller or team has answers of its own",
		"mode": "whether answers are kept is said for each model", "supported_call_types": "chat, messages, responses and embeddings are kept", "similarity_threshold": "answers are kept for the same request only", "redis_semantic_cache_embedding_model": "answers are kept for the same request only",
	})
}

// reasons explains what is left of the two sections.
func (l *litellm) reasons(router, settings *node) {
	watch := "use metrics, traces and alerts in their place (docs/observability.md)"
	db := "budgets and limits are said for keys and teams (auth)"
	for _, n := range []*node{router, settings} {
		l.why(n, map[string]string{ //nolint:gosec // names of settings, and what to do about them
			"callbacks": watch, "success_callback": watch, "failure_callback": watch, "service_callback": watch, "audit_log_callbacks": watch, "callback_settings": watch, "default_team_settings": watch, "turn_off_message_logging": "bodies are logged only with log.bodies",
			"disable_end_user_cost_tracking_prometheus_only": watch, "require_auth_for_metrics_endpoint": "metrics need the admin token where others can reach them",
			"set_verbose": "say log.level: debug", "debug_level": "say log.level", "drop_params": "what a provider does not take is left out or translated without a setting", "modify_params": "what a provider does not take is left out or translated without a setting",
			"retry_policy": "retries follow the kind of failure; resilience.classify adds rules", "allowed_fails_policy": "failures are counted by kind; resilience.classify adds rules", "model_group_retry_policy": "how often is set for a provider: resilience.retry",
			"enable_pre_call_checks": "what does not fit a context window is always known before the call", "enable_tag_filtering": "requests are not routed by tags; make models of their own", "routing_strategy_args": "strategies have no settings of that kind",
			"max_fallbacks": "all targets are tried, within timeouts.total", "disable_cooldowns": "say resilience.cooldown.failures: 0", "cache_responses": "say cache: under the models", "optional_pre_call_checks": "limits are always enforced",
			"max_budget": db, "budget_duration": db, "max_internal_user_budget": db, "default_internal_user_params": db, "default_key_generate_params": db, "upperbound_key_generate_params": db, "default_max_internal_user_budget": db, "max_end_user_budget": db, "internal_user_budget_duration": db,
			"cache_params": "answers are not kept", "telemetry": "nothing is sent home", "redis_host": "say state.url", "redis_port": "say state.url", "redis_password": "say state.url",
			"mcp_semantic_tool_filter": "Evergate is no gateway for MCP servers", "mcp_aliases": "Evergate is no gateway for MCP servers", "code_interpreter_interception_params": "tools are not run by the gateway", "websearch_interception_params": "tools are not run by the gateway",
			"force_ipv4": "addresses are taken as the system gives them", "ssl_verify": "say tls.ca_file of the provider", "guardrails": "guardrails work otherwise here: see docs/guardrails.md, and write those that you need by hand", "key_generation_settings": db,
		})
	}
}
