package importer

import (
	"slices"
	"strings"
)

// bifrost is a config.json of Bifrost's on its way.
type bifrost struct {
	*conversion
	// known are the providers that became of each of Bifrost's: one for each endpoint of its keys.
	known map[string][]*provider
	// places are where a model name is served: by these targets, with the weights of their keys.
	places map[string][]*target
	order  []string
	// ids are the providers that Bifrost's keys went to, by the keys' ids and names.
	ids map[string]*provider
}

func (c *conversion) bifrost() {
	b := &bifrost{conversion: c, known: map[string][]*provider{}, places: map[string][]*target{}, ids: map[string]*provider{}}
	gov := c.root.get("governance")
	b.client(c.root.get("client"), len(gov.get("virtual_keys").list()) > 0)
	b.stores()
	for _, p := range c.root.get("providers").pairsOf() {
		b.provider(p.key, p.value)
	}
	for _, name := range b.order {
		b.spread(name)
	}
	b.governance(gov)
	if len(gov.get("virtual_keys").list()) > 0 && len(b.keys) == 0 { // nobody is let in for that
		b.top.find("auth").set("mode", text("keys"))
		b.general(Hand, "no virtual key is carried over: make keys with evergate keys create")
	}
	b.carry(c.root.get("$schema"), c.root.get("version"))
	watch := "use metrics, traces and alerts in their place (docs/observability.md)"
	for _, n := range c.root.get("plugins").list() {
		switch n.get("name").str() {
		case "governance":
			b.carry(n)
		case "semantic_cache", "semanticcache":
			b.told(n, Hand, left, "answers are kept for the same request only: say cache: { ttl } under the models")
		case "otel", "telemetry", "maxim", "logging", "datadog", "prometheus":
			b.leave(n, "%s", watch)
		default:
			b.leave(n, "there are no plugins")
		}
	}
	b.why(c.root, map[string]string{
		"mcp": "Evergate is no gateway for MCP servers", "vector_store": "answers are kept for the same request only", "framework": "prices are the catalogue's, and what catalog: says", "encryption_key": "secrets are not kept: they come from variables", "auth_config": "the admin API has a token: admin.token",
		"env_label": "nothing shows it", "source_of_truth": "the file alone says what is so", "server": "buffers have fixed sizes", "guardrails_config": "guardrails work otherwise here: see docs/guardrails.md, and write those that you need by hand", "cluster_config": "instances that share state.url are a fleet", "saml_config": "write auth.jwt with your issuer",
		"audit_logs": "changes are kept in the timeline", "large_payload_optimization": "bodies are passed on as they come", "websocket": "websockets go through /passthrough/PROVIDER/", "load_balancer_config": "strategies are said for each model", "scim_config": "write auth.jwt with your issuer",
	})
}

// client carries the settings of the server.
func (b *bifrost) client(n *node, keys bool) {
	server := b.top.find("server")
	if keys {
		server.set("listen", text("0.0.0.0:8080"))
		b.top.find("admin").set("token", b.use("EVERGATE_ADMIN_TOKEN", "", sampleSecret))
		b.general(Hand, "the admin API needs a token: set EVERGATE_ADMIN_TOKEN")
	} else {
		server.set("listen", text("127.0.0.1:8080"), "without keys for callers only this machine may ask")
		b.general(Hand, "there are no virtual keys, so the gateway listens on 127.0.0.1 alone: add auth.keys before others can reach it")
	}
	if v := b.amount(n.get("max_request_body_size_mb")); v >= 1 && v <= 4096 {
		server.set("max_request_body", bare(itoa(int(v))+"MiB"))
	}
	if d := n.get("log_retention_days"); d.set() {
		if v := b.amount(d); v >= 1 {
			b.top.find("ledger").set("retention", bare(itoa(min(int(v), 365))+"d"))
			if v > 365 {
				b.approx(d, "the ledger is kept for 365 days at most")
			}
		}
	}
	if content := n.get("disable_content_logging"); content.set() {
		if content.truth() {
			b.carry(content)
		} else {
			b.hand(content, "bodies are not kept until log.bodies is true: they hold prompts")
		}
	}
	for _, key := range []string{"enforce_governance_header", "enforce_auth_on_inference", "enforce_scim_auth"} {
		if v := n.get(key); v.set() {
			if keys && !v.truth() {
				b.approx(v, "with keys in the file every request needs one")
			} else {
				b.carry(v)
			}
		}
	}
	b.origins(server, n.get("allowed_origins"))
	if v := n.get("enable_governance"); v.set() {
		b.carry(v)
	}
	if v := n.get("enable_logging"); v.set() {
		b.approx(v, "the ledger is always kept; ledger.max_requests bounds it")
	}
	if v := n.get("allow_direct_keys"); v.set() {
		b.carry(v)
	}
	b.why(n, map[string]string{
		"allowed_headers": "say server.cors.headers", "drop_excess_requests": "requests do not queue: limits refuse what is too much", "initial_pool_size": "there are no pools",
		"prometheus_labels": "metrics have fixed labels (docs/observability.md)", "enable_litellm_fallbacks": "requests of an API that a model has not are translated without a setting", "compat": "requests of an API that a model has not are translated without a setting", "required_headers": "requests need no header but a key",
		"logging_headers": "headers are not kept", "whitelisted_routes": "every route of the API needs a key", "header_filter_config": "headers of callers are forwarded by a fixed list (docs/api.md)", "hide_deleted_virtual_keys_in_filters": "revoked keys stay in usage", "dual_credential_conflict_behavior": "a request brings one credential",
	})
}

