package resilience

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"evergate/internal/fault"
)

// Model names come from clients, so what is kept of them is bounded.
const (
	maxLockouts  = 1024
	maxModelName = 1024 // bytes; a longer one is no model's name and is never locked
)

// Machine is one provider's guards: its breaker and those of its models (R35), its credentials' cooldowns and its models' lockouts. Not safe for
// concurrent use: its owner serialises calls. Methods append what they changed to the effects they are given.
type Machine struct {
	settings    Settings
	strategy    KeyStrategy
	breaker     breaker
	models      map[string]*breaker // bounded; nil until one is needed
	moves       uint64              // transitions of all breakers so far
	floor       uint64              // number of the last transition of a breaker that was forgotten, or of the last reset
	resetAt     time.Time           // when an operator last reset all of them (R31)
	credentials []credential
	lockouts    map[lockKey]*penalty
	holders     uint64 // credential states made so far
	blocks      uint64 // blocks of credentials and models set so far (R42)
	asked       uint64 // calls of Admit so far
	proofs      uint64 // good probes so far
}

// credential is one credential with its guard and its use.
type credential struct {
	Credential
	id       uint64 // of this state, whatever its index
	cooldown penalty
	early    lease // R51
	inFlight int
	used     uint64 // permits given out
	turn     uint64 // number of the last one, for round robin
}

// lockKey is what a lockout holds for: a model on one credential, or on all (holder 0).
type lockKey struct {
	holder uint64
	model  string
}

// New makes a machine with every guard clear. An empty list of credentials is one anonymous credential named "default".
func New(s Settings, strategy KeyStrategy, credentials []Credential) *Machine {
	m := &Machine{lockouts: make(map[lockKey]*penalty)}
	m.breaker.moves, m.breaker.proofs = &m.moves, &m.proofs
	m.Configure(s, strategy, credentials)
	return m
}

// Configure takes new settings and credentials and keeps all guard state: the breaker's, that of credentials known by
// the same Name and Identity, whatever their index, and model lockouts. Permits given out before still settle: one whose
// credential went away moves no guard of a credential. The machine keeps the Models of the credentials it is given.
func (m *Machine) Configure(s Settings, strategy KeyStrategy, credentials []Credential) {
	m.settings, m.strategy = s, strategy
	m.rescope()
	if len(credentials) == 0 {
		credentials = []Credential{{Name: "default"}}
	}
	old := m.credentials
	// A newcomer starts level with the least used, or LeastUsed would send it everything.
	var used uint64
	if len(old) > 0 {
		used = slices.MinFunc(old, func(a, b credential) int { return cmp.Compare(a.used, b.used) }).used
	}
	m.credentials = make([]credential, 0, len(credentials))
	for _, c := range credentials {
		i := slices.IndexFunc(old, func(o credential) bool { return o.Name == c.Name && o.Identity == c.Identity })
		if i < 0 {
			m.holders++
			m.credentials = append(m.credentials, credential{Credential: c, id: m.holders, used: used})
			continue
		}
		kept := old[i]
		kept.Credential = c
		m.credentials = append(m.credentials, kept)
		old = slices.Delete(old, i, i+1)
	}
	for key := range m.lockouts {
		if key.holder != 0 && m.index(key.holder) < 0 {
			delete(m.lockouts, key)
		}
	}
}

// Credentials is the number of credentials (at least 1).
func (m *Machine) Credentials() int { return len(m.credentials) }

// ConsecutiveFailures is the count of the provider's breaker. It is kept when the breaker is off, too.
func (m *Machine) ConsecutiveFailures() int { return m.breaker.failures }

// FailuresBefore is the higher count of the breakers that an attempt for model passes, for R52(a).
func (m *Machine) FailuresBefore(model string) int {
	if b := m.narrow(model); b != nil {
		return max(b.failures, m.breaker.failures)
	}
	return m.breaker.failures
}

// Check says what blocks (credential, model) now, the widest guard first; the zero Block if nothing does. It moves an
// expired open breaker to half-open (R22) and appends that to eff. The ramp, which only Pick can tell (R34), and whether Credential.Models allows the
// model are not its business. A credential that does not exist has no guard.
func (m *Machine) Check(now time.Time, credential int, model string, eff []Effect) (Block, []Effect) {
	narrow, eff := m.look(now, model, eff)
	if m.clear(now, narrow, credential, model) {
		return Block{}, eff
	}
	return m.survey(now, narrow, credential, model).block, eff
}

// Admit asks for a permit for one attempt of (credential, model). deadline is when the attempt ends at the latest: its
// leases last until then (R33), or 10 min if it is zero. Without force it is refused with what Check says, and in a
// half-open breaker it takes a probe slot. With force it is admitted in spite of every guard but an operator's word (R31)
// and without a slot (R51); only where the upstream itself named an end does it need the credential's early-try lease, and is refused with a block
// that has Early set while another permit holds that. A refused permit is the zero Permit and must not be settled.
func (m *Machine) Admit(now time.Time, credential int, model string, deadline time.Time, force bool, eff []Effect) (Permit, Block, []Effect) {
	narrow, eff := m.look(now, model, eff)
	p := Permit{Credential: credential, Model: model, Admitted: now, mark: m.blocks}
	c := m.at(credential)
	m.asked++
	if !m.clear(now, narrow, credential, model) {
		s := m.survey(now, narrow, credential, model)
		if !force || s.block.Forbids() {
			return Permit{}, s.block, eff
		}
		if s.named.Blocked() && c != nil {
			if s.named.Early {
				return Permit{}, s.named, eff
			}
			p.early = m.asked
			c.early = newLease(p.early, now, deadline)
		}
	}
	p.wide = m.breaker.admit(now, deadline, force, &m.settings)
	switch {
	case narrow != nil:
		p.narrow = narrow.admit(now, deadline, force, &m.settings)
	case m.settings.Breaker.Scope != PerProvider: // its breaker is made once there is something to keep
		p.narrow = ticket{mark: m.moves, as: ordinary}
	}
	if c != nil {
		p.holder = c.id
		c.inFlight++
		c.used++
		c.turn = m.asked
	}
	return p, Block{}, eff
}

