package resilience

import (
	"math"
	"slices"
	"testing"
	"time"

	"evergate/internal/fault"
)

// mutant is a machine with one rule broken: by other settings than its twin's, or by a hand that reaches in before or
// after a call. nil leaves that alone.
type mutant struct {
	*Machine
	settings func(*Settings)
	made     func(*Machine)
	admitted func(m *Machine, now time.Time, p *Permit)
	admit    func(m *Machine, now time.Time, c int, model string, deadline time.Time, force bool, eff []Effect) (Permit, Block, []Effect)
	content  func(m *Machine, now time.Time, p *Permit, eff []Effect) []Effect
	sound    func(m *Machine, now time.Time, p *Permit, eff []Effect) []Effect
	settle   func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect
	pick     func(rnd float64) float64
	operate  func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error)
	absorb   func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect
	rows     func(m *Machine, rows []Row) []Row
	yield    func(m *Machine, now time.Time, model string, openedAt, until time.Time) bool
	check    func(Block, []Effect) (Block, []Effect)
}

func (u *mutant) Admit(now time.Time, c int, model string, deadline time.Time, force bool, eff []Effect) (Permit, Block, []Effect) {
	call := u.admit
	if call == nil {
		call = (*Machine).Admit
	}
	p, b, eff := call(u.Machine, now, c, model, deadline, force, eff)
	if u.admitted != nil && !b.Blocked() {
		u.admitted(u.Machine, now, &p)
	}
	return p, b, eff
}

func (u *mutant) FirstContent(now time.Time, p *Permit, eff []Effect) []Effect {
	if u.content != nil {
		return u.content(u.Machine, now, p, eff)
	}
	return u.Machine.FirstContent(now, p, eff)
}

func (u *mutant) Sound(now time.Time, p *Permit, eff []Effect) []Effect {
	if u.sound != nil {
		return u.sound(u.Machine, now, p, eff)
	}
	return u.Machine.Sound(now, p, eff)
}

func (u *mutant) Settle(now time.Time, p Permit, o Outcome, rnd float64, eff []Effect) []Effect {
	if u.settle != nil {
		return u.settle(u.Machine, now, p, o, eff)
	}
	return u.Machine.Settle(now, p, o, rnd, eff)
}

func (u *mutant) Pick(now time.Time, model string, skip func(int) bool, rnd float64, eff []Effect) (int, Block, bool, []Effect) {
	if u.pick != nil {
		rnd = u.pick(rnd)
	}
	return u.Machine.Pick(now, model, skip, rnd, eff)
}

func (u *mutant) Operate(now time.Time, o Order, eff []Effect) ([]Effect, error) {
	if u.operate != nil {
		return u.operate(u.Machine, now, o, eff)
	}
	return u.Machine.Operate(now, o, eff)
}

func (u *mutant) Absorb(now time.Time, rows []Row, eff []Effect) []Effect {
	if u.absorb != nil {
		return u.absorb(u.Machine, now, rows, eff)
	}
	return u.Machine.Absorb(now, rows, eff)
}

func (u *mutant) Rows(now time.Time, rows []Row) []Row {
	rows = u.Machine.Rows(now, rows)
	if u.rows != nil {
		rows = u.rows(u.Machine, rows)
	}
	return rows
}

func (u *mutant) Yield(now time.Time, model string, openedAt, until time.Time) bool {
	if u.yield != nil {
		return u.yield(u.Machine, now, model, openedAt, until)
	}
	return u.Machine.Yield(now, model, openedAt, until)
}

func (u *mutant) Check(now time.Time, c int, model string, eff []Effect) (Block, []Effect) {
	b, eff := u.Machine.Check(now, c, model, eff)
	if u.check != nil {
		return u.check(b, eff)
	}
	return b, eff
}

// each is every breaker of a machine.
func each(m *Machine, do func(*breaker)) {
	do(&m.breaker)
	for _, b := range m.models {
		do(b)
	}
}

// mine are those that a permit is settled at.
func mine(m *Machine, p *Permit, do func(*breaker, *ticket)) {
	do(&m.breaker, &p.wide)
	if b := m.models[p.Model]; b != nil {
		do(b, &p.narrow)
	}
}

// fate changes what an attempt came to.
func fate(from, to fault.Class) func(*Machine, time.Time, Permit, Outcome, []Effect) []Effect {
	return func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		if !o.Success && o.Class == from {
			o = of(to)
		}
		return m.Settle(now, p, o, 0.5, eff)
	}
}

