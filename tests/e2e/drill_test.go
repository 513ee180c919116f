package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestDrillEndsByItself has one of three instances start a drill under load, and kills it: the drill goes on at the others, ends there at its time,
// and harms no request, during it nor after it. Another one is stopped where it was not started (R74).
func TestDrillEndsByItself(t *testing.T) {
	eachServer(t, func(t *testing.T, s *stateServer) {
		f := newFleet(t, s.url(s.addr), "1s", "resilience: { retry: { max_retries: 0 }, circuit_breaker: { failure_threshold: 0 } }\n", herd{kind: "dark", n: 1})
		f.joinAll(t, 3)
		c := f.under(t, 2, "dark-0")
		time.Sleep(time.Second)
		c.enter(calm)
		time.Sleep(time.Second)

		c.enter("drill")
		began := time.Now()
		lasts := lasting(6*time.Second, 20*time.Second)
		id := f.drill(t, f.all[0], lasts)
		var heard time.Duration
		for _, g := range f.all {
			heard = max(heard, f.awaitDrill(t, g, true, 2*time.Second))
		}
		dead := f.all[0]
		dead.kill()
		killed := time.Now()
		for time.Since(began) < lasts-500*time.Millisecond {
			for _, g := range f.all[1:] {
				if !f.drilled(t, g) {
					t.Fatalf("%v after its start it is over at %s", time.Since(began), g.url)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Until(began.Add(lasts + 250*time.Millisecond)))
		c.enter("after it")
		f.up.set("dark-0", nil)
		for _, g := range f.all[1:] {
			if f.drilled(t, g) {
				t.Errorf("it goes on at %s", g.url)
			}
			r := f.report(t, g, http.MethodGet, id)
			if r.State != "ended" || r.Ended.Why != "time" || r.Counts.Failed != 0 || r.Here.Rescued == 0 || r.Here.Injected < r.Here.Requests {
				t.Errorf("%s reports %+v", g.url, r)
			}
		}
		time.Sleep(time.Second)
		if len(f.up.got("dark-0")) == 0 {
			t.Error("the provider is not asked again")
		}

		c.enter("another, and its stop")
		again := f.drill(t, f.all[1], time.Hour)
		f.awaitDrill(t, f.all[2], true, 2*time.Second)
		f.report(t, f.all[2], http.MethodDelete, again)
		stopped := f.awaitDrill(t, f.all[1], false, 2*time.Second)
		time.Sleep(time.Second)
		if r := f.report(t, f.all[1], http.MethodGet, again); r.State != "ended" || r.Ended.Why != "stopped" || r.Ended.Reason != "seen enough" {
			t.Errorf("%+v", r)
		}
		c.judge(t, dead)
		t.Logf("heard everywhere within %v, stopped elsewhere within %v; the starter was killed after %v", heard.Round(time.Millisecond), stopped.Round(time.Millisecond), killed.Sub(began).Round(time.Millisecond))
		if heard > time.Second || stopped > time.Second { // 100 ms, with room for a machine that does all of this at once
			t.Error("that takes too long")
		}
	})
}

// drillReport is the part of a report that this suite reads.
type drillReport struct {
	ID, State    string
	Ended        struct{ Why, Reason string }
	Counts, Here struct{ Injected, Requests, Rescued, Failed int }
}

// drill starts a drill at an instance: the provider dark-0 answers nothing but 503.
func (f *fleet) drill(t *testing.T, g *gateway, lasts time.Duration) string {
	t.Helper()
	body := fmt.Sprintf(`{"provider":"dark-0","shape":{"status":503},"for":%q,"budget":1000000,"reason":"rehearsal"}`, lasts)
	resp, err := f.client.Post(g.url+"/admin/v1/faults", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var r drillReport
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(text, &r) != nil {
		t.Fatalf("%s: %s, %v", resp.Status, text, err)
	}
	return r.ID
}

func (f *fleet) report(t *testing.T, g *gateway, method, id string) (r drillReport) {
	t.Helper()
	body := ""
	if method == http.MethodDelete {
		body = `{"reason":"seen enough"}`
	}
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+"/admin/v1/faults/"+id, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	return r
}

// drilled says whether a request meets a drill on its way to its answer.
func (f *fleet) drilled(t *testing.T, g *gateway) bool {
	t.Helper()
	resp, err := f.client.Post(g.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"dark-0","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", resp.Status, text)
	}
	return strings.Contains(resp.Header.Get("X-Evergate-Trail"), "=503;drill")
}

// awaitDrill waits until requests of an instance meet a drill, or do not, and says how long that took.
func (f *fleet) awaitDrill(t *testing.T, g *gateway, meet bool, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for f.drilled(t, g) != meet {
		if time.Since(began) > within {
			t.Fatalf("%s: drilled is not %t within %v", g.url, meet, within)
		}
	}
	return time.Since(began)
}
