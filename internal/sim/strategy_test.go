package sim

import (
	"testing"

	"evergate/internal/modelfacts"
	"evergate/internal/route"
)

// R50: the strategies play: where requests go among a quick, a dear and a slow provider.
func TestStrategiesPlay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s           route.Strategy
		least, most [3]float64 // shares of the attempts at p1 (quick, dear), p2 (slower) and p3 (slow and cheap)
	}{
		{route.Ordered, [3]float64{1, 0, 0}, [3]float64{1, 0, 0}},
		{route.RoundRobin, [3]float64{0.33, 0.33, 0.33}, [3]float64{0.34, 0.34, 0.34}},
		{route.Weighted, [3]float64{0.3, 0.3, 0.3}, [3]float64{0.37, 0.37, 0.37}},
		{route.LeastLatency, [3]float64{0.55, 0.2, 0.02}, [3]float64{0.7, 0.4, 0.1}},
		{route.LeastBusy, [3]float64{0.33, 0.25, 0.1}, [3]float64{0.6, 0.45, 0.33}},
		{route.LeastCost, [3]float64{0, 0, 1}, [3]float64{0, 0, 1}},
		{route.Auto, [3]float64{0.5, 0.05, 0.01}, [3]float64{0.9, 0.4, 0.4}},
	} {
		t.Run(tt.s.String(), func(t *testing.T) {
			t.Parallel()
			g := gateway(3, nil)
			v := g.Table.Virtual["m1"]
			v.Strategy = tt.s
			for i, price := range []float64{2, 2, 1} {
				p := modelfacts.Price{USD: price, Known: true}
				v.Targets[i].Facts = &modelfacts.Facts{Prices: modelfacts.Prices{Input: p, Output: p}}
			}
			s := &Scenario{Duration: 10 * minute, Gateway: g, Traffic: []Traffic{{Model: "m1", Rate: Rate{Low: 5}, Streams: 1, Tokens: Fixed(100)}}}
			for i, first := range []float64{0.3, 0.6, 6} {
				p := DefaultProvider(g.Providers[i].Name)
				p.FirstToken = Uniform(first*0.8e9, first*1.2e9)
				s.Providers = append(s.Providers, p)
			}
			r := New(s, seeded(50)).Finish()
			all := 0
			for _, p := range r.Provider {
				all += p.Attempts
			}
			for i, p := range r.Provider {
				share := float64(p.Attempts) / float64(all)
				if share < tt.least[i] || share > tt.most[i] {
					t.Errorf("%s gets %.3f of %d, want %.2f to %.2f", p.Name, share, all, tt.least[i], tt.most[i])
				}
			}
		})
	}
}
