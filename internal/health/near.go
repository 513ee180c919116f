package health

import (
	"time"

	"evergate/internal/resilience"
)

// PickNear is Pick that prefers one credential, by index (resilience.Machine.PickNear).
func (p *Provider) PickNear(now time.Time, model string, near int, rnd float64, skip func(int) bool) (int, resilience.Block, bool) {
	var space [4]resilience.Effect
	p.mu.Lock()
	c, b, ok, eff := p.machine.PickNear(now, model, near, skip, rnd, space[:0])
	p.unlockAndTell(now, eff)
	return c, b, ok
}