// origins carries the pages from which browsers may ask.
func (b *bifrost) origins(server *mapping, n *node) {
	var out []string
	for _, o := range n.list() {
		if o.str() == "*" || webAddress(o.str()) && strings.Count(o.str(), "/") == 2 {
			b.carry(o)
			out = append(out, strings.ToLower(o.str()))
		}
	}
	if slices.Contains(out, "*") {
		out = []string{"*"}
	}
	if len(out) > 0 {
		slices.Sort(out)
		server.find("cors").set("origins", texts(slices.Compact(out)))
	}
	if n != nil && len(n.list()) == 0 {
		b.carry(n)
	}
}

// stores carries where Bifrost keeps its settings, as the place of our state.
func (b *bifrost) stores() {
	for _, key := range []string{"config_store", "logs_store"} {
		n := b.root.get(key)
		if n == nil {
			continue
		}
		cfg := n.get("config")
		state := b.top.find("state")
		switch {
		case len(state.pairs) > 0:
			b.leave(n, "state and ledger share one store: state.url")
		case n.get("enabled").set() && !n.get("enabled").truth():
			b.carry(n)
		case n.get("type").str() == "sqlite":
			b.approx(n, "a database of its own is made: sqlite:evergate.db")
			state.set("url", text("sqlite:evergate.db"))
		case n.get("type").str() == "postgres" && cfg.get("host").set():
			state.set("url", b.postgres(cfg))
			b.carry(n.get("enabled"), n.get("type"))
			b.note(n, Hand, "tables of our own are made there; nothing of Bifrost's is read")
		default:
			b.told(n, Hand, left, "state is kept in SQLite, Redis or PostgreSQL: say state.url")
		}
		if len(state.pairs) == 0 {
			b.top.pairs = slices.DeleteFunc(b.top.pairs, func(f field) bool { return f.key == "state" })
		}
	}
}

// postgres makes an address of its parts. The password is a variable.
func (b *bifrost) postgres(n *node) raw {
	at := "postgres://"
	if u := n.get("user"); u.set() {
		at += b.part(u, sampleWord)
		if p := n.get("password"); p.set() {
			at += ":" + string(b.secret(p, "POSTGRES_PASSWORD"))
			b.note(p, Hand, "the password stands in an address now: percent-encode it in its variable")
		}
		at += "@"
	}
	at += b.part(n.get("host"), "sample.invalid")
	if p := n.get("port"); p.set() {
		at += ":" + b.part(p, "5432")
	}
	at += "/"
	if d := n.get("db_name"); d.set() {
		at += b.part(d, sampleWord)
	}
	if s := n.get("ssl_mode"); s.set() {
		at += "?sslmode=" + b.part(s, "disable")
	}
	return raw(at)
}

