package resilience

import (
	"cmp"
	"strings"
	"time"
)

// Absorb takes what other instances saw. Caution wins: the higher count of failures and the later end of a block or of
// an open period stay. A breaker's open period counts only if it began after the breaker last closed here, its failures only if they
// are newer than the last success here, and a block only if it was set after the last attempt that succeeded here
// began. Nothing that others say closes a breaker or ends a block, and no rate of failures is theirs; but of an open period that
// began before a good probe of theirs no more is left than half-open (R66). In whatever order, how often
// and in what portions rows are taken, the state is the same in the end. Credentials and guards that are not here are passed over.
func (m *Machine) Absorb(now time.Time, rows []Row, eff []Effect) []Effect {
	return m.take(now, rows, false, eff)
}

// Restore is Absorb for what a store kept while nobody here was awake (R65): it takes the blocks and open periods that still
// run, and their levels, the higher ones; good probes; and nothing else of a row, since who wrote it may be gone. What it takes
// is no evidence of this instance's own.
func (m *Machine) Restore(now time.Time, rows []Row, eff []Effect) []Effect {
	return m.take(now, rows, true, eff)
}

// take absorbs or restores. Proofs go first, lest a breaker open for a moment.
func (m *Machine) take(now time.Time, rows []Row, restore bool, eff []Effect) []Effect {
	eff = m.breaker.look(now, &m.settings, eff)
	for i := range rows {
		if r := &rows[i]; r.Guard == CircuitBreaker && !r.ProvedAt.IsZero() {
			var b *breaker
			if b, eff = m.meant(now, r, eff); b != nil {
				eff = b.hearProof(now, r.ProvedAt, &m.settings, eff)
			}
		}
	}
	full := false // of lockouts: to find out takes a look at all of them
	for i := range rows {
		r := &rows[i]
		switch r.Guard {
		case CircuitBreaker:
			eff = m.takeBreaker(now, r, restore, eff)
		case CredentialCooldownGuard:
			if c := m.named(r); c >= 0 && m.settings.CredentialCooldown.Base > 0 {
				eff = m.takeBlock(now, &m.credentials[c].cooldown, r, c, restore, eff)
			}
		case ModelLockoutGuard:
			eff = m.takeLockout(now, r, restore, &full, eff)
		case None, LimitGuard: // limits are counted elsewhere
		}
	}
	return eff
}

// meant is the breaker that a row is of, as of now; nil: there is none here, and no room for one.
func (m *Machine) meant(now time.Time, r *Row, eff []Effect) (*breaker, []Effect) {
	if r.Model == "" {
		return &m.breaker, eff
	}
	if m.settings.Breaker.Scope == PerProvider {
		return nil, eff
	}
	b, eff := m.look(now, r.Model, eff)
	if b != nil || r.Failures <= 0 && r.Since.IsZero() && r.ProvedAt.IsZero() || !m.roomy() {
		return b, eff
	}
	return m.breed(now, r.Model, eff)
}

// roomy says whether there is room for the breaker of another model that costs no other one what it knows.
func (m *Machine) roomy() bool {
	if len(m.models) < maxModels {
		return true
	}
	for _, b := range m.models {
		if b.quiet() && b.failures == 0 {
			return true
		}
	}
	return false
}

