package sim

import (
	"slices"
	"time"

	"evergate/internal/resilience"
	"evergate/internal/route"
)

// The streams of random numbers that a simulation asks its source for. They are apart, so that another setting of the
// gateway changes neither who asks when nor the weather's dice.
const (
	engineStream  = 1
	weatherStream = 1000 // and one more for each provider
	trafficStream = 2000 // and one more for each Traffic
)

// Source gives streams of random numbers in [0, 1) by number; the same number gives the same stream.
type Source func(stream uint64) func() float64

// Simulation is a scenario on its way. Not safe for concurrent use.
type Simulation struct {
	scenario *Scenario
	start    time.Time
	now      time.Duration
	events   queue
	ordered  uint64

	crowds    []crowd
	providers []*provider
	byName    map[string]*provider
	places    map[placeKey]*place
	engine    func() float64
	budget    *resilience.Budget
	recent    recent // R53
	hedging   *resilience.Budget
	lately    recent            // R71
	waiting   int               // requests between two attempts
	open      int               // requests under way
	turns     map[string]uint64 // requests whose targets were arranged, by model

	free    []*request
	lives   uint64
	effects []resilience.Effect
	book    book
	trace   func(r *request, f *flight, e *end) // for tests: an attempt began, or with e the request ended
}

// provider is an upstream with its guards.
type provider struct {
	*Provider
	sky      sky
	weather  func() float64
	guarded  *Guarded
	machine  *resilience.Machine
	names    []string // of the credentials
	inFlight int
	sums     *ProviderSums
}

// place is what is known of a target.
type place struct {
	provider *provider
	allowed  []bool // which credentials the model may use
	latency  resilience.Latency
}

// New sets a scenario up. random gives the numbers that decide everything that is left to chance.
func New(s *Scenario, random Source) *Simulation {
	x := &Simulation{
		scenario: s, start: time.Unix(0, 0).UTC(), byName: map[string]*provider{}, places: map[placeKey]*place{}, turns: map[string]uint64{},
		engine: random(engineStream),
	}
	x.budget, x.hedging = resilience.NewBudget(x.start), resilience.NewHedgeBudget(x.start)
	x.recent, x.lately = newRecent(x.budget.Window()), newRecent(x.hedging.Window())
	x.book.open(s)
	for i := range s.Gateway.Providers {
		p := newProvider(s, &s.Gateway.Providers[i], random(weatherStream+uint64(i)))
		p.sums = x.book.provider(p.guarded.Name)
		x.providers = append(x.providers, p)
		x.byName[p.guarded.Name] = p
	}
	for i := range s.Traffic {
		c := crowd{Traffic: &s.Traffic[i], end: s.Traffic[i].To, random: random(trafficStream + uint64(i))}
		if c.end == 0 || c.end > s.Duration {
			c.end = s.Duration
		}
		c.sums = x.book.model(c.Model)
		x.crowds = append(x.crowds, c)
	}
	for i := range x.crowds {
		x.begin(i)
	}
	return x
}

func newProvider(s *Scenario, g *Guarded, weather func() float64) *provider {
	p := &provider{guarded: g, weather: weather, machine: resilience.New(g.Settings, g.Strategy, g.Credentials)}
	for _, c := range g.Credentials {
		p.names = append(p.names, c.Name)
	}
	if len(p.names) == 0 {
		p.names = []string{"default"}
	}
	i := slices.IndexFunc(s.Providers, func(q Provider) bool { return q.Name == g.Name })
	if i >= 0 {
		p.Provider = &s.Providers[i]
	} else {
		fair := DefaultProvider(g.Name)
		p.Provider = &fair
	}
	p.sky = newSky(s.Weather, p.Provider, p.names, s.Duration)
	return p
}

type placeKey struct{ provider, model string }

// place finds what a target stands for.
func (s *Simulation) place(t *route.Target) *place {
	key := placeKey{t.Provider, t.Model}
	if known := s.places[key]; known != nil {
		return known
	}
	p := s.byName[t.Provider]
	out := &place{provider: p, allowed: make([]bool, len(p.names))}
	for i := range out.allowed {
		out.allowed[i] = len(p.guarded.Credentials) == 0 || len(p.guarded.Credentials[i].Models) == 0 ||
			slices.Contains(p.guarded.Credentials[i].Models, t.Model)
	}
	s.places[key] = out
	return out
}

// time is a moment of the scenario as the engine has it.
func (s *Simulation) time() time.Time { return s.start.Add(s.now) }

func (s *Simulation) schedule(e event) {
	s.ordered++
	e.order = s.ordered
	s.events.push(e)
}

// Run plays what happens up to a time of the scenario, and says whether anything is left to happen.
func (s *Simulation) Run(until time.Duration) bool {
	for len(s.events) > 0 && s.events[0].at <= until {
		e := s.events.pop()
		if e.void() {
			continue
		}
		s.now = max(s.now, e.at)
		s.happen(&e)
	}
	s.now = max(s.now, until)
	return len(s.events) > 0
}

// Finish plays the scenario to the end of its last request, and gives the report.
func (s *Simulation) Finish() *Report {
	report, _ := s.FinishUnless(func() bool { return false })
	return report
}

// FinishUnless is Finish, unless it is to stop, which is asked every now and then: then there is no report, and it is false.
func (s *Simulation) FinishUnless(stop func() bool) (*Report, bool) {
	for n := 0; len(s.events) > 0; n++ {
		if n%1024 == 0 && stop() {
			return nil, false
		}
		s.Run(s.events[0].at)
	}
	return s.book.close(s), true
}

func (s *Simulation) happen(e *event) {
	switch r := e.request; e.kind {
	case arrives:
		s.arrive(e.crowd)
	case content:
		s.claim(r, e.flight)
	case sound:
		f := &r.flights[e.flight]
		s.effects = f.provider.machine.Sound(s.time(), &f.permit, s.effects[:0])
		s.note(f.provider)
	case hedges:
		s.launch(r, e.flight)
	case ends:
		s.conclude(r, e.flight)
	case wakes:
		s.waiting--
		r.asleep = false
		s.proceed(r)
	case leaves:
		s.abandon(r)
	}
}

// note writes down what a provider's guards did.
func (s *Simulation) note(p *provider) {
	for i := range s.effects {
		s.book.transition(s.now, p, &s.effects[i])
	}
}

// Open is how many requests are under way.
func (s *Simulation) Open() int { return s.open }

// Blocked says what blocks a provider's credential for a model now; the zero Block if nothing does. Looking moves guards on
// as any look does (R22).
func (s *Simulation) Blocked(provider string, credential int, model string) resilience.Block {
	p := s.byName[provider]
	b, eff := p.machine.Check(s.time(), credential, model, s.effects[:0])
	s.effects = eff
	s.note(p)
	return b
}

// recent counts the requests of the last seconds in slots of one, as the budgets want them (R53, R71).
type recent struct {
	second int64
	slots  []int64
	sum    int64
}

func newRecent(window time.Duration) recent { return recent{slots: make([]int64, window/time.Second)} }

func (r *recent) look(now time.Duration) {
	second, n := int64(now/time.Second), int64(len(r.slots))
	for drop := min(second-r.second, n); drop > 0; drop-- {
		r.second++
		slot := &r.slots[r.second%n]
		r.sum -= *slot
		*slot = 0
	}
	r.second = second
}

func (r *recent) add(now time.Duration) {
	r.look(now)
	r.slots[r.second%int64(len(r.slots))]++
	r.sum++
}

func (r *recent) count(now time.Duration) int64 {
	r.look(now)
	return r.sum
}
