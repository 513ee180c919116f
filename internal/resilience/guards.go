package resilience

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"evergate/internal/fault"
)

// survey is all that blocks one (credential, model).
type survey struct {
	block  Block     // the widest
	named  Block     // the widest whose end the upstream named
	clears time.Time // when the last of the credential's own blocks ends; zero if it has none
	barred bool      // one of them is quota or a refused credential
}

func (s *survey) add(b Block) {
	if !s.block.Blocked() {
		s.block = b
	}
	if b.Named && !s.named.Blocked() {
		s.named = b
	}
	if b.Guard == CircuitBreaker {
		return
	}
	if b.Until.After(s.clears) {
		s.clears = b.Until
	}
	if b.Reason == QuotaExhausted || b.Reason == AuthFailed {
		s.barred = true
	}
}

// before says whether to try this one rather than t, which has the lower index (R51).
func (s *survey) before(t *survey) bool {
	if s.barred != t.barred {
		return t.barred
	}
	return s.clears.Before(t.clears)
}

// survey asks every guard, from wide to narrow.
func (m *Machine) survey(now time.Time, narrow *breaker, i int, model string) survey {
	var s survey
	if b := m.breaker.block(&m.settings); b.Blocked() {
		s.add(b)
	}
	if narrow != nil {
		if b := narrow.block(&m.settings); b.Blocked() {
			s.add(b)
			if b.Forbids() && !s.block.Forbids() {
				s.block = b // R31: it is the stronger word
			}
		}
	}
	c := m.at(i)
	if c != nil && m.cooled(now, c) {
		s.add(c.cooldown.blocks(CredentialCooldownGuard))
	}
	if p := m.lockouts[lockKey{model: model}]; m.locks(now, p) {
		s.add(p.blocks(ModelLockoutGuard))
	}
	if c == nil {
		return s
	}
	if p := m.lockouts[lockKey{c.id, model}]; m.locks(now, p) {
		s.add(p.blocks(ModelLockoutGuard))
	}
	if s.named.Blocked() && c.early.held(now) {
		s.block.Early, s.named.Early = true, true
	}
	return s
}

// clear says whether nothing blocks: the quick answer of the healthy path.
func (m *Machine) clear(now time.Time, narrow *breaker, i int, model string) bool {
	if !m.breaker.free(&m.settings) || narrow != nil && !narrow.free(&m.settings) {
		return false
	}
	return m.usable(now, m.at(i), model)
}

// free says whether the breaker does not block.
func (b *breaker) free(s *Settings) bool { return b.state == Closed || !b.block(s).Blocked() }

// usable says whether neither the credential's cooldown nor a lockout blocks; c may be nil. Credential.Models counts
// in Pick only.
func (m *Machine) usable(now time.Time, c *credential, model string) bool {
	if c != nil && m.cooled(now, c) {
		return false
	}
	if len(m.lockouts) == 0 {
		return true
	}
	if m.locks(now, m.lockouts[lockKey{model: model}]) {
		return false
	}
	return c == nil || !m.locks(now, m.lockouts[lockKey{c.id, model}])
}

// sibling says whether a credential other than the permit's is usable for its model (R25).
func (m *Machine) sibling(now time.Time, p Permit) bool {
	for i := range m.credentials {
		if c := &m.credentials[i]; c.id != p.holder && c.allowed(p.Model) && m.usable(now, c, p.Model) {
			return true
		}
	}
	return false
}

// cooled says whether the credential rests. A guard that was turned off blocks nothing, whatever was set before.
func (m *Machine) cooled(now time.Time, c *credential) bool {
	return m.settings.CredentialCooldown.Base > 0 && c.cooldown.active(now)
}

// locks says whether a lockout (nil: none) holds.
func (m *Machine) locks(now time.Time, p *penalty) bool {
	return p != nil && m.settings.ModelLockout.Base > 0 && p.active(now)
}

