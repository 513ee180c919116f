package sim

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/failover"
	"evergate/internal/resilience"
	"evergate/internal/route"
)

// witness watches a simulation from outside and checks what must hold of every request.
type witness struct {
	t     *rapid.T
	x     *Simulation
	tries map[uint64]map[candidate]int // by the request's life
	ended int
}

type candidate struct{ target, credential int }

func (w *witness) see(r *request, f *flight, e *end) {
	if e == nil {
		w.attempt(r, f)
		return
	}
	w.end(r, e)
}

// attempt: no candidate gets more than 1 + max_retries attempts (R52), and none begins after the deadline (R54).
func (w *witness) attempt(r *request, f *flight) {
	k := candidate{f.move.Target, f.move.Credential}
	if w.tries[r.life] == nil {
		w.tries[r.life] = map[candidate]int{}
	}
	w.tries[r.life][k]++
	most := 1 + r.targets[k.target].Settings.Retry.MaxRetries
	if n := w.tries[r.life][k]; n > most {
		w.t.Fatalf("R52: attempt %d of candidate %v, at most %d", n, k, most)
	}
	if total := r.targets[0].Timeouts.Total; total > 0 && w.x.now >= r.start+total {
		w.t.Fatalf("R54: an attempt at %s of a request of %s with %s in all", w.x.now, r.start, total)
	}
	if f.provider.inFlight < 1 {
		w.t.Fatalf("an attempt under way that nobody counts")
	}
}

func (w *witness) end(r *request, e *end) {
	w.ended++
	defer delete(w.tries, r.life)
	total := r.targets[0].Timeouts.Total
	took := w.x.now - r.start
	switch {
	case r.flying():
		w.t.Fatalf("a request ended with an attempt under way")
	case e.cut && !r.stream:
		w.t.Fatalf("R15: a plain request was cut")
	case e.answered && r.stream && total > 0 && r.firstContent > total+time.Millisecond:
		w.t.Fatalf("R54: the first content came after %s, %s are allowed", r.firstContent, total)
	case !e.cut && !e.left && (!e.answered || !r.stream) && total > 0 && took > total+time.Millisecond:
		w.t.Fatalf("R54: took %s, %s are allowed", took, total)
	case !e.answered && !e.cut && !e.left:
		w.failed(r, e)
	}
}

// failed: no request fails while a candidate is unblocked and untried, unless its time is up.
func (w *witness) failed(r *request, e *end) {
	if e.ending == failover.Deadline || e.ending == failover.PassBack {
		return
	}
	for i := range r.targets {
		p := r.places[i].provider
		c, _, ok, _ := p.machine.Pick(w.x.time(), r.targets[i].Model, func(int) bool { return false }, 0, nil)
		if !ok || w.tried(r, i) {
			continue
		}
		w.t.Fatalf("R50: a request ended in %d although target %d (credential %d of %s) was free and untried", e.ending, i, c, p.guarded.Name)
	}
}

func (w *witness) tried(r *request, target int) bool {
	for k := range w.tries[r.life] {
		if k.target == target {
			return true
		}
	}
	return false
}

// R73: whatever the settings, the weather and the traffic are, what the rules promise every request holds.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		x := New(s, seeded(rapid.Uint64().Draw(t, "seed")))
		w := &witness{t: t, x: x, tries: map[uint64]map[candidate]int{}}
		x.trace = w.see
		rep := x.Finish()
		o := rep.Overall
		if x.Open() != 0 || x.waiting != 0 || o.Requests != w.ended || o.Requests != o.Answered+o.Failed+o.Cut+o.Left {
			t.Fatalf("%d open, %d waiting, %d ended of %+v", x.Open(), x.waiting, w.ended, o)
		}
		attempts := 0
		for _, p := range x.providers {
			settled := p.sums.Answers
			for _, c := range p.sums.Failures {
				settled += c.N
			}
			attempts += p.sums.Attempts
			if p.inFlight != 0 || settled != p.sums.Attempts {
				t.Fatalf("%s: %d permits of %d were settled, %d are out", p.guarded.Name, settled, p.sums.Attempts, p.inFlight)
			}
		}
		if attempts != o.Attempts {
			t.Fatalf("%d attempts at providers, %d of requests", attempts, o.Attempts)
		}
		checkBudget(t, s, rep)
		checkRecovers(t, x, s)
	})
}

// checkBudget: R53, from outside: in any 10 s at most 100 and the share of the requests that counted when they were drawn,
// which came in these 10 s or the 9 s before.
func checkBudget(t *rapid.T, s *Scenario, rep *Report) {
	share := 0.0
	for i := range s.Gateway.Providers {
		share = max(share, s.Gateway.Providers[i].Settings.Retry.Budget)
	}
	for i := range rep.Series { // of a second each
		requests, retries := 0, 0
		for j := max(i-18, 0); j <= i; j++ {
			requests += rep.Series[j].Requests
			if j > i-10 {
				retries += rep.Series[j].Retries
			}
		}
		if float64(retries) > 100+share*float64(requests) {
			t.Fatalf("R53: %d retries for %d requests in the 10 s before %d s", retries, requests, i+1)
		}
	}
}

