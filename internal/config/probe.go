package config

import (
	"time"

	"evergate/internal/probing"
	"evergate/internal/resilience"
)

type probeFile struct {
	kind     given[probing.Kind]
	interval given[time.Duration]
	model    given[string]
}

// probeShape is how a provider is probed (R75): all of it, or the kind alone.
func probeShape() shape[probeFile] {
	long := object("probe", "Requests of the gateway's own that find out whether a provider is back whose circuit breaker was open.", []key[probeFile]{
		field("kind", "models asks for the model list, which costs nothing; completion asks a model for one token.", probeKindShape(), func(f *probeFile) *given[probing.Kind] { return &f.kind }),
		field("interval", "The least time between two probes of the provider.", duration(100*time.Millisecond), func(f *probeFile) *given[time.Duration] { return &f.interval }),
		field("model", "The model that completion asks; without it the first of models.", optionalText("a model id"), func(f *probeFile) *given[string] { return &f.model }),
	})
	return shorthand(probeKindShape(), func(k given[probing.Kind]) probeFile { return probeFile{kind: k} }, long)
}

func probeKindShape() shape[probing.Kind] {
	const want = "off, models or completion"
	return single(want, orFromEnv(map[string]any{"enum": []any{"off", false, "models", "completion"}}), func(s string) (probing.Kind, string, string) {
		switch s {
		case "models":
			return probing.Models, "", ""
		case "completion":
			return probing.Completion, "", ""
		case "off", "false": // YAML 1.1 tools write false for off
			return probing.Off, "", ""
		}
		return probing.Off, "must be " + want, ""
	})
}

// probe is what a provider's probe comes to.
func (b *builder) probe(f *providerFile, p preset, scope resilience.Scope) probing.Settings {
	w := &f.probe.v
	at := w.kind.at
	if w.kind.absent() {
		at = f.probe.at
		if !f.probe.absent() && !f.probe.wrong && !(w.interval.absent() && w.model.absent()) {
			b.problem(at, "", "has no kind; add kind: models, or kind: completion")
		}
		return probing.Settings{}
	}
	s := probing.Settings{Kind: w.kind.v, Interval: w.interval.or(probing.DefaultInterval), Model: w.model.v}
	switch s.Kind {
	case probing.Models:
		switch {
		case p.name == azure || p.name == bedrock || p.name == vertex:
			b.problem(at, "", "is models, but providers of type %s have no list of models to ask for; say kind: completion", p.name)
		case scope != resilience.PerProvider:
			b.problem(at, "", "is models, which tells nothing about one model, but circuit_breaker.scope is %s; say kind: completion, or scope: provider", scope)
		}
		if s.Model != "" {
			b.problem(w.model.at, "", "is asked with kind: completion alone; remove it, or change the kind")
		}
	case probing.Completion:
		if listed := texts(f.models); s.Model == "" && len(listed) > 0 {
			s.Model = listed[0]
		}
		if s.Model == "" && scope != resilience.PerModel && !w.model.wrong && !f.models.wrong {
			b.problem(at, "", "is completion, but it is not known which model to ask; add model: …, or list the provider's models")
		}
	case probing.Off:
		return probing.Settings{}
	}
	return s
}
