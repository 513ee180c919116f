package health

import (
	"time"

	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// Operate carries out an operator's order on a breaker (R31), by whom: an address, or whose token it was. What it changed
// is told like any transition, and the order itself as a fact of its own. The error is one of resilience.Machine.Operate.
func (p *Provider) Operate(now time.Time, o resilience.Order, by string) error {
	o.At, o.By = now, by
	return p.operate(now, o, false)
}

// Obey carries out an order that another instance of the fleet was given, or that the store kept: By and At are its own. It is
// told as Operate's are, as heard.
func (p *Provider) Obey(now time.Time, o resilience.Order) error { return p.operate(now, o, true) }

func (p *Provider) operate(now time.Time, o resilience.Order, heard bool) error {
	var space [4]resilience.Effect
	p.mu.Lock()
	eff, err := p.machine.Operate(now, o, space[:0])
	p.unlockAndReport(now, eff, "", heard)
	if err != nil {
		return err
	}
	p.sink.BreakerOperated(&journal.Order{
		At: o.At, Provider: p.name, Model: o.Model, Action: o.Action.String(), Reason: o.Reason, By: o.By, Until: o.Until, Heard: heard,
	})
	return nil
}

// Orders are the orders in force, with who gave them and when.
func (p *Provider) Orders(now time.Time) []resilience.Order {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Orders(now, nil)
}