// checkRecovers: an hour after all weather is over nothing is blocked but what rests for longer by its own settings.
func checkRecovers(t *rapid.T, x *Simulation, s *Scenario) {
	x.Run(x.now + time.Hour)
	for i := range s.Gateway.Providers {
		g := &s.Gateway.Providers[i]
		for c := range g.Credentials {
			if b := x.Blocked(g.Name, c, "model"); b.Guard == resilience.CircuitBreaker {
				t.Fatalf("%s is stuck: %+v", g.Name, b)
			}
		}
	}
}

func drawScenario(t *rapid.T) *Scenario {
	n := rapid.IntRange(1, 4).Draw(t, "providers")
	seconds := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
	}
	pick := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name) }
	s := &Scenario{Duration: 3 * time.Minute, Step: time.Second}
	limits := route.DefaultTimeouts()
	limits.Attempt, limits.FirstChunk = seconds("attempt", 1, 40), seconds("first chunk", 1, 40)
	limits.Total = time.Duration(pick("total", 0, 2, 10, 60, 600)) * time.Second
	limits.StreamTotal = time.Duration(pick("stream total", 0, 0, 5)) * time.Second
	s.Gateway = gateway(n, func(i int, g *Guarded, p *route.Provider) {
		p.Timeouts = limits
		set := &g.Settings
		set.WhenAllBlocked = resilience.WhenAllBlocked(pick("all blocked", 0, 1))
		set.Retry.MaxRetries = pick("max retries", 0, 1, 3)
		set.Retry.SameTarget = pick("same target", 0, 1, 2)
		set.Retry.MaxWait = time.Duration(pick("max wait", 0, 3, 20)) * time.Second
		set.Retry.Budget = float64(pick("budget", 0, 2, 10)) / 10
		set.Retry.Streams = rapid.Bool().Draw(t, "streams")
		set.Breaker.FailureThreshold = pick("threshold", 0, 1, 5)
		set.Breaker.SuccessThreshold = pick("proofs", 1, 2)
		set.Breaker.HalfOpenMaxProbes = pick("probes", 0, 1, 3)
		set.Breaker.Timeout = seconds("timeout", 1, 60)
		set.Cooldown.Failures = pick("cooldown", 0, 3, 10)
		g.Strategy = resilience.KeyStrategy(pick("keys by", 0, 1, 2, 3))
		for k := range pick("more keys", 0, 0, 2) {
			g.Credentials = append(g.Credentials, resilience.Credential{Name: fmt.Sprint("k", k+2), Weight: k + 1, Identity: uint64(k + 2)})
		}
		s.Providers = append(s.Providers, Provider{
			Name: g.Name, FirstToken: LogNormal(3e8, 3e9), Speed: float64(pick("speed", 5, 80)),
			Errors: float64(pick("errors", 0, 0, 2)) / 10, Cuts: float64(pick("cuts", 0, 0, 3)) / 10,
		})
	})
	hedge := route.Hedge{
		Max: pick("hedges", 0, 1, 2), After: time.Duration(pick("hedge after", 0, 1, 3)) * time.Second, Percentile: pick("hedge percentile", 0, 95),
		Budget: float64(pick("hedge budget", 0, 1, 10)) / 10,
	}
	for _, v := range s.Gateway.Table.Virtual {
		v.Hedge = hedge
	}
	for i := range rapid.IntRange(1, n).Draw(t, "traffics") {
		c := people(fmt.Sprint("m", i+1), rapid.IntRange(1, 60).Draw(t, "clients"), 2*time.Second)
		if rapid.Bool().Draw(t, "open") {
			c.Clients, c.Rate = 0, Rate{Low: float64(pick("rate", 1, 5, 40)), Spikes: []Spike{{At: time.Minute, For: 5 * time.Second, Times: 5}}}
		}
		c.Patience = time.Duration(pick("patience", 0, 0, 5)) * time.Second
		s.Traffic = append(s.Traffic, c)
	}
	for range rapid.IntRange(0, 6).Draw(t, "weathers") {
		w := Weather{
			Kind: Kind(pick("kind", 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)), With: With(pick("with", 0, 1, 2)), Status: pick("status", 500, 502, 503, 529),
			From: seconds("from", 0, 150), Errors: float64(pick("share", 1, 5, 10)) / 10, Latency: float64(pick("factor", 1, 3, 20)),
			Every: seconds("every", 5, 60), Limit: pick("limit", 0, 5, 50), Per: seconds("per", 1, 60), Told: rapid.Bool().Draw(t, "told"),
			RetryAfter: time.Duration(pick("after", 0, 1, 30)) * time.Second,
		}
		w.Down = w.Every / time.Duration(pick("down", 2, 5))
		w.To = w.From + seconds("lasts", 1, 100)
		if rapid.Bool().Draw(t, "one") {
			w.Providers = []string{fmt.Sprint("p", rapid.IntRange(1, n).Draw(t, "whom"))}
		}
		if rapid.Bool().Draw(t, "one key") {
			w.Key = "k1"
		}
		s.Weather = append(s.Weather, w)
	}
	return s
}
