package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// seeded is the source that the program uses: a PCG for each stream.
func seeded(seed uint64) Source {
	return func(stream uint64) func() float64 { return rand.New(rand.NewPCG(seed, stream)).Float64 }
}

// names are p1, p2, …
func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("p", i+1)
	}
	return out
}

// gateway has n providers with the built-in settings, changed by change (may be nil), and the virtual models m1 to mn: each has
// a target at every provider and begins at its own.
func gateway(n int, change func(i int, g *Guarded, p *route.Provider)) Gateway {
	table := &route.Table{Virtual: map[string]*route.Virtual{}}
	g := Gateway{Table: table}
	for i, name := range names(n) {
		guarded := Guarded{Name: name, Settings: resilience.Defaults(), Credentials: []resilience.Credential{{Name: "k1", Identity: 1}}}
		p := route.Provider{Name: name, Timeouts: route.DefaultTimeouts()}
		if change != nil {
			change(i, &guarded, &p)
		}
		g.Providers = append(g.Providers, guarded)
		table.Providers = append(table.Providers, p)
	}
	for i := range n {
		v := &route.Virtual{Name: fmt.Sprint("m", i+1), Hedge: route.DefaultHedge()}
		for j := range n {
			p := &table.Providers[(i+j)%n]
			v.Targets = append(v.Targets, route.Target{Provider: p.Name, Model: "model", Timeouts: p.Timeouts})
		}
		table.Virtual[v.Name] = v
	}
	return g
}

// people are clients of one model that think between think and three times as long.
func people(model string, n int, think time.Duration) Traffic {
	return Traffic{Model: model, Clients: n, Think: Uniform(float64(think), 3*float64(think)), Streams: 0.6, Tokens: Uniform(50, 300)}
}
