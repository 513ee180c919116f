package probing

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"evergate/internal/fault"
	"evergate/internal/health"
	"evergate/internal/journal"
	"evergate/internal/resilience"
	"evergate/internal/route"
	"evergate/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a prober with one provider, p, that answers as the test says and fails at first.
type bench struct {
	journal.Nothing
	t      *testing.T
	prober *Prober
	health *health.Health
	start  time.Time

	mu     sync.Mutex
	answer func(ctx context.Context) *fault.Fault
	asked  []string // when, and with which key
	told   []journal.Probe
}

// ProbeEnded makes it the prober's journal, which hears the facts itself, too.
func (b *bench) ProbeEnded(p *journal.Probe) {
	b.mu.Lock()
	b.told = append(b.told, *p)
	b.mu.Unlock()
}
func (b *bench) GuardChanged(g *journal.Guard)    { b.prober.GuardChanged(g) }
func (b *bench) BreakerOperated(o *journal.Order) { b.prober.BreakerOperated(o) }
func newBench(t *testing.T, keys ...string) *bench {
	t.Helper()
	b := &bench{t: t, prober: New(wire.NewTable()), start: time.Now()}
	b.prober.Journal = b
	b.health = health.New(b)
	c := health.Config{Name: "p", Settings: resilience.Defaults()}
	c.Settings.Breaker.KeptFor = 20 * time.Second
	for i, k := range keys {
		c.Credentials = append(c.Credentials, resilience.Credential{Name: k, Identity: uint64(i)})
	}
	b.health.Apply([]health.Config{c})
	b.answers(nil)
	b.prober.Apply(b.sources())
	t.Cleanup(b.prober.Stop)
	return b
}

func (b *bench) sources() []Source {
	return []Source{{
		Settings: Settings{Kind: Models, Interval: 10 * time.Second}, Name: "p", Guards: b.health.Provider("p"), List: b.list,
		Timeouts: route.Timeouts{Attempt: time.Minute},
	}}
}

func (b *bench) list(ctx context.Context, credential string) *fault.Fault {
	b.mu.Lock()
	b.asked = append(b.asked, fmt.Sprintf("%s %s", time.Since(b.start), credential))
	answer := b.answer
	b.mu.Unlock()
	return answer(ctx)
}

func (b *bench) answersWith(answer func(context.Context) *fault.Fault) {
	b.mu.Lock()
	b.answer = answer
	b.mu.Unlock()
}

func (b *bench) answers(f *fault.Fault) {
	b.answersWith(func(context.Context) *fault.Fault { return f })
}

// fail makes attempts that fail, with a key.
func (b *bench) fail(times, key int, class fault.Class) {
	b.t.Helper()
	p := b.health.Provider("p")
	for range times {
		permit, block := p.Admit(time.Now(), key, "m", time.Time{}, false)
		if block.Blocked() {
			b.t.Fatalf("%+v", block)
		}
		permit.Settle(time.Now(), resilience.Outcome{Class: class}, health.Measured{})
	}
}

func (b *bench) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) wants(state string, asked ...string) {
	b.t.Helper()
	v := b.health.Provider("p").Snapshot(time.Now()).Guards
	if got := v.Breaker.State.String(); got != state {
		b.t.Errorf("the breaker is %s, want %s", got, state)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.asked, asked) {
		b.t.Errorf("asked %q, want %q", b.asked, asked)
	}
}

// R66, R75: a good probe of another instance calls for one here at once; one that yields to another asks nothing until then.
func TestProbesOfAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		p := b.health.Provider("p")
		b.fail(5, 0, fault.Upstream)
		b.after(12 * time.Second)
		p.Absorb(time.Now(), []resilience.Row{{Guard: resilience.CircuitBreaker, ProvedAt: time.Now().Add(-time.Second)}})
		synctest.Wait()
		b.wants("closed", "12s default")
		b.fail(5, 0, fault.Upstream)
		due := p.Due(time.Now(), time.Hour)
		if len(due) != 1 || !p.Yield(time.Now(), "", due[0].OpenedAt, due[0].RetryAt.Add(5*time.Second)) {
			t.Fatalf("%+v", due)
		}
		b.after(35 * time.Second)
		b.wants("half_open", "12s default")
		b.after(5 * time.Second)
		b.wants("closed", "12s default", "52s default")
	})
}

