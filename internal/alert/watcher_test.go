package alert

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/journal"
)

// What makes an alert and what does not, when it is told, and that an incident is one message at its begin and one at its end.
func TestIncidents(t *testing.T) {
	cases := []struct {
		name string
		to   Receiver
		do   func(r *rig)
		want []string
	}{
		{"a breaker opens and closes", to("x"), func(r *rig) {
			r.breaker("a", "open")
			time.Sleep(30 * time.Second)
			r.breaker("a", "half_open")
			r.breaker("a", "open") // the probe failed: the incident goes on
			time.Sleep(60 * time.Second)
			r.breaker("a", "half_open")
			r.breaker("a", "closed")
			time.Sleep(time.Second)
			r.breaker("a", "open")
		}, []string{"0s breaker_opened firing", "1m30s breaker_closed resolved", "1m31s breaker_opened firing"}},
		{"closed without an incident", to("x"), func(r *rig) { r.breaker("a", "closed") }, nil},
		{"other guards", to("x"), func(r *rig) {
			r.w.GuardChanged(&journal.Guard{Provider: "a", Guard: "credential_cooldown", To: "blocked"})
			r.w.GuardChanged(&journal.Guard{Provider: "a", Guard: "model_lockout", To: "blocked"})
		}, nil},
		{"for: over before its time", Receiver{Name: "x", URL: "https://x", For: time.Minute}, func(r *rig) {
			r.breaker("a", "open")
			time.Sleep(59 * time.Second)
			r.breaker("a", "closed")
		}, nil},
		{"for: still open", Receiver{Name: "x", URL: "https://x", For: time.Minute}, func(r *rig) {
			r.breaker("a", "open")
			time.Sleep(2 * time.Minute)
			r.breaker("a", "closed")
		}, []string{"1m0s breaker_opened firing", "2m0s breaker_closed resolved"}},
		{
			"the begin alone", to("x", BreakerOpened), func(r *rig) { r.breaker("a", "open"); time.Sleep(time.Second); r.breaker("a", "closed") },
			[]string{"0s breaker_opened firing"},
		},
		{
			"the end alone", to("x", BreakerClosed), func(r *rig) { r.breaker("a", "open"); time.Sleep(time.Second); r.breaker("a", "closed") },
			[]string{"1s breaker_closed resolved"},
		},
		{"nothing of it", to("x", Drill), func(r *rig) { r.breaker("a", "open") }, nil},
		{"an outage is one alert", to("x"), func(r *rig) {
			for range 100 {
				r.request("fast", "all_providers_failed")
				r.request("fast", "circuit_open")
				r.request("slow", "")
				time.Sleep(100 * time.Millisecond)
			}
			r.request("fast", "") // one got through, and the next did not
			time.Sleep(time.Second)
			r.request("fast", "circuit_open")
			time.Sleep(30 * time.Second)
			for range 4 {
				r.request("fast", "")
				time.Sleep(30 * time.Second)
			}
		}, []string{"0s all_blocked firing", "1m11s all_blocked resolved"}},
		{"an outage with for: is none where requests are answered", Receiver{Name: "x", URL: "https://x", For: 10 * time.Second}, func(r *rig) {
			r.request("fast", "circuit_open")
			time.Sleep(time.Second)
			r.request("fast", "")
			time.Sleep(time.Hour)
		}, nil},
		{"an outage that nobody asks after", to("x"), func(r *rig) {
			r.request("fast", "circuit_open")
			time.Sleep(time.Hour)
		}, []string{"0s all_blocked firing", "15m0s all_blocked resolved"}},
		{"what a client did is no outage", to("x"), func(r *rig) {
			r.request("fast", "invalid_request")
			r.request("fast", "client_gone")
			r.request("fast", "provider_error") // one target failed once: its breaker will tell
			r.request("", "circuit_open")       // passthrough
		}, nil},
		{"a model's only target failed in spite of its guards", to("x"), func(r *rig) {
			r.w.RequestEnded(&journal.Request{ID: "req_3", Start: time.Now(), Route: "fast", Code: "provider_error", Status: 502, Trail: []journal.Step{
				{Skipped: true, Reason: "circuit_open"}, {Why: "all_blocked", Reason: "upstream_error"},
			}})
			r.w.RequestEnded(&journal.Request{ID: "req_4", Start: time.Now(), Route: "slow", Code: "provider_error", Status: 200, Committed: true, Trail: []journal.Step{
				{Why: "all_blocked", Reason: "cut"}, // it was answered, in part
			}})
		}, []string{"0s all_blocked firing"}},
		{"discovery", to("x"), func(r *rig) {
			r.w.DiscoveryChanged(&journal.Discovery{Provider: "a", To: "healthy", At: time.Now()})
			r.w.DiscoveryChanged(&journal.Discovery{Provider: "a", From: "healthy", To: "degraded", At: time.Now()})
			r.w.DiscoveryChanged(&journal.Discovery{Provider: "a", From: "degraded", To: "unhealthy", At: time.Now()})
			time.Sleep(time.Minute)
			r.w.DiscoveryChanged(&journal.Discovery{Provider: "a", From: "unhealthy", To: "healthy", At: time.Now()})
		}, []string{"0s discovery_failing firing", "1m0s discovery_back resolved"}},
		{"drills", to("x"), func(r *rig) {
			r.w.Changed(&journal.Change{At: time.Now(), Action: "reload", Subject: "f", Result: "ok"})
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_started", Subject: "d1", Result: "ok"})
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_started", Subject: "d2", Result: "ok"})
			time.Sleep(time.Minute)
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_ended", Subject: "d1", Result: "ok"})
			time.Sleep(time.Minute)
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_stopped", Subject: "d2", Result: "ok"})
			r.w.Changed(&journal.Change{At: time.Now(), Action: "drill_ended", Subject: "d2", Result: "ok"})
		}, []string{"0s drill firing", "0s drill firing", "1m0s drill resolved", "2m0s drill resolved"}},
		{"the store", to("x"), func(r *rig) {
			r.w.StoreChanged(time.Now(), true, "")
			r.w.StoreChanged(time.Now(), false, "dial: refused")
			time.Sleep(time.Minute)
			r.w.StoreChanged(time.Now(), true, "")
		}, []string{"0s store_lost firing", "1m0s store_back resolved"}},
		{"a provider that goes from the configuration", to("x"), func(r *rig) {
			r.breaker("a", "open")
			time.Sleep(time.Minute)
			r.w.Apply([]Receiver{to("x")}, []string{"b"})
		}, []string{"0s breaker_opened firing", "1m0s breaker_closed resolved"}},
		{"a receiver that comes later hears what goes on", to("y"), func(r *rig) {
			r.breaker("a", "open")
			time.Sleep(time.Minute)
			r.w.Apply([]Receiver{to("x"), to("y")}, []string{"a"})
		}, []string{"1m0s breaker_opened firing"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, c.to)
				c.do(r)
				synctest.Wait()
				if got := r.net.story("x", r.start); !slices.Equal(got, c.want) {
					t.Errorf("told %q, want %q", got, c.want)
				}
			})
		})
	}
}

