package health

import (
	"time"

	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// Operate carries out an operator's order on a breaker (R31), by whom: an address, or whose token it was. What it changed
// is told like any transition, and the order itself as a fact of its own. The error is one of resilience.Machine.Operate.
func (p *Provider) Operate(now time.Time, o resilience.Order, by string) error {
	var space [4]resilience.Effect
	p.mu.Lock()
	eff, err := p.machine.Operate(now, o, space[:0])
	p.unlockAndTell(now, eff)
	if err != nil {
		return err
	}
	p.sink.BreakerOperated(&journal.Order{
		At: now, Provider: p.name, Model: o.Model, Action: o.Action.String(), Reason: o.Reason, By: by, Until: o.Until,
	})
	return nil
}
