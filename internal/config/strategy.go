package config

import "evergate/internal/route"

// strategyWords are the strategies of virtual models.
func strategyWords() (words []word[route.Strategy]) {
	for s := route.Ordered; s <= route.Auto; s++ {
		words = append(words, say(s.String(), s))
	}
	return words
}

// autoShape is the weights of strategy auto.
func autoShape() shape[autoFile] {
	weight := number(0, 1e6)
	return object("auto", "The weights of strategy auto, relative to each other; 0 leaves a term out.", []key[autoFile]{
		field("health", "Of the share of a provider's recent requests that went well.", weight, func(f *autoFile) *given[float64] { return &f.health }),
		field("latency", "Of the time to first content.", weight, func(f *autoFile) *given[float64] { return &f.latency }),
		field("cost", "Of what the request is expected to cost.", weight, func(f *autoFile) *given[float64] { return &f.cost }),
		field("headroom", "Of what is free of a provider's keys, and how little it is busy.", weight, func(f *autoFile) *given[float64] { return &f.headroom }),
	})
}

// weights are those of a model; zero for one that does not go by them.
func (b *builder) weights(f *modelFile) route.Weights {
	if f.strategy.v != route.Auto {
		if f.auto.set {
			b.warn(f.auto.at, "is for strategy: auto, and does nothing here")
		}
		return route.Weights{}
	}
	w, a := route.DefaultWeights(), &f.auto.v
	w = route.Weights{Health: a.health.or(w.Health), Latency: a.latency.or(w.Latency), Cost: a.cost.or(w.Cost), Headroom: a.headroom.or(w.Headroom)}
	if w == (route.Weights{}) {
		b.problem(f.auto.at, "", "has no weight above 0; leave one out, which then has its default")
	}
	return w
}
