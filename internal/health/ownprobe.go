package health

import (
	"time"

	"evergate/internal/resilience"
)

// AdmitProbe asks for a permit for a probe of the gateway's own (resilience.Machine.AdmitProbe), which must be settled, and names
// the credential that it is for. Without a permit it says what blocks; the zero Block: there is nothing to probe.
func (p *Provider) AdmitProbe(now time.Time, model string, deadline time.Time) (permit Permit, credential string, b resilience.Block, ok bool) {
	var space [4]resilience.Effect
	p.mu.Lock()
	r, b, ok, eff := p.machine.AdmitProbe(now, model, deadline, space[:0])
	ok = ok && !b.Blocked()
	if ok {
		credential = p.nameOf(r.Credential)
	}
	p.unlockAndTell(now, eff)
	if !ok {
		return Permit{}, "", b, false
	}
	p.inFlight.Add(1)
	return Permit{p: p, r: r, probe: r.Pending()}, credential, b, true
}
