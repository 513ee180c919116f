package resilience

import "time"

// PickNear is Pick that takes the credential near, by index, where it is usable and the key strategy holds credentials equal:
// all strategies but FillFirst do (R47).
func (m *Machine) PickNear(now time.Time, model string, near int, skip func(int) bool, rnd float64, eff []Effect) (credential int, b Block, ok bool, out []Effect) {
	if m.strategy != FillFirst && len(m.credentials) > 1 {
		others := func(i int) bool { return i != near || skip != nil && skip(i) }
		if credential, b, ok, eff = m.Pick(now, model, others, rnd, eff); ok {
			return credential, b, true, eff
		}
	}
	return m.Pick(now, model, skip, rnd, eff)
}
