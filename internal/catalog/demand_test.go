package catalog

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Reference 003: a request for a model that nobody was found to have causes a look.
func TestOnDemand(t *testing.T) {
	slow := func(models ...string) *script { return &script{models: models, delay: 300 * time.Millisecond} }
	for _, tt := range []struct {
		name  string
		at    time.Duration // when the request comes
		model string
		wait  time.Duration // how long it waits
		found bool
		looks int // at a
	}{
		{"a bare id that is new", 5 * time.Minute, "new", 300 * time.Millisecond, true, 2},
		{"one that nobody has", 5 * time.Minute, "none", 300 * time.Millisecond, false, 2},
		{"within a minute of the last look", 50 * time.Second, "new", 0, false, 1},
		{"one that is known", 5 * time.Minute, "old", 0, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, configured := slow("old"), slow("x")
				c := run(t, Options{}, Source{Name: "a", Fetch: a.fetch}, Source{Name: "c", Configured: []string{"y"}, Fetch: configured.fetch})
				after(tt.at)
				a.say([]string{"old", "new"}, nil)
				begin := time.Now()
				inv := c.Snapshot()
				if len(inv.ByModel[tt.model]) == 0 {
					inv = c.Await(t.Context(), tt.model)
				}
				equal(t, "wait", time.Since(begin), tt.wait)
				equal(t, "found", len(inv.ByModel[tt.model]) > 0, tt.found)
				for range 5 {
					c.Await(t.Context(), "none")
				}
				after(time.Second)
				if tt.model != "old" {
					equal(t, "looks", len(a.asked), tt.looks)
				}
				equal(t, "looks at one whose models are configured", len(configured.asked), 1)
			})
		})
	}
}

func TestLookDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &script{models: []string{"old"}, delay: time.Second}, &script{models: []string{"m"}}
		c := run(t, Options{}, Source{Name: "a", Fetch: a.fetch}, Source{Name: "b", Fetch: b.fetch})
		after(5 * time.Minute)
		a.say([]string{"new"}, nil)
		begin := time.Now()
		for range 3 {
			c.Look("a")
			c.Look("nobody")
		}
		equal(t, "wait", time.Since(begin), time.Duration(0))
		after(2 * time.Second)
		equal(t, "looks", len(a.asked), 2)
		equal(t, "looks at the other", len(b.asked), 1)
		equal(t, "found", c.Snapshot().ByModel["new"], []string{"a"})
	})
}

// A request does not wait longer than two seconds, nor than its client.
func TestOnDemandDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute := &script{models: []string{"m"}}
		c := run(t, Options{}, Source{Name: "a", Fetch: mute.fetch})
		after(5 * time.Minute)
		mute.delay = time.Hour
		begin := time.Now()
		c.Await(t.Context(), "none")
		equal(t, "wait", time.Since(begin), 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		c.Await(ctx, "none")
		equal(t, "wait of one who leaves", time.Since(begin), time.Second)
	})
}
