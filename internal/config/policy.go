package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"evergate/internal/nearest"
	"evergate/internal/route"
)

type attributesFile struct {
	region         given[string]
	retention      given[route.Retention]
	training       given[bool]
	certifications given[[]given[string]]
}

type policyFile struct {
	regions        given[[]given[string]]
	retention      given[route.Retention]
	training       given[bool]
	certifications given[[]given[string]]
	providers      given[listsFile]
}

type listsFile struct{ allow, deny given[[]given[string]] }

func attributesShape() shape[attributesFile] {
	return object("attributes", "What is true of a provider, for policies; what is not said satisfies no policy that asks for it.", []key[attributesFile]{
		field("region", "Where it works on what it is sent, in a word of your own such as eu.", text("a region"), func(f *attributesFile) *given[string] { return &f.region }),
		field("retention", "How long it keeps what it is sent.", retentionShape(), func(f *attributesFile) *given[route.Retention] { return &f.retention }),
		field("training", "Whether it trains on what it is sent.", boolean(), func(f *attributesFile) *given[bool] { return &f.training }),
		field("certifications", "What it is certified for, such as soc2.", list("certifications", text("a certification")), func(f *attributesFile) *given[[]given[string]] { return &f.certifications }),
	})
}

func policyShape() shape[policyFile] {
	names := list("names of providers", text("a provider's name"))
	return object("policy", "Where requests may go: every rule that is written must hold.", []key[policyFile]{
		field("regions", "The regions that are allowed.", list("regions", text("a region")), func(f *policyFile) *given[[]given[string]] { return &f.regions }),
		field("retention", "The longest retention that is allowed.", retentionShape(), func(f *policyFile) *given[route.Retention] { return &f.retention }),
		field("training", "false allows only providers that do not train on what they are sent.", boolean(), func(f *policyFile) *given[bool] { return &f.training }),
		field("certifications", "What a provider must be certified for, all of it.", list("certifications", text("a certification")), func(f *policyFile) *given[[]given[string]] { return &f.certifications }),
		field("providers", "Providers by name.", object("policy_providers", "Providers by name.", []key[listsFile]{
			field("allow", "The only ones that are allowed.", names, func(f *listsFile) *given[[]given[string]] { return &f.allow }),
			field("deny", "Those that never are.", names, func(f *listsFile) *given[[]given[string]] { return &f.deny }),
		}), func(f *policyFile) *given[listsFile] { return &f.providers }),
	})
}

// policyNameShape is a policy's name where one is attached to something; empty: none.
func policyNameShape() shape[string] { return optionalText("a policy's name") }

func byokShape() shape[route.BYOK] {
	return choice(say("off", route.RefuseKeys), say("allow", route.AllowKeys), say("require", route.RequireKeys))
}

// maxRetention is a hundred years: more is a mistake.
const maxRetention = 36500 * 24 * time.Hour

// retentionShape is none, or a time in days or as a duration.
func retentionShape() shape[route.Retention] {
	const want = "none, or a time such as 30d or 12h"
	schema := orFromEnv(map[string]any{"type": "string", "pattern": `^(none|[0-9]+d|([0-9.]+(s|m|h))+)$`})
	return single(want, schema, func(s string) (r route.Retention, wrong, suggestion string) {
		if s == "none" || s == "0" {
			return route.Retention{Known: true}, "", ""
		}
		d, err := time.ParseDuration(s)
		if days, ok := strings.CutSuffix(s, "d"); ok {
			var n uint64
			n, err = strconv.ParseUint(days, 10, 16)
			d = time.Duration(n) * 24 * time.Hour
		}
		if err != nil || d <= 0 || d > maxRetention {
			return r, "must be " + want, ""
		}
		return route.Retention{Known: true, For: d}, "", ""
	})
}

// attributes are a provider's.
func (f *attributesFile) attributes() route.Attributes {
	a := route.Attributes{Region: f.region.v, Retention: f.retention.v, Certifications: texts(f.certifications)}
	if f.training.set {
		a.Training = route.No
		if f.training.v {
			a.Training = route.Yes
		}
	}
	return a
}

// policies makes the policies, and says which one holds for every request.
func (b *builder) policies(t *route.Table) {
	t.Policies = map[string]*route.Policy{}
	for _, e := range b.file.policies.v {
		if !providerName(e.name) {
			b.problem(e.at, "", "is no name for a policy; use letters, digits, - _ and . only")
		}
		f := &e.v
		p := &route.Policy{
			Name: e.name, Regions: texts(f.regions), Retention: f.retention.v, NoTraining: f.training.set && !f.training.v,
			Certifications: texts(f.certifications),
			Allow:          b.providerNames(f.providers.v.allow), Deny: b.providerNames(f.providers.v.deny),
		}
		t.Policies[e.name] = p
		if !e.wrong {
			b.checkPolicy(t, e, p)
		}
	}
	t.Policy = b.policyName(b.file.policy)
}

// checkPolicy reports a policy that nobody satisfies.
func (b *builder) checkPolicy(t *route.Table, e entry[policyFile], p *route.Policy) {
	for _, l := range []given[[]given[string]]{e.v.regions, e.v.providers.v.allow} {
		if l.set && len(l.v) == 0 {
			b.problem(l.at, "", "is an empty list, which would allow nobody; fill it, or remove it to allow all")
		}
	}
	allows := func(provider route.Provider) bool {
		rule, _ := p.Refuses(&provider)
		return rule == ""
	}
	if len(t.Providers) > 0 && !slices.ContainsFunc(t.Providers, allows) {
		b.warn(e.at, "is satisfied by no provider: see their attributes")
	}
}

// providerNames are those of a list that exist.
func (b *builder) providerNames(list given[[]given[string]]) (out []string) {
	for _, name := range list.v {
		if b.knownProvider(name.v, name.at) {
			out = append(out, name.v)
		}
	}
	return out
}

// policyName is the name of a policy that is attached to something; empty: none is.
func (b *builder) policyName(name given[string]) string {
	if name.v == "" {
		return ""
	}
	var known []string
	for _, e := range b.file.policies.v {
		if e.name == name.v {
			return name.v
		}
		known = append(known, e.name)
	}
	suggestion := ""
	if near := nearest.Names(name.v, known, 1); len(near) > 0 {
		suggestion = near[0]
	}
	b.problem(name.at, suggestion, "there is no policy %q in policies", name.v)
	return name.v
}

// governed reports a model that its policies leave no target.
func (b *builder) governed(t *route.Table) {
	for _, e := range b.file.models.v {
		v := t.Virtual[e.name]
		if v == nil {
			continue
		}
		b.governedMirror(t, &e, v.Mirror)
		r := route.Resolution{Targets: v.Targets, Groups: v.Groups}
		f := route.Filter{Policies: t.PoliciesOf([]string{e.name})}
		if f.Apply(t, &r); len(r.Targets) > 0 || len(r.Dropped) == 0 {
			continue
		}
		if d := &r.Dropped[0]; d.Guard == route.PolicyGuard {
			b.warn(e.at, "has no target that its policies allow: %s/%s: %s", d.Provider, d.Model, d.Why)
		}
	}
}
