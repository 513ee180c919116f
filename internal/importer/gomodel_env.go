package importer

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// GoModel can be set up by variables alone. A file of them is read into the shape that its config.yaml has; the path of a value is then its variable.

var (
	envLine = regexp.MustCompile(`^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=(.*)$`)
	keyVar  = regexp.MustCompile(`^API_KEY(?:_\d{1,3})?$`)
)

// isEnvFile says whether a file holds variables and no YAML.
func isEnvFile(name string, data []byte) bool {
	if strings.HasPrefix(name, ".env") || strings.HasSuffix(name, ".env") {
		return true
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return envLine.Match(line)
		}
	}
	return false
}

// envReader collects variables into a tree.
type envReader struct {
	name  string
	root  *node
	words []string // for providers, the longest first
}

func readEnv(name string, data []byte) (*node, error) {
	if len(data) > maxSource {
		return nil, fmt.Errorf("%s is larger than 256 KiB: that is no configuration", name)
	}
	r := envReader{name: name, root: &node{kind: mappingNode, line: 1, col: 1}, words: slices.Collect(maps.Keys(kinds()))}
	slices.SortFunc(r.words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		m := envLine.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%s:%d: is no line of the form NAME=value", name, number)
		}
		n := &node{kind: scalarNode, text: unquoted(m[2]), typed: true, path: m[1], line: number, col: 1}
		if err := r.variable(m[1], n); err != nil {
			return nil, err
		}
	}
	return r.root, nil
}

// unquoted is a value without its quotes, or the comment behind it.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end]
		}
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSpace(s)
}

// variable puts one into the tree. Secrets stay where they are, in their variables: the tree has references to them.
func (r *envReader) variable(name string, n *node) error {
	places := map[string]string{
		"PORT": "server.port", "BODY_SIZE_LIMIT": "server.body_size_limit", "PPROF_ENABLED": "server.pprof_enabled", "BASE_PATH": "server.base_path", "USER_PATH_HEADER": "server.user_path_header", "SWAGGER_ENABLED": "server.swagger_enabled",
		"REALTIME_ENABLED": "server.realtime_enabled", "PID_FILE": "server.pid_file", "STREAM_STALL_TIMEOUT": "server.stream_stall_timeout", "ENABLE_PASSTHROUGH_ROUTES": "server.enable_passthrough_routes", "SERVER_TRUSTED_PROXIES": "server.trusted_proxies", "SERVER_CLIENT_IP_HEADER": "server.client_ip_header", "SERVER_TRUSTED_HOPS": "server.trusted_hops",
		"HTTP_TIMEOUT": "http.timeout", "HTTP_RESPONSE_HEADER_TIMEOUT": "http.response_header_timeout", "HTTP_STREAM_IDLE_TIMEOUT": "http.stream_idle_timeout",
		"FAILOVER_ENABLED": "failover.enabled", "RATE_LIMITS_ENABLED": "rate_limits.enabled", "BUDGETS_ENABLED": "budgets.enabled", "USAGE_RETENTION_DAYS": "usage.retention_days", "USAGE_ENABLED": "usage.enabled", "METRICS_ENABLED": "metrics.enabled", "METRICS_ENDPOINT": "metrics.endpoint",
		"STORAGE_TYPE": "storage.type", "SQLITE_PATH": "storage.sqlite.path", "LOGGING_LOG_BODIES": "logging.log_bodies", "LOGGING_ENABLED": "logging.enabled", "GUARDRAILS_ENABLED": "guardrails.enabled", "MCP_SERVERS": "mcp.servers", "MCP_ENABLED": "mcp.enabled",
		"MODELS_ENABLED_BY_DEFAULT": "models.enabled_by_default", "CONFIGURED_PROVIDER_MODELS_MODE": "models.configured_provider_models_mode", "RESPONSE_CACHE_SIMPLE_ENABLED": "cache.response.simple.enabled", "REDIS_TTL_RESPONSES": "cache.response.simple.redis.ttl",
		"LOG_LEVEL": "log.level", "LOG_FORMAT": "log.format", "REDIS_URL": "cache.model.redis",
	}
	switch {
	case places[name] != "":
		r.put(places[name], n)
	case name == "GOMODEL_MASTER_KEY":
		r.put("server.master_key", n.reference())
	case name == "POSTGRES_URL" || name == "POSTGRESQL_URL":
		r.put("storage.postgresql.url", n.reference())
	case name == "VIRTUAL_MODELS":
		return r.virtualModels(n)
	case strings.HasPrefix(name, "RETRY_") || strings.HasPrefix(name, "CIRCUIT_BREAKER_") || name == "CACHE_REFRESH_INTERVAL" || name == "PROVIDER_RECHECK_INTERVAL":
		n.mark = carried // the variable means the same here
		r.root.put(name, n)
	case strings.HasPrefix(name, "SET_PROVIDER_RATE_LIMIT_"):
		r.providerLimit(strings.TrimPrefix(name, "SET_PROVIDER_RATE_LIMIT_"), n)
	case strings.HasPrefix(name, "SET_RATE_LIMIT_"):
		r.put("rate_limits.user_paths."+name, n)
	case strings.HasPrefix(name, "SET_BUDGET_"):
		r.put("budgets.user_paths."+name, n)
	case !r.ofProvider(name, n):
		r.root.put(name, n)
	}
	return nil
}

