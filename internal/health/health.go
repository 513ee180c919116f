// Package health is this instance's living copy of the guards: one resilience.Machine a provider behind a lock of its
// own, with the clock read here and effects told to the journal after the lock is gone. It also keeps what the guards
// need to be judged by: requests in flight, latencies, the budgets of retries and hedges. It does no I/O, and no lock of it is ever held
// while somebody else's code runs.
package health

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/resilience"
)

// Config is one provider's part of a configuration.
type Config struct {
	Name        string
	Settings    resilience.Settings
	Strategy    resilience.KeyStrategy
	Credentials []resilience.Credential
}

// Health holds every provider's guards. Safe for concurrent use.
type Health struct {
	sink      journal.Sink
	evidence  evidence
	budgets   budgets
	others    others
	providers atomic.Pointer[map[string]*Provider]
	apply     sync.Mutex // serialises Apply
}

// New makes an empty Health; Apply fills it.
func New(sink journal.Sink) *Health {
	h := &Health{sink: sink}
	h.budgets.start(time.Now())
	h.providers.Store(&map[string]*Provider{})
	return h
}

// Apply takes a configuration's providers. Those known by name keep their state; those no longer named are dropped.
func (h *Health) Apply(configs []Config) {
	h.apply.Lock()
	defer h.apply.Unlock()
	old := *h.providers.Load()
	next := make(map[string]*Provider, len(configs))
	for _, c := range configs {
		p, ok := old[c.Name]
		if ok {
			p.configure(c)
		} else {
			p = newProvider(c, h.sink, &h.evidence)
		}
		next[c.Name] = p
	}
	h.providers.Store(&next)
}

// Provider gives one provider's guards, nil if none of that name is configured. The pointer stays valid for requests
// that began before a reload.
func (h *Health) Provider(name string) *Provider { return (*h.providers.Load())[name] }

// CountRequest counts one client request for the budgets (R53, R71).
func (h *Health) CountRequest(now time.Time) { h.budgets.count(now) }

// DrawRetry takes one token of the retry budget, if one is left (R53).
func (h *Health) DrawRetry(now time.Time, share float64) bool {
	return h.budgets.draw(h.budgets.retries, now, share)
}

// DrawHedge takes one token of the hedges' budget, if one is left (R71).
func (h *Health) DrawHedge(now time.Time, share float64) bool {
	return h.budgets.draw(h.budgets.hedge, now, share)
}

// Provider is one provider's guards, alive. Safe for concurrent use.
type Provider struct {
	name     string
	sink     journal.Sink
	evidence *evidence
	inFlight atomic.Int64
	twice    atomic.Int64 // settlements of permits that were settled before

	mu      sync.Mutex
	machine *resilience.Machine
	proofs  uint64   // good probes that were told of
	names   []string // of the credentials, by index
	latency map[string]*measures
	overall resilience.Latency
	heard   heard // R67
}

func newProvider(c Config, sink journal.Sink, e *evidence) *Provider {
	p := &Provider{
		name: c.Name, sink: sink, evidence: e, machine: resilience.New(c.Settings, c.Strategy, c.Credentials),
		latency: map[string]*measures{},
	}
	p.names = credentialNames(c.Credentials)
	return p
}

func (p *Provider) configure(c Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.machine.Configure(c.Settings, c.Strategy, c.Credentials)
	p.names = credentialNames(c.Credentials)
}

func credentialNames(cs []resilience.Credential) []string {
	if len(cs) == 0 {
		return []string{"default"}
	}
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.Name
	}
	return names
}

// Name is the provider's name.
func (p *Provider) Name() string { return p.name }

// CredentialName gives a credential's name by index, for trails and logs.
func (p *Provider) CredentialName(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nameOf(i)
}

// nameOf requires the lock.
func (p *Provider) nameOf(i int) string {
	if i >= 0 && i < len(p.names) {
		return p.names[i]
	}
	return ""
}

// Pick chooses a usable credential (resilience.Machine.Pick). rnd in [0, 1) is the request's own number: one for all its calls.
func (p *Provider) Pick(now time.Time, model string, rnd float64, skip func(int) bool) (int, resilience.Block, bool) {
	var space [4]resilience.Effect
	p.mu.Lock()
	c, b, ok, eff := p.machine.Pick(now, model, skip, rnd, space[:0])
	p.unlockAndTell(now, eff)
	return c, b, ok
}

