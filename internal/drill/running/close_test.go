package running_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/drill"
	"evergate/internal/drill/running"
	"evergate/internal/journal"
)

// R74: a stop waits for the end that is being told, and asks nobody after it.
func TestCloseWaitsForEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*running.Drills){
		"by its budget": func(d *running.Drills) { ask(d) },
		"by its time":   func(*running.Drills) { time.Sleep(time.Minute) },
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &told{}
			d := drills(l)
			var closed, late atomic.Bool
			d.First = func(string) bool {
				time.Sleep(time.Second) // a store that takes its time
				late.Store(closed.Load())
				return true
			}
			r := rule("one")
			r.Budget = 1
			d.Start(r)
			end(d)
			synctest.Wait()
			d.Close()
			closed.Store(true)
			time.Sleep(time.Minute)
			synctest.Wait()
			if late.Load() || !strings.Contains(l.said(), "drill_ended one") {
				t.Errorf("%s: asked after the stop: %t\n%s", name, late.Load(), l.said())
			}
		})
	}
}

// R74: no drill strikes after a stop, and none that spends its budget then is told of.
func TestNothingStrikesAfterClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &told{}
		d := drills(l)
		asked := 0
		d.First = func(string) bool { asked++; return true }
		r := rule("one")
		r.MaxUserErrors = 1
		d.Start(r)
		d.Close()
		d.Hear(drill.State{Rule: rule("two")})
		d.Hear(drill.State{Rule: r, End: drill.End{Why: drill.Stopped, At: time.Now()}})
		d.RequestEnded(touched("one", 500)) // of a request that outlived the stop
		time.Sleep(time.Hour)
		synctest.Wait()
		if ask(d) || d.Running() || asked != 0 || strings.Count(l.said(), "\n") != 0 {
			t.Errorf("asked %d times\n%s", asked, l.said())
		}
	})
}

// R74: where there is no fleet a drill ends with its gateway, and that is told.
func TestCloseAlone(t *testing.T) {
	t.Parallel()
	l := &told{}
	d := &running.Drills{Journal: l}
	d.Start(rule("one"))
	d.Close()
	d.Close()
	want := "drill_stopped one by evergate: the gateway has stopped (injected 0, requests 0, rescued 0, failed 0); ok"
	if _, got, _ := strings.Cut(l.said(), "\n"); got != want {
		t.Errorf("%s", l.said())
	}
}

// R74: an end that is heard together with its drill is not lost, whichever comes first.
func TestHearBothAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 200 {
		d := drills(&told{})
		s := drill.State{Rule: rule(fmt.Sprint("n", round))}
		over := s
		over.End = drill.End{Why: drill.Stopped, At: time.Now()}
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Hear(s)
		}()
		d.Hear(over)
		<-done
		if r, known := d.Report(s.Rule.ID); !known || !r.Over() {
			t.Fatalf("round %d: %+v", round, r)
		}
		d.Close()
	}
}

// R74: what the last request of a budget brings about is the drill's as well, however many others met it meanwhile.
func TestBlocksOfADrillThatIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := drills(&told{})
		defer d.Close()
		r := rule("one")
		r.Budget = 500
		d.Start(r)
		for i := range 500 {
			d.Strike(&drill.Asked{Provider: "p"}, fmt.Sprint("req", i), time.Now())
		}
		synctest.Wait()
		if d.Running() {
			t.Fatal("it is not over")
		}
		open := journal.Guard{Provider: "p", Guard: "circuit_breaker", From: "closed", To: "open", RequestID: "req0"}
		d.GuardChanged(&open)
		d.GuardChanged(&journal.Guard{Provider: "p", Guard: "circuit_breaker", From: "open", To: "closed", RequestID: "later"})
		end := touched("one", 500)
		end.ID = "req0"
		d.RequestEnded(end)
		d.GuardChanged(&open) // of a request that has long ended
		if report, _ := d.Report("one"); report.Here.Blocks != 1 || fmt.Sprint(report.Guards) != "map[circuit_breaker p closed>open:1]" {
			t.Errorf("%+v %v", report.Here, report.Guards)
		}
	})
}
