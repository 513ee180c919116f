package resilience

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Row is what one instance itself saw of one guard, for the others (R62): never what it heard from them, nor what an
// operator ordered. Times are of a clock that all share; who carries rows sees to that (R63).
type Row struct {
	Guard      Guard
	Credential string // by name; empty where the guard has none
	// Secret is the Fingerprint of the credential. Where both are known and differ, the row is of another secret and is passed over.
	Secret uint32
	Model  string // empty where the guard has none
	// Failures are a breaker's in a row, and FailedAt is when the last of them came.
	Failures int
	FailedAt time.Time
	// Since is when a breaker opened, as long as it has not closed again, or when a block was set; zero: neither. Until is
	// the end of that, and Named says that the upstream chose it.
	Since, Until time.Time
	Named        bool
	Trip         string // of a breaker
	Reason       Reason // of a block
	// Level is a block's, or a breaker's offences. Only Restore takes it: what escalates is each instance's own count.
	Level int
	// ProvedAt is when a probe of this instance's breaker last succeeded, in the present open period or the one before (R66).
	ProvedAt time.Time
}

// evidence is a breaker's part of a Row.
type evidence struct {
	failures          int
	failedAt          time.Time
	openedAt, retryAt time.Time
	trip              string
	named             bool
	provedAt          time.Time // R66: in the present open period, or the last
}

// Rows appends what this instance saw itself and has not seen refuted since, in an order of its own: the same state gives the same.
func (m *Machine) Rows(now time.Time, rows []Row) []Row {
	told := m.settings.longestOpen()
	rows = m.breaker.row(now, told, rows)
	for _, name := range m.known() {
		rows = m.models[name].row(now, told, rows)
	}
	for i := range m.credentials {
		c := &m.credentials[i]
		rows = c.cooldown.row(now, Row{Guard: CredentialCooldownGuard, Credential: c.Name, Secret: c.Fingerprint}, rows)
	}
	first := len(rows)
	for key, p := range m.lockouts {
		r := Row{Guard: ModelLockoutGuard, Model: key.model}
		if i := m.index(key.holder); i >= 0 {
			r.Credential, r.Secret = m.credentials[i].Name, m.credentials[i].Fingerprint
		}
		rows = p.row(now, r, rows)
	}
	slices.SortFunc(rows[first:], func(a, b Row) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Credential, b.Credential))
	})
	return rows
}

// row is the breaker's. A proof is told on for as long as an open period may last that began before it.
func (b *breaker) row(now time.Time, told time.Duration, rows []Row) []Row {
	e := b.own
	if !e.provedAt.IsZero() && now.Sub(e.provedAt) >= told {
		e.provedAt = time.Time{}
	}
	if b.reach == spectator || e.failures == 0 && e.openedAt.IsZero() && e.provedAt.IsZero() {
		return rows
	}
	return append(rows, Row{
		Guard: CircuitBreaker, Model: b.model, Failures: e.failures, FailedAt: e.failedAt, Since: e.openedAt, Until: e.retryAt,
		Named: e.named, Trip: e.trip, Level: b.offences, ProvedAt: e.provedAt,
	})
}

func (p *penalty) row(now time.Time, r Row, rows []Row) []Row {
	if !now.Before(p.until) {
		return rows
	}
	r.Since, r.Until, r.Named, r.Reason, r.Level = p.setAt, p.until, p.named, p.reason, p.level
	return append(rows, r)
}