// R75: nothing is asked while nothing is open; then at the end of each open time, until an answer closes it.
func TestProbesUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.after(time.Hour)
		b.wants("closed")
		b.fail(5, 0, fault.Upstream)
		b.start = time.Now()
		b.answers(&fault.Fault{Class: fault.Upstream, Status: 503})
		b.after(30 * time.Second)
		b.wants("open", "30s default")
		b.after(30 * time.Second)
		b.wants("open", "30s default", "1m0s default")
		b.answers(nil)
		b.after(time.Hour)
		b.wants("closed", "30s default", "1m0s default", "1m30s default")
		if len(b.told) != 3 || b.told[1].Result != "upstream_error" || b.told[1].Status != 503 || b.told[2].Result != "ok" {
			t.Errorf("%+v", b.told)
		}
	})
}

// R29, R75: an offence after a cooldown is waited for longer each time.
func TestProbesAfterACooldown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for range 10 {
			permit, _ := b.health.Provider("p").Admit(time.Now(), 0, "m", time.Time{}, false)
			permit.Settle(time.Now(), resilience.Outcome{Success: true}, health.Measured{})
			b.fail(1, 0, fault.Upstream)
		}
		b.answers(&fault.Fault{Class: fault.Upstream})
		b.after(time.Hour)
		b.wants("open", "1m0s default", "3m0s default", "7m0s default", "15m0s default", "25m0s default", "35m0s default", "45m0s default", "55m0s default")
	})
}

// R75: facts are hints: any number of them, about anything and at any time, has nothing asked that was not due.
func TestHintsDecideNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		hints := func() {
			for _, until := range []time.Time{{}, time.Now(), time.Now().Add(time.Hour)} {
				for _, name := range []string{"p", "nobody"} {
					b.prober.GuardChanged(&journal.Guard{Provider: name, Guard: "circuit_breaker", To: "open", Until: until})
					b.prober.GuardChanged(&journal.Guard{Provider: name, Guard: "circuit_breaker", To: "closed"})
					b.prober.BreakerOperated(&journal.Order{Provider: name})
				}
			}
			synctest.Wait()
		}
		hints()
		b.wants("closed")
		b.fail(5, 0, fault.Upstream)
		hints()
		b.wants("open")
		b.after(29 * time.Second)
		hints()
		b.wants("open")
		b.answersWith(func(context.Context) *fault.Fault { time.Sleep(time.Second); return &fault.Fault{Class: fault.Reset} })
		b.after(1500 * time.Millisecond)
		hints() // while it is asked
		b.after(28 * time.Second)
		hints()
		b.wants("open", "30s default")
	})
}

// R25, R75: an answer that decides nothing is followed by another question an interval later, with another key; a key that rests
// is not asked with, and where all of them do there is another try an interval later.
func TestProbesWithKeysThatRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "one", "two")
		b.fail(5, 0, fault.Upstream)
		limited := &fault.Fault{Class: fault.RateLimited, Wait: fault.Wait{For: 45 * time.Second, Named: true}}
		b.answers(limited)
		b.after(31 * time.Second)
		b.wants("half_open", "30s one")
		b.answers(nil)
		b.after(10 * time.Second)
		b.wants("closed", "30s one", "40s two")
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "one")
		b.fail(5, 0, fault.Upstream)
		b.after(29 * time.Second)
		p := b.health.Provider("p")
		permit, _ := p.Admit(time.Now(), 0, "m", time.Time{}, true) // forced past it
		permit.Settle(time.Now(), resilience.Outcome{Class: fault.RateLimited, Wait: fault.Wait{For: 15 * time.Second, Named: true}}, health.Measured{})
		b.after(22 * time.Second)
		b.wants("closed", "50s one")
	})
}

