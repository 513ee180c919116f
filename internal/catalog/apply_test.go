package catalog

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/fault"
	"evergate/internal/route"
)

func TestApplyKeepsUnchangedSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		kept, moved, fresh := &script{models: []string{"k"}}, &script{models: []string{"old"}}, &script{models: []string{"f"}}
		c := run(t, hourly,
			Source{Name: "kept", Identity: "1", Fetch: kept.fetch},
			Source{Name: "moved", Identity: "1", Fetch: moved.fetch},
			Source{Name: "dropped", Fetch: (&script{models: []string{"d"}}).fetch},
		)
		after(time.Minute)
		moved.say([]string{"new"}, nil)
		c.Apply([]Source{
			{Name: "fresh", Fetch: fresh.fetch},
			{Name: "moved", Identity: "2", Fetch: moved.fetch},
			{Name: "kept", Identity: "1", Fetch: kept.fetch},
		})
		equal(t, "at once: only what is kept", c.Snapshot().ByModel, map[string][]string{"k": {"kept"}})
		synctest.Wait()
		now := start.Add(time.Minute)
		equal(t, "after the first look", c.Snapshot(), &route.Inventory{
			ByModel: map[string][]string{"f": {"fresh"}, "new": {"moved"}, "k": {"kept"}},
			Providers: []route.ProviderModels{
				{Name: "fresh", Models: []string{"f"}, Status: route.Healthy, LastChecked: now},
				{Name: "moved", Models: []string{"new"}, Status: route.Healthy, LastChecked: now},
				{Name: "kept", Models: []string{"k"}, Status: route.Healthy, LastChecked: start},
			},
		})
		after(59 * time.Minute)
		equal(t, "the kept one stays in its rhythm", kept.askedAt(start), []time.Duration{0, time.Hour})
	})
}

func TestApplyUsesNewSettingsOfAKeptSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		before, later := &script{models: []string{"a", "b"}}, &script{models: []string{"c"}}
		told := &facts{}
		opts := hourly
		opts.Journal = told
		c := run(t, opts, Source{Name: "p", Fetch: before.fetch})

		c.Apply([]Source{{Name: "p", Fetch: later.fetch, Configured: []string{"x"}}})
		equal(t, "configured", c.Snapshot().Providers[0].Models, []string{"x"})
		c.Apply([]Source{{Name: "p", Fetch: later.fetch, Disabled: true}})
		equal(t, "disabled", c.Snapshot().ByModel, map[string][]string{})
		c.Apply([]Source{{Name: "p", Fetch: later.fetch}})
		equal(t, "what was discovered is back", c.Snapshot().Providers[0].Models, []string{"a", "b"})

		after(time.Hour)
		equal(t, "the new function is asked", c.Snapshot().Providers[0].Models, []string{"c"})
		equal(t, "the old one no more", len(before.askedAt(start)), 1)
		equal(t, "no news", told.lines(start), []string{`0s p >healthy 2 ""`})
	})
}

func TestApplyReportsAStatusThatTheConfigChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s, told := &script{fault: down(503)}, &facts{}
		c := run(t, Options{Journal: told, Rand: half}, Source{Name: "p", Fetch: s.fetch})
		c.Apply([]Source{{Name: "p", Fetch: s.fetch, Configured: []string{"m"}}})
		equal(t, "facts", told.lines(start), []string{
			`0s p >unhealthy 0 "status 503: overloaded"`, `0s p unhealthy>degraded 1 "status 503: overloaded"`,
		})
	})
}

