package importer

import (
	"slices"
	"strings"
)

// portkey is a gateway config of Portkey's on its way: it becomes one virtual model, whose targets may be models themselves.
type portkey struct {
	*conversion
	name string
	// named are the targets that a condition can name, by their names.
	named map[string]string
}

func (c *conversion) portkey() {
	p := portkey{conversion: c, name: c.src.Model, named: map[string]string{}}
	if p.name == "" || !validModel(p.name) {
		p.name = "default"
	}
	c.top.find("server").set("listen", text("127.0.0.1:8787"), "the port of Portkey's gateway; without keys for callers only this machine may ask")
	c.general(Hand, "the config has no keys for callers, so the gateway listens on 127.0.0.1 alone: add auth.keys before others can reach it")
	c.general(Hand, "callers name the model %s in their requests, and need no x-portkey- headers any longer", p.name)
	camel(c.root)
	if inner := c.root.get("config"); inner.set() && inner.kind == mappingNode {
		c.root.pairs = append(c.root.pairs, inner.pairs...)
	}
	p.node(c.root, p.name, 0)
	i := slices.IndexFunc(c.models, func(m *model) bool { return m.name == p.name })
	if i > 0 { // the model that callers name stands first
		m := c.models[i]
		c.models = slices.Insert(slices.Delete(c.models, i, i+1), 0, m)
	}
}

// camel renames keys such as virtualKey, which Portkey takes as well.
func camel(n *node) {
	for i := range n.pairs {
		var b strings.Builder
		for _, r := range n.pairs[i].key {
			if r >= 'A' && r <= 'Z' {
				b.WriteByte('_')
				r += 'a' - 'A'
			}
			b.WriteRune(r)
		}
		if key := b.String(); n.get(key) == nil && !strings.HasPrefix(n.pairs[i].key, "$") {
			n.pairs[i].key = key
		}
	}
	for _, p := range n.pairs {
		if p.key != "override_params" && p.key != "query" {
			camel(p.value)
		}
	}
	for _, item := range n.items {
		camel(item)
	}
}

// node carries a config, or a target of one, and gives what names it in the list of targets above. It is nil where nothing can be made of it.
func (p portkey) node(n *node, name string, depth int) []*target {
	strategy := n.get("strategy")
	mode := strategy.get("mode").str()
	targets := n.get("targets")
	p.common(n)
	if targets == nil || len(targets.list()) == 0 {
		t := p.single(n, depth == 0)
		if depth == 0 && t != nil {
			p.add(&model{name: p.name, targets: []*target{t}}, n)
			return nil
		}
		if t == nil {
			return nil
		}
		return []*target{t}
	}
	p.retry(n, &p.top)
	p.carry(strategy.get("mode"))
	m := &model{name: name}
	for i, child := range targets.list() {
		inherit(n, child)
		inner := name + "." + p.label(child, i)
		for _, t := range p.node(child, inner, depth+1) {
			if w := child.get("weight"); w.set() {
				if v, ok := w.number(); ok && v >= 0 {
					p.carry(w)
					t.weight = decimal(v)
					t.disabled = v == 0
				}
			}
			if t.disabled {
				t.weight = ""
			}
			p.named[p.label(child, i)] = t.to
			m.targets = append(m.targets, t)
		}
	}
	switch mode {
	case "loadbalance":
		m.strategy = "weighted"
		p.approx(strategy.get("mode"), "goes on to another target when one fails, which Portkey's loadbalance does not")
	case "fallback", "":
		m.strategy = ""
	case "single":
		m.targets = m.targets[:min(1, len(m.targets))]
		if len(targets.list()) > 1 {
			p.note(targets, Approximated, "mode single asks the first target alone; the others are left out")
		}
	case "conditional":
		p.conditional(strategy, m)
		return p.add(m, n)
	default:
		p.told(strategy.get("mode"), Hand, left, "is no mode that is known; the targets are tried in order")
	}
	p.statuses(strategy.get("on_status_codes"))
	return p.add(m, n)
}

// add keeps a model, and gives the target that stands for it.
func (p portkey) add(m *model, n *node) []*target {
	if len(m.targets) == 0 {
		return nil
	}
	if dup := p.model(m.name); dup != nil {
		m.name = p.freeModel(m.name)
	}
	p.cache(m, n.get("cache"))
	p.models = append(p.models, m)
	return []*target{{to: m.name}}
}

