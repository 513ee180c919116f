package importer

import (
	"regexp"
	"strings"
)

// litellm is a config.yaml of LiteLLM's proxy on its way.
type litellm struct {
	*conversion
	groups  []*group
	aliases map[string]string
}

// group is what LiteLLM calls a model group: all deployments of one model_name.
type group struct {
	name string
	at   *node
	// targets, and the shares that each of LiteLLM's ways of weighing gives them.
	targets []*target
	shares  []share
	seen    map[string]int // where a target is, by what it is
	// open: it is a wildcard, which a provider of that name answers for.
	open bool
}

type share struct{ weight, rpm, tpm float64 }

func (c *conversion) litellm() {
	l := &litellm{conversion: c, aliases: map[string]string{}}
	l.header()
	for _, n := range c.root.get("model_list").list() { // callers write the names of these providers
		if prefix, ok := strings.CutSuffix(n.get("model_name").str(), "/*"); ok {
			params := n.get("litellm_params")
			if word, _ := l.split(params); slug(prefix) == prefix {
				if k, ok := l.kindOf(word); ok {
					l.provider(params, word, prefix, k)
				}
			}
		}
	}
	for _, n := range c.root.get("model_list").list() {
		l.deployment(n)
	}
	l.limits()
	l.routing()
	l.why(c.root, map[string]string{
		"mcp_servers":              "Evergate is no gateway for MCP servers",
		"guardrails":               "guardrails work otherwise here: see docs/guardrails.md, and write those that you need by hand",
		"finetune_settings":        "fine-tuning is reached under /passthrough/PROVIDER/",
		"files_settings":           "files go to the providers that are configured, without settings of their own",
		"vector_store_registry":    "vector stores are reached under /passthrough/PROVIDER/",
		"sandbox_tools":            "tools are not run by the gateway",
		"search_tools":             "tools are not run by the gateway",
		"environment_variables":    "these belong into the environment of the process; their values are not copied",
		"callback_settings":        "use metrics, traces and alerts in their place (docs/observability.md)",
		"callbacks":                "use metrics, traces and alerts in their place (docs/observability.md)",
		"prompts":                  "prompts are not kept by the gateway",
		"agent_list":               "agents are not run by the gateway",
		"credential_list":          "write these credentials as providers' keys",
		"pass_through_endpoints":   "use /passthrough/PROVIDER/",
		"default_vertex_config":    "use a provider of type vertex and /passthrough/",
		"assistant_settings":       "the assistants API is reached under /passthrough/PROVIDER/",
		"policies":                 "policies here say where requests may go: see docs/config.md",
		"policy_attachments":       "policies here say where requests may go: see docs/config.md",
		"access_groups":            "say in auth.keys which models a key may use",
		"worker_registry":          "there are no workers",
		"advisor_tools":            "tools are not run by the gateway",
		"model_group_retry_policy": "how often is set for a provider: resilience.retry",
	})
}

// header says where the gateway listens, and who may use it.
func (l *litellm) header() {
	general := l.root.get("general_settings")
	server := l.top.find("server")
	if key := general.get("master_key"); key.set() {
		server.set("listen", text("0.0.0.0:4000"), "LiteLLM's own address")
		k := l.callerKey("master", l.secret(key, "LITELLM_MASTER_KEY"))
		k.comments = []string{"LiteLLM's master key, as a caller's key: make one for each caller and take this one out."}
		l.top.find("admin").set("token", l.use("EVERGATE_ADMIN_TOKEN", "", sampleSecret), "a secret of its own: the master key is no longer the administrator's")
		l.note(key, Hand, "the master key becomes a caller's key, and the admin API gets a token of its own: set EVERGATE_ADMIN_TOKEN")
	} else {
		server.set("listen", text("127.0.0.1:4000"), "LiteLLM's port; without keys for callers only this machine may ask")
		l.general(Hand, "there is no master_key, so the gateway listens on 127.0.0.1 alone: add auth.keys before others can reach it")
	}
	noDatabase := "virtual keys, teams and spend live in LiteLLM's database, which is not read: make keys anew with evergate keys create"
	l.why(general, map[string]string{
		"database_url": noDatabase, "store_model_in_db": "models live in the file", "database_connection_pool_limit": noDatabase, "disable_spend_logs": "the ledger is always kept (ledger.max_requests bounds it)",
		"alerting": "write alerts: with the addresses of your receivers (docs/alerts.md)", "alerting_threshold": "write alerts: with the addresses of your receivers (docs/alerts.md)",
		"custom_auth": "callers are known by keys or by tokens of an issuer (auth)", "enable_jwt_auth": "write auth.jwt with your issuer", "litellm_jwtauth": "write auth.jwt with your issuer",
		"pass_through_endpoints": "use /passthrough/PROVIDER/", "health_check_interval": "providers are probed after failures: providers.NAME.probe", "background_health_checks": "providers are probed after failures: providers.NAME.probe",
		"ui_access_mode": "the dashboard is the administrator's", "proxy_batch_write_at": noDatabase, "maximum_spend_logs_retention_period": "ledger.retention says how long requests are kept",
		"max_parallel_requests": "say limits.concurrent of a key", "global_max_parallel_requests": "say limits.concurrent of keys", "key_management_system": "secrets come from variables", "use_redis_transaction_buffer": noDatabase,
		"allow_requests_on_db_unavailable": "no request waits for a store", "block_robots": "the gateway serves no pages to robots",
	})
}

var azureDeployment = regexp.MustCompile(`^(converse|invoke|converse_like|mantle|responses|gpt_35_turbo|chat)/`)

