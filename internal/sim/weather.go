package sim

import (
	"slices"
	"time"
)

// sky is the weather over one provider. Time only moves forward: it is looked at for the moment at hand and, for what will
// befall an answer on its way, for times after it.
type sky struct {
	fronts []*front // by their beginning
	begun  int      // so many have
	active []*front // of those, what is not over
}

// front is a Weather over one provider.
type front struct {
	*Weather
	key  int   // index of the credential; -1: all
	used []use // by credential: what was answered under a limit
}

type use struct {
	window int64
	n      int
}

func newSky(weather []Weather, p *Provider, keys []string, end time.Duration) sky {
	var s sky
	for i := range weather {
		w := weather[i]
		if !w.hits(p) {
			continue
		}
		if w.To == 0 {
			w.To = end
		}
		key := -1
		if w.Key != "" {
			if key = slices.Index(keys, w.Key); key < 0 {
				continue
			}
		}
		s.fronts = append(s.fronts, &front{Weather: &w, key: key, used: make([]use, len(keys))})
	}
	slices.SortStableFunc(s.fronts, func(a, b *front) int { return int(a.From - b.From) })
	return s
}

// look moves on to a time.
func (s *sky) look(now time.Duration) {
	for s.begun < len(s.fronts) && s.fronts[s.begun].From <= now {
		s.active = append(s.active, s.fronts[s.begun])
		s.begun++
	}
	for i := 0; i < len(s.active); {
		if s.active[i].To <= now {
			s.active = slices.Delete(s.active, i, i+1)
		} else {
			i++
		}
	}
}

func (f *front) is(model string) bool { return f.Model == "" || f.Model == model }

func (f *front) on(key int) bool { return f.key < 0 || f.key == key }

// down says whether it keeps the provider from answering at a time within it.
func (f *front) down(now time.Duration) bool {
	switch f.Kind {
	case Outage:
		return true
	case Flapping:
		return f.Every > 0 && (now-f.From)%f.Every < f.Down
	case Brownout, SlowStart, RateLimit, Quota, BadKey, ModelMissing, Cuts:
	}
	return false
}

// downAfter is when it next begins to keep the provider from answering, after now and before end.
func (f *front) downAfter(now, end time.Duration) (time.Duration, bool) {
	at := f.From
	switch {
	case f.Kind == Flapping && f.Every > 0 && f.Down > 0:
		if at <= now {
			at = now + f.Every - (now-f.From)%f.Every
		}
	case f.Kind == Outage:
	default:
		return 0, false
	}
	return at, at > now && at < end && at < f.To
}

// outage is what keeps the provider from answering for a model; nil: nothing does.
func (s *sky) outage(now time.Duration, model string) *front {
	for _, f := range s.active {
		if f.is(model) && f.down(now) {
			return f
		}
	}
	return nil
}

// strike is the first outage that befalls an answer on its way between now and end; nil: none does.
func (s *sky) strike(now, end time.Duration, model string) (first *front, at time.Duration) {
	try := func(f *front) {
		if t, ok := f.downAfter(now, end); ok && f.is(model) && (first == nil || t < at) {
			first, at = f, t
		}
	}
	for _, f := range s.active {
		try(f)
	}
	for _, f := range s.fronts[s.begun:] {
		if f.From >= end {
			break
		}
		try(f)
	}
	return first, at
}

// room is how often a key may still be answered under a limit at a time.
func (f *front) room(now time.Duration, key int) int {
	u := &f.used[key]
	if f.Kind == RateLimit && f.Per > 0 {
		if w := int64((now - f.From) / f.Per); w != u.window {
			return f.Limit
		}
	}
	return f.Limit - u.n
}

// take uses one of them.
func (f *front) take(now time.Duration, key int) {
	u := &f.used[key]
	if f.Kind == RateLimit && f.Per > 0 {
		if w := int64((now - f.From) / f.Per); w != u.window {
			*u = use{window: w}
		}
	}
	u.n++
}

// refusal is what refuses a key for a model; nil: nothing does.
func (s *sky) refusal(now time.Duration, key int, model string) *front {
	for _, f := range s.active {
		if !f.is(model) || !f.on(key) {
			continue
		}
		switch f.Kind {
		case BadKey, ModelMissing:
			return f
		case RateLimit, Quota:
			if f.room(now, key) <= 0 {
				return f
			}
		case Outage, Flapping, Brownout, SlowStart, Cuts:
		}
	}
	return nil
}

// take counts an answer under every limit there is.
func (s *sky) take(now time.Duration, key int, model string) {
	for _, f := range s.active {
		if (f.Kind == RateLimit || f.Kind == Quota) && f.is(model) && f.on(key) {
			f.take(now, key)
		}
	}
}

// air is how an answer fares that nothing refuses.
type air struct {
	errors, cuts, latency float64
	status                int
}

func (s *sky) air(now time.Duration, p *Provider, key int, model string) air {
	a := air{errors: p.Errors, cuts: p.Cuts, latency: 1, status: 500}
	for _, f := range s.active {
		if !f.is(model) || !f.on(key) {
			continue
		}
		switch f.Kind {
		case Brownout:
			a.errors = 1 - (1-a.errors)*(1-f.Errors)
			if f.Latency > 0 {
				a.latency *= f.Latency
			}
			if f.Errors > 0 && f.Status != 0 {
				a.status = f.Status
			}
		case SlowStart:
			left := float64(f.To-now) / float64(f.To-f.From)
			a.latency *= 1 + (f.Latency-1)*left
		case Cuts:
			a.cuts = 1 - (1-a.cuts)*(1-f.Errors)
		case Outage, Flapping, RateLimit, Quota, BadKey, ModelMissing:
		}
	}
	return a
}

// fair says whether a request for the model would be answered now, with luck, by one of the credentials that are allowed.
func (s *sky) fair(now time.Duration, p *Provider, model string, allowed []bool) bool {
	s.look(now)
	if len(s.active) == 0 {
		return p.Errors < 1
	}
	if s.outage(now, model) != nil {
		return false
	}
	for key, ok := range allowed {
		if ok && s.refusal(now, key, model) == nil && s.air(now, p, key, model).errors < 1 {
			return true
		}
	}
	return false
}
