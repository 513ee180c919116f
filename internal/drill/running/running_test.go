package running_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"evergate/internal/drill"
	"evergate/internal/drill/running"
	"evergate/internal/journal"
)

// told is what was said of drills.
type told struct {
	journal.Nothing
	mu      sync.Mutex
	changes []string
	spread  []drill.State
}

func (l *told) Changed(c *journal.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := ""
	if c.Heard {
		heard = " (heard)"
	}
	l.changes = append(l.changes, fmt.Sprintf("%s %s by %s: %s; %s%s", c.Action, c.Subject, c.By, c.Reason, c.Result, heard))
}

func (l *told) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.changes, "\n")
}

func drills(l *told) *running.Drills {
	return &running.Drills{Journal: l, Spread: func(s drill.State) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.spread = append(l.spread, s)
	}}
}

func rule(id string) drill.Rule {
	now := time.Now()
	return drill.Rule{
		ID: id, Provider: "p", Share: 1, Shape: drill.Shape{Kind: drill.Reset}, Since: now, Until: now.Add(time.Minute), Budget: 10, Reason: "why", By: "me",
	}
}

func ask(d *running.Drills) bool {
	return d.Strike(&drill.Asked{Provider: "p"}, "req", time.Now()) != nil
}

// touched is the fact of a request whose attempt met the fault.
func touched(id string, status int) *journal.Request {
	return &journal.Request{ID: "req", Drill: id, Status: status, Trail: []journal.Step{
		{Provider: "p", Drill: id, Duration: 30 * time.Millisecond}, {Provider: "q", Status: status},
	}}
}

// R74: a drill ends by its time, whatever happens, and strikes at nobody from that moment on; that is told once.
func TestEndsByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &told{}
		d := drills(l)
		if d.Running() || ask(d) {
			t.Fatal("a drill runs that nobody started")
		}
		longer := rule("longer")
		longer.Until = longer.Since.Add(time.Hour)
		longer.Provider = "other"
		if !d.Start(rule("one")) || !d.Start(longer) {
			t.Fatal("it does not start")
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if !ask(d) {
			t.Error("it does not strike")
		}
		time.Sleep(time.Nanosecond)
		if ask(d) {
			t.Error("it strikes at its end")
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "drill_started one by me: why (reset for provider p); ok\ndrill_started longer by me: why (reset for provider other); ok\n" +
			"drill_ended one by evergate: time (injected 1, requests 0, rescued 0, failed 0); ok\n" +
			"drill_ended longer by evergate: time (injected 0, requests 0, rescued 0, failed 0); ok"
		if got := l.said(); got != want || d.Running() {
			t.Errorf("running %t\n%s", d.Running(), got)
		}
		if len(l.spread) != 2 {
			t.Errorf("its end by the clock was told, which everybody knows: %+v", l.spread)
		}
	})
}

// R74: its budget bounds how many attempts it strikes at, however many ask at once, here and elsewhere; then it is over for all.
func TestEndsByBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget, asked := rapid.Int64Range(1, 60).Draw(t, "budget"), rapid.IntRange(0, 100).Draw(t, "asked")
		away := rapid.Int64Range(0, 80).Draw(t, "away")
		l := &told{}
		d := drills(l)
		r := rule("one")
		r.Budget = budget
		d.Start(r)
		if away > 0 {
			d.HearCounts("other", map[string]drill.Counts{"one": {Injected: away}, "unknown": {Injected: 1}})
		}
		var hits sync.Map
		var all sync.WaitGroup
		for i := range asked {
			all.Go(func() {
				if ask(d) {
					hits.Store(i, true)
				}
			})
		}
		all.Wait()
		struck := int64(0)
		hits.Range(func(any, any) bool { struck++; return true })
		if want := min(int64(asked), max(budget-away, 0)); struck != want {
			t.Fatalf("%d of %d were struck, want %d", struck, asked, want)
		}
		d.Close() // it ends on a goroutine of its own, which a stop waits for
		report, _ := d.Report("one")
		if over := struck+away >= budget; report.Over() != over || over && report.End.Why != drill.Spent {
			t.Fatalf("struck %d, away %d of %d, and %+v", struck, away, budget, report.End)
		}
	})
}

// R74: a drill that costs clients too many errors ends by itself; a request that left or was rescued costs none.
func TestEndsByErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &told{}
		d := drills(l)
		r := rule("one")
		r.MaxUserErrors = 3
		d.Start(r)
		d.RequestEnded(touched("one", 200))
		d.RequestEnded(touched("one", 499))
		d.RequestEnded(touched("other", 503))
		d.RequestEnded(&journal.Request{Status: 503})
		d.RequestEnded(touched("one", 503))
		d.HearCounts("peer", map[string]drill.Counts{"one": {Failed: 1, Requests: 5}})
		synctest.Wait()
		if !d.Running() {
			t.Fatal("it ended too soon")
		}
		d.RequestEnded(touched("one", 502))
		synctest.Wait()
		report, _ := d.Report("one")
		want := drill.Counts{Requests: 9, Rescued: 1, Left: 1, Failed: 3, AddedMS: 30}
		if d.Running() || report.End.Why != drill.UserErrors || report.All != want || report.Instances != 2 {
			t.Errorf("%+v", report)
		}
		if len(l.spread) != 2 || l.spread[1].End.Why != drill.UserErrors {
			t.Errorf("spread: %+v", l.spread)
		}
	})
}

