package resilience

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxModels bounds the breakers of models (R35): their names come from clients.
const maxModels = 256

// reaches are what the provider's breaker and those of its models count (R35).
func (s Scope) reaches() (wide, narrow reach) {
	switch s {
	case PerModel:
		return spectator, everything
	case Auto:
		return connections, answers
	case PerProvider:
	}
	return everything, everything
}

// rescope takes the scope of new settings. Where models have no breakers of their own any more, theirs are forgotten.
func (m *Machine) rescope() {
	wide, narrow := m.settings.Breaker.Scope.reaches()
	m.breaker.reach = wide
	m.breaker.recent.resize(m.settings.Cooldown.Window)
	for name, b := range m.models {
		if m.settings.Breaker.Scope == PerProvider {
			m.forget(name)
			continue
		}
		b.reach = narrow
		b.recent.resize(m.settings.Cooldown.Window)
	}
}

// narrow is the model's own breaker, nil if it has none.
func (m *Machine) narrow(model string) *breaker {
	if len(m.models) == 0 {
		return nil
	}
	return m.models[model]
}

// look moves the provider's breaker and the model's on to now.
func (m *Machine) look(now time.Time, model string, eff []Effect) (narrow *breaker, out []Effect) {
	if !m.breaker.quiet() {
		eff = m.breaker.look(now, &m.settings, eff)
	}
	if len(m.models) == 0 {
		return nil, eff
	}
	if narrow = m.models[model]; narrow != nil {
		eff = narrow.look(now, &m.settings, eff)
	}
	return narrow, eff
}

// breed makes the breaker of a model that has none; nil if there is no room. What was admitted before the last
// transition of a breaker that was forgotten moves no new one, lest it be the same model's (R27).
func (m *Machine) breed(now time.Time, model string, eff []Effect) (*breaker, []Effect) {
	if len(model) > maxModelName {
		return nil, eff
	}
	if len(m.models) >= maxModels {
		var ok bool
		if eff, ok = m.oust(now, eff); !ok {
			return nil, eff
		}
	}
	_, reach := m.settings.Breaker.Scope.reaches()
	b := &breaker{
		moves: &m.moves, proofs: &m.proofs, model: strings.Clone(model), reach: reach, generation: m.floor, closedIn: m.floor,
		closedAt: m.resetAt, passedAt: m.resetAt,
	}
	b.recent.resize(m.settings.Cooldown.Window)
	if m.models == nil {
		m.models = make(map[string]*breaker)
	}
	m.models[b.model] = b
	return b, eff
}

// oust makes room for one: of those that no operator holds, a closed one before others, with the fewest failures, and the one
// that heard nothing for longest; of others the one that is free soonest.
func (m *Machine) oust(now time.Time, eff []Effect) (out []Effect, ok bool) {
	var worst *breaker
	for _, b := range m.models {
		if b.order.Action == NoAction && (worst == nil || b.before(worst)) {
			worst = b
		}
	}
	if worst == nil {
		return eff, false
	}
	if worst.state != Closed {
		eff = worst.shut(now, eff)
	}
	m.forget(worst.model)
	return eff, true
}

// before says whether this one makes room rather than c.
func (b *breaker) before(c *breaker) bool {
	return cmp.Or(
		cmp.Compare(min(b.state, Open), min(c.state, Open)), b.retryAt.Compare(c.retryAt), cmp.Compare(b.failures, c.failures),
		later(b.passedAt, b.own.failedAt).Compare(later(c.passedAt, c.own.failedAt)), strings.Compare(b.model, c.model),
	) < 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *Machine) forget(model string) {
	b := m.models[model]
	m.floor = max(m.floor, b.generation)
	if b.state != Closed { // what was forced past it is of the past, too
		m.moves++
		m.floor = m.moves
	}
	delete(m.models, model)
}

// known are the models that have breakers, in order.
func (m *Machine) known() []string { return slices.Sorted(maps.Keys(m.models)) }

// settleBreakers takes a result to the breakers that the permit was admitted under.
func (m *Machine) settleBreakers(now time.Time, p *Permit, r *result, eff []Effect) []Effect {
	if p.narrow.as == unasked {
		return m.breaker.settle(now, &m.settings, &p.wide, r, eff)
	}
	narrow := m.narrow(p.Model)
	if narrow == nil && m.worthOne(p, r) {
		narrow, eff = m.breed(now, p.Model, eff)
	}
	if narrow != nil {
		was := narrow.generation
		eff = narrow.settle(now, &m.settings, &p.narrow, r, eff)
		if narrow.state == Open && narrow.generation != was && m.settings.Breaker.Scope == Auto {
			eff = m.spread(now, eff)
		}
	}
	return m.breaker.settle(now, &m.settings, &p.wide, r, eff)
}

// worthOne says whether a result is the first thing to be known of its model's breaker.
func (m *Machine) worthOne(p *Permit, r *result) bool {
	if p.narrow.as != ordinary || m.settings.Breaker.Scope == PerProvider {
		return false
	}
	_, reach := m.settings.Breaker.Scope.reaches()
	return r.verdict == passed || r.verdict == failed && reach.counts(r.connection)
}

// spread opens the provider's breaker once two models' are open (R35). One that an operator opened tells nothing; where others saw
// one of them open, it is no evidence of this instance's own (R62).
func (m *Machine) spread(now time.Time, eff []Effect) []Effect {
	b := &m.breaker
	if b.state == Open || b.order.Action != NoAction {
		return eff
	}
	open, own := 0, 0
	for _, name := range m.known() { // a known order makes known effects
		n := m.models[name]
		eff = n.look(now, &m.settings, eff)
		if n.state == Open && n.order.Action == NoAction {
			open++
			if now.Before(n.own.retryAt) {
				own++
			}
		}
	}
	if open < 2 {
		return eff
	}
	was := b.own
	eff = b.open(now, m.settings.Breaker.Timeout, tripFailures, eff)
	if own < 2 {
		b.own = was
	}
	return eff
}
