package health

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"evergate/internal/failover"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

type deaf struct{ journal.Nothing }

// scopes are what one breaker may stand for; each has to be cheap.
var scopes = map[string]func(*resilience.Settings){
	"provider": func(*resilience.Settings) {},
	"auto":     func(s *resilience.Settings) { s.Breaker.Scope = resilience.Auto },
	"ramp":     func(s *resilience.Settings) { s.Breaker.Ramp = time.Minute },
}

func benchProvider(change func(*resilience.Settings)) *Provider {
	h := New(deaf{})
	c := config("a", "k1", "k2", "k3")
	change(&c.Settings)
	h.Apply([]Config{c})
	return h.Provider("a")
}

// attempt is what a healthy attempt costs the guards: a permit and its settlement.
func attempt(p *Provider, now time.Time, i int) {
	permit, _ := p.Admit(now, i%3, "gpt-4o-mini", now.Add(time.Minute), false)
	permit.Settle(now, resilience.Outcome{Success: true}, Measured{Total: time.Second})
}

// The target is 1 µs and no allocation.
func BenchmarkAdmitSettle(b *testing.B) {
	for name, change := range scopes {
		b.Run(name, func(b *testing.B) {
			p, now := benchProvider(change), time.Now()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				attempt(p, now.Add(time.Duration(i)*time.Microsecond), i)
			}
		})
	}
}

// The target is 3 µs each, with 64 goroutines on one provider.
func BenchmarkAdmitSettle64(b *testing.B) {
	for name, change := range scopes {
		b.Run(name, func(b *testing.B) {
			p, now := benchProvider(change), time.Now()
			b.ReportAllocs()
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					for i := range (b.N + 63) / 64 {
						attempt(p, now.Add(time.Duration(i)*time.Microsecond), i)
					}
				})
			}
			all.Wait()
		})
	}
}

// line is a request's targets with their living guards.
type line struct {
	now     time.Time
	targets []failover.Target
	guards  []*Provider
}

func (l *line) Pick(t int, skip func(int) bool) (int, resilience.Block, bool) {
	return l.guards[t].Pick(l.now, l.targets[t].Model, 0.3, skip)
}

// The target is 3 µs for a plan of 20 candidates, each of a provider of its own.
func BenchmarkPlan20(b *testing.B) {
	for name, change := range scopes {
		b.Run(name, func(b *testing.B) {
			s := resilience.Defaults()
			change(&s)
			h, l := New(deaf{}), &line{now: time.Now()}
			configs := make([]Config, 20)
			for i := range configs {
				configs[i] = config(fmt.Sprint("p", i), "k")
				configs[i].Settings = s
			}
			h.Apply(configs)
			for _, c := range configs {
				l.targets = append(l.targets, failover.Target{Target: &route.Target{Provider: c.Name, Model: "m"}, Settings: &s})
				l.guards = append(l.guards, h.Provider(c.Name))
			}
			var session failover.Session
			b.ReportAllocs()
			for b.Loop() {
				session.Begin(failover.Params{Targets: l.targets}, l)
			}
		})
	}
}
