package resilience

import (
	"maps"
	"slices"
)

// Copy is a machine of its own with the same state: what is done to the one does not move the other. Permits belong to the
// machine that gave them. It is for who asks what would happen (R72).
func (m *Machine) Copy() *Machine {
	c := *m
	c.breaker.adopt(&c)
	if m.models != nil {
		c.models = make(map[string]*breaker, len(m.models))
		for name, b := range m.models {
			own := *b
			own.adopt(&c)
			c.models[name] = &own
		}
	}
	c.credentials = slices.Clone(m.credentials)
	c.lockouts = maps.Clone(m.lockouts)
	for key, p := range c.lockouts {
		own := *p
		c.lockouts[key] = &own
	}
	return &c
}

// adopt makes a breaker that was copied its new machine's.
func (b *breaker) adopt(m *Machine) {
	b.moves, b.proofs = &m.moves, &m.proofs
	b.slots = slices.Clone(b.slots)
}

// Allows says whether a credential is for the model at all, whatever blocks it.
func (m *Machine) Allows(credential int, model string) bool {
	c := m.at(credential)
	return c != nil && c.allowed(model)
}

// Copy is a budget of its own with the same state.
func (b *Budget) Copy() *Budget {
	c := *b
	c.slots = slices.Clone(b.slots)
	return &c
}
