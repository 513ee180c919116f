package importer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// draft is a configuration of ours on its way: the parts that all formats fill.
type draft struct {
	top       mapping // server, admin, state, log, timeouts, resilience: in this order as they come
	providers []*provider
	models    []*model
	keys      []*callerKey
	teams     mapping
	failover  mapping
	catalog   mapping
}

// provider is an upstream: where it is, and with which credentials.
type provider struct {
	name, kind string
	base       any // its address; nil: the type's own
	keys       []*credential
	keyless    bool    // it is asked without a key, or with credentials of another kind
	settings   mapping // everything else, in order
	comments   []string
	identity   string // what makes it another provider than one of the same type
}

// credential is one key of a provider.
type credential struct {
	name   string
	value  raw
	weight float64  // 0 counts as 1
	models []string // the upstream's ids that it is for; empty: all
	open   bool     // it is for all, whatever models says
}

// target is one of a virtual model's.
type target struct {
	to       string // provider/model, or a virtual model
	written  any    // in place of to, where the model is a variable
	weight   bare
	params   mapping
	timeouts mapping
	base     string // base_model
	disabled bool
}

// model is a virtual model.
type model struct {
	name     string
	strategy string
	targets  []*target
	settings mapping
	comments []string
}

// callerKey is a client's key.
type callerKey struct {
	name     string
	value    raw
	settings mapping
	comments []string
}

// provider finds the provider of this identity, or makes one, named after want.
func (d *draft) provider(want, kind, identity string) (p *provider, isNew bool) {
	identity = kind + "\x00" + identity
	for _, p := range d.providers {
		if p.identity == identity {
			return p, false
		}
	}
	p = &provider{name: d.freeProvider(want), kind: kind, identity: identity}
	d.providers = append(d.providers, p)
	return p, true
}

func (d *draft) freeProvider(want string) string {
	if want = slug(want); want == "" {
		want = "provider"
	}
	for i, try := 2, want; ; i++ {
		if !slices.ContainsFunc(d.providers, func(p *provider) bool { return strings.EqualFold(p.name, try) }) {
			return try
		}
		try = fmt.Sprintf("%s-%d", want, i)
	}
}

// credential finds the provider's key of this value, or adds it.
func (p *provider) credential(value raw) *credential {
	for _, k := range p.keys {
		if k.value == value {
			return k
		}
	}
	k := &credential{value: value}
	p.keys = append(p.keys, k)
	return k
}

func (k *credential) use(id string) {
	if !slices.Contains(k.models, id) {
		k.models = append(k.models, id)
	}
}