// renewed makes the tickets of one standing look as if they were given out just now.
func renewed(as standing) func(*Machine, time.Time, Permit, Outcome, []Effect) []Effect {
	return func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		mine(m, &p, func(_ *breaker, t *ticket) {
			if t.as == as {
				t.mark = math.MaxUint64
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}
}

// kept settles, and then has a hand on each of its breakers that was in a state.
func kept(in State, after func(now time.Time, was breaker, b *breaker, p *Permit, o Outcome)) func(*Machine, time.Time, Permit, Outcome, []Effect) []Effect {
	return func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		_, eff = m.look(now, p.Model, eff)
		var was []breaker
		mine(m, &p, func(b *breaker, _ *ticket) { was = append(was, *b) })
		eff = m.Settle(now, p, o, 0.5, eff)
		mine(m, &p, func(b *breaker, _ *ticket) {
			for _, w := range was {
				if w.model == b.model && w.state == in {
					after(now, w, b, &p, o)
				}
			}
		})
		return eff
	}
}

// rewritten absorbs rows that were changed on the way.
func rewritten(change func(now time.Time, r *Row)) func(*Machine, time.Time, []Row, []Effect) []Effect {
	return func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		rows = slices.Clone(rows)
		for i := range rows {
			change(now, &rows[i])
		}
		return m.Absorb(now, rows, eff)
	}
}

// proofsKept absorbs rows and goes on with the proofs that there were.
func proofsKept(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
	eff = m.Absorb(now, nil, eff)
	was := map[*breaker]int{}
	each(m, func(b *breaker) { was[b] = b.proven })
	eff = m.Absorb(now, rows, eff)
	each(m, func(b *breaker) {
		if b.state == HalfOpen {
			b.proven = was[b]
		}
	})
	return eff
}

// forgetful absorbs rows with something of each breaker put out of mind.
func forgetful(forget func(*breaker)) func(*Machine, time.Time, []Row, []Effect) []Effect {
	return func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		each(m, forget)
		return m.Absorb(now, rows, eff)
	}
}

