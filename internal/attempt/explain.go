package attempt

import (
	"time"

	"evergate/internal/explain"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// Play plays the call as Run would begin it now, with every attempt failing (R72): the same legs, the same session, copies of
// the guards and of the retry budget. It asks nobody, counts nothing, and moves nothing that others see. The call is used up.
func (r *Runner) Play(c *Call) explain.Played {
	budget, requests := r.Health.Retries(c.Start)
	g := explain.Game{
		Params: c.params(nil), Guards: c.Guards(), Now: c.Start, Rnd: r.random(),
		Draw:    func(now time.Time, share float64) bool { return budget.Draw(now, share, requests) },
		Callers: func(t int) bool { return c.Legs[t].Key != "" },
		Near:    func(t int) int { return int(c.Legs[t].Near) - 1 },
		Full:    c.reserved,
		Able:    func(t int) *fault.Fault { return able(c, t) },
	}
	return explain.Play(&g)
}

// Guards are copies of the legs' guards; legs of one provider have the same one.
func (c *Call) Guards() []*resilience.Machine {
	known := make(map[*health.Provider]*resilience.Machine, len(c.Legs))
	out := make([]*resilience.Machine, len(c.Legs))
	for i := range c.Legs {
		p := c.Legs[i].Guards
		if known[p] == nil {
			known[p] = p.Copy()
		}
		out[i] = known[p]
	}
	return out
}

// Candidates implements journal.Candidates.
func (c *Call) Candidates() int { return len(c.Legs) }

// Candidate implements journal.Candidates.
func (c *Call) Candidate(i int) journal.Candidate {
	t := &c.Legs[i].Target
	return journal.Candidate{Provider: t.Provider, Model: t.Model, On: t.On.String()}
}

// able says why a leg cannot be asked what the call asks; nil: it can (R46). It writes the request as an attempt does, and
// throws it away.
func able(c *Call, leg int) *fault.Fault {
	e := exchange{x: &run{c: c}, leg: &c.Legs[leg], settled: true}
	defer e.release()
	return e.write()
}
