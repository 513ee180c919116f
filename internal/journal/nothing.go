package journal

// Nothing is a sink that hears nothing: what a sink that cares for some facts embeds.
type Nothing struct{}

// RequestEnded implements Sink.
func (Nothing) RequestEnded(*Request) {}

// AttemptEnded implements Sink.
func (Nothing) AttemptEnded(*Attempt) {}

// GuardChanged implements Sink.
func (Nothing) GuardChanged(*Guard) {}

// DiscoveryChanged implements Sink.
func (Nothing) DiscoveryChanged(*Discovery) {}

// BreakerOperated implements Sink.
func (Nothing) BreakerOperated(*Order) {}

// ProbeEnded implements Sink.
func (Nothing) ProbeEnded(*Probe) {}

// MirrorEnded implements Sink.
func (Nothing) MirrorEnded(*Mirror) {}

// Changed implements Sink.
func (Nothing) Changed(*Change) {}