// R74: an operator's stop is in force when it returns, is told with the words, and is no mistake the second time.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &told{}
		d := drills(l)
		d.Start(rule("one"))
		ask(d)
		if !d.Stop("one", "enough", "you") || ask(d) || d.Running() {
			t.Error("it goes on")
		}
		if d.Stop("one", "again", "you") || d.Stop("none", "", "you") {
			t.Error("there was something to stop")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "drill_started one by me: why (reset for provider p); ok\ndrill_stopped one by you: enough (injected 1, requests 0, rescued 0, failed 0); ok"
		if got := l.said(); got != want {
			t.Errorf("%s", got)
		}
	})
}

// R74: what others started is in force here, under its own clock; what they ended is over, and one that is over when it is first heard of is never
// in force, nor told of.
func TestHear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &told{}
		d := drills(l)
		d.First = func(string) bool { return false }
		d.Hear(drill.State{Rule: rule("one")})
		d.Hear(drill.State{Rule: rule("one")})
		d.Hear(drill.State{Rule: rule("two")})
		d.Hear(drill.State{Rule: rule("past"), End: drill.End{Why: drill.TimeUp, At: time.Now()}})
		if !ask(d) {
			t.Error("it is not in force")
		}
		d.Hear(drill.State{Rule: rule("one"), End: drill.End{Why: drill.Stopped, At: time.Now(), Reason: "enough", By: "you"}})
		d.Hear(drill.State{Rule: rule("one")}) // what comes late
		if r, _ := d.Report("one"); !r.Over() || r.End.By != "you" {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "drill_started one by me: why (reset for provider p); ok (heard)\ndrill_started two by me: why (reset for provider p); ok (heard)\n" +
			"drill_stopped one by you: enough (injected 1, requests 0, rescued 0, failed 0); ok (heard)\n" +
			"drill_ended two by evergate: time (injected 0, requests 0, rescued 0, failed 0); ok (heard)"
		if got := l.said(); got != want {
			t.Errorf("%s", got)
		}
		if len(l.spread) != 0 || len(d.List()) != 3 {
			t.Errorf("%+v, %d", l.spread, len(d.List()))
		}
	})
}

// R74: where the config turns drills off none strikes, those of others neither; they still end, and strike once they may.
func TestForbid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := drills(&told{})
		d.Forbid(true)
		d.Hear(drill.State{Rule: rule("one")})
		if d.Running() || ask(d) {
			t.Error("it strikes")
		}
		d.Forbid(false)
		if !ask(d) {
			t.Error("it does not strike")
		}
		d.Forbid(true)
		if ask(d) {
			t.Error("it goes on")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if r, _ := d.Report("one"); r.End.Why != drill.TimeUp {
			t.Errorf("%+v", r.End)
		}
	})
}

// At most so many run, and only so many that are over are remembered.
func TestDrillsAreBounded(t *testing.T) {
	t.Parallel()
	l := &told{}
	d := drills(l)
	defer d.Close()
	for i := range drill.MaxRunning {
		if !d.Start(rule(fmt.Sprint("n", i))) {
			t.Fatal(i)
		}
	}
	if d.Start(rule("more")) {
		t.Error("one too many runs")
	}
	for i := range 300 {
		d.Stop(fmt.Sprint("n", i), "", "")
		d.Start(rule(fmt.Sprint("n", i+drill.MaxRunning)))
	}
	if n := len(d.List()); n != 100+drill.MaxRunning {
		t.Errorf("%d are known", n)
	}
}

// R74: a share of one half is about that, and a transition counts where a request brought it about that had met the fault.
func TestSharesAndGuards(t *testing.T) {
	t.Parallel()
	l := &told{}
	d := drills(l)
	defer d.Close()
	random := rand.New(rand.NewPCG(1, 2))
	d.Random = random.Float64
	r := rule("one")
	r.Share, r.Budget = 0.5, 1_000_000
	d.Start(r)
	struck := 0
	for range 10_000 {
		if d.Strike(&drill.Asked{Provider: "p"}, "struck", time.Now()) != nil {
			struck++
		}
	}
	if struck < 4800 || struck > 5200 {
		t.Errorf("%d of 10000", struck)
	}
	for _, g := range []journal.Guard{
		{Provider: "p", Guard: "circuit_breaker", From: "half_open", To: "closed"},                              // nothing had happened before
		{Provider: "p", Guard: "circuit_breaker", From: "closed", To: "open", RequestID: "other"},               // not by the drill
		{Provider: "p", Guard: "circuit_breaker", From: "closed", To: "open", RequestID: "struck", Heard: true}, // not here
		{Provider: "q", Guard: "circuit_breaker", From: "closed", To: "open", RequestID: "struck"},              // another's
		{Provider: "p", Guard: "circuit_breaker", From: "closed", To: "open", RequestID: "struck"},
		{Provider: "p", Guard: "circuit_breaker", From: "open", To: "half_open"},
	} {
		d.GuardChanged(&g)
	}
	report, _ := d.Report("one")
	if report.Here.Blocks != 1 || fmt.Sprint(report.Guards) != "map[circuit_breaker p closed>open:1 circuit_breaker p open>half_open:1]" {
		t.Errorf("%+v %v", report.Here, report.Guards)
	}
}

// The cost of an attempt while no drill runs: one load.
func TestNoDrillCostsNothing(t *testing.T) {
	d := &running.Drills{}
	if n := testing.AllocsPerRun(100, func() {
		if d.Running() {
			t.Error("it runs")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNoDrill(b *testing.B) {
	d := &running.Drills{}
	for b.Loop() {
		if d.Running() {
			b.Fatal("it runs")
		}
	}
}

func BenchmarkStrike(b *testing.B) {
	d := &running.Drills{}
	defer d.Close()
	for i := range drill.MaxRunning {
		r := rule(fmt.Sprint("n", i))
		r.Provider = fmt.Sprint("q", i)
		d.Start(r)
	}
	a := &drill.Asked{Provider: "p", Model: "m", Named: "demo"}
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		d.Strike(a, "req", now)
	}
}
