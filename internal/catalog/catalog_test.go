package catalog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"evergate/internal/fault"
	"evergate/internal/journal"
	"evergate/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a provider's model list that answers as the test says.
type script struct {
	mu     sync.Mutex
	models []string
	fault  *fault.Fault
	delay  time.Duration
	asked  []time.Time
}

func (s *script) say(models []string, f *fault.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models, s.fault = models, f
}

func (s *script) fetch(ctx context.Context) ([]string, *fault.Fault) {
	s.mu.Lock()
	s.asked = append(s.asked, time.Now())
	models, f, delay := s.models, s.fault, s.delay
	s.mu.Unlock()
	select {
	case <-time.After(delay):
		return models, f
	case <-ctx.Done():
		return nil, &fault.Fault{Class: fault.Timeout}
	}
}

// askedAt gives the times of the fetches so far as offsets.
func (s *script) askedAt(start time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for _, at := range s.asked {
		out = append(out, at.Sub(start))
	}
	return out
}

// facts is a journal that remembers the changes of discovery.
type facts struct {
	journal.Nothing
	mu   sync.Mutex
	list []journal.Discovery
}

func (f *facts) DiscoveryChanged(d *journal.Discovery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, *d)
}

func (f *facts) lines(start time.Time) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, d := range f.list {
		out = append(out, fmt.Sprintf("%v %s %s>%s %d %q", d.At.Sub(start), d.Provider, d.From, d.To, d.Models, d.Message))
	}
	return out
}

func half() float64 { return 0.5 } // no jitter

var hourly = Options{Refresh: time.Hour, Recheck: time.Minute, Rand: half}

// run starts a catalog in the bubble and stops it at the end of the test.
func run(t *testing.T, opts Options, sources ...Source) *Catalog {
	t.Helper()
	c := New(sources, opts)
	ctx, cancel := context.WithCancel(t.Context())
	c.Start(ctx)
	t.Cleanup(func() { cancel(); c.Wait() })
	synctest.Wait()
	return c
}

func after(d time.Duration) { time.Sleep(d); synctest.Wait() }

func down(status int) *fault.Fault {
	return &fault.Fault{Class: fault.Upstream, Status: status, Message: "overloaded"}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSnapshotJoinsProvidersInConfigOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := &script{models: []string{"shared", "b", "b", "", "a"}}
		a := &script{models: []string{"shared", "other"}}
		c := run(t, hourly,
			Source{Name: "z", Fetch: z.fetch},
			Source{Name: "a", Fetch: a.fetch, Configured: []string{"shared", "mine"}},
			Source{Name: "off", Fetch: a.fetch, Configured: []string{"shared"}, Disabled: true},
		)
		now := time.Now()
		equal(t, "inventory", c.Snapshot(), &route.Inventory{
			ByModel: map[string][]string{"shared": {"z", "a"}, "a": {"z"}, "b": {"z"}, "mine": {"a"}},
			Providers: []route.ProviderModels{
				{Name: "z", Models: []string{"a", "b", "shared"}, Status: route.Healthy, LastChecked: now},
				{Name: "a", Models: []string{"mine", "shared"}, Status: route.Healthy, LastChecked: now},
				{Name: "off", Models: []string{"shared"}, Status: route.Unhealthy, Disabled: true, Message: "disabled"},
			},
		})
		if n := len(a.askedAt(now)); n != 1 {
			t.Errorf("asked %d times: the disabled one too", n)
		}
	})
}

func TestBeforeStartConfiguredModelsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		c := New([]Source{
			{Name: "a", Configured: []string{"m"}, Fetch: s.fetch},
			{Name: "b", Fetch: s.fetch},
			{Name: "c", Configured: []string{"m"}},
			{Name: "d"},
		}, hourly)
		after(time.Hour)
		equal(t, "inventory", c.Snapshot(), &route.Inventory{
			ByModel: map[string][]string{"m": {"a", "c"}},
			Providers: []route.ProviderModels{
				{Name: "a", Models: []string{"m"}, Status: route.Healthy},
				{Name: "b", Status: route.Unhealthy, Message: "not checked yet"},
				{Name: "c", Models: []string{"m"}, Status: route.Healthy},
				{Name: "d", Status: route.Unhealthy, Message: "no models configured, and no model list to ask for"},
			},
		})
		if len(s.asked) != 0 {
			t.Error("asked before the start")
		}
	})
}

