package probing

import (
	"context"
	"time"

	"evergate/internal/attempt"
	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/modelfacts"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// Kind is what a probe asks for.
type Kind uint8

// The kinds of a probe. Models asks for the first page of the model list, which costs nothing; it tells about a provider,
// not about one of its models. Completion asks a model for one token.
const (
	Off Kind = iota
	Models
	Completion
)

// DefaultInterval is the least time between two probes of one provider where the config says none.
const DefaultInterval = 10 * time.Second

// Settings say how a provider is probed. The zero value: not at all.
type Settings struct {
	Kind Kind
	// Interval is the least time from one probe of the provider to the next, whichever of its breakers they are for.
	Interval time.Duration
	// Model is asked by a Completion for the provider's own breaker; for that of a model it is that model.
	Model string
}

// KeepFor is for how long a half-open breaker is kept for probes (resilience.Breaker.KeptFor): until the next one after one
// that decided nothing, and as long again in case that it is late. Where blocked providers are not tried all the same it is
// kept for nobody: a request that has nowhere else to go would be refused because of a probe.
func (s Settings) KeepFor(w resilience.WhenAllBlocked) time.Duration {
	if s.Kind == Off || w != resilience.TryAll {
		return 0
	}
	return 2 * s.Interval
}

// Source is one provider that is probed.
type Source struct {
	Settings
	Name     string
	Guards   *health.Provider
	Upstream attempt.Upstream
	// List asks for the first page of the model list, with a credential by name; for Models alone.
	List func(ctx context.Context, credential string) *fault.Fault
	// Timeouts are the provider's own.
	Timeouts route.Timeouts
	// Facts are what is known of a model there; nil: nothing is of any. What a probe costs is in them.
	Facts func(model string) *modelfacts.Facts
}

// patience is how long a probe is waited for where the provider's own limits are turned off.
const patience = time.Minute

// limit is how long a probe may take: its answer is short, so that of the limits of a plain answer and of a stream's first
// content the shorter one holds.
func limit(t route.Timeouts) time.Duration {
	switch {
	case t.Attempt == 0 && t.FirstChunk == 0:
		return patience
	case t.Attempt == 0:
		return t.FirstChunk
	case t.FirstChunk == 0:
		return t.Attempt
	}
	return min(t.Attempt, t.FirstChunk)
}

// due is a breaker that waits for a probe: a model's, or with an empty model the provider's.
type due struct {
	model string
	at    time.Time
}

// before says which of two is probed first: what is due at now goes before what is not, and of several the provider's, which
// stands before all of its models; then they take turns in order of their names, beginning after last.
func (d due) before(o due, now time.Time, last string) bool {
	early, other := !d.at.After(now), !o.at.After(now)
	mine, its := d.model > last, o.model > last
	switch {
	case early != other:
		return early
	case !early && !d.at.Equal(o.at):
		return d.at.Before(o.at)
	case d.model == "" || o.model == "":
		return d.model == ""
	case mine != its:
		return mine
	}
	return d.model < o.model
}

// next says which of a provider's breakers is probed next, and when at the earliest; false if none waits for it. asked is
// when the last probe began, and last the model whose breaker that was for.
func next(v *resilience.View, s *Settings, now, asked time.Time, last string) (first due, ok bool) {
	floor, known := opens(&v.Breaker)
	if !known {
		return due{}, false // an operator holds all of them
	}
	if !asked.IsZero() {
		floor = latest(floor, asked.Add(s.Interval))
	}
	var waiting []due
	own := floor // when the model that is asked for the provider may be
	for i := range v.Models {
		m := &v.Models[i]
		at, free := opens(&m.BreakerView)
		if s.Kind != Completion || m.State == resilience.Closed {
			continue
		}
		if free {
			waiting = append(waiting, due{m.Model, latest(at, floor)})
		}
		if m.Model == s.Model {
			own, known = latest(at, floor), free
		}
	}
	if v.Scope != resilience.PerModel && v.Breaker.State != resilience.Closed && known {
		waiting = append(waiting, due{"", own})
	}
	for i, d := range waiting {
		if i == 0 || d.before(first, now, last) {
			first = d
		}
	}
	return first, len(waiting) > 0
}

// opens says when a breaker lets its first probe through; false: nobody knows, as an operator holds it open until further
// notice (R31).
func opens(b *resilience.BreakerView) (at time.Time, known bool) {
	switch {
	case b.State == resilience.Closed:
		return time.Time{}, true
	case b.Order.Action == resilience.ForceOpen:
		return b.Order.Until, !b.Order.Until.IsZero()
	}
	return b.RetryAt, true
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
