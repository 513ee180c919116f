package route

import (
	"math"
)

// Judgement is how a strategy judged a target, term by term (R72).
type Judgement struct {
	Signal Signal
	// Cost is what the request is expected to cost there; negative: not known.
	Cost float64
	// Score is Auto's, the weighted mean of the terms; all are 0 to 1, and more is better.
	Score, Health, Latency, CostTerm, Headroom float64
}

// expectedOutput is how long an answer is taken to be, in tokens, where no target's answers were measured.
const expectedOutput = 500

// sharpness is the power of a score that Auto draws by: a score a tenth better is preferred by two to one, one half as
// good is hardly ever first.
const sharpness = 8

// judge asks for the signals and sets the values that targets are chosen by.
func (a *arranger) judge(places []place, s Strategy, w *Weights) {
	for i := 0; i < len(places); i += places[i].run {
		places[i].Signal = a.Signals.Signal(&a.r.Targets[places[i].at])
	}
	if s.priced() || a.Judged != nil {
		a.costs(places)
	}
	if s == Auto {
		score(places, w)
	}
	for i := 0; i < len(places); i += places[i].run {
		p := &places[i]
		switch s {
		case LeastLatency:
			p.value = p.Signal.FirstContent.Seconds()
		case LeastBusy:
			p.value = float64(p.Signal.InFlight)
		case LeastCost:
			if p.value = p.Cost; p.Cost < 0 {
				p.value = math.MaxFloat64
			}
		case Auto:
			p.value = math.Pow(p.Score, sharpness)
		case Ordered, Weighted, RoundRobin:
		}
		if a.Judged != nil {
			a.Judged(&a.r.Targets[p.at], p.Judgement)
		}
	}
	if s == Auto && (w.Latency > 0 || w.sum() <= 0) {
		explored(places)
	}
}

// leastChance is the least chance that a target keeps with Auto where latency has a say, as a share of the best one's: one
// that was slow once and is never asked again would never be found to have become quicker.
const leastChance = 0.01

// explored lifts the values of healthy targets to leastChance.
func explored(places []place) {
	best := 0.0
	for i := 0; i < len(places); i += places[i].run {
		best = max(best, places[i].value)
	}
	for i := 0; i < len(places); i += places[i].run {
		if p := &places[i]; p.Signal.Health > 0 {
			p.value = max(p.value, best*leastChance)
		}
	}
}

// costs expects what the request will cost at each: the tokens of its input, of which a share comes from the prompt cache,
// and an answer of the target's usual length, or where that is unknown of the others', within the request's own limit.
func (a *arranger) costs(places []place) {
	sum, n := 0.0, 0.0
	for i := 0; i < len(places); i += places[i].run {
		if o := places[i].Signal.Output; o > 0 {
			sum, n = sum+o, n+1
		}
	}
	usual := float64(expectedOutput)
	if n > 0 {
		usual = sum / n
	}
	for i := 0; i < len(places); i += places[i].run {
		p := &places[i]
		price := &p.Signal.Tariff
		if p.Cost = -1; !price.Known {
			continue
		}
		output := usual
		if p.Signal.Output > 0 {
			output = p.Signal.Output
		}
		if a.Load.Output > 0 {
			output = min(output, a.Load.Output)
		}
		cached := a.Load.Input * p.Signal.CachedShare
		p.Cost = (a.Load.Input-cached)*price.Input + cached*price.CacheRead + output*price.Output
	}
}

// score weighs the terms of Auto. Latency and cost are measured by the best of the targets; a latency that is not known
// counts as the best, so that it is soon measured, a cost that is not known as nothing.
func score(places []place, w *Weights) {
	if w.sum() <= 0 {
		d := DefaultWeights()
		w = &d
	}
	quickest, cheapest, idlest := 0.0, -1.0, math.MaxInt
	for i := 0; i < len(places); i += places[i].run {
		p := &places[i]
		if l := p.Signal.FirstContent.Seconds(); l > 0 && (quickest == 0 || l < quickest) {
			quickest = l
		}
		if p.Cost >= 0 && (cheapest < 0 || p.Cost < cheapest) {
			cheapest = p.Cost
		}
		idlest = min(idlest, p.Signal.InFlight)
	}
	for i := 0; i < len(places); i += places[i].run {
		p := &places[i]
		p.Health, p.Latency, p.CostTerm = p.Signal.Health, 1, 0
		if l := p.Signal.FirstContent.Seconds(); l > 0 {
			p.Latency = quickest / l
		}
		switch {
		case p.Cost < 0:
		case p.Cost == cheapest: // both may be free
			p.CostTerm = 1
		default:
			p.CostTerm = cheapest / p.Cost
		}
		p.Headroom = p.Signal.Headroom * float64(1+idlest) / float64(1+p.Signal.InFlight)
		p.Score = (w.Health*p.Health + w.Latency*p.Latency + w.Cost*p.CostTerm + w.Headroom*p.Headroom) / w.sum()
	}
}