// reference is what stands in the tree for a secret.
func (n *node) reference() *node {
	out := *n
	out.text = "${" + n.path + "}"
	return &out
}

// put sets a value at a place of the tree.
func (r *envReader) put(place string, n *node) {
	at := r.root
	keys := strings.Split(place, ".")
	for _, key := range keys[:len(keys)-1] {
		at = at.child(key, n)
	}
	at.put(keys[len(keys)-1], n)
}

// child gives the mapping under a key, which is made if there is none.
func (n *node) child(key string, like *node) *node {
	if c := n.get(key); c != nil {
		return c
	}
	c := &node{kind: mappingNode, path: like.path, line: like.line, col: 1}
	n.put(key, c)
	return c
}

// virtualModels reads the JSON that the variable holds.
func (r *envReader) virtualModels(n *node) error {
	list, err := readJSON(r.name, []byte(n.text))
	if err != nil {
		return fmt.Errorf("%s:%d: VIRTUAL_MODELS holds no JSON", r.name, n.line)
	}
	var place func(at *node)
	place = func(at *node) {
		at.line, at.path = n.line, strings.TrimSuffix("VIRTUAL_MODELS."+at.path, ".")
		at.children(place)
	}
	place(list)
	r.root.put("virtual_models", list)
	return nil
}

// providerLimit reads rpm=500,tpm=200000,concurrent=50.
func (r *envReader) providerLimit(suffix string, n *node) {
	scalar := func(text string) *node {
		return &node{kind: scalarNode, text: text, path: n.path, line: n.line, col: 1}
	}
	limits := &node{kind: listNode, path: n.path, line: n.line, col: 1}
	for part := range strings.SplitSeq(n.text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		e := &node{kind: mappingNode, path: n.path, line: n.line, col: 1}
		switch name {
		case "rpm":
			e.put("period", scalar("minute"))
			e.put("max_requests", scalar(value))
		case "tpm":
			e.put("period", scalar("minute"))
			e.put("max_tokens", scalar(value))
		case "concurrent":
			e.put("period", scalar("concurrent"))
			e.put("max_requests", scalar(value))
		default:
			e.put("period", scalar(name))
		}
		limits.items = append(limits.items, e)
	}
	entry := &node{kind: mappingNode, path: n.path, line: n.line, col: 1}
	entry.put("name", scalar(strings.ToLower(strings.ReplaceAll(suffix, "_", "-"))))
	entry.put("limits", limits)
	all := r.root.child("rate_limits", n)
	providers := all.get("providers")
	if providers == nil {
		providers = &node{kind: listNode, path: n.path, line: n.line, col: 1}
		all.put("providers", providers)
	}
	providers.items = append(providers.items, entry)
}

// ofProvider puts a variable such as OPENAI_EAST_BASE_URL where it belongs: the provider openai-east, of type openai.
func (r *envReader) ofProvider(name string, n *node) bool {
	fields := map[string]string{
		"BASE_URL": "base_url", "MODELS": "models", "API_VERSION": "api_version", "PROXY_URL": "proxy_url", "SESSION_STICKY_KEYS": "session_sticky_keys", "DEFAULT_MAX_TOKENS": "default_max_tokens", "API_MODE": "api_mode",
		"PROJECT": "vertex_project", "LOCATION": "vertex_location", "AUTH_TYPE": "auth_type", "SERVICE_ACCOUNT_FILE": "service_account_file", "SERVICE_ACCOUNT_JSON": "service_account_json",
	}
	for _, word := range r.words {
		rest, ok := strings.CutPrefix(name, strings.ToUpper(strings.ReplaceAll(word, "-", "_"))+"_")
		if !ok {
			continue
		}
		for i := 0; i <= len(rest); i++ { // the suffix of an instance stands before the field
			if i > 0 && rest[i-1] != '_' {
				continue
			}
			field, secret := fields[rest[i:]], keyVar.MatchString(rest[i:])
			if field == "" && !secret {
				continue
			}
			instance := word
			if i > 0 {
				instance += "-" + strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(rest[:i], "_"), "_", "-"))
			}
			p := r.root.child("providers", n).child(instance, n)
			if p.get("type") == nil {
				p.put("type", &node{kind: scalarNode, text: word, path: n.path, line: n.line, col: 1, mark: carried})
			}
			p.take(field, rest[i:], n)
			return true
		}
	}
	return false
}

// take sets one field of a provider.
func (n *node) take(field, suffix string, v *node) {
	switch {
	case suffix == "API_KEY":
		n.put("api_key", v.reference())
	case keyVar.MatchString(suffix):
		keys := n.get("api_keys")
		if keys == nil {
			keys = &node{kind: listNode, path: v.path, line: v.line, col: 1}
			n.put("api_keys", keys)
		}
		keys.items = append(keys.items, v.reference())
	case field == "models":
		ids := &node{kind: listNode, path: v.path, line: v.line, col: 1}
		for id := range strings.SplitSeq(v.text, ",") {
			ids.items = append(ids.items, &node{kind: scalarNode, text: strings.TrimSpace(id), path: v.path, line: v.line, col: 1})
		}
		n.put("models", ids)
	case field == "proxy_url" || field == "service_account_json":
		n.put(field, v.reference())
	default:
		n.put(field, v)
	}
}
