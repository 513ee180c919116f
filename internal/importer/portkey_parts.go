package importer

import (
	"strings"
)

// provider finds or makes the provider of a target: one for each address and account. What the target says of it is carried.
func (p portkey) provider(n *node) *provider {
	word, want := p.word(n)
	k, ok := p.kindOf(word)
	if !ok {
		return nil
	}
	host := n.get("custom_host")
	typ := k.typ
	if typ == "openai" && host.set() && !ownHost(host.str()) {
		typ = "openai-compatible"
	}
	if typ == "openai-compatible" && k.base == "" && !host.set() {
		return nil
	}
	identity := "want=" + want
	for _, key := range []string{"custom_host", "azure_resource_name", "azure_api_version", "aws_region", "aws_access_key_id", "vertex_project_id", "vertex_region", "openai_organization", "openai_project", "headers"} {
		if v := n.get(key); v.set() {
			identity += "\x00" + key + "=" + flat(v)
		}
	}
	up, isNew := p.draft.provider(want, typ, identity)
	m := p.account(up, n)
	if isNew {
		up.settings = *m
		p.address(up, n, host, k)
	} else {
		p.carry(host, n.get("azure_resource_name"))
	}
	for _, h := range []struct{ from, to string }{{"openai_organization", "OpenAI-Organization"}, {"openai_project", "OpenAI-Project"}} {
		if v := n.get(h.from); v.set() {
			up.settings.find("headers").setOnce(h.to, p.conversion.word(v, sampleWord))
		}
	}
	if key := n.get("api_key"); key.set() && typ != "bedrock" && typ != "vertex" {
		up.credential(p.secret(key, up.name+"_API_KEY"))
	} else if len(up.keys) == 0 && !k.local && k.key != "" && typ != "bedrock" && typ != "vertex" {
		name := envName(up.name + "_API_KEY")
		if want == word {
			name = k.key
		}
		up.credential(p.use(name, "", sampleSecret))
	}
	return up
}

// word gives the provider that a target means, and the name it gets here. A virtual key, or an integration such as @openai-prod, is known by its name
// alone: what it stands for lives at Portkey.
func (p portkey) word(n *node) (word, want string) {
	prov, virtual := n.get("provider"), n.get("virtual_key")
	if s := prov.str(); s != "" && !strings.HasPrefix(s, "@") {
		p.carry(prov)
		return s, s
	}
	name := n.get("override_params").get("model").str()
	if strings.HasPrefix(name, "@") && !prov.set() {
		name, _, _ = strings.Cut(name[1:], "/")
	} else {
		name = ""
	}
	at := first(virtual, prov)
	if at.set() {
		name = strings.TrimPrefix(at.str(), "@")
	}
	if ref, _, ok := p.reference(name); ok {
		name = strings.ToLower(strings.ReplaceAll(ref, "_", "-"))
	}
	want = slug(name)
	for end := len(want); end > 0; end = strings.LastIndexAny(want[:end], "-_.") { // the longest beginning that is a provider
		if _, ok := p.kindOf(want[:end]); ok {
			word = want[:end]
			break
		}
	}
	if at.set() && word != "" {
		p.hand(at, "is a key that Portkey keeps, and type %s is read from its name: put the provider's own key into the variable of provider %s", p.kinds[strings.ToLower(word)].typ, want)
	}
	return word, want
}

// account carries what clouds want to know.
func (p portkey) account(up *provider, n *node) *mapping {
	m := &mapping{}
	switch up.kind {
	case "azure-openai":
		p.azureVersion(m, n.get("azure_api_version"))
		p.carry(n.get("azure_model_name"))
	case "bedrock":
		if r := n.get("aws_region"); r.set() {
			m.set("region", p.conversion.word(r, "us-east-1"))
		} else {
			m.set("region", p.use("AWS_REGION", "", "us-east-1"))
		}
		if id := n.get("aws_access_key_id"); id.set() {
			aws := &mapping{}
			aws.set("access_key_id", p.secret(id, up.name+"_AWS_ACCESS_KEY_ID"))
			if s := n.get("aws_secret_access_key"); s.set() {
				aws.set("secret_access_key", p.secret(s, up.name+"_AWS_SECRET_ACCESS_KEY"))
			}
			if s := n.get("aws_session_token"); s.set() {
				aws.set("session_token", p.secret(s, up.name+"_AWS_SESSION_TOKEN"))
			}
			m.set("aws", aws)
		}
	case "vertex":
		for _, f := range []struct{ from, to, env, sample string }{{"vertex_project_id", "project", "GOOGLE_CLOUD_PROJECT", sampleWord}, {"vertex_region", "location", "GOOGLE_CLOUD_LOCATION", "global"}} {
			if v := n.get(f.from); v.set() {
				m.set(f.to, p.conversion.word(v, f.sample))
			} else {
				m.set(f.to, p.use(f.env, "", f.sample))
			}
		}
		if v := n.get("vertex_service_account_json"); v.set() {
			name := p.free(envName(up.name + "_CREDENTIALS_FILE"))
			m.set("credentials_file", p.use(name, v.path, sampleWord))
			p.hand(v, "write the service account's JSON into a file, and its path into %s", name)
		}
	}
	return m
}

