package resilience

import (
	"math"
	"time"
)

// CallersKey stands in the place of a credential's index for a key that the caller brought. No guard of a credential
// knows it, and nothing of it is kept: what it may do is between its owner and the provider (R8, R18).
const CallersKey = math.MaxInt32

// PickCallers is Pick for a request that brings its own key: what blocks the provider, or the model on all
// credentials, blocks it too.
func (m *Machine) PickCallers(now time.Time, model string, skip func(int) bool, rnd float64, eff []Effect) (credential int, b Block, ok bool, out []Effect) {
	narrow, eff := m.look(now, model, eff)
	if skip != nil && skip(CallersKey) {
		return -1, Block{}, false, eff
	}
	if !m.clear(now, narrow, CallersKey, model) {
		return CallersKey, m.survey(now, narrow, CallersKey, model).block, false, eff
	}
	if m.settings.Breaker.Ramp > 0 {
		if away := m.away(now, narrow, rnd); away.Blocked() {
			return CallersKey, away, false, eff
		}
	}
	return CallersKey, Block{}, true, eff
}
