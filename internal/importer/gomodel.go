package importer

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

// gomodel is a config.yaml of GoModel on its way. Its variables are written as ours.
type gomodel struct{ *conversion }

func (c *conversion) gomodel() {
	g := gomodel{c}
	g.server(c.root.get("server"))
	g.resilience(&c.top, c.root.get("resilience"))
	g.timeouts()
	for _, p := range c.root.get("providers").pairsOf() {
		g.provider(p.key, p.value)
	}
	for _, n := range c.root.get("virtual_models").list() {
		g.virtual(n)
	}
	g.failovers(c.root.get("failover"))
	g.rates(c.root.get("rate_limits"))
	g.rest()
}

// server carries the address, the master key and the size of bodies.
func (g gomodel) server(n *node) {
	server := g.top.find("server")
	port := "8080"
	if p := n.get("port"); p.set() && strings.Trim(p.str(), "0123456789") == "" && len(p.str()) <= 5 {
		g.carry(p)
		port = p.str()
	}
	if key := n.get("master_key"); key.set() {
		server.set("listen", text("0.0.0.0:"+port))
		k := g.callerKey("master", g.secret(key, "GOMODEL_MASTER_KEY"))
		k.comments = []string{"GoModel's master key, as a caller's key: make one for each caller and take this one out."}
		g.top.find("admin").set("token", g.use("EVERGATE_ADMIN_TOKEN", "", sampleSecret), "a secret of its own: the master key is no longer the administrator's")
		g.note(key, Hand, "the master key becomes a caller's key, and the admin API gets a token of its own: set EVERGATE_ADMIN_TOKEN")
	} else {
		server.set("listen", text("127.0.0.1:"+port), "without keys for callers only this machine may ask")
		g.general(Hand, "there is no master_key, so the gateway listens on 127.0.0.1 alone: add auth.keys before others can reach it")
	}
	if b := n.get("body_size_limit"); b.set() {
		if size := byteSize(b.str()); size != "" {
			g.carry(b)
			server.set("max_request_body", size)
		}
	}
	if b := n.get("pprof_enabled"); b.set() {
		g.carry(b)
		if b.truth() {
			g.top.find("admin").set("pprof", bare("true"))
		}
	}
	g.proxies(server, n.get("trusted_proxies"))
	g.why(n, map[string]string{
		"base_path": "paths begin at /: let the proxy in front take a prefix off", "swagger_enabled": "api/ has the descriptions of the APIs", "enable_passthrough_routes": "passthrough is /passthrough/PROVIDER/, and on but where a provider says passthrough: off",
		"allow_passthrough_v1_alias": "passthrough takes any path", "user_path_header": "callers are known by their keys: owner, team and labels", "enabled_passthrough_providers": "passthrough is on but where a provider says passthrough: off",
		"realtime_enabled": "websockets go through /passthrough/PROVIDER/", "pid_file": "evergate upgrade finds the process by its socket; SIGHUP reloads", "stream_stall_timeout": "server.write_timeout is a duration",
		"client_ip_header": "say server.forwarded_header, of the two that there are", "trusted_hops": "the nearest address that no trusted proxy has is the client's",
	})
}

// proxies carries the networks of proxies that may say whose request it is.
func (g gomodel) proxies(server *mapping, n *node) {
	var out []string
	for _, item := range n.list() {
		all := true
		var networks []string
		for word := range strings.FieldsFuncSeq(item.str(), func(r rune) bool { return r == ',' || r == ' ' }) {
			switch word {
			case "loopback":
				networks = append(networks, "127.0.0.0/8", "::1/128")
			case "private":
				networks = append(networks, "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
			default:
				_, err := netip.ParsePrefix(word)
				_, errOne := netip.ParseAddr(word)
				all = all && (err == nil || errOne == nil)
				networks = append(networks, word)
			}
		}
		if all && len(networks) > 0 {
			g.carry(item)
			out = append(out, networks...)
		}
	}
	server.setIf("trusted_proxies", texts(out))
}

var sizeForm = regexp.MustCompile(`^(\d{1,6})([KMG])?B?$`)

// byteSize is a size such as 10M, which counts in powers of two.
func byteSize(s string) bare {
	m := sizeForm.FindStringSubmatch(strings.ToUpper(s))
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return bare(m[1] + "B")
	}
	return bare(m[1] + m[2] + "iB")
}

