package replica_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/health"
	"evergate/internal/replica"
	"evergate/internal/resilience"
	"evergate/internal/store/memory"
	"evergate/internal/testkit"
)

// The fleet of docs/fleet.md: each instance has 50 providers with 10 credentials and 200 models.
const (
	providersEach   = 50
	credentialsEach = 10
	modelsEach      = 200
)

// traffic is what goes between a fleet and its store.
type traffic struct {
	calls, members      atomic.Int64 // calls; members that they gave
	put, read, heard    atomic.Int64 // pages
	putB, readB, heardB atomic.Int64 // bytes of bodies
}

// counted is a store that counts.
type counted struct {
	*memory.Store
	t *traffic
}

func (c *counted) Beat(ctx context.Context, m replica.Member) (time.Time, error) {
	c.t.calls.Add(1)
	return c.Store.Beat(ctx, m)
}

func (c *counted) Members(ctx context.Context) ([]replica.Member, error) {
	c.t.calls.Add(1)
	m, err := c.Store.Members(ctx)
	c.t.members.Add(int64(len(m)))
	return m, err
}

func (c *counted) Put(ctx context.Context, pages []replica.Page) error {
	c.t.calls.Add(1)
	for i := range pages {
		c.t.put.Add(1)
		c.t.putB.Add(int64(len(pages[i].Body)))
	}
	return c.Store.Put(ctx, pages)
}

func (c *counted) Read(ctx context.Context, topic replica.Topic, since time.Time, limit int) ([]replica.Page, error) {
	c.t.calls.Add(1)
	pages, err := c.Store.Read(ctx, topic, since, limit)
	for i := range pages {
		c.t.read.Add(1)
		c.t.readB.Add(int64(len(pages[i].Body)))
	}
	return pages, err
}

func (c *counted) Claim(ctx context.Context, lease, holder string, life time.Duration) (bool, error) {
	c.t.calls.Add(1)
	return c.Store.Claim(ctx, lease, holder, life)
}

func (c *counted) Watch(ctx context.Context, ready func(), heard func(replica.Page)) error {
	return c.Store.Watch(ctx, ready, func(p replica.Page) {
		c.t.heard.Add(1)
		c.t.heardB.Add(int64(len(p.Body)))
		heard(p)
	})
}

// rate is traffic of the whole fleet in a second.
type rate struct{ calls, members, put, read, heard, putB, readB, heardB float64 }

func (t *traffic) over(d time.Duration, do func()) rate {
	at := func() [8]int64 {
		return [8]int64{t.calls.Load(), t.members.Load(), t.put.Load(), t.read.Load(), t.heard.Load(), t.putB.Load(), t.readB.Load(), t.heardB.Load()}
	}
	before := at()
	do()
	after := at()
	var r [8]float64
	for i := range r {
		r[i] = float64(after[i]-before[i]) / d.Seconds()
	}
	return rate{r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]}
}

func (r rate) String() string {
	return fmt.Sprintf("%.0f calls, %.0f members read, %.1f pages put (%.1f KB), %.0f read (%.0f KB), %.0f heard (%.0f KB) a second",
		r.calls, r.members, r.put, r.putB/1e3, r.read, r.readB/1e3, r.heard, r.heardB/1e3)
}

// measured are averages of as many models as are told of.
type measured struct{}

func (m measured) Latencies(now time.Time) []health.Latency {
	var out []health.Latency
	for i := range 256 {
		out = append(out, health.Latency{
			Provider: fmt.Sprintf("provider-%02d", i%providersEach), Model: fmt.Sprintf("vendor/model-number-%03d", i%modelsEach),
			Averages: resilience.Averages{FirstContent: 412 * time.Millisecond, Total: 3210 * time.Millisecond, Recency: resilience.Recency{Samples: 12.5, At: now}},
		})
	}
	return out
}

func (measured) AbsorbLatencies(time.Time, []health.Peer) {}

// idle are guards of a provider that is well.
type idle struct{}

func (idle) Rows(time.Time) []resilience.Row                    { return nil }
func (idle) Absorb(time.Time, []resilience.Row)                 {}
func (idle) Restore(time.Time, []resilience.Row)                {}
func (idle) Due(time.Time, time.Duration) []resilience.Due      { return nil }
func (idle) Yield(time.Time, string, time.Time, time.Time) bool { return false }
func (idle) Obey(time.Time, resilience.Order) error             { return nil }