// cool cools the permit's credential, which is at index i now (-1: it went away).
func (m *Machine) cool(now time.Time, p *Permit, i int, reason Reason, w fault.Wait, rnd float64, eff []Effect) []Effect {
	if i < 0 {
		return eff
	}
	c := &m.credentials[i]
	was := blockedWord(m.cooled(now, c))
	d, named := m.settings.CredentialCooldown.block(reason, c.cooldown.level, w.For, w.Named, rnd)
	if !c.cooldown.fail(now, d, named, reason, p.mark, m.blocks+1) {
		return eff
	}
	m.blocks++
	return append(eff, c.cooldown.effect(CredentialCooldownGuard, i, "", was))
}

// lock locks the permit's model under key; i is the credential's index for the effect.
func (m *Machine) lock(now time.Time, p *Permit, key lockKey, i int, reason Reason, w fault.Wait, eff []Effect) []Effect {
	if len(key.model) > maxModelName {
		return eff
	}
	l, known := m.lockouts[key]
	if !known {
		l = new(penalty)
	}
	was := blockedWord(m.locks(now, l))
	d, named := m.settings.ModelLockout.block(reason, l.level, w.For, w.Named)
	if !l.fail(now, d, named, reason, p.mark, m.blocks+1) {
		return eff
	}
	m.blocks++
	if !known {
		m.room(now)
		key.model = strings.Clone(key.model) // it may be a piece of a whole request
		m.lockouts[key] = l
	}
	return append(eff, l.effect(ModelLockoutGuard, i, key.model, was))
}

// spare says whether there is room for one more lockout, once what blocks nothing any more has gone.
func (m *Machine) spare(now time.Time) bool {
	if len(m.lockouts) >= maxLockouts {
		maps.DeleteFunc(m.lockouts, func(_ lockKey, p *penalty) bool { return !p.active(now) })
	}
	return len(m.lockouts) < maxLockouts
}

// room makes room for one lockout: what blocks nothing any more goes first, else the one that ends soonest.
func (m *Machine) room(now time.Time) {
	if m.spare(now) {
		return
	}
	delete(m.lockouts, slices.MinFunc(slices.Collect(maps.Keys(m.lockouts)), func(a, b lockKey) int {
		return cmp.Or(m.lockouts[a].end().until.Compare(m.lockouts[b].end().until), strings.Compare(a.model, b.model), cmp.Compare(a.holder, b.holder))
	}))
}

// pass takes a success: it resets the credential at index i (-1: it went away) and clears the model's lockouts, as far
// as they are no younger than the permit (R16, R42, R43).
func (m *Machine) pass(now time.Time, p *Permit, i int, eff []Effect) []Effect {
	if i >= 0 {
		c := &m.credentials[i]
		was := blockedWord(m.cooled(now, c))
		if c.cooldown.pass(now, p) {
			eff = append(eff, c.cooldown.effect(CredentialCooldownGuard, i, "", was))
		}
	}
	if len(m.lockouts) == 0 {
		return eff
	}
	eff = m.unlock(now, p, lockKey{model: p.Model}, -1, eff)
	if i >= 0 {
		eff = m.unlock(now, p, lockKey{p.holder, p.Model}, i, eff)
	}
	return eff
}

// unlock clears one lockout. It stays known, so that a failure from before it does not start a new one (R42).
func (m *Machine) unlock(now time.Time, p *Permit, key lockKey, i int, eff []Effect) []Effect {
	l := m.lockouts[key]
	was := blockedWord(m.locks(now, l))
	if l == nil || !l.pass(now, p) {
		return eff
	}
	return append(eff, l.effect(ModelLockoutGuard, i, strings.Clone(p.Model), was))
}

// effect is the change of a penalty from one word to what it is now.
func (p *penalty) effect(g Guard, i int, model, from string) Effect {
	e := p.end()
	return Effect{
		Guard: g, Credential: i, Model: model, From: from, To: blockedWord(!e.until.IsZero()), Reason: e.reason,
		Until: e.until, Level: p.level,
	}
}

// blocks is the block of a running penalty.
func (p *penalty) blocks(g Guard) Block {
	e := p.end()
	return Block{Guard: g, Reason: e.reason, Until: e.until, Named: e.named}
}

// blockedWord is the state word of a guard other than the breaker.
func blockedWord(blocked bool) string {
	if blocked {
		return "blocked"
	}
	return "ok"
}