// R33, R75: while a request has the slot, as its breaker was not kept any more, no probe goes out beside it.
func TestProbesBesideARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.prober.Apply(nil)
		b.fail(5, 0, fault.Upstream)
		b.after(50 * time.Second)
		permit, block := b.health.Provider("p").Admit(time.Now(), 0, "m", time.Now().Add(time.Minute), false)
		if block.Blocked() || !permit.Probing() {
			t.Fatalf("%+v", block)
		}
		b.prober.Apply(b.sources())
		b.after(25 * time.Second)
		b.wants("half_open")
		permit.Settle(time.Now(), resilience.Outcome{}, health.Measured{})
		b.after(5 * time.Second)
		b.wants("closed", "1m20s default")
	})
}

// R75: a probe under way when its provider goes from the config is waited for and counts; nothing follows.
func TestProbeOfAProviderThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fail(5, 0, fault.Upstream)
		b.answersWith(func(context.Context) *fault.Fault {
			time.Sleep(5 * time.Second)
			return &fault.Fault{Class: fault.Upstream}
		})
		b.after(31 * time.Second)
		b.prober.Apply(nil)
		b.after(time.Hour)
		b.wants("half_open", "30s default") // it opened again, for a time that is over
		if len(b.told) != 1 || b.told[0].Result != "upstream_error" {
			t.Errorf("%+v", b.told)
		}
		b.answers(nil)
		b.prober.Apply(b.sources())
		synctest.Wait()
		b.wants("closed", "30s default", "1h0m31s default")
	})
}

// R75: a stop gives up a probe under way and waits for it; it decides nothing.
func TestStopWaitsForAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fail(5, 0, fault.Upstream)
		b.answersWith(func(ctx context.Context) *fault.Fault {
			<-ctx.Done()
			time.Sleep(time.Second)
			f, _ := context.Cause(ctx).(*fault.Fault) //nolint:errorlint // it is no other's
			return f
		})
		b.after(31 * time.Second)
		start := time.Now()
		b.prober.Stop()
		if d := time.Since(start); d != time.Second {
			t.Errorf("it took %s", d)
		}
		b.prober.Apply(b.sources())
		b.prober.GuardChanged(&journal.Guard{Provider: "p", Guard: "circuit_breaker", To: "open"})
		b.after(time.Hour)
		b.wants("half_open", "30s default")
		if len(b.told) != 1 || b.told[0].Result != "client_gone" {
			t.Errorf("%+v", b.told)
		}
	})
}

// R75: a bug of ours while asking says nothing about the provider, and ends neither the gateway nor the probes.
func TestABugInAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fail(5, 0, fault.Upstream)
		b.answersWith(func(context.Context) *fault.Fault { panic("no") })
		b.after(31 * time.Second)
		b.wants("half_open", "30s default")
		b.answers(nil)
		b.after(10 * time.Second)
		b.wants("closed", "30s default", "40s default")
		if b.told[0].Result != "unknown" || b.told[0].Message != "BUG: no" {
			t.Errorf("%+v", b.told)
		}
	})
}

// Facts, reloads and a stop at the same time, for the race detector.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.answersWith(func(context.Context) *fault.Fault {
			time.Sleep(time.Second)
			return &fault.Fault{Class: fault.Upstream}
		})
		var work sync.WaitGroup
		for g := range 4 {
			work.Go(func() {
				for i := range 100 {
					now := time.Now()
					if permit, block := b.health.Provider("p").Admit(now, 0, "m", now.Add(time.Minute), i%10 == 0); !block.Blocked() {
						permit.Settle(now, resilience.Outcome{Class: fault.Upstream}, health.Measured{})
					}
					if g == 0 && i%7 == 0 {
						b.prober.Apply(b.sources()[:i%2])
					}
					time.Sleep(time.Second)
				}
				if g == 1 {
					b.prober.Stop()
				}
			})
		}
		work.Wait()
	})
}
