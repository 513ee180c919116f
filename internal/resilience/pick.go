package resilience

import (
	"slices"
	"time"
)

// Pick chooses a usable credential for model by the key strategy, among those for which skip (may be nil) is false and
// which are allowed for the model (R44). rnd in [0, 1) is the request's own number, for Weighted and the ramp (R34): with
// the same one the answer is the same as long as nothing changes. ok is false when none is usable; then b is the
// block of the one to try first all the same, and credential its index: rate limits before quota and refused
// credentials, then the soonest to clear, then the lowest index; -1 with a zero block if none is eligible at all. The
// rotation is advanced by Admit, so that a plan which is never tried does not unbalance it. Like Check it moves an
// expired breaker on and appends that to eff.
func (m *Machine) Pick(now time.Time, model string, skip func(int) bool, rnd float64, eff []Effect) (credential int, b Block, ok bool, out []Effect) {
	narrow, eff := m.look(now, model, eff)
	var away Block
	if m.breaker.free(&m.settings) && (narrow == nil || narrow.free(&m.settings)) {
		if m.settings.Breaker.Ramp > 0 {
			away = m.away(now, narrow, rnd)
		}
		if !away.Blocked() {
			if i := m.choose(now, model, skip, rnd); i >= 0 {
				return i, Block{}, true, eff
			}
		}
	}
	best := -1
	var least survey
	for i := range m.credentials {
		if !m.credentials[i].allowed(model) || skip != nil && skip(i) {
			continue
		}
		if s := m.survey(now, narrow, i, model); best < 0 || s.before(&least) {
			best, least = i, s
		}
	}
	if best >= 0 && away.Blocked() {
		return best, away, false, eff
	}
	return best, least.block, false, eff
}

// choose is the strategy's choice among the usable credentials, -1 if there is none.
func (m *Machine) choose(now time.Time, model string, skip func(int) bool, rnd float64) int {
	best, sum := -1, 0
	usable := func(i int) bool {
		c := &m.credentials[i]
		return c.allowed(model) && m.usable(now, c, model) && (skip == nil || !skip(i))
	}
	for i := range m.credentials {
		if !usable(i) {
			continue
		}
		if m.strategy == Weighted {
			sum += m.credentials[i].weight()
		}
		if best < 0 || m.strategy.prefers(&m.credentials[i], &m.credentials[best]) {
			best = i
		}
	}
	if m.strategy != Weighted || best < 0 {
		return best
	}
	at := rnd * float64(sum)
	for i := range m.credentials {
		if !usable(i) {
			continue
		}
		best = i
		if at -= float64(m.credentials[i].weight()); at < 0 {
			break
		}
	}
	return best
}

// prefers says whether a comes before b, which has the lower index. Round robin takes the one whose last turn is
// longest ago: that stays fair when some are blocked, or are for some models only.
func (k KeyStrategy) prefers(a, b *credential) bool {
	switch k {
	case RoundRobin:
		return a.turn < b.turn
	case LeastUsed:
		if a.inFlight != b.inFlight {
			return a.inFlight < b.inFlight
		}
		return a.used < b.used
	case FillFirst, Weighted:
	}
	return false
}

// allowed says whether the credential is for the model at all.
func (c *credential) allowed(model string) bool {
	return len(c.Models) == 0 || slices.Contains(c.Models, model)
}

// weight is its share under Weighted; unset counts as 1.
func (c *credential) weight() int { return max(c.Weight, 1) }
