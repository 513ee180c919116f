package health

import (
	"time"

	"evergate/internal/fault"
	"evergate/internal/resilience"
)

// PickCallers is Pick for a request that brings its own key (resilience.Machine.PickCallers).
func (p *Provider) PickCallers(now time.Time, model string, rnd float64, skip func(int) bool) (int, resilience.Block, bool) {
	var space [4]resilience.Effect
	p.mu.Lock()
	c, b, ok, eff := p.machine.PickCallers(now, model, skip, rnd, space[:0])
	p.unlockAndTell(now, eff)
	return c, b, ok
}

// CallersOutcome is OutcomeOf where the caller's own key was used. A limit of that key decides nothing, and neither it, nor
// its account, nor what models it may use, tells anything about the provider but that it answered (R8, R18).
func CallersOutcome(f *fault.Fault) resilience.Outcome {
	o := OutcomeOf(f)
	switch o.Class {
	case fault.RateLimited:
		o.Unasked = true
	case fault.Quota, fault.ModelLimited, fault.ModelMissing, fault.Auth:
		o.Class, o.Wait = fault.CallerAuth, fault.Wait{}
	default:
	}
	return o
}
