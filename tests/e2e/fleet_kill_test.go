package e2e

import (
	"fmt"
	"testing"
	"time"
)

// TestFleetLosesOne kills one of three instances under clients: only its own notice. The others go by what it saw for as long as that blocks, know ten
// intervals later that it is silent, and drop it from the store once nothing that it saw blocks (R63).
func TestFleetLosesOne(t *testing.T) {
	eachServer(t, func(t *testing.T, s *stateServer) {
		const interval = 300 * time.Millisecond
		blocked := lasting(10*time.Second, 30*time.Second)
		f := newFleet(t, s.url(s.addr), interval.String(), quick(blocked.String()), herd{kind: "seen", n: 1},
			herd{kind: "shaky", n: 1, more: ", resilience: { circuit_breaker: { timeout: 300ms } }"})
		f.joinAll(t, 3)
		f.up.set("shaky-0", shaky)
		dead := f.all[0]
		id := dead.sees(t).Instance
		c := f.under(t, 2, "shaky-0", "good")
		time.Sleep(time.Second)
		c.enter(calm)
		time.Sleep(lasting(time.Second, 5*time.Second))
		f.up.set("seen-0", failing)
		f.mustAsk(t, dead, "seen-0", "good")
		opened := time.Now()
		for _, g := range f.all {
			g.believes(t, "seen-0", "open", 10*time.Second)
		}
		c.enter("one killed")
		killed := time.Now()
		dead.kill()
		var silentIn time.Duration
		for _, g := range f.all[1:] {
			eventually(t, 30*time.Second, func() error {
				for _, i := range g.sees(t).Instances {
					if i.ID == id && !i.Silent {
						return fmt.Errorf("%s takes %s for alive", g.url, id)
					}
				}
				return nil
			})
			silentIn = max(silentIn, time.Since(killed))
		}
		if silentIn < 8*interval {
			t.Errorf("silent after %v, sooner than ten intervals", silentIn)
		}
		for _, g := range f.all[1:] {
			g.believes(t, "seen-0", "open", 0)
			if n := len(f.up.got("seen-0")); n != 1 {
				t.Errorf("seen-0 was asked %d times", n)
			}
			f.mustAsk(t, g, "seen-0", "good")
		}
		time.Sleep(time.Until(killed.Add(lasting(0, 10*time.Second))))
		c.judge(t, dead)
		for _, g := range f.all[1:] {
			eventually(t, time.Minute, func() error {
				for _, i := range g.sees(t).Instances {
					if i.ID == id {
						return fmt.Errorf("%s still shows %s", g.url, id)
					}
				}
				return nil
			})
		}
		if gone := time.Since(opened); gone < blocked-time.Second {
			t.Errorf("dropped %v after it saw something blocked for %v", gone, blocked)
		}
		t.Logf("its clients had %d failures, the others' none; silent after %v, dropped from the store after %v",
			len(c.failed[dead]), silentIn.Round(time.Millisecond), time.Since(killed).Round(time.Millisecond))
	})
}