// crowd starts n instances over a round's time.
func crowd(t *testing.T, n int) (all []*instance, seen *traffic) {
	at := memory.New(time.Now)
	seen = &traffic{}
	var credentials []resilience.Credential
	for i := range credentialsEach {
		credentials = append(credentials, resilience.Credential{Name: fmt.Sprintf("key-%d", i+1), Fingerprint: uint32(i + 1)})
	}
	for i := range n {
		in := &instance{id: fmt.Sprintf("%016x", i), guards: map[string]*guards{}, facts: &facts{}}
		in.health = health.New(in.facts)
		in.health.Apply([]health.Config{{Name: "provider-00", Settings: shortBreaker(), Credentials: credentials}})
		in.guards["p"] = &guards{in.health.Provider("provider-00"), in.now}
		in.fleet = replica.New(replica.Options{
			Open: func(context.Context) (replica.Store, error) { return &counted{at.Peer(), seen}, nil },
			Self: replica.Member{ID: in.id, Version: "v1.0.0", Started: time.Now()}, Interval: interval, Averages: measured{},
		})
		in.health.OnEvidence(in.fleet.Moved)
		shared := []replica.Provider{{Name: "provider-00", Of: "0123abcd", Guards: in.p().Provider}}
		for p := 1; p < providersEach; p++ {
			shared = append(shared, replica.Provider{Name: fmt.Sprintf("provider-%02d", p), Of: "0123abcd", Guards: idle{}})
		}
		in.fleet.Apply(shared)
		all = append(all, in)
	}
	for _, in := range all {
		in.fleet.Start(t.Context())
		time.Sleep(interval / time.Duration(n))
	}
	t.Cleanup(func() {
		for _, in := range all {
			in.fleet.Stop(context.Background())
		}
	})
	return all, seen
}

// The budget of docs/fleet.md, for N instances with an interval of I: S is how much what is not urgent is put off, L how often averages
// are told of 256 models.
type budget struct{ n, s, l, i float64 }

func budgetOf(n int) budget {
	return budget{n: float64(n), s: float64((n + 49) / 50), l: 8, i: interval.Seconds()}
}

// calls is Beat and two Reads a round, Members each S rounds, averages written and read each S × L, and a Claim in 12.
func (b budget) calls() float64   { return b.n / b.i * (3 + 1/b.s + 2/(b.s*b.l) + 1.0/12) }
func (b budget) members() float64 { return b.n/b.i*b.n/b.s + b.n/(12*b.i) }

// averages are pages of 14 KB at most, of which each instance reads 33 at a time.
func (b budget) averages() float64 { return b.n / b.i / (b.s * b.l) }

// jitter of rounds, and of when in a round something falls due.
const slack = 1.35

// R60 to R66 at the size of docs/fleet.md: what goes between fleet and store stays within the budget, when all is well and when one
// provider fails everywhere.
func TestScale(t *testing.T) {
	for _, n := range []int{10, 100, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n == 1000 && os.Getenv("EVERGATE_SCALE") == "" {
				t.Skip("a minute of computing and 1 GB: EVERGATE_SCALE=1 runs it")
			}
			if n > 10 && testkit.Race {
				t.Skip("minutes under the race detector: make check runs it without")
			}
			synctest.Test(t, func(t *testing.T) {
				all, seen := crowd(t, n)
				b := budgetOf(n)
				time.Sleep(time.Minute)

				const span = 200 * time.Second
				r := seen.over(span, func() { time.Sleep(span) })
				t.Logf("all is well: %v", r)
				within(t, "calls", r.calls, b.calls())
				within(t, "members", r.members, b.members())
				within(t, "pages put", r.put, b.averages())
				within(t, "pages read", r.read, b.averages()*33)
				within(t, "bytes read", r.readB, b.averages()*33*14e3)
				if r.heard != 0 {
					t.Errorf("%.1f pages a second are heard with nothing to say", r.heard)
				}

				var asked, open atomic.Int64
				stop := make(chan struct{})
				for _, in := range all {
					go func() { // four requests a second, by each instance
						for {
							select {
							case <-stop:
								return
							case <-time.After(time.Duration(100+rand.IntN(300)) * time.Millisecond):
								if in.p().try(failed) {
									asked.Add(1)
								}
							}
						}
					}()
				}
				time.Sleep(time.Second) // the outage begins: three failures in a row, each by itself
				began := asked.Load()
				const outage = 2 * time.Minute
				r = seen.over(outage, func() { time.Sleep(outage) })
				for _, in := range all {
					if in.p().state() != resilience.Closed {
						open.Add(1)
					}
				}
				close(stop)
				probes := float64(asked.Load()-began) / (outage.Seconds() / 20)
				t.Logf("one provider fails everywhere: %v; %.2f probes an open period, %d at the beginning", r, probes, began)
				if open.Load() != int64(n) {
					t.Errorf("%d of %d instances hold it back", open.Load(), n)
				}
				within(t, "calls of an outage", r.calls, b.calls()+3*b.n/20+b.n/(b.i*b.s))
				within(t, "pages read in an outage", r.read, (b.averages()*33)+b.n*min(b.n, 50)/b.i*(1+10/b.i))
				within(t, "pages heard in an outage", r.heard, b.n*4/20)
				within(t, "probes", probes, 3)
				time.Sleep(time.Second)
			})
		})
	}
}

func within(t *testing.T, what string, got, most float64) {
	t.Helper()
	if got > most*slack+0.1 {
		t.Errorf("%s: %.1f a second, the budget is %.1f", what, got, most)
	}
}
