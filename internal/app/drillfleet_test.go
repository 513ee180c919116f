package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/admin"
	"evergate/internal/mock"
)

// fleetDrills is a fleet whose breakers never open, so that every request asks provider a first.
const fleetDrills = twoProviders + sharedState + "resilience: { circuit_breaker: { failure_threshold: 0 }, retry: { same_target: 0, max_retries: 0 } }\n"

// struck says of which of them a request meets the fault.
func struck(all []*stack) (out string) {
	for n, s := range all {
		if a := s.ask("demo", false); strings.Contains(a.header.Get("X-Evergate-Trail"), ";drill") {
			out += string(rune('0' + n))
		}
	}
	return out
}

func fault503(more string) string {
	return `{"provider":"a","shape":{"status":503},"reason":"rehearsal",` + more + `}`
}

// R74: a drill holds on every instance at once, on one that starts later too, and a stop anywhere ends it everywhere within 100 ms.
func TestDrillsAreTheFleets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at, all := gateways(t, fleetDrills, well, well, well)
		id := all[1].drill(fault503(`"for":"1h"`))
		time.Sleep(100 * time.Millisecond)
		if got := struck(all); got != "012" {
			t.Errorf("met on %q", got)
		}
		all = append(all, join(t, at, fleetDrills, well))
		if got := struck(all); got != "0123" {
			t.Errorf("with one that came later: met on %q", got)
		}
		var report admin.FaultReport
		if status := all[3].fault("DELETE", "/"+id, `{"reason":"seen enough"}`, &report); status != http.StatusOK || report.State != "ended" || report.Ended.Why != "stopped" || report.Ended.Reason != "seen enough" {
			t.Errorf("%d %+v", status, report)
		}
		time.Sleep(100 * time.Millisecond)
		if got := struck(all); got != "" {
			t.Errorf("after the stop: met on %q", got)
		}
		time.Sleep(15 * time.Second) // counts are told in the rounds
		for n, s := range all {
			r := s.came(id)
			if r.State != "ended" || r.Ended.Reason != "seen enough" || r.Counts.Injected != 7 || r.Counts.Rescued != 7 || r.Instances != 4 {
				t.Errorf("%d: %s %+v, by %d", n, r.State, r.Counts, r.Instances)
			}
		}
		later := join(t, at, fleetDrills, well)
		if got := struck([]*stack{later}); got != "" || later.came(id).Ended == nil {
			t.Errorf("one that starts after it: met on %q", got)
		}
		if n := len(later.changes()); n != 0 {
			t.Errorf("it tells of what is long over: %v", later.changes())
		}
	})
}

// R74: the instance that started it dies: the drill goes on elsewhere and ends at its time by the store's clock, and its end is told once
// in the fleet; nobody hears of it from one that starts afterwards.
func TestDrillOutlivesWhoStartedIt(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{true, false} {
		t.Run(fmt.Sprintf("in order %t", stopped), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at, all := gateways(t, fleetDrills, well, well, well)
				start := time.Now()
				all[0].drill(fault503(`"until":"` + start.Add(time.Minute).UTC().Format(time.RFC3339Nano) + `"`))
				time.Sleep(50 * time.Millisecond)
				if stopped {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
					_ = all[0].app.Stop(ctx)
					cancel()
				} else {
					all[0].app.fleet.Stop(context.Background()) // it says nothing any more
					all[0].app.drills.Close()
				}
				all = append(all[1:], join(t, at, fleetDrills, well))
				for time.Since(start) < 59*time.Second {
					if got := struck(all); got != "012" {
						t.Fatalf("after %v: met on %q", time.Since(start), got)
					}
					time.Sleep(10 * time.Second)
				}
				time.Sleep(time.Minute - time.Since(start) + 20*time.Millisecond)
				if got := struck(all); got != "" {
					t.Errorf("after its end: met on %q", got)
				}
				told := 0
				for _, s := range all {
					for _, c := range s.changes() {
						if strings.HasPrefix(c, "drill_ended") && !strings.HasSuffix(c, "heard") {
							told++
						}
					}
				}
				if told != 1 {
					t.Errorf("its end was told %d times", told)
				}
				if late := join(t, at, fleetDrills, well); struck([]*stack{late}) != "" || len(late.changes()) != 0 {
					t.Errorf("one that starts afterwards: %v", late.changes())
				}
			})
		})
	}
}

// R74: the budget is the fleet's, as exactly as its instances hear of each other; what is spent on one ends it on all.
func TestDrillBudgetOfAFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, all := gateways(t, fleetDrills, well, well, well)
		id := all[0].drill(fault503(`"for":"1h","budget":10`))
		time.Sleep(100 * time.Millisecond)
		for range 4 {
			struck(all[:2]) // eight
		}
		time.Sleep(15 * time.Second) // two rounds, with their jitter
		n := 0
		for range 5 {
			n += len(struck(all[2:]))
		}
		time.Sleep(100 * time.Millisecond)
		if got := struck(all); n != 2 || got != "" {
			t.Errorf("the last one had %d left, and then it is met on %q", n, got)
		}
		for _, s := range all {
			if r := s.came(id); r.Ended == nil || r.Ended.Why != "budget" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// R74: without the store a drill is the instance's own, and it is told when the store is back.
func TestDrillWithoutAFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStack(t, twoProviders+oneTry, map[string]mock.Script{"a": answers(), "b": answers()})
		id := s.drill(fault503(`"for":"1m","max_user_errors":2`))
		for range 3 {
			s.ask("a/m", false) // nobody else is there to rescue it
		}
		synctest.Wait()
		if r := s.came(id); r.Ended == nil || r.Ended.Why != "user_errors" || r.Counts.Failed != 2 || r.Counts.Injected != 2 {
			t.Errorf("%+v %+v", r.Counts, r.Ended)
		}
		want := "drill_started: rehearsal (status 503 for provider a)\ndrill_ended: user_errors (injected 2, requests 2, rescued 0, failed 2)"
		if got := strings.Join(s.changes(), "\n"); got != want {
			t.Errorf("%s", got)
		}
	})
}
