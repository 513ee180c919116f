package config

import (
	"slices"
	"strings"

	"evergate/internal/nearest"
	"evergate/internal/route"
)

// table makes the routing tables.
func (b *builder) table(providers []Provider) route.Table {
	t := route.Table{Virtual: map[string]*route.Virtual{}, Failover: map[string][]route.Target{}}
	b.facts = b.book(providers)
	t.Facts = b.facts
	b.routed, b.models = map[string]*route.Provider{}, map[string][]string{}
	for _, p := range providers {
		t.Providers = append(t.Providers, route.Provider{
			Name: p.Options.Name, Disabled: p.Disabled, Timeouts: p.Timeouts, Thinking: thinking(p.Timeouts, p.Settings), Models: p.Models,
			Attributes: p.Attributes, BYOK: p.BYOK,
		})
		t.BYOK = t.BYOK || p.BYOK != route.AllowKeys
		b.models[p.Options.Name] = p.Models
	}
	for i := range t.Providers {
		b.routed[t.Providers[i].Name] = &t.Providers[i]
	}
	b.policies(&t)
	b.virtuals(&t)
	b.governed(&t)
	for _, e := range b.file.failover.v {
		if !e.wrong {
			b.failover(&t, e)
		}
	}
	return t
}

// availability is what models are to reach.
func (b *builder) availability() map[string]float64 {
	var out map[string]float64
	for _, e := range b.file.models.v {
		if f := e.v.availability; f.set && !e.wrong {
			if out == nil {
				out = map[string]float64{}
			}
			out[e.name] = f.v
		}
	}
	return out
}

func (b *builder) virtual(e entry[modelFile]) *route.Virtual {
	f := &e.v
	if e.name == "" || strings.ContainsFunc(e.name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		b.problem(e.at, "", "is no name for a model; it must have no spaces")
	}
	if first, _, ok := strings.Cut(e.name, "/"); ok && slices.Contains(b.names, first) {
		b.warn(e.at, "hides the model of that name at provider %s", first)
	}
	if len(f.targets.v) == 0 && !f.targets.wrong {
		b.problem(e.at, "", "has no targets; add targets: [provider/model]")
		return nil
	}
	v := &route.Virtual{Name: e.name, Strategy: f.strategy.v, Auto: b.weights(f), HoldDown: f.holdDown.v, Hedge: f.hedge.v.hedge(), Resume: f.resume.v, Affinity: b.affinity(f.affinity), Policy: b.policyName(f.policy)}
	v.Targets, v.Groups = b.targets(f, f.targets.v, true)
	if n := len(v.Targets); n > maxTargets {
		b.problem(f.targets.at, "", "come to %d with those of the models within it, which is more than %d", n, maxTargets)
		return nil
	}
	on := func(what route.Refusal, list []given[targetFile]) {
		targets, _ := b.targets(f, list, false)
		for _, t := range targets {
			t.On = what
			v.On = append(v.On, t)
		}
	}
	v.Mirror = b.mirror(f)
	on(route.ContextLength, f.on.v.contextLength.v)
	on(route.ContentFilter, f.on.v.contentFilter.v)
	return v
}

// targets makes the targets of one list, and the groups of those that are virtual models themselves, if they may be.
func (b *builder) targets(f *modelFile, list []given[targetFile], nest bool) (out []route.Target, groups []route.Group) {
	seen := map[string]place{}
	for _, t := range list {
		if t.v.weight.set && t.v.weight.v == 0 {
			b.problem(t.v.weight.at, "", "must be more than 0; to send the target nothing say disabled: true")
		}
		if e, ok := b.inner(t.v.target); ok {
			if !nest {
				b.problem(t.v.target.at, "", "is a virtual model, and refusals are sent to providers' models alone; write provider/model")
				continue
			}
			b.once(seen, e.name, t.at, "is listed twice (first on line %d); remove one")
			var targets []route.Target
			targets, groups = b.nested(f, &t, e, groups)
			out = append(out, targets...)
			continue
		}
		target, ok := b.target(t.v.target, t.at)
		if !ok {
			continue
		}
		target.Disabled, target.Params = t.v.disabled.v, t.v.params.v
		target.BaseModel, target.MaxTokensField = t.v.baseModel.v, t.v.quirks.v.maxTokensField.v
		b.know(&target)
		target.Timeouts = overlay(overlay(target.Timeouts, &f.timeouts.v), &t.v.timeouts.v)
		target.Weight = t.v.weight.v
		if role := t.v.quirks.v.developerRole; role.set {
			target.DeveloperRole = &role.v
		}
		if t.v.params.absent() {
			b.once(seen, target.String(), t.at, "is listed twice (first on line %d); remove one")
		}
		out = append(out, target)
	}
	return out, groups
}

// target reads provider/model and gives it the provider's time limits.
func (b *builder) target(written given[string], owner place) (route.Target, bool) {
	if !written.set {
		if written.absent() {
			b.problem(owner, "", "has no target; add target: provider/model")
		}
		return route.Target{}, false
	}
	name, model, ok := strings.Cut(written.v, "/")
	if !ok || name == "" || model == "" {
		suggestion := ""
		if len(b.names) == 1 && name != "" && !ok {
			suggestion = b.names[0] + "/" + name
		}
		b.problem(written.at, suggestion, "%q is not a target; write provider/model", written.v)
		return route.Target{}, false
	}
	if !b.knownProvider(name, written.at) {
		return route.Target{}, false
	}
	b.doubtModel(name, model, written.at)
	target := route.Target{Provider: name, Model: model}
	b.know(&target)
	return target, true
}

// doubtModel warns of a model that its provider's own list does not have.
func (b *builder) doubtModel(name, model string, at place) {
	known := b.models[name]
	if len(known) == 0 || slices.Contains(known, model) {
		return
	}
	hint := ""
	if near := nearest.Names(model, known, 1); len(near) > 0 {
		hint = "; did you mean " + name + "/" + near[0] + "?"
	}
	b.warn(at, "providers.%s.models does not list %s%s", name, model, hint)
}

func (b *builder) failover(t *route.Table, e entry[[]given[string]]) {
	if _, virtual := t.Virtual[e.name]; virtual {
		b.problem(e.at, "", "is a virtual model, to which failover rules do not apply; add the targets to models.%s", e.name)
		return
	}
	if len(e.v) == 0 {
		b.problem(e.at, "", "names nowhere to go; add targets such as provider/model, or remove the rule")
	}
	seen := map[string]place{e.name: e.at}
	for _, to := range e.v {
		if target, ok := b.target(to, to.at); ok {
			b.once(seen, target.String(), to.at, "stands in this rule already (line %d); remove it")
			t.Failover[e.name] = append(t.Failover[e.name], target)
		}
	}
}
