package importer

import (
	"encoding/json"
	"regexp"
	"strings"

	"evergate/internal/guardrail"
)

// requestParams are the fields of requests that a target may set, by their names in chat completions; what else stands among them in a source is a
// setting of the other gateway, or unknown.
func requestParams() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(`temperature top_p top_k max_tokens max_completion_tokens stop seed presence_penalty frequency_penalty logit_bias n
		response_format reasoning_effort reasoning thinking tools tool_choice parallel_tool_calls logprobs top_logprobs user service_tier verbosity store
		metadata modalities audio prediction dimensions encoding_format safety_settings web_search_options prompt_cache_key safety_identifier functions function_call`) {
		out[name] = true
	}
	return out
}

// value gives a value of the source as it is, for fields whose values are the caller's business.
func (c *conversion) value(n *node) any {
	c.carry(n)
	switch n.kind {
	case listNode:
		out := list{}
		for _, item := range n.items {
			out = append(out, c.value(item))
		}
		return out
	case mappingNode:
		out := &mapping{flow: true}
		for _, p := range n.pairs {
			out.set(p.key, c.value(p.value))
		}
		return out
	case nullNode:
		return bare("null")
	case scalarNode:
	}
	return c.scalar(n)
}

func (c *conversion) scalar(n *node) any {
	if n.typed {
		s := n.str()
		switch strings.ToLower(s) {
		case "true", "false":
			return bare(strings.ToLower(s))
		case "null", "~":
			return bare("null")
		}
		if s := strings.ReplaceAll(s, "_", ""); json.Valid([]byte(s)) && s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') {
			return bare(s)
		}
	}
	if _, _, ok := c.reference(n.str()); ok {
		return c.word(n, sampleWord)
	}
	if name := n.path[strings.LastIndexAny(n.path, ".]")+1:]; c.shaped(n.text) || len(n.text) >= leastPassword && secretName.MatchString(name) {
		return c.secret(n, "PARAM_"+name)
	}
	return text(n.text)
}

// leastPassword is how long the value of a member is at least that is called a secret, so that words such as eos_token: </s> are none.
const leastPassword = 8

var secretName = regexp.MustCompile(`(?i)(?:^|[_-])(?:api_?key|access_?key|private_?key|token|secret|password|passwd|authorization|auth|credentials?)$`)

// shaped says whether a text has a secret of a form that is known.
func (c *conversion) shaped(s string) bool {
	if c.shapes == nil {
		c.shapes = guardrail.NewRedactor(guardrail.RulesOf("secret", ""), true)
	}
	_, found := c.shapes.Text([]byte(s))
	return found != ""
}

// headers gives headers that are added to requests. All but a few that are never secret become variables.
func (c *conversion) headers(p *provider, n *node) {
	if !n.set() {
		return
	}
	out := p.settings.find("headers")
	for _, pair := range n.pairs {
		if !headerName(pair.key) || pair.value.kind != scalarNode {
			c.leave(pair.value, "is no header that can be sent")
			continue
		}
		switch strings.ToLower(pair.key) {
		case "user-agent", "http-referer", "referer", "x-title", "anthropic-beta", "anthropic-version", "openai-beta", "content-type", "accept":
			out.setOnce(pair.key, c.word(pair.value, sampleWord))
		default:
			out.setOnce(pair.key, c.secret(pair.value, p.name+"_"+pair.key))
		}
	}
}

// setOnce adds a pair whose key is new.
func (m *mapping) setOnce(key string, value any) {
	for _, p := range m.pairs {
		if strings.EqualFold(p.key, key) {
			return
		}
	}
	m.set(key, value)
}

func headerName(s string) bool {
	return s != "" && len(s) < 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// why leaves out those of a mapping's values that nobody has looked at and whose keys are known, with the reason.
func (c *conversion) why(n *node, reasons map[string]string) {
	if n == nil {
		return
	}
	for _, p := range n.pairs {
		if reason, ok := reasons[p.key]; ok && untouched(p.value) {
			c.leave(p.value, "%s", reason)
		}
	}
}