// provider carries one of Bifrost's: its keys may be of several endpoints, each of which is a provider here.
func (b *bifrost) provider(name string, n *node) {
	custom := n.get("custom_provider_config")
	word := name
	if base := custom.get("base_provider_type"); base.set() {
		b.carry(base)
		word = base.str()
	}
	k, ok := b.kindOf(word)
	if !ok {
		b.told(n, Hand, left, "is no type here: if its API is OpenAI's, add a provider of type openai-compatible")
		return
	}
	network := n.get("network_config")
	base := network.get("base_url")
	if k.typ == "openai" && base.set() && !ownHost(base.str()) {
		k.typ = "openai-compatible"
	}
	if k.typ == "openai-compatible" && k.base == "" && !base.set() {
		b.told(n, Hand, left, "needs the address of the server: network_config.base_url")
		return
	}
	keys := n.get("keys").list()
	if len(keys) == 0 {
		keys = []*node{{kind: mappingNode, path: n.path, line: n.line}}
	}
	for _, key := range keys {
		if e := key.get("enabled"); e.set() && !e.truth() {
			b.leave(key, "is switched off")
			continue
		}
		p := b.endpoint(name, k, key, base)
		if !slices.Contains(b.known[name], p) {
			b.known[name] = append(b.known[name], p)
			b.network(p, network)
			b.provided(p, n)
		}
		b.key(p, k, key, custom)
	}
	b.why(custom, map[string]string{"allowed_requests": "say routes of a key", "request_path_overrides": "paths are the type's", "is_custom_provider": "the type says it", "is_key_less": "a provider without keys is asked without one"})
	b.why(n, map[string]string{
		"send_back_raw_response": "answers come as the provider gave them where the caller speaks its API", "send_back_raw_request": "answers hold no requests", "store_raw_request_response": "bodies are kept with log.bodies", "status": "the state of a provider is what the guards say", "pricing_overrides": "say prices under catalog",
		"openai_config": "the API is chosen for each request: api",
	})
}

// endpoint finds or makes the provider of a key.
func (b *bifrost) endpoint(name string, k kind, key, base *node) *provider {
	identity := "name=" + name
	azure, vertex, bedrock := key.get("azure_key_config"), key.get("vertex_key_config"), key.get("bedrock_key_config")
	for _, n := range []*node{azure.get("endpoint"), azure.get("api_version"), azure.get("client_id"), vertex.get("project_id"), vertex.get("region"), vertex.get("auth_credentials"), bedrock.get("region"), bedrock.get("access_key"), bedrock.get("role_arn")} {
		if n.set() {
			identity += "\x00" + flat(n)
		}
	}
	p, isNew := b.draft.provider(name, k.typ, identity)
	m := &mapping{}
	switch p.kind {
	case "azure-openai":
		b.azureVersion(m, azure.get("api_version"))
		if end := azure.get("endpoint"); end.set() {
			address := b.address(end, p.name+"_BASE_URL")
			if isNew {
				p.base = address
			}
		} else if isNew && !base.set() {
			p.base = b.use(b.free(envName(p.name+"_BASE_URL")), "", sampleURL)
		}
		b.entra(p, m, azure.get("tenant_id"), azure.get("client_id"), azure.get("client_secret"))
	case "vertex":
		for _, f := range []struct{ from, to, sample string }{{"project_id", "project", sampleWord}, {"region", "location", "global"}} {
			if v := vertex.get(f.from); v.set() {
				m.set(f.to, b.word(v, f.sample))
			} else {
				m.set(f.to, b.use("GOOGLE_CLOUD_"+strings.ToUpper(f.to), "", f.sample))
			}
		}
		if c := vertex.get("auth_credentials"); c.set() {
			b.credentialsFile(p, m, c)
		}
	case "bedrock":
		if r := bedrock.get("region"); r.set() {
			m.set("region", b.word(r, "us-east-1"))
		} else {
			m.set("region", b.use("AWS_REGION", "", "us-east-1"))
		}
		if id, secret := bedrock.get("access_key"), bedrock.get("secret_key"); id.set() && !secret.set() {
			b.hand(id, "stands without a secret_key: say aws of the provider %s, or have AWS's default chain know the account", p.name)
		} else if id.set() {
			aws := m.find("aws")
			aws.set("access_key_id", b.secret(id, p.name+"_AWS_ACCESS_KEY_ID"))
			aws.setIf("secret_access_key", b.secret(secret, p.name+"_AWS_SECRET_ACCESS_KEY"))
			if s := bedrock.get("session_token"); s.set() {
				aws.set("session_token", b.secret(s, p.name+"_AWS_SESSION_TOKEN"))
			}
		}
		b.why(bedrock, map[string]string{"arn": "write the whole ARN of an inference profile as the model's id", "role_arn": "take the role from AWS's default chain: a profile with role_arn", "external_id": "take the role from AWS's default chain: a profile with role_arn", "session_name": "take the role from AWS's default chain: a profile with role_arn", "batch_s3_config": "batches are the provider's own, under /passthrough/"})
	}
	if isNew {
		p.settings = *m
		switch {
		case p.base != nil:
		case base.set():
			p.base = b.address(base, p.name+"_BASE_URL")
		case k.base != "":
			p.base = text(k.base)
		}
		if t, ok := p.base.(text); ok && !webAddress(string(t)) {
			p.base = b.use(b.free(envName(p.name+"_BASE_URL")), "", sampleURL)
			b.note(key, Hand, "has an address that is none; put the right one into the variable of providers.%s.base_url", p.name)
		}
	}
	return p
}

