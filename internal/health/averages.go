package health

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"evergate/internal/resilience"
)

const (
	maxTold  = 256 // models that an instance tells others of, and that are heard of each
	maxHeard = 32  // instances that are listened to
)

// Latency is what one instance measured of a model at a provider (R67).
type Latency struct {
	Provider, Model string
	resilience.Averages
}

// Peer is what another instance said last of the models that it knows.
type Peer struct {
	Instance  string
	Latencies []Latency // at most 256 are taken; none: forget what it said
}

// others keeps what each instance said, 32 bytes a model.
type others struct {
	mu   sync.Mutex
	said map[string][]saying
}

type saying struct {
	of                  unique.Handle[place]
	at                  int64  // Unix ns
	firstContent, total uint32 // ms
	samples             float32
}

type place struct{ provider, model string }

func (s *saying) averages() resilience.Averages {
	return resilience.Averages{
		FirstContent: time.Duration(s.firstContent) * time.Millisecond, Total: time.Duration(s.total) * time.Millisecond,
		Recency: resilience.Recency{Samples: float64(s.samples), At: time.Unix(0, s.at)},
	}
}

// heard is what others know of the models of a provider, ready to be read. It is replaced as a whole.
type heard struct {
	models  map[string]resilience.Averages
	overall resilience.Averages
}

// Latencies is what this instance measured itself in the last 10 minutes, for the others: of the 256 models of which that is worth
// most, by provider and model.
func (h *Health) Latencies(now time.Time) []Latency {
	var all []Latency
	for name, p := range *h.providers.Load() {
		p.mu.Lock()
		for model, l := range p.latency {
			if a := l.averages(); a.Worth(now) > 0 {
				all = append(all, Latency{name, model, a})
			}
		}
		p.mu.Unlock()
	}
	byName := func(a, b Latency) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Model, b.Model))
	}
	if len(all) > maxTold {
		slices.SortFunc(all, func(a, b Latency) int {
			return cmp.Or(cmp.Compare(b.Worth(now), a.Worth(now)), byName(a, b))
		})
		all = all[:maxTold]
	}
	slices.SortFunc(all, byName)
	return all
}

// AbsorbLatencies takes what other instances measured: each one's word replaces what it said before. Of more than 32 instances
// those known first are listened to, until they fall silent. What is older than 10 minutes is forgotten, which is why this is to be
// called now and then with nobody's word, too. Nothing of it is on the way of a request but the result: one number a model.
func (h *Health) AbsorbLatencies(now time.Time, peers []Peer) {
	o := &h.others
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(peers) == 0 && len(o.said) == 0 {
		return
	}
	if o.said == nil {
		o.said = make(map[string][]saying)
	}
	for i := range peers {
		if _, known := o.said[peers[i].Instance]; known {
			o.said[peers[i].Instance] = keep(now, peers[i].Latencies)
		}
	}
	for who, said := range o.said {
		if said = slices.DeleteFunc(said, func(s saying) bool { a := s.averages(); return a.Worth(now) <= 0 }); len(said) == 0 {
			delete(o.said, who)
		} else {
			o.said[who] = said
		}
	}
	for i := range peers {
		if _, known := o.said[peers[i].Instance]; known || len(o.said) >= maxHeard {
			continue
		}
		if said := keep(now, peers[i].Latencies); len(said) > 0 {
			o.said[peers[i].Instance] = said
		}
	}
	o.hand(now, *h.providers.Load())
}

// keep is what is kept of an instance's words.
func keep(now time.Time, ls []Latency) []saying {
	said := make([]saying, 0, min(len(ls), maxTold))
	for i := range ls[:min(len(ls), maxTold)] {
		l := &ls[i]
		if l.Worth(now) <= 0 || !l.Sane() {
			continue
		}
		said = append(said, saying{
			of: unique.Make(place{l.Provider, l.Model}), at: l.At.UnixNano(), samples: float32(l.Samples),
			firstContent: uint32(l.FirstContent.Milliseconds()), total: uint32(l.Total.Milliseconds()), //nolint:gosec // a day at most
		})
	}
	return said
}

// hand gives each provider what all of them say together. It requires the lock.
func (o *others) hand(now time.Time, providers map[string]*Provider) {
	type sums struct {
		models  map[string]*resilience.Blend
		overall resilience.Blend
	}
	all := make(map[string]*sums)
	for _, said := range o.said {
		for i := range said {
			of, a := said[i].of.Value(), said[i].averages()
			if providers[of.provider] == nil {
				continue
			}
			s := all[of.provider]
			if s == nil {
				s = &sums{models: make(map[string]*resilience.Blend)}
				all[of.provider] = s
			}
			if s.models[of.model] == nil {
				s.models[of.model] = new(resilience.Blend)
			}
			s.models[of.model].Add(now, &a)
			s.overall.Add(now, &a)
		}
	}
	for name, p := range providers {
		var h heard
		if s := all[name]; s != nil {
			h.overall, h.models = s.overall.Averages(now), make(map[string]resilience.Averages, len(s.models))
			for model, b := range s.models {
				h.models[model] = b.Averages(now)
			}
		}
		p.mu.Lock()
		p.heard = h
		p.mu.Unlock()
	}
}

// averages are a model's own ones, for routing and for others.
func (l *measures) averages() resilience.Averages {
	a := resilience.Averages{Recency: l.recency}
	a.FirstContent, _ = l.Pace()
	a.Total, _ = l.Total()
	return a
}

// recency is how much the averages of all models together are worth. It requires the lock.
func (p *Provider) recency(now time.Time) resilience.Recency {
	all := resilience.Recency{At: now}
	if len(p.heard.models) > 0 { // else nobody asks
		for _, l := range p.latency {
			all.Samples += l.recency.Worth(now)
		}
	}
	return all
}

// pace is the time to a model's first content that routing goes by (R50, R67). It requires the lock.
func (p *Provider) pace(now time.Time, model string, l *measures) time.Duration {
	var own resilience.Averages
	if l != nil {
		own.FirstContent, _ = l.Pace()
		own.Recency = l.recency
	}
	if len(p.heard.models) == 0 {
		return own.FirstContent
	}
	others, ok := p.heard.models[model]
	if !ok {
		return own.FirstContent
	}
	both := own.With(now, &others)
	return both.FirstContent
}
