package health

import (
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// measures are a model's.
type measures struct {
	resilience.Latency
	output, cached float64 // moving averages: tokens of an answer; the share of the input that came from the prompt cache
	counted        uint32
	recency        resilience.Recency // R67
}

// tokensWeight is one over the share of a new answer in the averages of tokens.
const tokensWeight = 16

// count takes one answer's tokens.
func (l *measures) count(m *Measured) {
	if m.Output <= 0 {
		return
	}
	l.counted = min(l.counted+1, tokensWeight)
	l.output += (float64(m.Output) - l.output) / float64(l.counted)
	if m.Input > 0 {
		share := min(float64(m.Cached)/float64(m.Input), 1)
		l.cached += (share - l.cached) / float64(l.counted)
	}
}

// Signal is what the strategies of routing need to know of a model here (R50): some lookups under the lock, and nothing is
// allocated. What the model costs is not known here.
func (p *Provider) Signal(now time.Time, model string) route.Signal {
	s := route.Signal{InFlight: int(p.inFlight.Load())}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Health, s.Headroom = p.machine.Fitness(now, model)
	l := p.latency[model]
	s.FirstContent = p.pace(now, model, l)
	if l != nil {
		s.Output, s.CachedShare = l.output, l.cached
	}
	return s
}