// key carries a provider's key, and which models it serves.
func (b *bifrost) key(p *provider, k kind, n, custom *node) {
	var cred *credential
	if v := n.get("value"); v.set() {
		cred = p.credential(b.secret(v, p.name+"_"+n.get("name").str()+"_API_KEY"))
		if name := slug(n.get("name").str()); name != "" && !slices.ContainsFunc(p.keys, func(o *credential) bool { return o.name == name }) {
			cred.name = name
		}
		cred.weight = b.amount(n.get("weight"))
	} else if len(p.keys) == 0 && !p.keyless && !k.local && k.key != "" && p.kind != "bedrock" && p.kind != "vertex" && !custom.get("is_key_less").truth() {
		p.credential(b.use(k.key, "", sampleSecret))
	}
	b.carry(n.get("name"), n.get("id"), n.get("weight"))
	for _, id := range []*node{n.get("id"), n.get("name")} {
		if id.set() {
			b.ids[id.str()] = p
		}
	}
	ids := b.allowed(n.get("models"))
	called := map[string]bool{} // ids that stand for others
	for _, at := range []*node{n.get("azure_key_config").get("deployments"), n.get("bedrock_key_config").get("deployments"), n.get("vertex_key_config").get("deployments"), n.get("replicate_key_config").get("deployments"), n.get("aliases")} {
		for _, d := range at.pairsOf() {
			id := d.value
			if id.kind == mappingNode {
				id = first(id.get("model_id"), id.get("model"), id.get("deployment"))
			}
			if !validModel(d.key) || !validModel(id.str()) {
				b.told(d.value, Hand, left, "is no name that a model can have")
				continue
			}
			b.carry(id)
			called[d.key] = true
			b.serve(p, d.key, id.str(), n)
			if cred != nil && len(ids) > 0 {
				cred.use(id.str())
			}
		}
	}
	for _, id := range ids {
		if called[id] {
			continue
		}
		b.serve(p, id, id, n)
		if cred != nil {
			cred.use(id)
		}
	}
	if cred != nil {
		cred.open = cred.open || len(ids) == 0
	}
	b.why(n, map[string]string{"use_for_batch_api": "batches go to the provider with any key, under /passthrough/", "blacklisted_models": "say models of the key", "config_hash": "nothing refers to it"})
}

// allowed gives the ids of a list; none for a star.
func (b *bifrost) allowed(n *node) []string {
	if n == nil {
		return nil
	}
	if len(n.list()) == 0 {
		b.approx(n, "is empty, which means no model since Bifrost 1.5 and all models before; it is taken as all")
		return nil
	}
	var out []string
	for _, id := range n.list() {
		if id.str() == "*" {
			b.carry(n)
			return nil
		}
		if validModel(id.str()) {
			b.carry(id)
			out = append(out, id.str())
		}
	}
	return out
}