// model finds a virtual model by name.
func (d *draft) model(name string) *model {
	for _, m := range d.models {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (d *draft) freeModel(want string) string {
	name := want
	for i := 2; d.model(name) != nil; i++ {
		name = fmt.Sprintf("%s-%d", want, i)
	}
	return name
}

// callerKey adds a client's key, with a name that no other has.
func (d *draft) callerKey(want string, value raw) *callerKey {
	if want = slug(want); want == "" {
		want = "key"
	}
	name := want
	for i := 2; slices.ContainsFunc(d.keys, func(k *callerKey) bool { return k.name == name }); i++ {
		name = fmt.Sprintf("%s-%d", want, i)
	}
	k := &callerKey{name: name, value: value}
	d.keys = append(d.keys, k)
	return k
}

// validModel says whether a name can be that of a virtual model, or an upstream's id.
func validModel(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' }) && !strings.Contains(name, "${")
}

// write gives the text of the configuration.
func (c *conversion) write() string {
	var w writer
	w.WriteString("# Made by `evergate import " + c.src.Format + "` from " + clean(c.src.Name) + ". Its report says what is different here;\n")
	w.WriteString("# `evergate check -c FILE` says what comes of it.\n")
	if len(c.vars) > 0 {
		w.WriteString("#\n# It needs these variables:\n")
		for _, v := range c.vars {
			note := ""
			if v.literal {
				note = "  # stood in the file itself: put it into the environment"
			}
			w.WriteString("#   " + v.name + note + "\n")
		}
	}
	doc := c.top
	if len(c.keys) > 0 || len(c.teams.pairs) > 0 {
		auth := doc.find("auth")
		auth.setIf("teams", &c.teams)
		var keys list
		for _, k := range c.keys {
			keys = append(keys, k.mapping())
		}
		auth.setIf("keys", keys)
	}
	providers := doc.find("providers")
	for _, p := range c.providers {
		providers.set(p.name, p.mapping(), p.comments...)
	}
	if len(c.models) > 0 {
		models := doc.find("models")
		for _, m := range c.models {
			models.set(m.name, m.mapping(), m.comments...)
		}
	}
	doc.setIf("failover", &c.failover)
	doc.setIf("catalog", &c.catalog)
	for _, p := range doc.pairs {
		w.WriteString("\n")
		one := mapping{pairs: []field{p}}
		w.mapping(&one, "")
	}
	return w.String()
}

func (p *provider) mapping() *mapping {
	m := &mapping{}
	m.set("type", text(p.kind))
	m.setIf("base_url", p.base)
	switch {
	case len(p.keys) == 1 && p.keys[0].name == "":
		m.set("api_key", p.keys[0].value)
	case len(p.keys) > 0:
		var keys list
		shares := p.shares()
		for i, k := range p.keys {
			keys = append(keys, k.mapping(i, shares[i]))
		}
		if shares[0] != "" {
			m.set("key_strategy", text("weighted"))
		}
		m.set("keys", keys)
	}
	m.pairs = append(m.pairs, p.settings.pairs...)
	return m
}

// shares are the weights of the keys as whole numbers; empty where all weigh the same.
func (p *provider) shares() []bare {
	out := make([]bare, len(p.keys))
	whole := make([]int, len(p.keys))
	divisor, differ := 0, false
	for i, k := range p.keys {
		w := k.weight
		if w == 0 {
			w = 1
		}
		whole[i] = max(1, int(math.Round(min(w, 1000)*1000)))
		differ = differ || whole[i] != whole[0]
		for a, b := whole[i], divisor; ; a, b = b, a%b {
			if b == 0 {
				divisor = a
				break
			}
		}
	}
	for i := range whole {
		if differ {
			out[i] = bare(itoa(whole[i] / divisor))
		}
	}
	return out
}

func (k *credential) mapping(i int, share bare) *mapping {
	m := &mapping{flow: true}
	name := k.name
	if name == "" {
		name = "key-" + itoa(i+1)
	}
	m.set("name", text(name))
	m.set("value", k.value)
	m.setIf("weight", share)
	if !k.open {
		m.setIf("models", texts(k.models))
	}
	m.flow = len(inline(m)) < 140
	return m
}

func (k *callerKey) mapping() *mapping {
	m := &mapping{}
	m.set("name", text(k.name), k.comments...)
	m.set("value", k.value)
	m.pairs = append(m.pairs, k.settings.pairs...)
	if len(k.comments) == 0 && len(m.pairs) == 2 {
		m.flow = true
	}
	return m
}

func (m *model) mapping() *mapping {
	out := &mapping{}
	if len(m.targets) > 1 {
		out.setIf("strategy", text(m.strategy))
	}
	var targets list
	for _, t := range m.targets {
		targets = append(targets, t.value(m.strategy == "weighted"))
	}
	out.set("targets", targets)
	out.pairs = append(out.pairs, m.settings.pairs...)
	return out
}

// value writes a target as short as it can be; weights count only where they are asked for.
func (t *target) value(weighted bool) any {
	m := &mapping{}
	if t.written != nil {
		m.set("target", t.written)
	} else {
		m.set("target", text(t.to))
	}
	if weighted {
		m.setIf("weight", t.weight)
	}
	if t.disabled {
		m.set("disabled", bare("true"))
	}
	m.setIf("base_model", text(t.base))
	if len(t.params.pairs) > 0 {
		t.params.flow = len(inline(&t.params)) < 100
		m.set("params", &t.params)
	}
	if len(t.timeouts.pairs) > 0 {
		t.timeouts.flow = true
		m.set("timeouts", &t.timeouts)
	}
	if len(m.pairs) == 1 {
		return m.pairs[0].value
	}
	m.flow = len(inline(m)) < 120
	return m
}

func texts(s []string) list {
	var out list
	for _, one := range s {
		out = append(out, text(one))
	}
	return out
}

// key is what a target is: two of the same key differ in nothing but the weight.
func (t *target) key() string {
	c := *t
	c.weight = ""
	return inline(c.value(false))
}

func (t *target) same(o *target) bool { return t.key() == o.key() }
