package route

// Strategy is how targets that could all serve a request are ordered (R50).
type Strategy uint8

// The strategies.
const (
	Ordered      Strategy = iota // as declared
	Weighted                     // drawn by weight
	RoundRobin                   // each first in turn
	LeastLatency                 // the less time to first content the likelier, and every target now and then
	LeastBusy                    // the fewer requests in flight the likelier
	LeastCost                    // by what the request is expected to cost
	Auto                         // drawn by a score of health, latency, cost and headroom
)

var strategies = [...]string{"ordered", "weighted", "round_robin", "least_latency", "least_busy", "least_cost", "auto"}

// String is the word of the config and of requests.
func (s Strategy) String() string { return strategies[s] }

// StrategyOf finds a strategy by its word.
func StrategyOf(word string) (Strategy, bool) {
	for i, s := range strategies {
		if s == word {
			return Strategy(i), true
		}
	}
	return 0, false
}

// priced says whether it looks at prices.
func (s Strategy) priced() bool { return s == LeastCost || s == Auto }

// order is the reason that a strategy gives for an order.
func (s Strategy) order() Order {
	return [...]Order{AsDeclared, Drawn, InTurn, Quickest, Idlest, Cheapest, Scored}[s]
}

// Weights are those of the terms of Auto's score, relative to each other. The zero Weights count as DefaultWeights.
type Weights struct{ Health, Latency, Cost, Headroom float64 }

// DefaultWeights are the built-in ones.
func DefaultWeights() Weights { return Weights{Health: 4, Latency: 3, Cost: 2, Headroom: 1} }

// sum is of all the weights.
func (w *Weights) sum() float64 { return w.Health + w.Latency + w.Cost + w.Headroom }

// Group is a virtual model that is a target of another: its targets stand in the place of its name, and are ordered
// among themselves by its own strategy.
type Group struct {
	Name     string
	Strategy Strategy
	Auto     Weights
	// Weight is the whole group's, for Weighted; 0 counts as 1.
	Weight float64
	// Within is the number of the group that this one stands in; 0: the model itself.
	Within uint16
}