// The story of a provider that goes down and comes back, step by step.
func TestDegradedKeepsTheInventoryUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s, told := &script{models: []string{"m1", "m2"}}, &facts{}
		opts := hourly
		opts.Journal = told
		c := run(t, opts, Source{Name: "p", Fetch: s.fetch})

		s.say(nil, down(503))
		after(time.Hour) // the hourly refresh fails
		got := c.Snapshot()
		equal(t, "degraded", got.Providers[0], route.ProviderModels{
			Name: "p", Models: []string{"m1", "m2"}, Status: route.Degraded, Stale: true, LastChecked: start.Add(time.Hour),
			Message: "status 503: overloaded",
		})
		equal(t, "still resolves", got.ByModel, map[string][]string{"m1": {"p"}, "m2": {"p"}})

		after(2 * time.Minute) // two rechecks fail too: last checked moves on
		equal(t, "last checked", c.Snapshot().Providers[0].LastChecked, start.Add(62*time.Minute))

		s.say([]string{"m2", "m3"}, nil)
		after(time.Minute)
		equal(t, "back", c.Snapshot().Providers[0], route.ProviderModels{
			Name: "p", Models: []string{"m2", "m3"}, Status: route.Healthy, LastChecked: start.Add(63 * time.Minute),
		})

		after(time.Hour) // no more rechecks: the next look is the hourly one
		equal(t, "asked at", s.askedAt(start), []time.Duration{
			0, 60 * time.Minute, 61 * time.Minute, 62 * time.Minute, 63 * time.Minute, 123 * time.Minute,
		})
		equal(t, "facts", told.lines(start), []string{
			`0s p >healthy 2 ""`, `1h0m0s p healthy>degraded 2 "status 503: overloaded"`, `1h3m0s p degraded>healthy 2 ""`,
		})
	})
}

func TestDownAtTheStartIsUnhealthyUntilTheFirstGoodFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s, told := &script{fault: &fault.Fault{Class: fault.Connect, Cause: context.Canceled}}, &facts{}
		opts := hourly
		opts.Journal = told
		c := run(t, opts, Source{Name: "p", Fetch: s.fetch})
		equal(t, "unhealthy", c.Snapshot().Providers[0], route.ProviderModels{
			Name: "p", Status: route.Unhealthy, LastChecked: start, Message: "connect", // the cause is not shown
		})
		s.say([]string{"m"}, nil)
		after(59 * time.Second)
		equal(t, "not yet", c.Snapshot().Providers[0].Status, route.Unhealthy)
		after(time.Second)
		equal(t, "back", c.Snapshot().Providers[0].Status, route.Healthy)
		equal(t, "facts", told.lines(start), []string{`0s p >unhealthy 0 "connect"`, `1m0s p unhealthy>healthy 1 ""`})
	})
}

func TestConfiguredModelsCountAsInventory(t *testing.T) {
	cases := []struct {
		name       string
		configured []string
		fault      *fault.Fault
		want       route.Status
		message    string
		next       time.Duration
	}{
		{"failing refresh", []string{"m"}, down(500), route.Degraded, "status 500: overloaded", time.Minute},
		{"refused key", []string{"m"}, &fault.Fault{Class: fault.Auth, Status: 401}, route.Degraded, "status 401", time.Minute},
		{"no list, 404", []string{"m"}, &fault.Fault{Class: fault.ModelMissing, Status: 404}, route.Healthy, "", time.Hour},
		{"no list, 405", []string{"m"}, &fault.Fault{Class: fault.Rejected, Status: 405}, route.Healthy, "", time.Hour},
		{"no list, 501", []string{"m"}, &fault.Fault{Class: fault.Upstream, Status: 501}, route.Healthy, "", time.Hour},
		{"no list and nothing configured", nil, &fault.Fault{Class: fault.ModelMissing, Status: 404}, route.Unhealthy, "status 404", time.Minute},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &script{fault: c.fault}
				cat := run(t, hourly, Source{Name: "p", Configured: c.configured, Fetch: s.fetch})
				equal(t, "provider", cat.Snapshot().Providers[0], route.ProviderModels{
					Name: "p", Models: c.configured, Status: c.want, LastChecked: start, Message: c.message,
				})
				after(c.next)
				equal(t, "asked at", s.askedAt(start), []time.Duration{0, c.next})
			})
		})
	}
}

func TestConfiguredModelsAreNeverStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{models: []string{"listed"}}
		c := run(t, hourly, Source{Name: "p", Configured: []string{"m"}, Fetch: s.fetch})
		s.say(nil, down(503))
		after(time.Hour)
		equal(t, "provider", c.Snapshot().Providers[0], route.ProviderModels{
			Name: "p", Models: []string{"m"}, Status: route.Degraded, LastChecked: time.Now(), Message: "status 503: overloaded",
		})
	})
}

