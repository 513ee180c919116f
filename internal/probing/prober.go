package probing

import (
	"cmp"
	"context"
	"sync"
	"time"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/wire"
)

// Prober probes the providers that it is given. It hears the journal's facts as hints that a look at a provider's guards is
// worth it: what it does follows from the guards alone, so that facts may come late and out of order. A provider costs one
// timer while one of its breakers is open, and a goroutine during a probe; else nothing. Safe for concurrent use.
type Prober struct {
	journal.Nothing
	// Journal hears of each probe. It is set before Apply, and not changed.
	Journal journal.Sink

	dialects *wire.Table
	ctx      context.Context //nolint:containedctx // ends what is under way at Stop
	cancel   context.CancelCauseFunc
	work     sync.WaitGroup

	mu      sync.Mutex // never held while guards or the journal are called, which call back
	watches map[string]*watch
	stopped bool
}

// watch is one provider that is probed, whether there is anything to do or not. The prober's lock guards it.
type watch struct {
	source Source
	timer  *time.Timer // calls look; nil: it never did
	busy   bool        // a look is under way
	again  bool        // and another one must follow
	gone   bool        // the provider is not probed any more
	asked  time.Time   // when the last probe began
	last   string      // the model whose breaker it was for
}

// New makes a prober that probes nobody. dialects are all that upstreams may be asked in.
func New(dialects *wire.Table) *Prober {
	p := &Prober{dialects: dialects, watches: map[string]*watch{}}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// Apply takes the providers of a configuration that are to be probed. One that was there keeps its rhythm; a probe under way
// is waited for, even of one that is gone. Every one is looked at, since facts of before may have been of no interest.
func (p *Prober) Apply(sources []Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.watches
	p.watches = make(map[string]*watch, len(sources))
	for _, s := range sources {
		w := old[s.Name]
		if w == nil {
			w = &watch{}
		}
		delete(old, s.Name)
		w.source = s
		p.watches[s.Name] = w
		p.wake(w, 0)
	}
	for _, w := range old {
		w.gone = true
		w.rest()
	}
}

// Stop ends it: probes under way are given up, and no more are made.
func (p *Prober) Stop() {
	p.mu.Lock()
	p.stopped = true
	for _, w := range p.watches {
		w.rest()
	}
	p.mu.Unlock()
	p.cancel(&fault.Fault{Class: fault.ClientGone, Message: "the gateway stops"})
	p.work.Wait()
}

// hint has a provider looked at soon.
func (p *Prober) hint(provider string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.watches[provider]; w != nil {
		p.wake(w, 0)
	}
}

// wake has a look after a time, in place of one that was to come. It requires the lock.
func (p *Prober) wake(w *watch, after time.Duration) {
	switch {
	case p.stopped || w.gone:
	case w.busy:
		w.again = true
	case w.timer == nil:
		w.timer = time.AfterFunc(after, func() { p.look(w) })
	default:
		w.timer.Reset(after)
	}
}

// rest takes back a look that was to come. It requires the lock.
func (w *watch) rest() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look makes the probe that is due, if one is, and has the next look when there is one to make. One look too many changes
// nothing.
func (p *Prober) look(w *watch) {
	p.mu.Lock()
	if p.stopped || w.gone || w.busy {
		p.mu.Unlock()
		return
	}
	w.busy = true
	s, asked, last := w.source, w.asked, w.last
	p.work.Add(1)
	p.mu.Unlock()
	defer p.work.Done()

	now := time.Now()
	d, ok := s.next(now, asked, last)
	if ok && !now.Before(d.at) {
		p.probe(&s, d.model, now)
		asked, last = now, d.model
		d, ok = s.next(time.Now(), asked, last)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	w.busy, w.asked, w.last = false, asked, last
	switch {
	case w.again:
		w.again = false
		p.wake(w, 0)
	case ok:
		p.wake(w, max(time.Until(d.at), 0))
	}
}

// next looks at the provider's guards.
func (s *Source) next(now, asked time.Time, last string) (due, bool) {
	v := s.Guards.Snapshot(now).Guards
	return next(&v, &s.Settings, now, asked, last)
}

// probe asks once, under the provider's guards, and tells them and the journal what came of it. Where it is not admitted, a key
// rests or a user's request has the slot, and an interval later there is another try.
func (p *Prober) probe(s *Source, model string, now time.Time) {
	switch {
	case s.Kind == Models:
		model = ""
	case model == "":
		model = s.Model
	}
	patience := limit(s.Timeouts)
	permit, credential, _, ok := s.Guards.AdmitProbe(now, model, now.Add(patience+time.Second)) // its own timeout comes first
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeoutCause(p.ctx, patience, &fault.Fault{Class: fault.Timeout, Message: "no answer within " + patience.String()})
	defer cancel()
	status, used, f := p.ask(ctx, s, model, credential)
	if f != nil {
		status = cmp.Or(status, f.Status)
	}
	end := time.Now()
	permit.Settle(end, s.outcome(f, status), health.Measured{}) // what is so short says nothing of how long answers take
	fact := &journal.Probe{
		At: now, Provider: s.Name, Model: model, Credential: credential, Result: "ok", Status: status, Duration: end.Sub(now),
	}
	if f != nil {
		fact.Result, fact.Message = f.Class.String(), f.Message
	}
	s.bill(fact, used)
	p.Journal.ProbeEnded(fact)
}
