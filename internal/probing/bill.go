package probing

import (
	"net/http"

	"evergate/internal/journal"
	"evergate/internal/llm"
	"evergate/internal/modelfacts"
)

// bill says what a probe used and cost: what the answer said, or, of one that came and said nothing, what the question must have been. What was refused costs nothing,
// and neither does a list.
func (s *Source) bill(p *journal.Probe, used llm.Usage) {
	if p.Model == "" || p.Status < http.StatusOK || p.Status >= http.StatusMultipleChoices {
		p.Cost.Known = true
		return
	}
	if p.Usage = journal.Usage(used); !used.Known {
		p.Estimated, p.Usage = true, journal.Usage{Known: true, Input: llm.EstimateBody([]byte(question)), Output: 1}
	}
	if s.Facts == nil {
		return
	}
	if facts := s.Facts(p.Model); facts != nil {
		u := &p.Usage
		p.Cost.Nano, p.Cost.Known = facts.Prices.Cost(modelfacts.Tokens{Input: u.Input, CachedInput: u.CachedInput, CacheWrite: u.CacheWrite, Output: u.Output})
	}
}