// duration reads 30s, or a number of seconds.
func duration(n *node) bare {
	if v, ok := n.number(); ok {
		return seconds(v)
	}
	if d, err := time.ParseDuration(n.str()); err == nil && d > 0 && d < 366*24*time.Hour {
		return span(d)
	}
	return ""
}

// resilience carries what has the same names here.
func (g gomodel) resilience(to *mapping, n *node) {
	if !n.set() {
		return
	}
	var out mapping
	for _, part := range []string{"retry", "circuit_breaker"} {
		from := n.get(part)
		m := &mapping{}
		for _, p := range from.pairsOf() {
			v, isNumber := p.value.number()
			switch p.key {
			case "max_retries", "failure_threshold", "success_threshold", "backoff_factor", "jitter_factor":
				if isNumber && v >= 0 {
					g.carry(p.value)
					m.set(p.key, decimal(v))
				}
			case "initial_backoff", "max_backoff", "timeout":
				if d := duration(p.value); d != "" {
					g.carry(p.value)
					m.set(p.key, d)
				}
			case "enabled":
				g.carry(p.value)
				if !p.value.truth() {
					m.replace("failure_threshold", bare("0"))
				}
			}
			if ref, _, ok := g.reference(p.value.str()); ok {
				g.told(p.value, Hand, left, "${%s} stands for a number here: write it as ${%s} by hand", ref, ref)
			}
		}
		if from.get("enabled").set() && !from.get("enabled").truth() {
			m.replace("failure_threshold", bare("0"))
		}
		out.setIf(part, m)
	}
	to.setIf("resilience", &out)
}

// timeouts carries the HTTP client's.
func (g gomodel) timeouts() {
	n := g.root.get("http")
	var m mapping
	if t := n.get("timeout"); t.set() {
		if d := duration(t); d != "" {
			g.approx(t, "bounds a plain attempt; streams are bounded by first_chunk and idle")
			m.set("attempt", d)
		}
	}
	if t := n.get("response_header_timeout"); t.set() {
		if d := duration(t); d != "" {
			g.approx(t, "bounds the wait for a stream's first content")
			m.set("first_chunk", d)
		}
	}
	if t := n.get("stream_idle_timeout"); t.set() {
		if d := duration(t); d != "" {
			g.carry(t)
			m.set("idle", d)
		}
	}
	g.top.setIf("timeouts", &m)
}

func (g gomodel) provider(name string, n *node) {
	typ := n.get("type")
	word := typ.str()
	if word == "" {
		word = name
	}
	k, ok := g.kindOf(word)
	if !ok {
		g.told(n, Hand, left, "type %q is no type here: if its API is OpenAI's, add a provider of type openai-compatible", clean(word))
		return
	}
	base := n.get("base_url")
	if k.typ == "openai" && base.set() && !ownHost(base.str()) {
		k.typ = "openai-compatible"
	}
	if k.typ == "openai-compatible" && !base.set() && k.base == "" {
		g.told(n, Hand, left, "type %s needs the address of the server: write base_url", k.typ)
		return
	}
	g.carry(typ)
	p, _ := g.draft.provider(name, k.typ, "name="+name)
	if p.name != name {
		g.note(n, Hand, "is called %s here, because names have letters, digits, - _ and . only", p.name)
	}
	g.place(p, n, base, k)
	for _, key := range append([]*node{n.get("api_key")}, n.get("api_keys").list()...) {
		if key.set() {
			p.credential(g.secret(key, p.name+"_API_KEY"))
		}
	}
	if len(p.keys) == 0 && !k.local && k.key != "" && p.kind != "bedrock" && p.kind != "vertex" {
		p.credential(g.use(k.key, "", sampleSecret))
	}
	if u := n.get("proxy_url"); u.set() {
		p.settings.set("proxy", g.proxy(u, p))
	}
	g.headers(p, n.get("headers"))
	var ids []string
	for _, m := range n.get("models").list() {
		id := m
		if m.kind == mappingNode {
			id = m.get("id")
			g.metadata(p.name+"/"+id.str(), m.get("metadata"))
		}
		if validModel(id.str()) && !slices.Contains(ids, id.str()) {
			g.carry(id)
			ids = append(ids, id.str())
		}
	}
	p.settings.setIf("models", texts(ids))
	g.resilience(&p.settings, n.get("resilience"))
	g.why(n, map[string]string{ //nolint:gosec // names of settings, and what to do about them
		"session_sticky_keys": "a conversation stays with the target that served it (affinity); keys of one provider take turns: key_strategy", "model_filter": "say models: with the ids that the provider may be asked for",
		"api_mode": "the API is the type's own", "inference_objective": "say it under headers", "fairness_from_user_path": "has no equivalent", "default_max_tokens": "say params: { max_tokens } of a target",
	})
}