// FirstContent is called once at a streamed attempt's first content event: a probe gives its slot back, its verdict
// stays due (R26).
func (m *Machine) FirstContent(now time.Time, p *Permit, eff []Effect) []Effect {
	narrow, eff := m.look(now, p.Model, eff)
	if narrow != nil {
		narrow.release(&p.narrow)
	}
	m.breaker.release(&p.wide)
	return eff
}

// Sound is called once 10 s after the first content event of a stream that is still running: a probe's verdict is
// success then, and its end an ordinary result (R26).
func (m *Machine) Sound(now time.Time, p *Permit, eff []Effect) []Effect {
	narrow, eff := m.look(now, p.Model, eff)
	if narrow != nil {
		eff = narrow.sound(now, &m.settings, &p.narrow, eff)
	}
	return m.breaker.sound(now, &m.settings, &p.wide, eff)
}

// Settle ends a permit with its outcome. rnd in [0, 1) gives the jitter of R41. Calling it twice with the same permit is
// the caller's bug.
func (m *Machine) Settle(now time.Time, p Permit, o Outcome, rnd float64, eff []Effect) []Effect {
	_, eff = m.look(now, p.Model, eff)
	r := result{verdict: judge(o), connection: o.Class == fault.Connect || o.Class == fault.Reset, held: m.held()}
	if r.verdict == limited {
		if o.Wait.Named {
			r.wait = atMost(o.Wait.For, m.settings.CredentialCooldown.Max)
		}
		r.alone = (p.wide.as == probe || p.narrow.as == probe) && !m.sibling(now, p)
	}
	eff = m.settleBreakers(now, &p, &r, eff)

	i := m.index(p.holder)
	if i >= 0 {
		c := &m.credentials[i]
		c.inFlight = max(c.inFlight-1, 0)
		if p.early != 0 && c.early.id == p.early {
			c.early = lease{}
		}
	}
	if r.verdict == passed {
		return m.pass(now, &p, i, eff)
	}
	switch o.Class {
	case fault.RateLimited:
		return m.cool(now, &p, i, RateLimited, o.Wait, rnd, eff)
	case fault.Quota:
		return m.cool(now, &p, i, QuotaExhausted, o.Wait, rnd, eff)
	case fault.Auth:
		return m.cool(now, &p, i, AuthFailed, o.Wait, rnd, eff)
	case fault.ModelMissing:
		return m.lock(now, &p, lockKey{model: p.Model}, -1, ModelNotFound, o.Wait, eff)
	case fault.ModelLimited:
		if i >= 0 {
			return m.lock(now, &p, lockKey{p.holder, p.Model}, i, ModelLimited, o.Wait, eff)
		}
	case fault.Unknown, fault.Connect, fault.Reset, fault.Timeout, fault.Upstream, fault.CallerAuth, fault.Rejected,
		fault.ContextLength, fault.ContentFilter, fault.ClientGone, fault.Invalid, fault.Cut, fault.Next, fault.RouteMissing, fault.ClientDeadline, fault.Unable,
		fault.NoToken:
	}
	return eff
}

// at is the credential at an index, nil if there is none.
func (m *Machine) at(i int) *credential {
	if i < 0 || i >= len(m.credentials) {
		return nil
	}
	return &m.credentials[i]
}

// index is where the credential with this state is now, -1 if it went away.
func (m *Machine) index(holder uint64) int {
	for i := range m.credentials {
		if m.credentials[i].id == holder {
			return i
		}
	}
	return -1
}

// View copies the state as of now. Like Check it moves an expired breaker on.
func (m *Machine) View(now time.Time, eff []Effect) (View, []Effect) {
	eff = m.breaker.look(now, &m.settings, eff)
	v := View{
		Scope: m.settings.Breaker.Scope, Breaker: m.breaker.view(&m.settings, now), Credentials: make([]CredentialView, len(m.credentials)),
	}
	for _, name := range m.known() {
		b := m.models[name]
		eff = b.look(now, &m.settings, eff)
		v.Models = append(v.Models, ModelBreakerView{name, b.view(&m.settings, now)})
	}
	for i := range m.credentials {
		c := &m.credentials[i]
		v.Credentials[i] = CredentialView{Name: c.Name, State: "ok", Level: c.cooldown.level}
		if m.cooled(now, c) {
			v.Credentials[i].State = "cooldown"
			e := c.cooldown.end()
			v.Credentials[i].Until, v.Credentials[i].Reason = e.until, e.reason
		}
	}
	for key, p := range m.lockouts {
		if !m.locks(now, p) {
			continue
		}
		e := p.end()
		l := LockoutView{Model: key.model, Until: e.until, Reason: e.reason, Level: p.level}
		if i := m.index(key.holder); i >= 0 {
			l.Credential = m.credentials[i].Name
		}
		v.Lockouts = append(v.Lockouts, l)
	}
	slices.SortFunc(v.Lockouts, func(a, b LockoutView) int {
		return cmp.Or(strings.Compare(a.Model, b.Model), strings.Compare(a.Credential, b.Credential))
	})
	return v, eff
}
