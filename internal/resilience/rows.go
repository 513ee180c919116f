package resilience

import (
	"cmp"
	"strings"
	"time"
)

// Row is what one instance itself saw of one guard, for the others (R62): never what it heard from them, nor what an
// operator ordered. Times are of a clock that all share; who carries rows sees to that (R63).
type Row struct {
	Guard      Guard
	Credential string // by name; empty where the guard has none
	Model      string // empty where the guard has none
	// Failures are a breaker's in a row, and FailedAt is when the last of them came.
	Failures int
	FailedAt time.Time
	// Since is when a breaker opened, as long as it has not closed again, or when a block was set; zero: neither. Until is
	// the end of that, and Named says that the upstream chose it.
	Since, Until time.Time
	Named        bool
	Trip         string // of a breaker
	Reason       Reason // of a block
}

// evidence is a breaker's part of a Row.
type evidence struct {
	failures          int
	failedAt          time.Time
	openedAt, retryAt time.Time
	trip              string
	named             bool
}

// Rows appends what this instance saw itself and has not seen refuted since.
func (m *Machine) Rows(now time.Time, rows []Row) []Row {
	rows = m.breaker.row(rows)
	for _, name := range m.known() {
		rows = m.models[name].row(rows)
	}
	for i := range m.credentials {
		c := &m.credentials[i]
		rows = c.cooldown.row(now, Row{Guard: CredentialCooldownGuard, Credential: c.Name}, rows)
	}
	for key, p := range m.lockouts {
		r := Row{Guard: ModelLockoutGuard, Model: key.model}
		if i := m.index(key.holder); i >= 0 {
			r.Credential = m.credentials[i].Name
		}
		rows = p.row(now, r, rows)
	}
	return rows
}

func (b *breaker) row(rows []Row) []Row {
	e := &b.own
	if b.reach == spectator || e.failures == 0 && e.openedAt.IsZero() {
		return rows
	}
	return append(rows, Row{
		Guard: CircuitBreaker, Model: b.model, Failures: e.failures, FailedAt: e.failedAt, Since: e.openedAt, Until: e.retryAt,
		Named: e.named, Trip: e.trip,
	})
}

func (p *penalty) row(now time.Time, r Row, rows []Row) []Row {
	if !now.Before(p.until) {
		return rows
	}
	r.Since, r.Until, r.Named, r.Reason = p.setAt, p.until, p.named, p.reason
	return append(rows, r)
}

// Absorb takes what other instances saw. Caution wins: the higher count of failures and the later end of a block or of
// an open period stay. A breaker's open period counts only if it began after the breaker last closed here, its failures only if they
// are newer than the last success here, and a block only if it was set after the last attempt that succeeded here
// began. Nothing that others say closes a breaker or ends a block, and no rate of failures is theirs. In whatever order, how often
// and in what portions rows are taken, the state is the same in the end. Credentials and guards that are not here are passed over.
func (m *Machine) Absorb(now time.Time, rows []Row, eff []Effect) []Effect {
	eff = m.breaker.look(now, &m.settings, eff)
	for i := range rows {
		r := &rows[i]
		switch r.Guard {
		case CircuitBreaker:
			eff = m.absorbBreaker(now, r, eff)
		case CredentialCooldownGuard:
			if c := m.named(r.Credential); c >= 0 && m.settings.CredentialCooldown.Base > 0 {
				eff = m.absorbBlock(now, &m.credentials[c].cooldown, r, c, eff)
			}
		case ModelLockoutGuard:
			eff = m.absorbLockout(now, r, eff)
		case None:
		}
	}
	return eff
}

func (m *Machine) absorbBreaker(now time.Time, r *Row, eff []Effect) []Effect {
	b := &m.breaker
	if r.Model != "" {
		if m.settings.Breaker.Scope == PerProvider {
			return eff
		}
		if b, eff = m.look(now, r.Model, eff); b == nil {
			if b, eff = m.breed(now, r.Model, eff); b == nil {
				return eff
			}
		}
	}
	if r.Failures > b.failures && r.FailedAt.After(b.passedAt) {
		b.failures = r.Failures
	}
	if r.Since.IsZero() || !r.Since.After(b.closedAt) || !b.on(&m.settings) || b.order.Action != NoAction || m.held() {
		return eff
	}
	if b.state != Closed && !b.outlasted(r) {
		return eff
	}
	b.openedAt, b.retryAt, b.trip, b.named = r.Since, r.Until, r.Trip, r.Named
	switch open := now.Before(r.Until); {
	case open && b.state != Open:
		b.proven = 0
		eff = b.enter(Open, eff)
	case !open && b.state == Closed:
		b.proven = 0
		eff = b.enter(HalfOpen, eff)
	}
	return eff
}

// outlasted says whether a row's open period is to take the place of the breaker's: the one that ends later does, and of two
// with the same end always the same.
func (b *breaker) outlasted(r *Row) bool {
	if d := cmp.Or(r.Until.Compare(b.retryAt), r.Since.Compare(b.openedAt), strings.Compare(r.Trip, b.trip)); d != 0 {
		return d > 0
	}
	return r.Named && !b.named
}

func (m *Machine) absorbLockout(now time.Time, r *Row, eff []Effect) []Effect {
	if len(r.Model) > maxModelName || m.settings.ModelLockout.Base <= 0 || !now.Before(r.Until) {
		return eff
	}
	key, i := lockKey{model: r.Model}, -1
	if r.Credential != "" {
		if i = m.named(r.Credential); i < 0 {
			return eff
		}
		key.holder = m.credentials[i].id
	}
	l, known := m.lockouts[key]
	if !known {
		l = new(penalty)
		m.room(now)
		key.model = strings.Clone(key.model)
		m.lockouts[key] = l
	}
	return m.absorbBlock(now, l, r, i, eff)
}

func (m *Machine) absorbBlock(now time.Time, p *penalty, r *Row, i int, eff []Effect) []Effect {
	if !now.Before(r.Until) || !r.Since.After(p.passed) || !p.lent.less(ending{r.Until, r.Named, r.Reason}) {
		return eff
	}
	was, before := blockedWord(p.active(now)), p.end()
	p.lent = ending{r.Until, r.Named, r.Reason}
	m.blocks++
	p.set = m.blocks
	if p.end() == before {
		return eff
	}
	return append(eff, p.effect(r.Guard, i, r.Model, was))
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

// named is the index of a credential, -1 if there is none of that name.
func (m *Machine) named(name string) int {
	for i := range m.credentials {
		if m.credentials[i].Name == name {
			return i
		}
	}
	return -1
}
