package sim

import (
	"slices"

	"evergate/internal/route"
)

// police leaves the targets that the policies of all requests and of the model allow, as the gateway does. Simulated clients bring
// keys where they need one.
func (s *Simulation) police(model string, r *route.Resolution) {
	t := s.scenario.Gateway.Table
	if len(t.Policies) == 0 && !t.BYOK {
		return
	}
	f := route.Filter{Policies: t.PoliciesOf([]string{model}), Brings: func(provider string) bool {
		return slices.ContainsFunc(t.Providers, func(p route.Provider) bool { return p.Name == provider && p.BYOK == route.RequireKeys })
	}}
	f.Apply(t, r)
}

// arrange puts a request's targets in order, as the gateway does.
func (s *Simulation) arrange(r *route.Resolution) {
	if r.Fixed() {
		return
	}
	turn := s.turns[r.Label]
	s.turns[r.Label]++
	r.Arrange(&route.Circumstances{Signals: s, Turn: turn, Random: s.engine})
}

// Signal implements route.Signals.
func (s *Simulation) Signal(t *route.Target) route.Signal {
	p := s.place(t)
	signal := route.Signal{InFlight: p.provider.inFlight, Tariff: t.Tariff()}
	signal.Health, signal.Headroom = p.provider.machine.Fitness(s.time(), t.Model)
	signal.FirstContent, _ = p.latency.Pace()
	return signal
}
