package importer

import (
	"net/url"
	"strings"
)

// provider finds or makes the provider of a deployment: one for each address, region, project and set of headers. It gives nil where an address is
// needed and there is none.
func (l *litellm) provider(params *node, word, want string, k kind) *provider {
	base := params.get("api_base", "base_url")
	typ := k.typ
	var identity []string
	for _, key := range []string{"api_version", "organization", "extra_headers", "headers", "vertex_project", "vertex_location", "vertex_ai_project", "vertex_ai_location", "vertex_credentials", "aws_region_name", "aws_access_key_id", "aws_profile_name", "tenant_id", "client_id"} {
		if n := params.get(key); n.set() {
			identity = append(identity, key+"="+flat(n))
		}
	}
	if base.set() {
		identity = append(identity, "base="+strings.TrimRight(base.str(), "/"))
		if typ == "openai" && !ownHost(base.str()) {
			typ = "openai-compatible"
			if want == word {
				want = l.hostName(base, word)
			}
		}
	} else if (typ == "openai-compatible" && k.base == "") || typ == "azure-openai" {
		if typ != "azure-openai" {
			return nil
		}
		identity = append(identity, "base=env")
	}
	p, isNew := l.draft.provider(want, typ, strings.Join(identity, "\x00"))
	l.where(p, params, base, k, isNew)
	return p
}

// flat is a value as one text, to compare it.
func flat(n *node) string {
	if n.kind == scalarNode {
		return n.text
	}
	var b strings.Builder
	for _, p := range n.pairs {
		b.WriteString(p.key + "\x01" + flat(p.value) + "\x02")
	}
	n.children(func(child *node) { b.WriteString(flat(child) + "\x02") })
	return b.String()
}

// hostName makes a provider's name of the address of a server.
func (c *conversion) hostName(base *node, word string) string {
	if name, _, ok := c.reference(base.str()); ok {
		name = strings.ToLower(name)
		for _, end := range []string{"_api_base", "_base_url", "_endpoint", "_url"} {
			name = strings.TrimSuffix(name, end)
		}
		return strings.ReplaceAll(name, "_", "-")
	}
	u, err := url.Parse(base.str())
	if err != nil || u.Hostname() == "" {
		return word
	}
	host, _, _ := strings.Cut(u.Hostname(), ".")
	if u.Port() != "" && (host == "localhost" || strings.Trim(host, "0123456789") == "") {
		host = word + "-" + u.Port()
	}
	return host
}

// where says the address of a provider, and all that belongs to it. Of a provider that is known the values are taken as carried.
func (l *litellm) where(p *provider, params, base *node, k kind, isNew bool) {
	var m mapping
	word := func(key, name string, nodes ...*node) {
		if n := first(nodes...); n.set() {
			m.setIf(key, l.word(n, name))
		}
	}
	switch {
	case base.set():
		address := l.address(base, p.name+"_BASE_URL")
		if t, ok := address.(text); ok && !webAddress(string(t)) {
			address = l.use(l.free(envName(p.name+"_BASE_URL")), base.path, sampleURL)
			l.hand(base, "is no address; put the right one into the variable that stands here now")
		}
		if isNew {
			p.base = address
		}
	case p.kind == "azure-openai" && isNew:
		p.base = l.use("AZURE_API_BASE", "", sampleURL)
	case k.base != "" && isNew:
		p.base = text(k.base)
	}
	switch p.kind {
	case "azure-openai":
		l.azureVersion(&m, params.get("api_version"))
		l.entra(p, &m, params.get("tenant_id"), params.get("client_id"), params.get("client_secret"))
	case "vertex":
		word("project", sampleWord, params.get("vertex_project", "vertex_ai_project"))
		word("location", "global", params.get("vertex_location", "vertex_ai_location"))
		if len(m.pairs) == 0 {
			m.set("project", l.use("VERTEXAI_PROJECT", "", sampleWord))
		}
		if len(m.pairs) == 1 {
			m.set("location", l.use("VERTEXAI_LOCATION", "", "global"))
		}
		if n := params.get("vertex_credentials"); n.set() {
			l.credentialsFile(p, &m, n)
		}
	case "bedrock":
		if word("region", "us-east-1", params.get("aws_region_name")); len(m.pairs) == 0 {
			m.set("region", l.use("AWS_REGION", "", "us-east-1"))
		}
		aws := &mapping{}
		if id := params.get("aws_access_key_id"); id.set() {
			aws.set("access_key_id", l.secret(id, p.name+"_AWS_ACCESS_KEY_ID"))
			if n := params.get("aws_secret_access_key"); n.set() {
				aws.set("secret_access_key", l.secret(n, p.name+"_AWS_SECRET_ACCESS_KEY"))
			}
			if n := params.get("aws_session_token"); n.set() {
				aws.set("session_token", l.secret(n, p.name+"_AWS_SESSION_TOKEN"))
			}
		} else if n := params.get("aws_profile_name"); n.set() {
			aws.set("profile", l.word(n, sampleWord))
		}
		m.setIf("aws", aws)
	}
	if isNew {
		p.settings = m
	}
	if n := params.get("organization"); n.set() {
		p.settings.find("headers").setOnce("OpenAI-Organization", l.word(n, sampleWord))
	}
	l.headers(p, params.get("extra_headers"))
	l.headers(p, params.get("headers"))
	if n := params.get("max_retries", "num_retries"); n.set() {
		if v := l.amount(n); v <= 100 {
			p.settings.find("resilience").find("retry").setOnce("max_retries", decimal(float64(int(v))))
			l.approx(n, "tries are counted for a provider, not for a deployment: providers.%s.resilience.retry.max_retries", p.name)
		}
	}
}