// place says where a provider is.
func (g gomodel) place(p *provider, n, base *node, k kind) {
	switch {
	case p.kind == "bedrock" && base.set() && !strings.Contains(base.str(), "/") && !isReference(g.conversion, base):
		p.settings.set("region", g.word(base, "us-east-1"))
	case base.set():
		address := g.address(base, p.name+"_BASE_URL")
		if t, ok := address.(text); ok && !webAddress(string(t)) {
			address = g.use(g.free(envName(p.name+"_BASE_URL")), base.path, sampleURL)
			g.hand(base, "is no address; put the right one into the variable that stands here now")
		}
		p.base = address
	case p.kind == "azure-openai":
		p.base = g.use("AZURE_BASE_URL", "", sampleURL)
	case k.base != "":
		p.base = text(k.base)
	}
	if p.kind == "azure-openai" {
		g.azureVersion(&p.settings, n.get("api_version"))
	}
	if p.kind == "bedrock" && len(p.settings.pairs) == 0 {
		p.settings.set("region", g.use("AWS_REGION", "", "us-east-1"))
	}
	if p.kind == "vertex" {
		for _, f := range []struct{ from, to, env, sample string }{{"vertex_project", "project", "VERTEX_PROJECT", sampleWord}, {"vertex_location", "location", "VERTEX_LOCATION", "global"}} {
			if v := n.get(f.from); v.set() {
				p.settings.set(f.to, g.word(v, f.sample))
			} else {
				p.settings.set(f.to, g.use(f.env, "", f.sample))
			}
		}
		if f := n.get("service_account_file"); f.set() {
			p.settings.set("credentials_file", g.word(f, sampleWord))
		}
		for _, key := range []string{"service_account_json", "service_account_json_base64"} {
			if v := n.get(key); v.set() {
				name := g.free(envName(p.name + "_CREDENTIALS_FILE"))
				p.settings.setOnce("credentials_file", g.use(name, v.path, sampleWord))
				g.hand(v, "write the service account's JSON into a file, and its path into %s", name)
			}
		}
		g.carry(n.get("auth_type"))
	}
}

// metadata carries what is said of a model into the catalogue.
func (g gomodel) metadata(name string, n *node) {
	var m mapping
	for _, f := range []struct {
		to   string
		from []string
	}{
		{"context_window", []string{"context_window"}},
		{"output_limit", []string{"max_output_tokens"}},
		{"input_price", []string{"pricing", "input_per_mtok"}},
		{"output_price", []string{"pricing", "output_per_mtok"}},
		{"cache_read_price", []string{"pricing", "cached_input_per_mtok"}},
	} {
		at := n
		for _, key := range f.from {
			at = at.get(key)
		}
		if v, ok := at.number(); ok && v >= 0 {
			g.carry(at)
			m.set(f.to, decimal(v))
		}
	}
	if currency := n.get("pricing").get("currency"); currency.set() {
		if strings.EqualFold(currency.str(), "USD") {
			g.carry(currency)
		} else {
			g.hand(currency, "prices are US dollars here")
		}
	}
	for from, to := range map[string]string{"tools": "tools", "reasoning": "reasoning", "structured_output": "structured_output"} {
		if v := n.get("capabilities").get(from); v.set() {
			g.carry(v)
			m.set(to, bare(map[bool]string{true: "true", false: "false"}[v.truth()]))
		}
	}
	g.why(n, map[string]string{"display_name": "nothing shows it", "modes": "the route says what a model is for", "description": "nothing shows it"})
	if len(m.pairs) > 0 {
		m.sort()
		m.flow = true
		g.catalog.setOnce(name, &m)
	}
}