func TestIntervals(t *testing.T) {
	m := time.Minute
	cases := []struct {
		name             string
		refresh, recheck time.Duration
		rand             float64
		fault            *fault.Fault
		want             []time.Duration // within 10 minutes
	}{
		{"refresh", 4 * m, m, 0.5, nil, []time.Duration{0, 4 * m, 8 * m}},
		{"recheck of a failing one", 4 * m, 3 * m, 0.5, down(503), []time.Duration{0, 3 * m, 6 * m, 9 * m}},
		{"recheck off", 4 * m, 0, 0.5, down(503), []time.Duration{0, 4 * m, 8 * m}},
		{"recheck longer than refresh", 4 * m, time.Hour, 0.5, down(503), []time.Duration{0, 4 * m, 8 * m}},
		{"refresh off", 0, 4 * m, 0.5, nil, []time.Duration{0}},
		{"refresh off, failing", 0, 4 * m, 0.5, down(503), []time.Duration{0, 4 * m, 8 * m}},
		{"all off", 0, 0, 0.5, down(503), []time.Duration{0}},
		{"least jitter", 4 * m, m, 0, nil, []time.Duration{0, 216 * time.Second, 432 * time.Second}},
		{"most jitter", 4 * m, m, 1, nil, []time.Duration{0, 264 * time.Second, 528 * time.Second}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &script{models: []string{"m"}, fault: c.fault}
				run(t, Options{Refresh: c.refresh, Recheck: c.recheck, Rand: func() float64 { return c.rand }},
					Source{Name: "p", Fetch: s.fetch})
				after(10 * m)
				equal(t, "asked at", s.askedAt(start), c.want)
			})
		})
	}
}

func TestFetchIsCutAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		mute, quick := &script{delay: time.Hour}, &script{models: []string{"m"}, delay: time.Second}
		c := run(t, hourly, Source{Name: "mute", Fetch: mute.fetch}, Source{Name: "quick", Fetch: quick.fetch})
		after(time.Second)
		equal(t, "the other is not held up", c.Snapshot().ByModel, map[string][]string{"m": {"quick"}})
		after(9 * time.Second)
		equal(t, "mute", c.Snapshot().Providers[0], route.ProviderModels{
			Name: "mute", Status: route.Unhealthy, LastChecked: start.Add(10 * time.Second), Message: "timeout",
		})
		after(time.Minute)
		equal(t, "asked again", mute.askedAt(start), []time.Duration{0, 70 * time.Second})
	})
}

func TestAtMostEightFetchesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		running, most := 0, 0
		var sources []Source
		for i := range 20 {
			sources = append(sources, Source{Name: fmt.Sprint(i), Fetch: func(context.Context) ([]string, *fault.Fault) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				return []string{"m"}, nil
			}})
		}
		c := run(t, hourly, sources...)
		after(3 * time.Second)
		if most != 8 {
			t.Errorf("%d at once", most)
		}
		for _, p := range c.Snapshot().Providers {
			if p.LastChecked.IsZero() || p.LastChecked.After(start.Add(3*time.Second)) {
				t.Errorf("%s checked at %v", p.Name, p.LastChecked.Sub(start))
			}
		}
	})
}

func TestStopEndsAtOnceAndSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &facts{}
		var sources []Source
		for i := range 12 { // more than may fetch at once: some wait for a slot
			sources = append(sources, Source{Name: fmt.Sprint(i), Fetch: (&script{delay: time.Hour}).fetch})
		}
		c := New(sources, Options{Journal: told})
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		c.Start(ctx)
		synctest.Wait()
		cancel()
		c.Wait()
		equal(t, "time to stop", time.Since(start), time.Duration(0))
		equal(t, "facts", len(told.list), 0)
		equal(t, "status", c.Snapshot().Providers[0].Message, "not checked yet")
	})
}

func TestWhatAProviderListsIsBounded(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 3*maxModels)
	for i := range 3 * maxModels {
		many = append(many, fmt.Sprintf("m%06d", i))
	}
	if n := len(listed(many)); n != maxModels {
		t.Errorf("%d ids kept", n)
	}
	got := listed([]string{"b", "a\nb", "", "\x00", "bad\xff", strings.Repeat("x", maxModelID+1), "a", "b", "org/ü:free"})
	equal(t, "ids", got, []string{"a", "b", "org/ü:free"})

	long := words(&fault.Fault{Class: fault.Upstream, Status: 500, Message: "a\r\nb\x1b[31m" + strings.Repeat("ü", 300)})
	if len(long) > maxMessage || !strings.HasPrefix(long, "status 500: a  b [31mü") || strings.ToValidUTF8(long, "?") != long {
		t.Errorf("message is %q", long)
	}
}
