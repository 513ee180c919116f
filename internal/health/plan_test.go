package health

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// fleet is a large gateway: 50 providers with 40 models each, and 200 virtual models.
type fleet struct {
	health *Health
	table  route.Table
	inv    *route.Inventory
	names  []string // to ask for
	now    time.Time
}

// Signal implements route.Signals.
func (f *fleet) Signal(t *route.Target) route.Signal {
	s := f.health.Provider(t.Provider).Signal(f.now, t.Model)
	s.Tariff = t.Tariff()
	return s
}

func newFleet() *fleet {
	f := &fleet{health: New(nil), now: time.Now(), table: route.Table{Virtual: map[string]*route.Virtual{}}, inv: &route.Inventory{ByModel: map[string][]string{}}}
	var configs []Config
	for p := range 50 {
		name := fmt.Sprint("provider-", p)
		configs = append(configs, Config{Name: name, Settings: resilience.Defaults(), Credentials: []resilience.Credential{{Name: "a"}, {Name: "b"}}})
		f.table.Providers = append(f.table.Providers, route.Provider{Name: name})
		listed := route.ProviderModels{Name: name}
		for m := range 40 {
			model := fmt.Sprint("vendor/model-", p/5*40+m) // every model at 5 providers
			listed.Models = append(listed.Models, model)
			f.inv.ByModel[model] = append(f.inv.ByModel[model], name)
		}
		slices.Sort(listed.Models)
		f.inv.Providers = append(f.inv.Providers, listed)
	}
	f.health.Apply(configs)
	for v := range 200 {
		virtual := &route.Virtual{Name: fmt.Sprint("virtual-", v), Strategy: route.Strategy(v % 7)}
		for i := range 10 {
			p := f.inv.Providers[(v*7+i*3)%50]
			t := route.Target{Provider: p.Name, Model: p.Models[v%40]}
			if v%3 == 0 && i >= 5 { // a model within a model
				t.Group = 1
				virtual.Groups = []route.Group{{Strategy: route.Strategy(v / 7 % 7)}}
			}
			virtual.Targets = append(virtual.Targets, t)
			permit, _ := f.health.Provider(p.Name).Admit(f.now, 0, t.Model, f.now.Add(time.Minute), false)
			permit.Settle(f.now, resilience.Outcome{Success: true}, Measured{FirstContent: time.Duration(100+v+i) * time.Millisecond, Output: 100})
		}
		f.table.Virtual[virtual.Name] = virtual
		f.names = append(f.names, virtual.Name)
	}
	return f
}

// plan resolves a name and puts its targets in order.
func (f *fleet) plan(name string, turn uint64) (route.Resolution, bool) {
	r, outcome := f.table.Resolve(f.inv, name)
	if outcome == route.Found && !r.Fixed() {
		r.Arrange(&route.Circumstances{Signals: f, Load: route.Load{Input: 1000}, Turn: turn, Random: rand.Float64})
	}
	return r, outcome == route.Found
}

// R50: among 2,000 models of 50 providers and 200 virtual models a plan is made in microseconds, and allocates the list alone. The
// aim is 20 µs at the 99th percentile; the machine is not this test's alone, so it fails at five times that.
func TestPlanIsQuick(t *testing.T) {
	f := newFleet()
	best := time.Hour
	for range 10 { // others may need the machine, too
		took := make([]time.Duration, 0, 4_000)
		for i := range cap(took) {
			start := time.Now()
			r, ok := f.plan(f.names[i%len(f.names)], uint64(i))
			took = append(took, time.Since(start))
			if !ok || len(r.Targets) != 10 {
				t.Fatalf("%s: %v", f.names[i%len(f.names)], r.Targets)
			}
		}
		slices.Sort(took)
		best = min(best, took[len(took)*99/100])
		t.Logf("p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
	}
	if best > slack*5*20*time.Microsecond {
		t.Errorf("the 99th percentile is %v", best)
	}
	for s := range 7 {
		most := 1.0
		if s == 0 {
			most = 0
		}
		if n := testing.AllocsPerRun(100, func() { f.plan(f.names[s+7], 3) }); n > most && slack == 1 {
			t.Errorf("%v: %v allocations", route.Strategy(s), n)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	f := newFleet()
	for s := range 7 {
		b.Run(route.Strategy(s).String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.plan(f.names[s+7], 3) // one without a model in it
			}
		})
	}
	for _, name := range []string{"vendor/model-1", "provider-40/vendor/model-1"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.plan(name, 3)
			}
		})
	}
}
