package explain

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"evergate/internal/route"
)

// Judged is how a strategy judged a target of the request.
type Judged struct {
	Provider, Model string
	route.Judgement
}

// Judgement is what a strategy went by for one target. Scores and terms are 0 to 1, and more is better.
type Judgement struct {
	// InFlight is how many requests its provider was busy with.
	InFlight int `json:"in_flight"`
	// CostUSD is what the request is expected to cost there; nil: no price is known.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Score is that of strategy auto, and the terms are what it is made of; nil: another strategy.
	Score *Score `json:"score,omitempty"`
}

// Score is the weighted mean of its terms.
type Score struct {
	Score    float64 `json:"score"`
	Health   float64 `json:"health"`
	Latency  float64 `json:"latency"`
	Cost     float64 `json:"cost"`
	Headroom float64 `json:"headroom"`
}

// strategyOf is what orders a target among its like: the name's strategy, or that of the model within it where it stands.
func (c *Case) strategyOf(target *route.Target) (s route.Strategy, group *route.Group) {
	if g := int(target.Group); g > 0 && g <= len(c.Resolution.Groups) {
		group = &c.Resolution.Groups[g-1]
		return group.Strategy, group
	}
	return c.Name.Strategy, nil
}

// judgement is how a target was judged among its like; nil: no strategy did.
func (c *Case) judgement(target *route.Target) *route.Judgement {
	for i := range c.Judged {
		if j := &c.Judged[i]; j.Provider == target.Provider && j.Model == target.Model {
			return &j.Judgement
		}
	}
	return nil
}

// judged shows a judgement.
func (c *Case) judged(target *route.Target) *Judgement {
	j := c.judgement(target)
	if j == nil {
		return nil
	}
	out := &Judgement{InFlight: j.Signal.InFlight}
	if j.Cost >= 0 {
		cost := significant(j.Cost)
		out.CostUSD = &cost
	}
	if s, _ := c.strategyOf(target); s == route.Auto {
		out.Score = &Score{
			Score: hundredths(j.Score), Health: hundredths(j.Health), Latency: hundredths(j.Latency), Cost: hundredths(j.CostTerm),
			Headroom: hundredths(j.Headroom),
		}
	}
	return out
}

func hundredths(x float64) float64 { return math.Round(100*x) / 100 }

// significant rounds to three digits.
func significant(x float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return out
}

// byStrategy says why a target of a virtual model, or of a request with a strategy of its own, stands where it does.
func (c *Case) byStrategy(target *route.Target, declared int) string {
	s, group := c.strategyOf(target)
	text := c.among(s, target, declared)
	if group != nil {
		text += " in " + group.Name + ", which stands there as one target"
		if c.Name.Strategy != route.Ordered {
			text += " (" + c.Name.Strategy.String() + ")"
		}
	}
	return text
}

// among says why a target stands where it does among its like.
func (c *Case) among(s route.Strategy, target *route.Target, declared int) string {
	j := c.judgement(target)
	switch {
	case s == route.Weighted:
		if len(c.Resolution.Groups) > 0 {
			return "the order is drawn by weight"
		}
		return fmt.Sprintf("the order is drawn by weight, and it comes first for %.0f %% of requests", math.Round(100*route.Share(c.Resolution.Targets, target)))
	case s == route.RoundRobin:
		return "the targets take turns (round_robin)"
	case s == route.Ordered || j == nil: // it stands alone
	case s == route.LeastLatency && j.Signal.FirstContent > 0:
		return "of two drawn at random the quicker is the likelier (least_latency), and its content takes " + length(j.Signal.FirstContent)
	case s == route.LeastLatency:
		return "of two drawn at random the quicker is the likelier (least_latency), and it was not measured yet"
	case s == route.LeastBusy:
		return "of two drawn at random the less busy comes first (least_busy), and its provider has " + requests(j.Signal.InFlight) + " in flight"
	case s == route.LeastCost && j.Cost >= 0:
		return fmt.Sprintf("the cheapest comes first (least_cost), and it is expected to cost $%v", significant(j.Cost))
	case s == route.LeastCost:
		return "the cheapest comes first (least_cost), and its price is not known"
	case s == route.Auto:
		return fmt.Sprintf("the order is drawn by score (auto), and it has %.2f: health %.2f, latency %.2f, cost %.2f, headroom %.2f",
			j.Score, j.Health, j.Latency, j.CostTerm, j.Headroom)
	}
	if declared == 1 {
		return "it is declared first"
	}
	return fmt.Sprintf("it is declared as number %d", declared)
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// varies says whether an order is another for every request.
func varies(strategy string) bool {
	return !slices.Contains([]string{"", route.Ordered.String(), route.LeastCost.String()}, strategy)
}
