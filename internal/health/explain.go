package health

import (
	"time"

	"evergate/internal/resilience"
)

// Copy is the provider's guards as they are, apart from it: for who asks what would happen (R72). Nothing moves here, not
// even an open period that is over.
func (p *Provider) Copy() *resilience.Machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Copy()
}

// FirstContent is the average time to a model's first content, with what others measured (R67); false: nobody measured any.
func (p *Provider) FirstContent(now time.Time, model string) (time.Duration, bool) {
	var own resilience.Averages
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.latency[model]; l != nil {
		own.FirstContent, _ = l.FirstContent()
		own.Recency = l.recency
	}
	others := p.heard.models[model]
	both := own.With(now, &others)
	return both.FirstContent, both.FirstContent > 0
}

// Retries is the retry budget apart from the living one, and how many requests it would be drawn for if one more came (R53,
// R72).
func (h *Health) Retries(now time.Time) (b *resilience.Budget, requests int64) {
	h.budgets.mu.Lock()
	defer h.budgets.mu.Unlock()
	b = h.budgets.retries.Copy()
	return b, h.budgets.requests(now, b.Window()) + 1
}