func TestAReloadDuringAFetch(t *testing.T) {
	slow := func(models []string, f *fault.Fault) *script {
		return &script{models: models, fault: f, delay: 5 * time.Second}
	}
	t.Run("a dropped or changed source's result is forgotten", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			told := &facts{}
			opts := hourly
			opts.Journal = told
			c := run(t, opts, Source{Name: "a", Fetch: slow([]string{"old"}, nil).fetch}, Source{Name: "b", Fetch: slow([]string{"b"}, nil).fetch})
			after(time.Second)
			c.Apply([]Source{{Name: "a", Identity: "2", Fetch: (&script{models: []string{"new"}}).fetch}})
			after(10 * time.Second)
			equal(t, "inventory", c.Snapshot().ByModel, map[string][]string{"new": {"a"}})
			equal(t, "facts", len(told.list), 1)
		})
	})
	t.Run("a good result of a kept source counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			first, second := slow([]string{"m"}, nil), &script{models: []string{"m"}}
			c := run(t, hourly, Source{Name: "a", Fetch: first.fetch})
			after(time.Second)
			c.Apply([]Source{{Name: "a", Fetch: second.fetch}})
			after(10 * time.Second)
			equal(t, "checked", c.Snapshot().Providers[0].LastChecked, start.Add(5*time.Second))
			equal(t, "second", len(second.asked), 0)
		})
	})
	t.Run("a failure of a kept source is asked for again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			told := &facts{}
			opts := hourly
			opts.Journal = told
			first, second := slow(nil, down(503)), &script{models: []string{"m"}}
			c := run(t, opts, Source{Name: "a", Fetch: first.fetch})
			after(time.Second)
			c.Apply([]Source{{Name: "a", Fetch: second.fetch}})
			after(10 * time.Second)
			equal(t, "inventory", c.Snapshot().ByModel, map[string][]string{"m": {"a"}})
			equal(t, "second", second.askedAt(start), []time.Duration{5 * time.Second})
			equal(t, "facts", told.lines(start), []string{`5s a >healthy 1 ""`})
		})
	})
	t.Run("of a source disabled meanwhile nothing is told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			told := &facts{}
			first := slow([]string{"m"}, nil)
			c := run(t, Options{Journal: told}, Source{Name: "a", Fetch: first.fetch})
			c.Apply([]Source{{Name: "a", Fetch: first.fetch, Disabled: true}})
			after(10 * time.Second)
			equal(t, "facts", len(told.list), 0)
			equal(t, "nor served", c.Snapshot().ByModel, map[string][]string{})
			c.Apply([]Source{{Name: "a", Fetch: first.fetch}})
			equal(t, "enabled again, it is known", c.Snapshot().ByModel, map[string][]string{"m": {"a"}})
			equal(t, "and told", len(told.list), 1)
		})
	})
}

func TestAwait(t *testing.T) {
	quick := func() Source {
		return Source{Name: "quick", Fetch: (&script{models: []string{"m"}, delay: 300 * time.Millisecond}).fetch}
	}
	mute := func() Source { return Source{Name: "mute", Fetch: (&script{delay: time.Hour}).fetch} }
	cases := []struct {
		name    string
		sources []Source
		start   time.Duration // when the request comes
		caller  time.Duration // when its context ends
		model   string
		want    time.Duration // how long it waits
		found   bool
	}{
		{"until the id is discovered, whoever else is mute", []Source{mute(), quick()}, 0, time.Hour, "m", 300 * time.Millisecond, true},
		{"until all are asked", []Source{quick()}, 0, time.Hour, "nobody's", 300 * time.Millisecond, false},
		{"two seconds at most", []Source{mute(), quick()}, time.Second, time.Hour, "nobody's", 2 * time.Second, false},
		{"until the client is gone", []Source{mute()}, 0, time.Second, "m", time.Second, false},
		{"not after the first discovery", []Source{mute(), quick()}, time.Minute, time.Hour, "nobody's", 0, false},
		{"not for configured providers", []Source{{Name: "c", Configured: []string{"x"}, Fetch: mute().Fetch}}, 0, time.Hour, "nobody's", 0, false},
		{"not for disabled ones", []Source{{Name: "d", Fetch: mute().Fetch, Disabled: true}}, 0, time.Hour, "nobody's", 0, false},
		{"not for ones that have no list", []Source{{Name: "d"}}, 0, time.Hour, "nobody's", 0, false},
		{"not when it is known", []Source{mute(), {Name: "c", Configured: []string{"m"}}}, 0, time.Hour, "m", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cat := run(t, Options{}, c.sources...)
				after(c.start)
				ctx, cancel := context.WithTimeout(t.Context(), c.caller)
				defer cancel()
				begin := time.Now()
				inv := cat.Await(ctx, c.model)
				equal(t, "wait", time.Since(begin), c.want)
				equal(t, "found", len(inv.ByModel[c.model]) > 0, c.found)
			})
		})
	}
}

