package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evergate/internal/mock"
)

// R13, R58, in every pair: the upstream sees a cancellation at once, at whatever moment the client goes away; nobody else is
// asked, and it counts against nobody.
func TestCancellationInEveryPair(t *testing.T) {
	for _, vendor := range vendors {
		for _, sp := range speakers() {
			t.Run(sp.name+" to "+vendor, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newStack(t, everyVendor, map[string]mock.Script{"a": {Defaults: steady()}})
					for _, stream := range []bool{true, false} {
						for _, after := range []time.Duration{10, 75, 140, 160, 205} { // before headers, after them, in the content
							if !stream && after > 150 {
								continue // a plain reply is whole by then
							}
							after *= time.Millisecond
							ctx, cancel := context.WithTimeout(t.Context(), after)
							start := time.Now()
							_ = s.post(ctx, sp.path(vendor+"/m", stream), sp.body(vendor+"/m", stream, "hello", false))
							cancel()
							synctest.Wait()
							seen := s.chats("a")
							last := seen[len(seen)-1]
							if last.CancelledAt.Sub(start) != after || last.Done.Sub(start) != after {
								t.Errorf("stream %t, given up after %s: cancelled after %s, over after %s", stream, after, last.CancelledAt.Sub(start), last.Done.Sub(start))
							}
							if c := s.counted(vendor); c != "" {
								t.Errorf("the client's leave counts:%s", c)
							}
							if n := s.app.health.Provider(vendor).Snapshot(time.Now()).InFlight; n != 0 {
								t.Errorf("%d permits are not settled", n)
							}
							if got := s.facts.last(); got.Status != statusGone || len(got.Trail) != 1 {
								t.Errorf("logged as %d with %d attempts", got.Status, len(got.Trail))
							}
						}
					}
				})
			})
		}
	}
}

// Thousands of requests over real TCP in all pairs of dialects, a third given up, many met by faults of every kind, some
// strict, some with refused signatures: nothing stays, and no answer ever has a word of another's.
func TestNothingLeaksInTranslation(t *testing.T) {
	usual := mock.Behaviour{Latency: time.Millisecond, ChunkDelay: 100 * time.Microsecond}
	var rules []mock.Rule
	for _, b := range []mock.Behaviour{
		{Status: 500},
		{Status: 429},
		{Empty: true},
		{HTML: true},
		{Reset: mock.After(2)},
		{Cut: mock.After(0)},
		{Error: mock.After(0)},
		{Error: mock.After(4)},
		{EOF: mock.After(3)},
		{Malformed: 2},
		{As: mock.JSON},
		{As: mock.Stream},
		{Gzip: true},
	} {
		rules = append(rules, mock.Rule{Probability: 0.02, Do: b})
	}
	c := &crowd{scripts: []mock.Script{{Name: "a", Seed: 1, Defaults: usual, Rules: rules}, {Name: "b", Defaults: usual}}}
	models := "models:\n"
	c.config = "providers:\n"
	for i, vendor := range vendors {
		other := vendors[(i+3)%len(vendors)]
		c.config += fmt.Sprintf("  a-%s: {%s, models: [m]}\n", vendor, strings.Replace(vendorTypes[vendor], "http://%s", "%[1]s", 1))
		c.config += fmt.Sprintf("  b-%s: {%s, models: [m2]}\n", vendor, strings.Replace(vendorTypes[other], "http://%s", "%[2]s", 1))
		models += fmt.Sprintf("  %s: {targets: [a-%s/m, b-%s/m2]}\n", vendor, vendor, vendor)
	}
	c.config += models
	clients := speakers()
	c.ask = func(n int) request {
		sp, vendor, stream := &clients[n%len(clients)], vendors[n/4%len(vendors)], n/32%2 == 0
		word := fmt.Sprintf("hello-%d-", n)
		q := request{path: sp.path(vendor, stream), body: sp.body(vendor, stream, word, n%5 == 0), header: map[string]string{}}
		switch {
		case n%7 == 0:
			q.header["X-Evergate-Prefer"] = "strict"
			q.body = strings.Replace(q.body, "{", `{"seed":1,`, 1)
		case n%11 == 0 && sp.name == "messages":
			q.body = strings.Replace(q.body, `"messages":[`, `"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"q"},
				{"role":"assistant","content":[{"type":"thinking","thinking":"a plan","signature":"bm90LXlvdXJz"},{"type":"text","text":"a"}]},`, 1)
			q.body = strings.Replace(q.body, `"max_tokens":500`, `"max_tokens":5000`, 1)
		}
		q.check = func(status int, body string) {
			if status != 200 && q.header["X-Evergate-Prefer"] == "" { // strict leaves some with one provider
				c.failed.Add(1)
				t.Errorf("%s to %s: %d %s", sp.name, vendor, status, body)
			}
			if rest := strings.ReplaceAll(body, word, ""); strings.Contains(rest, "hello-") {
				t.Errorf("%s to %s: %s, and another's words: %s", sp.name, vendor, word, body)
			}
		}
		return q
	}
	c.run(t, 4000)
}
