package sim

import (
	"cmp"
	"slices"
	"time"

	"evergate/internal/failover"
	"evergate/internal/fault"
	"evergate/internal/resilience"
)

const (
	maxTransitions = 20_000
	seriesPoints   = 120 // at most so many, where the step is chosen
)

// book keeps what a report is made of.
type book struct {
	step      time.Duration
	points    []Point
	minutes   []Minute
	models    []*tally
	overall   tally
	providers []*ProviderSums
	guards    []Transition
	leftOut   int
}

// tally is the sums of one model with what they are made of.
type tally struct {
	Sums
	latency, firstContent histogram
	waited                time.Duration
}

func (b *book) open(s *Scenario) {
	b.step = s.Step
	for _, step := range []time.Duration{
		time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 24 * time.Hour,
	} {
		if b.step == 0 && s.Duration/step <= seriesPoints {
			b.step = step
		}
	}
	b.step = cmp.Or(b.step, s.Duration/seriesPoints)
}

func (b *book) model(name string) *tally {
	for _, t := range b.models {
		if t.Model == name {
			return t
		}
	}
	t := &tally{Sums: Sums{Model: name}}
	b.models = append(b.models, t)
	return t
}

func (b *book) provider(name string) *ProviderSums {
	p := &ProviderSums{Name: name}
	b.providers = append(b.providers, p)
	return p
}

// point is the step of a time.
func (b *book) point(at time.Duration) *Point {
	i := int(at / b.step)
	for len(b.points) <= i {
		b.points = append(b.points, Point{At: ms(time.Duration(len(b.points)) * b.step), ByProvider: make([]Tries, len(b.providers))})
	}
	return &b.points[i]
}

func (b *book) minute(at time.Duration) *Minute {
	i := int(at / time.Minute)
	for len(b.minutes) <= i {
		b.minutes = append(b.minutes, Minute{At: ms(time.Duration(len(b.minutes)) * time.Minute)})
	}
	return &b.minutes[i]
}

// attempt notes that one began.
func (b *book) attempt(now time.Duration, p *provider) {
	p.sums.Attempts++
	p.sums.MostOpen = max(p.sums.MostOpen, p.inFlight)
	b.minute(now).Attempts++
	pt := b.point(now)
	pt.Attempts++
	pt.ByProvider[slices.Index(b.providers, p.sums)].Attempts++
}

// hedge notes that one was started.
func (b *book) hedge(r *request) {
	b.overall.Hedges++
	r.crowd.sums.Hedges++
}

// settled notes what an attempt came to; no word: an answer.
func (b *book) settled(p *provider, f *flight, word string) {
	if word == "" {
		p.sums.Answers++
		return
	}
	p.sums.Failures = count(p.sums.Failures, word)
	if word != "outrun" && word != fault.ClientGone.String() {
		b.point(f.began).ByProvider[slices.Index(b.providers, p.sums)].Failures++
	}
}

func count(list []Count, what string) []Count {
	for i := range list {
		if list[i].What == what {
			list[i].N++
			return list
		}
	}
	return append(list, Count{what, 1})
}

// transition notes a change of a guard.
func (b *book) transition(now time.Duration, p *provider, e *resilience.Effect) {
	switch {
	case e.Guard == resilience.CircuitBreaker && e.To == resilience.Open.String():
		p.sums.Opened++
	case e.Guard == resilience.CredentialCooldownGuard && e.To == "blocked":
		p.sums.Rested++
	case e.Guard == resilience.ModelLockoutGuard && e.To == "blocked":
		p.sums.Locked++
	}
	if len(b.guards) >= maxTransitions {
		b.leftOut++
		return
	}
	t := Transition{
		At: ms(now), Provider: p.guarded.Name, Guard: e.Guard.String(), Model: e.Model, From: e.From, To: e.To, Trip: e.Trip,
		Reason: string(e.Reason), InFlight: p.inFlight,
	}
	if !e.Until.IsZero() {
		t.Until = ms(e.Until.Sub(time.Unix(0, 0)))
	}
	if e.Credential >= 0 && e.Credential < len(p.names) {
		t.Credential = p.names[e.Credential]
	}
	b.guards = append(b.guards, t)
}

