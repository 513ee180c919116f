package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"evergate/internal/identity"
	"evergate/internal/nearest"
	"evergate/internal/quota"
)

type clientKeyFile struct {
	name       given[string]
	value      given[secretText]
	owner      given[string]
	team       given[string]
	labels     given[[]entry[string]]
	models     given[[]given[string]]
	providers  given[[]given[string]]
	routes     given[[]given[string]]
	sources    given[[]given[netip.Prefix]]
	policy     given[string]
	policies   given[[]given[string]]
	guardrails given[[]given[string]]
	limits     given[quota.Limits]
	budget     given[budgetFile]
	budgets    given[[]given[budgetFile]]
	expires    given[time.Time]
}

func clientKeyShape() shape[clientKeyFile] {
	return object("client_key", "A key of a caller.", append([]key[clientKeyFile]{
		field("name", "Shown in logs.", identityText("a name", identity.MaxName), func(f *clientKeyFile) *given[string] { return &f.name }),
		field("value", "The secret itself; keep it in an environment variable.", secret("a key"), func(f *clientKeyFile) *given[secretText] { return &f.value }),
		field("expires", "When it ends; without it never.", momentShape(), func(f *clientKeyFile) *given[time.Time] { return &f.expires }),
	}, termKeys()...))
}

// termKeys are what a caller may, and what is said of it.
func termKeys() []key[clientKeyFile] {
	return []key[clientKeyFile]{
		field("owner", "Who answers for it.", identityText("a name", identity.MaxName), func(f *clientKeyFile) *given[string] { return &f.owner }),
		field("team", "Its team. One of auth.teams shares models, limits and budgets; any other is a word for reports.", identityText("a name", identity.MaxName), func(f *clientKeyFile) *given[string] { return &f.team }),
		field("labels", "Words of your own, for reports.", table("names of labels", identityText("a label's text", identity.MaxLabel)), func(f *clientKeyFile) *given[[]entry[string]] { return &f.labels }),
		field("models", "The models it may use; none: all.", list("model names", text("a model name")), func(f *clientKeyFile) *given[[]given[string]] { return &f.models }),
		field("providers", "The providers that may be asked for it; none: all.", providerNamesShape(), func(f *clientKeyFile) *given[[]given[string]] { return &f.providers }),
		field("routes", "The kinds of routes it may use; none: all.", list("kinds of routes", routeShape()), func(f *clientKeyFile) *given[[]given[string]] { return &f.routes }),
		field("sources", "The addresses it may come from; none: all.", list("addresses such as 10.0.0.0/8", prefixShape()), func(f *clientKeyFile) *given[[]given[netip.Prefix]] { return &f.sources }),
		field("policy", "The policy of its requests, by name.", policyNameShape(), func(f *clientKeyFile) *given[string] { return &f.policy }),
		field("policies", "Several policies of its requests, by name; all of them hold.", list("names of policies", text("a policy's name")), func(f *clientKeyFile) *given[[]given[string]] { return &f.policies }),
		field("guardrails", "The guardrails of its requests, by name.", list("names of guardrails", text("a guardrail's name")), func(f *clientKeyFile) *given[[]given[string]] { return &f.guardrails }),
		field("limits", "What it may use at a time.", limitsShape(), func(f *clientKeyFile) *given[quota.Limits] { return &f.limits }),
		field("budget", "What it may spend in a period.", budgetShape(), func(f *clientKeyFile) *given[budgetFile] { return &f.budget }),
		field("budgets", "Several budgets; all of them hold.", list("budgets with per and usd or tokens", budgetShape()), func(f *clientKeyFile) *given[[]given[budgetFile]] { return &f.budgets }),
	}
}

// principal is what a key comes to.
func (b *builder) principal(f *clientKeyFile) identity.Principal {
	p := identity.Principal{
		Name: f.name.v, Owner: f.owner.v, Team: f.team.v, Labels: b.labels(f.labels), Models: texts(f.models), Providers: b.providerNames(f.providers),
		Routes: texts(f.routes), Policies: b.policyNames(f.policy, f.policies), Guardrails: texts(f.guardrails),
		Limits: f.limits.v, Budgets: b.budgets(f.budget, f.budgets), Expires: f.expires.v,
	}
	for _, s := range f.sources.v {
		p.Sources = append(p.Sources, s.v)
	}
	return p
}

// policyNames are those of policy: and policies: together.
func (b *builder) policyNames(one given[string], more given[[]given[string]]) (out []string) {
	for _, name := range append([]given[string]{one}, more.v...) {
		if known := b.policyName(name); known != "" {
			out = append(out, known)
		}
	}
	return out
}

func (b *builder) labels(table given[[]entry[string]]) map[string]string {
	if len(table.v) > identity.MaxLabels {
		b.problem(table.at, "", "has %d labels, which is more than %d", len(table.v), identity.MaxLabels)
	}
	var out map[string]string
	for _, l := range table.v {
		if !identity.LabelName(l.name) {
			b.problem(l.at, "", "is no name for a label; use at most %d letters, digits, - _ and .", identity.MaxLabel)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[l.name] = l.v
	}
	return out
}

// identityText is a word about a caller: it is shown in logs, tables and reports.
func identityText(want string, most int) shape[string] {
	return single(want, map[string]any{"type": "string", "minLength": 1, "maxLength": most}, func(s string) (string, string, string) {
		switch {
		case s == "":
			return "", "is empty; it must be " + want, ""
		case !identity.Word(s, most):
			return "", fmt.Sprintf("is longer than %d bytes, or holds what is no text; it must be %s", most, want), ""
		}
		return s, "", ""
	})
}

func providerNamesShape() shape[[]given[string]] {
	return list("names of providers", text("a provider's name"))
}

func routeShape() shape[string] {
	var words []word[string]
	for _, w := range identity.RouteWords() {
		words = append(words, say(w, w))
	}
	return choice(words...)
}

// prefixShape is an address, or a range of them.
func prefixShape() shape[netip.Prefix] {
	const want = "an address such as 192.0.2.7, or a range such as 10.0.0.0/8"
	return single(want, map[string]any{"type": "string", "minLength": 2}, func(s string) (netip.Prefix, string, string) {
		p, err := identity.ParseSource(s)
		if err != nil {
			return p, "must be " + want, ""
		}
		if masked := p.Masked(); masked != p {
			return p, "has bits set beyond its length; it must be " + want, masked.String()
		}
		return p, "", ""
	})
}

// momentShape is a day, whose end is meant, or a moment.
func momentShape() shape[time.Time] {
	const want = "a day such as 2027-01-31, which counts to its end (UTC), or a time such as 2027-01-31T18:00:00Z"
	return single(want, orFromEnv(map[string]any{"type": "string", "pattern": `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$`}), func(s string) (time.Time, string, string) {
		t, err := identity.ParseMoment(s)
		if err != nil {
			return t, "must be " + want, ""
		}
		return t, "", ""
	})
}

// teamOf says which of the teams a name may have meant; a name that none has is a word for reports.
func (b *builder) teamOf(name given[string]) {
	var known []string
	for _, t := range b.file.auth.v.teams.v {
		if t.name == name.v {
			return
		}
		known = append(known, t.name)
	}
	if near := nearest.Names(name.v, known, 1); name.set && len(near) > 0 {
		b.warn(name.at, "there is no team %q in auth.teams, so that it is a word for reports alone; did you mean %s?", name.v, strings.Join(near, ""))
	}
}