// All that tells of one incident has one ID, the next time, too; another subject or event has another.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, to("x"))
		for _, step := range []string{"a open", "a closed", "a open", "b open"} {
			provider, state, _ := strings.Cut(step, " ")
			r.breaker(provider, state)
			time.Sleep(time.Second)
		}
		r.w.DiscoveryChanged(&journal.Discovery{Provider: "a", To: "degraded", At: time.Now()})
		synctest.Wait()
		var ids []string
		for _, d := range r.net.got("x") {
			ids = append(ids, d.alert.ID)
		}
		if len(ids) != 5 || ids[0] != ids[1] || ids[1] != ids[2] || ids[3] == ids[0] || ids[4] == ids[0] || ids[4] == ids[3] {
			t.Errorf("%q", ids)
		}
	})
}

// What a sink does with the facts of healthy traffic costs nothing.
func TestHealthyTrafficIsFree(t *testing.T) {
	w := New(Options{})
	w.Apply([]Receiver{to("x")}, nil)
	fact := &journal.Request{ID: "r", Route: "fast", Status: 200, Start: time.Now()}
	if n := testing.AllocsPerRun(100, func() { w.RequestEnded(fact) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	w.troubled.Store(1) // while another model has an outage
	if n := testing.AllocsPerRun(100, func() { w.RequestEnded(fact) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequestEnded(b *testing.B) {
	w := New(Options{})
	w.Apply([]Receiver{to("x")}, nil)
	fact := &journal.Request{ID: "r", Route: "fast", Status: 200, Start: time.Now()}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w.RequestEnded(fact)
		}
	})
}
