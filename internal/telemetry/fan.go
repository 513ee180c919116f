package telemetry

import "evergate/internal/journal"

// Fan gives a sink that tells each of sinks, in their order, in the caller's goroutine.
func Fan(sinks ...journal.Sink) journal.Sink {
	if len(sinks) == 1 {
		return sinks[0]
	}
	return fan(sinks)
}

type fan []journal.Sink

func (f fan) RequestEnded(r *journal.Request) {
	for _, s := range f {
		s.RequestEnded(r)
	}
}

func (f fan) AttemptEnded(a *journal.Attempt) {
	for _, s := range f {
		s.AttemptEnded(a)
	}
}

func (f fan) GuardChanged(g *journal.Guard) {
	for _, s := range f {
		s.GuardChanged(g)
	}
}

func (f fan) DiscoveryChanged(d *journal.Discovery) {
	for _, s := range f {
		s.DiscoveryChanged(d)
	}
}

func (f fan) BreakerOperated(o *journal.Order) {
	for _, s := range f {
		s.BreakerOperated(o)
	}
}

func (f fan) MirrorEnded(m *journal.Mirror) {
	for _, s := range f {
		s.MirrorEnded(m)
	}
}

func (f fan) ProbeEnded(p *journal.Probe) {
	for _, s := range f {
		s.ProbeEnded(p)
	}
}

func (f fan) Changed(c *journal.Change) {
	for _, s := range f {
		s.Changed(c)
	}
}
