package resilience

import "time"

// keep says whether a half-open breaker is kept for probes of the gateway's own (R75). It is so for a while only: were no
// probe made, a request would have to be one.
func (b *breaker) keep(now time.Time, s *Settings) {
	b.kept = s.Breaker.KeptFor > 0 && now.Before(later(b.ended(), b.probedAt).Add(s.Breaker.KeptFor))
}

// AdmitProbe asks for a permit for a probe of the gateway's own (R75), for which it chooses the credential
// (Permit.Credential): the first that nothing blocks and that is for the model, whose breaker it passes beside the
// provider's. An empty model is none, for where models have no breakers (PerProvider): every credential will do. ok
// is false where there is nothing to probe: no breaker waits for a verdict, or no credential is for the model. Else it is
// refused as Admit refuses; what keeps others away does not keep it.
func (m *Machine) AdmitProbe(now time.Time, model string, deadline time.Time, eff []Effect) (p Permit, b Block, ok bool, out []Effect) {
	kept := m.settings.Breaker.KeptFor
	m.settings.Breaker.KeptFor = 0 // this is whom it is kept for
	defer func() { m.settings.Breaker.KeptFor = kept }()
	narrow, eff := m.look(now, model, eff)
	waits := m.breaker.state != Closed || narrow != nil && narrow.state != Closed
	i := m.prober(now, model)
	if !waits || i < 0 {
		return Permit{}, Block{}, false, eff
	}
	p, b, eff = m.Admit(now, i, model, deadline, false, eff)
	if b.Blocked() {
		return Permit{}, b, true, eff
	}
	if p.wide.as == probe {
		m.breaker.probedAt = now
	}
	if p.narrow.as == probe {
		narrow.probedAt = now
	}
	return p, b, true, eff
}

// prober is the credential that a probe goes out with: the first usable one, else the first that is for the model; -1: none is.
func (m *Machine) prober(now time.Time, model string) int {
	best := -1
	for i := range m.credentials {
		c := &m.credentials[i]
		switch {
		case model != "" && !c.allowed(model):
		case m.usable(now, c, model):
			return i
		case best < 0:
			best = i
		}
	}
	return best
}
