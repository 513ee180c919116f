package resilience

import "time"

// Fitness says how a model fares here, for who chooses among providers (R50): the share of recent requests that went well,
// which is 0 while a breaker blocks, and the share of the model's credentials that are free to be used. Where the model
// has a breaker of its own, its results count, and of the provider's those that are no single model's. Looking moves nothing.
func (m *Machine) Fitness(now time.Time, model string) (health, headroom float64) {
	narrow := m.models[model]
	switch {
	case !m.breaker.free(&m.settings) || narrow != nil && !narrow.free(&m.settings): // 0
	case narrow == nil:
		health = m.breaker.recent.share(now)
	case m.breaker.reach == spectator:
		health = narrow.recent.share(now)
	default:
		health = min(m.breaker.recent.share(now), narrow.recent.share(now))
	}
	free, all := 0, 0
	for i := range m.credentials {
		if c := &m.credentials[i]; c.allowed(model) {
			all++
			if m.usable(now, c, model) {
				free++
			}
		}
	}
	if all > 0 {
		headroom = float64(free) / float64(all)
	}
	return health, headroom
}

// share is the share of successes, with one more counted, so that a first failure is not the whole truth.
func (w *window) share(now time.Time) float64 {
	if w.sum == (tally{}) {
		return 1
	}
	look := *w // looking forgets what is old
	t := look.at(now)
	return float64(1+t.successes) / float64(1+t.successes+t.failures)
}