// mutants are machines that each break a rule; the twins have to notice every one.
var mutants = map[string]mutant{
	// R20
	"opens a failure late": {settings: func(s *Settings) { s.Breaker.FailureThreshold *= 2 }},
	"opens a failure early": {settings: func(s *Settings) {
		s.Breaker.FailureThreshold = max(s.Breaker.FailureThreshold-1, min(s.Breaker.FailureThreshold, 1))
	}},
	"a success keeps a count": {settle: kept(Closed, func(_ time.Time, was breaker, b *breaker, _ *Permit, _ Outcome) {
		b.failures = max(b.failures, was.failures)
	})},
	// R21
	"a failure while open extends": {settle: kept(Open, func(now time.Time, _ breaker, b *breaker, _ *Permit, o Outcome) {
		if judge(o) == failed && b.state == Open && b.order.Action == NoAction {
			b.retryAt = now.Add(30 * time.Second)
		}
	})},
	"a failure while open counts": {settle: kept(Open, func(_ time.Time, _ breaker, b *breaker, _ *Permit, o Outcome) {
		if judge(o) == failed {
			b.failures++
		}
	})},
	// R22
	"opens for a second less": {settings: func(s *Settings) { s.Breaker.Timeout -= time.Second }},
	"a look tells nobody": {check: func(b Block, _ []Effect) (Block, []Effect) { return b, nil }, admit: func(m *Machine, now time.Time, c int, model string, d time.Time, force bool, _ []Effect) (Permit, Block, []Effect) {
		p, b, _ := m.Admit(now, c, model, d, force, nil)
		return p, b, nil
	}},
	// R23
	"one probe more":               {settings: func(s *Settings) { s.Breaker.HalfOpenMaxProbes += min(s.Breaker.HalfOpenMaxProbes, 1) }},
	"a transition frees the slots": {settle: kept(HalfOpen, func(_ time.Time, _ breaker, b *breaker, _ *Permit, _ Outcome) { b.slots = nil })},
	// R24
	"one proof closes":            {settings: func(s *Settings) { s.Breaker.SuccessThreshold = 1 }},
	"a 4xx is no proof":           {settle: fate(fault.Rejected, fault.ClientGone)},
	"proofs outlive an opening":   {settle: kept(HalfOpen, func(_ time.Time, was breaker, b *breaker, _ *Permit, _ Outcome) { b.proven = max(b.proven, was.proven) })},
	"reopening forgets the count": {settle: kept(HalfOpen, func(_ time.Time, _ breaker, b *breaker, _ *Permit, _ Outcome) { b.failures = 0 })},
	// R25
	"a limited probe decides nothing": {settle: fate(fault.RateLimited, fault.ClientGone)},
	"a limited probe is a failure":    {settle: fate(fault.RateLimited, fault.Upstream)},
	"a client that left is a failure": {settle: fate(fault.ClientGone, fault.Upstream)},
	"a client that left is a proof":   {settle: fate(fault.ClientGone, fault.Rejected)},
	// R26
	"a stream keeps its slot":       {content: func(_ *Machine, _ time.Time, _ *Permit, eff []Effect) []Effect { return eff }},
	"a sound stream proves nothing": {sound: (*Machine).FirstContent},
	"a sound stream proves it always": {sound: func(m *Machine, now time.Time, p *Permit, eff []Effect) []Effect {
		mine(m, p, func(_ *breaker, t *ticket) { t.mark = math.MaxUint64 })
		return m.Sound(now, p, eff)
	}},
	"a cut after a sound start is a probe's": {sound: func(m *Machine, now time.Time, p *Permit, eff []Effect) []Effect {
		wide, narrow := p.wide.as, p.narrow.as
		eff = m.Sound(now, p, eff)
		p.wide.as, p.narrow.as = wide, narrow
		return eff
	}},
	// R27
	"a late result counts":             {settle: renewed(ordinary)},
	"a late probe counts":              {settle: renewed(probe)},
	"a late forced one counts":         {settle: renewed(forced)},
	"the end of a sound stream counts": {settle: renewed(judged)},
	"a forced one decides nothing": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		mine(m, &p, func(_ *breaker, t *ticket) {
			if t.as == forced {
				t.as = judged
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}},
	"a forced failure reopens": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		mine(m, &p, func(_ *breaker, t *ticket) {
			if t.as == forced {
				t.as = probe
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}},
	// R28, R29
	"any ratio will do":     {settings: func(s *Settings) { s.Cooldown.MinFailureRatio = 0 }},
	"the window is long":    {settings: func(s *Settings) { s.Cooldown.Window *= 2 }},
	"cooldowns do not grow": {settings: func(s *Settings) { s.Cooldown.Factor = 1 }},
	"offences do not fade":  {settle: kept(Closed, func(now time.Time, _ breaker, b *breaker, _ *Permit, _ Outcome) { b.closedAt = now })},
	"offences fade at once": {settle: kept(Closed, func(_ time.Time, _ breaker, b *breaker, _ *Permit, _ Outcome) { b.offences = 0 })},
	"a failed probe offends": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		mine(m, &p, func(b *breaker, _ *ticket) {
			if b.trip == tripFailures {
				b.trip = tripCooldown
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}},
	// R31
	"an order has no end": {operate: func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error) {
		o.Until = time.Time{}
		return m.Operate(now, o, eff)
	}},
	"force passes an operator": {admit: func(m *Machine, now time.Time, c int, model string, d time.Time, force bool, eff []Effect) (Permit, Block, []Effect) {
		_, eff = m.look(now, model, eff)
		each(m, func(b *breaker) {
			if force && b.order.Action == ForceOpen {
				b.order = Order{}
				b.retryAt = now.Add(time.Hour)
			}
		})
		return m.Admit(now, c, model, d, force, eff)
	}},
	"forced closed it opens all the same": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		_, eff = m.look(now, p.Model, eff)
		each(m, func(b *breaker) {
			if b.order.Action == ForceClosed {
				b.order = Order{}
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}},
	"a reset keeps the count": {operate: func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error) {
		was := m.breaker.failures
		eff, err := m.Operate(now, o, eff)
		m.breaker.failures = was
		return eff, err
	}},
	"a reset keeps the window": {operate: func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error) {
		was := m.breaker.recent
		eff, err := m.Operate(now, o, eff)
		m.breaker.recent = was
		return eff, err
	}},
	"closing the provider leaves its models": {operate: func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error) {
		if o.Model == "" && o.Action == ForceClosed {
			eff = m.breaker.look(now, &m.settings, eff)
			return m.breaker.operate(now, o, eff), nil
		}
		return m.Operate(now, o, eff)
	}},
	"a probe closes what an operator opened": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		_, eff = m.look(now, p.Model, eff)
		mine(m, &p, func(b *breaker, t *ticket) {
			if b.order.Action == ForceOpen && t.as == forced {
				b.order = Order{}
			}
		})
		return m.Settle(now, p, o, 0.5, eff)
	}},
	// R33
	"a lease has no end": {admitted: func(m *Machine, _ time.Time, p *Permit) {
		mine(m, p, func(b *breaker, _ *ticket) {
			for i := range b.slots {
				b.slots[i].ends = epoch.Add(1e6 * time.Hour)
			}
		})
	}},
	"a settled probe keeps its slot": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		mine(m, &p, func(_ *breaker, t *ticket) { t.slot = 0 })
		return m.Settle(now, p, o, 0.5, eff)
	}},
	// R34
	"there is no ramp":       {settings: func(s *Settings) { s.Breaker.Ramp = 0 }},
	"a steep ramp":           {settings: func(s *Settings) { s.Breaker.Ramp /= 2 }},
	"a share for nobody":     {pick: func(float64) float64 { return 1 - 1.0/(1<<53) }},
	"the ramp knows no lone": {admitted: func(m *Machine, _ time.Time, p *Permit) { mine(m, p, func(b *breaker, _ *ticket) { b.lone = lease{} }) }},
	"an operator starts a ramp": {operate: func(m *Machine, now time.Time, o Order, eff []Effect) ([]Effect, error) {
		eff, err := m.Operate(now, o, eff)
		m.breaker.proved = m.breaker.state == Closed
		return eff, err
	}},
	// R35
	"the provider counts everything": {made: func(m *Machine) {
		if m.breaker.reach == connections {
			m.breaker.reach = everything
		}
	}},
	"models count connections": {settle: kept(Closed, func(now time.Time, _ breaker, b *breaker, _ *Permit, o Outcome) {
		if b.reach == answers && !o.Success && o.Class == fault.Connect {
			b.fail(now)
		}
	})},
	"a spectator plays along": {made: func(m *Machine) {
		if m.breaker.reach == spectator {
			m.breaker.reach = everything
		}
	}},
	"two models are nothing": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		scope := m.settings.Breaker.Scope
		if scope == Auto && m.models[p.Model] != nil {
			m.settings.Breaker.Scope = PerModel
		}
		eff = m.Settle(now, p, o, 0.5, eff)
		m.settings.Breaker.Scope = scope
		return eff
	}},
	"a model's permit is not settled": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		p.narrow.as = unasked
		return m.Settle(now, p, o, 0.5, eff)
	}},
	"models know no probes": {admit: func(m *Machine, now time.Time, c int, model string, d time.Time, force bool, eff []Effect) (Permit, Block, []Effect) {
		p, b, eff := m.Admit(now, c, model, d, force, eff)
		if n := m.models[model]; n != nil && p.narrow.as == probe {
			n.release(&p.narrow)
		}
		return p, b, eff
	}},
	// R62
	"others' open periods outlive a close here": {absorb: forgetful(func(b *breaker) { b.closedAt = time.Time{} })},
	"others' counts outlive a success here":     {absorb: forgetful(func(b *breaker) { b.passedAt = time.Time{} })},
	"others' words are not heard":               {absorb: func(_ *Machine, _ time.Time, _ []Row, eff []Effect) []Effect { return eff }},
	"the last word counts": {absorb: func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		eff = m.breaker.look(now, &m.settings, eff)
		if r := rows[len(rows)-1]; r.Model == "" && m.breaker.state == Open && m.breaker.order.Action == NoAction && r.Until.After(now) {
			m.breaker.retryAt = r.Until
		}
		return m.Absorb(now, rows, eff)
	}},
	"a healthy other closes": {absorb: func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		eff = m.Absorb(now, rows, eff)
		if r := rows[0]; r.Model == "" && r.Failures == 0 && r.Since.IsZero() && m.breaker.state != Closed {
			eff = m.breaker.shut(now, eff)
		}
		return eff
	}},
	"rows tell of what others' models opened": {settle: func(m *Machine, now time.Time, p Permit, o Outcome, eff []Effect) []Effect {
		eff = m.Settle(now, p, o, 0.5, eff)
		if b := &m.breaker; b.state == Open && b.openedAt.Equal(now) && b.order.Action == NoAction {
			b.own.openedAt, b.own.retryAt, b.own.trip, b.own.provedAt = b.openedAt, b.retryAt, b.trip, time.Time{}
		}
		return eff
	}},
	"rows tell what was heard": {rows: func(m *Machine, rows []Row) []Row {
		for i := range rows {
			if rows[i].Model == "" {
				rows[i].Failures = m.breaker.failures
			}
		}
		return rows
	}},
	// R66
	"a proof closes": {absorb: func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		eff = m.Absorb(now, rows, eff)
		if r := rows[0]; r.Model == "" && m.breaker.state != Closed && m.breaker.order.Action == NoAction && r.ProvedAt.After(m.breaker.openedAt) {
			eff = m.breaker.shut(now, eff)
		}
		return eff
	}},
	"proofs are not heard": {absorb: rewritten(func(_ time.Time, r *Row) { r.ProvedAt = time.Time{} })},
	"a proof is of the time when it is heard": {absorb: rewritten(func(now time.Time, r *Row) {
		if !r.ProvedAt.IsZero() {
			r.ProvedAt = now
		}
	})},
	"a proof is forgotten":           {absorb: forgetful(func(b *breaker) { b.heard = time.Time{} })},
	"a younger opening is not noted": {absorb: forgetful(func(b *breaker) { b.youngest = time.Time{} })},
	"what others saw breaks no row":  {absorb: proofsKept},
	"nobody yields":                  {yield: func(*Machine, time.Time, string, time.Time, time.Time) bool { return true }},
	"it yields for another period":   {settle: kept(HalfOpen, func(_ time.Time, _ breaker, b *breaker, _ *Permit, _ Outcome) { b.yield.of = b.openedAt })},
	"it yields without end": {yield: func(m *Machine, now time.Time, model string, of, until time.Time) bool {
		if !now.Before(until) {
			return false
		}
		return m.Yield(now, model, of, until.Add(time.Hour))
	}},
	"it yields after a proof of its own": {admitted: func(m *Machine, now time.Time, p *Permit) {
		mine(m, p, func(b *breaker, _ *ticket) {
			if b.proven > 0 && now.Before(b.yield.until) {
				b.proven = 0
			}
		})
	}},
	"a proof here is not told": {rows: func(_ *Machine, rows []Row) []Row {
		for i := range rows {
			rows[i].ProvedAt = time.Time{}
		}
		return rows
	}},
	"a proof here outlives an opening": {settle: kept(HalfOpen, func(_ time.Time, was breaker, b *breaker, _ *Permit, _ Outcome) {
		b.own.provedAt = later(b.own.provedAt, was.own.provedAt)
	})},
	"a proof here is told for ever": {rows: func(m *Machine, rows []Row) []Row {
		for i := range rows {
			if rows[i].Model == "" {
				rows[i].ProvedAt = m.breaker.own.provedAt
			}
		}
		return rows
	}},
	"rows tell of open periods of others": {absorb: func(m *Machine, now time.Time, rows []Row, eff []Effect) []Effect {
		eff = m.Absorb(now, rows, eff)
		each(m, func(b *breaker) {
			b.own.openedAt, b.own.retryAt, b.own.trip, b.own.named = b.openedAt, b.retryAt, b.trip, b.named
		})
		return eff
	}},
}

