package explain

import (
	"encoding/json"
	"testing"
	"time"

	"evergate/internal/route"
)

// R50, R72: what is said of a target's place, by the strategy, with every term that it went by.
func TestWhatIsSaidOfAStrategy(t *testing.T) {
	t.Parallel()
	judged := route.Judgement{
		Signal: route.Signal{FirstContent: 120 * time.Millisecond, InFlight: 1}, Cost: 0.00123456, Score: 0.8349, Health: 1, Latency: 0.5, CostTerm: 0.25, Headroom: 2.0 / 3,
	}
	plain, inner := route.Target{Provider: "a", Model: "x"}, route.Target{Provider: "a", Model: "x", Group: 1}
	groups := []route.Group{{Name: "fast", Strategy: route.Auto}}
	const number = `{"in_flight":1,"cost_usd":0.00123}`
	const score = `{"in_flight":1,"cost_usd":0.00123,"score":{"score":0.83,"health":1,"latency":0.5,"cost":0.25,"headroom":0.67}}`
	for _, tt := range []struct {
		name   string
		target route.Target
		s      route.Strategy
		groups []route.Group
		j      *route.Judgement
		want   string
		shown  string
	}{
		{"declared", plain, route.Ordered, nil, nil, "it is declared as number 2", "null"},
		{"in turn", plain, route.RoundRobin, nil, nil, "the targets take turns (round_robin)", "null"},
		{"quick", plain, route.LeastLatency, nil, &judged, "of two drawn at random the quicker is the likelier (least_latency), and its content takes 120ms", number},
		{"not measured", plain, route.LeastLatency, nil, &route.Judgement{Cost: -1}, "of two drawn at random the quicker is the likelier (least_latency), and it was not measured yet", `{"in_flight":0}`},
		{"busy", plain, route.LeastBusy, nil, &judged, "of two drawn at random the less busy comes first (least_busy), and its provider has 1 request in flight", number},
		{"cheap", plain, route.LeastCost, nil, &judged, "the cheapest comes first (least_cost), and it is expected to cost $0.00123", number},
		{"free", plain, route.LeastCost, nil, &route.Judgement{}, "the cheapest comes first (least_cost), and it is expected to cost $0", `{"in_flight":0,"cost_usd":0}`},
		{"no price", plain, route.LeastCost, nil, &route.Judgement{Cost: -1}, "the cheapest comes first (least_cost), and its price is not known", `{"in_flight":0}`},
		{"a score", plain, route.Auto, nil, &judged, "the order is drawn by score (auto), and it has 0.83: health 1.00, latency 0.50, cost 0.25, headroom 0.67", score},
		{"alone", plain, route.Auto, nil, nil, "it is declared as number 2", "null"},
		{"in a model within the model", inner, route.Ordered, groups, &judged, "the order is drawn by score (auto), and it has 0.83: health 1.00, latency 0.50, cost 0.25, headroom 0.67 in fast, which stands there as one target", score},
		{"in one that takes turns", inner, route.RoundRobin, []route.Group{{Name: "fast"}}, nil, "it is declared as number 2 in fast, which stands there as one target (round_robin)", "null"},
		{"weights and models", plain, route.Weighted, groups, nil, "the order is drawn by weight", "null"},
		{"the group is gone", inner, route.RoundRobin, nil, nil, "the targets take turns (round_robin)", "null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Case{Name: route.Understood{By: route.ByVirtual, Strategy: tt.s}, Resolution: &route.Resolution{Groups: tt.groups}}
			if tt.j != nil {
				c.Judged = []Judged{{"b", "x", route.Judgement{}}, {"a", "x", *tt.j}}
			}
			if got := c.byStrategy(&tt.target, 2); got != tt.want {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
			if shown, err := json.Marshal(c.judged(&tt.target)); string(shown) != tt.shown || err != nil {
				t.Errorf("%s, want %s (%v)", shown, tt.shown, err)
			}
		})
	}
}