// ClosedAt is when the breaker that a model's traffic passes last closed; zero: never (R34).
func (p *Provider) ClosedAt(model string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.ClosedAt(model)
}

// ConsecutiveFailures is the count of the provider's breaker.
func (p *Provider) ConsecutiveFailures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machine.ConsecutiveFailures()
}

// Permit is a granted attempt; Settle ends it exactly once. Its other methods may be called from another goroutine.
type Permit struct {
	p       *Provider
	r       resilience.Permit // guarded by p.mu
	settled bool              // guarded by p.mu
	probe   bool
	cause   string
}

// For names the request whose attempt this is: the transitions that the attempt brings about carry it. It comes before all else, if at
// all; what the gateway does by itself has no request.
func (t *Permit) For(request string) { t.cause = request }

// Admit asks for a permit (resilience.Machine.Admit). It must be settled.
func (p *Provider) Admit(now time.Time, credential int, model string, deadline time.Time, force bool) (Permit, resilience.Block) {
	var space [4]resilience.Effect
	p.mu.Lock()
	r, b, eff := p.machine.Admit(now, credential, model, deadline, force, space[:0])
	p.unlockAndTell(now, eff)
	if b.Blocked() {
		return Permit{}, b
	}
	p.inFlight.Add(1)
	return Permit{p: p, r: r, probe: r.Pending()}, b
}

// Probing says whether the permit's verdict may close the breaker: a half-open probe (R23) or a forced try (R27).
func (t *Permit) Probing() bool { return t.probe }

// FirstContent tells of a stream's first content event (R26).
func (t *Permit) FirstContent(now time.Time) { t.tell(now, (*resilience.Machine).FirstContent) }

// Sound tells that a stream has run for 10 s since its first content event (R26).
func (t *Permit) Sound(now time.Time) { t.tell(now, (*resilience.Machine).Sound) }

func (t *Permit) tell(now time.Time, what func(*resilience.Machine, time.Time, *resilience.Permit, []resilience.Effect) []resilience.Effect) {
	if !t.probe {
		return
	}
	var space [4]resilience.Effect
	eff := space[:0]
	t.p.mu.Lock()
	if !t.settled {
		eff = what(t.p.machine, now, &t.r, eff)
	}
	t.p.unlockAndTellOf(now, eff, t.cause)
}

// Measured is how long an attempt took, for the latency measures; zero values are not measured.
type Measured struct {
	FirstByte, FirstContent, Total time.Duration
	Stream                         bool
	// Outrun: it was given up because another answered first: Total is the least that its content would have taken (R71).
	Outrun bool
	// Input, Cached and Output are its tokens as the upstream counted them; Cached of Input came from the prompt cache.
	Input, Cached, Output int64
}

// Settle ends the permit with what the attempt came to and returns the consecutive failures of its breakers before it. A
// second settlement is a bug of the caller's; it moves nothing and is counted (Snapshot.SettledTwice).
func (t *Permit) Settle(now time.Time, o resilience.Outcome, m Measured) (failuresBefore int) {
	p := t.p
	var space [4]resilience.Effect
	p.mu.Lock()
	failuresBefore = p.machine.FailuresBefore(t.r.Model)
	if t.settled {
		p.twice.Add(1)
		p.mu.Unlock()
		return failuresBefore
	}
	t.settled = true
	p.inFlight.Add(-1)
	eff := p.machine.Settle(now, t.r, o, rand.Float64(), space[:0]) //nolint:gosec // jitter, not secrets
	if o.Success || m.Outrun {
		p.measure(now, t.r.Model, m)
	}
	p.unlockAndTellOf(now, eff, t.cause)
	return failuresBefore
}

// maxMeasured bounds the models measured per provider: names may come from clients.
const maxMeasured = 512

