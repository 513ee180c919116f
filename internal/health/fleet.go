package health

import (
	"sync/atomic"
	"time"

	"evergate/internal/resilience"
)

// evidence is who wants to know at once that a provider has something new for the others.
type evidence struct {
	hears atomic.Pointer[func(provider string)]
}

func (e *evidence) tell(provider string) {
	if hear := e.hears.Load(); hear != nil {
		(*hear)(provider)
	}
}

// OnEvidence has hear called when a guard of a provider made a transition here, or a probe was good, though it closed nothing
// yet: what Provider.Rows says may have changed in a way that others should know at once. It is called on the way of requests, without a
// lock, and must not block. Counts of failures come without it.
func (h *Health) OnEvidence(hear func(provider string)) { h.evidence.hears.Store(&hear) }

// Rows is what this instance saw itself of the provider's guards, for the others (R62).
func (p *Provider) Rows(now time.Time) []resilience.Row {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Rows(now, nil)
}

// Absorb takes what living instances saw (resilience.Machine.Absorb). What it changes is told to the journal as heard.
func (p *Provider) Absorb(now time.Time, rows []resilience.Row) {
	p.take(now, rows, (*resilience.Machine).Absorb)
}

// Restore takes what a store kept, of whomever, at the start (R65, resilience.Machine.Restore). What it changes is told to the
// journal as heard.
func (p *Provider) Restore(now time.Time, rows []resilience.Row) {
	p.take(now, rows, (*resilience.Machine).Restore)
}

func (p *Provider) take(now time.Time, rows []resilience.Row, how func(*resilience.Machine, time.Time, []resilience.Row, []resilience.Effect) []resilience.Effect) {
	if len(rows) == 0 {
		return
	}
	var space [4]resilience.Effect
	p.mu.Lock()
	eff := how(p.machine, now, rows, space[:0])
	p.unlockAndReport(now, eff, "", true)
}

// Due are the breakers whose open period ends in (now, now+within] (R66, resilience.Machine.Due).
func (p *Provider) Due(now time.Time, within time.Duration) []resilience.Due {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Due(now, within, nil)
}

// Yield leaves a breaker's probes to another instance until then (R66, resilience.Machine.Yield).
func (p *Provider) Yield(now time.Time, model string, openedAt, until time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.Yield(now, model, openedAt, until)
}