// azureVersion carries an api-version that the type takes.
func (c *conversion) azureVersion(m *mapping, n *node) {
	switch {
	case !n.set():
	case isReference(c, n):
		m.set("api_version", c.word(n, "2024-10-21"))
	case azureDate(n.str()):
		m.set("api_version", text(n.str()))
		c.carry(n)
	default:
		c.hand(n, "is no version that Azure's API has; without one the v1 API is asked")
	}
}

func isReference(c *conversion, n *node) bool {
	_, _, ok := c.reference(n.str())
	return ok
}

// azureDate says whether a text is a version: a date, which may end in -preview, or one of the words of the v1 API.
func azureDate(s string) bool {
	if s == "v1" || s == "preview" || s == "latest" {
		return true
	}
	d := strings.TrimSuffix(s, "-preview")
	return len(d) == 10 && d[4] == '-' && d[7] == '-' && strings.Trim(strings.ReplaceAll(d, "-", ""), "0123456789") == ""
}

// credentialsFile carries a service account, where it is the path of a file.
func (c *conversion) credentialsFile(p *provider, m *mapping, n *node) {
	name := c.free(envName(p.name + "_CREDENTIALS_FILE"))
	if ref, _, ok := c.reference(n.str()); ok {
		name = ref
	}
	if s := n.str(); n.kind == scalarNode && !isReference(c, n) && !strings.ContainsAny(s, "{}\n\"") && len(s) < 300 {
		m.set("credentials_file", c.word(n, sampleWord))
		return
	}
	m.set("credentials_file", c.use(name, n.path, sampleWord))
	c.hand(n, "%s must be the path of a file with the service account's JSON, not the JSON itself", name)
}

// key finds or adds the key of a deployment; nil where the provider has none.
func (l *litellm) key(p *provider, params *node, k kind) *credential {
	n := params.get("api_key", "azure_ad_token")
	switch {
	case n.set():
		cred := p.credential(l.secret(n, p.name+"_API_KEY"))
		return cred
	case p.keyless, k.local, k.key == "", p.kind == "bedrock", p.kind == "vertex":
		return nil
	}
	return p.credential(l.use(k.key, "", sampleSecret))
}

// settings carries what a deployment sets of its requests.
func (l *litellm) settings(t *target, n, params *node) {
	known := requestParams()
	for _, pair := range params.pairs {
		if known[pair.key] && untouched(pair.value) && (pair.key != "tools" || pair.value.kind == listNode) {
			t.params.set(pair.key, l.value(pair.value))
		}
	}
	if extra := params.get("extra_body"); extra.set() && extra.kind == mappingNode {
		for _, pair := range extra.pairs {
			if pair.key != "model" && pair.key != "stream" {
				t.params.setOnce(pair.key, l.value(pair.value))
			}
		}
	}
	if v := seconds(l.amount(params.get("timeout", "request_timeout"))); v != "" {
		t.timeouts.set("attempt", v)
	}
	if v := seconds(l.amount(params.get("stream_timeout"))); v != "" {
		t.timeouts.set("first_chunk", v)
	}
	if b := first(n.get("model_info").get("base_model"), params.get("base_model")); b.set() {
		l.carry(b)
		t.base = b.str()
		if prefix, rest, ok := strings.Cut(t.base, "/"); ok {
			if _, known := l.kindOf(prefix); known {
				t.base = rest
			}
		}
		if !validModel(t.base) {
			t.base = ""
		}
	}
}

// facts carries prices and sizes into the catalogue.
func (c *conversion) facts(name string, places ...*node) {
	var m mapping
	for _, n := range places {
		for _, f := range []struct {
			from, to string
			scale    float64
		}{
			{"input_cost_per_token", "input_price", 1e6},
			{"output_cost_per_token", "output_price", 1e6},
			{"cache_read_input_token_cost", "cache_read_price", 1e6},
			{"cache_creation_input_token_cost", "cache_write_price", 1e6},
			{"max_input_tokens", "context_window", 1},
			{"max_output_tokens", "output_limit", 1},
		} {
			if at := n.get(f.from); at.set() {
				if v, ok := at.number(); ok && v >= 0 && v < 1e9 {
					c.carry(at)
					m.setOnce(f.to, decimal(round(v*f.scale)))
				}
			}
		}
		for from, to := range map[string]string{"supports_function_calling": "tools", "supports_reasoning": "reasoning", "supports_response_schema": "structured_output", "supports_assistant_prefill": "prefill"} {
			if at := n.get(from); at.set() {
				c.carry(at)
				value := bare("false")
				if at.truth() {
					value = "true"
				}
				m.setOnce(to, value)
			}
		}
		if at := n.get("supports_vision"); at.set() && at.truth() {
			c.carry(at)
			m.setOnce("input", texts([]string{"text", "image"}))
		}
	}
	if len(m.pairs) > 0 {
		m.sort()
		m.flow = true
		c.catalog.setOnce(name, &m)
	}
}