// A process that is to take over waits until every provider has been looked at, whatever came of it.
func TestSettle(t *testing.T) {
	quick := Source{Name: "quick", Fetch: (&script{models: []string{"m"}, delay: 300 * time.Millisecond}).fetch}
	slow := Source{Name: "slow", Fetch: (&script{models: []string{"n"}, delay: 3 * time.Second}).fetch}
	mute := Source{Name: "mute", Fetch: (&script{delay: time.Hour}).fetch}
	for _, c := range []struct {
		name    string
		sources []Source
		limit   time.Duration
		want    time.Duration
	}{
		{"for the slowest", []Source{quick, slow}, time.Minute, 3 * time.Second},
		{"for one that fails", []Source{quick, mute}, time.Minute, 10 * time.Second},
		{"no longer than allowed", []Source{quick, mute}, time.Second, time.Second},
		{"not for configured models", []Source{{Name: "c", Configured: []string{"x"}, Fetch: mute.Fetch}}, time.Minute, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cat := run(t, Options{}, c.sources...)
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				begin := time.Now()
				cat.Settle(ctx)
				equal(t, "wait", time.Since(begin), c.want)
			})
		})
	}
}

func TestAwaitAfterAReloadWaitsForTheNewProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := Source{Name: "old", Fetch: (&script{models: []string{"o"}}).fetch}
		c := run(t, Options{}, old)
		c.Apply([]Source{old, {Name: "new", Fetch: (&script{models: []string{"n"}, delay: time.Second}).fetch}})
		begin := time.Now()
		inv := c.Await(t.Context(), "n")
		equal(t, "wait", time.Since(begin), time.Second)
		equal(t, "providers", inv.ByModel["n"], []string{"new"})
	})
}

func TestKnownModelCostsAwaitNothing(t *testing.T) {
	c := New([]Source{{Name: "a", Configured: []string{"m"}}}, Options{})
	if n := testing.AllocsPerRun(100, func() { c.Await(t.Context(), "x"); c.Snapshot() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Readers, reloads and fetches at the same time, for the race detector.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	sources := func(generation int) []Source {
		var out []Source
		for i := range 10 {
			out = append(out, Source{
				Name: fmt.Sprint(i), Identity: fmt.Sprint(generation * (i % 2)), Disabled: i == generation%10,
				Fetch: func(context.Context) ([]string, *fault.Fault) {
					if (i+generation)%3 == 0 {
						return nil, &fault.Fault{Class: fault.Reset}
					}
					return []string{"m", fmt.Sprint("m", i)}, nil
				},
			})
		}
		return out
	}
	c := New(sources(0), Options{Refresh: time.Millisecond, Recheck: time.Microsecond, Journal: &facts{}})
	ctx, cancel := context.WithCancel(t.Context())
	c.Start(ctx)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range 500 {
				inv := c.Await(ctx, "m")
				for _, p := range inv.ByModel["m"] {
					if !inv.Has(p, "m") {
						t.Errorf("%s is listed for m, but does not have it", p)
					}
				}
				if i%50 == 0 {
					c.Apply(sources(i / 50))
				}
			}
		})
	}
	readers.Wait()
	cancel()
	c.Wait()
}