// address says where a provider is.
func (p portkey) address(up *provider, n, host *node, k kind) {
	resource := n.get("azure_resource_name")
	switch {
	case host.set():
		up.base = p.conversion.address(host, up.name+"_BASE_URL")
		if t, ok := up.base.(text); ok && !webAddress(string(t)) {
			up.base = p.use(p.free(envName(up.name+"_BASE_URL")), host.path, sampleURL)
			p.hand(host, "is no address; put the right one into the variable that stands here now")
		}
	case up.kind == "azure-openai" && resource.set() && slug(resource.str()) == resource.str():
		p.carry(resource)
		up.base = text("https://" + resource.str() + ".openai.azure.com")
	case up.kind == "azure-openai":
		up.base = p.use(p.free(envName(up.name+"_BASE_URL")), "", sampleURL)
		p.note(n, Hand, "says no resource of Azure: put https://RESOURCE.openai.azure.com into the variable of base_url")
	case k.base != "":
		up.base = text(k.base)
	}
}

// retry carries how often is tried again: of a target to its provider, of a list of targets to all providers.
func (p portkey) retry(n *node, to *mapping) {
	r := n.get("retry")
	if !r.set() {
		return
	}
	if a := r.get("attempts"); a.set() {
		to.find("resilience").find("retry").setOnce("max_retries", decimal(float64(int(min(p.amount(a), 100)))))
		if to == &p.top {
			p.approx(a, "counts tries of one target beyond its first, of all providers")
		} else {
			p.approx(a, "counts tries of one target beyond its first, of all models of the provider")
		}
	}
	if codes := r.get("on_status_codes"); codes.set() {
		p.leave(codes, "408, 429 and what begins with 5 are tried again; resilience.classify adds rules")
	}
	p.why(r, map[string]string{"use_retry_after_headers": "Retry-After is waited out up to resilience.retry.max_wait", "use_retry_after_header": "Retry-After is waited out up to resilience.retry.max_wait"})
}

// statuses makes rules of statuses that would go back to the caller, and are to be answered by the next target.
func (p portkey) statuses(codes *node) {
	for _, n := range codes.list() {
		v, ok := n.number()
		switch status := int(v); {
		case !ok || v < 100 || v > 599:
			p.leave(n, "is no status")
		case status >= 500 || status == 401 || status == 402 || status == 403 || status == 404 || status == 408 || status == 429:
			p.carry(n)
		case status >= 400:
			p.approx(n, "goes on to the next target from any provider: resilience.classify")
			p.classify(status)
		default:
			p.leave(n, "is no failure")
		}
	}
	if len(codes.list()) > 0 {
		p.note(codes, Approximated, "other failures of an upstream go on to the next target as well")
	}
}

func (p portkey) classify(status int) {
	all := p.top.find("resilience")
	rule := &mapping{flow: true}
	rule.set("match", &mapping{flow: true, pairs: []field{{key: "status", value: bare(itoa(status))}}})
	rule.set("as", text("next"))
	for i := range all.pairs {
		if rules, ok := all.pairs[i].value.(list); ok {
			for _, r := range rules {
				if inline(r) == inline(rule) {
					return
				}
			}
			all.pairs[i].value = append(rules, rule)
			return
		}
	}
	all.set("classify", list{rule})
}

// cache keeps answers of a model.
func (p portkey) cache(m *model, n *node) {
	mode := n.get("mode")
	if n != nil && n.kind == scalarNode {
		mode = n
	}
	if !mode.set() {
		return
	}
	if mode.str() == "semantic" {
		p.approx(mode, "answers are kept for the same request only")
	} else {
		p.approx(mode, "answers are kept for each caller or team apart, in the memory of each instance")
	}
	ttl := bare("1h")
	if age := n.get("max_age"); age.set() {
		if v := seconds(p.amount(age)); v != "" {
			ttl = v
			p.hand(age, "is taken as seconds, as Portkey's documentation has it; its open gateway counts milliseconds")
		}
	}
	m.settings.set("cache", &mapping{flow: true, pairs: []field{{key: "ttl", value: ttl}, {key: "when", value: text("always")}}})
}

// common explains what has no equivalent.
func (p portkey) common(n *node) {
	guard := "guardrails work otherwise here: see docs/guardrails.md, and write those that you need by hand"
	p.why(n, map[string]string{
		"input_guardrails": guard, "output_guardrails": guard, "before_request_hooks": guard, "after_request_hooks": guard, "guardrails": guard, "default_input_guardrails": guard, "default_output_guardrails": guard,
		"forward_headers": "headers of callers are forwarded by a fixed list (docs/api.md)", "metadata": "labels belong to keys here: auth.keys[].labels", "trace_id": "traces are taken from traceparent", "strict_open_ai_compliance": "answers keep to the caller's API",
		"custom_headers": "say headers of the provider", "debug": "bodies are kept with log.bodies", "id": "nothing refers to it", "version": "nothing refers to it", "on_status_codes": "which failures go on is said for all providers: resilience.classify",
		"cache_force_refresh": "a request says Cache-Control: no-cache", "sticky": "conversations stay with their target: models.NAME.affinity", "sticky_session": "conversations stay with their target: models.NAME.affinity",
	})
	if strategy := n.get("strategy"); strategy != nil {
		p.why(strategy, map[string]string{"sticky": "conversations stay with their target: models.NAME.affinity", "sticky_session": "conversations stay with their target: models.NAME.affinity"})
	}
}