// R20-R31, R33-R35, R62: every mutant is noticed, and the sound machine in the same place is not.
func TestMutantsAreCaught(t *testing.T) {
	const length = 200 // steps of a history
	most := 300        // histories
	if slow {
		most = 150
	}
	survives := func(u mutant) (histories int, survived bool) {
		for seed := range most {
			y := newStory(cheapDice(1e6+uint64(seed)), map[string]int{}, func(s Settings, c []Credential) subject {
				if u.settings != nil {
					u.settings(&s)
				}
				u.Machine = New(s, RoundRobin, c)
				if u.made != nil {
					u.made(u.Machine)
				}
				return &u
			})
			if y.tell(length) != "" {
				return seed, false
			}
		}
		return most, true
	}
	worst := 0
	for name, u := range mutants {
		n, survived := survives(u)
		if survived {
			t.Errorf("nobody noticed: %s", name)
		}
		worst = max(worst, n)
	}
	t.Logf("%d mutants, the last one caught in history %d", len(mutants), worst)
	for i, u := range sound() {
		if _, survived := survives(u); !survived {
			t.Errorf("sound machine %d was taken for a mutant", i)
		}
	}
}

// sound are machines that hands reach into and leave as they are.
func sound() []mutant {
	idle := func(time.Time, breaker, *breaker, *Permit, Outcome) {}
	return []mutant{
		{},
		{settle: kept(Closed, idle), absorb: forgetful(func(*breaker) {}), sound: (*Machine).Sound, content: (*Machine).FirstContent},
		{settle: renewed(unasked), admit: (*Machine).Admit, operate: (*Machine).Operate},
		{settle: fate(fault.Timeout, fault.Timeout), admitted: func(*Machine, time.Time, *Permit) {}, pick: func(rnd float64) float64 { return rnd }},
	}
}