// deployment reads one of model_list.
func (l *litellm) deployment(n *node) {
	params := n.get("litellm_params")
	name, id := n.get("model_name"), params.get("model")
	if !name.set() || !id.set() {
		l.told(n, Hand, left, "has no model_name or no litellm_params.model, so that nothing can be made of it")
		return
	}
	word, upstream := l.split(params)
	k, ok := l.kindOf(word)
	if !ok {
		l.told(n, Hand, left, "nobody knows where %q is: add a provider of type openai-compatible with its address", clean(id.str()))
		return
	}
	if name.str() != "*" && !strings.HasSuffix(name.str(), "/*") && (!validModel(name.str()) || !validModel(upstream)) {
		l.told(n, Hand, left, "is no name that a model can have")
		return
	}
	p := l.provider(params, word, word, k)
	if p == nil {
		l.told(n, Hand, left, "type %s needs the address of the server: write api_base", k.typ)
		return
	}
	l.carry(name, id)
	cred := l.key(p, params, k)
	g := l.group(name)
	if strings.Contains(upstream, "*") {
		l.wildcard(g, p, cred, name)
		return
	}
	if cred != nil {
		cred.use(upstream)
	}
	t := &target{to: p.name + "/" + upstream}
	l.settings(t, n, params)
	l.add(g, t, share{l.amount(params.get("weight")), l.amount(first(params.get("rpm"), n.get("rpm"))), l.amount(first(params.get("tpm"), n.get("tpm")))})
	for _, limit := range []*node{params.get("rpm"), n.get("rpm"), params.get("tpm"), n.get("tpm")} {
		if limit.set() {
			l.approx(limit, "is the weight that LiteLLM's shuffle makes of it; as a bound say it under providers.%s.limits", p.name)
		}
	}
	l.why(params, map[string]string{ //nolint:gosec // names of settings, and what to do about them
		"tags": "requests are not routed by tags; make a model of its own", "region_name": "say attributes.region of the provider and a policy", "max_parallel_requests": "say limits.concurrent under the provider",
		"mock_response": "evergate mock simulates providers", "drop_params": "what a provider does not take is left out or translated without a setting", "use_in_pass_through": "passthrough is on for all providers",
		"order": "targets are tried in the order of the file", "max_budget": "say budgets for keys or teams", "budget_duration": "say budgets for keys or teams", "additional_drop_params": "what a provider does not take is left out or translated without a setting",
		"aws_role_name": "take the role from AWS's default chain: a profile with role_arn", "aws_session_name": "take the role from AWS's default chain: a profile with role_arn", "aws_web_identity_token": "AWS's default chain knows web identities: AWS_WEB_IDENTITY_TOKEN_FILE",
		"use_litellm_proxy": "has no meaning here", "merge_reasoning_content_in_choices": "reasoning stays in its own field", "cooldown_time": "say resilience.cooldown under the provider",
		"s3_bucket_name": "batches are the provider's own, under /passthrough/", "litellm_credential_name": "write the credential as the provider's key",
	})
	info := n.get("model_info")
	l.facts(p.name+"/"+upstream, params, info)
	l.why(info, map[string]string{
		"id": "targets are known by provider and model", "mode": "the route says what a model is for", "description": "nothing shows it", "access_groups": "say in auth.keys which models a key may use",
		"team_id": "say in auth.teams which models a team may use", "health_check_model": "say probe.model of the provider", "health_check_timeout": "timeouts are the provider's",
	})
}

// split takes a model's id apart, into the word for the provider and the provider's own id.
func (l *litellm) split(params *node) (word, id string) {
	id = params.get("model").str()
	if p := params.get("custom_llm_provider"); p.set() {
		l.carry(p)
		return p.str(), strings.TrimPrefix(id, p.str()+"/")
	}
	if prefix, rest, ok := strings.Cut(id, "/"); ok {
		if _, known := l.kindOf(prefix); known {
			if prefix == "bedrock" {
				rest = azureDeployment.ReplaceAllString(rest, "")
			}
			return prefix, rest
		}
		return "", id
	}
	if params.get("api_base", "base_url").set() {
		return "openai", id
	}
	word, _ = guess(id)
	return word, id
}

// wildcard makes a provider answer for all names below its own.
func (l *litellm) wildcard(g *group, p *provider, cred *credential, name *node) {
	g.open = true
	if cred != nil {
		cred.open = true
	}
	switch {
	case name.str() == p.name+"/*":
	case name.str() == "*":
		l.approx(name, "names of models without a provider go to the provider that lists them: %s/ID, or ID alone", p.name)
	default:
		l.hand(name, "callers that write %s write %s/ID from now on, or rename the provider", clean(strings.TrimSuffix(name.str(), "*"))+"ID", p.name)
	}
}

func (l *litellm) group(name *node) *group {
	for _, g := range l.groups {
		if g.name == name.str() {
			return g
		}
	}
	g := &group{name: name.str(), at: name, seen: map[string]int{}}
	l.groups = append(l.groups, g)
	return g
}

// add adds a target to a group; two deployments that differ in nothing but their key are one target, whose provider has two keys.
func (l *litellm) add(g *group, t *target, s share) {
	if i, known := g.seen[t.key()]; known {
		g.shares[i].weight += s.weight
		g.shares[i].rpm += s.rpm
		g.shares[i].tpm += s.tpm
		return
	}
	g.seen[t.key()] = len(g.targets)
	g.targets, g.shares = append(g.targets, t), append(g.shares, s)
}

// amount reads a number, and takes it as carried.
func (c *conversion) amount(n *node) float64 {
	if n == nil {
		return 0
	}
	v, ok := n.number()
	if !ok || v < 0 {
		return 0
	}
	c.carry(n)
	return v
}

func first(nodes ...*node) *node {
	for _, n := range nodes {
		if n.set() {
			return n
		}
	}
	return nil
}
