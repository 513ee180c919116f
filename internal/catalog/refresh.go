package catalog

import (
	"context"
	"time"

	"evergate/internal/fault"
	"evergate/internal/journal"
)

// Start begins to ask the providers, in the background, until ctx is done. It is called once.
func (c *Catalog) Start(ctx context.Context) { c.work.Go(func() { c.run(ctx) }) }

// Wait returns when everything that Start began has ended: soon after its context is done.
func (c *Catalog) Wait() { c.work.Wait() }

// run launches fetches as they come due. One timer, set to the soonest, serves both intervals and all providers.
func (c *Catalog) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if next := c.launch(ctx); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// launch starts a fetch for each source that is due and returns when the next one will be; zero: not until roused.
func (c *Catalog) launch(ctx context.Context) (soonest time.Time) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		at, ok := e.next(now)
		switch {
		case !ok:
		case !at.After(now):
			e.fetching, e.asap = true, false
			generation, fetch := e.generation, e.source.Fetch
			c.work.Go(func() { c.fetch(ctx, e, generation, fetch) })
		case soonest.IsZero() || at.Before(soonest):
			soonest = at
		}
	}
	return soonest
}

// fetch asks one source and takes in what came.
func (c *Catalog) fetch(ctx context.Context, e *entry, generation int, ask func(context.Context) ([]string, *fault.Fault)) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	limited, cancel := context.WithTimeout(ctx, fetchTimeout)
	models, f := ask(limited)
	cancel()
	<-c.slots
	if ctx.Err() != nil { // stopping: what came says nothing of the provider
		return
	}
	if fact := c.settle(e, generation, models, f); fact != nil && c.opts.Journal != nil {
		c.opts.Journal.DiscoveryChanged(fact)
	}
	c.rouse()
}

func (c *Catalog) settle(e *entry, generation int, models []string, f *fault.Fault) *journal.Discovery {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e.fetching = false
	if e.gone {
		return nil
	}
	if f != nil && e.generation != generation {
		// A reload came in between and may have closed what this fetch went through: ask again, as configured now.
		e.due = now
		return nil
	}
	e.settle(now, models, f)
	e.due = c.dueAfter(now, e.failed)
	c.publish()
	return e.report(now)
}

// dueAfter is when to ask again: zero for never.
func (c *Catalog) dueAfter(now time.Time, failed bool) time.Time {
	d := c.opts.Refresh
	if failed && c.opts.Recheck > 0 && (d <= 0 || c.opts.Recheck < d) {
		d = c.opts.Recheck
	}
	if d <= 0 {
		return time.Time{}
	}
	return now.Add(d + time.Duration(float64(d)*jitter*(2*c.opts.Rand()-1)))
}