// label is what a target is called.
func (p portkey) label(n *node, i int) string {
	if name := n.get("name"); name.set() && slug(name.str()) != "" {
		p.carry(name)
		return slug(name.str())
	}
	return itoa(i + 1)
}

// inherit gives a target what the config around it says for all.
func inherit(outer, inner *node) {
	if inner.kind != mappingNode {
		return
	}
	for _, key := range []string{"override_params", "request_timeout"} {
		switch v, own := outer.get(key), inner.get(key); {
		case !v.set():
		case own == nil:
			inner.put(key, v)
		default:
			for _, p := range v.pairs {
				if own.get(p.key) == nil && own.kind == mappingNode {
					own.put(p.key, p.value)
				}
			}
		}
	}
}

// single carries one target: provider, key, model and what it sets.
func (p portkey) single(n *node, alone bool) *target {
	up := p.provider(n)
	if up == nil {
		p.told(n, Hand, left, "says no provider that is known here: name provider, or a virtual key whose name begins with one")
		return nil
	}
	t := &target{}
	id := first(n.get("override_params").get("model"), n.get("azure_deployment_id"), n.get("model"))
	switch {
	case id.set():
		p.carry(id)
		name := id.str()
		if rest, ok := strings.CutPrefix(name, "@"); ok {
			_, name, _ = strings.Cut(rest, "/")
		}
		if !validModel(name) {
			p.told(id, Hand, left, "is no name that a model can have")
			return nil
		}
		t.to = up.name + "/" + name
	default:
		v := p.free(envName(up.name + "_MODEL"))
		ref := p.use(v, "", sampleWord)
		t.to = up.name + "/" + v
		t.written = raw(up.name + "/" + string(ref))
		p.note(n, Hand, "takes its model from the request: put the id that is meant into %s, or have callers write %s/ID", v, up.name)
	}
	if alone {
		p.retry(n, &p.top)
	} else {
		p.retry(n, &up.settings)
		p.leave(n.get("cache"), "answers are kept by models: say cache under the model that has this target")
	}
	p.sets(t, n)
	return t
}

// sets carries what a target sets of its requests, and its time limit.
func (p portkey) sets(t *target, n *node) {
	known := requestParams()
	for _, pair := range n.get("override_params").pairsOf() {
		switch {
		case pair.key == "model":
		case known[pair.key]:
			t.params.set(pair.key, p.value(pair.value))
		}
	}
	if ms := n.get("request_timeout"); ms.set() {
		if v, ok := ms.number(); ok {
			if d := seconds(v / 1000); d != "" {
				p.approx(ms, "bounds each attempt, and a stream's wait for its first content")
				t.timeouts.set("attempt", d)
				t.timeouts.set("first_chunk", d)
			}
		}
	}
}

// conditional makes a model of each condition that asks for the request's model; other conditions have no equivalent.
func (p portkey) conditional(strategy *node, m *model) {
	other := "requests are routed by the model they name: make one for each case"
	for _, c := range strategy.get("conditions").list() {
		then, query := c.get("then"), c.get("query")
		to, known := p.named[slug(then.str())]
		names := query.get("params.model").modelsOf()
		if !known || len(query.pairsOf()) != 1 || len(names) == 0 {
			p.told(c, Hand, left, "%s", other)
			continue
		}
		for _, name := range names {
			if validModel(name.str()) && p.model(name.str()) == nil && name.str() != m.name {
				p.models = append(p.models, &model{name: name.str(), targets: []*target{p.copyOf(m, to)}})
				p.carry(name, then)
			} else {
				p.told(name, Hand, left, "%s", other)
			}
		}
	}
	d := strategy.get("default")
	if to, ok := p.named[slug(d.str())]; ok {
		p.carry(d)
		m.targets = []*target{p.copyOf(m, to)}
	} else if len(m.targets) > 0 {
		p.general(Hand, "no condition of the config is a default: %s is the first target", m.name)
		m.targets = m.targets[:1]
	}
}

// copyOf is a model's target of this name, to stand in another model.
func (p portkey) copyOf(m *model, to string) *target {
	for _, t := range m.targets {
		if t.to == to {
			c := *t
			c.weight, c.disabled = "", false
			return &c
		}
	}
	return &target{to: to}
}

// modelsOf gives the names that a condition asks for: a name, $eq or $in.
func (n *node) modelsOf() []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == scalarNode:
		return []*node{n}
	case len(n.pairs) != 1:
		return nil
	}
	return n.get("$eq", "$in").list()
}
