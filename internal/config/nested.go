package config

import (
	"slices"
	"strings"

	"evergate/internal/route"
	"evergate/internal/wire"
)

// maxTargets is how many targets a virtual model may have, and how many models within it, those within these included: names
// are short, and what they stand for need not be.
const maxTargets = 256

// family is how far virtual models are built: one is built before the model that names it.
type family struct {
	entries map[string]*entry[modelFile]
	built   map[string]*route.Virtual // nil: it has a problem
	path    []string                  // those being built, the outermost first
}

// virtuals builds all virtual models.
func (b *builder) virtuals(t *route.Table) {
	b.family = family{entries: map[string]*entry[modelFile]{}, built: map[string]*route.Virtual{}}
	for i := range b.file.models.v {
		e := &b.file.models.v[i]
		b.family.entries[e.name] = e
	}
	for i := range b.file.models.v {
		e := &b.file.models.v[i]
		if v := b.build(e); v != nil || e.wrong {
			t.Virtual[e.name] = v // nil: it is known by name; the Config is refused anyway
		}
	}
}

// build builds a virtual model once.
func (b *builder) build(e *entry[modelFile]) *route.Virtual {
	n := &b.family
	v, done := n.built[e.name]
	if !done && !e.wrong {
		n.path = append(n.path, e.name)
		v = b.virtual(*e)
		n.path = n.path[:len(n.path)-1]
		n.built[e.name] = v
	}
	return v
}

// inner finds the virtual model that a target names; false: it names none. What begins with a provider's name is that
// provider's, so that a virtual model may be called as what it stands before.
func (b *builder) inner(written given[string]) (*entry[modelFile], bool) {
	if first, model, ok := strings.Cut(written.v, "/"); ok && model != "" && slices.Contains(b.names, first) {
		return nil, false
	}
	e, ok := b.family.entries[written.v]
	return e, ok && written.set
}

// nested gives the targets that stand in the place of a virtual model's name, and the groups of the model that names it with
// those that this adds.
func (b *builder) nested(f *modelFile, t *given[targetFile], e *entry[modelFile], groups []route.Group) ([]route.Target, []route.Group) {
	at := t.v.target.at
	if i := slices.Index(b.family.path, e.name); i >= 0 {
		way := strings.Join(append(slices.Clone(b.family.path[i:]), e.name), " → ")
		b.problem(at, "", "leads back to where it came from (%s); take one of these out", way)
		return nil, groups
	}
	if t.v.baseModel.set || t.v.quirks.set {
		b.problem(t.at, "", "names a virtual model, whose targets say base_model and quirks themselves; remove them here")
	}
	v := b.build(e)
	if v == nil {
		return nil, groups // it has a problem of its own
	}
	if len(groups)+len(v.Groups) > maxTargets {
		b.problem(at, "", "makes more than %d models within models", maxTargets)
		return nil, groups
	}
	g := uint16(len(groups) + 1) //nolint:gosec // at most maxTargets
	groups = append(groups, route.Group{Name: v.Name, Strategy: v.Strategy, Auto: v.Auto, Weight: t.v.weight.v})
	for _, inner := range v.Groups {
		inner.Within += g
		groups = append(groups, inner)
	}
	targets := slices.Clone(v.Targets)
	for i := range targets {
		target := &targets[i]
		target.Group += g
		target.Disabled = target.Disabled || t.v.disabled.v
		target.Params = overlayParams(target.Params, t.v.params.v)
		target.Timeouts = overlay(overlay(target.Timeouts, &f.timeouts.v), &t.v.timeouts.v)
	}
	return targets, groups
}

// overlayParams sets those of the outer model over those of the inner one.
func overlayParams(inner, outer []wire.Param) []wire.Param {
	if len(outer) == 0 {
		return inner
	}
	out := slices.DeleteFunc(slices.Clone(inner), func(p wire.Param) bool {
		return slices.ContainsFunc(outer, func(o wire.Param) bool { return o.Name == p.Name })
	})
	return append(out, outer...)
}