// measure requires the lock.
func (p *Provider) measure(now time.Time, model string, m Measured) {
	l := p.latency[model]
	if l == nil {
		if len(p.latency) >= maxMeasured {
			return
		}
		l = new(measures)
		p.latency[model] = l
	}
	if m.Outrun {
		l.AtLeast(m.Total, m.Stream)
		p.overall.AtLeast(m.Total, m.Stream)
		return
	}
	l.Add(m.FirstByte, m.FirstContent, m.Total)
	l.AddContent(m.FirstContent, m.Stream)
	l.count(&m)
	l.recency.Add(now)
	p.overall.Add(m.FirstByte, m.FirstContent, m.Total)
}

// Content is a percentile (1 to 99) of the time that a model's answers took to their content, plain ones to their end
// (R71); false below 20 of them.
func (p *Provider) Content(model string, percent int, stream bool) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.latency[model]; l != nil {
		return l.Content(percent, stream)
	}
	return 0, false
}

// SilentTooLong is the limit of R13: how long an attempt may bring no byte before a client that hangs up makes it
// a timeout of the provider. timeout is the attempt's own; 0: it has none.
func (p *Provider) SilentTooLong(model string, timeout time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var l *resilience.Latency
	if m := p.latency[model]; m != nil {
		l = &m.Latency
	}
	return l.SilentTooLong(timeout)
}

// unlockAndTell releases the lock and then tells the journal: effects leave the lock before anyone hears of them.
func (p *Provider) unlockAndTell(now time.Time, effects []resilience.Effect) {
	p.unlockAndTellOf(now, effects, "")
}

// unlockAndTellOf tells of what the attempt of a request brought about.
func (p *Provider) unlockAndTellOf(now time.Time, effects []resilience.Effect, request string) {
	if len(effects) == 0 && p.machine.Proofs() == p.proofs {
		p.mu.Unlock()
		return
	}
	p.unlockAndReport(now, effects, request, false)
}

// unlockAndReport tells with a word on whose attempt it was, empty: nobody's, and whether others of the fleet were heard to say it.
func (p *Provider) unlockAndReport(now time.Time, effects []resilience.Effect, request string, heard bool) {
	proofs := p.machine.Proofs()
	own := proofs != p.proofs || len(effects) > 0 && !heard
	p.proofs = proofs
	facts := make([]journal.Guard, len(effects))
	for i, e := range effects {
		facts[i] = journal.Guard{
			At: now, Provider: p.name, Guard: e.Guard.String(), Credential: p.nameOf(e.Credential), Model: e.Model,
			From: e.From, To: e.To, Trip: e.Trip, Reason: string(e.Reason), Until: e.Until, Level: e.Level,
			Heard: heard,
		}
		if e.To != resilience.HalfOpen.String() { // time alone brings that about, whoever comes by
			facts[i].RequestID = request
		}
	}
	p.mu.Unlock()
	for i := range facts {
		p.sink.GuardChanged(&facts[i])
	}
	if own {
		p.evidence.tell(p.name)
	}
}

// Snapshot is one provider's state at a moment.
type Snapshot struct {
	Name                string
	Guards              resilience.View
	InFlight            int64
	SettledTwice        int64         // permits that were settled more than once: a bug of the request path
	FirstContent, Total time.Duration // averages, with what others measured (R67); 0: not measured
}

// Snapshot copies the state, for status pages and metrics.
func (p *Provider) Snapshot(now time.Time) Snapshot {
	var space [4]resilience.Effect
	p.mu.Lock()
	v, eff := p.machine.View(now, space[:0])
	s := Snapshot{Name: p.name, Guards: v, InFlight: p.inFlight.Load(), SettledTwice: p.twice.Load()}
	own := resilience.Averages{Recency: p.recency(now)}
	own.FirstContent, _ = p.overall.FirstContent()
	own.Total, _ = p.overall.Total()
	both := own.With(now, &p.heard.overall)
	s.FirstContent, s.Total = both.FirstContent, both.Total
	p.unlockAndTell(now, eff)
	return s
}

// OutcomeOf is the guards' reading of a fault; nil is a success (R16).
func OutcomeOf(f *fault.Fault) resilience.Outcome {
	if f == nil {
		return resilience.Outcome{Success: true}
	}
	return resilience.Outcome{Class: f.Class, Wait: f.Wait, Unasked: f.Unasked}
}
