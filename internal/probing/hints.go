package probing

import "evergate/internal/journal"

var _ journal.Sink = (*Prober)(nil)

// GuardChanged hears that a breaker opened, or that another instance's good probe made it half-open before its time (R66). It is called on the path of the request that opened it, and by the prober's own.
func (p *Prober) GuardChanged(g *journal.Guard) {
	if g.Guard == "circuit_breaker" && (g.To == "open" || g.Heard && g.To == "half_open") {
		p.hint(g.Provider)
	}
}

// BreakerOperated hears of an operator's order (R31), which may end at another time than the one before it.
func (p *Prober) BreakerOperated(o *journal.Order) { p.hint(o.Provider) }

// RequestEnded implements journal.Sink: it tells of no breaker. Nor do the others below.
