package replica

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"evergate/internal/health"
	"evergate/internal/resilience"
)

const (
	// An instance tells others of at most maxPaces models, and listens to at most maxPacers.
	maxPaces, maxPacers = 256, 32
	// pacesARound is how many are told in a round; a page with more is told less often.
	pacesARound = 32
	maxAge      = 1 << 20 // seconds
)

// pacesBody is a page of averages, by provider; what is said of one model stands at the same place of each list.
type pacesBody struct {
	Version   int                   `json:"v"`
	At        int64                 `json:"a"` // when it was written, by the store's clock in Unix milliseconds
	Providers map[string]*paceLists `json:"p"`
}

type paceLists struct {
	Of           string   `json:"of"`
	Models       []string `json:"m"`
	FirstContent []int64  `json:"f"` // ms
	Total        []int64  `json:"t"` // ms
	Samples      []int64  `json:"n"`
	Age          []int64  `json:"s"` // seconds before At
}

// exchange tells this instance's averages and hears some others' (R67).
func (f *Fleet) exchange(ctx context.Context, store Store) error {
	now := f.o.Now()
	f.mu.Lock()
	due := f.o.Averages != nil && !now.Before(f.rounds.paceAt.Add(-f.o.Interval/2)) // rounds jitter
	f.mu.Unlock()
	if !due {
		return nil
	}
	own := f.o.Averages.Latencies(now)
	f.mu.Lock()
	c := f.clock
	f.rounds.paceAt = now.Add(f.o.Interval * time.Duration(f.scale()*max(1, (len(own)+pacesARound-1)/pacesARound)))
	since := c.theirs(now).Add(-2 * f.rounds.paceAt.Sub(now))
	if later := f.rounds.paceRead.Add(-f.overlap()); later.After(since) {
		since = later
	}
	say := len(own) > 0 || f.rounds.paces > 0
	f.rounds.paces = len(own)
	if say {
		f.rounds.pace++
	}
	p := Page{Instance: f.o.Self.ID, Topic: Latencies, Sequence: f.rounds.pace, Body: f.encodePaces(c, now, own), Quiet: true}
	f.mu.Unlock()
	if say {
		if err := f.call(ctx, func(ctx context.Context) error { return store.Put(ctx, []Page{p}) }); err != nil {
			return err
		}
	}
	var pages []Page
	err := f.call(ctx, func(ctx context.Context) (err error) {
		pages, err = store.Read(ctx, Latencies, since, maxPacers+1)
		return err
	})
	if err != nil {
		return err
	}
	var peers []health.Peer
	for i := range pages {
		if pages[i].Instance == f.o.Self.ID || pages[i].Instance == "" {
			continue
		}
		if said, ok := f.decodePaces(c, now, pages[i].Body); ok {
			peers = append(peers, health.Peer{Instance: pages[i].Instance, Latencies: said})
		}
	}
	f.mu.Lock()
	for id, p := range f.peers {
		if p.silent {
			peers = append(peers, health.Peer{Instance: id})
		}
	}
	f.rounds.paceRead = c.theirs(now)
	f.mu.Unlock()
	f.o.Averages.AbsorbLatencies(now, peers)
	return nil
}

// encodePaces is the body of a page of averages.
func (f *Fleet) encodePaces(c clock, now time.Time, own []health.Latency) []byte {
	body := pacesBody{Version: pageVersion, At: stamp(c, now), Providers: map[string]*paceLists{}}
	providers := *f.providers.Load()
	for i := range own[:min(len(own), maxPaces)] {
		l := &own[i]
		s := providers[l.Provider]
		if s == nil {
			continue
		}
		p := body.Providers[l.Provider]
		if p == nil {
			p = &paceLists{Of: s.Of}
			body.Providers[l.Provider] = p
		}
		p.Models = append(p.Models, l.Model)
		p.FirstContent = append(p.FirstContent, l.FirstContent.Milliseconds())
		p.Total = append(p.Total, l.Total.Milliseconds())
		p.Samples = append(p.Samples, int64(math.Ceil(l.Samples)))
		p.Age = append(p.Age, int64(max(now.Sub(l.At), 0)/time.Second))
	}
	text, err := json.Marshal(&body)
	if err != nil || len(text) > MaxBody {
		return nil
	}
	return text
}

// decodePaces reads a page of averages, those of providers that are the same here.
func (f *Fleet) decodePaces(c clock, now time.Time, text []byte) (out []health.Latency, ok bool) {
	if len(text) == 0 {
		return nil, true
	}
	var body pacesBody
	if len(text) > MaxBody || json.Unmarshal(text, &body) != nil || body.Version != pageVersion {
		return nil, false
	}
	t := reader{clock: c, now: now, sane: true}
	written := t.past(body.At)
	if written.IsZero() {
		return nil, false
	}
	providers := *f.providers.Load()
	for _, name := range slices.Sorted(maps.Keys(body.Providers)) {
		p, s := body.Providers[name], providers[name]
		if s == nil || p == nil || s.Of != p.Of {
			continue
		}
		n := min(len(p.Models), len(p.FirstContent), len(p.Total), len(p.Samples), len(p.Age))
		for i := range n {
			a := resilience.Averages{
				FirstContent: millis(p.FirstContent[i]), Total: millis(p.Total[i]),
				Recency: resilience.Recency{
					Samples: float64(min(p.Samples[i], maxCount)), At: written.Add(-time.Duration(min(max(p.Age[i], 0), maxAge)) * time.Second),
				},
			}
			if len(out) < maxPaces && len(p.Models[i]) <= maxName && a.Sane() {
				out = append(out, health.Latency{Provider: name, Model: p.Models[i], Averages: a})
			}
		}
	}
	return out, true
}

// millis is a time in a page; -1 is none that can be.
func millis(ms int64) time.Duration {
	if ms < 0 || ms > (24*time.Hour).Milliseconds() {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}