// ended notes the end of a request.
func (b *book) ended(now time.Duration, r *request, e end) {
	took := now - r.start
	b.minute(r.start).Requests++
	pt := b.point(r.start)
	pt.Requests++
	switch {
	case e.answered:
		pt.Answered++
		pt.latency.add(took)
	case e.cut:
		pt.Cut++
	case !e.left:
		pt.Failed++
	}
	if e.missed {
		pt.Missed++
	}
	b.overall.add(r, e, took)
	r.crowd.sums.add(r, e, took)
}

func (t *tally) add(r *request, e end, took time.Duration) {
	t.Requests++
	t.Attempts += r.attempts
	t.Retries += r.retries
	t.Waits += r.waits
	t.waited += r.waited
	switch {
	case e.answered:
		t.Answered++
		t.latency.add(took)
		if r.attempts > 1+r.hedges || e.hedged {
			t.Rescued++
		}
		if e.hedged {
			t.HedgesWon++
		}
	case e.cut:
		t.Cut++
	case e.left:
		t.Left++
		return
	default:
		t.Failed++
	}
	if e.missed {
		t.Missed++
	}
	if r.stream && r.firstContent > 0 {
		t.firstContent.add(r.firstContent)
	}
	if !e.answered {
		t.Endings = count(t.Endings, endingWord(e.ending))
	}
}

// endingWord is the code of the error that a client sees.
func endingWord(e failover.Ending) string {
	switch e {
	case failover.PassBack:
		return "passed_back"
	case failover.ClientLeft:
		return "client_left"
	case failover.CutShort:
		return "cut_short"
	case failover.Deadline:
		return "deadline_exceeded"
	case failover.AllLimited:
		return "all_providers_rate_limited"
	case failover.CircuitOpen:
		return "circuit_open"
	case failover.OneFailed:
		return "provider_error"
	case failover.AllFailed:
		return "all_providers_failed"
	}
	return "unknown"
}

// close makes the report.
func (b *book) close(s *Simulation) *Report {
	rep := &Report{
		Name: s.scenario.Name, Duration: ms(s.scenario.Duration), Step: ms(b.step), Overall: b.overall.close(),
		Guards: b.guards, GuardsLeftOut: b.leftOut, Series: b.points, Weather: bands(s),
	}
	for _, t := range b.models {
		rep.Models = append(rep.Models, t.close())
	}
	for _, p := range b.providers {
		byName(p.Failures)
		rep.Provider = append(rep.Provider, *p)
	}
	for i := range rep.Series {
		pt := &rep.Series[i]
		pt.P50, pt.P95 = ms(pt.latency.at(0.5)), ms(pt.latency.at(0.95))
	}
	for _, m := range b.minutes {
		if m.Requests > 0 {
			m.Ratio = share(m.Attempts, m.Requests)
			if m.Ratio > rep.Worst.Ratio {
				rep.Worst = m
			}
		}
	}
	return rep
}

func (t *tally) close() Sums {
	s := t.Sums
	s.Latency, s.FirstContent, s.Waited = t.latency.spread(), t.firstContent.spread(), ms(t.waited)
	stayed := s.Requests - s.Left
	s.Availability, s.BestAchievable = share(s.Answered, stayed), share(s.Answered+s.Cut+s.Missed, stayed)
	s.PerRequest = share(s.Attempts, s.Requests)
	byName(s.Endings)
	return s
}

func (h *histogram) spread() Spread { return Spread{ms(h.at(0.5)), ms(h.at(0.95)), ms(h.at(0.99))} }

func byName(list []Count) {
	slices.SortFunc(list, func(a, b Count) int { return cmp.Compare(a.What, b.What) })
}

// share is a of b, to six digits; 1 of nothing.
func share(a, b int) float64 {
	if b == 0 {
		return 1
	}
	return float64(int64(float64(a)/float64(b)*1e6+0.5)) / 1e6
}

// bands are the scenario's weather, as it fell on the gateway's providers.
func bands(s *Simulation) []Band {
	var out []Band
	for i := range s.scenario.Weather {
		w := &s.scenario.Weather[i]
		b := Band{Kind: w.Kind.String(), Model: w.Model, Key: w.Key, From: ms(w.From), To: ms(cmp.Or(w.To, s.scenario.Duration))}
		for _, p := range s.providers {
			if w.hits(p.Provider) {
				b.Providers = append(b.Providers, p.guarded.Name)
			}
		}
		out = append(out, b)
	}
	return out
}