func (m *Machine) takeBreaker(now time.Time, r *Row, restore bool, eff []Effect) []Effect {
	b, eff := m.meant(now, r, eff)
	if b == nil {
		return eff
	}
	running := now.Before(r.Until)
	if restore && (r.Since.IsZero() || !running) {
		b.recall(now, r, &m.settings)
		return eff
	}
	if r.Failures > b.failures && r.FailedAt.After(b.passedAt) {
		b.failures = r.Failures
	}
	if r.Since.IsZero() || !r.Since.After(b.closedAt) || !b.on(&m.settings) || b.order.Action != NoAction || m.held() {
		return eff
	}
	if restore {
		b.offences = max(b.offences, r.Level)
	}
	taken := b.state == Closed || b.outlasted(r)
	over := !now.Before(b.retryAt) // what was known so far
	younger := running && (over || r.Since.After(b.youngest))
	if younger || taken && over {
		b.youngest = r.Since
	}
	if taken {
		b.openedAt, b.retryAt, b.trip, b.named = r.Since, r.Until, r.Trip, r.Named
	}
	if b.state == Closed || running && (taken || younger) {
		b.proven = 0
	}
	switch open := now.Before(b.retryAt) && !b.excused(); {
	case open && b.state != Open:
		eff = b.enter(Open, eff)
	case !open && b.state == Closed:
		eff = b.enter(HalfOpen, eff)
	}
	return eff
}

// recall restores the offences of a breaker that had closed when they were written, as long as they would not have faded (R29).
func (b *breaker) recall(now time.Time, r *Row, s *Settings) {
	if r.Level > 0 && !r.ProvedAt.IsZero() && (s.Cooldown.Max <= 0 || now.Sub(r.ProvedAt) < s.Cooldown.Max) {
		b.offences, b.calmAt = max(b.offences, r.Level), later(b.calmAt, r.ProvedAt)
	}
}

// outlasted says whether a row's open period is to take the place of the breaker's: the one that ends later does, and of two
// with the same end always the same.
func (b *breaker) outlasted(r *Row) bool {
	if d := cmp.Or(r.Until.Compare(b.retryAt), r.Since.Compare(b.openedAt), strings.Compare(r.Trip, b.trip)); d != 0 {
		return d > 0
	}
	return r.Named && !b.named
}

func (m *Machine) takeLockout(now time.Time, r *Row, restore bool, full *bool, eff []Effect) []Effect {
	if len(r.Model) > maxModelName || m.settings.ModelLockout.Base <= 0 || !now.Before(r.Until) {
		return eff
	}
	key, i := lockKey{model: r.Model}, -1
	if r.Credential != "" {
		if i = m.named(r); i < 0 {
			return eff
		}
		key.holder = m.credentials[i].id
	}
	l, known := m.lockouts[key]
	if !known {
		if *full = *full || !m.spare(now); *full {
			return eff
		}
		l = new(penalty)
		key.model = strings.Clone(key.model)
		m.lockouts[key] = l
	}
	return m.takeBlock(now, l, r, i, restore, eff)
}

func (m *Machine) takeBlock(now time.Time, p *penalty, r *Row, i int, restore bool, eff []Effect) []Effect {
	if !now.Before(r.Until) || !r.Since.After(p.passed) {
		return eff
	}
	if restore {
		p.level = max(p.level, r.Level)
	}
	if !p.lent.less(ending{r.Until, r.Named, r.Reason}) {
		return eff
	}
	active, before := p.active(now), p.end()
	p.lent = ending{r.Until, r.Named, r.Reason}
	m.blocks++
	p.set = m.blocks
	if e := p.end(); e == before || active && e.until.Sub(before.until) < sameTime && e.reason == before.reason {
		return eff // nothing to tell
	}
	return append(eff, p.effect(r.Guard, i, r.Model, blockedWord(active)))
}

// less orders ends: the later one wins, and of equal ones always the same.
func (e ending) less(f ending) bool {
	if d := e.until.Compare(f.until); d != 0 {
		return d < 0
	}
	if e.named != f.named {
		return f.named
	}
	return e.reason < f.reason
}

// named is the index of a row's credential, -1 if there is none of that name and, as far as is known, that secret.
func (m *Machine) named(r *Row) int {
	for i := range m.credentials {
		if c := &m.credentials[i]; c.Name == r.Credential {
			if r.Secret != 0 && c.Fingerprint != 0 && r.Secret != c.Fingerprint {
				return -1
			}
			return i
		}
	}
	return -1
}
